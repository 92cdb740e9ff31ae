"""Settings as JSON: those of a collection stand among the others; the fields of a bound show its kind."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dpmean.enums import Fidelity, read_name
from dpmean.privacy.strict_json import shorten
from dpmean.release.schema import BoundDocument, SettingsDocument
from dpmean.release.settings import VARIANTS, BoxBounds, CollectionSettings, NormBound, Settings

_ALIKE = tuple(name for name in Settings.__slots__ if name in SettingsDocument.__struct_fields__ and name != "bound")
"""The settings that a document has as they are."""
_OF_COLLECTIONS = CollectionSettings.__slots__
_OF_ALL_COLLECTIONS = ("rounds", "messages_per_user", "bytes_per_user", "answered")
"""What a document has of every collection."""


def encode_settings(settings: Settings) -> dict[str, Any]:
    """Return settings as a document has them, in the order in which it had them if they were read from one."""
    collection = settings.collection
    document = SettingsDocument(
        bound=_encode_bound(settings.bound),
        **({} if collection is None else {name: getattr(collection, name) for name in collection.__slots__}),
        **{name: getattr(settings, name) for name in _ALIKE},
    )
    found: dict[str, Any] = msgspec.to_builtins(document)
    return {name: found[name] for name in dict.fromkeys((*settings._order, *found)) if name in found}


def mapping_of(settings: Settings) -> dict[str, Any]:
    """Return settings as version 0.1.0 had them: what a document of them is read as."""
    found: dict[str, Any] = json.loads(json.dumps(encode_settings(settings)))
    return found


def decode_settings(document: SettingsDocument, order: tuple[str, ...]) -> Settings:
    """Read settings that a document had in some order; a ValueError says what is wrong with them."""
    settings = Settings(
        bound=_read_bound(document.bound),
        collection=_read_collection(document),
        **{name: getattr(document, name) for name in _ALIKE},
    )
    object.__setattr__(settings, "_order", order)
    return settings


def _encode_bound(bound: NormBound | BoxBounds | None) -> BoundDocument | None:
    if bound is None:
        return None
    if isinstance(bound, BoxBounds):
        return BoundDocument(lower=bound.lower, upper=bound.upper)
    return BoundDocument(norm_bound=bound.norm_bound, reach=bound.reach)


def _read_bound(document: BoundDocument | None) -> NormBound | BoxBounds | None:
    match document:
        case None:
            return None
        case BoundDocument(norm_bound=None, reach=None, lower=tuple(lower), upper=tuple(upper)):
            return BoxBounds(lower, upper)
        case BoundDocument(norm_bound=given, reach=float(reach), lower=None, upper=None):
            return NormBound(reach, given)
    raise ValueError('a bound has a "reach", and perhaps a "norm_bound", or else "lower" and "upper"')


def _read_collection(document: SettingsDocument) -> CollectionSettings | None:
    given = {name: getattr(document, name) for name in _OF_COLLECTIONS}
    fields = {name: value for name, value in given.items() if value is not None and value is not False}
    if not fields:
        return None
    if missing := [name for name in _OF_ALL_COLLECTIONS if name not in fields]:
        raise ValueError(f"a collection has {', '.join(_OF_ALL_COLLECTIONS)}, and there is no {missing[0]}")
    if document.fidelity is not None:
        fields["fidelity"] = read_name(Fidelity, shorten(document.fidelity), "fidelity")
    if document.variant is not None and document.variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)} in the shuffle model")
    return CollectionSettings(**fields)

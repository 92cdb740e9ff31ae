"""Releases as JSON: what is written, and how strictly it is read."""

from __future__ import annotations

import hashlib
import json
import operator
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from dpmean.enums import Sizes, Trust, read_name
from dpmean.errors import ArgumentError
from dpmean.privacy.codec import decode_receipt, encode_receipt
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.strict_json import convert, parse, shorten
from dpmean.release.columns_codec import encode_columns, read_columns
from dpmean.release.diagnostics import Found
from dpmean.release.grouped import GroupedRelease, Refusal
from dpmean.release.release import Release
from dpmean.release.schema import (
    FORMAT,
    GROUPED_FORMAT,
    FoundDocument,
    GroupDocument,
    GroupedDocument,
    ReleaseDocument,
)
from dpmean.release.settings import VARIANTS, BoxBounds
from dpmean.release.settings_codec import decode_settings, encode_settings

_COINS = re.compile(r"[0-9a-f]{32}")
_MOST_DIGITS = 10**5
"""In all costs of a release together: a common denominator of many more would take minutes."""

# --- out -------------------------------------------------------------------------------------------------------------


def encode_release(release: Release) -> str:
    """Return a release as JSON; numbers survive the way there and back unchanged."""
    return json.dumps(_to_builtins(release), allow_nan=False)


def encode_grouped(grouped: GroupedRelease) -> str:
    """Return the releases of groups as JSON; labels that JSON does not have become text."""
    document = GroupedDocument(
        format=GROUPED_FORMAT,
        by=grouped.by,
        sizes=str(grouped.sizes),
        neighbours=str(grouped.neighbours),
        seeded=grouped.seeded,
        delta=float(grouped.delta),
        coins=grouped.coins,
        privacy_unit=grouped.unit,
        rho=str(grouped.rho),
        groups=(),
        contributions=grouped.contributions if grouped.contributions > 1 else UNSET,
    )
    groups = [_encode_group(label, found) for label, found in grouped.groups.items()]
    return json.dumps({**msgspec.to_builtins(document), "groups": groups}, allow_nan=False)


def identify(text: str, coins: Iterable[str | None]) -> str | None:
    """Return the hash of a document by which a ledger knows it; None if no public coins tell it from all others."""
    if not any(key is not None and _COINS.fullmatch(key) for key in coins):
        return None
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _to_builtins(release: Release) -> dict[str, Any]:
    document = ReleaseDocument(
        format=FORMAT,
        mean=(),
        noise_std=(),
        centre=(),
        radius=float(release.radius),
        receipts=tuple(encode_receipt(receipt) for receipt in release.receipts),
        n=int(release.n),
        d=int(release.d),
        method=release.method,
        trust=str(release.trust),
        neighbours=str(release.neighbours),
        seeded=bool(release.seeded),
        found=None if release.found is None else FoundDocument(**asdict(release.found)),
        **encode_columns(release),
    )
    arrays = {name: getattr(release, name).tolist() for name in ("mean", "noise_std", "centre")}
    return {**msgspec.to_builtins(document), **arrays, "public": encode_settings(release.settings)}


def _encode_group(label: Any, found: Release | Refusal) -> dict[str, Any]:
    name = tuple(map(_plain, label)) if isinstance(label, tuple) else _plain(label)
    if isinstance(found, Release):
        return {"label": name, "release": _to_builtins(found)}
    receipts = tuple(encode_receipt(receipt) for receipt in found.receipts)
    document = GroupDocument(label=None, refused=found.reason, receipts=receipts, rows_needed=int(found.rows_needed))
    return {**msgspec.to_builtins(document), "label": name}


def _plain(label: Any) -> str | int | float | None:
    return label if label is None or isinstance(label, str | int | float) else str(label)


# --- in --------------------------------------------------------------------------------------------------------------


def decode_release(text: str) -> Release:
    """Read a release that ``encode_release`` wrote, in this version or in 0.1.0."""
    try:
        return _read_release(*_open(text, FORMAT, ReleaseDocument))
    except (ArithmeticError, ValueError) as error:
        raise ArgumentError(f"this is not a release in the format {FORMAT}: {error}") from None


def decode_grouped(text: str) -> GroupedRelease:
    """Read the releases of groups that ``encode_grouped`` wrote, in this version or in 0.1.0."""
    try:
        return _read_grouped(*_open(text, GROUPED_FORMAT, GroupedDocument))
    except (ArithmeticError, ValueError) as error:
        raise ArgumentError(f"this is not a release in the format {GROUPED_FORMAT}: {error}") from None


def _open(text: str, name: str, kind: type[Any]) -> tuple[Any, Any]:
    """Return a document as a record, and as it was parsed, which keeps the order of its fields."""
    found = parse(text)
    if not isinstance(found, dict) or found.get("format") != name:
        raise ValueError("it does not name this format")
    return convert(found, kind), found


def _read_release(document: ReleaseDocument, parsed: dict[str, Any]) -> Release:
    if document.format != FORMAT:
        raise ValueError("a group does not name the format of its release")
    settings = decode_settings(document.public, tuple(parsed.get("public", ())))
    for name in ("mean", "noise_std", "centre"):
        if len(getattr(document, name)) != document.d:
            raise ValueError(f"{name} must have {document.d} numbers, one for each column")
    if (
        isinstance(settings.bound, BoxBounds)
        and not len(settings.bound.lower) == len(settings.bound.upper) == document.d
    ):
        raise ValueError(f"its bounds must be {document.d} numbers each, one for each column")
    if isinstance(settings.bound, BoxBounds) and any(map(operator.ge, settings.bound.lower, settings.bound.upper)):
        raise ValueError("its lower bounds must be below its upper bounds")
    if settings.columns and not len(set(settings.columns)) == len(settings.columns) == document.d:
        raise ValueError(f"columns must be {document.d} different names, one for each column")
    if settings.dropped and document.neighbours != Neighbours.ADD_OR_REMOVE_ONE:
        raise ValueError("rows may be left out only where their number is private")
    if not document.method.isprintable() or not document.method:
        raise ValueError("method must be words")
    trust = read_name(Trust, shorten(document.trust), "trust")
    if trust is Trust.SHUFFLE and (settings.collection is None or settings.collection.variant is None):
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)} in the shuffle model")
    neighbours = read_name(Neighbours, shorten(document.neighbours), "neighbours")
    if trust is not Trust.CENTRAL and neighbours is not Neighbours.REPLACE_ONE:
        raise ValueError(f"neighbours must be replace-one in the {trust} model")
    if sum(len(receipt.rho or receipt.epsilon or "") for receipt in document.receipts) > _MOST_DIGITS:
        raise ValueError("its costs have too many digits to add up")
    _check_seed(document.seeded, settings.coins)
    return Release(
        mean=document.mean,  # type: ignore[arg-type]  # a release makes an array of it
        noise_std=document.noise_std,  # type: ignore[arg-type]
        centre=document.centre,  # type: ignore[arg-type]
        radius=document.radius,
        receipts=tuple(decode_receipt(receipt) for receipt in document.receipts),
        n=document.n,
        d=document.d,
        method=document.method,
        trust=trust,
        neighbours=neighbours,
        seeded=document.seeded,
        settings=settings,
        found=None if document.found is None else Found(**msgspec.structs.asdict(document.found)),
        **read_columns(document, in_box=isinstance(settings.bound, BoxBounds)),
    )


def _read_grouped(document: GroupedDocument, parsed: dict[str, Any]) -> GroupedRelease:
    groups: dict[Any, Release | Refusal] = {}
    for group, entry in zip(document.groups, parsed["groups"], strict=True):
        if group.label in groups:
            raise ValueError("a group is there twice")
        groups[group.label] = _read_group(group, entry)
    found = GroupedRelease(
        document.by,
        groups,
        read_name(Sizes, shorten(document.sizes), "sizes"),
        read_name(Neighbours, shorten(document.neighbours), "neighbours"),
        document.seeded,
        document.delta,
        document.coins,
        document.privacy_unit,
        1 if isinstance(document.contributions, UnsetType) else document.contributions,
    )
    _check_seed(document.seeded, document.coins)
    if str(found.rho) != document.rho:
        raise ValueError("its groups do not cost what it says")
    return found


def _check_seed(seeded: bool, coins: str | None) -> None:
    """Refuse coins that come from a seed where a document says that there is none: it would protect nobody."""
    if not seeded and (coins or "").startswith("seed "):
        raise ValueError("its coins come from a seed, and it says that there is none")


def _read_group(group: GroupDocument, entry: dict[str, Any]) -> Release | Refusal:
    match group:
        case GroupDocument(
            release=ReleaseDocument() as release, refused=UnsetType(), receipts=UnsetType(), rows_needed=UnsetType()
        ):
            return _read_release(release, entry["release"])
        case GroupDocument(release=UnsetType(), refused=str(reason), receipts=tuple(receipts)):
            needed = 1 if isinstance(group.rows_needed, UnsetType) else group.rows_needed
            return Refusal(reason, tuple(decode_receipt(receipt) for receipt in receipts), needed)
    raise ValueError('a group has a "release", or else what was "refused" and the "receipts" of that')

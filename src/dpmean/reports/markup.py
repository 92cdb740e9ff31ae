"""HTML and SVG by construction: whatever is not markup already is escaped, wherever it goes."""

from __future__ import annotations

import html
import re
from typing import final

_EMPTY = {"br", "link", "meta"}
_UNPRINTABLE = re.compile(
    "[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")

Attribute = str | int | float | bool | None


@final
class Html(str):
    """Text that is markup: it was escaped where it was made."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """Escape what has a meaning in HTML, and replace what no document may hold, or would turn a sentence around."""
    return Html(html.escape(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text), quote=True))


def tag(name: str, /, *children: str | None, **attributes: Attribute) -> Html:
    """Return an element; ``class_`` is the attribute class, ``aria_label`` is aria-label.

    Attributes that are None or False are left out, and so are children that are None.
    """
    words = [_checked(name)]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = _checked(key.rstrip("_").replace("_", "-"))
        words.append(attribute if value is True else f'{attribute}="{escaped(_short(value))}"')
    if name in _EMPTY:
        return Html(f"<{' '.join(words)}>")
    return Html(f"<{' '.join(words)}>{join(*children)}</{name}>")


def join(*children: str | None) -> Html:
    """Put pieces one after the other; those that are plain text are escaped."""
    return Html("".join(part if isinstance(part, Html) else escaped(part) for part in children if part is not None))


def raw(name: str, text: str, /, **attributes: Attribute) -> Html:
    """Return a script or style element, whose text no browser unescapes: it must not hold what could end it."""
    if re.search(r"<[/!a-z]", text, flags=re.IGNORECASE):
        raise ValueError(f"the text of a {name} element must not hold tags")
    empty = tag(name, **attributes)
    return Html(empty.removesuffix(f"</{name}>") + text + f"</{name}>")


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an element or an attribute")
    return name

"""A release as one page that needs no network and no other file, and is complete with scripts switched off."""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.release.grouped import GroupedRelease
from dpmean.release.release import Release
from dpmean.reports import grouped_page, release_page
from dpmean.reports.columns import columns_of
from dpmean.reports.markup import Html, raw, tag

Shape = tuple[int, int]


def report(
    release: Release | GroupedRelease,
    path: str | os.PathLike[str],
    *,
    columns: str | Iterable[str] | None = None,
    image: bool | Shape | None = None,
    title: str | None = None,
    date: str | None = None,
) -> Path:
    """Write a release as one self-contained HTML page that may be published beside a table of results.

    The page draws the estimate and says, in plain words, what error to expect, who is protected and how well, what
    each step cost, and how it was made. It holds the whole release as JSON, which ``Release.from_json`` reads. The
    same arguments give the same bytes.

    Args:
        release: What ``dpmean.mean`` or ``dpmean.mean_by`` returned. One page has all groups.
        path: Where to write the page.
        columns: The names of the columns, or that of the only one, if the release does not know them
            (``release.settings.columns``).
        image: True to draw the estimate as a square image, or its (height, width). By default none is drawn.
        title: The title of the page.
        date: A date to print, in any form. By default the page has none.

    Returns:
        The path of the page.

    Raises:
        ValueError: when an argument cannot be used; nothing is written then.
        TypeError: when an argument has an unusable type.

    """
    if not isinstance(release, Release | GroupedRelease):
        kind = type(release).__name__
        raise ArgumentTypeError(f"report needs what dpmean.mean or dpmean.mean_by returned, a release, got a {kind}")
    for name, value in (("title", title), ("date", date)):
        if value is not None and not isinstance(value, str):
            raise ArgumentTypeError(f"{name} must be text, got {value!r}")
    if isinstance(release, GroupedRelease) and not release.rho:
        raise ArgumentError("no group has a mean, and nothing was spent: there is nothing to report")
    where = Path(path)
    if not where.parent.is_dir():
        raise ArgumentError(f"there is no folder {where.parent}: make it first")
    if isinstance(release, Release):
        name = "A private mean" if title is None else title
        shape, names = _shape(image, release.d), _names(columns, release.d)
        body = release_page.body(release, columns_of(release, names), shape, name, date)
    else:
        name = "Private means of groups" if title is None else title
        d = next((found.d for found in release.released.values()), None)
        shape, names = (None, None) if d is None else (_shape(image, d), _names(columns, d))
        body = grouped_page.body(release, names, shape, name, date)
    where.write_bytes(document(name, body, release.to_json()).encode())
    return where


def document(title: str, body: Html, data: str) -> str:
    """Return a whole document around a body, with the data of it as JSON; nothing in it may use the network."""
    style, script = _part("page.css"), _part("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        raw("style", style),
    )
    # In JSON "<" only ever stands in strings, where it may be written by its number: no text can end the element.
    held = raw("script", data.replace("<", "\\u003c"), type="application/json", id="release")
    return "<!doctype html>\n" + tag("html", head, tag("body", body, held, raw("script", script)), lang="en") + "\n"


def _names(columns: str | Iterable[str] | None, d: int) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if not isinstance(columns, Iterable):
        raise ArgumentTypeError(f"columns must be a list of names, got {columns!r}")
    names = (columns,) if isinstance(columns, str) else tuple(map(str, columns))
    if len(names) != d:
        raise ArgumentError(f"columns must be {d} names, one for each column, got {len(names)}")
    return names


def _shape(image: bool | Shape | None, d: int) -> Shape | None:
    if image is None or image is False:
        return None
    if image is True:
        side = math.isqrt(d)
        if side * side != d:
            raise ArgumentError(f"image=True needs a square number of columns, got {d}: give image=(height, width)")
        return side, side
    whole = isinstance(image, tuple | list) and [type(length) for length in image] == [int, int]
    if not whole:
        raise ArgumentTypeError(f"image must be True or (height, width) in whole numbers, got {image!r}")
    height, width = image
    if height < 1 or width < 1 or height * width != d:
        raise ArgumentError(f"an image of {height} x {width} has {height * width} pixels, but there are {d} columns")
    return height, width


def _part(name: str) -> str:
    return files("dpmean.reports").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

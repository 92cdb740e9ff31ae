"""A release as one page that needs no network, no other file and no scripts."""

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
from dpmean.reports.author import ColumnWords, GroupWords, read_author
from dpmean.reports.columns import columns_of, names_of
from dpmean.reports.many_groups import is_held
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
    labels: ColumnWords | None = None,
    units: ColumnWords | None = None,
    group_labels: GroupWords | None = None,
    about: str | None = None,
    contact: str | None = None,
) -> Path:
    """Write a release as one self-contained HTML page that may be published beside a table of results.

    The page draws the estimate and says in plain words what error to expect, who is protected and how well, what
    each step cost, and how the release was made. It contains the whole release as JSON, which ``Release.from_json``
    or ``GroupedRelease.from_json`` reads. The same arguments give the same bytes. With more than sixty groups, the page
    has one folded table in place of a drawing of each group, and contains the release only if that is short.

    ``labels``, ``units``, ``group_labels``, ``about``, ``contact``, ``title`` and ``date`` are your words: they are
    shown as they are, as text, and are not part of the release. They must not come from the rows.

    Args:
        release: What ``dpmean.mean`` or ``dpmean.mean_by`` returned. One page has all groups.
        path: Where to write the page.
        columns: The names of the columns, or that of the only one, if the release does not know them
            (``release.settings.columns``).
        image: True to draw the estimate as a square image, or its (height, width). By default none is drawn.
        title: The title of the page.
        date: A date to print, in any form. By default the page has none.
        labels: Readable names of some or all columns: ``{"age": "Age at admission", ...}``. Where
            columns have no names, count them from 0; or give one label for each column, in their order.
        units: The units of columns, given in the same way: ``{"age": "years", ...}``.
        group_labels: Readable names of groups: ``{"m": "Men"}``. For groups by several columns, name a value,
            which then has this name in all groups, or one group by its label: ``{("North", "f"): "North, women"}``.
        about: What the data are and what the page is for. A blank line begins a new paragraph.
        contact: Whom to ask about the data.

    Returns:
        The path of the page.

    Raises:
        ValueError: If an argument has a value that cannot be used; nothing is written then.
        TypeError: If an argument has a type that cannot be used.

    """
    if not isinstance(release, Release | GroupedRelease):
        kind = type(release).__name__
        raise ArgumentTypeError(f"report needs what dpmean.mean or dpmean.mean_by returned, a release, got {kind}")
    if isinstance(release, GroupedRelease) and not release.rho:
        why, cure = release.why_refused()
        raise ArgumentError(f"there is nothing to report, and nothing was spent: {why}. The cure: {cure}")
    where = Path(path)
    if not where.parent.is_dir():
        raise ArgumentError(f"there is no folder {where.parent}: make it first")
    usual, first = "A private mean", release if isinstance(release, Release) else None
    if isinstance(release, GroupedRelease):
        usual, first = "Private means of groups", next(iter(release.released.values()), None)
    d = None if first is None else first.d
    shape, names = (None, None) if d is None else (_shape(image, d), _names(columns, d))
    named = None if first is None else names_of(first, names)
    title = usual if title is None else title
    author = read_author(
        named,
        d,
        groups=None if isinstance(release, Release) else tuple(release),
        title=title,
        date=date,
        labels=labels,
        units=units,
        group_labels=group_labels,
        about=about,
        contact=contact,
    )
    text = release.to_json()
    if isinstance(release, Release):
        body = release_page.body(release, columns_of(release, names, author=author), shape, author, text)
    else:
        body = grouped_page.body(release, names, shape, author, text)
    held = text if is_held(release, text) else None
    where.write_bytes(document(title, body, held).encode())
    return where


def document(title: str, body: Html, data: str | None) -> str:
    """Return a whole document around a body, with its data as JSON, if any; nothing in it may use the network."""
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
    json = None if data is None else data.replace("<", "\\u003c")
    held = None if json is None else raw("script", json, type="application/json", id="release")
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
    integers = isinstance(image, tuple | list) and [type(length) for length in image] == [int, int]
    if not integers:
        raise ArgumentTypeError(f"image must be True or (height, width) of integers, got {image!r}")
    height, width = image
    if height < 1 or width < 1 or height * width != d:
        raise ArgumentError(f"an image of {height} x {width} has {height * width} pixels, but there are {d} columns")
    return height, width


def _part(name: str) -> str:
    return files("dpmean.reports").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

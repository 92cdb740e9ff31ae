"""The scales of columns on a page."""

from __future__ import annotations

from collections.abc import Sequence

from dpmean.release.release import Release
from dpmean.release.scales_text import scales_in_words
from dpmean.reports.markup import Html, join, tag


def scales(release: Release, names: Sequence[str]) -> Html | None:
    """Return what is known of the scales of the columns, under a heading; nothing if they were not asked for."""
    words = sentences(release, names)
    return join(tag("h3", "How columns differ"), tag("p", words)) if words else None


def sentences(release: Release, names: Sequence[str]) -> str:
    """Return what is known of the scales of the columns."""
    if release.scales is None:
        return ""
    words = scales_in_words(release.scales, names, release.receipts, release.noise_std)
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in words)

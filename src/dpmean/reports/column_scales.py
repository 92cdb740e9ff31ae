"""The scales of columns on a page."""

from __future__ import annotations

from collections.abc import Sequence

from dpmean.release.release import Release
from dpmean.release.scales_text import scales_in_words
from dpmean.release.variances import stds_in_words
from dpmean.reports.markup import Html, join, tag


def scales(release: Release, names: Sequence[str]) -> Html | None:
    """Return what is known of scales and standard deviations, under a heading; nothing if they were not asked for."""
    words = sentences(release, names)
    return join(tag("h3", "How columns differ"), tag("p", words)) if words else None


def sentences(release: Release, names: Sequence[str]) -> str:
    """Return what is known of the scales of the columns, and of their measured standard deviations."""
    words = []
    if release.scales is not None:
        words = scales_in_words(release.scales, names, release.receipts, release.noise_std)
    if release.variances is not None and not release.settings.few_rows:
        one = "row" if release.unit is None else "person"
        first, *rest = stds_in_words(release.variances, names, one, scaled=release.scales is not None)
        words += [f"standard deviations in the table (measured std) are {first}", *rest]
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in words)

"""The scales of columns on a page: what was found, what it cost, and how large the noise is beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpmean.release.release import Release
from dpmean.release.scales_text import scales_in_words
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.numbers import from_to


def scales(release: Release, names: Sequence[str] | None) -> Html | None:
    """Return what is known of the scales of the columns, under a heading; nothing if they were not asked for."""
    words = sentences(release, names)
    return join(tag("h3", "How columns differ"), tag("p", words)) if words else None


def sentences(release: Release, names: Sequence[str] | None) -> str:
    """Return what is known of the scales of the columns."""
    if release.scales is None:
        return ""
    words = scales_in_words(release.scales, names, release.receipts)
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in [*words, *_noise(release)])


def _noise(release: Release) -> list[str]:
    """Return the noise in the unit in which columns can be compared: the standard deviation of each."""
    if release.scales is None or not any(release.scales.known):
        return []
    known = np.array(release.scales.known)
    shares = release.noise_std[known] / np.array(release.scales.values)[known]
    what = "a column" if len(known) > 1 else "the column"
    return [f"the noise in {what} is {from_to(shares)} of its own standard deviation"]

"""The scales of columns in words, for terminals and pages: how they differ, whether noise follows, what it cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import ScaleKind
from dpmean.errors import display_name, plural
from dpmean.privacy.receipts import Receipt
from dpmean.privacy.renyi import compose, renyi_of
from dpmean.release.refusals import several_in_words
from dpmean.release.scales import FINE_MEDIANS, Scales, receipts_of_scales

if TYPE_CHECKING:
    from dpmean.release.release import Release

_LITTLE = 2.0
"""Columns differ little if the largest scale is less than this many times the smallest."""
_NAMED = 3
"""The number of columns that are named."""


def scales_in_words(
    scales: Scales, columns: Sequence[str] | None, receipts: Sequence[Receipt], noise_std: NDArray[np.float64]
) -> list[str]:
    """Return how the scales of columns differ, how noise follows them, and what finding them cost."""
    names = [f"column {j}" for j in range(len(scales.values))] if columns is None else [*map(display_name, columns)]
    at_medians = any(receipt.step == FINE_MEDIANS for receipt in receipts)
    if not any(scales.known):
        if scales.per_column and not scales.still.all():
            return [*_not_known(scales, names, at_medians=at_medians), *_cost(receipts)]
        return ["no column varies enough for its scale to be found", *_cost(receipts)]
    noise = _noise(scales, noise_std)
    followed = _of_each(scales, names, noise) if scales.per_column else _of_all(scales, noise)
    return [followed, *_cost(receipts), *_not_known(scales, names, at_medians=at_medians)]


def _of_each(scales: Scales, names: Sequence[str], noise: str) -> str:
    """Return the standard deviations that noise follows, where each column has a unit of its own."""
    known = [(value, name) for value, name, one in zip(scales.values, names, scales.known, strict=True) if one]
    (low, first), (high, last) = min(known), max(known)
    given = "given " * (scales.kind is ScaleKind.GIVEN)
    if len(known) == 1:
        return f"{given}standard deviation of {first}: {_short(low)}; noise is {noise} times that"
    ends = f"{_short(low)} ({first}) to {_short(high)} ({last})"
    return f"{given}standard deviations of columns: {ends}; noise is {noise} times these"


def _noise(scales: Scales, noise_std: NDArray[np.float64]) -> str:
    """Return the noise in the unit in which columns can be compared: the scale of each."""
    known = np.array(scales.known)
    shares = noise_std[known] / np.array(scales.values)[known]
    low, high = _short(float(shares.min()), 2), _short(float(shares.max()), 2)
    return low if low == high else f"{low} to {high}"


def _of_all(scales: Scales, noise: str) -> str:
    """Return the scales that noise follows, where all columns share a unit."""
    apart, given = f"{_short(scales.ratio, 2)}-fold", "given " * (scales.kind is ScaleKind.GIVEN)
    if scales.used:
        share = f"it is {noise} times the scale of each column"
        return f"{given}scales of columns differ {apart}, and noise follows them: {share}"
    if given:
        return "all given scales are the same, and so is the noise"
    if scales.ratio < _LITTLE:
        least = f"less than {_LITTLE:g}-fold, as far as they were found"
        return f"scales of columns differ little ({least}), and noise is the same for all"
    return f"scales of columns differ {apart}, but noise is the same for all, as too little would be gained"


def _cost(receipts: Sequence[Receipt]) -> list[str]:
    """Return what part of the budget went into scales."""
    asked = receipts_of_scales(receipts)
    if not asked:
        return []
    total = compose(receipt.cost for receipt in receipts).curve[0]
    part = sum(renyi_of(receipt.cost).curve[0] for receipt in asked) / total
    share = "less than 0.1 %" if part < 0.001 else f"{100 * part:.1f} %"
    return [f"finding this cost {share} of the budget"]


def _not_known(scales: Scales, names: Sequence[str], *, at_medians: bool) -> list[str]:
    """Return which scales could not be found, and which columns hardly vary; medians may stand for their means."""
    of_columns = [*zip(names, scales.known, scales.still, strict=True)]
    still = [name for name, _, hardly_varies in of_columns if hardly_varies]
    hidden = [name for name, known, hardly_varies in of_columns if not known and not hardly_varies]
    words = []
    if hidden:
        scale, their = ("the scale of", "its") if len(hidden) == 1 else ("the scales of", "their")
        clipped = f" ({their} rare large values may be clipped by more than stated margins cover)" * scales.per_column
        words.append(f"{scale} {plural(len(hidden), 'column')} could not be found: {_listed(hidden)}{clipped}")
    if still:
        vary, mean, its = ("varies", "its mean", "its private median")
        if len(still) > 1:
            vary, mean, its = ("vary", "a mean", "the private median of its column")
        median = f"where noise cannot tell {mean} from {its}, that median is reported"
        words.append(f"{plural(len(still), 'column')} hardly {vary}: {_listed(still)}" + f"; {median}" * at_medians)
    return words


def groups_without_scales(releases: Mapping[Any, Release], called: Callable[[Any], str]) -> str:
    """Return in which groups scales were not found, though they were in others, and what follows; empty for none."""
    if not any(_looked_for(one) for one in releases.values()):
        return ""
    one = "row" if next(iter(releases.values())).unit is None else "person"
    none = [called(label) for label, release in releases.items() if _without_scales(release)]
    parts: dict[tuple[str, ...], list[str]] = {}
    for label, release in releases.items():
        scales = release.scales
        if scales is None or _without_scales(release) or not _looked_for(release):
            continue
        of_columns = enumerate(zip(scales.known, scales.still, strict=True))
        hidden = [j for j, (known, still) in of_columns if not known and not still]
        if hidden:
            names = tuple(f"column {j}" if scales.columns is None else display_name(scales.columns[j]) for j in hidden)
            parts.setdefault(names, []).append(called(label))
    words = [f"in {several_in_words(none)} scales were not found (too few {one}s for this budget)"] if none else []
    for names, labels in parts.items():
        scale = "the scale of" if len(names) == 1 else "the scales of"
        words.append(f"in {several_in_words(labels)} {scale} {several_in_words(names)} could not be found")
    return f"{'; '.join(words)}: noise follows the bounds there, and tighter bounds make it smaller" if words else ""


def _looked_for(release: Release) -> bool:
    return release.scales is not None and release.scales.per_column and release.scales.kind is ScaleKind.FOUND


def _without_scales(release: Release) -> bool:
    scales = release.scales
    return scales is None or (scales.per_column and not any(scales.known) and not scales.still.all())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + ", ..." * (len(names) > _NAMED)


def _short(value: float, digits: int = 3) -> str:
    """Return a number with some digits, without an exponent where that is short."""
    return f"{float(f'{value:.{digits}g}'):g}"

"""The scales of columns in words, for terminals and pages: how they differ, whether noise follows, what it cost."""

from __future__ import annotations

from collections.abc import Sequence

from dpmean.enums import ScaleKind
from dpmean.errors import display_name, plural
from dpmean.privacy.receipts import Receipt
from dpmean.privacy.renyi import compose, renyi_of
from dpmean.release.scales import Scales, receipts_of_scales

_LITTLE = 2.0
"""Columns whose scales are less than so many times apart differ little."""
_NAMED = 3
"""So many columns are named."""


def scales_in_words(scales: Scales, columns: Sequence[str] | None, receipts: Sequence[Receipt]) -> list[str]:
    """Return how the scales of columns differ, whether noise follows them, and what finding them cost."""
    names = [f"column {j}" for j in range(len(scales.values))] if columns is None else [*map(display_name, columns)]
    if not any(scales.known):
        return ["no column varies enough for its scale to be told", *_cost(scales, receipts)]
    followed = _of_each(scales, names) if scales.per_column else _of_all(scales)
    return [followed, *_cost(scales, receipts), *_not_known(scales, names)]


def _of_each(scales: Scales, names: Sequence[str]) -> str:
    """Return what noise follows where each column has a unit of its own."""
    known = [(value, name) for value, name, one in zip(scales.values, names, scales.known, strict=True) if one]
    (low, first), (high, last) = min(known), max(known)
    own = "given scale" if scales.kind is ScaleKind.GIVEN else "own standard deviation"
    ends = f"{_short(low)} ({first})" + (f" to {_short(high)} ({last})" if first != last else "")
    return f"each column has noise in proportion to its {own}, {ends}"


def _of_all(scales: Scales) -> str:
    """Return what noise follows where all columns share a unit."""
    apart = f"{_short(scales.ratio, 2)}-fold"
    if scales.kind is ScaleKind.GIVEN:
        return (
            f"noise follows the given scales, which differ {apart}" if scales.used else "all given scales are the same"
        )
    if scales.used:
        return f"columns differ {apart}, and noise follows them"
    if scales.ratio < _LITTLE:
        return f"columns differ little ({apart}), and noise is the same for all"
    return f"columns differ {apart}, but noise is the same for all, as too little would be gained"


def _cost(scales: Scales, receipts: Sequence[Receipt]) -> list[str]:
    """Return what part of the budget went into scales."""
    asked = receipts_of_scales(receipts)
    if not asked:
        return []
    total = compose(receipt.cost for receipt in receipts).curve[0]
    part = sum(renyi_of(receipt.cost).curve[0] for receipt in asked) / total
    share = "less than 0.1 %" if part < 0.001 else f"{100 * part:.1f} %"
    what = "finding where columns lie" if scales.kind is ScaleKind.GIVEN else "finding this"
    return [f"{what} cost {share} of the budget"]


def _not_known(scales: Scales, names: Sequence[str]) -> list[str]:
    """Return which scales could not be told."""
    hidden = [name for name, one in zip(names, scales.known, strict=True) if not one]
    if not hidden:
        return []
    listed = ", ".join(hidden[:_NAMED]) + ", ..." * (len(hidden) > _NAMED)
    number = plural(len(hidden), "column")
    if not scales.per_column:
        return [f"the scale{'s' * (len(hidden) > 1)} of {number} could not be told: {listed}"]
    return [f"{number} hardly {'varies' if len(hidden) == 1 else 'vary'}: {listed}"]


def _short(value: float, digits: int = 3) -> str:
    """Return a number with some digits, without an exponent where that is short."""
    return f"{float(f'{value:.{digits}g}'):g}"

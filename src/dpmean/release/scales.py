"""The scales of columns: how widely each varies, and how noise is divided among them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpmean.enums import ScaleKind
from dpmean.errors import display_name
from dpmean.privacy.receipts import Receipt

SILENT = 4
"""In standard deviations of the noise: a column that hardly varies is set to its median if the mean is this near."""
FINE_MEDIANS = "medians, fine"
"""The step that finds the medians of columns that hardly vary."""
_STEPS = ("squares", "far pairs", "octaves", "medians", "tails")
"""The steps that find scales, and where columns lie; a number, or words after a comma, may follow."""


@final
@dataclass(frozen=True, slots=True)
class Scales:
    """How widely each column varies. It was found privately, so it may be published like the mean.

    ``np.asarray(release.scales)`` is ``values``.

    Attributes:
        values: The standard deviation of each column, in the user's units.
        errors: The standard error of each, as a part of it: 0.1 is 10 %. It is 1 where a column varies so little, or
            so rarely, that its scale could not be found, or where more rows are far out than its scale allows.
        units: How the noise is divided: its standard deviation in each column is a common number times this.
        kind: ``"found"`` if they were found privately, ``"given"`` if the caller knew them.
        per_column: True if each column is to be accurate in its own standard deviations, as with bounds on columns;
            False if all columns share a unit, as with a bound on the norm.
        columns: The names of the columns, if the release knows them.

    """

    values: tuple[float, ...]
    errors: tuple[float, ...]
    units: tuple[float, ...]
    kind: ScaleKind
    per_column: bool
    columns: tuple[str, ...] | None = None

    @property
    def used(self) -> bool:
        """Whether noise follows the scales: False if columns are so much alike that this would not pay."""
        return len(set(self.units)) > 1

    @property
    def known(self) -> tuple[bool, ...]:
        """For each column whether its scale is known."""
        return tuple(error < 1 and value > 0 for value, error in zip(self.values, self.errors, strict=True))

    @property
    def still(self) -> NDArray[np.bool_]:
        """For each column whether it hardly varies: its mean is set to its middle if noise cannot tell them apart."""
        return np.array(self.values) == 0 if self.per_column else np.zeros(len(self.values), dtype=np.bool_)

    @property
    def ratio(self) -> float:
        """The largest known scale divided by the smallest."""
        known = [value for value, is_known in zip(self.values, self.known, strict=True) if is_known]
        return max(known) / min(known) if known else 1.0

    @property
    def weights(self) -> NDArray[np.float64]:
        """How much noise of one unit counts in each column: in its standard deviations, or else in the user's unit.

        In a column whose scale is not known it counts as it is.
        """
        units = np.array(self.units)
        return np.where(self.known, units / np.where(self.known, self.values, 1.0), 1.0) if self.per_column else units

    @property
    def stretch(self) -> float:
        """How much longer a typical row is as errors count than in units of the noise."""
        working = np.array(self.values) / np.array(self.units)
        length = math.hypot(*working)
        return math.hypot(*(self.weights * working)) / length if length else 1.0

    @property
    def length(self) -> float:
        """The standard deviation of rows, over all columns together."""
        return math.hypot(*self.values)

    def __str__(self) -> str:
        return "\n".join(self._line(j) for j in range(len(self.values)))

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame with a line per column: its scale, and the standard error as a part of it.

        Both are NaN where the scale could not be found.

        Args:
            library: The library of the data frame: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.

        """
        from dpmean.release.frame_export import frame_of_scales  # here, as few need it

        return frame_of_scales(self, library)

    def _line(self, j: int) -> str:
        """Return what is known of one column."""
        name = f"column {j}" if self.columns is None else display_name(self.columns[j])
        if not self.known[j]:
            return f"{name}: could not be found"
        value = f"{name}: {self.values[j]:.3g}"
        return f"{value} (given)" if self.kind is ScaleKind.GIVEN else f"{value} ± {100 * self.errors[j]:.2g} %"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the values for NumPy.

        Args:
            dtype: The type of the numbers. By default it is float64.
            copy: Values are always copied, so False is an error.

        """
        if copy is False:
            raise ValueError("scales are copied into an array: leave copy=False out")
        return np.array(self.values, dtype=dtype)


def receipts_of_scales(receipts: Iterable[Receipt]) -> list[Receipt]:
    """Return the receipts of the steps that found scales, and where columns lie, in a release that has scales."""
    return [receipt for receipt in receipts if _finds_scales(receipt.step)]


def _finds_scales(step: str) -> bool:
    return step.partition(",")[0].rstrip(" 0123456789") in _STEPS

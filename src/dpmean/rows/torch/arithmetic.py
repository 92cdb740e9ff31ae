"""The loops of ``numba_kernels`` as tensor operations: they return the same integers on every device.

Every operation on floats is a single IEEE float64 operation, in the order of the loops; operations must not be fused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np

from dpmean.numerics.grid import RADII_PER_OCTAVE, norm_bits
from dpmean.queries.domain import Domain
from dpmean.rows import numba_kernels
from dpmean.rows.missing_values import refuse_missing

Tensor = Any
_SMALLEST_EXPONENT = -900


@final
@dataclass(frozen=True, slots=True, eq=False)
class Arithmetic:
    """The arithmetic on rows of one domain, on one device."""

    torch: Any
    device: Any
    domain: Domain
    first_rung: Tensor
    rungs: Tensor
    lines: Tensor
    """The replacement for missing values; if rows are mapped, also the lower bounds, upper bounds, middles, scales."""

    @staticmethod
    def on(device: Any, domain: Domain) -> Arithmetic:
        """Prepare the arithmetic on a device."""
        import torch

        lines = torch.as_tensor(np.ascontiguousarray(domain.lines[:, : domain.d]), device=device)
        return Arithmetic(torch, device, domain, *_tables(device), lines)

    @property
    def bits(self) -> int:
        """The number of bits of a coordinate."""
        return norm_bits(self.domain.d)

    def to_device(self, array: Any) -> Tensor:
        """Copy a public array to the device."""
        return self.torch.as_tensor(np.ascontiguousarray(array), device=self.device)

    def readable(self, rows: Tensor) -> Tensor:
        """Return where values are finite."""
        return rows.to(self.torch.float64).isfinite()

    def select_complete_rows(self, rows: Tensor) -> Tensor:
        """Return the complete rows: those that no missing value drops."""
        if not self.domain.dropped:
            return rows
        counted = self.readable(rows[:, list(self.domain.dropped)]).all(dim=1)
        return rows if bool(counted.all()) else rows[counted]

    def to_working_units(self, rows: Tensor) -> Tensor:
        """Return rows in working units (``_rescale``)."""
        rows = rows.to(self.torch.float64)
        if len(self.lines) == 1:
            return rows
        _, lower, upper, middle, scale = self.lines
        clamped = self.torch.minimum(self.torch.maximum(rows, lower), upper)
        return self.torch.where(rows.isfinite(), (clamped - middle) / scale, rows)

    def power(self, exponent: Tensor) -> Tensor:
        """Return 2^exponent (``_power``)."""
        return ((exponent + 1023) << 52).view(self.torch.float64)

    def own_unit(self, differences: Tensor) -> tuple[Tensor, Tensor]:
        """Return total and exponent of each row (``_own_unit``); the total of a non-finite row has no meaning."""
        largest = differences.abs().amax(dim=1)
        exponent = ((largest.view(self.torch.int64) >> 52) - 1023).clamp(min=_SMALLEST_EXPONENT)
        scale = self.power(self.bits - 1 - exponent.clamp(max=1023))
        wholes = self._truncate(differences * scale[:, None])
        return (wholes * wholes).sum(dim=1), exponent

    def _truncate(self, values: Tensor) -> Tensor:
        """Truncate to integers of ``bits`` bits (``_clamp``); non-finite values become the limit."""
        limit = 2.0**self.bits - 1.0
        values = self.torch.where(values < limit, values, limit)
        values = self.torch.where(values > -limit, values, -limit)
        return values.to(self.torch.int64)

    def rung(self, total: Tensor, exponent: Tensor) -> Tensor:
        """Return the first rung of the ladder at or above each distance (``_rung``)."""
        torch = self.torch
        length = (total.to(torch.float64).view(torch.int64) >> 52) - 1023
        shifts = ((61 - length) >> 1).clamp(min=0, max=31)
        raised = total << (2 * shifts)
        rung = self.first_rung[(raised >> 54).clamp(0, 255)]
        rung = rung + (self.rungs[rung] < raised)
        found = RADII_PER_OCTAVE * (exponent - self.bits + 31 - shifts) + rung
        return torch.where(total == 0, numba_kernels.BELOW_ALL_RUNGS, found)

    def enter(self, rows: Tensor) -> Tensor:
        """Bring the user's rows within the bound, and return them in working units (``_enter``)."""
        rows = rows.to(self.torch.float64) if self.domain.maps_last else self.to_working_units(rows)
        finite = rows.isfinite()
        if not self.domain.impute and not bool(finite.all()):
            refuse_missing()
        rows = self._shorten(self.torch.where(finite, rows, self.lines[0]))
        return self.to_working_units(rows) if self.domain.maps_last else rows

    def _shorten(self, rows: Tensor) -> Tensor:
        longest = self.domain.limit
        total, exponent = self.own_unit(rows)
        half = exponent >> 1
        first, second = self.power(-half), self.power(-(exponent - half))
        norm = total.to(self.torch.float64).sqrt() * 2.0 ** (1 - self.bits)
        short = norm <= longest * first * second
        moved = rows * first[:, None] * second[:, None] * self._divide(longest, norm)[:, None]
        return self.torch.where(short[:, None], rows, moved)

    def _divide(self, number: float, by: Tensor) -> Tensor:
        """Divide with one rounding: ``number / by`` would multiply the number by the rounded ``1 / by``."""
        return self.torch.full_like(by, number) / by

    def in_units(self, differences: Tensor, per_unit: Any) -> tuple[Tensor, Tensor]:
        """Return rows as integers in the given unit, and their squared norms (``_in_units``)."""
        wholes = self._truncate(differences * per_unit)
        return wholes, (wholes * wholes).sum(dim=1)

    def shrink(self, differences: Tensor, radius: int) -> Tensor:
        """Shorten rows to the radius (``_shrink``)."""
        torch = self.torch
        total, exponent = self.own_unit(differences)
        scale = self.power(self.bits - 1 - exponent)
        own = (differences * scale[:, None]).to(torch.int32).to(torch.float64)
        factor = self._divide(float(radius), total.to(torch.float64).sqrt())
        while True:
            wholes = (own * factor[:, None]).to(torch.int32).to(torch.int64)
            long = (wholes * wholes).sum(dim=1) > radius * radius
            if not bool(long.any()):
                return wholes
            factor = torch.where(long, factor * (1.0 - 2.0**-40), factor)

    def stretch(self, squared: Tensor, length: int) -> Tensor:
        """Return the factors that turn rows of these squared norms into directions (``_find_factor``)."""
        norm = squared.to(self.torch.float64).sqrt().to(self.torch.int64)
        for _ in range(2):  # the root in floats is too small by at most two
            norm = norm + (norm * norm < squared)
        return self.torch.div(length, norm.clamp(min=1), rounding_mode="floor")


@lru_cache(maxsize=8)
def _tables(device: Any) -> tuple[Tensor, Tensor]:
    """Copy the ladder to a device, once."""
    import torch

    first = torch.as_tensor(numba_kernels.FIRST_RUNG.astype(np.int64), device=device)
    return first, torch.as_tensor(numba_kernels.RUNGS, device=device)

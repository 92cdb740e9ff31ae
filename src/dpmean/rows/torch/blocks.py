"""Rows of a tensor, processed on their device in blocks: only integer totals leave the device.

This is one file because it answers every query, each in a few tensor operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import final, overload

import numpy as np

from dpmean.queries.domain import Domain
from dpmean.queries.queries import (
    Ball,
    BallSquares,
    Bins,
    Columns,
    Coordinates,
    Distances,
    Ints,
    Octaves,
    Pairs,
    Present,
    Query,
    Radial,
    Shells,
    Sides,
    Squares,
)
from dpmean.queries.totals import BinSums, Histogram, ShellSums, Tally, Total
from dpmean.rows import numba_kernels
from dpmean.rows.block_query import Kernel, bin_sums, safe_radius, safe_rung
from dpmean.rows.memory import MemoryRows
from dpmean.rows.torch.arithmetic import Arithmetic, Tensor

_BLOCK_BYTES = 64 << 20  # bytes of a block in float64: a GPU has memory for several


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorRows:
    """The rows of a tensor with a domain applied, processed on their device."""

    tensor: Tensor
    domain: Domain
    block_rows: int = 0
    arithmetic: Arithmetic = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arithmetic", Arithmetic.on(self.tensor.device, self.domain))

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.tensor.shape[0])

    @property
    def d(self) -> int:
        """The number of coordinates of a row."""
        return int(self.tensor.shape[1])

    def take(self, positions: Ints) -> TensorRows:
        """Return the complete rows among those at the given positions, on the same device."""
        return self.at(self.arithmetic.to_device(positions)).drop_incomplete()

    def drop_incomplete(self) -> TensorRows:
        """Return the complete rows, in the same order."""
        return replace(self, tensor=self.arithmetic.select_complete_rows(self.tensor)) if self.domain.dropped else self

    def at(self, positions: Tensor) -> TensorRows:
        """Return the rows at positions that are given as a tensor on the device."""
        return replace(self, tensor=self.tensor[positions])

    def through(self, domain: Domain) -> TensorRows:
        """Return the same rows with another domain."""
        return replace(self, domain=domain)

    def collect(self) -> TensorRows:
        """Return these rows, which can be read many times."""
        return self

    @overload
    def answer(self, query: Radial) -> Histogram: ...
    @overload
    def answer(self, query: Coordinates | Columns) -> Tally: ...
    @overload
    def answer(self, query: Ball | BallSquares | Octaves | Squares | Present) -> Ints: ...
    @overload
    def answer(self, query: Shells) -> ShellSums: ...
    @overload
    def answer(self, query: Bins) -> BinSums: ...
    def answer(self, query: Query) -> Total:
        """Return the exact answer to a query over all rows."""
        match query:
            case Distances():
                return to_histogram(self._count(self._distances(query), query.points))
            case Sides():
                return to_histogram(self._sides(query))
            case Pairs():
                return to_histogram(self._count(self.drop_incomplete()._pairs(query), query.points))
            case Coordinates():
                return self._by_coordinate(query)
            case (
                Columns() | Octaves() | Squares() | BallSquares()
            ):  # used for samples only: the loops of the host answer them
                return self._on_host().answer(query)
            case Ball():
                return self._ball(query)
            case Shells():
                return self._shells(query)
            case Bins():
                return self._bins(query)
            case Present():
                return self._present()

    def _present(self) -> Ints:
        total = self._zeros(self.d + 1)
        for _, rows in self._places(self.n):
            total[:-1] += self.arithmetic.readable(rows).sum(dim=0)
            total[-1] += len(self.arithmetic.select_complete_rows(rows))
        return self._to_host(total)

    # --- sums ------------------------------------------------------------------------------------------------

    def _ball(self, ball: Ball) -> Ints:
        roomy = ball.radius * ball.unit < safe_radius(self.domain, ball.centre)
        centre, square = self.arithmetic.to_device(ball.centre), ball.radius**2
        total = self._zeros(self.d)
        for given in self._blocks():
            wholes, squared = self.arithmetic.in_units(
                self.arithmetic.to_working_units(given) - centre, 1.0 / ball.unit
            )
            odd = (squared > square) if roomy else self.arithmetic.torch.ones_like(squared, dtype=bool)
            total += self.arithmetic.torch.where(odd[:, None], 0, wholes).sum(dim=0)
            if bool(odd.any()):
                total += self._clip(self.arithmetic.enter(given[odd]) - centre, ball.unit, ball.radius).sum(dim=0)
        return self._to_host(total)

    def _clip(self, differences: Tensor, unit: float, radius: int) -> Tensor:
        wholes, squared = self.arithmetic.in_units(differences, 1.0 / unit)
        long = squared > radius**2
        wholes[long] = self.arithmetic.shrink(differences[long], radius)
        return wholes

    def _shells(self, shells: Shells) -> ShellSums:
        roomy = shells.radii[0] * shells.unit < safe_radius(self.domain, shells.centre)
        torch, centre = self.arithmetic.torch, self.arithmetic.to_device(shells.centre)
        sums = self._zeros(2, len(shells.radii) + 1, self.d)
        for given in self._blocks():
            wholes, squared = self.arithmetic.in_units(
                self.arithmetic.to_working_units(given) - centre, 1.0 / shells.unit
            )
            odd = (squared > shells.radii[0] ** 2) if roomy else torch.ones_like(squared, dtype=bool)
            if bool(odd.any()):
                self._outside(given[odd], centre, shells, sums)
            self._by_shell(wholes, torch.where(odd, -1, squared), shells, sums)
        inner, outer = self._to_host(sums)
        return ShellSums(inner, outer)

    def _by_shell(self, wholes: Tensor, squared: Tensor, shells: Shells, sums: Tensor) -> None:
        """Add rows within the largest ball to the sums of their shells; a negative squared norm leaves a row out."""
        torch, balls = self.arithmetic.torch, len(shells.radii)
        shell = sum((squared <= radius**2).to(torch.int64) for radius in shells.radii)
        shell = torch.where(squared < 0, -1, shell)
        factor = self.arithmetic.stretch(squared.clamp(min=1), shells.length)
        for s in range(1, balls + 1):
            mine = torch.where((shell == s)[:, None], wholes, 0)
            sums[0, s] += mine.sum(dim=0)
            if s < balls:
                sums[1, s] += (mine * factor[:, None]).sum(dim=0)

    def _outside(self, given: Tensor, centre: Tensor, shells: Shells, sums: Tensor) -> None:
        """Bring rows within the bound, and add them; of rows outside of all balls, add the direction only."""
        differences = self.arithmetic.enter(given) - centre
        wholes, squared = self.arithmetic.in_units(differences, 1.0 / shells.unit)
        far = squared > shells.radii[0] ** 2
        clipped = self.arithmetic.shrink(differences[far], shells.radii[0])
        sums[1, 0] += (clipped * (shells.length // shells.radii[0])).sum(dim=0)
        self._by_shell(wholes, self.arithmetic.torch.where(far, -1, squared), shells, sums)

    def _bins(self, bins: Bins) -> BinSums:
        torch, arithmetic, last = self.arithmetic.torch, self.arithmetic, len(bins.radii) - 1
        centre, inmost = arithmetic.to_device(bins.centre), safe_rung(self.domain, bins.distances)
        radii, units = (
            arithmetic.to_device(np.array(bins.radii)),
            arithmetic.to_device(np.ldexp(1.0, -np.array(bins.exponents))),
        )
        total = self._zeros(*Kernel(bins, self.domain).shape)
        for block in self._blocks():
            rows, rung = self._enter_rows(block, centre, inmost)
            differences = rows - centre
            place = (rung - bins.distances.low).clamp(0, bins.distances.points)
            total[: bins.distances.points + 1] += torch.bincount(place, minlength=bins.distances.points + 1)
            number = (-torch.div(bins.first - rung, bins.stride, rounding_mode="floor")).clamp(0, last)
            while True:
                wholes, squared = arithmetic.in_units(differences, units[number][:, None])
                long = (squared > radii[number] ** 2) & (number < last)
                if not bool(long.any()):
                    break
                number = number + long
            long = squared > radii[number] ** 2
            wholes[long] = arithmetic.shrink(differences[long], bins.radii[-1])
            factor = arithmetic.stretch((wholes * wholes).sum(dim=1), bins.length)
            sums = total[bins.distances.points + 1 :].view(2, last + 1, self.d)
            sums[0].index_add_(0, number, wholes)
            sums[1].index_add_(0, number, torch.where(number > 0, factor, 0)[:, None] * wholes)
        return bin_sums(bins, self._to_host(total))

    # --- distances -------------------------------------------------------------------------------------------

    def _distances(self, view: Distances) -> Iterator[Tensor]:
        centre, inmost = self.arithmetic.to_device(view.centre), safe_rung(self.domain, view)
        for rows in self._blocks():
            yield self._enter_rows(rows, centre, inmost)[1] - view.low

    def _enter_rows(self, given: Tensor, centre: Tensor, inmost: int) -> tuple[Tensor, Tensor]:
        """Bring rows within the bound; return them and the rungs of their distances. Most need no change."""
        rows = self.arithmetic.to_working_units(given)
        total, exponent = self.arithmetic.own_unit(rows - centre)
        rung = self.arithmetic.rung(total, exponent)
        odd = (exponent == 1024) | (rung > inmost)
        if bool(odd.any()):
            rows = rows.clone()
            rows[odd] = self.arithmetic.enter(given[odd])
            rung[odd] = self.arithmetic.rung(*self.arithmetic.own_unit(rows[odd] - centre))
        return rows, rung

    def _pairs(self, view: Pairs) -> Iterator[Tensor]:
        half = self.n // 2
        for start, rows in self._places(half):
            partners = self.tensor[half + start : half + start + len(rows)]
            apart = self.arithmetic.enter(rows) - self.arithmetic.enter(partners)
            yield self.arithmetic.rung(*self.arithmetic.own_unit(apart)) - view.low

    def _sides(self, view: Sides) -> Ints:
        torch, centre = self.arithmetic.torch, self.arithmetic.to_device(view.centre)
        counts = np.zeros((2, view.points + 1), dtype=np.int64)
        for block in self._blocks():
            rows = self.arithmetic.enter(block)
            rung = self.arithmetic.rung(*self.arithmetic.own_unit(rows - centre))
            place, above = (rung - view.low).clamp(0, view.points), rows[:, 0] >= centre[0]
            for line, mine in enumerate((above, ~above)):
                found = torch.bincount(torch.where(mine, place, 0), minlength=view.points + 1)
                counts[line] += self._to_host(found)
        return counts

    def _count(self, places: Iterator[Tensor], points: int) -> Ints:
        counts = self._zeros(points + 1)
        for place in places:
            counts += self.arithmetic.torch.bincount(place.clamp(0, points), minlength=points + 1)
        return self._to_host(counts)[np.newaxis]

    # --- rotated coordinates ---------------------------------------------------------------------------------

    def _by_coordinate(self, view: Coordinates) -> TensorPlaces:
        torch, size = self.arithmetic.torch, view.size
        factors = self.arithmetic.to_device(
            numba_kernels.combine_signs(view.signs, self.d, size, view.first // size) / view.step
        )
        indices = [torch.empty((0, size), dtype=torch.int32, device=self.arithmetic.device)]
        for block in self._blocks():
            if not len(block):
                continue
            wholes = (self.arithmetic.enter(block) * factors).round()
            padded = torch.nn.functional.pad(wholes, (0, -self.d % size))
            values = padded.view(len(block), -1, size).sum(dim=1)
            half = 1
            while half < size:
                pairs = values.view(len(block), -1, 2, half)
                values = torch.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), dim=2)
                values, half = values.view(len(block), size), 2 * half
            place = ((values - view.low) * (1.0 / view.spacing)).ceil().clamp(0.0, float(view.points))
            indices.append(place.to(torch.int32))
        return TensorPlaces(torch.cat(indices), self.arithmetic)

    # --- blocks ----------------------------------------------------------------------------------------------

    def _places(self, count: int) -> Iterator[tuple[int, Tensor]]:
        """Yield the rows in the user's units, some at a time, with their first position."""
        step = self.block_rows or max(1, _BLOCK_BYTES // (8 * self.d))
        for start in range(0, count, step):
            yield start, self.tensor[start : min(start + step, count)]

    def _blocks(self) -> Iterator[Tensor]:
        for _, rows in self._places(self.n):
            yield self.arithmetic.select_complete_rows(rows)

    def _on_host(self) -> MemoryRows:
        here = self.tensor.cpu()
        known = here.float() if here.dtype == self.arithmetic.torch.bfloat16 else here
        return MemoryRows(known.numpy(), self.domain)

    def _zeros(self, *shape: int) -> Tensor:
        return self.arithmetic.torch.zeros(shape, dtype=self.arithmetic.torch.int64, device=self.arithmetic.device)

    def _to_host(self, tensor: Tensor) -> Ints:
        found: Ints = tensor.cpu().numpy()
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorPlaces:
    """For several values per row, the index of the first point that is not below it: one column of ``indices`` each."""

    indices: Tensor
    arithmetic: Arithmetic

    def count_at_most(self, index: Ints) -> Ints:
        """Count, in every column, the entries at or below its index."""
        found: Ints = (self.indices <= self.arithmetic.to_device(index)).sum(dim=0).cpu().numpy()
        return found


def to_histogram(counts: Ints) -> Histogram:
    """Return the histogram with the given count on each rung of the ladder."""
    return Histogram(np.cumsum(counts, axis=1))

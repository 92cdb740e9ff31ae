"""Rows in tensors of PyTorch: on a GPU they stay there, and only whole numbers and a public sample leave it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentTypeError, DataError
from dpmean.frame import Frame
from dpmean.interfaces import Tally
from dpmean.rows import kernels
from dpmean.rows.kernel import Kernel, bin_sums, innermost, room
from dpmean.rows.memory import MemoryRows
from dpmean.rows.source import InMemory
from dpmean.rows.streamed import Source
from dpmean.rows.tensors import Arithmetic, Tensor
from dpmean.types import (
    Ball,
    Bins,
    BinSums,
    Coordinates,
    Distances,
    Histogram,
    Ints,
    Pairs,
    Radial,
    Shells,
    ShellSums,
    Sides,
    View,
)

_FEW = 4096  # rows that must be looked at one by one: the loops of the host are faster than a device
_BLOCK_BYTES = 64 << 20  # of a block in float64: a GPU has room for some of them


def open_tensor(tensor: Any) -> Source:
    """Read a tensor on a CPU or a CUDA device."""
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided or tensor.dtype.is_complex:
        kind = getattr(tensor, "dtype", type(tensor).__name__)
        raise ArgumentTypeError(f"X must be a dense tensor of real numbers, got {kind}: convert it")
    tensor = tensor.detach()
    if tensor.ndim not in (1, 2) or not tensor.numel():
        raise DataError(f"X must have shape (n, d) with at least one row and one column, got {tuple(tensor.shape)}")
    tensor = tensor[:, None] if tensor.ndim == 1 else tensor
    if tensor.device.type == "cuda":
        return TensorSource(tensor)
    if tensor.device.type != "cpu":
        raise ArgumentTypeError(
            f"tensors on {tensor.device.type} have no exact float64: move X to a CPU or CUDA device"
        )
    return TensorSource(tensor) if tensor.dtype == torch.bfloat16 else InMemory(tensor.numpy())


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorSource:
    """The rows of a tensor."""

    tensor: Tensor

    names = None

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and how many columns there are."""
        return int(self.tensor.shape[0]), int(self.tensor.shape[1])

    def rows(self, frame: Frame) -> TensorRows | MemoryRows:
        """Return the rows as they are seen through a frame."""
        if self.tensor.device.type == "cpu":
            return MemoryRows(Widened(self.tensor), frame)
        return TensorRows(self.tensor, frame, fused=fused_kernels(frame, self.tensor))


def fused_kernels(frame: Frame, tensor: Tensor) -> Any:
    """Return the kernels that read rows once, if they know such rows; otherwise None, and blocks do the same."""
    if frame.lower is not None or str(tensor.dtype) == "torch.bool":
        return None
    try:
        from dpmean.rows import fused
    except ImportError:  # no triton on this system
        return None
    return fused if frame.d <= fused.WIDEST and len(tensor) < fused.MOST_ROWS else None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Widened:
    """A tensor on a CPU, of a type that numpy lacks; it gives some of its rows as float32."""

    tensor: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and how many columns there are."""
        return int(self.tensor.shape[0]), int(self.tensor.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> NDArray[Any]:
        found: NDArray[Any] = self.tensor[where].float().numpy()
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorRows:
    """The rows of a tensor, seen through a frame, and worked on where they are."""

    tensor: Tensor
    frame: Frame
    block_rows: int = 0
    fused: Any = None
    """The kernels of ``rows/fused.py``, where they can be used."""
    does: Arithmetic = field(init=False)
    lengths: dict[int, Ints] = field(init=False, default_factory=dict)
    """What a question about pairs has found out beside: distances from the origin, by the first rung."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "does", Arithmetic.on(self.tensor.device, self.frame))

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.tensor.shape[0])

    @property
    def d(self) -> int:
        """How many coordinates a row has."""
        return int(self.tensor.shape[1])

    def take(self, positions: Ints) -> TensorRows:
        """Return the rows at the given positions, on the same device."""
        return replace(self, tensor=self.tensor[self.does.there(positions)])

    def held(self) -> TensorRows:
        """Return these rows: they can be read again and again."""
        return self

    def tally(self, view: View) -> Tally:
        """Prepare to count rows by where a view puts them."""
        return self._by_coordinate(view) if isinstance(view, Coordinates) else self.histogram(view)

    def histogram(self, view: Radial) -> Histogram:
        """Count rows, or pairs of rows, by their distance."""
        match view:
            case Distances() if self.fused:
                counts = self._fused_distances(view)
            case Distances():
                counts = self._count(self._distances(view), view.points)[np.newaxis]
            case Sides():
                counts = self._sides(view)
            case Pairs():
                fused = self._fused_pairs(view) if self.fused else None
                counts = self._count(self._pairs(view), view.points)[np.newaxis] if fused is None else fused
        return Histogram(np.cumsum(counts, axis=1))

    def add_up(self, ball: Ball) -> Ints:
        """Add up the rows, each clipped to the ball."""
        roomy = ball.radius * ball.unit < room(self.frame, ball.centre)
        if self.fused and roomy:
            (core,), odd = self.fused.add_rows(self.tensor, self.does, ball)
            added: Ints = core + self._of_some(odd, ball)
            return added
        centre, square = self.does.there(ball.centre), ball.radius**2
        total = self._zeros(self.d)
        for rows in self._blocks():
            wholes, squared = self.does.in_units(rows - centre, 1.0 / ball.unit)
            odd = (squared > square) if roomy else self.does.torch.ones_like(squared, dtype=bool)
            total += self.does.torch.where(odd[:, None], 0, wholes).sum(dim=0)
            if bool(odd.any()):
                total += self._clipped(self.does.enter(rows[odd]) - centre, ball.unit, ball.radius).sum(dim=0)
        return self._home(total)

    def _clipped(self, differences: Tensor, unit: float, radius: int) -> Tensor:
        wholes, squared = self.does.in_units(differences, 1.0 / unit)
        long = squared > radius**2
        wholes[long] = self.does.shrink(differences[long], radius)
        return wholes

    def add_up_shells(self, shells: Shells) -> ShellSums:
        """Add up rows and their directions, shell by shell."""
        roomy = shells.radii[0] * shells.unit < room(self.frame, shells.centre)
        if self.fused and roomy and len(shells.radii) == self.fused.MOST_BALLS:
            return self._fused_shells(shells)
        torch, centre = self.does.torch, self.does.there(shells.centre)
        sums = self._zeros(2, len(shells.radii) + 1, self.d)
        for rows in self._blocks():
            wholes, squared = self.does.in_units(rows - centre, 1.0 / shells.unit)
            odd = (squared > shells.radii[0] ** 2) if roomy else torch.ones_like(squared, dtype=bool)
            if bool(odd.any()):
                self._outside(rows[odd], centre, shells, sums)
            self._by_shell(wholes, torch.where(odd, -1, squared), shells, sums)
        inner, outer = self._home(sums)
        return ShellSums(inner, outer)

    def _by_shell(self, wholes: Tensor, squared: Tensor, shells: Shells, sums: Tensor) -> None:
        """Add rows within the largest ball to the sums of their shells; a negative length leaves a row out."""
        torch, balls = self.does.torch, len(shells.radii)
        shell = sum((squared <= radius**2).to(torch.int64) for radius in shells.radii)
        shell = torch.where(squared < 0, -1, shell)
        factor = self.does.stretch(squared.clamp(min=1), shells.length)
        for s in range(1, balls + 1):
            mine = torch.where((shell == s)[:, None], wholes, 0)
            sums[0, s] += mine.sum(dim=0)
            if s < balls:
                sums[1, s] += (mine * factor[:, None]).sum(dim=0)

    def _outside(self, rows: Tensor, centre: Tensor, shells: Shells, sums: Tensor) -> None:
        """Add rows that must be looked at: brought within reach first, and by direction if outside all balls."""
        differences = self.does.enter(rows) - centre
        wholes, squared = self.does.in_units(differences, 1.0 / shells.unit)
        far = squared > shells.radii[0] ** 2
        clipped = self.does.shrink(differences[far], shells.radii[0])
        sums[1, 0] += (clipped * (shells.length // shells.radii[0])).sum(dim=0)
        self._by_shell(wholes, self.does.torch.where(far, -1, squared), shells, sums)

    def add_up_bins(self, bins: Bins) -> BinSums:
        """Count rows by their distance and add them up, and their directions, bin by bin."""
        torch, does, last = self.does.torch, self.does, len(bins.radii) - 1
        centre, inmost = does.there(bins.centre), innermost(self.frame, bins.distances)
        radii, units = does.there(np.array(bins.radii)), does.there(np.ldexp(1.0, -np.array(bins.exponents)))
        total = self._zeros(*Kernel(bins, self.frame).shape)
        for block in self._blocks():
            rows, rung = self._entered(block, centre, inmost)
            differences = rows - centre
            place = (rung - bins.distances.low).clamp(0, bins.distances.points)
            total[: bins.distances.points + 1] += torch.bincount(place, minlength=bins.distances.points + 1)
            number = (-torch.div(bins.first - rung, bins.stride, rounding_mode="floor")).clamp(0, last)
            while True:
                wholes, squared = does.in_units(differences, units[number][:, None])
                long = (squared > radii[number] ** 2) & (number < last)
                if not bool(long.any()):
                    break
                number = number + long
            long = squared > radii[number] ** 2
            wholes[long] = does.shrink(differences[long], bins.radii[-1])
            factor = does.stretch((wholes * wholes).sum(dim=1), bins.length)
            sums = total[bins.distances.points + 1 :].view(2, last + 1, self.d)
            sums[0].index_add_(0, number, wholes)
            sums[1].index_add_(0, number, torch.where(number > 0, factor, 0)[:, None] * wholes)
        return bin_sums(bins, self._home(total))

    # --- in one kernel ---------------------------------------------------------------------------------------

    def _fused_distances(self, view: Distances) -> Ints:
        if (known := self.lengths.get(view.low)) is not None and view.points < known.shape[1] and not view.centre.any():
            return np.append(known[:, : view.points], known[:, view.points :].sum(axis=1, keepdims=True), axis=1)
        counts, odd = self.fused.count_rows(self.tensor, self.does, view, innermost(self.frame, view))
        found: Ints = counts if odd is None else counts + self._of_some(odd, view)
        return found

    def _fused_pairs(self, view: Pairs) -> Ints | None:
        """Count pairs if all rows are within reach for certain."""
        half, origin = self.n // 2, Distances(np.zeros(self.d), view.low, view.points)
        if not half:
            return None
        both = self.tensor[: 2 * half]
        counts, odd = self.fused.count_rows(both, self.does, view, innermost(self.frame, origin))
        if odd is None and 2 * half == self.n:
            self.lengths[view.low - self.fused.HALF_AN_OCTAVE.value] = counts[1:]
        return counts[:1] if odd is None else None

    def _fused_shells(self, shells: Shells) -> ShellSums:
        """Add up the rows inside both balls and between them, then the few others one by one."""
        (core, ring, turned), odd = self.fused.add_rows(self.tensor, self.does, shells)
        both = self._of_some(odd, shells)
        both[0, 2] += core
        both[0, 1] += ring
        both[1, 1] += turned
        return ShellSums(*both)

    def _of_some(self, positions: Tensor, question: Distances | Ball | Shells) -> Ints:
        """Answer for the rows that a kernel left out: few of them on the host, many where they are."""
        kernel = Kernel(question, self.frame)
        total = kernel.zeros()
        if positions is None:
            return total
        rows = self.does.torch.index_select(self.tensor, 0, positions)
        if len(rows) <= _FEW:
            some = rows.cpu()
            kernel.add(some.float().numpy() if some.dtype == self.does.torch.bfloat16 else some.numpy(), total)
            return total
        others = replace(self, tensor=rows, fused=None)
        match question:
            case Distances():
                return others._count(others._distances(question), question.points)[np.newaxis]
            case Ball():
                return others.add_up(question)
            case Shells():
                found = others.add_up_shells(question)
                return np.stack((found.inner, found.outer))

    # --- distances -------------------------------------------------------------------------------------------

    def _distances(self, view: Distances) -> Iterator[Tensor]:
        centre, inmost = self.does.there(view.centre), innermost(self.frame, view)
        for rows in self._blocks():
            yield self._entered(rows, centre, inmost)[1] - view.low

    def _entered(self, rows: Tensor, centre: Tensor, inmost: int) -> tuple[Tensor, Tensor]:
        """Return rows, brought within reach, and the rungs of their distances; most are within reach for certain."""
        total, exponent = self.does.own_unit(rows - centre)
        rung = self.does.rung(total, exponent)
        odd = (exponent == 1024) | (rung > inmost)
        if bool(odd.any()):
            rows = rows.clone()
            rows[odd] = self.does.enter(rows[odd])
            rung[odd] = self.does.rung(*self.does.own_unit(rows[odd] - centre))
        return rows, rung

    def _pairs(self, view: Pairs) -> Iterator[Tensor]:
        half = self.n // 2
        for start, rows in self._places(half):
            partners = self.does.working(self.tensor[half + start : half + start + len(rows)])
            apart = self.does.enter(rows) - self.does.enter(partners)
            yield self.does.rung(*self.does.own_unit(apart)) - view.low

    def _sides(self, view: Sides) -> Ints:
        torch, centre = self.does.torch, self.does.there(view.centre)
        counts = np.zeros((2, view.points + 1), dtype=np.int64)
        for block in self._blocks():
            rows = self.does.enter(block)
            rung = self.does.rung(*self.does.own_unit(rows - centre))
            place, above = (rung - view.low).clamp(0, view.points), rows[:, 0] >= centre[0]
            for line, mine in enumerate((above, ~above)):
                found = torch.bincount(torch.where(mine, place, 0), minlength=view.points + 1)
                counts[line] += self._home(found)
        return counts

    def _count(self, places: Iterator[Tensor], points: int) -> Ints:
        counts = self._zeros(points + 1)
        for place in places:
            counts += self.does.torch.bincount(place.clamp(0, points), minlength=points + 1)
        return self._home(counts)

    # --- rotated coordinates ---------------------------------------------------------------------------------

    def _by_coordinate(self, view: Coordinates) -> TensorPlaces:
        torch, size = self.does.torch, view.size
        factors = self.does.there(kernels.combining(view.signs, self.d, size, view.first // size) / view.step)
        indices = []
        for block in self._blocks():
            wholes = (self.does.enter(block) * factors).round()
            padded = torch.nn.functional.pad(wholes, (0, -self.d % size))
            values = padded.view(len(block), -1, size).sum(dim=1)
            half = 1
            while half < size:
                pairs = values.view(len(block), -1, 2, half)
                values = torch.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), dim=2)
                values, half = values.view(len(block), size), 2 * half
            place = ((values - view.low) * (1.0 / view.spacing)).ceil().clamp(0.0, float(view.points))
            indices.append(place.to(torch.int32))
        return TensorPlaces(torch.cat(indices), self.does)

    # --- blocks ----------------------------------------------------------------------------------------------

    def _places(self, count: int) -> Iterator[tuple[int, Tensor]]:
        """Yield rows in working units, some at a time, with their first position."""
        step = self.block_rows or max(1, _BLOCK_BYTES // (8 * self.d))
        for start in range(0, count, step):
            yield start, self.does.working(self.tensor[start : min(start + step, count)])

    def _blocks(self) -> Iterator[Tensor]:
        for _, rows in self._places(self.n):
            yield rows

    def _zeros(self, *shape: int) -> Tensor:
        return self.does.torch.zeros(shape, dtype=self.does.torch.int64, device=self.does.device)

    def _home(self, tensor: Tensor) -> Ints:
        found: Ints = tensor.cpu().numpy()
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorPlaces:
    """For many values of each row, the first point not below it: one column of ``indices`` per value."""

    indices: Tensor
    does: Arithmetic

    def count_at_most(self, index: Ints) -> Ints:
        """Count in every column."""
        found: Ints = (self.indices <= self.does.there(index)).sum(dim=0).cpu().numpy()
        return found

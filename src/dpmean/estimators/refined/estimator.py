"""The refined mean: spread, reach, plan, locate, radius, release. No parameter, no rotation, near the oracle.

Every number it uses comes from the curator, who answers with noise and keeps the receipts; budgets and questions
depend on earlier answers, and the curator's purse bounds what they cost together.

This is one file because it is read from top to bottom, as one algorithm: each step goes on where the last one ended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.estimators.feasibility import Need, rows_for_radius_and_mean
from dpmean.estimators.refined import plan
from dpmean.noise.public import PublicCoins
from dpmean.numerics.error_quantiles import tail_bias
from dpmean.numerics.grid import RADII_PER_OCTAVE, Grid, radius_at, radius_index
from dpmean.numerics.shells import FACTOR_ONE, bias_gap_sensitivity, shell_sums, shells_of
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.protocols import Noise, Rows
from dpmean.queries.queries import Bins, BinSums, Estimate, Floats, Histogram, Ints, Shells, ShellSums
from dpmean.release.diagnostics import Found
from dpmean.trust.central.curator import WEIGHT_ONE, Curator
from dpmean.trust.central.model import REPLACING, Central

NEAR = 0.6
"""In spreads: a centre is near enough to look at distances from it."""
SAME_RADIUS = 0.85
"""Releases that clip at less than this part of the last one's radius do not enter the mean."""
WELL_BEYOND = 1.5
"""Times as far as rows are expected to be: a radius there tells of a heavy tail, and rows there may raise an alarm."""
LUMPY = 16
"""If the largest distances in pairs are so many times the typical ones, rows come in lumps, and have no one scale."""
RUNGS = RADII_PER_OCTAVE // 4
"""From one radius that is tried to the next: a quarter of an octave."""


@final
@dataclass(frozen=True, slots=True)
class RefinedMean:
    """Clip rows around a centre and at a radius that are both refined step by step."""

    grid: Grid
    coins: PublicCoins
    one_pass: bool = False
    """Whether to read all rows once instead of twice, where a sample finds the centre; see ``Bins``."""
    trust: Central = REPLACING
    name = "refined"

    def __call__(self, rows: Rows, budget: Zcdp, noise: Noise) -> Estimate:
        """Estimate the mean of the rows within the budget."""
        m = plan.rows_to_locate(rows.n, rows.d, float(budget.rho))
        rows = rows.held() if m == rows.n else rows  # few rows, many questions
        drawn = rows.take(self.coins.order(rows.n, m))
        some = rows if m == rows.n else drawn
        shares = plan.divide(budget.rho, rows.n, m, rows.d)
        work = _Work(self.grid, Curator(budget, noise, self.trust), rows, some, shares, self.one_pass and m < rows.n)
        work.find_spread_and_reach(drawn)
        work.locate(until=NEAR if m == rows.n else 0.0)
        if work.lumpy:
            return work.release_lumps()
        return work.release_in_interval() if rows.d == 1 else work.release_in_ball()

    def rows_needed(self, budget: Zcdp) -> Need:
        """Return how many rows this takes."""
        return rows_needed(self.grid.d, budget, self.trust)


def rows_needed(d: int, budget: Zcdp, trust: Central = REPLACING) -> Need:
    """Return how many rows the refined mean takes; for d = 1 twice as many to find both ends of an interval."""
    need, root = rows_for_radius_and_mean(d, trust, budget), math.sqrt(budget.rho)
    return need.and_also(Need(200 / root, 110 / root)) if d == 1 else need


@final
@dataclass(frozen=True, slots=True)
class _Partial:
    """A release of the mean, made on the way."""

    centre: Floats
    moved: Floats
    std: float
    radius: float

    @property
    def mean(self) -> Floats:
        """The mean that was found around the centre."""
        return self.centre + self.moved


@final
@dataclass(slots=True)
class _Work:
    """What is known so far; all of it is public, except for the rows."""

    grid: Grid
    curator: Curator
    rows: Rows
    some: Rows
    shares: plan.Shares
    one_pass: bool
    rho: Fraction = field(init=False)
    left: Fraction = field(init=False)
    centre: Floats = field(init=False)
    spread: float = 0.0
    reach: float = 0.0
    lumpy: bool = False
    error: float = 0.0
    unseen: float = 0.0
    """How many rows may lie anywhere beyond the radius without having been noticed."""
    noticed: float = math.inf
    """How many rows far out would have raised an alarm, had there been one."""
    pressure: float = 0.0
    """How many rows the last search for a radius left beyond it, times how fast their number falls (see tail_bias)."""
    seen: Histogram | None = None
    bins: Bins | None = None
    sums: BinSums | None = None
    """In one pass: what was seen beside the distances."""
    releases: list[_Partial] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rho = self.curator.left
        self.left = self.rho - self.shares.total
        self.centre = np.zeros(self.rows.d)

    def _as_if_replaced(self, rho: Fraction) -> float:
        """Return the budget that gives a sum as much noise if neighbours replace a row, as plans take them to do."""
        return float(rho * 4 / self.curator.trust.neighbours.contributions**2)

    # --- spread and reach ------------------------------------------------------------------------------------

    def find_spread_and_reach(self, drawn: Rows) -> None:
        """Find the spread from the distances in random pairs of rows, and how far the mean may be from the origin."""
        pairs, low = drawn.histogram(self.grid.pairs()), self.grid.lowest
        half = self.some.n // 2
        std = self.curator.quantile_std(pairs, self.shares.spread)
        rank = half * max(0.5, min(0.75, 1 - 3.5 * std / max(half, 1)))
        spread = radius_at(low + self.curator.quantile(pairs, rank, self.shares.spread, "spread"))

        norms = self.some.histogram(self.grid.distances(self.centre))
        reach = radius_at(low + self.curator.quantile(norms, 0.75 * self.some.n, self.shares.reach, "reach"))
        self.reach, self.spread = reach, min(spread, 1.05 * reach)
        rank = half - 3.5 * self.curator.quantile_std(pairs, self.shares.extremes)
        extremes = radius_at(low + self.curator.quantile(pairs, max(rank, 0.0), self.shares.extremes, "extremes"))
        self.lumpy = self.spread <= 4 * radius_at(low) or extremes > LUMPY * self.spread
        beyond = math.sqrt(max(reach - self.spread, 0.0)) * math.sqrt(reach + self.spread)  # their squares may overflow
        self.error = max(beyond, 0.5 * self.spread)

    # --- locate ----------------------------------------------------------------------------------------------

    def locate(self, until: float, width: float = 0.0) -> None:
        """Release clipped means around the centre so far, until its error is below ``until`` spreads.

        ``width`` is the distance at which rows were found, if that is already known; it replaces the spread then, and
        earlier releases that clipped at much less no longer count.
        """
        n, m, d = self.rows.n, self.some.n, self.rows.d
        budget, unit = self.left, width or self.spread
        for step in plan.rounds(n, m, d, self._as_if_replaced(budget), self.error / unit)[:-1]:
            if self.error <= until * self.spread:
                break
            cost, radius = plan.part(budget, step.share), step.radius * unit
            ball = self.grid.ball(self.centre, radius)
            found = self.curator.ball_sum(self.some, ball, cost, f"locate {len(self.releases) + 1}")
            self.left -= cost
            std = math.sqrt(found.variance) * found.unit / m
            self.releases.append(_Partial(self.centre, found.times(found.unit / m), std, radius))
            self.centre = self._within_reach(_combined(self._alike(SAME_RADIUS * width))[0])
            self.error, self.seen = step.error * unit, None

    def _alike(self, radius: float) -> list[_Partial]:
        return [release for release in self.releases if release.radius >= radius]

    def _within_reach(self, centre: Floats) -> Floats:
        length = float(np.linalg.norm(centre))
        return self.grid.round(centre * min(1.0, self.grid.reach / length) if length else centre)

    # --- radius ----------------------------------------------------------------------------------------------

    def release_in_ball(self) -> Estimate:
        """Find the radius, in two steps with more locating in between, and release the mean of the clipped rows."""
        steep = 10 + 2 * math.sqrt(self.rows.d)
        outline = self._upper_end(self._distances(), self.spread / 2, steep, self.shares.outline, "outline")
        expected = math.hypot(self.spread, self.error)
        far = self._far_rows(max(outline, expected)) if self.shares.alarm else 0.0
        alarmed = far > 1.25 * outline

        if self.some.n == self.rows.n:
            heavy = outline > WELL_BEYOND * expected
            self.locate(until=0.0, width=far / 1.05 if alarmed else outline / 1.1 if heavy else self.spread)
        if alarmed:
            self.left += self.shares.radius
            return self._release_on_ladder(self._index(far, self._distances()))
        ceiling = self._upper_end(self._distances(), self.spread / 2, steep, self.shares.radius, "radius")
        return self._release_on_ladder(self._index(ceiling, self._distances()))

    def release_lumps(self) -> Estimate:
        """For rows most of which are equal, or nearly so: search all distances for where the others end.

        If nothing is found, and the lump is far out, as zeros are within bounds of 0 and 1: clip nothing.
        """
        cost = min(plan.part(self.rho, 0.25), self.left / 3)
        if self.rows.d == 1 and self.rows.n * math.sqrt(self.rho) >= 2000 and not self.one_pass:
            sides = self.rows.histogram(self.grid.sides(self.centre))
            up = self._end_of_rows(sides, cost / 2, "upper end")
            down = self._end_of_rows(sides, cost / 2, "lower end", line=1)
            self.unseen *= 2
        else:
            up = down = self._end_of_rows(self._distances(), cost, "far rows")
        if max(up, down) < self.grid.reach / 256 and self.reach > self.grid.reach / 2:
            self.unseen = 0.0
            if self.one_pass:
                return self._release_in_bins(self._farthest())
            self.centre = np.zeros(self.rows.d)
            return self._release_in_one_ball(self.grid.reach, self.grid.reach)
        if self.rows.d > 1:
            return self._release_on_ladder(self._index(up, self._distances()))
        return self._release_in_bins(up) if self.one_pass else self._release_between(up, down)

    def release_in_interval(self) -> Estimate:
        """For d = 1: find both ends of an interval, which need not be equally far (in one pass they are), and clip."""
        if self.one_pass:
            end = self._upper_end(self._distances(), self.spread / 8, 10.0, self.shares.radius, "end")
            return self._release_in_bins(end)
        sides, cost = self.rows.histogram(self.grid.sides(self.centre)), self.shares.radius / 2
        up = self._upper_end(sides, self.spread / 8, 10.0, cost, "upper end")
        down = self._upper_end(sides, self.spread / 8, 10.0, cost, "lower end", line=1)
        return self._release_between(up, down)

    def _release_between(self, up: float, down: float) -> Estimate:
        """Release the mean of numbers that are clipped at these distances above and below the centre."""
        self.centre = self.centre + (up - down) / 2
        return self._release_in_one_ball((up + down) / 2, max(up, down))

    def _release_in_one_ball(self, radius: float, ceiling: float) -> Estimate:
        """Release the mean with all that is left."""
        found = self.curator.ball_sum(self.rows, self.grid.ball(self.centre, radius), self.curator.left, "mean")
        scale = found.unit / self.rows.n
        last = _Partial(self.centre, found.times(scale), math.sqrt(found.variance) * scale, radius)
        return self._finish(last, radius, ceiling, 0.0, 0.0)

    def _release_in_bins(self, radius: float) -> Estimate:
        """Release the mean with all that is left, clipped at the end of a bin, without reading the rows again."""
        (index,), shells, sums = self._shells(self._index(radius, self._distances()), (0,))
        found = self.curator.clipped_sum(sums, shells, 0, self.curator.left, "mean")
        scale, radius = found.unit / self.rows.n, radius_at(self.grid.lowest + index)
        last = _Partial(self.centre, found.times(scale), math.sqrt(found.variance) * scale, radius)
        return self._finish(last, radius, radius, 0.0, 0.0)

    def _shells(self, ceiling: int, steps: tuple[int, ...]) -> tuple[list[int], Shells, ShellSums]:
        """Return rungs, so many quarters of an octave below the ceiling, and the sums of the rows by their shells."""
        lowest, n = self.grid.lowest, self.rows.n
        if self.bins is None or self.sums is None:
            indices = [ceiling - RUNGS * k for k in steps]
            shells = self.grid.shells(self.centre, [radius_at(lowest + index) for index in indices], n)
            return indices, shells, self.rows.add_up_shells(shells)
        top, stride = self.bins.at(lowest + ceiling), self.bins.stride
        edges = [top - RUNGS // stride * k for k in steps if top >= RUNGS // stride * k]
        indices = [self.bins.first + stride * edge - lowest for edge in edges]
        return indices, shells_of(self.bins, edges), shell_sums(self.sums, self.bins, edges)

    def _distances(self) -> Histogram:
        """Count all rows by their distance from the centre, once for each centre."""
        if self.seen is None and self.one_pass:
            least = radius_at(self.grid.lowest) if self.lumpy else self.spread / 16
            self.bins = self.grid.bins(self.centre, least, self.rows.n)
            self.sums = self.rows.add_up_bins(self.bins)
            self.seen = self.sums.histogram
        if self.seen is None:
            self.seen = self.rows.histogram(self.grid.distances(self.centre))
        return self.seen

    def _index(self, radius: float, histogram: Histogram) -> int:
        """Return the rung of a radius among those of a histogram."""
        return min(max(radius_index(radius) - self.grid.lowest, 0), histogram.points - 1)

    def _upper_end(
        self, histogram: Histogram, least: float, steep: float, cost: Fraction, step: str, line: int = 0
    ) -> float:
        """Find a radius, not below ``least``, beyond which hardly any row lies: large ones lose weight steeply.

        Less steeply if there are few rows.
        """
        epsilon = math.sqrt(8 * cost)
        slope = min(steep, epsilon * self.rows.n / (2 * math.log(16)))
        self.pressure = slope / epsilon
        start = self._index(least, histogram)
        found = radius_at(self.grid.lowest + self.curator.upper_end(histogram, line, start, slope, cost, step))
        self.unseen = min((slope * math.log(self._farthest() / found) + 3) / epsilon, self.noticed)
        return found

    def _farthest(self) -> float:
        """How far from the centre a row can be."""
        return self.grid.reach + float(np.linalg.norm(self.centre))

    def _far_rows(self, radius: float) -> float:
        """Raise an alarm if more rows lie far out than clipping may cost, and find where they end; else return 0."""
        histogram, harmless = self._distances(), self.curator.trust.rows_to_clip(self.rows.d, Zcdp(self.rho))
        index = self._index(WELL_BEYOND * radius, histogram)
        far = self.curator.count_beyond(histogram, index, self.shares.alarm, "alarm")
        certainty = 1.7 if self.rows.d >= 8 else 3.5  # a false alarm costs more in few dimensions
        self.noticed = (certainty + 3) * far.std + 0.7 * harmless
        if far.value <= certainty * far.std + 0.7 * harmless:
            return 0.0
        cost = min(plan.part(self.rho, 0.12), self.left / 4)
        return self._end_of_rows(histogram, cost, "far rows", start=self._index(radius, histogram))

    def _end_of_rows(self, histogram: Histogram, cost: Fraction, step: str, start: int = 0, line: int = 0) -> float:
        """Search for the distance that all but a few rows do not exceed, wherever it is, from one rung on."""
        self.left -= cost
        harmless = self.curator.trust.rows_to_clip(self.rows.d, Zcdp(self.rho))
        self.unseen = max(harmless, 3 * self.curator.quantile_std(histogram, cost, start))
        self.pressure = 3 * self.unseen
        found = self.curator.quantile(histogram, self.rows.n - self.unseen, cost, step, start, line)
        return radius_at(self.grid.lowest + found)

    # --- release ---------------------------------------------------------------------------------------------

    def _release_on_ladder(self, ceiling: int) -> Estimate:
        """Clip at the ceiling or at a smaller radius, whichever promises the smaller error, and release the mean."""
        n, curator = self.rows.n, self.curator
        indices, shells, sums = self._shells(ceiling, plan.ladder(n, self.rows.d, self._as_if_replaced(self.rho)))
        radii = [radius_at(self.grid.lowest + index) for index in indices]
        factors = self._factors(indices)

        widths = [radius * factor / FACTOR_ONE for radius, factor in zip(radii, factors, strict=True)]
        noise = plan.noise(n, self.rows.d, self._as_if_replaced(curator.left))
        best, least, bias, bias_std = 0, noise * widths[0], 0.0, 0.0
        gaps = self.shares.gaps
        for k in range(1, len(radii)):
            if not factors[k] or widths[k] > 0.98 * widths[best]:
                continue
            cost = min(self._gap_cost(shells, k, factors, widths[k]), gaps)
            if cost < self.shares.gaps / 1000:
                break
            gaps -= cost
            answer = curator.bias_gap(sums, shells, k, factors, cost, f"bias {k}")
            gap = max(answer.value, 0.0) * shells.unit / n
            if math.hypot(gap, noise * widths[k]) < least:
                best, least = k, math.hypot(gap, noise * widths[k])
                bias, bias_std = gap, answer.std * shells.unit / n
            if gap > noise * widths[k]:
                break

        found = curator.clipped_sum(sums, shells, best, curator.left, "mean")
        scale = found.unit / n * factors[best] / FACTOR_ONE
        last = _Partial(self.centre, found.times(scale), math.sqrt(found.variance) * scale, widths[best])
        return self._finish(last, radii[best], radii[0], bias, bias_std)

    def _gap_cost(self, shells: Shells, k: int, factors: list[int], width: float) -> Fraction:
        """Return what it takes to know a bias up to half the noise on the mean."""
        contributions = self.curator.trust.neighbours.contributions
        moved = bias_gap_sensitivity(shells, k, factors, contributions) * 2 / contributions
        share = (moved * shells.unit / width) ** 2 / self.rows.d
        return plan.part(self.rho, max(0.003, share))

    def _factors(self, indices: list[int]) -> list[int]:
        """Find by how much clipping at each radius shrinks a shift of all rows, and return the inverse; 0: unknown.

        Clipping at C multiplies a row at distance x > C by C / x, and a small shift of it by that on d - 1 of d axes.
        """
        histogram = self._distances()
        rungs = np.arange(histogram.points + 1) - 0.5
        weights: list[Ints] = []
        for index in indices:
            shrunk = np.exp2((index - rungs) / RADII_PER_OCTAVE) * (1 - 1 / self.rows.d)
            weights.append(np.rint(np.where(rungs <= index, 1.0, shrunk) * WEIGHT_ONE).astype(np.int64))
        kappas, std = self.curator.mean_weights(histogram, np.array(weights), self.shares.shrinkage, "shrinkage")
        factors = [
            0 if kappa <= 8 * std else FACTOR_ONE if kappa >= 1 - 3 * std else round(FACTOR_ONE / kappa)
            for kappa in kappas
        ]
        return [factors[0] or FACTOR_ONE, *factors[1:]]

    def _finish(self, last: _Partial, radius: float, ceiling: float, bias: float, bias_std: float) -> Estimate:
        """Combine the last release with earlier ones of about the same radius, if they saw all rows."""
        earlier = self._alike(SAME_RADIUS * last.radius) if self.some.n == self.rows.n else []
        mean, moved, std = _combined([*earlier, last])
        n = self.rows.n
        tail = ceiling * tail_bias(n, self.spread, ceiling, self.pressure)
        if self.lumpy:  # there is no tail to go by: what was not noticed may be as far as a row can be
            tail = min(self.unseen / n, 1.0) * self._farthest()
        return Estimate(
            mean=mean,
            noise_std=std,
            centre=self.centre,
            moved=moved,
            radius=radius,
            receipts=tuple(self.curator.receipts),
            found=Found(
                spread=self.spread,
                ceiling=ceiling,
                rounds=len(self.releases) + 1,
                bias=bias,
                bias_std=bias_std,
                tail=tail,
                unseen=min(math.ceil(self.unseen), n),
                noise_std=std,
            ),
        )


def _combined(releases: list[_Partial]) -> tuple[Floats, Floats, float]:
    """Return the mean of releases, weighed by their precision, how far it moved from their centres, and its noise."""
    least = min(release.std for release in releases)
    weights = [(least / release.std) ** 2 for release in releases]
    mean = sum(release.mean * (weight / sum(weights)) for release, weight in zip(releases, weights, strict=True))
    moved = sum(release.moved * (weight / sum(weights)) for release, weight in zip(releases, weights, strict=True))
    return np.asarray(mean), np.asarray(moved), least / math.sqrt(sum(weights))

"""The last step of the refined mean: clip at the best radius up to the ceiling, and release with all that is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.estimators.refined import plan
from dpmean.estimators.refined.centre import SAME_RADIUS, SAME_RADIUS_OF_FEW, Centre, Partial, combine
from dpmean.estimators.refined.extent import Extent
from dpmean.estimators.refined.problem import Problem
from dpmean.estimators.refined.radius import Distances, End
from dpmean.numerics.error_quantiles import tail_bias
from dpmean.numerics.grid import RADII_PER_OCTAVE
from dpmean.numerics.shells import FACTOR_ONE, bias_gap_sensitivity
from dpmean.queries.queries import Floats, Ints, Shells
from dpmean.release.diagnostics import Found
from dpmean.release.estimate import Estimate
from dpmean.trust.central.curator import WEIGHT_ONE
from dpmean.trust.central.handles import Counts, Sums

RUNGS = RADII_PER_OCTAVE // 4
"""From one radius that is tried to the next: a quarter of an octave."""


@final
@dataclass(frozen=True, slots=True)
class _Clipped:
    """The last release, and what is known of its bias."""

    partial: Partial
    radius: float
    ceiling: float
    bias: float = 0.0
    bias_std: float = 0.0


def release_in_ball(problem: Problem, extent: Extent, centre: Centre, at: Floats, radius: float, end: End) -> Estimate:
    """Release the mean of the rows, clipped to a ball around a place, with all that is left."""
    total = problem.curator.ball_sum(problem.rows, problem.grid.ball(at, radius), problem.curator.left, "mean")
    unit = total.unit / problem.n
    last = Partial(at, total.times(unit), math.sqrt(total.variance) * unit, radius)
    return _finish(problem, extent, centre, _Clipped(last, radius, end.radius), end)


def release_in_bins(problem: Problem, extent: Extent, centre: Centre, seen: Distances, end: End) -> Estimate:
    """Release the mean with all that is left, clipped at the end of a bin, without reading the rows again."""
    (index,), sums = _sums(problem, seen, problem.index(end.radius, seen.counts), (0,))
    total = problem.curator.clipped_sum(sums, 0, problem.curator.left, "mean")
    unit, radius = total.unit / problem.n, problem.radius(index)
    last = Partial(seen.centre, total.times(unit), math.sqrt(total.variance) * unit, radius)
    return _finish(problem, extent, centre, _Clipped(last, radius, radius), end)


def release_on_ladder(problem: Problem, extent: Extent, centre: Centre, seen: Distances, end: End) -> Estimate:
    """Clip at the ceiling or at a smaller radius, whichever promises the smaller error, and release the mean."""
    n, curator = problem.n, problem.curator
    ceiling = problem.index(end.radius, seen.counts)
    steps = plan.ladder(n, problem.d, problem.as_if_replaced(problem.rho))
    indices, sums = _sums(problem, seen, ceiling, steps)
    radii = [problem.radius(index) for index in indices]
    factors = _factors(problem, seen.counts, indices)

    widths = [radius * factor / FACTOR_ONE for radius, factor in zip(radii, factors, strict=True)]
    noise = plan.noise(n, problem.d, problem.as_if_replaced(curator.left))
    best, least, bias, bias_std = 0, noise * widths[0], 0.0, 0.0
    gaps, unit = problem.shares.gaps, sums.shells.unit * problem.metric.typical
    for k in range(1, len(radii)):
        if not factors[k] or widths[k] > 0.98 * widths[best]:
            continue
        cost = min(_gap_cost(problem, sums.shells, k, factors, widths[k]), gaps)
        if cost < problem.shares.gaps / 1000:
            break
        gaps -= cost
        answer = curator.bias_gap(sums, k, factors, cost, f"bias {k}")
        gap = max(answer.value, 0.0) * unit / n
        if math.hypot(gap, noise * widths[k]) < least:
            best, least = k, math.hypot(gap, noise * widths[k])
            bias, bias_std = gap, answer.std * unit / n
        if gap > noise * widths[k]:
            break

    total = curator.clipped_sum(sums, best, curator.left, "mean")
    by = total.unit / n * factors[best] / FACTOR_ONE
    last = Partial(seen.centre, total.times(by), math.sqrt(total.variance) * by, widths[best])
    return _finish(problem, extent, centre, _Clipped(last, radii[best], radii[0], bias, bias_std), end)


def _sums(problem: Problem, seen: Distances, ceiling: int, steps: tuple[int, ...]) -> tuple[list[int], Sums]:
    """Return rungs, so many quarters of an octave below the ceiling, and the sums of the rows by their shells."""
    curator, lowest = problem.curator, problem.grid.lowest
    if seen.binned is None:
        indices = [ceiling - RUNGS * k for k in steps]
        radii = [problem.radius(index) for index in indices]
        return indices, curator.add_up(problem.rows, problem.grid.shells(seen.centre, radii, problem.n))
    bins = seen.binned.bins
    top, stride = bins.at(lowest + ceiling), bins.stride
    edges = [top - RUNGS // stride * k for k in steps if top >= RUNGS // stride * k]
    return [bins.first + stride * edge - lowest for edge in edges], curator.add_up_bins(seen.binned, edges)


def _gap_cost(problem: Problem, shells: Shells, k: int, factors: list[int], width: float) -> Fraction:
    """Return what it takes to know a bias up to half the noise on the mean."""
    contributions = problem.curator.neighbours.contributions
    moved = bias_gap_sensitivity(shells, k, factors, contributions) * 2 / contributions
    share = (moved * shells.unit * problem.metric.typical / width) ** 2 / problem.d
    return plan.part(problem.rho, max(0.003, share))


def _factors(problem: Problem, counts: Counts, indices: list[int]) -> list[int]:
    """Find by how much clipping at each radius shrinks a shift of all rows, and return the inverse; 0: unknown.

    Clipping at C multiplies a row at distance x > C by C / x, and a small shift of it by that on d - 1 of d axes.
    """
    rungs = np.arange(counts.points + 1) - 0.5
    weights: list[Ints] = []
    for index in indices:
        shrunk = np.exp2((index - rungs) / RADII_PER_OCTAVE) * (1 - 1 / problem.d)
        weights.append(np.rint(np.where(rungs <= index, 1.0, shrunk) * WEIGHT_ONE).astype(np.int64))
    cost = problem.shares.shrinkage
    kappas, std = problem.curator.mean_weights(counts, np.array(weights), cost, "shrinkage")
    factors = [
        0 if kappa <= 8 * std else FACTOR_ONE if kappa >= 1 - 3 * std else round(FACTOR_ONE / kappa) for kappa in kappas
    ]
    return [factors[0] or FACTOR_ONE, *factors[1:]]


def _finish(problem: Problem, extent: Extent, centre: Centre, last: _Clipped, end: End) -> Estimate:
    """Combine the last release with earlier ones of about the same radius, if they saw all rows."""
    n, at = problem.n, last.partial.centre
    same = SAME_RADIUS_OF_FEW if problem.d <= plan.FEW else SAME_RADIUS
    earlier = centre.alike(same * last.partial.radius) if problem.all_find_the_centre else []
    mean, moved, std = combine([*earlier, last.partial])
    tail, tail_std = _tail(problem, extent, at, last.ceiling, end)
    return Estimate(
        mean=mean,
        noise_std=std,
        centre=at,
        moved=moved,
        radius=last.radius,
        receipts=problem.curator.receipts,
        step=problem.grid.step,
        domain=problem.rows.domain,
        found=Found(
            spread=extent.spread,
            ceiling=last.ceiling,
            rounds=len(centre.releases) + 1,
            bias=last.bias,
            bias_std=math.hypot(last.bias_std, tail_std),
            tail=tail,
            unseen=min(math.ceil(end.unseen), n),
            noise_std=std,
        ),
    )


def _tail(problem: Problem, extent: Extent, at: Floats, ceiling: float, end: End) -> tuple[float, float]:
    """Return how far rows beyond the ceiling may move the mean, and how uncertain that is."""
    metric, n = problem.metric, problem.n
    if end.tail is not None:
        return end.tail / n * metric.longest, end.tail_std / n * metric.longest
    if extent.lumpy:  # there is no tail to go by: what was not noticed may be as far as a row can be
        return min(end.unseen / n, 1.0) * problem.farthest(at) * metric.longest, 0.0
    return ceiling * tail_bias(n, extent.spread, ceiling, end.pressure) * metric.typical, 0.0

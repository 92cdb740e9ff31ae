"""The claims of the paper as functions of the results: which hold, by how much, and where they fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from dpmean.experiments.results import Ratio, Row, ratio
from dpmean.experiments.verdicts import (
    CLOSE,
    NOT_WORSE,
    STEADY,
    Comparison,
    Finding,
    Results,
    Verdict,
    largest,
    never_worse,
)

SHIFTED, REFINED, NON_PRIVATE, CM, BALANCED = "Shifted-CM", "Refined", "non-private", "CM", "n - sqrt(2d/rho)"
LOCAL, PLAN = "Local", "PLAN"


def _coinpress(method: str) -> bool:
    return method.startswith("COINPRESS t")


def _with_covariance(method: str) -> bool:
    return method.startswith("COINPRESS+cov")


def _best(trials: Mapping[str, Mapping[int, float]]) -> str:
    return ratio(next(iter(trials.values())), trials).rival


def best_t_depends(results: Results) -> Finding:
    """Compare, at each d of figure 3, the best t for one kappa with the best t for other kappas."""
    name, claim = "1", "The best t of COINPRESS depends on the covariance (figure 3)"
    table = results.table("3")
    trials = {
        place: {method: table.trials(*place, method) for method in table.methods if _coinpress(method)}
        for place in table.places
    }
    known = {place: {t: values for t, values in found.items() if values} for place, found in trials.items()}
    best = {place: _best(found) for place, found in known.items() if found}
    if len({kappa for kappa, _ in best}) < 2:
        return Finding(name, claim, Verdict.UNKNOWN)
    compared = []
    for (kappa, d), chosen in best.items():
        for other in {t for (panel, x), t in best.items() if x == d and panel != kappa} - {chosen}:
            rivals = known[kappa, d]
            if other in rivals:
                compared.append(ratio(rivals[other], {chosen: rivals[chosen]}, len(best)))
    by_kappa = "; ".join(
        f"kappa = {kappa:g}: "
        + ", ".join(t.removeprefix("COINPRESS ") for (panel, _), t in best.items() if panel == kappa)
        for kappa in sorted({panel for panel, _ in best})
    )
    places = ", ".join(f"{x:g}" for x in sorted({x for _, x in best}))
    numbers = f"best at d = {places}: {by_kappa}"
    if not compared:
        return Finding(name, claim, Verdict.FAILS, numbers)
    worst = max(one.middle for one in compared)
    numbers += f"; the best t for another kappa has up to {worst:.1f} times the error"
    return Finding(name, claim, Verdict.HOLDS if any(one.low > 1 for one in compared) else Verdict.OPEN, numbers)


def shifted_not_worse(results: Results) -> Finding:
    """Compare Shifted-CM with COINPRESS at its best t."""
    claim = "Shifted-CM is never worse than COINPRESS with the best t (figures 1, 2, 3, 6, 7)"
    ratios = results.ratios(["1", "2", "3", "6", "7"], SHIFTED, _coinpress)
    finding = never_worse("2", claim, ratios)
    refused = [one for one in ratios if one.refused]
    if not refused:
        return finding
    elsewhere = [one for one in ratios if not one.refused]
    numbers = f"{finding.numbers}. At {len(refused)} places dpmean refuses because there are too few rows"
    if elsewhere:
        numbers += f"; elsewhere the largest ratio is {largest(elsewhere)}"
    return Finding(finding.name, claim, finding.verdict, numbers)


def close_to_non_private(results: Results) -> Finding:
    """Compare Shifted-CM with the mean of the rows on figure 3."""
    name, claim = "3", f"Shifted-CM is close to non-private on figure 3 (here: within {CLOSE - 1:.0%})"
    ratios = results.ratios(["3"], SHIFTED, lambda method: method == NON_PRIVATE)
    if not ratios:
        return Finding(name, claim, Verdict.UNKNOWN)
    far, near = any(one.ratio.low > CLOSE for one in ratios), all(one.ratio.high < CLOSE for one in ratios)
    verdict = Verdict.FAILS if far else Verdict.HOLDS if near else Verdict.OPEN
    within = sum(one.ratio.middle <= CLOSE for one in ratios)
    return Finding(name, claim, verdict, f"within at {within} of {len(ratios)} places; largest ratio {largest(ratios)}")


def covariance_helps_in_low_dimensions(results: Results) -> Finding:
    """Compare COINPRESS with and without estimating the covariance, d by d."""
    name, claim = "4", "Estimating the covariance first helps COINPRESS for small d only (figures 3 and 4)"
    with_, without = results.table("4"), results.table("3")
    pairs = []
    for panel, x in with_.places:
        plain = {t: without.trials(panel, x, t) for t in without.methods if _coinpress(t)}
        scaled = {t: with_.trials(panel, x, t) for t in with_.methods if _with_covariance(t)}
        known = [{t: values for t, values in found.items() if values} for found in (plain, scaled)]
        if all(known):
            pairs.append((x, known[0], known[1]))
    # The error of the best without, divided by that of the best with it: below 1, the covariance hurts.
    gains: dict[float, list[Ratio]] = {}
    for x, plain, scaled in pairs:
        gains.setdefault(x, []).append(ratio(plain[_best(plain)], scaled, len(pairs)))
    if len(gains) < 2:
        return Finding(name, claim, Verdict.UNKNOWN)
    numbers = "with it, for each kappa, " + "; ".join(
        f"d = {x:g}: {', '.join(f'{1 / one.middle:.3g}' for one in found)} times the error"
        for x, found in sorted(gains.items())
    )
    small, large = gains[min(gains)], gains[max(gains)]
    helps, helps_still = (any(one.low > 1 for one in found) for found in (small, large))
    hurts_already, hurts = (all(one.high < 1 for one in found) for found in (small, large))
    verdict = Verdict.FAILS if helps_still or hurts_already else Verdict.HOLDS if helps and hurts else Verdict.OPEN
    return Finding(name, claim, verdict, numbers)


def covariance_does_not_help_mahalanobis(results: Results) -> Finding:
    """Compare Shifted-CM with COINPRESS that estimates the covariance, in the metric of the covariance."""
    claim = "Estimating the covariance does not beat Shifted-CM even in Mahalanobis error (figure 5)"
    return never_worse("5", claim, results.ratios(["5"], SHIFTED, _with_covariance))


def translation_invariant(results: Results) -> Finding:
    """Compare the panels of figures 1, 2 and 6, which differ by a translation of the same rows."""
    name, claim = "6", "A translation does not affect Shifted-CM and COINPRESS, but it affects CM (figures 1, 2, 6)"
    pairs = []
    for figure in ("1", "2", "6"):
        table = results.table(figure)
        for method in table.methods:
            for panel, x in table.places:
                first = min(place for place, other in table.places if other == x)
                here, there = table.trials(panel, x, method), table.trials(first, x, method)
                if panel != first and here and there:
                    pairs.append((method, (figure, panel, x), here, there))
    steady = [one for one in pairs if _coinpress(one[0]) or one[0] == SHIFTED]
    if not steady:
        return Finding(name, claim, Verdict.UNKNOWN)
    changes, of_cm = (
        [Comparison(*place, ratio(here, {f"{m} at mu = 0": there}, len(pairs))) for m, place, here, there in chosen]
        for chosen in (steady, [one for one in pairs if one[0] == CM])
    )
    moved = [one for one in changes if one.ratio.low > STEADY or one.ratio.high < 1 / STEADY]
    unsure = [one for one in changes if one.ratio.low <= 1 / STEADY or one.ratio.high >= STEADY]
    minds = any(one.ratio.low > STEADY for one in of_cm)
    verdict = Verdict.FAILS if moved else Verdict.HOLDS if minds and not unsure else Verdict.OPEN
    numbers = f"largest change {max(changes, key=lambda one: abs(math.log(one.ratio.middle)))}"
    if moved:
        numbers = f"changed at {len(moved)} of {len(changes)} places; {numbers}"
    elif unsure:
        numbers += f"; {len(unsure)} of {len(changes)} too close to call"
    if of_cm:
        numbers += f"; for CM: {largest(of_cm)}"
    return Finding(name, claim, verdict, numbers)


def chosen_quantile_is_best(results: Results) -> Finding:
    """Compare the balance of bias and noise with fixed quantiles, all of them exact."""
    claim = "The (n - sqrt(2d/rho))-th norm is the best place to clip (figure 9)"
    return never_worse("7", claim, results.ratios(["9"], BALANCED, lambda method: method.endswith("%")))


def beats_local_peers(results: Results) -> Finding:
    """Compare the local model with its baselines."""
    claim = "In the local model, Shifted-CM is never worse than KnownVar and UnkVar (figures 10, 11, 12)"
    return never_worse("8", claim, results.ratios(["10", "11", "12"], LOCAL, lambda method: method.endswith("Var")))


def refined_not_worse(results: Results) -> Finding:
    """Compare Refined with all methods in the paper's central figures."""
    names = ["1", "2", "3", "4", "5", "6", "7", "8", "9"]
    ratios = results.ratios(names, REFINED, lambda method: method not in (REFINED, NON_PRIVATE))
    judged = [one for one in ratios if not one.refused]
    finding = never_worse("ours", "Refined is never worse than any other method (figures 1 to 9)", judged)
    refused = [one for one in ratios if one.refused]
    if not refused:
        return finding
    numbers = (
        f"{finding.numbers}. Left out: {len(refused)} places where dpmean refuses because there are too few rows; "
        f"largest ratio {largest(refused)}"
    )
    return Finding(finding.name, finding.claim, finding.verdict, numbers)


def refined_not_above_plan(results: Results) -> Finding:
    """Compare Refined with PLAN, which adds different noise to each column, on columns that differ."""
    claim = f"Refined is never above PLAN by {NOT_WORSE - 1:.0%} at any skew (figure skew)"
    ratios = results.ratios(["skew"], REFINED, lambda method: method == PLAN)
    return never_worse("ours", claim, ratios, by=NOT_WORSE)


CLAIMS: tuple[Callable[[Results], Finding], ...] = (
    best_t_depends,
    shifted_not_worse,
    close_to_non_private,
    covariance_helps_in_low_dimensions,
    covariance_does_not_help_mahalanobis,
    translation_invariant,
    chosen_quantile_is_best,
    beats_local_peers,
    refined_not_worse,
    refined_not_above_plan,
)


def check(rows: Mapping[str, Sequence[Row]]) -> list[Finding]:
    """Return the verdict on every claim."""
    results = Results(rows)
    return [claim(results) for claim in CLAIMS]

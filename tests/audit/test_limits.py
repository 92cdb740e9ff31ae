"""How much a search can tell at most, computed exactly: the attack on the radius finds all of it, and no more exists.

A search tells the outcomes of its comparisons, noisy count <= rank. Divergences of independent comparisons add up
along the path, so that of a search is at most the number of comparisons times the largest of one.
"""

import math
from functools import cache

import numpy as np
import pytest

from dpmean.audit.attacks.whole import RadiusAttack
from dpmean.audit.judge import FALSE_ALARM, judge
from dpmean.audit.separation import separation_of
from dpmean.numerics.noisy_search import questions

ATTACK = RadiusAttack.worst()
ASKED = questions(ATTACK.distances.points)
PARTS = (1.0, 0.7, 0.5)
"""Parts of the noise that was paid for."""


@cache
def masses(std):
    """Return the probabilities of the discrete Gaussian, from -60 to 60."""
    weights = np.exp(-(np.arange(-60, 61) ** 2) / (2 * std**2))
    return weights / weights.sum()


def at_most(gap, std):
    """Return P[noise <= gap] for a whole gap."""
    return float(masses(std)[: min(max(gap, -60), 60) + 61].sum())


def law(counts, rank, std):
    """Return the exact law of the point that a search finds, given the count at every point."""
    found = np.zeros(len(counts))

    def go(left, right, chance):
        if left == right:
            found[left] += chance
            return
        middle = (left + right) // 2
        gap = math.floor(rank) - counts[middle]
        go(middle + 1, right, chance * at_most(gap, std))
        go(left, middle, chance * at_most(-gap - 1, std))

    go(0, len(counts) - 1, 1.0)
    return found


def divergence(p, q, order=1.0):
    """Return the Renyi divergence of two laws on finitely many points; order 1 is that of Kullback and Leibler."""
    if order == 1:
        return float((p * np.log(p / q, where=p > 0, out=np.zeros_like(p))).sum())
    return math.log((p**order * q ** (1 - order)).sum()) / (order - 1)


def comparison(gap, std):
    """Return the laws of a comparison whose count is so far below the rank, or one less."""
    one, other = (np.array([at_most(each, std), at_most(-each - 1, std)]) for each in (gap, gap - 1))
    return one, other


def limit(std):
    """Return the largest divergence of a search: every comparison is as likely to err on one side as on the other."""
    centre = float(masses(std)[60])
    return ASKED * centre * math.log((1 + centre) / (1 - centre))


def exact_separation(part):
    """Return that of the radius with a part of its noise, from its exact laws on both sides."""
    laws = [law(counts[:-1], ATTACK.rank, part * ATTACK.std) for counts in ATTACK.counts()]
    return separation_of(divergence(*laws), 1), separation_of(divergence(*laws[::-1]), 1)


@pytest.mark.parametrize("part", PARTS)
def test_the_attack_on_the_radius_is_the_worst_case(part):
    assert exact_separation(part) == pytest.approx([separation_of(limit(part * ATTACK.std), 1)] * 2, rel=1e-9)


@pytest.mark.parametrize("part", PARTS)
def test_no_comparison_tells_more_than_one_at_the_middle(part):
    std = part * ATTACK.std
    for gap in range(-30, 31):
        laws = comparison(gap, std)
        assert max(divergence(*laws), divergence(*laws[::-1])) <= limit(std) / ASKED + 1e-12


@pytest.mark.parametrize("part", PARTS)
def test_no_neighbours_tell_more_than_the_worst_case(part):
    generator, std = np.random.default_rng(1), part * ATTACK.std
    for _ in range(100):
        points = int(generator.integers(2, 129))
        steps = generator.poisson(generator.choice([0.02, 0.1, 0.5]), points)
        counts = np.minimum(np.cumsum(steps) + generator.integers(0, 20), 30)
        start, end = np.sort(generator.integers(0, points + 1, 2))
        moved = counts + ((np.arange(points) >= start) & (np.arange(points) < end))
        laws = [law(side.tolist(), ATTACK.rank, std) for side in (counts, moved)]
        assert max(divergence(*laws), divergence(*laws[::-1])) <= limit(std) + 1e-9


def test_how_much_of_what_is_allowed_a_radius_can_show():
    """The figures of docs/privacy_guarantee.md: 0.7 of the noise is above what is allowed, though not by much."""
    found = [exact_separation(part)[0] for part in PARTS]
    allowed = separation_of(float(ATTACK.claim.rho), 1)
    assert [f"{each:.3f}" for each in (*found, allowed)] == ["0.565", "0.809", "1.137", "0.707"]


def just_allowed():
    """Return the part of the noise with which a radius still shows no more than is allowed."""
    low, high = 0.5, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if limit(middle * ATTACK.std) > ATTACK.claim.rho else (low, middle)
    return high


def best_power(runs):
    """Return a bound on the power of any judge against 0.7 of the noise, from so many runs on either side.

    It may not accuse what the claim allows, such as ``just_allowed``. Of these two, the best test is that of Neyman and
    Pearson: how many of all comparisons were right, a binomial number.
    """
    trials = 2 * runs * ASKED
    right = [(1 + float(masses(part * ATTACK.std)[60])) / 2 for part in (just_allowed(), 0.7)]
    tails = [_tail(trials, chance) for chance in right]
    least = int(np.argmax(tails[0] <= FALSE_ALARM))
    return float(tails[1][max(least - 1, 0)])


def _tail(trials, chance):
    """Return P[at least k of the trials] for every k."""
    k = np.arange(trials + 1)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, trials + 1)))))
    logs = factorials[-1] - factorials - factorials[::-1] + k * math.log(chance) + (trials - k) * math.log1p(-chance)
    return np.cumsum(np.exp(logs)[::-1])[::-1]


def test_what_is_just_allowed_keeps_the_whole_claim():
    """Of all orders: zCDP allows a divergence of order times rho."""
    assert 0.8 < just_allowed() < 0.801
    laws = comparison(0, just_allowed() * ATTACK.std)
    for order in (1.0, 1.1, 1.5, 2.0, 4.0, 16.0, 64.0):
        assert ASKED * divergence(*laws, order) <= order * ATTACK.claim.rho * (1 + 1e-9)


def test_few_runs_cannot_notice_seven_tenths_of_the_noise():
    """Whatever the judge: 1200 runs on either side are too few for the radius alone, and so are 5000 in most cases."""
    assert [f"{best_power(runs):.1%}" for runs in (1200, 5000, 8000)] == ["0.4%", "46.2%", "89.5%"]


def test_enough_runs_notice_seven_tenths_of_the_noise_almost_always():
    """The judge itself, on scores of the exact law: of 20 audits of 20 000 runs each, none misses it."""
    generator, right = np.random.default_rng(1), (1 + float(masses(0.7 * ATTACK.std)[60])) / 2
    for _ in range(20):
        one, other = (generator.binomial(ASKED, chance, 20_000).astype(float) for chance in (1 - right, right))
        assert judge(one, other, ATTACK.claim).caught

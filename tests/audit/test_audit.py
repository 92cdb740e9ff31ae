"""The audit: honest mechanisms keep their promise, broken ones are caught, and the knife is sharp."""

import math
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial

import numpy as np
import pytest

from dpmean.audit.attacks.catalogue import targets
from dpmean.audit.attacks.whole import finders, halves
from dpmean.audit.judge import judge
from dpmean.audit.separation import separation_at_least
from dpmean.estimators.shifted import FEWEST_ROWS
from dpmean.privacy.budgets import PureDp, Zcdp
from dpmean.privacy.renyi import renyi_of
from tests.audit.broken import broken_targets, weaker_targets

PART = 500  # runs that a worker does at a time
WHOLE = {
    "clipped, replace-one": 1000,
    "clipped, add-or-remove-one": 1000,
    "shifted, replace-one": 1500,
    "shifted, add-or-remove-one": 1500,
    "refined, replace-one": 700,
    "refined, add-or-remove-one": 700,
    "refined, table, replace-one": 650,
    "refined, uneven vectors, add-or-remove-one": 700,
    "shifted in one pass, replace-one": 1500,
    "shifted in one pass, add-or-remove-one": 1500,
    "local, zCDP": 500,
    "shuffle, few rounds": 800,
}
"""Runs of whole estimators that find half of the claim."""
WEAKER = {
    "clipped, replace-one": 3000,
    "clipped, add-or-remove-one": 3000,
    "shifted, replace-one": 4500,
    "shifted in one pass, replace-one": 4500,
    "refined, replace-one": 1500,
    "local, zCDP": 900,
    "radius of clipped": 20_000,
}
"""Runs that catch whole estimators, and a radius alone, with 0.7 of the noise; ``make audit`` attacks all of them."""
STEPS = {name: 2500 for name, target in targets().items() if not target.whole}
STEPS |= {"shuffled counts": 6000, "search for the radius": 8000, "local vector, pure": 6000, "shuffled sum": 4000}
STEPS |= {"radius of clipped": 6000}
"""Runs of single steps."""
BROKEN = {"noisy sum in floats, by its support": 6000, "radius of clipped with half the noise": 3000}
"""Runs of mechanisms that are broken in ways that show later than others."""


@lru_cache
def by_name():
    weaker = {f"{name}, with 0.7 of the noise": target for name, target in weaker_targets().items()}
    return {**targets(), **broken_targets(), **weaker}


def scores(name, neighbour, runs):
    return [by_name()[name].score(run, neighbour) for run in runs]


@pytest.fixture(scope="module")
def attacked():
    """Attack by name. Runs are numbered and have seeds of their own: it does not matter which process does which."""
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as workers:

        def attack(name, runs):
            parts = [range(start, min(start + PART, runs)) for start in range(0, runs, PART)]
            one, two = (workers.map(partial(scores, name, neighbour), parts) for neighbour in (False, True))
            return judge(*(np.concatenate(list(found)) for found in (one, two)), by_name()[name].claim)

        yield attack


@pytest.mark.parametrize("name", [*STEPS, *WHOLE])
def test_half_of_the_claim_is_found_and_no_more_than_all_of_it(name, attacked):
    finding = attacked(name, (STEPS | WHOLE)[name])
    assert not finding.caught
    assert finding.sharpness > 0.5


@pytest.mark.parametrize("name", STEPS | WEAKER)
def test_seven_tenths_of_the_noise_are_noticed(name, attacked):
    assert attacked(f"{name}, with 0.7 of the noise", (STEPS | WEAKER)[name]).caught


@pytest.mark.parametrize("name", broken_targets())
def test_broken_mechanisms_are_caught(name, attacked):
    assert attacked(name, BROKEN.get(name, 700 if by_name()[name].whole else 2500)).caught


def test_what_is_attacked_has_a_name():
    assert not targets().keys() & broken_targets().keys()
    assert targets().keys() == weaker_targets().keys()
    assert targets().keys() >= WHOLE.keys() | WEAKER.keys()


def test_the_one_row_is_among_those_that_find_the_centre():
    for n in (301, FEWEST_ROWS + 1):
        found, others = finders(n), halves(n)
        assert found[-1] == n - 1
        assert (others[found[:-1], 0] < 0).sum() == len(found) // 2


@pytest.mark.parametrize(("rho", "curve"), [(0.1, False), (0.5, False), (2.0, False), (0.1, True), (0.5, True)])
def test_the_judge_is_fair_to_the_gaussian_mechanism(rho, curve):
    """A continuous Gaussian of exactly the claimed scale is never accused, one of 0.7 of the scale always."""
    claim = renyi_of(Zcdp(rho)) if curve else Zcdp(rho)
    generator = np.random.default_rng(1)
    shift = math.sqrt(2 * rho)
    noise = generator.normal(0, 1, (2, 100_000))
    assert 0.5 < judge(noise[0], noise[1] + shift, claim).sharpness < 1
    assert judge(0.7 * noise[0], 0.7 * noise[1] + shift, claim).caught


def test_the_judge_is_fair_to_randomized_response():
    generator = np.random.default_rng(1)
    coins, epsilon = generator.random((2, 50_000)), 1.0
    for lies, caught in ((1 / (1 + math.e), False), (0.7 / (1 + math.e), True)):
        finding = judge((coins[0] < lies).astype(float), (coins[1] >= lies).astype(float), PureDp(epsilon))
        assert finding.caught == caught
        assert finding.sharpness > 0.9


@pytest.mark.parametrize("order", [1, 2])
def test_a_separation_is_rarely_overstated(order):
    """At a chance of a tenth: that more than 24 of 60 bounds are too high has a probability below 1e-8."""
    generator = np.random.default_rng(2)
    bounds = [
        separation_at_least(generator.normal(0, 1, 400), generator.normal(1, 1, 400), order, 0.0, 0.1)
        for _ in range(60)
    ]
    assert sum(bound > 1 for bound in bounds) <= 24
    assert np.median(bounds) > 0.6


def test_what_a_claim_leaves_out_is_not_held_against_it():
    generator = np.random.default_rng(3)
    noise = generator.normal(0, 1, (2, 20_000))
    assert separation_at_least(noise[0], noise[1] + 1, 2, 0.0, 1e-7) > 0.8
    assert separation_at_least(noise[0], noise[1] + 1, 2, 0.5, 1e-7) == 0


def test_identical_scores_accuse_nobody():
    finding = judge(np.zeros(1000), np.zeros(1000), Zcdp(0.01))
    assert finding.epsilon_found == finding.separation_found == 0

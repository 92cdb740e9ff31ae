"""The audit: honest mechanisms keep their promise, broken ones are caught, and the knife is sharp."""

import math
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial

import numpy as np
import pytest

from dpmean.attacks.catalogue import targets
from dpmean.audit import judge
from dpmean.budget import Zcdp
from tests.audit.broken import broken_targets

PART = 500  # runs that a worker does at a time


@lru_cache
def by_name():
    return {**targets(), **broken_targets()}


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


@pytest.mark.parametrize("name", targets())
def test_what_is_found_stays_under_the_claim(name, attacked):
    assert not attacked(name, 600 if by_name()[name].whole else 6000).caught


def test_the_knife_is_sharp_on_the_release_step(attacked):
    finding = attacked("noisy sum", 40_000)
    assert not finding.caught
    assert finding.sharpness > 0.5


@pytest.mark.parametrize("name", broken_targets())
def test_broken_mechanisms_are_caught(name, attacked):
    """Whole estimators get as many runs as their honest twins above, which could therefore have been caught."""
    assert attacked(name, 600 if by_name()[name].whole else 20_000).caught


def test_targets_have_names_of_their_own():
    assert not targets().keys() & broken_targets().keys()


@pytest.mark.parametrize("rho", [0.1, 0.5, 2.0])
def test_the_judge_is_fair_to_the_gaussian_mechanism(rho):
    """A continuous Gaussian of exactly the claimed scale is never accused, one of half the scale always."""
    generator = np.random.default_rng(1)
    shift = math.sqrt(2 * rho)
    noise = generator.normal(0, 1, (2, 100_000))
    assert 0.5 < judge(noise[0], noise[1] + shift, Zcdp(rho)).sharpness < 1
    assert judge(0.5 * noise[0], 0.5 * noise[1] + shift, Zcdp(rho)).caught


def test_identical_scores_accuse_nobody():
    assert judge(np.zeros(1000), np.zeros(1000), Zcdp(0.01)).epsilon_found == 0

"""The audit: honest mechanisms keep their promise, broken ones are caught, and the knife is sharp."""

import math

import numpy as np
import pytest

from dpmean.attacks.catalogue import targets
from dpmean.attacks.central import release_step
from dpmean.audit import judge
from dpmean.budget import Zcdp
from dpmean.trust.central import Central
from tests.audit.broken import broken_targets


def attacked(target, runs):
    scores = [np.array([target.score(run, neighbour) for run in range(runs)]) for neighbour in (False, True)]
    return judge(scores[0], scores[1], target.claim)


@pytest.mark.parametrize("name", targets())
def test_what_is_found_stays_under_the_claim(name):
    target = targets()[name]
    assert not attacked(target, 600 if target.whole else 6000).caught


def test_the_knife_is_sharp_on_the_release_step():
    finding = attacked(release_step(Central()), 40_000)
    assert not finding.caught
    assert finding.sharpness > 0.5


@pytest.mark.parametrize("name", broken_targets())
def test_broken_mechanisms_are_caught(name):
    """Whole estimators get as many runs as their honest twins above, which could therefore have been caught."""
    target = broken_targets()[name]
    assert attacked(target, 600 if target.whole else 20_000).caught


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

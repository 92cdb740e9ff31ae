"""A warning of large epsilons: when, in which words, and before anything is paid."""

import math
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import dpmean
from dpmean.cli import main
from dpmean.sklearn import PrivateNearestCentroid

ROWS = np.random.default_rng(0).normal(1.0, 1.0, (3000, 2))
BOUND = {"norm_bound": 20.0}


def told(**arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dpmean.mean(ROWS, **BOUND, **arguments)
    return [str(one.message) for one in caught if one.category is dpmean.LargeEpsilonWarning]


LARGE = {
    "epsilon = 11.69 (rho = 2, at delta = 1e-06)": {"rho": 2},
    "epsilon = 12 (at delta = 1e-09)": {"epsilon": 12, "delta": 1e-9},
    "epsilon = 10.01 (at delta = 1e-06)": {"epsilon": 10.01, "delta": 1e-6},
    "epsilon = 10.5 ": {"epsilon": 10.5, "trust": "local"},
    "epsilon = 11 ": {"epsilon": 11, "delta": 1e-6, "trust": "shuffle"},
}
COMMON = [
    {"rho": 1.5},
    {"epsilon": 10, "delta": 1e-6},
    {"epsilon": 10, "trust": "local"},
    {"epsilon": 10, "delta": 1e-6, "trust": "shuffle"},
    {"rho": 100.0, "seed": 1},
]


@pytest.mark.parametrize("words", LARGE)
def test_a_large_epsilon_is_told_as_a_bet(words):
    (message,) = told(**LARGE[words])
    assert message.startswith(words)
    assert "someone who would bet 1 to 1 about a row could bet" in message


@pytest.mark.parametrize("arguments", COMMON, ids=str)
def test_a_common_epsilon_or_a_seed_is_not(arguments):
    assert told(**arguments) == []


def test_the_odds_are_those_of_the_epsilon():
    assert math.isclose(math.exp(11.6886), 120_000, rel_tol=0.05)
    assert "could bet 120,000 to 1" in told(rho=2)[0]
    assert "could bet over 1,000,000,000 to 1" in told(rho=1e5)[0]


def test_it_comes_before_anything_is_paid():
    ledger = dpmean.Ledger(rho=10)
    groups = {"by": np.arange(3000) % 2, "groups": [0, 1]}
    with warnings.catch_warnings():
        warnings.simplefilter("error", dpmean.LargeEpsilonWarning)
        for ask, more in ((dpmean.mean, {}), (dpmean.mean_by, groups)):
            with pytest.raises(dpmean.LargeEpsilonWarning):
                ask(ROWS, rho=3, ledger=ledger, **BOUND, **more)
    assert ledger.spent == 0


def test_persons_groups_and_classifiers():
    labels = np.arange(3000) % 2
    with pytest.warns(dpmean.LargeEpsilonWarning, match="about a person could bet"):
        dpmean.mean_by(ROWS, by=labels, groups=[0, 1], privacy_unit=np.arange(3000), rho=3, **BOUND)
    with pytest.warns(dpmean.LargeEpsilonWarning, match=r"epsilon = 14.95 \(rho = 3, at delta = 1e-06\)"):
        PrivateNearestCentroid(classes=[0, 1], rho=3, **BOUND).fit(ROWS, labels)


def test_the_command_tells_it_in_a_line(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    done = CliRunner().invoke(main, ["mean", str(tmp_path / "rows.npy"), "--rho", "2", "--norm-bound", "20", "--json"])
    assert done.exit_code == 0
    assert done.stderr.startswith("dpmean: epsilon = 11.69 (rho = 2, at delta = 1e-06) is a weak guarantee")


def test_a_plan_and_a_peer_are_for_comparing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpmean.plan(3000, 2, rho=5)
        dpmean.baselines.gaussian_mechanism(ROWS, rho=5, **BOUND)

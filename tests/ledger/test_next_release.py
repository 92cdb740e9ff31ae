"""The largest next release: what a ledger prints is accepted, and slightly more is refused."""

import re
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

import dpmean
from dpmean import ApproxDp, Ledger, PureDp, Zcdp, zcdp_that_implies
from dpmean.cli import main
from dpmean.errors import OverspendError
from dpmean.privacy.renyi import renyi_of
from tests.support.spender import release as made

ADDED, REPLACED = "add-or-remove-one", "replace-one"
BUDGETS = [{"rho": 0.7}, {"epsilon": 3, "delta": 1e-6}, {"epsilon": 0.3, "delta": 1e-9}, {"epsilon": 12, "delta": 1e-5}]
PAID = {
    "nothing": (),
    "zcdp": (Zcdp(Fraction(1, 30000)),),
    "several": (Zcdp(Fraction(1, 90000)), Zcdp(Fraction(1, 100000)), Zcdp(Fraction(1, 70000))),
    "pure": (PureDp(Fraction(1, 20)), PureDp(Fraction(1, 30))),
    "pure and zcdp": (PureDp(Fraction(1, 20)), Zcdp(Fraction(1, 90000))),
    "approximate": (ApproxDp(Fraction(1, 20), Fraction(1, 10**12)),),
    "a curve": (renyi_of(Zcdp(Fraction(1, 90000))),),
}
NEED_EPSILON = ("approximate", "a curve")
"""What a budget of rho does not take."""
ROWS = np.random.default_rng(0).normal(0, 1, (3000, 2))


def printed(ledger, words):
    """Return a number as a ledger prints it."""
    found = re.search(rf"^  {words}.*  (?:rho|epsilon) = (\S+)$", str(ledger), re.MULTILINE)
    return Fraction(found[1])


def cost_of(amount, ledger):
    """Return what the central model asks for, of so much."""
    if isinstance(ledger.budget, Zcdp):
        return Zcdp(amount)
    return zcdp_that_implies(ApproxDp(amount, ledger.budget.delta))


def check_sharp(ledger, amount, neighbours, cost=cost_of):
    ledger.check(cost(amount, ledger), neighbours=neighbours)
    with pytest.raises(OverspendError):
        ledger.check(cost(amount * Fraction(10001, 10000), ledger), neighbours=neighbours)


CASES = [(budget, paid) for budget in BUDGETS for paid in PAID if "epsilon" in budget or paid not in NEED_EPSILON]


@pytest.mark.parametrize("neighbours", [ADDED, REPLACED])
@pytest.mark.parametrize(("budget", "paid"), CASES)
def test_what_is_printed_is_accepted_and_slightly_more_is_refused(budget, paid, neighbours):
    ledger = Ledger(**budget, neighbours=neighbours)
    for cost in PAID[paid]:
        ledger.charge(cost, "another library", neighbours=neighbours)
    check_sharp(ledger, printed(ledger, "largest next release"), neighbours)
    if neighbours == REPLACED:
        check_sharp(ledger, printed(ledger, "... about add-or-remove-one".replace(".", r"\.")), ADDED)
    else:
        assert "... about" not in str(ledger)


def test_where_only_pure_costs_fit_it_is_a_pure_epsilon():
    ledger = Ledger(epsilon=3, delta=1e-6, neighbours=REPLACED)
    ledger.charge(PureDp(2), "devices", neighbours=REPLACED)
    assert printed(ledger, "largest next release, for pure costs only") == 1
    check_sharp(ledger, Fraction(1), REPLACED, lambda amount, _: PureDp(amount))
    assert "... about" not in str(ledger)
    assert "adds up" not in str(ledger)


@pytest.mark.parametrize("neighbours", [ADDED, REPLACED])
def test_a_release_of_that_size_is_made_and_a_larger_one_is_not(neighbours):
    ledger = Ledger(epsilon=3, delta=1e-6, neighbours=REPLACED)
    dpmean.mean(ROWS, epsilon=1, delta=1e-6, norm_bound=9.0, neighbours=neighbours, ledger=ledger)
    words = "largest next release" if neighbours == REPLACED else r"\.\.\. about add-or-remove-one"
    most = printed(ledger, words)
    asked = {"delta": 1e-6, "norm_bound": 9.0, "neighbours": neighbours, "ledger": ledger}
    more = most * Fraction(10001, 10000)
    with pytest.raises(OverspendError, match=rf"at most epsilon={float(most):g}"):
        dpmean.mean(ROWS, epsilon=more, **asked)
    dpmean.mean(ROWS, epsilon=most, **asked)
    assert ledger.left < most / 100


def test_where_nothing_is_left_that_is_printed():
    for budget in BUDGETS:
        ledger = Ledger(**budget)
        ledger.charge(cost_of(ledger.left, ledger), "all of it")
        assert printed(ledger, "largest next release") < Fraction(1, 10**4)


def test_it_is_said_that_epsilons_do_not_add_up():
    words = "epsilons do not add up: the sum of the amount spent and the largest next release may exceed"
    ledger = Ledger(epsilon=3, delta=1e-6)
    assert words not in str(ledger)
    ledger.charge(cost_of(1, ledger), "a release")
    assert words in str(ledger)
    assert ledger.spent + ledger.left > 3
    rho = Ledger(rho=1)
    rho.charge(Zcdp(Fraction(1, 2)), "a release")
    assert "adds up" not in str(rho)


def test_the_command_prints_the_same(tmp_path):
    file = tmp_path / "b.json"
    ledger = Ledger(file, epsilon=3, delta=1e-6, neighbours=REPLACED, dataset="one")
    ledger.record(made())
    Ledger(file, rho=2, neighbours=REPLACED, dataset="two")  # no entry yet
    text = CliRunner().invoke(main, ["ledger", "show", str(file)], terminal_width=120).stdout
    for one in (ledger, Ledger(file, dataset="two")):
        for words in ("largest next release", r"\.\.\. about add-or-remove-one"):
            assert re.search(rf"{words}.* {float(printed(one, words)):g}$", text, re.MULTILINE)
    assert "epsilons do not add up" in " ".join(text.split())

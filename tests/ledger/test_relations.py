"""Costs about other neighbours in one ledger: a replaced row is a row less and a row more, and has a proven price."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmean
from dpmean import ApproxDp, ArgumentError, Ledger, LedgerError, Neighbours, OverspendError, PureDp, Zcdp
from dpmean.ledger.relations import refusal
from dpmean.noise.source import seeded
from dpmean.numerics.grid import Grid
from dpmean.pipeline import central as pipeline
from dpmean.privacy.conversions import two_steps, zcdp_implied_by
from dpmean.privacy.renyi import ORDERS, Renyi
from dpmean.queries.domain import Domain
from dpmean.rows.memory import MemoryRows
from dpmean.trust.central.curator import Curator
from tests.support.recorder import RecordingNoise

ADDED, REPLACED = (str(name) for name in (Neighbours.ADD_OR_REMOVE_ONE, Neighbours.REPLACE_ONE))
ROWS = np.random.default_rng(3).normal(5, 1, (3000, 4))
ASKED = {"norm_bound": 60.0}


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "budget.json")


# --- the price -----------------------------------------------------------------------------------------------


def divergence(p, q, alpha):
    """Return the Rényi divergence of two laws at an order, in nats."""
    return math.log(np.sum(p**alpha * q ** (1 - alpha))) / (alpha - 1)


laws = st.lists(st.integers(1, 1000), min_size=3, max_size=3).map(lambda x: np.array(x) / sum(x))


@given(laws, laws, laws, st.sampled_from([1.01, 1.5, 2.0, 5.0, 20.0]))
def test_two_steps_of_any_mechanism_cost_at_most_four_rho(p, r, q, alpha):
    """The triangle inequality of the proof, on laws of all shapes: what each step may be, and what both then are."""
    steps = [divergence(p, r, 2 * alpha - 1) / (2 * alpha - 1), divergence(r, q, 2 * alpha) / (2 * alpha)]
    rho = Fraction(max(*steps, 1e-9))
    assert divergence(p, q, alpha) <= float(two_steps(Zcdp(rho)).rho) * alpha * (1 + 1e-9) + 1e-9


def test_a_replaced_row_reaches_four_rho():
    """Noise for one row more or less, and exact sums of data sets: less than 4 rho would be too little."""
    grid, rho = Grid(2.0**-10, 64.0, 1), Fraction(1, 3)
    ball, domain = grid.ball(np.zeros(1), 8.0), Domain.within_norm(1, 64.0, impute=False)
    held = {name: MemoryRows(np.array(rows), domain) for name, rows in DATA_SETS.items()}
    sums = {name: int(rows.answer(ball)[0]) for name, rows in held.items()}
    curator = Curator(held["one"], Zcdp(rho), seeded(1), Neighbours.ADD_OR_REMOVE_ONE)
    variance = curator.ball_sum(curator.rows, ball, rho, "mean").variance
    cost = {pair: Fraction((sums[pair[0]] - sums[pair[1]]) ** 2) / (2 * variance) for pair in PAIRS}
    assert cost["one", "without"] == cost["without", "other"] == rho  # discrete Gaussians: S^2 / (2 v), lemma 2
    assert cost["one", "other"] == 4 * rho == two_steps(Zcdp(rho)).rho


DATA_SETS = {"one": [[3.0], [64.0]], "without": [[3.0]], "other": [[3.0], [-64.0]]}
PAIRS = list(itertools.combinations(("one", "without", "other"), 2))


def test_two_steps_of_a_pure_cost_are_twice_its_epsilon():
    cost = PureDp(Fraction(7, 10))
    assert two_steps(cost) == PureDp(Fraction(7, 5))
    assert zcdp_implied_by(two_steps(cost)) == two_steps(zcdp_implied_by(cost))  # whichever is done first
    law = np.exp(-0.7 * np.abs(np.arange(-60, 61)))  # geometric noise on a count that two steps move by two
    assert np.log(law[:-2] / law[2:]).max() == pytest.approx(float(two_steps(cost).epsilon))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-3), (3.0, 1e-2)])
def test_two_steps_of_an_approximate_cost_reach_what_is_charged(epsilon, delta):
    paid = two_steps(ApproxDp(epsilon, delta))
    far = 1e-9  # the chance of an event, as small as can be; each step raises it as far as it may
    near = math.exp(epsilon) * far + delta
    here = math.exp(epsilon) * near + delta
    assert paid.epsilon == 2 * Fraction(str(epsilon))
    assert here - math.exp(2 * epsilon) * far == pytest.approx(float(paid.delta), rel=1e-9)
    assert paid.delta >= Fraction(str(delta)) * Fraction(1 + math.exp(epsilon)) * (1 - Fraction(1, 10**14))


@pytest.mark.parametrize("cost", [ApproxDp(1, 0.5), ApproxDp(2000, 1e-6)], ids=str)
def test_a_cost_that_promises_nothing_after_two_steps_is_refused(cost):
    with pytest.raises(ArgumentError, match="guarantees nothing for datasets that are two steps apart"):
        two_steps(cost)
    with pytest.raises(dpmean.ArgumentTypeError):
        two_steps(0.5)


# --- the ledger ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [True, False])
def test_a_ledger_of_replaced_rows_takes_others_at_four_rho(declared, file):
    ledger = Ledger(file, rho=1, neighbours=REPLACED if declared else None)
    assert ledger.neighbours == (REPLACED if declared else None)
    if not declared:
        dpmean.mean(ROWS, rho=0.125, neighbours=REPLACED, ledger=ledger, **ASKED)
    made = dpmean.mean(ROWS, rho=0.125, neighbours=ADDED, ledger=ledger, **ASKED)
    assert made.rho == Fraction(1, 8)  # what a release says of itself stays as it is
    assert made.neighbours is Neighbours.ADD_OR_REMOVE_ONE
    again = Ledger(file)
    assert again.neighbours == REPLACED
    assert again.entries[-1].cost == Zcdp(Fraction(1, 2))
    assert again.entries[-1].neighbours == REPLACED
    assert str(again.entries[-1]).startswith(f"refined, add-or-remove-one at 4 rho, about {made.n} rows")
    assert again.spent == Fraction(1, 2) + (0 if declared else Fraction(1, 8))
    ledger.record(made)
    assert Ledger(file).spent == again.spent


def test_nothing_is_drawn_that_cannot_be_paid_at_its_price(file, monkeypatch):
    ledger = Ledger(file, rho=1, neighbours=REPLACED)
    noise = RecordingNoise(seeded(1))
    monkeypatch.setattr(pipeline, "read_randomness", lambda _: (noise, None))
    words = r"costs rho = 1\.2 in a ledger of replace-one \(4 rho, because it is about add-or-remove-one\), and only "
    words += r'rho = 1 is left: ask for at most rho=1 and neighbours="replace-one", or at most rho=0\.25 without it'
    with pytest.raises(OverspendError, match=words):
        dpmean.mean(ROWS, rho=0.3, neighbours=ADDED, ledger=ledger, **ASKED)
    with pytest.raises(OverspendError, match=words):
        dpmean.mean_by(ROWS, by=np.arange(3000) % 2, groups=[0, 1], rho=0.3, ledger=ledger, **ASKED)
    assert not noise.log
    assert not ledger.entries
    ledger.check(Zcdp(Fraction(1, 4)), neighbours=ADDED)
    with pytest.raises(OverspendError):
        ledger.check(Zcdp(Fraction(1, 4) + Fraction(1, 10**9)), neighbours=ADDED)
    ledger.check(Zcdp(1), neighbours=REPLACED)


def test_a_refused_count_is_charged_at_the_same_price():
    ledger = Ledger(rho=1, neighbours=REPLACED)
    with pytest.raises(dpmean.TooFewRowsError):
        dpmean.mean(ROWS[:20], rho=0.25, neighbours=ADDED, ledger=ledger, **ASKED)
    assert ledger.spent == 4 * Fraction(1, 4) / 25


def test_groups_are_charged_like_rows():
    ledger, labels = Ledger(rho=2, neighbours=REPLACED), np.arange(3000) % 2
    asked = {"by": labels, "groups": [0, 1], "rho": 0.25, "ledger": ledger, **ASKED}
    dpmean.mean_by(ROWS, neighbours=ADDED, **asked)
    assert ledger.spent == 1
    dpmean.mean_by(ROWS, neighbours=REPLACED, **asked)  # whose groups get a quarter of it
    assert ledger.spent == 1 + Fraction(1, 4)
    assert [entry.what.partition(" by ")[0] for entry in ledger.entries] == ["refined, 2 groups"] * 2
    with pytest.raises(ArgumentError, match=r"protects rows \(replace-one within its group\); earlier releases of"):
        dpmean.mean_by(ROWS, sizes="public", **asked)


def test_a_row_that_is_replaced_within_its_group_is_two_steps_too():
    ledger = Ledger(rho=1)
    dpmean.mean_by(ROWS, by=np.arange(3000) % 2, groups=[0, 1], sizes="public", rho=0.1, ledger=ledger, **ASKED)
    assert ledger.neighbours == "replace-one within its group"
    dpmean.mean(ROWS, rho=0.1, neighbours=ADDED, ledger=ledger, **ASKED)
    assert ledger.spent == Fraction(1, 2)


@pytest.mark.parametrize("declared", [True, False])
def test_the_other_way_round_is_refused_and_it_says_why(declared):
    ledger = Ledger(rho=1, neighbours=ADDED if declared else None)
    if not declared:
        ledger.charge(Zcdp(Fraction(1, 10)), "a count", neighbours=ADDED)
    for model in ({}, {"trust": "local"}):
        rows = np.tile(ROWS, (4, 1))
        with pytest.raises(
            ArgumentError, match=r"release protects rows \(replace-one\); (earlier|this).* rows \(add-or-remove-one\)"
        ) as caught:
            dpmean.mean(rows, rho=0.5, neighbours=REPLACED, ledger=ledger, **ASKED, **model)
        assert "replace-one publishes the number of rows" in str(caught.value)
        assert 'open the ledger of a dataset with neighbours="replace-one"' in str(caught.value)
    assert ledger.spent == (0 if declared else Fraction(1, 10))


def test_persons_are_not_converted_to_rows():
    ledger = Ledger(rho=1, neighbours=REPLACED)
    ledger.charge(Zcdp(Fraction(1, 10)), "a count", neighbours=ADDED, unit="who")
    assert ledger.entries[0].relation == (REPLACED, "who")
    assert ledger.spent == Fraction(2, 5)
    with pytest.raises(ArgumentError, match=r"protects rows \(add-or-remove-one\); .* protect who \(replace-one\)"):
        ledger.charge(Zcdp(Fraction(1, 10)), "a count", neighbours=ADDED)
    ledger.charge(Zcdp(Fraction(1, 10)), "nobody said")
    assert ledger.spent == Fraction(1, 2)


def test_costs_in_other_notions_are_converted_or_refused():
    ledger = Ledger(epsilon=8, delta=1e-3, neighbours=REPLACED)
    ledger.charge(Zcdp(Fraction(1, 100)), "zCDP", neighbours=ADDED)
    ledger.charge(PureDp(Fraction(1, 10)), "pure", neighbours=ADDED)
    ledger.charge(ApproxDp(0.1, 1e-6), "approximate", neighbours=ADDED)
    assert [entry.cost for entry in ledger.entries] == [
        Zcdp(Fraction(1, 25)),
        PureDp(Fraction(1, 5)),
        two_steps(ApproxDp(0.1, 1e-6)),
    ]
    assert [str(entry) for entry in ledger.entries[1:]] == [
        "pure, add-or-remove-one at 2 epsilon",
        "approximate, add-or-remove-one at 2 epsilon",
    ]
    with pytest.raises(ArgumentError, match="a Rényi curve for add-or-remove-one cannot be recorded"):
        ledger.charge(Renyi(tuple(0.01 for _ in ORDERS), Fraction(0)), "a curve", neighbours=ADDED)
    with pytest.raises(
        OverspendError, match=r'2 epsilon, .*: ask for at most epsilon=.* and neighbours="replace-one"$'
    ):
        ledger.charge(PureDp(7), "pure", neighbours=ADDED)
    small = Ledger(rho=1, neighbours=REPLACED)
    small.charge(PureDp(Fraction(1, 2)), "pure", neighbours=ADDED)
    assert small.spent == Fraction(1, 2)


def test_a_ledger_that_a_collection_began_takes_the_default_at_four_rho(file):
    """Devices are replaced, and so this ledger is about replaced rows from then on."""
    ledger, rows = Ledger(file, epsilon=4, delta=1e-6), np.tile(ROWS, (4, 1))
    dpmean.mean(rows, trust="shuffle", epsilon=1.0, delta=1e-9, ledger=ledger, **ASKED)
    dpmean.mean(rows, rho=0.01, ledger=ledger, **ASKED)
    dpmean.mean(rows, trust="local", rho=0.2, ledger=ledger, **ASKED)
    assert ledger.neighbours == REPLACED
    assert ledger.entries[1].cost == Zcdp(Fraction(4, 100))
    assert "refined, add-or-remove-one at 4 rho" in str(ledger)
    begun = Ledger(epsilon=4, delta=1e-6)
    dpmean.mean(rows, rho=0.01, ledger=begun, **ASKED)
    with pytest.raises(ArgumentError, match="replace-one publishes the number of rows"):
        dpmean.mean(rows, trust="shuffle", epsilon=1.0, delta=1e-9, ledger=begun, **ASKED)
    assert begun.entries[0].cost == Zcdp(Fraction(1, 100))


def test_the_first_entry_of_an_allowance_takes_the_converted_price_of_what_was_asked():
    ledger = Ledger(epsilon=3.0, delta=1e-6, neighbours=REPLACED)
    for _ in range(2):
        with pytest.raises(dpmean.TooFewRowsError):
            dpmean.mean(ROWS[:50], rho=0.01, neighbours=ADDED, ledger=ledger, **ASKED)
    assert [entry.cost.rho for entry in ledger.entries] == [Fraction(4, 100), Fraction(4, 2500)]


# --- files ---------------------------------------------------------------------------------------------------


def test_what_a_ledger_is_about_is_written_down(file):
    Ledger(file, rho=1, neighbours=REPLACED)
    assert json.loads(Path(file).read_text())["datasets"]["data"]["neighbours"] == REPLACED
    assert Ledger(file).neighbours == Ledger(file, neighbours=REPLACED).neighbours == REPLACED
    with pytest.raises(ArgumentError, match="has costs with neighbours 'replace-one', got 'add-or-remove-one': leave"):
        Ledger(file, neighbours=ADDED)
    with pytest.raises(ArgumentError, match='neighbours must be "replace-one" or "add-or-remove-one", got'):
        Ledger(file, neighbours="both")


def test_it_may_be_said_as_long_as_nothing_is_decided(file):
    Ledger(file, rho=1).charge(Zcdp(Fraction(1, 10)), "nobody said")
    assert Ledger(file).neighbours is None
    assert Ledger(file, neighbours=REPLACED).neighbours == REPLACED
    assert Ledger(file).neighbours == REPLACED
    other = Ledger(file, rho=1, dataset="other")
    other.charge(Zcdp(Fraction(1, 10)), "a count", neighbours=ADDED)
    before = Path(file).read_bytes()
    Ledger(file, dataset="other", neighbours=ADDED)
    assert Path(file).read_bytes() == before
    with pytest.raises(ArgumentError, match="leave neighbours out"):
        Ledger(file, dataset="other", neighbours=REPLACED)


@pytest.mark.parametrize("wrong", ["add-or-remove-one", "both", 3])
def test_a_file_that_contradicts_itself_is_refused(wrong, file):
    ledger = Ledger(file, rho=1, neighbours=REPLACED)
    ledger.charge(Zcdp(Fraction(1, 10)), "a count", neighbours=REPLACED)
    document = json.loads(Path(file).read_text())
    document["datasets"]["data"]["neighbours"] = wrong
    Path(file).write_text(json.dumps(document))
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(file)


OLD = """{
  "format": "dpmean.ledger/1",
  "datasets": {
    "data": {
      "budget": {"rho": "1"},
      "entries": [
        {"id": "00", "when": "2026-01-01T00:00:00Z", "what": "refined", "cost": {"rho": "1/4"}, "neighbours": "?"}
      ]
    }
  }
}
"""


@pytest.mark.parametrize("kind", [ADDED, REPLACED])
def test_files_of_earlier_versions_mean_what_they_did(kind, file):
    Path(file).write_text(OLD.replace("?", kind))
    ledger = Ledger(file)
    assert (ledger.spent, ledger.neighbours) == (Fraction(1, 4), kind)
    ledger.charge(Zcdp(Fraction(1, 4)), "a count", neighbours=kind)
    assert ledger.spent == Fraction(1, 2)
    assert "neighbours" not in json.loads(Path(file).read_text())["datasets"]["data"]


def test_a_refusal_offers_another_ledger_only_where_that_helps():
    """It does where the persons are the same, and the number of rows is what the ledger keeps private."""
    for known, same_unit in itertools.product((ADDED, REPLACED), (True, False)):
        words = refusal("this", f"rows ({REPLACED})", f"rows ({known})", same_unit=same_unit, first=True)
        assert ("Leave neighbours out" in words) == (known == ADDED and same_unit)

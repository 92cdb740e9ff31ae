"""Persons who count in several groups: which groups these are, what one person can change, and what that costs."""

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError, ArgumentTypeError, GroupedRelease, Refusal
from dpmean.privacy.neighbours import Neighbours
from dpmean.rows.tables.contributions import choose_groups
from dpmean.rows.tables.keyed_table import ArrayTable, groups
from dpmean.rows.tables.keys import Keys
from dpmean.trust.central.costs import COUNT_SHARES

BOUNDS = {"age": (0, 120), "bmi": (10, 70)}
CLINICS = ["A", "B", "C", "nobody"]
RHO = Fraction(1, 2)


def visits(n=12_000, seed=0):
    """Return rows of 1500 persons, most of whom have been in all three clinics."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient": rng.integers(0, 1500, n),
            "clinic": rng.choice(["A", "B", "C", "unlisted"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "age": rng.normal(50, 10, n),
            "bmi": rng.normal(25, 3, n),
        }
    )


def by_clinic(frame=None, **more):
    asked = {"rho": RHO, "bounds": BOUNDS, "privacy_unit": "patient", "groups": CLINICS, "seed": 1}
    return dpmean.mean_by(visits() if frame is None else frame, by="clinic", **{**asked, **more})


def lenient(_, d):
    """Return which columns are strict, as a request does: none."""
    return np.zeros(d, dtype=bool)


# --- which groups ----------------------------------------------------------------------------------------------------


def test_a_hash_chooses_some_of_the_groups_that_a_person_has_rows_in():
    rng = np.random.default_rng(5)
    keys, labels = Keys.of_array("who", rng.integers(0, 400, 3000), 3000), list("abcde")
    places = rng.integers(-1, 5, 3000)
    chosen = {most: set(zip(*choose_groups(keys, places, labels, "salt", most), strict=True)) for most in range(1, 7)}
    for most, person in itertools.product(chosen, range(len(keys.values))):
        mine = {(person, place) for place in places[keys.codes == person].tolist() if place >= 0}
        found = {pair for pair in chosen[most] if pair[0] == person}
        assert found <= mine
        assert len(found) == min(most, len(mine))
    assert all(chosen[most] <= chosen[most + 1] for most in range(1, 6))
    assert chosen[2] != set(zip(*choose_groups(keys, places, labels, "pepper", 2), strict=True))
    counts = Counter(place for _, place in chosen[2])
    assert all(abs(counts[place] - len(chosen[2]) / 5) < 50 for place in range(5))
    some = keys.codes < 100  # others' rows do not matter
    fewer = choose_groups(Keys("who", keys.codes[some], keys.values), places[some], labels, "salt", 2)
    assert set(zip(*fewer, strict=True)) == {pair for pair in chosen[2] if pair[0] < 100}


def vectors(persons, labels, rows, most):
    """Return the vectors of each of three groups."""
    _, found = groups(ArrayTable(rows), labels, [0, 1, 2], persons, lenient, "salt", most)
    return [Counter(map(tuple, source.array[source.positions].tolist())) for source in found]


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_one_person_changes_as_many_groups_as_are_paid_for_by_one_vector_each(data):
    """A person leaves, or has any other rows instead; a fourth label is not listed."""
    n, most = 60, data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 9999)))
    persons, labels, rows = rng.integers(0, 9, n), rng.integers(0, 4, n), rng.normal(0, 1, (n, 2))
    mine = persons == data.draw(st.integers(0, 8))
    before = vectors(persons, labels, rows, most)
    without = vectors(persons[~mine], labels[~mine], rows[~mine], most)
    lost = [(one - two).total() for one, two in zip(before, without, strict=True)]
    assert all(not two - one for one, two in zip(before, without, strict=True))
    assert max(lost) <= 1
    assert sum(lost) == min(most, len(set(labels[mine].tolist()) - {3}))
    other, elsewhere = rng.normal(5, 1, rows.shape), rng.integers(0, 4, n)
    after = vectors(persons, np.where(mine, elsewhere, labels), np.where(mine[:, None], other, rows), most)
    moves = [((one - two).total(), (two - one).total()) for one, two in zip(before, after, strict=True)]
    assert all(max(pair) <= 1 for pair in moves)
    assert sum(gone for gone, _ in moves) <= most
    assert sum(come for _, come in moves) <= most


def test_a_person_has_the_mean_of_each_group_in_that_group():
    persons, labels = np.repeat(np.arange(200), 6), np.tile([0, 1, 2], 400)
    rows = (10 * labels + persons / 1000)[:, None]
    for most, size in ((1, None), (2, None), (3, 200)):
        _, found = groups(ArrayTable(rows), labels, [0, 1, 2], persons, lenient, "salt", most)
        assert sum(len(source.positions) for source in found) == 200 * most
        for place, source in enumerate(found):
            inside = source.array[source.positions]
            assert size in (None, len(inside))
            assert np.all(np.floor(inside / 10) == place)
            assert np.all(np.diff(inside, axis=0) > 0), "persons come in the order of their numbers"


# --- what it costs ---------------------------------------------------------------------------------------------------


def dearest(found):
    """Return the most that the groups of one person cost, by looking at every choice of as many groups."""
    prices = [one.rho for one in found.values()]
    return max(sum(some) for some in itertools.combinations(prices, min(found.contributions, len(prices))))


@pytest.mark.parametrize("most", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    ("sizes", "neighbours", "moved"),
    [("private", "add-or-remove-one", 1), ("private", "replace-one", 4), ("public", "replace-one", 1)],
)
def test_the_groups_of_one_person_cost_no_more_than_the_budget(most, sizes, neighbours, moved):
    found = by_clinic(contributions=most, sizes=sizes, neighbours=neighbours, allow_few_rows=True)
    used = min(most, len(CLINICS))
    assert found.contributions == used
    for label in "ABC":
        assert found[label].rho == RHO / (used * moved)
        assert dpmean.compose_zcdp([receipt.cost for receipt in found[label].receipts]).rho == found[label].rho
    assert found.rho == moved * dearest(found) <= RHO
    assert found.rho == RHO or most >= 4 or sizes == "public"


def test_what_is_refused_counts_as_what_it_cost():
    frame = visits()
    frame = frame[(frame.clinic != "C") | (np.arange(len(frame)) < 100)]
    found = by_clinic(frame, contributions=3, bounds=BOUNDS)
    assert isinstance(found["C"], Refusal)
    assert isinstance(found["nobody"], Refusal)
    count = RHO / 3 * COUNT_SHARES[0] / sum(COUNT_SHARES)
    assert found["C"].rho == found["nobody"].rho == count
    assert found.rho == 2 * RHO / 3 + count


def test_what_the_means_of_two_groups_show_together_is_paid_for():
    """Somebody at the clipping radius in two groups; with the whole budget in each, more than the claim would show."""

    def shown(found):
        separations = [one.radius / (one.n * float(one.noise_std[0])) for one in found.values()]
        return sum(separation**2 for separation in separations) / 2

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": np.repeat(np.arange(4000), 2), "clinic": np.tile(["A", "B"], 4000)})
    frame["x"] = rng.normal(0, 1, 8000)
    asked = {"by": "clinic", "groups": ["A", "B"], "rho": RHO, "method": "clipped", "norm_bound": 60.0, "seed": 1}
    two = dpmean.mean_by(frame, privacy_unit="who", contributions=2, **asked)
    twin = dpmean.mean_by(frame, columns=["x"], **asked)
    assert 0.5 * RHO < shown(two) <= RHO
    assert shown(twin) > RHO


def test_a_person_in_one_group_costs_what_it_always_did():
    alike = [by_clinic(), by_clinic(contributions=1)]
    assert alike[0].to_json() == alike[1].to_json()
    assert "contributions" not in alike[0].to_json()
    alone = by_clinic(groups=["A"], contributions=5)
    assert alone.to_json() == by_clinic(groups=["A"]).to_json()


def test_forms_of_a_table_agree(tmp_path):
    frame = visits()
    frame.to_parquet(tmp_path / "v.parquet", row_group_size=999)
    frame.to_csv(tmp_path / "v.csv", index=False)
    wanted = by_clinic(frame, contributions=2)
    for X in (pl.from_pandas(frame), tmp_path / "v.parquet", tmp_path / "v.csv"):
        assert by_clinic(X, contributions=2).to_json() == wanted.to_json()


def test_more_groups_for_each_person_are_more_persons_in_each_group():
    one, three = by_clinic(), by_clinic(contributions=3)
    assert three["C"].n > 1.5 * one["C"].n
    assert three["A"].noise_std[0] < 2 * one["A"].noise_std[0]


def test_a_ledger_is_charged_for_all_groups_of_a_person(tmp_path):
    ledger = dpmean.Ledger(tmp_path / "budget.json", rho=1.0)
    found = by_clinic(contributions=2, ledger=ledger, seed=None)
    assert ledger.entries[0].cost.rho == found.rho == RHO
    assert by_clinic(contributions=3, ledger=ledger, seed=None).rho == RHO
    assert ledger.left == 0
    with pytest.raises(dpmean.OverspendError):
        by_clinic(contributions=2, ledger=ledger, seed=None)


def test_an_epsilon_is_divided_as_exactly():
    whole = by_clinic(rho=None, epsilon=2.0, delta=1e-6)
    part = by_clinic(rho=None, epsilon=2.0, delta=1e-6, contributions=3)
    assert part["A"].rho == whole["A"].rho / 3
    assert part.rho == whole.rho
    assert part.epsilon(1e-6) <= 2.0


# --- documents and words ---------------------------------------------------------------------------------------------


def test_a_document_says_in_how_many_groups_persons_count():
    found = by_clinic(contributions=2)
    document = json.loads(found.to_json())
    assert document["contributions"] == 2
    again = GroupedRelease.from_json(found.to_json())
    assert (again.contributions, again.rho, again.to_json()) == (2, found.rho, found.to_json())
    for wrong in (1, 0, -1, 2.5, True, "2", 3):
        with pytest.raises(ArgumentError, match="this is not a release"):
            GroupedRelease.from_json(json.dumps({**document, "contributions": wrong}))
    with pytest.raises(ArgumentError, match="contributions must be at least 1, and more are for persons"):
        replace(by_clinic(privacy_unit=None), contributions=2)


def test_words_say_in_how_many_groups_persons_count(tmp_path):
    found = by_clinic(contributions=2)
    words = " ".join(str(found).split())
    assert "each patient counts in at most 2 groups; rows in other groups are ignored" in words
    assert "whether any one person is in the data, and in which groups" in words
    page = dpmean.report(found, tmp_path / "page.html").read_text()
    assert "Every person counts in at most 2 groups, in each with the mean of their rows in it" in page
    assert (
        "A person counts in at most 2 groups, whose costs add up: the total is the cost of the most expensive groups, "
        "2 of them." in page
    )
    assert "in one group alone" not in page


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"contributions": 0}, ArgumentError, "contributions must be at least 1, got 0"),
        ({"contributions": -3}, ArgumentError, "contributions must be at least 1, got -3"),
        ({"contributions": 2.0}, ArgumentTypeError, "contributions must be an integer"),
        ({"contributions": True}, ArgumentTypeError, "contributions must be an integer"),
        ({"contributions": "2"}, ArgumentTypeError, "contributions must be an integer"),
        ({"contributions": math.nan}, ArgumentTypeError, "contributions must be an integer"),
        (
            {"contributions": 2, "privacy_unit": None},
            ArgumentError,
            'give privacy_unit="patient", for example, or leave',
        ),
        ({"contributions": 4, "rho": 3e-6}, ArgumentError, "rho must be at least 4e-06 if .* and contributions=4"),
    ],
)
def test_wrong_contributions_are_refused_and_cost_nothing(wrong, error, words, tmp_path):
    ledger = dpmean.Ledger(tmp_path / "budget.json", rho=1.0)
    with pytest.raises(error, match=words):
        by_clinic(ledger=ledger, **{"seed": None, **wrong})
    assert not ledger.entries


def test_neighbours_of_groups_are_what_they_were():
    assert by_clinic(contributions=2).neighbours is Neighbours.ADD_OR_REMOVE_ONE
    assert by_clinic(contributions=2, sizes="public").neighbours is Neighbours.REPLACE_ONE

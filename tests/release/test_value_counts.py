"""How many values a column has: the noise of it, what it costs, and what it says about values that were made up."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest

import dpmean
from dpmean import ArgumentError, Zcdp
from dpmean.noise.source import seeded
from dpmean.release.digits import significant
from dpmean.release.value_counts import ValueCounts, distances
from dpmean.trust.central.noisy_counter import count_values
from tests.support.laws import p_value

BOUNDS = ([0.0, -10.0, 0.0], [100.0, 10.0, 1.0])
N = 5000


def rows(n=N, seed=0, parts=(0.0, 0.1, 0.3)):
    rng = np.random.default_rng(seed)
    found = np.stack([rng.normal(50, 10, n), rng.normal(0, 1, n), rng.random(n)], axis=1)
    found[rng.random((n, 3)) < np.array(parts)] = np.nan
    return found


def mean(array=None, **more):
    asked = {"rho": 0.5, "bounds": BOUNDS, "seed": 1, "count_values": True, "nan": "impute"}
    return dpmean.mean(rows() if array is None else array, **{**asked, **more})


# --- the counts ------------------------------------------------------------------------------------------------------


def test_counts_have_the_noise_that_was_paid_for_and_no_other():
    """In every column, and independent of that in the others; 0.8 and 1.25 of the scale are rejected."""
    present, budget, runs = np.array([900, 0, 44, 1000]), Zcdp(Fraction(1, 50)), 6000
    drawn = np.array([count_values(present, budget, seeded(seed))[0] - present for seed in range(runs)])
    variance = Fraction(4) / (2 * budget.rho)
    for column in drawn.T:
        assert p_value(column, variance) > 1e-4
        assert p_value(column, variance * Fraction(16, 25)) < 1e-9
        assert p_value(column, variance * Fraction(25, 16)) < 1e-9
        assert p_value(column, variance / 4) < 1e-9, "the noise of one count would not do for four"
    correlations = np.corrcoef(drawn.T)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(runs)
    noisy, receipt = count_values(present, budget, seeded(0))
    assert noisy.dtype == np.int64
    assert receipt.cost == budget
    assert "on each of 4 counts, sensitivity sqrt(4)" in receipt.mechanism


@pytest.mark.parametrize(("neighbours", "taken"), [("add-or-remove-one", 2), ("replace-one", 1)])
def test_counts_take_a_known_part_of_the_budget(neighbours, taken):
    found, without = mean(neighbours=neighbours), mean(neighbours=neighbours, count_values=False)
    assert without.value_counts is None
    paid = {receipt.step: receipt.cost.rho for receipt in found.receipts}
    assert paid["values"] == Fraction(1, 50)
    assert ("number" in paid) == (taken == 2)
    assert sum(paid.values()) == found.rho == without.rho == Fraction(1, 2)
    of_mean = sum(cost for step, cost in paid.items() if step not in ("values", "number"))
    assert of_mean == Fraction(25 - taken, 50)
    assert found.value_counts.std == math.sqrt(3 / (2 * Fraction(1, 50)))
    true = np.isfinite(rows()).sum(axis=0)
    assert np.abs(np.asarray(found.value_counts) - true).max() < 5 * found.value_counts.std
    assert found.n == N or neighbours == "add-or-remove-one"


def test_counts_are_of_all_rows_also_of_those_that_are_left_out():
    found = mean(nan="drop")
    true = np.isfinite(rows())
    assert np.abs(np.asarray(found.value_counts) - true.sum(axis=0)).max() < 5 * found.value_counts.std
    assert abs(found.n - true.all(axis=1).sum()) < 30


def test_a_call_that_fails_is_not_charged_for_counts_of_values(tmp_path):
    """It has shown nothing of them, and nothing that it has shown depends on them."""
    ledger = dpmean.Ledger(tmp_path / "budget.json", rho=1.0)
    with pytest.raises(dpmean.TooFewRowsError, match=r"The noisy count cost rho = 0\.02$"):
        mean(rows(20), ledger=ledger, seed=None)
    assert ledger.spent == Fraction(1, 50)
    public = dpmean.Ledger(tmp_path / "public.json", rho=1.0)
    with pytest.raises(dpmean.TooFewRowsError):
        mean(rows(20), ledger=public, seed=None, neighbours="replace-one")
    assert not public.entries
    given = {"by": np.arange(20) % 2, "groups": [0, 1], "rho": 0.5, "bounds": BOUNDS, "nan": "impute"}
    groups = dpmean.mean_by(rows(20), count_values=True, ledger=ledger, **given)
    assert groups.rho == Fraction(1, 50)
    assert ledger.spent == Fraction(2, 50)
    mean(ledger=ledger, seed=None, rho=0.4)
    assert ledger.spent == Fraction(2, 50) + Fraction(2, 5)


def test_groups_count_the_values_of_their_own_rows():
    array, by = rows(), np.arange(N) % 2
    array[by == 1, 1] = np.nan
    asked = {"by": by, "groups": [0, 1], "rho": 0.5, "bounds": BOUNDS, "nan": "impute", "count_values": True}
    for sizes in ("private", "public"):
        found = dpmean.mean_by(array, sizes=sizes, seed=1, **asked)
        assert found.rho == Fraction(1, 2)
        assert found[0].value_counts.counts[1] > 2000
        assert abs(found[1].value_counts.counts[1]) < 5 * found[1].value_counts.std
        again = dpmean.GroupedRelease.from_json(found.to_json())
        assert again[1].value_counts == found[1].value_counts


# --- what they say ---------------------------------------------------------------------------------------------------


def test_imputing_moves_the_mean_by_no_more_than_is_said():
    """Over many seeds: the part of values that is missing, times how far a value can be from what it counts as."""
    ways = {0: "impute", 1: 4.0, 2: "raise"}
    array = rows(2000, parts=(0.25, 0.02, 0.0))
    true = (~np.isfinite(array)).mean(axis=0) * [50.0, 14.0, 0.0]
    for relation in ("add-or-remove-one", "replace-one"):
        given = {"nan": ways, "method": "clipped", "neighbours": relation}
        bounds = np.array([mean(array, seed=seed, **given).imputation_bounds() for seed in range(200)])
        held = (bounds >= true).mean(axis=0)
        assert held.min() >= 0.93
        assert held[2] == 1
        assert np.all(bounds[:, 2] == 0)
        assert np.median(bounds[:, 0]) < 1.25 * true[0]
    wide, narrow = (mean(array, nan=ways, method="clipped").imputation_bounds(level) for level in (0.999, 0.5))
    assert np.all(wide[:2] > narrow[:2])


def test_what_a_missing_value_counts_as_is_this_far_from_what_it_may_be():
    found = mean(nan={0: "impute", 1: -10.0}, array=rows(parts=(0.1, 0.1, 0.0)))
    assert distances(found.settings, 3).tolist() == [50.0, 20.0, 0.0]
    ball = mean(nan={0: "impute", 1: -10.0}, array=rows(parts=(0.1, 0.1, 0.0)), bounds=None, norm_bound=150.0)
    assert distances(ball.settings, 3).tolist() == [150.0, 160.0, 0.0]
    everywhere = mean()
    assert everywhere.settings.imputed is True
    assert distances(everywhere.settings, 3).tolist() == [50.0, 10.0, 0.5]
    assert np.all(mean(np.full((N, 3), np.nan)).imputation_bounds() == [50.0, 10.0, 0.5])


def test_bounds_that_nobody_can_know_are_refused():
    with pytest.raises(ArgumentError, match="make the release with count_values=True"):
        mean(count_values=False).imputation_bounds()
    with pytest.raises(ArgumentError, match="impute in all columns, or in none"):
        mean(nan={0: "impute", 1: "drop", 2: "drop"}).imputation_bounds()
    for confidence in (0, 1, 1.5, math.nan):
        with pytest.raises(ArgumentError, match="confidence must lie between"):
            mean().imputation_bounds(confidence)


def test_print_and_page_say_how_far_imputing_may_have_moved_the_mean(tmp_path):
    counted, not_counted = mean(), mean(count_values=False)
    most = counted.imputation_bounds()
    words = " ".join(counted.explain().split())
    first, _, last = counted.value_counts.counts
    counts = f"ows with a value, each with noise of std {counted.value_counts.std:.3g}: about {first} (column 0), "
    assert f"r{counts}" in words
    assert f"{last} (column 2)" in words
    page = dpmean.report(counted, tmp_path / "page.html").read_text()
    assert f"R{counts}" in page
    assert "how many have a value in each column" in page
    assert "intervals and error bounds do not cover that: at 95 % confidence, this moved the mean by at most" in words
    told = [float(number) for number in re.findall(r"([\d.e+-]+) \(column \d\)", words.partition("by at most")[2])]
    assert len(told) == 3
    assert all(one <= said <= one * 1.02 for one, said in zip(most, told, strict=True))
    words = " ".join(not_counted.explain().split())
    each = "each 1 % of missing values may have moved the mean by up to"
    assert f"{each} 0.5 (column 0), 0.1 (column 1), 0.005 (column 2)" in words
    page = dpmean.report(not_counted, tmp_path / "page.html").read_text()
    assert f"which moves the mean there: {each} 0.5 (column 0), 0.1 (column 1), 0.005 (column 2)." in page
    alike = mean(bounds=(0.0, 100.0), count_values=False)
    assert f"{each} 0.5 in every column" in " ".join(str(alike).split())
    groups = dpmean.mean_by(rows(), by=np.arange(N) % 2, groups=[0, 1], rho=0.5, bounds=BOUNDS, nan="impute", seed=1)
    assert f"{each} 0.5 (column 0)" in " ".join(str(groups).split())
    assert f"{each} 0.5 (column 0)" in dpmean.report(groups, tmp_path / "page.html").read_text()


def test_documents_have_counts_where_they_were_asked_for():
    found = mean()
    document = json.loads(found.to_json())
    assert document["value_counts"] == {"counts": list(found.value_counts.counts), "std": found.value_counts.std}
    again = dpmean.Release.from_json(found.to_json())
    assert again.value_counts == found.value_counts
    assert again.to_json() == found.to_json()
    assert "value_counts" not in json.loads(mean(count_values=False).to_json())
    for wrong in (
        {"counts": [1, 2], "std": 1.0},
        {"counts": [1, 2, 2.5], "std": 1.0},
        {"counts": [1, 2, 3], "std": -1.0},
        {"counts": [1, 2, 3]},
        {"counts": [1, 2, 3], "std": 1.0, "exact": [1, 2, 3]},
        None,
    ):
        with pytest.raises(ArgumentError, match="this is not a release"):
            dpmean.Release.from_json(json.dumps({**document, "value_counts": wrong}))


def test_counts_are_an_array_of_integers():
    counts = ValueCounts((3, -1), 2.0)
    assert np.asarray(counts).tolist() == [3, -1]
    assert np.asarray(counts).dtype == np.int64
    assert np.asarray(counts, dtype=float).dtype == np.float64
    with pytest.raises(ValueError, match="copy=False"):
        np.array(counts, copy=False)


def test_small_counts_are_printed_as_integers():
    words = str(mean()) + mean().explain()
    assert significant(787.0, 12) == "787"
    assert significant(400.0, 12) == "400"
    assert significant(2048.0, 12) == "2048"
    assert "00e" not in words

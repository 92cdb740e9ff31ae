"""A release in words: what is said of each trust model, of few rows, and in how wide a page."""

import re

import numpy as np
import pandas as pd
import pytest

import dpmean
from dpmean.enums import Trust
from dpmean.errors import plural
from dpmean.release import text
from dpmean.release.intervals import population_of_one
from dpmean.release.settings import CollectionSettings
from dpmean.release.statistics import STATISTICS, Statistic
from dpmean.reports.numbers import between

pytestmark = pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
LONG = ["a", "height_in_centimetres_at_noon", "x" * 200, "income after taxes and transfers " * 4]


def frame(columns, n=4000):
    rows = np.random.default_rng(0).normal(5, 1, (n, len(columns)))
    return pd.DataFrame(rows, columns=columns).assign(who=np.arange(n) // 2, team=np.arange(n) % 2)


def widest(found):
    return max(map(len, str(found).splitlines()))


def test_every_trust_model_has_words_of_its_own_and_no_other_gets_those_of_the_shuffle_model():
    collection = CollectionSettings(rounds=3, messages_per_user=1, bytes_per_user=80, answered=99, variant="tree")
    assert text.protocol(Trust.CENTRAL, collection) == []
    assert "each device randomized its own answer" in text.protocol(Trust.LOCAL, collection)[0][1]
    assert "shuffler and analyzer must not collude" in text.protocol(Trust.SHUFFLE, collection)[0][1]
    with pytest.raises(AssertionError, match="mixed"):
        text.protocol("mixed", collection)


@pytest.mark.parametrize("columns", [["a", "b"], LONG, [f"{'wide ' * 30}{j}" for j in range(9)]])
@pytest.mark.parametrize("unit", [None, "who", "w" * 150])
def test_a_printed_release_has_80_columns_whatever_names_are(columns, unit):
    table = frame(columns).rename(columns={"who": unit or "who"})
    options = {"columns": columns, "norm_bound": 1e7, "rho": 0.5, "seed": 1, "privacy_unit": unit}
    release = dpmean.mean(table, **options)
    assert widest(release) <= 80
    assert all("".join(name.split()) in "".join(str(release).split()) for name in columns)
    groups = dpmean.mean_by(table, by="team", groups=[0, 1, "z" * 100], **options)
    assert widest(groups) <= 80


def test_a_printed_release_has_80_columns_whatever_numbers_are():
    rows = np.random.default_rng(0).normal(-1.23456789e10, 1.23e10, (4000, 30))
    for bound in ({"norm_bound": 1e12}, {"bounds": (-1e12, 1e12)}, {"bounds": (np.arange(-59, -29) * 1e10, 1e12)}):
        for d in (1, 5, 30):
            if not isinstance(bound.get("bounds", (0,))[0], np.ndarray) or d == 30:
                assert widest(dpmean.mean(rows[:, :d], rho=0.5, seed=1, **bound)) <= 80


@pytest.mark.parametrize("population", [False, True])
def test_a_column_is_told_with_its_interval_and_its_noise(population):
    release = dpmean.mean(frame(["a"]), columns=["a"], norm_bound=60.0, rho=0.5, seed=1, population=population)
    told, std = release.interval(), release.noise_std[0]
    line = f"  a          {release.mean[0]:.6g} ({told.lower[0]:.6g} to {told.upper[0]:.6g}"
    if population:
        told = release.interval(of="population")
        line += f"; {told.lower[0]:.6g} to {told.upper[0]:.6g}"
    assert " ".join(f"{line}); noise std {std:.3g}".split()) in " ".join(str(release).split())
    head = "  95 % confidence intervals in brackets: for the mean of these rows"
    assert f"{head}{', and of the' * population}\n" in str(release)


@pytest.mark.parametrize("population", [False, True])
def test_many_columns_are_told_with_their_intervals(population):
    release = dpmean.mean(np.ones((4000, 20)), norm_bound=60.0, rho=0.5, seed=1, population=population)
    words = " ".join(str(release).split())
    assert words.count("interval 95 % confidence, for the mean of") == 1 + population
    assert re.search(r"for the mean of these rows: from \[.*?\] to \[.*?\]", words)
    assert bool(re.search(r"for the mean of the population: from \[.*?\] to \[.*?\]", words)) == population


@pytest.mark.parametrize("d", [2, 20])
def test_a_statistic_that_is_added_is_printed_and_others_stay_as_they_are(d, monkeypatch):
    release = dpmean.mean(np.ones((4000, d)), norm_bound=60.0, rho=0.5, seed=1)
    before = " ".join(str(release).split())
    signal = Statistic("signal", "mean / noise", lambda found: abs(found.mean) / found.noise_std, digits=2)
    monkeypatch.setattr("dpmean.release.statistics.STATISTICS", [*STATISTICS, signal])
    after, added = re.subn(r"; mean / noise \S+|signal \[.*?\] ", "", " ".join(str(release).split()))
    assert added == (2 if d == 2 else 1)
    assert after == before


def test_groups_with_few_rows_are_told_without_errors():
    rows = np.random.default_rng(0).normal(5, 1, (3060, 2))
    options = {"by": np.arange(3060) >= 3000, "groups": [False, True], "norm_bound": 60.0, "seed": 1}
    groups = dpmean.mean_by(rows, rho=0.05, sizes="public", allow_few_rows=True, **options)
    assert groups[True].settings.few_rows
    assert not groups[False].settings.few_rows
    few, fine = str(groups).split("True: ")[1], str(groups).split("True: ")[0]
    assert not re.search(r"\(\S+ to \S+", few)
    assert "(too few to know the error)" in few
    assert re.search(r"\(\S+ to \S+\), ", fine)


def test_what_there_is_one_of_is_in_the_singular():
    assert [plural(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    one = dpmean.mean_by(np.ones((1, 2)), by=[1], groups=[1], norm_bound=2.0, rho=0.5, sizes="public", seed=1)
    assert str(one).startswith("Private means of 1 group by ")
    assert "1 row is too few for" in str(one)
    assert str(one[1]) == f"no mean: {one[1].reason}"
    assert dpmean.plan(1, 1, rho=0.5).__str__().startswith("1 row in 1 dimension, ")


def test_too_few_rows_say_what_the_count_cost():
    rows = np.ones((30, 3))
    with pytest.raises(dpmean.TooFewRowsError, match=r"The noisy count cost rho = 4e-07$") as caught:
        dpmean.mean(rows, rho=1e-5, norm_bound=9.0, seed=1)
    assert float(caught.value.receipts[0].cost.rho) == 4e-7
    with pytest.raises(dpmean.TooFewRowsError, match=r"allow_few_rows=True$"):
        dpmean.mean(rows, rho=1e-5, norm_bound=9.0, seed=1, neighbours="replace-one")


@pytest.mark.parametrize("population", [False, True])
def test_one_column_has_intervals_in_print_and_on_its_page(population, tmp_path):
    rows = np.random.default_rng(0).normal(5, 1, 4000)
    given = {"rho": 0.5, "bounds": (0, 20), "seed": 1, "population": population}
    groups = dpmean.mean_by(rows, by=np.arange(4000) % 2, groups=[0, 1], **given)
    for release in (dpmean.mean(rows, **given), groups):
        one = release if release is not groups else groups[0]
        low, high = float(one.interval().lower[0]), float(one.interval().upper[0])
        least, most = population_of_one(one)
        assert least < low < one.mean[0] < high < most
        page = dpmean.report(release, tmp_path / "page.html").read_text()
        assert between(least, most, (most - least) / 2) in page
        assert "at most" not in page.partition('id="accuracy"')[2].partition("What errors do not cover")[0]
    words = " ".join(str(one).split())
    assert f"95 % confidence interval of the mean of these rows: {low:.6g} to {high:.6g}; of the population" in words
    assert f"if they are an independent sample: {least:.6g} to {most:.6g}" in words
    assert "l2 norm" not in words

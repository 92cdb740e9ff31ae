"""A release in words: what is said of each trust model, of few rows, of one column."""

import numpy as np
import pytest

import dpmean
from dpmean.enums import Trust
from dpmean.errors import plural
from dpmean.release import text
from dpmean.release.digits import between
from dpmean.release.intervals import population_of_one
from dpmean.release.settings import CollectionSettings

pytestmark = pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")


def test_every_trust_model_has_words_of_its_own_and_no_other_gets_those_of_the_shuffle_model():
    collection = CollectionSettings(rounds=3, messages_per_user=1, bytes_per_user=80, answered=99, variant="tree")
    assert text.protocol(Trust.CENTRAL, collection) == text.model(Trust.CENTRAL, collection) == []
    assert "each device randomized its own answer" in text.protocol(Trust.LOCAL, collection)[0][1]
    assert "shuffler and analyzer must not collude" in text.protocol(Trust.SHUFFLE, collection)[0][1]
    assert text.model(Trust.LOCAL, collection) == [("model", "local: each device randomized its own answer")]
    assert "shuffler and analyzer must not collude" in text.model(Trust.SHUFFLE, collection)[1][1]
    with pytest.raises(AssertionError, match="mixed"):
        text.protocol("mixed", collection)


def test_what_there_is_one_of_is_in_the_singular():
    assert [plural(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    one = dpmean.mean_by(np.ones((1, 2)), by=[1], groups=[1], norm_bound=2.0, rho=0.5, sizes="public", seed=1)
    assert str(one).startswith("Private means of 1 group by ")
    assert "1 row is too few for" in one.explain()
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
    words = " ".join(one.explain().split())
    assert f"95 % confidence interval of the mean of these rows: {low:.6g} to {high:.6g}; of the population" in words
    assert f"if they are an independent sample: {least:.6g} to {most:.6g}" in words
    assert "l2 norm" not in words

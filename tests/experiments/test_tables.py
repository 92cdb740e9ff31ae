"""Kinds of rows whose columns differ in scale, and tables with a range for each column."""

import numpy as np
import pytest

from dpmean import ArgumentError
from dpmean.experiments.data import KINDS, draw
from dpmean.experiments.tables import EIGHT, ROUGH, TABLES, bounds_of, columns_of, spread_of

NINTHS = range(8)


def drawn(kind, n, d, seed=0, **options):
    return draw(kind, np.random.default_rng(seed), n, d, **options).rows


@pytest.mark.parametrize("kind", TABLES)
def test_rows_of_a_table_lie_within_its_ranges_and_depend_on_the_generator_alone(kind):
    columns = columns_of(kind)
    rows = drawn(kind, 5000, len(columns))
    lower, upper = bounds_of(kind)
    assert rows.shape == (5000, len(columns))
    assert np.all((rows >= lower) & (rows <= upper))
    assert np.array_equal(rows, drawn(kind, 5000, len(columns)))
    assert not np.array_equal(rows, drawn(kind, 5000, len(columns), seed=1))
    with pytest.raises(ArgumentError, match=f"have {len(columns)} columns, got d=3"):
        drawn(kind, 10, 3)


def test_the_tables_are_those_that_are_asked_about():
    assert [(column.lower, column.upper) for column in EIGHT] == [
        *[(0, 130), (0, 1e7), (0, 300), (0, 1), (0, 1e4), (0, 400), (0, 1000), (0, 60)]
    ]
    names = [column.name for column in EIGHT]
    assert spread_of(EIGHT[names.index("laboratory value")]) == pytest.approx(1.3, rel=0.02)
    assert drawn("table of eight", 50000, 8)[:, names.index("smoker")].mean() == pytest.approx(0.2, abs=0.01)
    assert len(columns_of("rough table")) == 12
    spreads = [spread_of(column) for column in columns_of("rough table")]
    assert [spread == 0 for spread in spreads] == [True] + 11 * [False]
    rough = drawn("rough table", 100000, 12)
    assert np.mean(rough != 0, axis=0)[1:5] == pytest.approx([0.01, 0.0488, 0.003, 0.03], rel=0.15)


@pytest.mark.parametrize("ninth", NINTHS)
def test_a_ninth_column_leaves_the_eight_as_they_are(ninth):
    rows = drawn("ninth column", 1000, 9, ninth=ninth)
    assert np.array_equal(rows[:, :8], drawn("table of eight", 1000, 8))
    lower, upper = bounds_of("ninth column", ninth=ninth)
    assert np.all((rows >= lower) & (rows <= upper))
    assert len({columns_of("ninth column", ninth=other)[8].name for other in NINTHS}) == len(NINTHS)
    assert columns_of("ninth column", ninth=1)[8] is ROUGH[1]


def test_other_kinds_have_no_ranges():
    assert bounds_of("gaussian") is None
    assert set(TABLES) < set(KINDS)


@pytest.mark.parametrize(
    ("kind", "options", "scales"),
    [
        ("plan gaussian", {"alpha": 2.0}, 4 / np.arange(1, 5)),
        ("plan gaussian", {"alpha": 0.0}, np.ones(4)),
        ("exponential scales", {}, np.geomspace(0.1, 4, 4)),
        ("two scales", {"share": 0.5, "factor": 10}, [10, 10, 1, 1]),
        ("two scales", {"share": 0.01, "factor": 1000}, [1000, 1, 1, 1]),
        ("geometric scales", {"decay": 0.5}, [1, 0.5, 0.25, 0.125]),
        ("student scales", {"freedom": 50}, np.geomspace(0.1, 10, 4) * np.sqrt(50 / 48)),
    ],
)
def test_columns_have_the_scales_that_they_say(kind, options, scales):
    assert drawn(kind, 50000, 4, **options).std(axis=0) == pytest.approx(np.array(scales), rel=0.03)


def test_lognormal_scales_are_drawn_with_the_rows():
    spreads = np.log(drawn("lognormal scales", 500, 2000).std(axis=0))
    assert (spreads.mean(), spreads.std()) == pytest.approx((0, 1), abs=0.07)
    assert not np.allclose(spreads[:5], np.log(drawn("lognormal scales", 500, 5, seed=1).std(axis=0)), atol=0.2)


def test_half_of_the_columns_are_sparse():
    share = np.mean(drawn("half sparse", 20000, 6) != 0, axis=0)
    assert share[::2] == pytest.approx([0.02] * 3, abs=0.004)
    assert np.all(share[1::2] == 1)


def test_breast_cancer_data_are_raw():
    rows = drawn("breast cancer", 569, 30)
    assert rows.shape == (569, 30)
    assert rows.std(axis=0).max() > 1e4 * rows.std(axis=0).min()

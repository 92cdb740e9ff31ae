"""Vectors of which nothing declares the length: which rows tell it, and what is refused before anything is charged."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import dpmean
from dpmean import ArgumentError, DataError
from dpmean.rows.opening import InMemory
from tests.support.public import REPLACED

LISTS = pa.list_(pa.float64())
SETTINGS = {"rho": 5.0, "vector_column": "v", "allow_few_rows": True}
NORM, BOX = {"norm_bound": 100.0}, {"bounds": ([0.0, 0.0], [9.0, 9.0])}
FORMS = ["pyarrow", "pandas", "polars", "parquet", "arrow", "duckdb"]
UNKNOWN = "no row has a vector, and the number of columns is not declared"

pytestmark = pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")


def visits(vectors, places, kind=LISTS):
    """Return a table of vectors, each in a group and of a person of its own."""
    who = pa.array(range(len(vectors)), pa.int64())
    return pa.table({"v": pa.array(vectors, kind), "place": pa.array(places, pa.string()), "who": who})


def given_as(form, table, folder):
    """Return the same table in another form; files have many parts."""
    if form == "parquet":
        parquet.write_table(table, folder / "t.parquet", row_group_size=7)
    elif form == "arrow":
        feather.write_feather(table, str(folder / "t.arrow"), chunksize=7)
    elif form == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        connection = duckdb.connect()
        connection.register("given", table)
        return connection.sql("SELECT * FROM given")
    elif form != "pyarrow":
        return table.to_pandas() if form == "pandas" else pl.from_arrow(table)
    return folder / f"t.{form}" if form in ("parquet", "arrow") else table


def refused_at_no_cost(ask, words):
    """Insist that a call is refused, and that its ledger is as it was."""
    ledger = dpmean.Ledger(rho=50.0)
    with pytest.raises(DataError, match=words):
        ask(ledger)
    assert ledger.spent == 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("odd", [[[1.0, 2.0, 3.0]], [[]], [None], [[1.0, 2.0]], []])
def test_no_row_of_an_unlisted_group_tells_how_many_columns_there_are(form, unit, odd, tmp_path):
    """With one unlisted row, of any length, and without it: the same numbers, and the same refusals."""
    vectors, places = [[1.0, 2.0]] * 60, ["A"] * 60
    X = given_as(form, visits([*odd, *vectors], ["unlisted"] * len(odd) + places), tmp_path)
    settings = SETTINGS | {"by": "place", "privacy_unit": unit}
    found = dpmean.mean_by(X, groups=["A", "empty"], **settings, **NORM, seed=1)
    alone = dpmean.mean_by(visits(vectors, places), groups=["A", "empty"], **settings, **NORM, seed=1)
    assert {label: one.d for label, one in found.released.items()} == {"A": 2, "empty": 2}
    if unit is None:  # persons are put in a secret order, which differs with their number
        assert found.to_json() == alone.to_json()
    refused_at_no_cost(lambda ledger: dpmean.mean_by(X, groups=["empty"], **settings, **NORM, ledger=ledger), UNKNOWN)


@pytest.mark.parametrize("form", FORMS)
def test_groups_may_be_given_apart_from_rows_of_several_lengths(form, tmp_path):
    vectors, places = [[1.0, 2.0, 3.0], None, *[[1.0, 2.0]] * 60], ["x", "x", *["A"] * 60]
    X = given_as(form, visits(vectors, places).drop_columns(["place", "who"]), tmp_path)
    found = dpmean.mean_by(X, by=places, groups=["A"], **SETTINGS, **NORM)
    assert found["A"].d == 2


@pytest.mark.parametrize("form", FORMS)
def test_listed_rows_of_several_lengths_are_refused_whichever_comes_first(form, tmp_path):
    for vectors in ([[1.0], *[[1.0, 2.0]] * 20], [*[[1.0, 2.0]] * 20, [1.0]]):
        X = given_as(form, visits(vectors, ["A"] * 21), tmp_path)
        for keys in ({"by": "place", "groups": ["A"]}, {"by": "place", "groups": ["A"], "privacy_unit": "who"}):
            refused_at_no_cost(
                lambda ledger, X=X, keys=keys: dpmean.mean_by(X, **SETTINGS, **NORM, **keys, ledger=ledger),
                "differ in length",
            )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vectors", [[], [None, None]])
def test_without_any_vector_a_call_is_refused_before_it_is_charged(form, vectors, tmp_path):
    X = given_as(form, visits(vectors, ["A"] * len(vectors)), tmp_path)
    asks = [
        lambda ledger: dpmean.mean(X, columns=None, **SETTINGS, **NORM, nan="impute", ledger=ledger),
        lambda ledger: dpmean.mean(X, **SETTINGS, **NORM, privacy_unit="who", nan="impute", ledger=ledger),
        lambda ledger: dpmean.mean_by(X, **SETTINGS, **NORM, by="place", groups=["A"], nan="impute", ledger=ledger),
        lambda ledger: dpmean.mean_by(X, **SETTINGS, **NORM, by="place", groups=["B"], nan="impute", ledger=ledger),
    ]
    for ask in asks:
        refused_at_no_cost(ask, UNKNOWN)


@pytest.mark.parametrize("form", FORMS)
def test_vectors_without_coordinates_are_refused_before_a_call_is_charged(form, tmp_path):
    X = given_as(form, visits([[], []], ["A", "A"]), tmp_path)
    for keys in ({}, {"privacy_unit": "who"}):
        refused_at_no_cost(
            lambda ledger, keys=keys: dpmean.mean(X, **SETTINGS, **NORM, **keys, ledger=ledger), "have no coordinates"
        )
    refused_at_no_cost(
        lambda ledger: dpmean.mean_by(X, **SETTINGS, **NORM, by="place", groups=["A"], ledger=ledger),
        "have no coordinates",
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vectors", [[], [None], [[1.0, 2.0]]])
def test_bounds_for_each_column_say_how_many_there_are(form, vectors, tmp_path):
    """Then no row has to: with and without the only vector, the same is asked and nothing is refused."""
    X = given_as(form, visits(vectors, ["A"] * len(vectors)), tmp_path)
    settings = SETTINGS | BOX | {"nan": "impute"}
    assert dpmean.mean(X, **settings).d == 2
    assert dpmean.mean(X, **settings, privacy_unit="who").d == 2
    found = dpmean.mean_by(X, **settings, by="place", groups=["A", "B"], privacy_unit="who")
    assert [one.d for one in found.released.values()] == [2, 2]
    odd = given_as(form, visits([[1.0, 2.0, 3.0]] * 9, ["A"] * 9), tmp_path)
    refused_at_no_cost(
        lambda ledger: dpmean.mean(odd, **settings, ledger=ledger), "or from the number of columns in bounds"
    )


def test_a_declared_length_goes_before_bounds():
    X = visits([[1.0, 2.0, 3.0]] * 9, ["A"] * 9, pa.list_(pa.float64(), 3))
    with pytest.raises(ArgumentError, match=r"one number or one per column \(d=3\)"):
        dpmean.mean(X, **SETTINGS, **BOX)
    assert dpmean.mean(X, **SETTINGS, bounds=(0.0, 9.0)).d == 3


def test_objects_that_are_all_missing_are_vectors_that_are_missing():
    """Of objects in pandas a single vector, listed or not, tells that there are vectors."""
    settings = SETTINGS | {"by": "place", "groups": ["A"], "nan": "impute"}
    for rest in ([], [None], [[1.0, 2.0]], [[1.0, 2.0, 3.0]]):
        frame = pd.DataFrame({"v": pd.Series([None, *rest], dtype=object), "place": ["A", *["unlisted"] * len(rest)]})
        with pytest.raises(DataError, match=UNKNOWN):
            dpmean.mean_by(frame, **settings, **NORM)
        assert dpmean.mean_by(frame, **settings, **BOX)["A"].d == 2


def test_rows_of_files_are_those_of_the_table_whichever_are_listed(tmp_path):
    rng = np.random.default_rng(3)
    values, places = rng.normal(size=(500, 3)), rng.choice(["A", "B", "unlisted"], 500)
    columns = {"a": values[:, 0], "b": values[:, 1], "c": rng.integers(0, 9, 500)}
    table = pa.table({**columns, "v": list(values), "place": places, "who": rng.integers(0, 90, 500)})
    for form in ("parquet", "arrow"):
        X = given_as(form, table, tmp_path)
        for chosen in ({"vector_column": "v"}, {"vector_column": None, "columns": ["a", "b", "c"]}):
            for sizes in ({"sizes": "public", **REPLACED}, {"privacy_unit": "who"}):
                settings = SETTINGS | NORM | chosen | {"by": "place", "groups": ["A", "B"], "seed": 1} | sizes
                assert dpmean.mean_by(X, **settings).to_json() == dpmean.mean_by(table, **settings).to_json()


@pytest.mark.parametrize("n", [0, 5])
def test_a_source_without_columns_is_refused_before_a_call_is_charged(n):
    X, settings = InMemory(np.empty((n, 0))), {"rho": 5.0, "allow_few_rows": True, **NORM}
    for keys in ({}, {"privacy_unit": [1] * n}):
        refused_at_no_cost(lambda ledger, keys=keys: dpmean.mean(X, **settings, **keys, ledger=ledger), "no columns")
    refused_at_no_cost(
        lambda ledger: dpmean.mean_by(X, by=[1] * n, groups=[1], **settings, ledger=ledger), "no columns"
    )

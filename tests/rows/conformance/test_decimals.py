"""Decimals are the nearest floats, each by itself, whatever the type of their column is, on every engine."""

import random
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from fuzz.seen import vectors, watch

import dpmean
from dpmean.rows.files.arrow import read_numbers
from tests.rows.conformance.problems import assert_same, needed

FORGIVING = {"rho": 1.0, "norm_bound": 1e30, "nan": "impute", "seed": 1, "allow_few_rows": True}
DRAW = random.Random(5)
PRICES = [Decimal(DRAW.randrange(-(10**17), 10**17)).scaleb(-3) for _ in range(300)]
"""Of 17 digits: Arrow's own cast rounds some of them twice."""
PRICES[::7] = [Decimal(DRAW.randrange(10**6)).scaleb(-2) for _ in PRICES[::7]]
PRICES[3::50] = [None] * len(PRICES[3::50])
FLOATS = [[np.nan if price is None else float(price)] for price in PRICES]


@pytest.mark.parametrize("scale", [0, 3, 9, 22, 23, 28, 40, -5, 400, -400])
@pytest.mark.parametrize("kind", [pa.decimal128, pa.decimal256])
def test_a_decimal_of_arrow_is_the_float_that_python_makes_of_it(kind, scale):
    most = 38 if kind is pa.decimal128 else 76
    known = [0, 1, -1, 10**most - 1, 1 - 10**most, 2**53, 2**53 + 1, -(2**53) - 1, 2**63, -(2**63), 2**64 + 5]
    known += [DRAW.randrange(-(10**digits), 10**digits) for digits in range(1, most + 1) for _ in range(20)]
    known[5::9] = [None] * len(known[5::9])
    wanted = np.array([np.nan if value is None else float(f"{value}e{-scale}") for value in known])
    integers = pa.array(known, kind(most, 0))
    array = pa.Array.from_buffers(kind(most, scale), len(known), integers.buffers())
    assert np.array_equal(read_numbers(array), wanted, equal_nan=True)
    assert np.array_equal(read_numbers(array[7:91]), wanted[7:91], equal_nan=True)
    assert len(read_numbers(array[:0])) == 0


def test_short_decimals_too():
    for name, precision in (("decimal32", 9), ("decimal64", 18)):
        if not hasattr(pa, name):
            pytest.skip("this version of pyarrow has no short decimals")
        values = [Decimal("0.07"), None, Decimal("-1234567.89"), Decimal("9999999.99")]
        array = pa.array(values, getattr(pa, name)(precision, 2))
        assert np.array_equal(read_numbers(array), [0.07, np.nan, -1234567.89, 9999999.99], equal_nan=True)
        frame = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "key": array})
        found = dpmean.mean_by(frame, by="key", groups=[0.07, "-1234567.89"], columns="x", **FORGIVING)
        assert len(found.released) == 2


def everywhere(folder):
    """Return the same decimals on every engine of this process."""
    duckdb = needed("duckdb", "duckdb")
    table = pa.table({"price": pa.array(PRICES, pa.decimal128(20, 3))})
    parquet.write_table(table, folder / "t.parquet", row_group_size=70)
    feather.write_feather(table, str(folder / "t.arrow"), chunksize=70)
    yield pd.DataFrame({"price": pd.Series(PRICES, dtype=object)})
    yield pd.DataFrame({"price": pd.Series(PRICES, dtype=pd.ArrowDtype(pa.decimal256(30, 5)))})
    yield pl.DataFrame({"price": PRICES})
    yield table
    yield folder / "t.parquet"
    yield folder / "t.arrow"
    with duckdb.connect() as connection:
        connection.register("given", table)
        yield connection.sql("SELECT price::DECIMAL(38, 6) AS price FROM given")


def seen(X, **named):
    """Return the rows that reach the mechanisms."""
    return watch(lambda: dpmean.mean(X, **FORGIVING, **named)).releases[0]


def test_every_engine_reads_the_same_floats(tmp_path):
    for X in everywhere(tmp_path):
        assert seen(X) == seen(X, columns="price") == vectors(FLOATS), type(X)


def test_vectors_of_decimals():
    some = [price for price in PRICES if price is not None][:100]
    pairs, wanted = [[one, -one] for one in some], vectors([[float(one), -float(one)] for one in some])
    for kind in (pa.list_(pa.decimal128(20, 3), 2), pa.list_(pa.decimal128(38, 9))):
        assert seen(pa.table({"v": pa.array(pairs, kind)}), columns="v") == wanted
    assert seen(pd.DataFrame({"v": pairs}), vector_column="v") == wanted


def test_keys_that_are_decimals_are_equal_to_the_same_numbers_of_other_types(tmp_path):
    keys = [Decimal(k).scaleb(-1) for k in (10, 15, 20)] * 100
    rows = np.random.default_rng(2).normal(5, 1, 300)
    asked = {"by": "key", "groups": [1, 1.5, "2"], "columns": "x", "rho": 1.0, "bounds": (0, 10), "seed": 1}
    wanted = dpmean.mean_by(pd.DataFrame({"key": [1.0, 1.5, 2.0] * 100, "x": rows}), **asked).to_json()
    table = pa.table({"key": pa.array(keys, pa.decimal128(9, 4)), "x": rows})
    parquet.write_table(table, tmp_path / "t.parquet")
    objects = pd.DataFrame({"key": pd.Series(keys, dtype=object), "x": rows})
    typed = pd.DataFrame({"key": pd.Series(keys, dtype=pd.ArrowDtype(pa.decimal128(5, 1))), "x": rows})
    with needed("duckdb", "duckdb").connect() as connection:
        connection.register("given", table)
        for X in (
            table,
            tmp_path / "t.parquet",
            objects,
            typed,
            pl.DataFrame({"key": keys, "x": rows}),
            connection.table("given"),
        ):
            assert dpmean.mean_by(X, **asked).to_json() == wanted
            assert len(seen(X, privacy_unit="key", columns="x")) == 3


def test_one_decimal_among_objects_changes_no_other():
    for odd in (
        Decimal("1E+400"),
        Decimal("1e-999999"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        1.5,
        None,
    ):
        frame = pd.DataFrame({"x": pd.Series([*PRICES, odd], dtype=object)})
        assert seen(frame)[:-1] == vectors(FLOATS)


@pytest.mark.usefixtures("dask_client")
def test_dask():
    from dask import dataframe as dd

    frame = pd.DataFrame({"price": pd.Series(PRICES, dtype=pd.ArrowDtype(pa.decimal128(20, 3)))})
    assert seen(dd.from_pandas(frame, npartitions=3, sort=False)) == vectors(FLOATS)


def test_spark(spark, tmp_path):
    from pyspark.sql import functions

    parquet.write_table(pa.table({"price": pa.array(PRICES, pa.decimal128(20, 3))}), tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    assert frame.schema["price"].dataType.typeName() == "decimal"
    assert sorted(seen(frame)) == sorted(vectors(FLOATS))
    assert sorted(seen(frame.select(functions.array("price").alias("v")), columns="v")) == sorted(vectors(FLOATS))
    settings = {"rho": 1.0, "norm_bound": 1e15, "nan": "impute", "seed": 1, "columns": "price"}
    assert_same(dpmean.mean(frame, **settings), dpmean.mean(tmp_path / "t.parquet", **settings))

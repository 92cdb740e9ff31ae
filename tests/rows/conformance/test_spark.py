"""A Spark cluster gives what memory gives, bit for bit, however rows are cut and whatever fails on the way."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from fuzz import clusters

from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.clusters import spark as engine
from dpmean.rows.opening import open_source
from dpmean.rows.registry import Selection
from tests.rows.conformance.problems import (
    DTYPES,
    FEW,
    METHODS,
    D,
    answers,
    assert_leaves_out,
    assert_same,
    domains,
    expected,
    expected_of_uneven,
    release,
    rows,
    uneven,
    wanted_answers,
)

NAMES = [f"c{j}" for j in range(D)]
SECRET = 123456.789


@pytest.fixture
def wide(spark, tmp_path):
    """Return a data frame of some rows in several partitions, one after another."""

    def frame(array, parts=3):
        for number, piece in enumerate(np.array_split(array, parts)):
            columns = [pa.array(np.ascontiguousarray(column)) for column in piece.T]
            parquet.write_table(pa.table(columns, names=NAMES), tmp_path / f"{number}.parquet")
        return spark.read.parquet(*(str(tmp_path / f"{number}.parquet") for number in range(parts)))

    return frame


def positions(frame):
    """Return the rows in the order in which Spark has them, which is the order of their positions."""
    return np.array([list(row) for row in frame.collect()])


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_give_the_same_bits(wide, dtype):
    frame = wide(rows(dtype), parts=1)
    for method, passes in METHODS if dtype == "float64" else METHODS[::2]:
        assert_same(release(frame, method, passes), expected(dtype, method, passes))
    one = release(frame, "clipped", 2, columns="c1")
    assert_same(one, release(rows(dtype)[:, [1]], "clipped", 2))


@pytest.mark.parametrize(("method", "passes"), [("refined", 2), ("shifted", 1)])
def test_several_partitions_and_vectors(wide, method, passes):
    from pyspark.sql import functions

    frame = wide(rows("float64"), parts=4)
    assert frame.rdd.getNumPartitions() > 1
    wanted = release(positions(frame), method, passes)
    assert_same(release(frame, method, passes), wanted)
    vectors = frame.select(functions.array(*NAMES).alias("v"), functions.lit("x").alias("name"))
    assert_same(release(vectors, method, passes, vector_column="v"), wanted)
    assert_same(release(vectors, method, passes, columns="v"), wanted)


def test_noise_that_follows_columns_is_the_same(wide):
    assert_same(release(wide(uneven(), parts=1), "refined", 2), expected_of_uneven())


@pytest.mark.parametrize("kind", ["box", "norm, reshaped", "norm, moved", "norm, beyond", "box, reshaped"])
def test_domains_of_every_kind(wide, kind):
    array, domain = np.array(rows("float64", FEW)), domains(D)[kind]
    array[3, 1] = array[-1] = np.nan
    frame = wide(array)
    found = open_source(frame, Selection()).rows(domain)
    assert answers(found, domain) == wanted_answers(positions(frame), domain)


def test_a_private_number_of_rows_gives_the_same_bits(wide):
    private = {"neighbours": "add-or-remove-one"}
    frame = wide(rows("float64"), parts=1)
    assert_same(release(frame, "refined", 2, **private), release(rows("float64"), "refined", 2, **private))


def test_rows_that_lack_a_value_are_left_out_alike(wide):
    assert_leaves_out(lambda array: wide(array, parts=1))


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("method", ["refined", "clipped"])
def test_no_rows_at_all_are_a_private_number_of_them(method, wide):
    private = {"neighbours": "add-or-remove-one", "allow_few_rows": True}
    nobody = wide(rows("float64", FEW), parts=1).filter("false")
    assert_same(release(nobody, method, 2, **private), release(np.empty((0, D)), method, 2, **private))
    with pytest.raises(DataError, match="X is empty"):
        release(nobody, method, 2)


def test_few_rows_vectors_of_ml_and_large_totals(wide, monkeypatch):
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions

    frame = wide(rows("float64", FEW), parts=2)
    wanted = {method: release(positions(frame), method, 2) for method in ("refined", "clipped")}
    vectors = frame.select(array_to_vector(functions.array(*NAMES)).alias("v"))
    assert_same(release(vectors, "refined", 2, vector_column="v"), wanted["refined"])
    monkeypatch.setattr(engine, "_SMALL", 0)  # everything is added up on the cluster
    assert_same(release(frame, "clipped", 2), wanted["clipped"])
    with pytest.raises(DataError, match="NaN or infinity"):
        release(frame.withColumn("c0", functions.lit(float("nan"))), "clipped", 2)


def test_a_failed_task_is_tried_again_and_changes_nothing(wide, tmp_path):
    frame = wide(rows("float64"), parts=1)
    shaky = frame.mapInArrow(_fails_once(str(tmp_path / "failed")), frame.schema)
    assert_same(release(shaky, "refined", 2), expected("float64", "refined", 2))
    assert (tmp_path / "failed").exists()


def _fails_once(flag):
    def work(batches):
        for batch in batches:
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                yield batch
            else:
                os._exit(1)  # the worker process is gone

    return work


def test_errors_never_carry_a_row(wide):
    array = np.array(rows("float64", FEW))
    array[17] = [SECRET, np.nan, SECRET, SECRET, SECRET]
    frame = wide(array, parts=2)
    with pytest.raises(DataError, match="NaN or infinity") as caught:
        release(frame, "refined", 2)
    assert caught.value.__cause__ is caught.value.__context__ is None
    from pyspark.sql import functions

    ragged = frame.select(functions.array(*NAMES).alias("v"))
    ragged = ragged.withColumn("v", functions.expr(f"CASE WHEN v[0] = {SECRET} THEN array(v[0]) ELSE v END"))
    with pytest.raises(DataError, match="differ in length") as caught:
        release(ragged, "clipped", 2, vector_column="v")
    loud = frame.mapInArrow(_blurts_out, frame.schema)
    with pytest.raises(DataError, match=r"the Spark job failed .*check that the workers can import dpmean") as caught:
        release(loud, "clipped", 2)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert str(SECRET) not in str(caught.value)


def _blurts_out(batches):
    for batch in batches:
        raise ValueError(f"cannot handle {batch.column(0)[17]}")
        yield batch


def test_people_and_groups_are_not_told_apart_here(wide):
    import dpmean

    frame, settings = wide(rows("float64", FEW), parts=1), {"rho": 0.5, "norm_bound": 1.0}
    with pytest.raises(ArgumentTypeError, match="DataFrame of pyspark: average each person's rows there first"):
        dpmean.mean(frame, privacy_unit="c0", **settings)
    with pytest.raises(ArgumentTypeError, match="DataFrame of pyspark: average each person's rows there first"):
        dpmean.mean_by(frame, by="c0", groups=[1.0], **settings)


def test_what_is_no_data_frame_is_refused(wide):
    frame = wide(rows("float64", FEW), parts=1)
    with pytest.raises(ArgumentTypeError, match=r'X is one column: give the data frame, .*columns=\["a"\]'):
        release(frame["c0"], "clipped", 2)
    with pytest.raises(ArgumentTypeError, match="X must be a Spark data frame, got RDD"):
        release(frame.rdd, "clipped", 2)


def test_columns_are_chosen_by_name_and_checked(wide):
    from pyspark.sql import functions

    frame = wide(rows("float64", FEW), parts=1).withColumn("name", functions.lit("x"))
    assert_same(release(frame, "clipped", 2, columns=NAMES), expected("float64", "clipped", 2, FEW))
    with pytest.raises(ArgumentTypeError, match="column 'name' must hold real numbers, got string"):
        release(frame, "clipped", 2)
    with pytest.raises(ArgumentTypeError, match="column 'c0' must hold arrays of real numbers"):
        release(frame, "clipped", 2, vector_column="c0")
    with pytest.raises(ArgumentError, match="there is no column 'w'"):
        release(frame, "clipped", 2, columns=["w"])
    with pytest.raises(DataError, match="X is empty"):
        release(frame.filter("c0 IS NULL"), "clipped", 2, columns=NAMES)


def test_one_record_changes_no_other(spark):
    make, kinds = clusters.spark_frame(spark), ("int64", "vectors")
    done, compared, found = clusters.run(make, 128, seed=1, kinds=kinds, at_once=64, odd=0.0)
    assert compared == done
    assert not found, found[0]


def test_a_first_vector_that_is_missing_is_refused(spark):
    frame = spark.createDataFrame([(None,), ([1.0, 2.0],)], "v array<double>").coalesce(1)
    with pytest.raises(DataError, match="column 'v' must hold vectors of real numbers"):
        release(frame, "clipped", 2, vector_column="v", allow_few_rows=True)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
def test_a_missing_vector_may_be_alone_in_its_partition(spark):
    rows = [[1.0, 2.0]] * 3 + [None]
    spread = spark.sparkContext.parallelize([(row,) for row in rows], 4)
    frame = spark.createDataFrame(spread, "v array<double>")
    array = np.array([[np.nan, np.nan] if row is None else row for row in rows])
    settings = {"allow_few_rows": True, "nan": "impute"}
    wanted = release(array, "clipped", 2, **settings)
    assert_same(release(frame, "clipped", 2, vector_column="v", **settings), wanted)

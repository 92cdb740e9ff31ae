"""A relation of DuckDB gives what memory gives, bit for bit, and one that is not the same in every pass is refused."""

import contextlib
import gc
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from fuzz.seen import vectors, watch

import dpmean
from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.duckdb import open_source, open_table
from dpmean.rows.registry import Selection
from dpmean.rows.tables.keys import ABSENT
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
    needed,
    release,
    rows,
    uneven,
    wanted_answers,
)
from tests.rows.conformance.test_files import table

duckdb = needed("duckdb", "duckdb")

NAMES = [f"c{j}" for j in range(D)]
PERSON = "Jane Doe"
FORGIVING = {"rho": 1.0, "norm_bound": 1e6, "nan": "impute", "seed": 1, "allow_few_rows": True}


@pytest.fixture
def connection():
    with duckdb.connect() as found:
        found.execute("SET threads = 4")
        yield found


def stored(connection, array, kind="wide"):
    """Return rows in a table of the database."""
    connection.register("given", table(array, kind))
    connection.execute("CREATE OR REPLACE TABLE stored AS FROM given")
    connection.unregister("given")
    return connection.table("stored")


def from_parquet(connection, array, folder):
    parquet.write_table(table(array, "wide"), folder / "rows.parquet", row_group_size=3000)
    return connection.read_parquet(str(folder / "rows.parquet"))


def seen(X, **named):
    """Return the rows that reach the mechanisms."""
    return watch(lambda: dpmean.mean(X, **FORGIVING, **named)).releases[0]


@pytest.mark.parametrize("kind", ["wide", "list", "fixed"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_method_gives_the_same_bits(connection, dtype, kind):
    X = stored(connection, rows(dtype), kind)
    for method, passes in METHODS:
        assert_same(release(X, method, passes), expected(dtype, method, passes))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_files_and_any_number_of_threads_give_the_same_bits(connection, tmp_path, threads, monkeypatch):
    monkeypatch.setenv("DPMEAN_THREADS", threads)
    X = from_parquet(connection, rows("float64"), tmp_path)
    assert_same(release(X, "refined", 2), expected("float64", "refined", 2))


def test_noise_that_follows_columns_is_the_same(connection):
    assert_same(release(stored(connection, uneven()), "refined", 2), expected_of_uneven())


def test_few_rows_and_boxes_too(connection):
    X = stored(connection, rows("float64", FEW))
    for method in ("refined", "shifted", "clipped"):
        assert_same(release(X, method, 2, box=True), expected("float64", method, 2, FEW, box=True))


@pytest.mark.parametrize("kind", ["box", "norm, moved", "norm, beyond", "box, reshaped"])
def test_domains_of_every_kind(connection, kind):
    array, domain = np.array(rows("float64", FEW)), domains(D)[kind]
    array[3, 1] = array[-1] = np.nan
    found = open_source(stored(connection, array), Selection()).rows(domain)
    assert answers(found, domain) == wanted_answers(array, domain)


def test_a_private_number_of_rows_gives_the_same_bits(connection):
    X, private = stored(connection, rows("float64")), {"neighbours": "add-or-remove-one"}
    for method, passes in (("refined", 2), ("shifted", 1)):
        assert_same(release(X, method, passes, **private), release(rows("float64"), method, passes, **private))


def test_rows_that_lack_a_value_are_left_out_alike(connection):
    assert_leaves_out(lambda array: stored(connection, array))


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
def test_no_rows_at_all_are_a_private_number_of_them(connection):
    X, private = stored(connection, np.empty((0, D))), {"neighbours": "add-or-remove-one", "allow_few_rows": True}
    for method in ("refined", "shifted", "clipped"):
        assert_same(release(X, method, 1, **private), release(np.empty((0, D)), method, 1, **private))
    with pytest.raises(DataError, match="X is empty"):
        release(X, "clipped", 1)
    with pytest.raises(DataError, match="the number of columns is not declared"):
        release(connection.sql("SELECT [1.0::DOUBLE] AS v LIMIT 0"), "clipped", 1, **private)


def test_columns_and_queries_are_chosen_by_name(connection):
    stored(connection, rows("float64", FEW))
    X = connection.sql("SELECT 'x' AS name, * FROM stored")
    assert_same(release(X, "clipped", 2, columns=NAMES), expected("float64", "clipped", 2, FEW))
    assert_same(release(X, "clipped", 2, columns="c1"), release(rows("float64", FEW)[:, [1]], "clipped", 2))
    backwards = release(X, "clipped", 2, columns=NAMES[::-1])
    assert_same(backwards, release(rows("float64", FEW)[:, ::-1], "clipped", 2))
    with pytest.raises(ArgumentTypeError, match="column 'name' must hold real numbers, got text"):
        release(X, "clipped", 2)
    with pytest.raises(ArgumentError, match="there is no column 'w': the columns are name, c0"):
        release(X, "clipped", 2, columns=["w"])
    with pytest.raises(ArgumentError, match="there is no column 'C0'"):
        release(X, "clipped", 2, columns=["C0"])
    with pytest.raises(ArgumentError, match="exclude each other"):
        release(X, "clipped", 2, columns=["c0"], vector_column="c1")


def test_names_that_differ_in_capitals_or_hold_quotes_are_told_apart(connection):
    X = connection.sql('SELECT 1.5::DOUBLE AS a, 2.5::DOUBLE AS "A", 3.5::DOUBLE AS "b"" c"')
    assert seen(X) == vectors([[1.5, 2.5, 3.5]])
    assert seen(X, columns=["A"]) == vectors([[2.5]])
    assert seen(X, columns=['b" c', "a"]) == vectors([[3.5, 1.5]])
    with pytest.raises(DataError, match="two columns of the relation have the same name"):
        seen(connection.sql("SELECT 1 AS a, 2 AS a"))


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.order("c0 DESC"),
        lambda X: X.project("c1 + 1 AS c0, c0 AS c1"),
        lambda X: X.filter("c0 > 0").limit(50),
        lambda X: X.aggregate("c0, max(c1) AS c1", "c0").order("c0"),
        lambda X: X.union(X),
        lambda X: X.set_alias("u").join(X.project("c0 AS k, c1").set_alias("v"), "u.c0 = v.k").order("k"),
    ],
)
def test_whatever_a_relation_is_made_of_it_is_read_as_duckdb_reads_it(connection, change):
    X = change(stored(connection, np.arange(300.0 * D).reshape(300, D)).project("c0, c1"))
    X = X.project("c0, #2 AS c1")
    assert seen(X) == vectors(X.fetchall())


# --- types ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TINYINT", [-128, 127, None]),
        ("USMALLINT", [0, 65535, None]),
        ("BIGINT", [2**53 + 1, -(2**63), 2**62 + 1, None]),
        ("UBIGINT", [2**64 - 1, 2**53 + 1, None]),
        ("HUGEINT", [2**53 + 1, 2**64 + 2**11 + 1, 2**100 + 2**47 + 1, -(2**127), 2**127 - 1, 10**30 + 1, None]),
        ("UHUGEINT", [2**128 - 1, 2**53 + 1, 2**65 + 2**12 + 2**11 + 1, None]),
        ("BOOLEAN", [True, False, None]),
        ("FLOAT", [0.1, float("inf"), float("nan"), None]),
        ("DOUBLE", [0.1, 5e-324, 1e308, float("-inf"), float("nan"), None]),
    ],
)
def test_a_number_of_any_type_is_the_nearest_float_by_itself(connection, kind, values):
    X = filled(connection, kind, values)
    held = [np.float32(value) if kind == "FLOAT" else value for value in values if value is not None]
    wanted = [[float(value)] for value in held] + [[np.nan]]
    assert seen(X, columns=["x"]) == vectors(wanted)
    assert seen(X.filter("x IS NOT NULL"), columns=["x"]) == vectors(wanted[:-1])
    doubled = X.project("[x, x] AS v") if kind != "BOOLEAN" else X.project("[x::TINYINT, x::TINYINT] AS v")
    assert seen(doubled, vector_column="v") == vectors([[one, one] for (one,) in wanted])


@pytest.mark.parametrize(("kind", "bits"), [("HUGEINT", 127), ("UHUGEINT", 128)])
def test_integers_of_128_bits_are_rounded_once(connection, kind, bits):
    """Of any size, and halfway between two floats or next to it, where rounding twice gives the other one."""
    rng = np.random.default_rng(7)
    lengths = [*range(1, bits + 1)] * 8
    values = [int.from_bytes(rng.bytes(16)) % 2**length for length in lengths]
    for length in range(54, bits + 1):
        odd = int(rng.integers(2**52, 2**53)) << (length - 53)
        half = 1 << (length - 54)
        values += [odd + half, odd + half + 1, odd + half - 1, odd + half + (half >> 11), 2**length - 1]
    values += [] if kind == "UHUGEINT" else [-value for value in values]
    X = filled(connection, kind, values)
    wanted = [[float(value)] for value in values]
    assert seen(X) == vectors(wanted)
    doubled = vectors([[one, one] for (one,) in wanted])
    assert seen(X.project("[x, x] AS v"), vector_column="v") == doubled
    assert seen(X.project(f"[x, x]::{kind}[2] AS v"), vector_column="v") == doubled


def filled(connection, kind, values):
    connection.execute(f"CREATE OR REPLACE TABLE filled (x {kind})")
    given = [str(value) if type(value) is int else value for value in values]  # some versions know no long integers
    connection.executemany("INSERT INTO filled VALUES (?)", [[value] for value in given])
    return connection.table("filled")


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("DATE", "2024-02-29", "dates"),
        ("TIMESTAMP", "2024-02-29 12:30:00", "dates"),
        ("INTERVAL", "3 days", "durations"),
        ("VARCHAR", PERSON, "text"),
        ("BLOB", PERSON, "something else"),
        ("UUID", "123e4567-e89b-12d3-a456-426614174000", "text"),
    ],
)
def test_a_column_that_holds_no_numbers_is_refused_as_in_a_file(connection, tmp_path, kind, value, words):
    X = filled(connection, kind, [value])
    with pytest.raises(ArgumentTypeError, match=f"column 'x' must hold real numbers, got {words}:") as caught:
        seen(X)
    if kind not in ("INTERVAL", "UUID"):  # DuckDB writes those as bytes
        X.write_parquet(str(tmp_path / "x.parquet"))
        with pytest.raises(ArgumentTypeError) as wanted:
            seen(tmp_path / "x.parquet")
        assert str(caught.value) == str(wanted.value)


def test_vectors_may_be_missing_and_must_be_of_one_length(connection):
    values = [[1.0, 2.0], None, [3.0, None]]
    wanted = vectors([[1, 2], [np.nan] * 2, [3, np.nan]])
    assert seen(filled(connection, "DOUBLE[]", values), vector_column="x") == wanted
    assert seen(filled(connection, "FLOAT[2]", values), vector_column="x") == wanted
    with pytest.raises(DataError, match="differ in length"):
        seen(filled(connection, "DOUBLE[]", [[1.0], [1.0, 2.0]]), vector_column="x")
    with pytest.raises(DataError, match="the number of columns is not declared"):
        seen(filled(connection, "DOUBLE[]", [None, None]), vector_column="x")
    with pytest.raises(DataError, match="have no coordinates"):
        seen(filled(connection, "DOUBLE[]", [[]]), vector_column="x")


def test_a_missing_value_gives_rows_of_its_batch_the_same_bits(connection):
    values = [2**53 + 1, 2**60 + 3, 7]
    kept = seen(filled(connection, "BIGINT", [*values, 1]))
    assert seen(filled(connection, "BIGINT", [*values, None]))[:3] == kept[:3]


# --- passes that differ -------------------------------------------------------------------------------------------


def test_a_pass_that_sees_more_rows_is_refused(connection):
    engine = open_source(stored(connection, rows("float64")), Selection()).engine
    connection.execute("INSERT INTO stored SELECT * FROM stored LIMIT 1")
    with pytest.raises(DataError, match="changed while they were read"):
        engine.gather(np.array([5]))


def test_a_pass_that_sees_other_rows_or_another_order_is_refused(connection):
    engine = open_source(stored(connection, rows("float64")), Selection()).engine
    some = np.array([0, 5, 16_999])
    assert np.array_equal(engine.gather(some), rows("float64")[some])
    assert np.array_equal(engine.gather(some), rows("float64")[some])
    connection.execute("UPDATE stored SET c0 = c0 + 1 WHERE rowid = 1234")
    with pytest.raises(DataError, match="the rows changed, or changed their order"):
        engine.gather(some)
    connection.execute("UPDATE stored SET c0 = c0 - 1 WHERE rowid = 1234")
    connection.execute("CREATE OR REPLACE TABLE stored AS SELECT * FROM stored ORDER BY rowid = 17, rowid")
    with pytest.raises(DataError, match="the rows changed, or changed their order"):
        engine.gather(some)


def test_a_query_that_gives_another_order_each_time_is_refused_until_its_result_is_stored(connection):
    stored(connection, rows("float64"))
    X = connection.sql("SELECT * FROM stored ORDER BY random()")
    with pytest.raises(DataError, match=r'changed their order, .* with X.create\("name"\)'):
        release(X, "clipped", 2)
    X.create("kept")
    kept = connection.table("kept")
    assert_same(release(kept, "refined", 2), release(np.array(kept.fetchall()), "refined", 2))


def test_a_table_keeps_its_order_on_many_threads_and_without_insertion_order_nothing_else_comes_out(connection):
    """What DuckDB promises of a single table; where it promises nothing, rows are right or the call is refused."""
    n = 400_000
    connection.execute("CREATE TABLE long AS SELECT i::DOUBLE AS i, i % 7 AS g FROM range(400_000) t(i)")
    engine = open_source(connection.sql("SELECT i FROM long WHERE g < 6"), Selection()).engine
    wanted = np.array([i for i in range(n) if i % 7 < 6], dtype=float)
    some = np.arange(0, len(wanted), 997)
    for _ in range(3):
        assert np.array_equal(engine.gather(some)[:, 0], wanted[some])
    connection.execute("SET preserve_insertion_order = false")
    for _ in range(3):
        with contextlib.suppress(DataError):
            assert np.array_equal(engine.gather(some)[:, 0], wanted[some])


# --- errors -------------------------------------------------------------------------------------------------------


def test_errors_never_carry_a_row_and_leave_the_connection_usable(connection):
    n = 300_000
    connection.execute("CREATE TABLE text AS SELECT i::VARCHAR AS t FROM range(300_000) r(i)")
    connection.execute("UPDATE text SET t = ? WHERE t = '299990'", [PERSON])
    X = connection.sql("SELECT t::DOUBLE AS t FROM text")
    for more in ({}, {"privacy_unit": np.arange(n)}):
        with pytest.raises(DataError, match=r"DuckDB could not run the query \(\w+\)") as caught:
            dpmean.mean(X, rho=1.0, norm_bound=1.0, **more)
        assert PERSON not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None
    Y = connection.sql("SELECT CASE WHEN i = 9 THEN 'nan'::DOUBLE ELSE i END AS t FROM range(300_000) r(i)")
    for method in ("refined", "clipped"):
        with pytest.raises(DataError, match="NaN or infinity"):
            dpmean.mean(Y, rho=1.0, norm_bound=1.0, method=method)
    gc.collect()
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_what_is_no_relation_is_refused(connection):
    with pytest.raises(ArgumentTypeError, match=r"X is a DuckDB connection: give a relation, such as connection.sql"):
        dpmean.mean(connection, rho=1.0, norm_bound=1.0)
    with pytest.raises(ArgumentTypeError, match="must be a DuckDB relation, got"):
        dpmean.mean(duckdb.ColumnExpression("a"), rho=1.0, norm_bound=1.0)
    with pytest.raises(ArgumentError, match="newlines is for CSV files"):
        dpmean.mean(connection.sql("SELECT 1.0 AS x"), rho=1.0, norm_bound=1.0, newlines="quoted")


# --- persons and groups -------------------------------------------------------------------------------------------


def visits(connection, kind="VARCHAR"):
    """Return visits of people to places, and the same as a table of Arrow."""
    connection.execute(f"CREATE OR REPLACE TABLE visits (who {kind}, place {kind}, age DOUBLE, v DOUBLE[])")
    connection.execute(
        "INSERT INTO visits SELECT i * 7 % 900, i % 3, i * 37 % 101, [i % 5, i % 11] FROM range(6000) r(i)"
    )
    found = connection.table("visits")
    columns = zip(*found.fetchall(), strict=True)
    return found, pa.table([pa.array(list(column)) for column in columns], names=found.columns)


@pytest.mark.parametrize("kind", ["VARCHAR", "INTEGER", "HUGEINT"])
def test_persons_and_groups_are_those_of_a_frame(connection, kind):
    X, frame = visits(connection, kind)
    settings = {"rho": 2.0, "norm_bound": 200.0, "seed": 5}
    for chosen in ({"columns": ["age"]}, {"vector_column": "v"}):
        for keys in ({"privacy_unit": "who"}, {"privacy_unit": frame.column("who")}):
            one, other = (dpmean.mean(rows, **settings, **chosen, **keys) for rows in (X, frame))
            assert one.to_json() == other.to_json()
        for keys in ({}, {"privacy_unit": "who"}):
            asked = {"by": "place", "groups": ["0", "2"], **keys}
            one, other = (dpmean.mean_by(rows, **settings, **chosen, **asked) for rows in (X, frame))
            assert json.loads(one.to_json()) == json.loads(other.to_json())
    with pytest.raises(ArgumentError, match="there is no column 'whom'"):
        dpmean.mean(X, **settings, privacy_unit="whom")


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("HUGEINT", [0, -1, 2**127 - 1, -(2**127), 10**38, -(10**38), 2**53 + 1, 2**53]),
        ("UHUGEINT", [0, 2**127 - 1, 2**127, 2**127 + 1, 2**128 - 1, 10**38, 2**64]),
    ],
)
def test_keys_of_128_bits_are_numbers_of_their_own(connection, kind, keys):
    X = filled(connection, kind, [*keys, keys[0]])
    found = open_table(X.project("x, 1.0::DOUBLE AS y"), Selection(keys=("x",))).keys("x")
    assert found.codes.tolist() == [*range(len(keys)), 0]
    assert found.find_labels(keys).tolist() == [*range(len(keys)), 0]
    assert found.find_labels([str(key) for key in keys]).tolist() == [*range(len(keys)), 0]
    assert found.find_labels([-key for key in keys[1:] if -key not in keys]).max() == ABSENT


@pytest.mark.parametrize("argument", ["privacy_unit", "by"])
def test_times_with_a_time_zone_are_no_keys(connection, argument):
    """DuckDB sends them without it, so that midnight in one zone would be the same person as in another."""
    X = filled(connection, "TIMETZ", ["00:00:00+00", "00:00:00+05"]).project("x, 1.0::DOUBLE AS y")
    ask = dpmean.mean if argument == "privacy_unit" else dpmean.mean_by
    more = {} if argument == "privacy_unit" else {"groups": ["a"]}
    with pytest.raises(ArgumentTypeError, match=r"column 'x' must hold .* got times with a time zone: convert"):
        ask(X, rho=1.0, norm_bound=1.0, **{argument: "x"}, **more)
    text = X.project("x::VARCHAR AS x, y")
    assert len(open_table(text, Selection(keys=("x",))).keys("x").values) == 2


def test_persons_keep_their_rows_in_whatever_order_they_come(connection):
    """Keys and coordinates are read together: another order in each pass cannot give a person another's rows."""
    visits(connection)
    ordered = connection.sql("SELECT who::DOUBLE AS x, who FROM visits ORDER BY random()")
    found = watch(lambda: dpmean.mean(ordered, **FORGIVING, columns=["x"], privacy_unit="who")).releases[0]
    assert sorted(found) == sorted(vectors([[float(who)] for who in range(900)]))

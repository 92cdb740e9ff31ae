"""Tables: data frames and files by column, whose rows they are, and the groups they are in."""

import datetime
import json
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError, ArgumentTypeError, DataError, GroupedRelease, Neighbours, Refusal, Release
from dpmean.noise.source import seeded
from dpmean.release.statistics import STATISTICS
from dpmean.rows.dtype_names import describe_type
from dpmean.rows.permutation import draw_order
from dpmean.rows.tables import dataframes
from dpmean.rows.tables.contributions import choose_groups
from dpmean.rows.tables.dataframes import FrameTable
from dpmean.rows.tables.keyed_table import ArrayTable, groups, people
from dpmean.rows.tables.keys import ABSENT, Keys
from dpmean.rows.tables.persons import average_by_person
from tests.rows.conformance.problems import assert_same
from tests.support.public import REPLACED

BOUNDS = {"age": (0, 120), "bmi": (10, 70)}
SETTINGS = {"rho": 0.5, "bounds": BOUNDS, "columns": ["age", "bmi"]}
SECRET = 71.23456789


def table(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient": rng.integers(0, 1500, n),
            "clinic": rng.choice(["A", "B", "tiny", "unlisted"], n, p=[0.5, 0.4, 0.002, 0.098]),
            "age": rng.normal(50, 10, n),
            "bmi": rng.normal(25, 3, n),
        }
    )


def everywhere(frame, folder):
    """Return the same table as frames of other libraries and in files."""
    frame.to_parquet(folder / "t.parquet", row_group_size=1000)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    feather.write_feather(pa.Table.from_pandas(frame), str(folder / "t.arrow"), chunksize=777)
    files = [folder / name for name in ("t.parquet", "t.csv", "t.tsv", "t.arrow")]
    return [pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False), *files]


# --- frames and names ------------------------------------------------------------------------------------------------


def test_a_frame_is_the_same_in_every_library_and_file(tmp_path):
    frame = table()
    array = frame[["age", "bmi"]].to_numpy()
    wanted = dpmean.mean(array, rho=0.5, bounds=([0, 10], [120, 70]), seed=1)
    for given_as in [frame, *everywhere(frame, tmp_path)]:
        found = dpmean.mean(given_as, seed=1, **SETTINGS)
        assert_same(found, wanted)
        assert found.columns == ("age", "bmi")


@pytest.mark.parametrize("streams", [True, False])
def test_a_lazy_frame_runs_once_for_the_columns_that_are_used(streams, tmp_path, monkeypatch):
    monkeypatch.setattr(dataframes, "_streams", lambda: streams)
    frame, runs = pl.from_pandas(table()), []

    def counted(some):
        runs.append(some.columns)
        return some

    lazy = frame.lazy().map_batches(counted, projection_pushdown=True)
    settings = {"bounds": BOUNDS, "rho": 0.5, "seed": 1}
    for unit in ({}, {"privacy_unit": "patient"}):
        runs.clear()
        found = dpmean.mean(lazy, **settings, **unit)
        assert found.to_json() == dpmean.mean(frame, **settings, **unit).to_json()
        assert [set(one) for one in runs] == [{*BOUNDS, *unit.values()}]
    grouped = {"by": "clinic", "groups": ["A", "B"], "privacy_unit": "patient", **settings}
    assert dpmean.mean_by(lazy, **grouped).to_json() == dpmean.mean_by(frame, **grouped).to_json()
    frame.write_parquet(tmp_path / "t.parquet")
    scanned = pl.scan_parquet(tmp_path / "t.parquet").filter(pl.col("age") > 40).with_columns(bmi=pl.col("bmi") + 1)
    wanted = frame.filter(pl.col("age") > 40).with_columns(bmi=pl.col("bmi") + 1)
    assert dpmean.mean(scanned, **settings).to_json() == dpmean.mean(wanted, **settings).to_json()


def _panic(_):
    """Raise what is no Exception: polars panics at decimals that are not numbers."""
    return pl.Series([Decimal("NaN")])


def test_a_lazy_frame_that_cannot_run_is_told_so_without_a_row():
    lazy = pl.LazyFrame({"a": [1.0, 2.0], "t": ["1", "Jane Doe"]})
    for more in ({"columns": "b"}, {"privacy_unit": "b"}):
        with pytest.raises(ArgumentError, match="there is no column 'b': the columns are a, t"):
            dpmean.mean(lazy, rho=0.5, norm_bound=1.0, **more)
    with pytest.raises(DataError, match=r"polars could not run the query \(\w+\), so nothing") as caught:
        dpmean.mean(lazy.with_columns(b=pl.col("t").cast(pl.Float64)), columns="b", rho=0.5, norm_bound=1.0)
    assert "Jane" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    panics = lazy.with_columns(b=pl.col("t").map_batches(_panic, return_dtype=pl.Decimal(9, 2)))
    with pytest.raises(DataError, match=r"polars could not run the query \(PanicException\), so nothing") as caught:
        dpmean.mean(panics, columns="b", rho=0.5, norm_bound=1.0)
    assert caught.value.__cause__ is caught.value.__context__ is None
    narrow = narwhals.from_native(lazy)
    with pytest.raises(ArgumentTypeError, match=r"lazy frame, which is supported for polars only: pass X.collect\(\)"):
        dpmean.mean(narrow, columns="a", rho=0.5, norm_bound=1.0)


def test_one_column_needs_no_list(tmp_path):
    frame = table()
    asked = {"rho": 0.5, "bounds": {"age": (0, 120)}, "seed": 1}
    wanted = dpmean.mean(frame, columns=["age"], **asked)
    for given_as in [frame, *everywhere(frame, tmp_path)]:
        found = dpmean.mean(given_as, columns="age", **asked)
        assert found.to_json() == wanted.to_json()
    persons = {"privacy_unit": "patient", **asked}
    found = dpmean.mean(frame, columns="age", **persons)
    assert found.to_json() == dpmean.mean(frame, columns=["age"], **persons).to_json()
    groups = {"by": "clinic", "groups": ["A", "B"], **asked}
    found = dpmean.mean_by(frame, columns="age", **groups)
    assert found.to_json() == dpmean.mean_by(frame, columns=["age"], **groups).to_json()
    vectors = pd.DataFrame({"v": list(frame[["age", "bmi"]].to_numpy())})
    given = {"rho": 0.5, "norm_bound": 200.0, "seed": 1}
    assert_same(dpmean.mean(vectors, columns="v", **given), dpmean.mean(vectors, vector_column="v", **given))
    with pytest.raises(ArgumentError, match="columns is for tables, got ndarray"):
        dpmean.mean(frame[["age"]].to_numpy(), columns="age", **given)


def test_columns_keep_their_names():
    release = dpmean.mean(table(), seed=1, **SETTINGS)
    assert release["bmi"] == release.mean[1]
    with pytest.raises(KeyError, match="there is no column 'weight': the columns are age, bmi"):
        release["weight"]
    for library, names in (("pandas", list), ("polars", list), ("pyarrow", lambda x: x)):
        frame = release.to_frame(library)
        found = frame.column_names if library == "pyarrow" else names(frame.columns)
        assert found == ["column", *(statistic.name for statistic in STATISTICS)]
    assert release.to_frame().set_index("column").loc["age", "mean"] == release["age"]
    with pytest.raises(ArgumentError, match='library must be "pandas"'):
        release.to_frame("excel")
    again = Release.from_json(release.to_json())
    assert again.columns == ("age", "bmi")
    assert "\nage   " in str(again)
    assert dpmean.mean(table()[["age", "bmi"]].to_numpy(), rho=0.5, norm_bound=200.0, seed=1).columns is None


def test_vectors_in_a_column_of_a_frame():
    rows = np.random.default_rng(3).normal(5, 1, (3000, 4))
    wanted = dpmean.mean(rows, rho=0.5, norm_bound=60.0, seed=1)
    for frame in (pd.DataFrame({"v": list(rows), "who": 1}), pl.DataFrame({"v": rows.tolist(), "who": [1] * 3000})):
        found = dpmean.mean(frame, vector_column="v", rho=0.5, norm_bound=60.0, seed=1)
        assert_same(found, wanted)
        assert found.columns is None


def test_frames_with_integers_booleans_and_missing_values():
    frame = pd.DataFrame({"a": [1, 2, 3] * 400, "b": [True, False, True] * 400, "c": [0.5, None, 1.5] * 400})
    frame["d"] = pd.array([1, None, 3] * 400, dtype="Int64")
    wanted = frame.astype(float).to_numpy(dtype=float)
    settings = {"rho": 2.0, "norm_bound": 10.0, "seed": 1}
    for given_as in (frame, pl.from_pandas(frame)):
        assert_same(dpmean.mean(given_as, nan="impute", **settings), dpmean.mean(wanted, nan="impute", **settings))
        with pytest.raises(DataError, match="NaN or infinity"):
            dpmean.mean(given_as, **settings)


def test_missing_values_column_by_column():
    frame = table()
    frame.loc[5:100, "bmi"] = np.nan
    wanted = dpmean.mean(frame, nan="impute", seed=1, **SETTINGS)
    assert_same(dpmean.mean(frame, nan={"bmi": "impute"}, seed=1, **SETTINGS), wanted)
    for nan in ({"age": "impute"}, {"bmi": "raise", "age": "impute"}):
        with pytest.raises(DataError, match="NaN or infinity"):
            dpmean.mean(frame, nan=nan, seed=1, **SETTINGS)
    found = dpmean.mean(frame, nan={"bmi": "impute"}, seed=1, **SETTINGS)
    assert found.settings.imputed == ("bmi",)
    assert "missing values of bmi counted as the middle of the bounds" in " ".join(str(found).split())
    with pytest.raises(ArgumentError, match="nan: there is no column 'weight'"):
        dpmean.mean(frame, nan={"weight": "impute"}, **SETTINGS)
    with pytest.raises(ArgumentError, match="needs columns with names"):
        dpmean.mean(frame[["age"]].to_numpy(), rho=0.5, norm_bound=200.0, nan={"age": "impute"})


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"age": (0, 120)}, "bounds has no entry for column 'bmi': add one"),
        ({"age": 5, "bmi": (1, 2)}, r"must be \(lower, upper\)"),
    ],
)
def test_bounds_by_name_are_checked(bounds, words):
    with pytest.raises(ArgumentError, match=words):
        dpmean.mean(table(), rho=0.5, bounds=bounds, columns=["age", "bmi"])


def test_bounds_by_name_name_the_columns(tmp_path):
    frame = table()
    wanted = dpmean.mean(frame, seed=1, **SETTINGS)
    for X in [frame, *everywhere(frame, tmp_path)]:
        assert dpmean.mean(X, rho=0.5, bounds=BOUNDS, seed=1).to_json() == wanted.to_json()
    some = {"columns": ["age"], "rho": 0.5, "seed": 1}
    assert dpmean.mean(frame, bounds=BOUNDS, **some).to_json() == dpmean.mean(frame, bounds=(0, 120), **some).to_json()
    with pytest.raises(ArgumentError, match="there is no column 'weight'"):
        dpmean.mean(frame, rho=0.5, bounds={**BOUNDS, "weight": (0, 1)})


def test_a_ledger_must_be_one():
    with pytest.raises(ArgumentTypeError, match=r"ledger must be a dpmean\.Ledger, got 'b\.json'"):
        dpmean.mean(table(), ledger="b.json", **SETTINGS)


@pytest.mark.parametrize(
    "line", ["37.5;170;diabetes", "2024-01-02,37 kg", "1.234.567,-", "age,$5", "a|b,c", "-3e,x", "x,12b"]
)
def test_a_first_line_that_may_be_a_row_is_not_shown(line, tmp_path):
    (tmp_path / "t.csv").write_text(f"{line}\n1,2\n" * 3)
    with pytest.raises(DataError, match=r"the first line of t\.csv|semicolons") as caught:
        dpmean.mean(tmp_path / "t.csv", columns=["age"], rho=0.5, norm_bound=1.0)
    assert not any(part in str(caught.value) for part in ("37", "diabetes", "234", "$5"))


def test_the_promise_of_groups_is_kept_apart_in_a_ledger():
    """Public sizes protect within a group, and refused groups have the unit that was asked for."""
    shared = {**SETTINGS, "rho": 0.1, "by": "clinic"}
    ledger = dpmean.Ledger(rho=1.0)
    dpmean.mean_by(table(), groups=["A"], sizes="public", ledger=ledger, **shared)
    with pytest.raises(ArgumentError, match="replace-one within its clinic"):
        dpmean.mean(table(), ledger=ledger, **{**SETTINGS, "rho": 0.1, **REPLACED})
    ledger = dpmean.Ledger(rho=1.0)
    found = dpmean.mean_by(table(), groups=["x"], privacy_unit="patient", ledger=ledger, **shared)
    assert (found.unit, list(found.refused)) == ("patient", ["x"])
    dpmean.mean_by(table(), groups=["A"], privacy_unit="patient", ledger=ledger, **shared)
    assert len(ledger.entries) == 2


def test_frames_that_cannot_be_read_are_told_so():
    frame = table(200)
    frame["mixed"] = [SECRET, "x"] * 100
    for arguments, error, words in (
        ({}, ArgumentTypeError, "column 'mixed' of the frame holds values of several kinds"),
        ({"columns": ["clinic"]}, ArgumentTypeError, "column 'clinic' must hold real numbers"),
        ({"columns": ["weight"]}, ArgumentError, "there is no column 'weight': the columns are patient, clinic"),
        ({"columns": "weight"}, ArgumentError, "there is no column 'weight': the columns are patient, clinic"),
    ):
        with pytest.raises(error, match=words) as caught:
            dpmean.mean(frame, rho=0.5, norm_bound=1.0, **arguments)
        assert str(SECRET) not in str(caught.value)
    with pytest.raises(DataError, match="two columns of the frame have the same name"):
        dpmean.mean(pd.DataFrame(np.ones((3, 2)), columns=["a", "a"]), rho=0.5, norm_bound=1.0)


def test_devices_may_come_from_a_frame_or_a_file(tmp_path):
    rows = np.random.default_rng(1).normal(5, 1, (20_000, 2))
    frame = pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "c": "x"})
    settings = {"trust": "local", "rho": 2.0, "norm_bound": 30.0, "seed": 1}
    found = dpmean.mean(frame, columns=["a", "b"], **settings)
    assert found.columns == ("a", "b")
    assert_same(found, dpmean.mean(rows, **settings))
    np.save(tmp_path / "rows.npy", rows)
    assert_same(dpmean.mean(tmp_path / "rows.npy", **settings), dpmean.mean(rows, **settings))
    frame.to_parquet(tmp_path / "rows.parquet")
    assert_same(dpmean.mean(tmp_path / "rows.parquet", columns=["a", "b"], **settings), found)
    with pytest.raises(ArgumentTypeError, match="is simulated in memory, got csr_array: load the rows"):
        dpmean.mean(scipy.sparse.csr_array(rows), **settings)


# --- persons ---------------------------------------------------------------------------------------------------------


def test_a_person_is_one_vector_wherever_the_table_is(tmp_path):
    frame = table()
    averages = frame.groupby("patient")[["age", "bmi"]].mean()
    wanted = dpmean.mean(frame, privacy_unit="patient", seed=1, **SETTINGS, **REPLACED)
    assert wanted.n == len(averages)
    assert np.abs(wanted.mean - averages.mean()).max() < 0.3
    assert wanted.settings.privacy_unit == "patient"
    assert f"{len(averages)} persons (patient)" in str(wanted)
    assert "all rows of one patient, replaced by any others (replace-one); the number of persons is public" in " ".join(
        wanted.explain().split()
    )
    for given_as in everywhere(frame, tmp_path):
        found = dpmean.mean(given_as, privacy_unit="patient", seed=1, **SETTINGS, **REPLACED)
        assert found.n == wanted.n
        assert np.abs(found.mean - wanted.mean).max() < 0.3
    array, keys = frame[["age", "bmi"]].to_numpy(), frame["patient"].to_numpy()
    found = dpmean.mean(array, privacy_unit=keys, rho=0.5, bounds=([0, 10], [120, 70]), seed=1, **REPLACED)
    assert found.n == wanted.n
    assert found.settings.privacy_unit == "privacy_unit"


def test_the_column_of_persons_is_no_coordinate():
    frame = table().drop(columns="clinic")
    assert dpmean.mean(frame, privacy_unit="patient", rho=0.5, bounds=BOUNDS, seed=1).columns == ("age", "bmi")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_one_person_changes_one_vector(data):
    """Whatever a person's rows become, and wherever they stand, no other person's vector changes."""
    n = data.draw(st.integers(1, 30))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    persons, rows = rng.integers(0, 6, n), rng.normal(0, 1, (n, 2))
    changed = data.draw(st.integers(0, 5))
    kept = persons != changed
    extra = data.draw(st.integers(0, 8))
    values = data.draw(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=2 * extra, max_size=2 * extra))
    others = np.concatenate([rows[kept], np.reshape(np.array(values, dtype=float), (extra, 2))])
    keys = np.concatenate([persons[kept], np.full(extra, changed)])
    order = rng.permutation(len(keys))
    order = order[np.argsort(np.where(keys[order] == changed, 0, 1), kind="stable")]  # its rows anywhere
    lenient = np.zeros(2, dtype=bool)
    before = average_by_person([rows], persons, 6, 2, lenient)
    where = np.concatenate([np.flatnonzero(keys == changed), np.flatnonzero(keys != changed)])
    after = average_by_person([others[where]], keys[where], 6, 2, lenient)
    same = np.arange(6) != changed
    assert np.array_equal(before[same], after[same], equal_nan=True)


def test_means_of_persons_do_not_depend_on_blocks_and_leave_out_what_is_missing():
    rng = np.random.default_rng(2)
    rows, persons = rng.normal(0, 1, (10_000, 3)), rng.integers(-1, 50, 10_000)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[persons == 7, 1] = np.inf
    lenient = np.zeros(3, dtype=bool)
    whole = average_by_person([rows], persons, 51, 3, lenient)
    parts = average_by_person(np.array_split(rows, 77), persons, 51, 3, lenient)
    assert np.array_equal(whole, parts, equal_nan=True)
    for person in range(50):
        mine = np.where(np.isfinite(rows[persons == person]), rows[persons == person], np.nan)
        for j in range(3):
            finite = mine[:, j][np.isfinite(mine[:, j])]
            assert math.isnan(whole[person, j]) if not len(finite) else math.isclose(whole[person, j], finite.mean())
    assert np.isnan(whole[50]).all()
    with pytest.raises(DataError, match="NaN or infinity"):
        average_by_person([rows], persons, 51, 3, np.array([False, True, False]))


def test_persons_stand_in_an_order_that_nobody_knows():
    """The order of persons is drawn with private noise: every one of all orders equally often."""
    law = Counter(tuple(draw_order(4, seeded(seed), "persons").tolist()) for seed in range(6000))
    assert len(law) == 24
    assert sum((count - 250) ** 2 / 250 for count in law.values()) < 80
    found = people(ArrayTable(np.arange(6.0)[:, None]), [3, 1, 3, 2, 2, 1], lambda _, d: np.ones(d, dtype=bool))
    assert sorted(found.array[:, 0].tolist()) == [1.0, 3.0, 3.5]


def test_missing_keys_are_refused_without_telling_whose():
    frame = table(300).astype({"patient": "object"})
    frame.loc[7, "patient"] = None
    with pytest.raises(DataError, match="'patient' is missing in some rows, so nothing was released"):
        dpmean.mean(frame, privacy_unit="patient", **SETTINGS)
    with pytest.raises(ArgumentError, match="privacy_unit must hold as many keys as X has rows"):
        dpmean.mean(frame[["age"]].to_numpy(dtype=float), privacy_unit=[1, 2, 3], rho=0.5, norm_bound=200.0)
    with pytest.raises(ArgumentError, match="there is no column 'who'"):
        dpmean.mean(frame, privacy_unit="who", **SETTINGS)
    with pytest.raises(ArgumentError, match="X is an array; pass one key per row"):
        dpmean.mean(frame[["age"]].to_numpy(dtype=float), privacy_unit="patient", rho=0.5, norm_bound=200.0)


@pytest.mark.parametrize(
    "keys",
    [
        ["a", "b", "a", None],
        [1.5, 2.5, 1.5, math.nan],
        [1, 2, 1, None],
        [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), datetime.date(2024, 1, 1), None],
    ],
)
def test_keys_of_many_kinds(keys):
    found = Keys.of_column("k", pa.chunked_array([pa.array(keys[:2]), pa.array(keys[2:], pa.array(keys).type)]))
    assert found.codes.tolist() == [0, 1, 0, ABSENT]
    assert found.find_labels([keys[1]]).tolist() == [ABSENT, 0, ABSENT, ABSENT]
    packed = Keys.of_column("k", pa.chunked_array([pa.array(keys[:3]).dictionary_encode()]))
    assert packed.codes.tolist() == [0, 1, 0]
    alone = Keys.of_column("k", pa.chunked_array([pa.array(keys[1:2])]))
    assert alone.encode_key(0) == packed.encode_key(1) != packed.encode_key(0)
    objects = Keys.of_array("k", np.array(keys, dtype=object), 4)
    assert objects.codes.tolist() == [0, 1, 0, ABSENT]


def test_a_person_is_neither_split_nor_joined_by_how_keys_are_written():
    assert Keys.of_column("k", pa.chunked_array([pa.array([0.0, -0.0, 1.0])])).codes.tolist() == [0, 0, 1]
    assert Keys.of_array("k", np.array([0.0, -0.0, 1.0]), 3).codes.tolist() == [0, 0, 1]
    assert Keys.of_array("k", [0.0, -0.0, 0], 3).codes.tolist() == [0, 0, 0]
    for keys, codes in (
        ([2**63, 2**63 + 1, -1], [0, 1, 2]),
        ([1, "1", 2], [0, 0, 1]),  # a reader that makes text of some numbers divides nobody
        (["a", b"a", None], [0, 0, ABSENT]),
    ):
        assert Keys.of_array("k", keys, 3).codes.tolist() == codes
    for odd in ([[1], [2]], [np.ones(2), np.ones(2)], 7):
        with pytest.raises((ArgumentError, ArgumentTypeError)):
            Keys.of_array("k", odd, 2)


def test_how_a_key_is_written_does_not_depend_on_other_keys():
    """One missing key makes floats of whole numbers, one long decimal makes longer ones of all."""

    def first(keys):
        return keys.encode_key(0)

    def column(values, kind=None):
        return Keys.of_column("k", pa.chunked_array([pa.array(values, kind)]))

    kinds = (pa.int64(), pa.int32(), pa.uint64(), pa.float64(), pa.float32())
    assert len({first(column([17, 5], kind)) for kind in kinds}) == 1
    arrays = (np.array([17, 17]), np.array([17.0, np.nan]), pd.Series([17, pd.NA], dtype="Int64"), [17, None])
    assert len({first(Keys.of_array("k", array, 2)) for array in arrays}) == 1
    decimals = [[Decimal("1.5")], [Decimal("1.5"), Decimal("123456789.25")], [Decimal("1.50"), Decimal(3)]]
    assert {first(column(values)) for values in decimals} == {b"n1.5"}
    different = [
        Decimal("15"),
        Decimal("1.5"),
        Decimal("150"),
        Decimal("0.15"),
        Decimal("-1.5"),
        Decimal("0"),
        Decimal("1500.0"),
    ]
    assert len({first(column([value])) for value in different}) == len(different)
    assert len({first(column([value])) for value in (1, 1.5, 2**53, 2**53 + 1, -1)}) == 5


def test_keys_that_python_cannot_hold_are_keys_all_the_same():
    odd = pa.array([b"\xff\xfe", b"ok", b"\xff\xfe"]).view(pa.utf8())
    far = pa.array([2**62, 5, 2**62], pa.timestamp("us"))
    for column, label in ((odd, "ok"), (far, far[1].as_py())):
        keys = Keys.of_column("k", pa.chunked_array([column]))
        assert keys.codes.tolist() == [0, 1, 0]
        assert keys.find_labels([label]).tolist() == [ABSENT, 0, ABSENT]
        assert keys.encode_key(0) != keys.encode_key(1)


def test_a_persons_values_may_add_up_to_more_than_a_float_can_hold():
    found = average_by_person([np.full((4, 1), 1.7e308)], np.zeros(4, dtype=np.int64), 1, 1, np.ones(1, dtype=bool))
    assert np.isfinite(found).all()


# --- groups ----------------------------------------------------------------------------------------------------------

LISTED = ["A", "B", "tiny", "nobody"]


def by_clinic(frame, **more):
    return dpmean.mean_by(frame, by="clinic", groups=LISTED, **{**SETTINGS, "seed": 1, **more})


@pytest.mark.parametrize("sizes", ["private", "public"])
@pytest.mark.parametrize("unit", [None, "patient"])
def test_every_group_gets_a_mean_or_a_reason(sizes, unit, tmp_path):
    frame = table()
    found = by_clinic(frame, sizes=sizes, privacy_unit=unit)
    assert list(found) == LISTED
    assert set(found.released) == {"A", "B"}
    assert all(isinstance(found[label], Refusal) for label in ("tiny", "nobody"))
    assert found.by == "clinic"
    for label in ("A", "B"):
        true = frame.loc[frame.clinic == label, ["age", "bmi"]].mean()
        assert np.abs(found[label].mean - true).max() < 1.5
    if sizes == "public" and unit is None:
        assert found["A"].n == (frame.clinic == "A").sum()
        assert found.refused["nobody"] == "it has no rows"
    assert found.rho == Fraction(1, 2)
    assert max(entry.rho for entry in found.values()) == Fraction(1, 2)
    wanted = "add-or-remove-one" if sizes == "private" else "replace-one"
    assert found.neighbours == wanted
    assert "unlisted" not in str(found) + found.to_json() + repr(found)
    frame.to_parquet(tmp_path / "t.parquet")
    again = by_clinic(tmp_path / "t.parquet", sizes=sizes, privacy_unit=unit)
    if unit is None:
        assert again.to_json() == found.to_json()


def test_unlisted_groups_leave_no_trace():
    """The same release with and without them, whatever they hold."""
    frame = table()
    listed = frame[frame.clinic != "unlisted"]
    odd = frame.copy()
    odd.loc[odd.clinic == "unlisted", "age"] = np.inf
    assert by_clinic(frame).to_json() == by_clinic(odd).to_json() == by_clinic(listed).to_json()

    def vectors(frame):
        table = FrameTable.open(frame, ["age", "bmi"], None, ["clinic", "patient"])
        _, found = groups(table, "clinic", LISTED, "patient", lambda _, d: np.ones(d, dtype=bool), "salt")
        return [Counter(map(tuple, source.array[source.positions].tolist())) for source in found]

    assert vectors(frame) == vectors(odd) == vectors(listed)


def test_a_replaced_row_may_move_so_every_group_gets_a_quarter():
    found = by_clinic(table(), neighbours="replace-one")
    assert found.neighbours is Neighbours.REPLACE_ONE
    assert all(release.rho == Fraction(1, 8) for release in found.released.values())
    assert all(release.neighbours is Neighbours.ADD_OR_REMOVE_ONE for release in found.released.values())
    assert found.rho == Fraction(1, 2)
    assert "what any one row contributed, and in which group" in " ".join(str(found).split())


def test_groups_have_noise_of_their_own():
    frame = table()
    frame["clinic"] = np.where(np.arange(len(frame)) % 2, "A", "B")
    frame[["age", "bmi"]] = frame[["age", "bmi"]].iloc[np.repeat(np.arange(len(frame) // 2), 2)].to_numpy()
    found = dpmean.mean_by(frame, by="clinic", groups=["A", "B"], sizes="public", seed=1, **SETTINGS)
    assert found["A"].n == found["B"].n
    assert not np.any(found["A"].mean == found["B"].mean)


def test_a_person_counts_in_one_group_that_a_hash_of_the_key_chooses():
    def one_group_each(keys, places, labels, salt):
        who, where = choose_groups(keys, places, labels, salt)
        chosen = np.full(len(keys.values), ABSENT)
        chosen[who] = where
        return chosen

    rng = np.random.default_rng(5)
    keys = Keys.of_array("who", rng.integers(0, 400, 5000), 5000)
    places = rng.integers(-1, 3, 5000)
    chosen = one_group_each(keys, places, ["a", "b", "c"], "salt")
    for person in range(len(keys.values)):
        mine = set(places[keys.codes == person].tolist()) - {ABSENT}
        assert chosen[person] in mine if mine else chosen[person] == ABSENT
    counts = Counter(chosen.tolist())
    assert all(abs(counts[place] - 400 / 3) < 55 for place in range(3))
    assert not np.array_equal(chosen, one_group_each(keys, places, ["a", "b", "c"], "pepper"))
    # others' rows do not matter
    some = keys.codes < 100
    fewer = Keys("who", keys.codes[some], keys.values)
    assert np.array_equal(chosen[:100], one_group_each(fewer, places[some], ["a", "b", "c"], "salt")[:100])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_one_person_changes_one_group_by_one_vector(data):
    n = 40
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    persons, labels, rows = rng.integers(0, 12, n), rng.integers(0, 4, n), rng.normal(0, 1, (n, 2))
    gone = data.draw(st.integers(0, 11))
    kept = persons != gone
    lenient = lambda _, d: np.zeros(d, dtype=bool)  # noqa: E731  as a request gives it

    def vectors(persons, labels, rows):
        _, found = groups(ArrayTable(rows), labels, [0, 1, 2], persons, lenient, "salt")
        return [Counter(map(tuple, source.array[source.positions].tolist())) for source in found]

    before, after = vectors(persons, labels, rows), vectors(persons[kept], labels[kept], rows[kept])
    assert sum((one - two).total() for one, two in zip(before, after, strict=True)) <= 1
    assert all(not two - one for one, two in zip(before, after, strict=True))


def test_only_rows_in_the_chosen_group_enter_a_persons_mean():
    """A person with rows in several groups: those in the others are left out, whichever of them was chosen."""
    persons, labels = np.repeat(np.arange(200), 3), np.tile([0, 1, 2], 200)
    rows = labels[:, None].astype(float)
    _, found = groups(ArrayTable(rows), labels, [0, 1, 2], persons, lambda _, d: np.ones(d, dtype=bool), "salt")
    for place, source in enumerate(found):
        assert len(source.positions) > 30
        assert np.all(source.array[source.positions] == place)
    assert sum(len(source.positions) for source in found) == 200


def test_missing_keys_in_listed_groups_are_refused():
    frame = table().astype({"patient": "object"})
    frame.loc[frame.clinic == "tiny", "patient"] = None
    with pytest.raises(DataError, match="'patient' is missing"):
        by_clinic(frame, privacy_unit="patient")
    with pytest.raises(DataError, match="'privacy_unit' is missing"):
        dpmean.mean_by(np.ones((3, 1)), by=[0, 0, 1], groups=[0], privacy_unit=[1, None, None], rho=0.5, norm_bound=1.0)


def test_empty_arrays_have_private_sizes_too():
    nobody, settings = np.empty((0, 2)), {"by": [], "groups": ["a"], "rho": 0.5, "norm_bound": 1.0}
    for unit in (None, []):
        assert "about" in dpmean.mean_by(nobody, privacy_unit=unit, **settings).refused["a"]
    with pytest.raises(DataError, match="X is empty"):
        dpmean.mean_by(nobody, sizes="public", **settings)
    assert not GroupedRelease("by", {}, "public", Neighbours.REPLACE_ONE).seeded


def test_equal_words_are_drawn_again():
    class Ties:
        """Words of which two are equal, at first."""

        def at(self, step):
            return type(self)() if "try" not in step else seeded(1).at(step)

        def words(self, count):
            return np.array([5, 7, 7, *list(range(10, 10 + count - 3))], dtype=np.uint64)

    assert np.array_equal(draw_order(6, Ties(), "order"), draw_order(6, Again(), "order"))


class Again:
    """What comes after a tie."""

    def at(self, step):
        return seeded(1).at(f"{step}, try 1")


def test_nothing_in_unlisted_groups_is_an_error():
    frame = table().astype({"patient": "object"})
    frame.loc[frame.clinic == "unlisted", "patient"] = None
    assert by_clinic(frame, privacy_unit="patient").released
    frame["v"] = [[1.0, 2.0]] * len(frame)
    frame.loc[frame.clinic == "unlisted", "v"] = None
    settings = {"vector_column": "v", "rho": 0.5, "norm_bound": 9.0, "seed": 1}
    assert dpmean.mean_by(frame, by="clinic", groups=LISTED, **settings).released


def test_vectors_of_which_none_is_listed_have_private_sizes_too():
    frame = pd.DataFrame({"v": [[1.0, 2.0]] * 50, "clinic": "unlisted"})
    settings = {"by": "clinic", "vector_column": "v", "rho": 0.5, "bounds": ([0.0, 0.0], [9.0, 9.0])}
    assert "about" in dpmean.mean_by(frame, groups=["A"], **settings).refused["A"]


def test_all_groups_may_be_refused(tmp_path):
    ledger = dpmean.Ledger(rho=1.0)
    settings = {**SETTINGS, "by": "clinic", "groups": ["x", "y"], "sizes": "public", "ledger": ledger}
    found = dpmean.mean_by(table(), **settings)
    assert found.rho == 0
    assert found.epsilon(1e-6) == 0
    assert ledger.spent == 0
    assert GroupedRelease.from_json(found.to_json()).refused == {"x": "it has no rows", "y": "it has no rows"}
    words = " ".join(str(found).split())
    assert "2 groups by clinic: all were refused" in words
    assert "refused both groups were refused: each has no rows; check the labels, which must match exactly" in words
    assert found.method == "none: 2 groups, all refused"
    frame = found.to_frame()
    assert frame["clinic"].tolist() == ["x", "y"]
    assert frame["column"].tolist() == ["", ""]
    assert frame[["mean", "lower", "upper", "n"]].isna().all(axis=None)
    assert set(frame["refused"]) == {"it has no rows"}
    assert found.labels == ()
    assert found.means.shape == (0, 0)
    with pytest.raises(
        ArgumentError, match=r"there is nothing to report.*: both groups were refused.*check the labels"
    ):
        dpmean.report(found, tmp_path / "none.html")


def test_groups_that_are_refused_at_a_price_say_how_many_why_and_what_to_do(tmp_path):
    frame = table(60)
    given = {**SETTINGS, "by": "clinic", "rho": 0.1, "ledger": dpmean.Ledger(rho=1.0)}
    found = dpmean.mean_by(frame, groups=["A", "B", "x"], **given)
    needed = found["A"].rows_needed
    why = f"all 3 groups were refused: each has too few rows (at least {needed} are needed)"
    cure = "join small groups, or give a larger budget, or allow_few_rows=True for a mean whose error is not known"
    page = dpmean.report(found, tmp_path / "page.html").read_text()
    assert f"{why[0].upper()}{why[1:]}." in page
    assert f"refused {why}; check the labels" in " ".join(str(found).split())
    assert cure in " ".join(str(found).split())
    assert cure not in " ".join(page.split())  # that is for whoever has the rows
    assert "none: 3 groups, all refused" in str(given["ledger"])
    frame = found.to_frame()
    assert frame["refused"].tolist() == list(found.refused.values())
    one = dpmean.mean_by(table(60), groups=["x"], **given)
    assert one.why_refused()[0].startswith("the only group was refused: it has too few rows")


def test_means_and_labels_of_released_groups_go_together():
    found = by_clinic(table())
    assert found.refused
    assert found.labels == tuple(found.released)
    assert found.means.shape == (len(found.labels), 2)
    for label, row in zip(found.labels, found.means, strict=True):
        assert row.tolist() == found[label].mean.tolist()
    found.means[:] = 0  # a copy: the release stays what it is
    assert (found.means != 0).all()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_have_the_same_columns_whatever_happened(library):
    frame, given = table(), {"by": "clinic", "sizes": "public", "rho": 0.5, "norm_bound": 300.0, "seed": 1}
    frame = frame[["clinic", "age", "bmi"]]
    cases = [
        dpmean.mean_by(frame, groups=["A", "B"], **given),
        dpmean.mean_by(frame, groups=["A", "x"], population=True, count_values=True, **given),
        dpmean.mean_by(frame[:60], groups=["A", "B"], allow_few_rows=True, **given),
        dpmean.mean_by(frame, groups=["x", "y"], **given),
    ]
    frames = [found.to_frame(library) for found in cases]
    heads = [list(found.column_names if library == "pyarrow" else found.columns) for found in frames]
    assert all(head == heads[0] for head in heads)
    as_lists = {
        "pandas": lambda found: found.to_dict("list"),
        "polars": lambda found: found.to_dict(as_series=False),
        "pyarrow": lambda found: found.to_pydict(),
    }
    kept = [as_lists[library](found) for found in frames]
    assert kept[1]["clinic"] == ["A", "A", "x", "x"]
    assert kept[1]["column"] == ["age", "bmi"] * 2
    assert [math.isnan(value) for value in kept[1]["mean"]] == [False, False, True, True]
    assert [bool(reason) for reason in kept[1]["refused"]] == [False, False, True, True]
    assert kept[1]["values"][:2] == list(cases[1]["A"].value_counts.counts)
    assert kept[0]["n"] == [cases[0]["A"].n] * 2 + [cases[0]["B"].n] * 2
    assert all(map(math.isnan, [*kept[2]["lower"], *kept[2]["scale"]]))
    assert not any(map(math.isnan, kept[2]["mean"]))


def test_columns_and_labels_that_are_given_twice_are_refused(tmp_path):
    frame = table()
    for X in [frame, *everywhere(frame, tmp_path)]:
        with pytest.raises(ArgumentError, match="has the same name twice"):
            dpmean.mean(X, rho=0.5, norm_bound=300.0, columns=["age", "age", "bmi"])
    frame["clinic"] = np.arange(len(frame)) % 2
    for by in ("clinic", frame["clinic"].to_numpy().astype(str)):
        with pytest.raises(ArgumentError, match="a label is listed twice"):
            dpmean.mean_by(frame, by=by, groups=[0, "0"], **SETTINGS)


def test_labels_of_numpy_survive():
    frame = table()
    frame["mean"] = np.arange(len(frame)) % 2
    found = dpmean.mean_by(frame, by="mean", groups=np.array([0, 1]), seed=1, **SETTINGS)
    assert list(GroupedRelease.from_json(found.to_json())) == [0, 1]
    assert next(iter(found.to_frame().columns)) == "mean (group)"
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")[np.arange(len(frame)) % 2]
    rows = frame[["age", "bmi"]].to_numpy()
    for labels in (days[:2], ["2024-01-01", "2024-01-02"]):
        found = dpmean.mean_by(rows, by=days, groups=list(labels), rho=0.5, norm_bound=300.0, seed=1)
        assert len(found.released) == 2


def test_labels_name_the_keys_that_are_written_like_them():
    frame = table()
    frame["clinic"] = np.arange(len(frame)) % 2
    for labels in ([0, 1], ["0", "1"], [0.0, 1.0]):
        found = dpmean.mean_by(frame, by="clinic", groups=labels, seed=1, **SETTINGS)
        assert len(found.released) == 2
    found = dpmean.mean_by(frame, by="clinic", groups=["north", 0.5], seed=1, **SETTINGS)
    assert set(found.refused) == {"north", 0.5}
    found = dpmean.mean_by(
        frame[["age", "bmi"]].to_numpy(), by=np.arange(len(frame)) % 2, groups=[0, 1], rho=0.5, norm_bound=200.0, seed=1
    )
    assert len(found.released) == 2


def told(call, *arguments, **named):
    """Return what an error says that keeps no other."""
    with pytest.raises((ArgumentError, ArgumentTypeError, DataError)) as caught:
        call(*arguments, **named)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


def test_what_errors_call_a_column_does_not_depend_on_single_rows():
    settings = {"rho": 0.5, "norm_bound": 9.0}
    for values, words in (
        ([["a"] * 50, ["a"] * 49 + ["b" * 100]], "text"),
        ([[datetime.date(2024, 1, 1)] * 50, [datetime.datetime(2024, 1, 1, 5)] * 50], "dates"),
    ):
        for column in values:
            frame = pd.DataFrame({"x": 1.0, "g": column})
            said = told(dpmean.mean, frame, columns=["g"], **settings)
            assert f"column 'g' must hold real numbers, got {words}:" in said
    for column, words in (
        (pa.array([[1.0]]), "lists"),
        (pa.array([{"secret": 1}]), "records"),
    ):
        frame = pa.table({"x": [1.0], "g": column})
        said = told(dpmean.mean_by, frame, by="g", groups=["a"], columns=["x"], **settings)
        assert said.startswith("column 'g' must hold numbers, text, bytes, dates")
        assert said.endswith(f"as keys, got {words}: convert other keys to text")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (pa.bool_(), "truth values"),
        (pa.uint8(), "numbers"),
        (pa.float32(), "numbers"),
        (pa.string(), "text"),
        (pa.large_string(), "text"),
        (pa.string_view(), "text"),
        (pa.dictionary(pa.int32(), pa.string()), "text"),
        (pa.decimal256(50, 3), "numbers"),
        (pa.date32(), "dates"),
        (pa.timestamp("ns", "UTC"), "dates"),
        (pa.duration("s"), "durations"),
        (pa.month_day_nano_interval(), "durations"),
        (pa.list_(pa.int64(), 3), "lists"),
        (pa.large_list(pa.string()), "lists"),
        (pa.struct({"secret": pa.int8()}), "records"),
        (pa.binary(17), "something else"),
    ],
)
def test_types_in_words(kind, words):
    assert describe_type(kind) == words


def test_errors_do_not_count_rows():
    rows, private = np.ones((31415, 2)), {"rho": 0.5, "norm_bound": 9.0, "neighbours": "add-or-remove-one"}
    for keys in (np.arange(31416), list(range(31414)), np.ones((31415, 2))):
        words = "must hold as many keys as X has rows, in one dimension: give one key per row"
        assert told(dpmean.mean, rows, privacy_unit=keys, **private) == f"privacy_unit {words}"
        assert told(dpmean.mean_by, rows, by=keys, groups=[1], rho=0.5, norm_bound=9.0) == (
            f"by {words}, or the name of a column; for groups by several columns, list tuples in groups"
        )
    for X in ([*rows.tolist(), [1.0]], np.ones((31415, 0)), np.ones((31415, 2, 2))):
        assert "3141" not in told(dpmean.mean, X, **private)


def test_missing_labels_of_any_kind_are_groups_that_are_not_listed(tmp_path):
    frame = table()
    rows, labels = frame[["age", "bmi"]].to_numpy(), frame["clinic"].astype(object)
    settings = {"groups": ["A", "B"], "rho": 0.5, "norm_bound": 300.0, "seed": 1}
    wanted = dpmean.mean_by(rows, by=labels, **settings).to_json()
    missing = labels.copy()
    missing[labels == "unlisted"] = pd.NA
    for by in (missing, missing.astype("string"), missing.tolist(), missing.where(missing.notna(), None)):
        assert dpmean.mean_by(rows, by=by, **settings).to_json() == wanted
    numbers = labels.map({"A": 0, "B": 1}).astype("Int64")
    assert len(dpmean.mean_by(rows, by=numbers, **settings | {"groups": [0, 1]}).released) == 2
    with pytest.raises(DataError, match="'privacy_unit' is missing in some rows"):
        dpmean.mean(rows, privacy_unit=missing, rho=0.5, norm_bound=300.0)
    # a file in which all labels are missing has a type of its own
    for part in ("A", "B", "unlisted"):
        lines = frame[labels == part].assign(clinic=None if part == "unlisted" else part)
        lines.to_parquet(tmp_path / f"{part}.parquet")
    assert parquet.read_schema(tmp_path / "unlisted.parquet").field("clinic").type == pa.null()
    line = {"by": "clinic", "columns": ["age", "bmi"], **settings}
    assert len(dpmean.mean_by(tmp_path, **line).released) == 2
    for everybody in (tmp_path / "unlisted.parquet", lines):
        assert "about" in dpmean.mean_by(everybody, **line).refused["A"]


def test_a_grouped_release_survives_json():
    found = by_clinic(table(), privacy_unit="patient")
    again = GroupedRelease.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    assert again.rho == found.rho
    assert again.seeded
    assert str(again) == str(found)
    columns = ["clinic", "column", *(statistic.name for statistic in STATISTICS), "n", "refused"]
    assert list(again.to_frame().columns) == columns
    assert len(again.to_frame()) == 2 * len(LISTED)
    document = json.loads(found.to_json())
    for damage in ({"rho": "1/3"}, {"sizes": "huge"}, {"format": "other"}, {"groups": 5}):
        with pytest.raises(ArgumentError, match="not a release in the format"):
            GroupedRelease.from_json(json.dumps({**document, **damage}))


def test_what_is_asked_of_groups_is_checked():
    frame = table(500)
    for more, words in (
        ({"groups": "AB"}, "groups must be a list of labels"),
        ({"groups": []}, "groups is empty"),
        ({"groups": ["A", "A"]}, "a label is listed twice"),
        ({"sizes": "secret"}, 'sizes must be "private" or "public"'),
        ({"sizes": "public", "neighbours": "add-or-remove-one"}, 'give neighbours="replace-one"'),
        ({"by": "ward"}, "there is no column 'ward'"),
        ({"method": "best"}, "method must be one of"),
    ):
        with pytest.raises(ArgumentError, match=words):
            dpmean.mean_by(frame, **{"by": "clinic", "groups": LISTED, **SETTINGS, **more})


def test_a_grouped_release_is_paid_for_once():
    ledger = dpmean.Ledger(rho=1.0)
    dpmean.mean_by(table(), by="clinic", groups=LISTED, ledger=ledger, **SETTINGS)
    assert ledger.left == Fraction(1, 2)
    with pytest.raises(ArgumentError, match="seed"):
        dpmean.mean_by(table(), by="clinic", groups=LISTED, ledger=ledger, seed=1, **SETTINGS)
    with pytest.raises(
        ArgumentError, match=r"protects rows \(replace-one\); earlier .* protect rows \(add-or-remove-one\)"
    ):
        dpmean.mean(table(), ledger=ledger, **SETTINGS, **REPLACED)
    dpmean.mean(table(), ledger=ledger, **SETTINGS)
    with pytest.raises(dpmean.OverspendError, match="left"):
        dpmean.mean(table(), ledger=ledger, **SETTINGS)
    assert ledger.left == 0


def test_groups_as_a_frame_name_their_columns_or_number_them():
    rows, labels = np.random.default_rng(0).normal(5, 1, (4000, 2)), np.repeat(["a", "b"], 2000)
    asked = {"by": labels, "groups": ["a", "b"], "rho": 0.5, "bounds": (0, 10), "seed": 1}
    frame = dpmean.mean_by(rows, **asked).to_frame()
    assert frame["column"].tolist() == ["column 0", "column 1"] * 2
    named = dpmean.mean_by(pd.DataFrame(rows, columns=["height", "weight"]), **asked).to_frame()
    assert named["column"].tolist() == ["height", "weight"] * 2
    assert named["mean"].tolist() == frame["mean"].tolist()


def test_what_a_grouped_release_says_if_nobody_says_otherwise():
    refusal = Refusal("it has no rows")
    assert (refusal.rows_needed, refusal.rho) == (1, 0)
    release = GroupedRelease("ward", {"a": refusal}, "public", Neighbours.REPLACE_ONE)
    assert (release.delta, release.seeded, release.unit) == (1e-6, False, None)


def test_groups_may_be_listed_by_the_names_of_classes():
    datasets = pytest.importorskip("datasets")
    kinds = datasets.Features({"x": datasets.Value("float64"), "kind": datasets.ClassLabel(names=["cat", "dog"])})
    values = np.random.default_rng(0).normal(5, 1, 2000).tolist()
    data = datasets.Dataset.from_dict({"x": values, "kind": [0] * 1200 + [1] * 800}, features=kinds)
    asked = {"by": "kind", "columns": ["x"], "bounds": (0, 10), "rho": 1, "seed": 1}
    found = dpmean.mean_by(data, groups=["dog", "cat"], **asked)
    assert found.labels == ("dog", "cat")
    assert abs(found["dog"].n - 800) < 20
    assert dpmean.mean_by(data, groups=[0, 1], **asked).labels == (0, 1)
    ledger = dpmean.Ledger(rho=3)
    del asked["seed"]
    for listed, words in (
        (["cat", "Dog"], "not a class of column 'kind': the classes are cat, dog"),
        (["cat", 0], "twice"),
    ):
        with pytest.raises(ArgumentError, match=words):
            dpmean.mean_by(data, groups=listed, ledger=ledger, **asked)
    assert not ledger.entries


def test_tensors_and_loaders_are_refused_with_the_cure():
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader, TensorDataset

    rows = torch.zeros(50, 2)
    with pytest.raises(ArgumentTypeError, match=r"give groups\.tolist\(\)"):
        dpmean.mean_by(rows, by=torch.arange(50) % 5, groups=torch.arange(5), rho=0.5, norm_bound=1.0)
    for other in (TensorDataset(rows), DataLoader(TensorDataset(rows))):
        with pytest.raises(ArgumentTypeError, match=r"dataset\.tensors\[0\]"):
            dpmean.mean(other, rho=0.5, norm_bound=1.0)

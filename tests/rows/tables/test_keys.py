"""Keys: what one of them is changes nothing for the others, whatever they are stored in."""

import datetime
import enum
import math
import uuid
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.tables.contributions import choose_groups
from dpmean.rows.tables.dataframes import FrameTable
from dpmean.rows.tables.key_encoding import MISSING, encode
from dpmean.rows.tables.keyed_table import ArrayTable, people
from dpmean.rows.tables.keys import ABSENT, Keys


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    ONE = 1


DAY, NOON = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)
SUMMER = datetime.datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
UNIQUE = uuid.UUID(int=5)

SAME = [
    [1, 1.0, True, np.int8(1), np.uint64(1), np.float32(1), np.True_, Decimal("1.00"), Level.ONE, pa.scalar(1)],
    [0, -0.0, 0.0, False, Decimal("-0"), Decimal("0E+9"), np.float64(-0.0), pa.scalar(-0.0)],
    [2**53 + 1, Decimal(2**53 + 1), pa.scalar(2**53 + 1)],
    [2**53, np.uint64(2**53)],
    [10**30, Decimal("1E+30")],
    [0.1, np.float64(0.1), Decimal.from_float(0.1), pa.scalar(0.1)],
    [Decimal("0.1"), Decimal("0.10"), pa.scalar(Decimal("0.100"))],
    [np.float32(0.1)],
    [1.5, Decimal("1.50"), np.float16(1.5)],
    [-1],
    [math.inf, Decimal("inf")],
    ["1", np.str_("1"), pa.scalar("1"), pa.scalar("1", pa.large_string()), pa.scalar("1", pa.string_view())],
    [b"1", np.bytes_(b"1"), pa.scalar(b"1"), pa.scalar(b"1", pa.binary(1))],
    ["\udcff"],
    [b"\xff"],
    [pa.array([b"\xff"]).view(pa.string())[0]],
    [""],
    [UNIQUE, pa.array([UNIQUE.bytes], pa.uuid())[0]],
    [str(UNIQUE)],
    [Colour.RED],
    [
        DAY,
        datetime.datetime(2024, 1, 1),
        pd.Timestamp(DAY),
        np.datetime64("2024-01-01"),
        np.datetime64("2024", "Y"),
        np.datetime64("2024-01-01T00", "ns"),
        pa.scalar(DAY),
        pa.scalar(DAY, pa.date64()),
        pa.scalar(datetime.datetime(2024, 1, 1), pa.timestamp("s")),
    ],
    [NOON, pd.Timestamp(NOON), np.datetime64(NOON), pa.scalar(NOON, pa.timestamp("ms"))],
    [
        SUMMER,
        SUMMER.astimezone(datetime.UTC),
        pd.Timestamp(SUMMER).tz_convert("Asia/Tokyo"),
        pa.scalar(SUMMER, pa.timestamp("s", "America/Lima")),
    ],
    [pd.Timestamp(NOON) + pd.Timedelta(1, "ns"), np.datetime64(NOON, "ns") + np.timedelta64(1, "ns")],
    [np.datetime64(2**62, "us"), pa.array([2**62], pa.timestamp("us"))[0]],
    [np.datetime64(2**62, "Y")],
    [np.datetime64(-(2**62), "D")],
    [datetime.time(12), pa.scalar(datetime.time(12))],
    [datetime.time(12, 0, 0, 1), pa.scalar(datetime.time(12, 0, 0, 1))],
    [datetime.time(12, tzinfo=datetime.UTC), datetime.time(14, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))],
    [
        datetime.timedelta(seconds=1.5),
        pd.Timedelta("1.5s"),
        np.timedelta64(1500, "ms"),
        pa.scalar(datetime.timedelta(seconds=1.5)),
    ],
    [datetime.timedelta(seconds=-1.5)],
    [np.timedelta64(1, "Y"), np.timedelta64(12, "M")],
]


def test_equal_keys_have_equal_bytes_and_different_ones_have_not():
    written = [{encode(key, "k") for key in keys} for keys in SAME]
    assert [len(found) for found in written] == [1] * len(SAME)
    assert len(set.union(*written)) == len(SAME)
    assert MISSING not in set.union(*written)


def test_dates_are_written_as_numpy_does():
    for day in np.random.default_rng(0).integers(-700_000, 2_900_000, 500).tolist():
        found = encode(np.datetime64(day, "D"), "k")
        assert found[1:].decode() == str(np.datetime64(day, "D"))
        month = np.datetime64(day, "D").astype("M8[M]")
        assert encode(month, "k") == encode(month.astype("M8[D]"), "k")


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [
        ("as", "0.000000000000000007"),
        ("fs", "0.000000000000007"),
        ("ps", "0.000000000007"),
        ("ns", "0.000000007"),
        ("us", "0.000007"),
        ("ms", "0.007"),
        ("s", "7"),
        ("m", "420"),
        ("h", "25200"),
        ("D", "604800"),
        ("W", "4233600"),
    ],
)
def test_every_unit_of_time_is_as_long_as_it_is(unit, seconds):
    assert encode(np.timedelta64(7, unit), "k") == f"s{seconds}s".encode()
    assert encode(np.timedelta64(-7, unit), "k") == f"s-{seconds}s".encode()


def test_times_are_written_to_their_last_digit():
    assert encode(datetime.time(1, 2, 3), "k") == b"c01:02:03"
    assert encode(datetime.time(1, 2, 3, 500_000), "k") == b"c01:02:03.5"
    assert encode(datetime.time(23, 59, 59, 1), "k") == b"c23:59:59.000001"
    assert encode(datetime.datetime(2024, 2, 29, 1, 2, 3, 4), "k") == b"T2024-02-29T01:02:03.000004"
    assert encode(datetime.timedelta(days=2, seconds=3, microseconds=4), "k") == b"s172803.000004s"


def test_numbers_may_have_as_many_digits_as_python_writes():
    for most in (10**4300 - 1, -(10**4300) + 1):
        assert encode(most, "k") == b"n%d" % most
    assert encode(Decimal("1E+4299"), "k") == b"n1" + b"0" * 4299
    for beyond in (10**4300, -(10**4300), Decimal("1E+4300")):
        with pytest.raises(ArgumentTypeError, match="k must hold numbers"):
            encode(beyond, "k")


def test_each_type_of_float_has_a_largest_exact_integer_of_its_own():
    for kind, digits in ((np.float16, 11), (np.float32, 24), (np.float64, 53), (float, 53), (np.longdouble, 53)):
        assert encode(kind(2**digits - 1), "k") == b"n%d" % (2**digits - 1)
        with pytest.raises(DataError, match=rf"floats of 2\^{digits} or more"):
            encode(kind(2**digits), "k")


def test_text_of_arrow_is_its_bytes_even_if_it_is_not_utf_8():
    for kind, binary in ((pa.string(), pa.binary()), (pa.large_string(), pa.large_binary())):
        assert encode(pa.array([b"\xff"], binary).view(kind)[0], "k") == b"t\xff"


class Validated:
    is_valid = True


def test_missing_keys_of_all_kinds():
    nothing = [None, math.nan, np.float32("nan"), Decimal("nan"), Decimal("snan"), pd.NA, pd.NaT, pa.scalar(None)]
    nothing += [np.datetime64("NaT"), np.timedelta64("NaT", "s"), pa.scalar(None, pa.int64())]
    assert {encode(key, "k") for key in nothing} == {MISSING}
    assert set(Keys.of_array("k", nothing, len(nothing)).codes.tolist()) == {ABSENT}


@pytest.mark.parametrize(
    "odd",
    [
        [1],
        (1, 2),
        {},
        np.ones(2),
        1j,
        object(),
        pd.Period("2024-01"),
        pd.Interval(0, 1),
        pa.scalar([1]),
        pa.scalar({"a": 1}),
        10**5000,
        Decimal("1E+999999"),
        Decimal("1E-999999"),
        np.timedelta64(5),
        np.array([5]).view("M8")[0],
        Validated(),
        np.nextafter(np.longdouble(1), 2),
    ],
    ids=lambda odd: type(odd).__name__,
)
def test_what_is_no_key_is_refused(odd):
    for keys in ([odd, 1], ["a", odd]):
        with pytest.raises(ArgumentTypeError, match=r"^privacy_unit must hold numbers, text, bytes, dates") as caught:
            dpmean.mean(np.ones((2, 1)), privacy_unit=keys, rho=0.5, norm_bound=1.0)
        assert caught.value.__context__ is None


def test_containers_that_hold_no_keys_are_refused():
    for keys in (
        np.ma.masked_equal([1, 2], 1),
        np.array([1j, 2]),
        pa.array([[1], [2]]),
        pa.array([{"a": 1}] * 2),
        pa.array([pd.DateOffset(days=1)] * 2, pa.month_day_nano_interval()),
        pa.array(pd.period_range("2024-01", periods=2, freq="M")),
        pa.array(pd.interval_range(0, 2)),
    ):
        with pytest.raises(ArgumentTypeError, match="must hold numbers, text, bytes, dates"):
            Keys.of_array("k", keys, 2)
    for frame in (pl.DataFrame({"k": [1, 2]}), pd.DataFrame({"k": [1, 2]})):
        with pytest.raises((ArgumentError, ArgumentTypeError)):
            Keys.of_array("k", frame, 2)


# --- one key changes no other ----------------------------------------------------------------------------------------


def read(stored):
    """Read the column of a frame as a table is read, and anything else as it is given."""
    if hasattr(stored, "columns"):
        return FrameTable.open(stored, ["x"], None, ["k"]).keys("k")
    return Keys.of_array("k", stored, len(stored))


def pandas(keys, **how):
    return pd.DataFrame({"k": pd.Series(keys, **how), "x": 1.0})


def polars(keys, **how):
    return pl.DataFrame({"k": pl.Series(keys, **how), "x": [1.0] * len(keys)})


def arrow(keys):
    return pa.table({"k": keys, "x": np.ones(len(keys))})


TEXT = ["a", "b", "c", "1", "2024-01-01"]
INTEGERS = [0, 1, 2, 7, -1, 2**53, 2**53 + 1]
FLOATS = [0.0, 1.0, 1.5, -2.25]
DECIMALS = [Decimal("0.1"), Decimal("1.5"), Decimal("1.50"), Decimal(2), Decimal("123456789.25")]
TIMES = [datetime.datetime(2024, 1, day, hour) for day in (1, 2) for hour in (0, 5)]
BASES = [TEXT, INTEGERS, FLOATS, DECIMALS, TIMES, [DAY, datetime.date(2024, 1, 2)], [True, False]]
ODD = [key for keys in SAME for key in keys if not isinstance(key, pa.Scalar)]
ODD += [None, math.nan, pd.NA, pd.NaT, 2.0**53, -(2.0**60), 1e300, [1], (1, 2), object(), b"a", "\udcff", *TEXT]
TIMELESS = [key for key in ODD if not isinstance(key, datetime.date | datetime.time | datetime.timedelta)]
TIMELESS = [key for key in TIMELESS if not isinstance(key, np.datetime64 | np.timedelta64)]
"""Beside one of the others, pyarrow takes integers for times."""
NUMBERS = [*INTEGERS, *FLOATS, None, math.nan, -0.0, 2.0**53, 1e300]
PLAIN = [*NUMBERS, *DECIMALS, *TEXT, b"a", True, DAY, NOON]
"""Of the odder ones some are too much for polars."""

CONTAINERS = {  # how keys are stored, which ones, and which one may take the place of any
    "list": (list, BASES, ODD),
    "numpy objects": (lambda keys: pd.Series(keys, dtype=object).to_numpy(), BASES, ODD),
    "numpy floats": (lambda keys: np.array(keys, dtype=float), [FLOATS, INTEGERS[:5]], NUMBERS),
    "numpy text": (lambda keys: np.array(keys, dtype=str), [TEXT], [*TEXT, "longer than all others"]),
    "pandas, as it likes": (pandas, BASES, ODD),
    "pandas object": (lambda keys: pandas(keys, dtype=object), BASES, ODD),
    "pandas Int64": (lambda keys: pandas(keys, dtype="Int64"), [INTEGERS], [*INTEGERS, None, 9]),
    "pandas string": (lambda keys: pandas(keys, dtype="string"), [TEXT], [*TEXT, pd.NA, "z"]),
    "pandas category": (lambda keys: pandas(pd.Series(keys, dtype=object).astype("category")), BASES, ODD),
    "pandas datetime": (lambda keys: pandas(pd.to_datetime(pd.Series(keys))), [TIMES], [*TIMES, None, SUMMER]),
    "pandas zones": (lambda keys: pandas(pd.Series(keys).dt.tz_localize("Asia/Tokyo")), [TIMES], [*TIMES, None]),
    "a series": (pd.Series, BASES, ODD),
    "a category": (lambda keys: pd.Series(keys).astype("category"), BASES, ODD),
    "polars": (polars, BASES, PLAIN),
    "polars numbers": (lambda keys: polars(keys, strict=False), [INTEGERS, FLOATS], NUMBERS),
    "polars object": (lambda keys: polars(keys, dtype=pl.Object), BASES, ODD),
    "polars category": (lambda keys: polars(keys, dtype=pl.Categorical), [TEXT], [*TEXT, None]),
    "polars series": (pl.Series, BASES, PLAIN),
    "pyarrow": (lambda keys: arrow(pa.array(keys)), BASES, TIMELESS),
    "pyarrow dictionary": (lambda keys: arrow(pa.array(keys).dictionary_encode()), BASES, TIMELESS),
    "pyarrow array": (lambda keys: pa.array(keys, from_pandas=True), BASES, TIMELESS),
}
NOT_STORED = (TypeError, ValueError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError)
LISTED = ["a", 1, 1.5, DAY, "2024-01-02", -1, "north", Decimal("0.1"), b"b", 2**53 + 1]


def groups_of(people, places, most=1):
    """Return for every row in which of three groups its person counts."""
    who, where = choose_groups(people, np.where(people.codes == ABSENT, ABSENT, places), ["x", "y", "z"], "salt", most)
    chosen = np.zeros((len(people.values) + 1, 3), dtype=bool)  # the last one is for rows without a person
    chosen[who, where] = True
    return chosen[people.codes]


def what_is_read(stored, places, most):
    """Return who the rows belong to, where each person counts, and which listed label each has; None if refused."""
    try:
        found = read(stored)
    except (DataError, ArgumentTypeError):
        return None
    return found.codes, groups_of(found, places, most), found.find_labels(LISTED)


@pytest.mark.parametrize("stored", CONTAINERS)
@settings(max_examples=80)
@given(data=st.data())
def test_one_key_changes_no_other(stored, data):
    """Replace, add or remove one: the others are the same persons, in the same groups, or the call is refused."""
    store, bases, odd = CONTAINERS[stored]
    keys = data.draw(st.lists(st.sampled_from(data.draw(st.sampled_from(bases))), min_size=2, max_size=12))
    at = data.draw(st.integers(0, len(keys) - 1))
    places = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(keys), max_size=len(keys))))
    other, rest = [*keys[:at], data.draw(st.sampled_from(odd)), *keys[at + 1 :]], places
    most = data.draw(st.integers(1, 3))
    if data.draw(st.booleans()):
        other, rest = [*keys[:at], *keys[at + 1 :]], np.delete(places, at)
    before = what_is_read(store(keys), places, most)
    try:
        changed = store(other)
    except NOT_STORED:
        return
    after = what_is_read(changed, rest, most)
    assert before is not None
    if after is None:
        return
    kept = np.delete(np.arange(len(keys)), at)
    same = kept if len(rest) == len(keys) else np.arange(len(rest))
    (codes, groups, labels), (codes2, groups2, labels2) = before, after
    assert np.array_equal(np.equal.outer(codes[kept], codes[kept]), np.equal.outer(codes2[same], codes2[same]))
    assert np.array_equal(codes[kept] == ABSENT, codes2[same] == ABSENT)
    assert np.array_equal(labels[kept], labels2[same])
    others = codes[kept] != codes[at]
    if len(rest) == len(keys):
        others &= codes2[same] != codes2[at]
    assert np.array_equal(groups[kept][others], groups2[same][others])


@pytest.mark.parametrize("store", [list, pandas, lambda keys: arrow(pa.array(keys))], ids=["list", "pandas", "pyarrow"])
def test_one_key_of_bytes_moves_nobody_to_another_group(store):
    names = [f"person {number}" for number in range(1000)] * 3
    places = np.repeat([0, 1, 2], 1000)
    before, after = groups_of(read(store(names)), places), groups_of(read(store([*names, b"x"])), np.append(places, 0))
    assert np.array_equal(before, after[:-1])
    assert len(read([*names, b"person 0"]).values) == 1000


def test_minus_zero_is_zero_whatever_else_there_is():
    for keys in ([-0.0, 1.5], [-0.0, 0.0], [-0.0, math.nan], [-0.0, 2]):
        for stored in (keys, np.array(keys), pd.Series(keys), pandas(keys), polars(keys, strict=False)):
            assert read(stored).encode_key(0) == encode(0, "k")
            assert read(stored).find_labels([0])[0] == 0


@pytest.mark.parametrize("large", [2.0**53, -(2.0**53), 2.0**60, 1e300])
def test_floats_that_may_be_several_integers_are_refused(large):
    keys = [1.0, large]
    ways = [keys, np.array(keys), np.array(keys, dtype=object), pd.Series(keys), pl.Series(keys), pa.array(keys)]
    for unit in ways:
        for call in (
            lambda unit=unit: dpmean.mean(np.ones((2, 1)), privacy_unit=unit, rho=0.5, norm_bound=1.0),
            lambda unit=unit: dpmean.mean_by(np.ones((2, 1)), by=unit, groups=[1], rho=0.5, norm_bound=1.0),
        ):
            with pytest.raises(DataError, match=r"holds floats of 2\^53 or more, .* Read the data again") as caught:
                call()
            assert caught.value.__context__ is None
    for frame in (pandas(keys), pandas(keys, dtype=object), polars(keys), arrow(pa.array(keys))):
        with pytest.raises(DataError, match=r"^'k' holds floats of 2\^53 or more"):
            dpmean.mean(frame, privacy_unit="k", rho=0.5, norm_bound=1.0)


def test_integers_beside_a_missing_one_are_never_merged():
    persons = [2**53, 2**53 + 1, None]
    assert len(read(persons).values) == len(read(pandas(persons, dtype="Int64")).values) == 2
    with pytest.raises(DataError, match="different integers of this size become the same float"):
        read(pandas(persons))
    with pytest.raises(DataError, match=r"holds floats of 2\^24 or more"):
        read(np.array([2**24], dtype=np.float32))
    assert read(np.array([2**24 - 1], dtype=np.float32)).encode_key(0) == encode(2**24 - 1, "k")


@pytest.mark.parametrize("keys", [TEXT, INTEGERS, FLOATS, DECIMALS, TIMES, [None, None], [True, False], []])
@pytest.mark.parametrize("label", ["north", 1.5, "1.5", 2**70, DAY, NOON, SUMMER, b"a", Colour.RED, 2.0**60, math.inf])
def test_a_label_that_no_row_has_is_an_empty_group(keys, label):
    """Whether a label is refused must not depend on the column."""
    for store in (list, pandas, pd.Series, lambda keys: arrow(pa.array(keys))):
        places = read(store(keys)).find_labels([label, "nobody"])
        assert set(places.tolist()) <= {ABSENT, 0}
        assert np.array_equal(places, read(list(keys)).find_labels([label, "nobody"]))


@pytest.mark.parametrize(
    "twice", [[1, 1.0], [1, True], [1, "1"], [Decimal("0.10"), 0.1], [DAY, "2024-01-01"], ["a", b"a"]]
)
def test_labels_that_are_written_alike_are_refused_whatever_the_column(twice):
    for by in (["a", "b"], [1, 2], np.array([1, 2]), np.array([1.5, 2]), [DAY, None], np.array(["1", "a"])):
        with pytest.raises(ArgumentError, match="groups must differ: a label is listed twice, as"):
            dpmean.mean_by(np.ones((2, 1)), by=by, groups=[*twice, "x"], rho=0.5, norm_bound=1.0)


def test_labels_that_can_be_none_are_refused():
    for labels, error, words in (
        ([None], ArgumentError, "None is a missing value"),
        ([math.nan], ArgumentError, "nan is a missing value"),
        ([[1]], ArgumentTypeError, r"groups: a label must not be a list, got \[1\]: give a tuple, \(1,\)"),
    ):
        with pytest.raises(error, match=words):
            dpmean.mean_by(np.ones((2, 1)), by=[1, 2], groups=labels, rho=0.5, norm_bound=1.0)


def test_objects_of_polars_are_keys_by_their_value():
    """As a column of Arrow they would be addresses in memory."""
    keys = [10**30 + number for number in (1, 2, 1)]
    assert read(polars(keys, dtype=pl.Object)).codes.tolist() == [0, 1, 0]
    assert read(polars([1, 2, 1], dtype=pl.Int128)).codes.tolist() == [0, 1, 0]


def test_a_person_is_one_whatever_their_key_is_stored_in():
    rows = ArrayTable(np.arange(4.0)[:, None])
    for keys in ([1, 1.0, True, Decimal(1)], [DAY, pd.Timestamp(DAY), np.datetime64(DAY), pa.scalar(DAY)]):
        found = people(rows, keys, lambda _, d: np.ones(d, dtype=bool))
        assert found.array.tolist() == [[1.5]]


def test_a_mixed_column_may_tell_rows_apart_beside_all_others():
    frame = pd.DataFrame({"k": ["a", 1, b"a", None], "x": [1.0, 2.0, 3.0, 4.0]})
    found = FrameTable.open(frame, None, None, ["k"])
    assert found.names == ("x",)
    assert found.keys("k").codes.tolist() == [0, 1, 0, ABSENT]
    category = pd.DataFrame({"k": pd.Categorical(["a", "b"], categories=["unused", "b", "a"]), "x": 1.0})
    assert len(read(category).values) == 2


def test_a_mapping_or_a_set_is_no_list_of_keys():
    for keys in ({i: i // 40 for i in range(300)}, set(range(300)), frozenset(range(300))):
        for call in (
            lambda keys=keys: dpmean.mean(np.ones((300, 1)), privacy_unit=keys, rho=0.5, norm_bound=1.0),
            lambda keys=keys: dpmean.mean_by(np.ones((300, 1)), by=keys, groups=[1], rho=0.5, norm_bound=1.0),
        ):
            with pytest.raises(ArgumentTypeError, match="must be the name of a column, or hold one key per row"):
                call()


def test_nullable_integers_are_read_as_integers_beside_a_missing_one():
    keys = pd.Series([2**53, 2**53 + 1, None], dtype="Int64")
    assert read(keys).codes.tolist() == [0, 1, ABSENT]


def test_labels_that_cannot_be_stored_are_refused_before_anything_is_drawn():
    ledger = dpmean.Ledger(rho=1.0)
    for label in (math.inf, -math.inf, "a\ud800"):
        with pytest.raises(ArgumentError, match="leave it out"):
            dpmean.mean_by(np.ones((9, 1)), by=[1] * 9, groups=[label, 1], rho=0.5, norm_bound=1.0, ledger=ledger)
    assert not ledger.entries


def test_flags_that_are_no_member_are_refused():
    flags = enum.Flag("flags", ["A"], boundary=enum.KEEP)
    with pytest.raises(ArgumentTypeError, match="Enum members as keys"):
        read([flags.A, flags(8), flags(16)])


PERSON = "Anna Secret"
HOLDERS = {
    "dict": pd.Series([PERSON, 71.25]).to_dict(),
    "set": {PERSON, 71.25},
    "method": pd.Series([PERSON, 71.25]).items,
    "bytes": PERSON.encode(),
    "scalar": np.array(71.25),
    "object": np.array(PERSON, dtype=object),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_errors_about_keys_name_a_type_and_quote_no_key(kind):
    given, right = HOLDERS[kind], {"rho": 0.5, "norm_bound": 1.0}
    calls = [
        lambda: dpmean.mean(np.ones((2, 1)), privacy_unit=given, **right),
        lambda: dpmean.mean_by(np.ones((2, 1)), by=given, groups=[1], **right),
        lambda: dpmean.mean_by(np.ones((2, 1)), by=[1, 2], groups=[1], privacy_unit=given, **right),
        lambda: Keys.of_array("y", given, 2),
    ]
    for call in calls:
        with pytest.raises(dpmean.DpMeanError, match=r"one key per row|as keys") as caught:
            call()
        assert PERSON not in str(caught.value)
        assert "71.25" not in str(caught.value)


@pytest.mark.parametrize("given", [np.array([[71.25], [3.0]]), pd.Series([71.25, 3.0]), pd.DataFrame({"a": [71.25]})])
@pytest.mark.parametrize(
    "argument", ["ledger", "seed", "vector_column", "allow_few_rows", "rho", "method", "nan", "shape"]
)
def test_errors_about_other_arguments_quote_no_rows_that_are_given_in_their_place(argument, given):
    with pytest.raises(dpmean.DpMeanError) as caught:
        dpmean.mean(np.ones((2, 1)), **{"rho": 0.5, "norm_bound": 1.0, argument: given})
    assert argument in str(caught.value)
    assert "71.25" not in str(caught.value)


SHAPES = {
    "rows": lambda X: X,
    "a list of rows": lambda X: X.tolist(),
    "a column": lambda X: X[:, 0],
    "a list of a column": lambda X: X[:, 0].tolist(),
    "a frame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "a column of a frame": lambda X: pd.Series(X[:, 0]),
    "a column by another label": lambda X: pd.Series(X[:, 0], index=np.arange(len(X)) + 1),
    "rows and a longer one": lambda X: [*X.tolist(), [1.0] * 4],
    "integers": lambda X: np.ceil(X[:, 0]).astype(int),
    "text": lambda X: X[:, 0].astype(str).tolist(),
    "a column in which one is missing": lambda X: [None, *X[:, 0].tolist()],
}


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("first", [71.25, -71.25, 71.25e-40], ids=["too many", "negative", "too far apart"])
def test_errors_about_shape_quote_neither_values_nor_the_number_of_rows_given_in_its_place(form, first):
    rows = np.full((4321, 3), 71.25)
    rows[0] = first
    for bound in ({"norm_bound": 1e3}, {"bounds": (-1e3, 1e3)}):
        with pytest.raises(dpmean.DpMeanError, match="shape") as caught:
            dpmean.mean(rows, shape=SHAPES[form](rows), rho=0.5, **bound)
        assert not [told for told in ("71", "72", "7.1", "4321", "4322", "12963") if told in str(caught.value)]
        assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_errors_about_columns_and_ledgers_quote_no_rows_that_are_given_in_their_place():
    rows = pd.Series([71.25, 3.0])
    with pytest.raises(ArgumentTypeError, match="columns must be names of columns, got an object of type float") as one:
        dpmean.mean(pd.DataFrame({"a": rows}), columns=rows, rho=0.5, norm_bound=1.0)
    with pytest.raises(
        ArgumentTypeError,
        match=r"release must be a dpmean\.Release or a dpmean\.GroupedRelease, got an object of type Series",
    ) as other:
        dpmean.Ledger(rho=1.0).record(rows)
    assert "71.25" not in f"{one.value} {other.value}"

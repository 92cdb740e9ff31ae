"""Groups by several columns: every row is in the group of its own combination, on every engine."""

import itertools
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from fuzz.seen import watch
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError, ArgumentTypeError, GroupedRelease
from dpmean.rows.tables.combinations import find_combinations
from dpmean.rows.tables.keys import ABSENT, Keys, encode_labels
from tests.rows.conformance.problems import needed

LABELS = [("North", "f"), ("North", "m"), ("South", "f"), ("East", "x")]
SETTINGS = {"by": ["clinic", "sex"], "groups": LABELS, "columns": "age", "bounds": (0, 130), "rho": 0.5}


def table(n=6000, seed=0):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient": draw.integers(0, 1500, n),
            "clinic": draw.choice(["North", "South", "West"], n),
            "sex": draw.choice(["f", "m"], n),
            "age": draw.normal(50, 10, n),
        }
    )


PARTS = st.sampled_from(["a", "ab", "abc", "b", "bc", "c", "", "1", 1, 1.0, 2, 1.5, None])


@settings(max_examples=200)
@given(data=st.data())
def test_a_row_is_in_the_group_of_its_own_combination(data):
    width = data.draw(st.integers(1, 3))
    rows = data.draw(st.lists(st.tuples(*[PARTS] * width), max_size=20))
    known = st.tuples(*[PARTS.filter(lambda part: part is not None)] * width)
    labels = data.draw(st.lists(known, min_size=1, max_size=8, unique_by=lambda one: tuple(map(text, one))))
    columns = [Keys.of_array("k", [row[j] for row in rows], len(rows)) for j in range(width)]
    places = {tuple(map(text, label)): place for place, label in enumerate(labels)}
    wanted = [places.get(tuple(map(text, row)), ABSENT) for row in rows]
    assert find_combinations(columns, labels).tolist() == wanted


def text(part):
    """Return how a part is written: 1, 1.0 and "1" are one label, and what is missing is none."""
    return None if part is None else f"{part:g}" if isinstance(part, int | float) else part


def test_many_columns_with_many_values_need_little():
    draw = np.random.default_rng(3)
    values = draw.integers(0, 200, (9, 5000))
    columns = [Keys.of_array("k", line, 5000) for line in values]
    labels = list(dict.fromkeys(tuple(row) for row in values.T[::7].tolist()))
    found = find_combinations(columns, labels)
    assert [labels[place] for place in found[::7]] == [tuple(row) for row in values.T[::7].tolist()]


def test_labels_with_other_boundaries_are_others():
    odd = [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("a", "b", "c"), ("abc",), "abc"]
    assert len(set(encode_labels(odd))) == len(odd)
    for same in ([("a", 1), ("a", "1")], [(1.0, True), (1, "1")], [(Decimal("1.50"), "a"), (1.5, "a")]):
        with pytest.raises(ArgumentError, match="a label is listed twice"):
            encode_labels(same)


def everywhere(frame, folder):
    """Return the same table on every engine that tells groups apart."""
    datasets, duckdb = needed("datasets", "datasets"), needed("duckdb", "duckdb")
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(arrow, folder / "t.parquet", row_group_size=1000)
    feather.write_feather(arrow, str(folder / "t.arrow"), chunksize=777)
    frame.to_csv(folder / "t.csv", index=False)
    yield frame
    yield frame.astype({"clinic": "category", "sex": object})
    yield pl.from_pandas(frame)
    yield pl.from_pandas(frame).lazy()
    yield arrow
    yield from (folder / name for name in ("t.parquet", "t.arrow", "t.csv"))
    yield datasets.Dataset(arrow)
    with duckdb.connect() as connection:
        connection.register("given", arrow)
        yield connection.table("given")


def test_every_engine_gives_the_same_release(tmp_path):
    frame = table()
    for persons in ({}, {"privacy_unit": "patient"}, {"privacy_unit": "patient", "contributions": 2}):
        asked = {**SETTINGS, **persons, "seed": 1}
        wanted = dpmean.mean_by(frame, **asked)
        assert wanted.by == ("clinic", "sex")
        assert set(wanted.released) == set(LABELS[:3])
        for X in everywhere(frame, tmp_path):
            assert dpmean.mean_by(X, **asked).to_json() == wanted.to_json(), type(X)


def test_rows_are_those_of_one_column_that_joins_both():
    frame = table()
    joined = frame.assign(both=frame["clinic"] + "/" + frame["sex"])
    asked = {**SETTINGS, "seed": 1, "allow_few_rows": True}
    found = watch(lambda: dpmean.mean_by(frame, **asked)).releases
    asked |= {"by": "both", "groups": ["/".join(label) for label in LABELS]}
    assert found == watch(lambda: dpmean.mean_by(joined, **asked)).releases
    assert [len(rows) > 500 for rows in found] == [True, True, True, False]


def test_other_columns_are_averaged_if_none_is_named():
    frame = table()[["clinic", "sex", "age"]]
    found = dpmean.mean_by(frame, **{**SETTINGS, "columns": None}, seed=1)
    assert found["North", "f"].columns == ("age",)


def test_labels_are_equal_to_keys_of_other_types_column_by_column():
    frame = pd.DataFrame({"a": [1, 2, 2] * 100, "b": [0.5, 1.0, 1.5] * 100, "x": 1.0})
    asked = {"by": ["a", "b"], "groups": [("1", Decimal("0.5")), (2.0, 1)], "bounds": (0, 2), "rho": 1.0, "seed": 1}
    found = dpmean.mean_by(frame, allow_few_rows=True, **asked)
    assert all(abs(one.n - 100) < 20 for one in found.released.values())
    assert len(found.released) == 2


def test_a_row_without_a_value_in_one_of_the_columns_is_in_no_group():
    frame = table(600)
    gone = frame.assign(sex=frame["sex"].where(frame.index % 2 == 0, None))
    asked = {**SETTINGS, "seed": 1, "allow_few_rows": True}
    assert (
        watch(lambda: dpmean.mean_by(gone, **asked)).releases
        == watch(lambda: dpmean.mean_by(frame[frame.index % 2 == 0], **asked)).releases
    )


def test_a_release_survives_json_and_frames_and_is_read_by_its_labels():
    found = dpmean.mean_by(table(), **SETTINGS, seed=1)
    back = GroupedRelease.from_json(found.to_json())
    assert (back.by, list(back), back.to_json()) == (("clinic", "sex"), LABELS, found.to_json())
    assert json.loads(found.to_json())["groups"][0]["label"] == ["North", "f"]
    assert back["South", "f"].mean == found[("South", "f")].mean
    with pytest.raises(KeyError, match=r"there is no group \('South', 'x'\): the groups are \('North', 'f'\)"):
        back["South", "x"]
    for library in ("pandas", "polars", "pyarrow"):
        frame = found.to_frame(library)
        names = frame.column_names if library == "pyarrow" else list(frame.columns)
        assert names[:3] == ["clinic", "sex", "column"]
    assert found.to_frame()[["clinic", "sex"]].to_numpy().tolist() == [list(label) for label in LABELS]
    assert "in 4 groups by clinic and sex" in str(found)
    assert any(line.startswith("North, f ") for line in str(found).splitlines())
    assert "North, f minus South, f: difference" in str(found.difference(("North", "f"), ("South", "f")))
    assert found.receipts[0].step.startswith("North, f: ")


def test_a_page_names_both_values(tmp_path):
    page = dpmean.report(dpmean.mean_by(table(), **SETTINGS, seed=1), tmp_path / "page.html").read_text()
    assert "The means of 4 groups, by clinic and sex" in page
    assert "<bdi>North, f</bdi>" in page
    assert "East, x" in page


@pytest.mark.parametrize("label", ["North", ["North"], ["North", "f", "x"], []])
def test_a_document_whose_labels_do_not_fit_is_refused(label):
    document = json.loads(dpmean.mean_by(table(600), **SETTINGS, seed=1).to_json())
    document["groups"][0]["label"] = label
    with pytest.raises(ArgumentError, match="labels must have one value for each column of by"):
        GroupedRelease.from_json(json.dumps(document))


def test_a_ledger_tells_groups_by_other_columns_apart():
    ledger = dpmean.Ledger(rho=5.0)
    asked = {**SETTINGS, "sizes": "public", "ledger": ledger}
    dpmean.mean_by(table(), **asked)
    dpmean.mean_by(table(), **asked)
    assert ledger.entries[0].neighbours == "replace-one within its 'clinic' and 'sex'"
    with pytest.raises(ArgumentError, match="replace-one within its 'clinic' and 'sex'"):
        dpmean.mean_by(table(), **{**asked, "by": "clinic", "groups": ["North"]})


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"by": "clinic"}, ArgumentError, r"groups has tuples, .* got by='clinic': give the columns, by=\["),
        ({"by": ["clinic", 5]}, ArgumentError, "groups has tuples"),
        ({"by": np.array(["clinic", "sex"])}, ArgumentError, "groups has tuples"),
        ({"by": []}, ArgumentError, "groups has tuples"),
        ({"by": ["clinic", "clinic"]}, ArgumentError, "by has the same column twice"),
        ({"by": ["clinic"]}, ArgumentError, r"\('North', 'f'\) must be a tuple with one value for each"),
        ({"groups": [("North", "f"), "South"]}, ArgumentError, "'South' must be a tuple with one value for each"),
        (
            {"groups": [["North", "f"]]},
            ArgumentTypeError,
            r"a label must not be a list, got \['North', 'f'\]: give a tuple",
        ),
        ({"groups": [("North", ["f"])]}, ArgumentTypeError, r"a label must not be a list, got \['f'\]"),
        ({"groups": [("North", None)]}, ArgumentError, "None is a missing value"),
        ({"groups": [("North", float("inf"))]}, ArgumentError, "a label must not be inf"),
        ({"groups": [("North", "f"), ("North", "f")]}, ArgumentError, "a label is listed twice"),
        (
            {"groups": ["North"]},
            ArgumentError,
            "^by must .*, or the name of a column; for groups by several columns, list tuples",
        ),
        ({"privacy_unit": "sex"}, ArgumentError, "by and privacy_unit are the same column 'sex'"),
        ({"by": ["clinic", "ward"]}, ArgumentError, "there is no column 'ward'"),
    ],
)
def test_what_does_not_fit_is_refused_and_costs_nothing(given, error, words):
    ledger = dpmean.Ledger(rho=5.0)
    with pytest.raises(error, match=words):
        dpmean.mean_by(table(600), **{**SETTINGS, **given}, ledger=ledger)
    assert not ledger.entries


def test_keys_given_for_columns_are_not_counted_aloud():
    keys = [f"patient {j}" for j in range(613)]
    with pytest.raises(ArgumentError, match="must be a tuple") as caught:
        dpmean.mean_by(table(613), **{**SETTINGS, "by": keys})
    assert "613" not in str(caught.value)
    assert "patient" not in str(caught.value)


def test_rows_without_names_have_no_columns_to_combine(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((10, 2)))
    for X in (np.ones((10, 2)), needed("torch", "torch").ones(10, 2), tmp_path / "rows.npy"):
        with pytest.raises(ArgumentError, match="there is no column 'clinic'"):
            dpmean.mean_by(X, **{**SETTINGS, "columns": None})


def test_all_combinations_may_be_listed_by_an_iterator():
    found = dpmean.mean_by(table(), **{**SETTINGS, "groups": itertools.product(["North", "South"], ["f", "m"])}, seed=1)
    assert len(found.released) == 4

"""One record never changes another: seeded slices of the campaign, and what it found."""

import numpy as np
import pandas as pd
import pytest
from fuzz import neighbours
from fuzz.forms import FORMS
from fuzz.seen import vectors, watch

import dpmean
import dpmean.sklearn.rows
from dpmean.errors import ArgumentTypeError
from dpmean.rows.files.csv_records import Scan
from dpmean.rows.files.text import Text
from dpmean.rows.tables import keys, scalars

CASES = [case for case in neighbours.shares(1) if case[0] not in neighbours.CLUSTERS]
"""Clusters have theirs in tests/rows/conformance."""
SHARED = {"rho": 1.0, "norm_bound": 1e6, "nan": "impute", "seed": 1, "allow_few_rows": True}


def seen(X, **named):
    """Return the rows that reach the mechanisms."""
    return watch(lambda: dpmean.mean(X, **SHARED, **named)).releases[0]


@pytest.mark.parametrize(("form", "path"), CASES)
def test_one_record_changes_no_other(form, path):
    tally = neighbours.run(form, path, 240, seed=9)
    assert tally.compared > 20
    assert not tally.findings, str(tally.findings[0])


def test_every_form_and_path_has_its_share_of_a_campaign():
    shares = neighbours.shares(1_000_000)
    assert sum(count for (form, _), count in shares.items() if form in neighbours.TEXTS) >= 1_000_000
    others = {case: count for case, count in shares.items() if case[0] not in neighbours.TEXTS}
    assert sum(count for (_, path), count in others.items() if path != "rows") >= 1_000_000
    assert sum(count for (_, path), count in others.items() if path == "rows") >= 100_000


def _centred(setting, records):
    array, keys = FORMS["numpy"][0](setting, records)
    return array - array.max(axis=0), keys


def _sorted(setting, records):
    array, keys = FORMS["numpy"][0](setting, records)
    return array[np.argsort(array[:, -1], kind="stable")], keys


@pytest.mark.parametrize("path", ["rows", "persons", "groups", "persons in groups"])
@pytest.mark.parametrize("leaky", [_centred, _sorted])
def test_a_form_in_which_records_change_others_is_found(monkeypatch, leaky, path):
    monkeypatch.setitem(neighbours.ALL, "leaky", (leaky, (path,)))
    assert neighbours.run("leaky", path, 400, seed=1).findings


def _encode_all_keys_anew(monkeypatch):
    def read(name, given, usual=keys._of_objects):
        mixed = any(type(key) is bytes for key in given)
        return usual(name, [None if key is None else str(key) for key in given] if mixed else given)

    monkeypatch.setattr(keys, "_of_objects", read)


def _end_records_at_returns(monkeypatch):
    def feed(self, text, every, usual=Scan.feed):
        return usual(self, np.where(text == ord("\r"), np.uint8(ord("\n")), text), every)

    monkeypatch.setattr(Scan, "feed", feed)


def _take_an_empty_last_line_for_none(monkeypatch):
    def between(self, start, stop, size, usual=Text.between):
        whole = b"".join(usual(self, start, stop, size))
        yield whole[:-1] if stop is None and whole.endswith(b"\n\n") else whole

    monkeypatch.setattr(Text, "between", between)


def _find_a_type_for_all_numbers(monkeypatch):
    def read(values, usual=scalars.read_objects):
        numbers = any(isinstance(value, np.generic | float | int) for value in values)
        return np.array(values).astype(np.float64) if numbers and None not in values else usual(values)

    monkeypatch.setattr(dpmean.rows.tables.dataframes, "read_objects", read)


def _find_a_type_for_all_labels(monkeypatch):
    monkeypatch.setattr(dpmean.sklearn.rows, "_one_dimensional", np.asarray)


FAULTS = {
    _encode_all_keys_anew: [("lists", "persons in groups", 302), ("pandas objects", "groups", 447)],
    _end_records_at_returns: [("csv", "rows", 43), ("csv", "groups", 68)],
    _take_an_empty_last_line_for_none: [("csv", "rows", 659)],
    _find_a_type_for_all_labels: [("scikit-learn", "groups", 782)],
    _find_a_type_for_all_numbers: [("pandas", "rows", 388), ("pandas objects", "rows", 621)],
}
"""Faults that were, each with an execution of seed 1 that shows it."""


@pytest.mark.parametrize(
    ("fault", "form", "path", "execution"), [(fault, *shown) for fault, several in FAULTS.items() for shown in several]
)
def test_a_fault_that_comes_back_is_found(monkeypatch, fault, form, path, execution):
    assert not neighbours.run(form, path, 1, seed=1, first=execution).findings
    fault(monkeypatch)
    assert neighbours.run(form, path, 1, seed=1, first=execution).findings


def test_objects_of_a_column_are_read_one_by_one():
    column = [np.float16(1.5), 1, 7]
    others = [seen(pd.DataFrame({"a": pd.Series([*column, last], dtype=object)}))[:3] for last in (2, 0.5, True, None)]
    assert all(other == vectors([[1.5], [1], [7]]) for other in others)
    long = [2**53 + 1, 2**60 + 3]
    others = [seen(pd.DataFrame({"a": pd.Series([*long, last], dtype=object)}))[:2] for last in (2, 0.5, None, pd.NA)]
    assert all(other == vectors([[float(one)] for one in long]) for other in others)


@pytest.mark.parametrize("last", ["x", np.datetime64("2024-02-29"), np.timedelta64(1, "s"), [1.0], 1j, 10**400, b"1"])
def test_an_object_that_is_no_number_is_refused_and_crashes_nothing(last):
    frame = pd.DataFrame({"a": pd.Series([7, 1, 0, np.float32(0.5), 1, np.float16(1.5)], dtype=object)})
    frame.at[2, "a"] = last
    with pytest.raises(ArgumentTypeError, match=r"column '[av]' of the frame holds values of several kinds"):
        seen(frame)


def test_vectors_of_objects_are_read_one_by_one():
    column = [[np.float16(1.5), 2], np.array([0.1, 2.5], dtype="f4"), (2**53 + 1, 1)]
    wanted = vectors([[1.5, 2], np.array([0.1, 2.5], dtype="f4"), [2.0**53, 1]])
    for last in ([1, 2], [0.5, 2], np.array([1, 2], dtype="i1"), np.array([0.5, 2]), [True, None]):
        assert seen(pd.DataFrame({"v": pd.Series([*column, last])}), vector_column="v")[:3] == wanted
    with pytest.raises(ArgumentTypeError, match=r"column '[av]' of the frame holds values of several kinds"):
        seen(pd.DataFrame({"v": pd.Series([*column, ["1", "2"]])}), vector_column="v")


def test_rows_without_a_key_may_be_all_that_unlisted_groups_have():
    keys = {"by": ["x", "x"], "groups": ["y"], "privacy_unit": [None, None]}
    found = dpmean.mean_by([[1.0], [2.0]], rho=1.0, norm_bound=10.0, seed=1, **keys)
    assert list(found.refused) == ["y"]

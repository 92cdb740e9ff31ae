"""Numbers of which nobody declared the type: each is read by itself."""

import datetime

import numpy as np
import pandas as pd
import pytest

from dpmean.rows.tables.scalars import is_missing, read_objects, read_vector


def test_objects_of_several_kinds_are_refused_and_those_of_one_are_left_as_they_are():
    with pytest.raises(TypeError, match="several kinds"):
        read_objects(["x", b"x"])
    with pytest.raises(TypeError, match="several kinds"):
        read_objects(["x", None, datetime.date(2024, 1, 1), pd.NA])
    for values in (["x", "y"], ["x", None, pd.NA], [None, pd.NA, pd.NaT], []):
        assert read_objects(values) is None


def test_a_missing_vector_may_be_written_as_a_number_that_is_none():
    for missing in (float("nan"), None, pd.NA):
        first, second = read_objects([[1, 2.5], missing])
        assert (first.tolist(), second) == ([1.0, 2.5], None)
    for odd in (1.5, "x", np.float64("nan")):
        with pytest.raises(TypeError, match="not a vector"):
            read_objects([[1, 2.5], odd])


def test_a_vector_has_one_dimension():
    for kind in ("f8", "f4", "i8", "u1", "b1", "O"):
        assert read_vector(np.array([1, 0, 1], dtype=kind)).tolist() == [1.0, 0.0, 1.0]
        for odd in (np.ones((1, 2), dtype=kind), np.array(1, dtype=kind)):
            with pytest.raises(TypeError):
                read_vector(odd)
    with pytest.raises(TypeError):
        read_vector(np.array(["1", "2"]))


def test_what_stands_for_a_missing_value():
    assert all(is_missing(value) for value in (None, float("nan"), pd.NA, pd.NaT))
    assert not any(is_missing(value) for value in (0.0, 1.5, float("inf"), 0, "", "nan", False, np.float64("nan")))

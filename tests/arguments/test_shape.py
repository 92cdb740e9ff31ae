"""Shapes as they are given: words, scales in the order of columns, or scales by name."""

import re

import numpy as np
import pandas as pd
import pytest

import dpmean
from dpmean import ArgumentError, ArgumentTypeError
from dpmean.arguments.shape import list_scales, order_scales, read_shape
from dpmean.enums import Shaping

ROWS = np.random.default_rng(0).normal(5, 1, (3000, 2))
FRAME = pd.DataFrame(ROWS, columns=["age", "pay"])
BALL = {"rho": 0.5, "norm_bound": 60.0, "seed": 1}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("auto", Shaping.AUTO),
        ("round", Shaping.ROUND),
        (Shaping.ROUND, Shaping.ROUND),
        ([1, 2], (1.0, 2.0)),
        ((0.5, 2.0), (0.5, 2.0)),
        (np.array([1.0, 2.0], dtype=np.float32), (1.0, 2.0)),
        ({"pay": 2, "age": 1.5}, {"pay": 2.0, "age": 1.5}),
    ],
)
def test_what_is_read(given, read):
    assert read_shape(given) == read


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ("rund", ArgumentError, r'must be "auto", "round" or the scale .*, such as \[18.0, 25000.0\], got .rund.$'),
        (None, ArgumentTypeError, 'shape must be "auto", "round" or the scale of each column, .*got None'),
        ([], ArgumentError, r"no scale"),
        (3.0, ArgumentError, r"3.0 with 0 dimensions"),
        ([[1.0, 2.0]], ArgumentError, r"an object of type list with 2 dimensions"),
        ([[1.0], [1.0, 2.0]], ArgumentError, "got an object of type list"),
        (["1", "2"], ArgumentTypeError, "shape: the scale of column 0 must be a number, got text"),
        ([True, True], ArgumentTypeError, "shape: the scale of column 0 must be a number, got True"),
        ([1, None], ArgumentTypeError, "shape: the scale of column 1 must be a number, got None"),
        ([1, [2.0]], ArgumentError, "got an object of type list"),
        ([10**400, 1], ArgumentTypeError, "got an object of type list"),
        ({1.0, 2.0}, ArgumentTypeError, "got an object of type set"),
        ([1.0, 0.0], ArgumentError, "must be positive and between 2.-400 and 2.400, got 0 for column 1: give a small"),
        ([1.0, -2.0], ArgumentError, "must be positive .* got -2"),
        ([1.0, np.nan], ArgumentError, "must be positive .* got nan"),
        ([1.0, np.inf], ArgumentError, "must be positive .* got inf"),
        ([1.0, 1e20], ArgumentError, "must be at most 2.60 times the smallest, got 1 and 1e.20: use other units"),
        ({}, ArgumentError, 'shape={} has no scales: give {"age": 18.0, ...}, with a scale for every column'),
        ({3: 1.0}, ArgumentError, 'shape: keys must be names of columns, got 3: give {"age": 18.0, ...}'),
        ({"pay": 1.0, "age": "wide"}, ArgumentTypeError, "the scale of column 'age' must be a number, got text"),
        ({"age": -1.0}, ArgumentError, "must be positive .* got -1 for column 'age'"),
    ],
)
def test_what_cannot_be_right_for_any_rows_is_refused(wrong, error, words):
    with pytest.raises(error, match=words):
        read_shape(wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([1.0], "shape has fewer scales than there are columns .2.: give one scale for each"),
        ([1.0, 2.0, 3.0], "shape has more scales than there are columns .2.: give one scale for each"),
        ({"age": 1.0}, "shape has no scale for column 'pay': add one"),
        ({"age": 1.0, "pay": 2.0, "size": 3.0}, "shape: there is no column 'size'"),
        ({"Age": 1.0, "pay": 2.0}, "shape: there is no column 'Age'"),
    ],
)
def test_what_does_not_fit_the_columns_is_refused_before_anything_is_paid(wrong, words):
    ledger = dpmean.Ledger(rho=1)
    shared = {"rho": 0.5, "norm_bound": 60.0, "ledger": ledger, "shape": wrong}
    with pytest.raises(ArgumentError, match=words):
        dpmean.mean(FRAME, **shared)
    with pytest.raises(ArgumentError, match=words):
        dpmean.mean_by(FRAME.assign(team=0), by="team", groups=[0, 1], columns=["age", "pay"], **shared)
    assert ledger.entries == ()


def test_a_scale_that_is_too_large_for_its_bounds_is_refused():
    """No values in a range have a standard deviation of more than half of it."""
    ledger, bounds = dpmean.Ledger(rho=1), {"age": (0, 130), "pay": (-10.0, 10.0)}
    shared = {"rho": 0.5, "bounds": bounds, "ledger": ledger}
    words = "shape: 11 for column 'pay' is more than half the width of its bounds, 10, which no standard deviation"
    for wrong in ([18.0, 11.0], {"pay": 11.0, "age": 18.0}):
        with pytest.raises(ArgumentError, match=words):
            dpmean.mean(FRAME, shape=wrong, **shared)
        with pytest.raises(ArgumentError, match=words):
            dpmean.mean_by(FRAME.assign(team=0), by="team", groups=[0], columns=["age", "pay"], shape=wrong, **shared)
    with pytest.raises(ArgumentError, match="shape: 2 for column 0 is more than half the width of its bounds, 1"):
        dpmean.mean(ROWS, shape=[2.0, 1.0], rho=0.5, bounds=(-1, 1), ledger=ledger)
    assert ledger.entries == ()
    assert dpmean.mean(FRAME, rho=0.5, bounds=bounds, shape=[65.0, 10.0], seed=1).scales.values == (65.0, 10.0)
    assert dpmean.mean(ROWS, shape=[1e6, 1e6], **BALL).scales is not None  # up to a common factor only


def test_given_scales_need_bounds_that_are_not_extreme():
    for which, bounds in (
        ("bounds", {"bounds": (0.0, 2.0**401)}),
        ("bounds", {"bounds": (0.0, 2.0**-401)}),
        ("norm_bound", {"norm_bound": 2.0**401}),
        ("norm_bound", {"norm_bound": 1.0, "sigma_min": 1.0, "sigma_max": 2.0**401}),
    ):
        words = rf"shape=\[...\] needs {which} between 2\^-400 and 2\^400: use another unit, or leave shape out"
        with pytest.raises(ArgumentError, match=words):
            dpmean.mean(ROWS, shape=[2.0**-400] * 2, rho=0.5, seed=1, **bounds)


def test_scales_by_name_need_names():
    with pytest.raises(ArgumentError, match="needs columns with names, and these have none: give a list"):
        dpmean.mean(ROWS, shape={"age": 1.0, "pay": 2.0}, **BALL)
    assert order_scales({"pay": 2.0, "age": 1.0}, ("age", "pay"), 2) == (1.0, 2.0)
    assert order_scales(Shaping.AUTO, None, 2) is Shaping.AUTO
    assert list_scales({"pay": 2.0, "age": 1.0}, 2) == (2.0, 1.0)
    assert list_scales(Shaping.ROUND, 2) is Shaping.ROUND


def test_scales_in_any_form_give_the_same_release():
    forms = [[1.0, 2.0], (1, 2), np.array([1.0, 2.0]), {"age": 1.0, "pay": 2.0}, {"pay": 2.0, "age": 1.0}]
    assert len({dpmean.mean(FRAME, shape=form, **BALL).to_json() for form in forms}) == 1


def test_one_column_has_no_shape():
    plain = dpmean.mean(ROWS[:, 0], **BALL)
    for shape in ("auto", "round", [7.0]):
        assert dpmean.mean(ROWS[:, 0], shape=shape, **BALL).to_json() == plain.to_json()
    assert plain.scales is None
    with pytest.raises(ArgumentError, match=r"shape has more scales than there are columns \(1\): give one"):
        dpmean.mean(ROWS[:, 0], shape=[1.0, 2.0], **BALL)


@pytest.mark.parametrize("shape", ["round", [1.0, 2.0]])
def test_shapes_are_for_refined_in_the_central_model(shape):
    for method in ("shifted", "clipped"):
        with pytest.raises(ArgumentError, match=f'shape is for method "refined", got method="{method}": leave shape'):
            dpmean.mean(ROWS, shape=shape, method=method, **BALL)
        assert dpmean.mean(ROWS, shape="auto", method=method, **BALL).scales is None
    with pytest.raises(ArgumentError, match='shape is for the central model, got trust="local"'):
        dpmean.mean(ROWS, shape=shape, trust="local", **BALL)
    with pytest.raises(ArgumentError, match='shape is for the central model, got trust="shuffle"'):
        dpmean.mean(ROWS, shape=shape, trust="shuffle", epsilon=1.0, delta=1e-9, norm_bound=60.0)


def test_each_group_has_scales_of_its_own():
    rows = np.concatenate([ROWS * [1, 30], ROWS * [30, 1]])
    by = np.repeat(["a", "b"], 3000)
    shared = {"by": by, "groups": ["a", "b"], "rho": 0.5, "norm_bound": 1e4, "seed": 1}
    groups = dpmean.mean_by(rows, **shared)
    assert groups["a"].scales.values[1] > 10 * groups["a"].scales.values[0]
    assert groups["b"].scales.values[0] > 10 * groups["b"].scales.values[1]
    given = dpmean.mean_by(rows, shape=[3.0, 3.0], **shared)
    assert {one.scales.values for one in given.released.values()} == {(3.0, 3.0)}
    assert all(one.scales is None for one in dpmean.mean_by(rows, shape="round", **shared).released.values())


# --- series of pandas, which are read by their labels ----------------------------------------------------------------


def of_series(values, labels=None):
    frame = pd.DataFrame(np.random.default_rng(1).normal(0, 1, (4321, 2)), columns=["age", "pay"])
    series = pd.Series(values, index=labels)
    return dpmean.mean(frame, rho=1.0, bounds=(-50, 50), shape=series, seed=1).scales.values


def test_a_series_is_read_by_its_labels():
    assert of_series([2.0, 1.0], ["pay", "age"]) == of_series([1.0, 2.0]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (np.r_[-31337.5, np.ones(40)], None),
        (np.r_[-31337.5, np.ones(300)], [f"patient {i}" for i in range(301)]),
        (np.r_[1e-30, 31337.5, np.ones(299)], [f"patient {i}" for i in range(301)]),
        (np.ones(301), [f"patient {i}" for i in range(301)]),
        (np.ones(41), [40000 + i for i in range(41)]),
        (np.ones(41), None),
        ([1.0, 2.0, 3.0], ["age", "age", "pay"]),
        ([1.0, 2.0], [pd.NA, "age"]),
        (["31337", "x"], ["age", "pay"]),
    ],
)
def test_errors_about_a_series_repeat_neither_values_nor_labels(values, labels):
    with pytest.raises((ArgumentError, ArgumentTypeError)) as raised:
        of_series(values, labels)
    assert not re.search("31337|patient|4000|41|301|1e-30", str(raised.value))

"""The arrays of a release: what is read is a copy, NumPy and PyTorch take it, and the release stays what it is."""

import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

import dpmean
from dpmean import ArgumentError, ArgumentTypeError, Release

ROWS = np.random.default_rng(0).normal([1.0, 20.0, -3.0], 1.0, (4000, 3))
ARRAYS = ("mean", "noise_std", "centre")


@pytest.fixture(scope="module")
def release():
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    return dpmean.mean(table, rho=1, norm_bound=100.0)


@pytest.fixture(scope="module")
def grouped():
    return dpmean.mean_by(ROWS, by=np.arange(4000) % 2, groups=[0, 1], rho=1, norm_bound=100.0)


# --- PyTorch ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("tensor_of", [torch.as_tensor, torch.from_numpy, torch.tensor, torch.from_dlpack])
def test_a_tensor_takes_an_array_without_a_warning_and_does_not_change_the_release(release, name, tensor_of):
    before = release.to_json()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor = tensor_of(getattr(release, name))
    assert np.array_equal(tensor.numpy(), getattr(release, name))
    tensor += 1.0
    tensor[0] = float("nan")
    assert release.to_json() == before


def test_what_was_fitted_is_handed_on_as_well():
    from dpmean.sklearn import PrivateMean

    fitted = PrivateMean(rho=1.0, norm_bound=100.0).fit(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.as_tensor(fitted.mean_).zero_()
    assert np.abs(fitted.release_.mean).max() > 1


# --- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_is_a_copy_every_time(release, name):
    one, other = getattr(release, name), getattr(release, name)
    assert one.flags.writeable
    assert one.flags.owndata
    assert one.dtype == np.float64
    assert not np.shares_memory(one, other)
    one[:] = 0
    assert np.array_equal(getattr(release, name), other)


def test_a_release_keeps_none_of_the_arrays_that_it_was_made_of(release):
    given = {name: getattr(release, name) for name in ARRAYS}
    made = dataclasses.replace(release, **given)
    for array in given.values():
        array[:] = 0
    assert made.to_json() == release.to_json()


def test_a_release_can_be_replaced_copied_pickled_and_read_back(release):
    others = [
        dataclasses.replace(release),
        copy.copy(release),
        copy.deepcopy(release),
        pickle.loads(pickle.dumps(release)),  # noqa: S301  our own bytes
        Release.from_json(release.to_json()),
    ]
    for other in others:
        assert other.to_json() == release.to_json()
        assert repr(other) == repr(release)
        assert str(other) == str(release)
        assert all(np.array_equal(getattr(other, name), getattr(release, name)) for name in ARRAYS)
        assert other != release  # as before: equal is what is the same
        assert len({release, release, other}) == 2
    longer = dataclasses.replace(release, mean=release.mean + 1)
    assert np.array_equal(longer.mean, release.mean + 1)
    assert np.array_equal(longer.noise_std, release.noise_std)
    assert [field.name for field in dataclasses.fields(release)][:3] == list(ARRAYS)


def test_one_column_is_read_without_a_copy_of_all(release, monkeypatch):
    def refuse(*_):
        raise AssertionError("a copy")

    expected = release.mean[1]
    monkeypatch.setattr("dpmean.release.arrays.Kept.__get__", refuse)
    assert release["b"] == expected
    assert np.shares_memory(release.__array__(copy=False), release.__array__(copy=False))


# --- NumPy -----------------------------------------------------------------------------------------------------------


def test_a_release_is_its_mean_to_numpy(release):
    found = np.asarray(release)
    assert found.dtype == np.float64
    assert np.array_equal(found, release.mean)
    single = np.asarray(release, dtype=np.float32)
    assert single.dtype == np.float32
    assert np.array_equal(single, release.mean.astype(np.float32))
    for array in (found, single, np.array(release), np.array(release, copy=True)):
        assert array.flags.writeable
        array[:] = 0
    assert np.abs(release.mean).max() > 1


def test_without_a_copy_the_mean_is_read_only_and_of_its_own_type(release):
    for found in (release.__array__(copy=False), release.__array__(np.float64, copy=False)):
        assert np.array_equal(found, release.mean)
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            found.setflags(write=True)
    with pytest.raises(ArgumentError, match=r"float32 takes a copy: leave copy=False out"):
        release.__array__(np.float32, copy=False)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="asarray takes copy from NumPy 2 on")
def test_numpy_passes_on_whether_to_copy(release):
    assert not np.asarray(release, copy=False).flags.writeable
    assert np.asarray(release, copy=True).flags.writeable
    with pytest.raises(ValueError, match="takes a copy"):
        np.asarray(release, dtype=np.float32, copy=False)


def test_a_release_is_an_operand_and_several_are_rows(release):
    assert np.array_equal(ROWS - release, ROWS - release.mean)
    assert np.linalg.norm(release) == np.linalg.norm(release.mean)
    assert np.array_equal(np.stack([release, release]), np.stack([release.mean, release.mean]))
    held = pd.Series([release, release])
    assert held.dtype == object
    assert held[0] is release


def test_columns_without_names_do_not_make_a_sequence_of_a_release():
    found = dpmean.mean(ROWS, rho=1, norm_bound=100.0)
    assert np.array_equal(np.asarray(found), found.mean)
    with pytest.raises(TypeError, match="len"):
        len(found)


def test_groups_are_no_array(grouped):
    for ask in (np.asarray, np.array, lambda given: np.asarray(given, dtype=np.float32)):
        with pytest.raises(
            ArgumentTypeError, match=r"take release\.means, .*release\.labels, .*np\.asarray\(release\[label\]\)"
        ):
            ask(grouped)
    assert np.array_equal(np.asarray(grouped[1]), grouped[1].mean)
    assert list(grouped) == [0, 1]
    assert pickle.loads(pickle.dumps(grouped)).to_json() == grouped.to_json()  # noqa: S301  our own bytes


def test_a_release_is_not_taken_for_rows(release, grouped):
    for X in (release, grouped):
        with pytest.raises(ArgumentTypeError, match="private already: give the rows"):
            dpmean.mean(X, rho=1, norm_bound=100.0)
        with pytest.raises(ArgumentTypeError, match="private already: give the rows"):
            dpmean.mean_by(X, by=[0, 1, 0], groups=[0, 1], rho=1, norm_bound=100.0)

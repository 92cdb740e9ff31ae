"""Tensors give what memory gives, bit for bit: through the loops on a CPU, and as the operations that a GPU runs."""

import contextlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpmean
from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.numerics.grid import Grid
from dpmean.queries.domain import Domain
from dpmean.rows import opening
from dpmean.rows.memory import MemoryRows
from tests.rows.conformance.problems import (
    DTYPES,
    FEW,
    METHODS,
    answers,
    assert_leaves_out,
    assert_same,
    domains,
    expected,
    expected_of_uneven,
    far_apart,
    needed,
    release,
    rows,
    uneven,
    wanted_answers,
)
from tests.rows.conformance.test_domains import far_and_near

torch = needed("torch", "torch")
TensorRows = needed("dpmean.rows.torch.blocks", "torch").TensorRows


def tensor(dtype, n=None):
    array = rows(dtype) if n is None else rows(dtype, n)
    return torch.tensor(array).to(getattr(torch, dtype))


class AsOnAGpu:
    """A source whose rows are worked on by operations on tensors, in blocks of a size that divides nothing."""

    names = None

    def __init__(self, values, block_rows=4999):
        self.values, self.block_rows = values, block_rows
        self.shape = tuple(values.shape)

    def rows(self, domain):
        return TensorRows(self.values, domain, self.block_rows)


AsOnAGpu.__module__ = opening.__name__  # a source that was opened before
ROOT = Path(__file__).parents[3]
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(scope="module", autouse=True)
def interpreted():
    """Interpret the kernels of a GPU while other tests run; in other processes, as triton decides on its import."""
    parts = min(os.cpu_count(), 4) if sys.platform == "linux" else 0
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    with contextlib.ExitStack() as ends:
        started = []
        for part in range(parts):
            command = [sys.executable, "-m", "tests.rows.conformance.interpreted", str(part), str(parts)]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            process = subprocess.Popen(command, **pipes, env=environment, cwd=ROOT)
            started.append(ends.enter_context(process))
            ends.callback(process.kill)
        yield started


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["by row", "by column"])
def test_tensors_on_a_cpu(dtype, order):
    X = tensor(dtype)
    X = X if order == "by row" else X.T.contiguous().T
    for method, passes in METHODS:
        assert_same(release(X, method, passes), expected(dtype, method, passes))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_on_tensors(dtype, device):
    X = tensor(dtype).to(device)
    for method, passes in METHODS:
        assert_same(release(AsOnAGpu(X), method, passes), expected(dtype, method, passes))


@pytest.mark.parametrize("device", DEVICES)
def test_noise_that_follows_columns_is_the_same(device):
    X = torch.tensor(uneven())
    for made in (X, X.T.contiguous().T, AsOnAGpu(X.to(device), block_rows=499)):
        assert_same(release(made, "refined", 2), expected_of_uneven())


@pytest.mark.parametrize("device", DEVICES)
def test_a_private_number_of_rows_gives_the_same_bits(device):
    X, private = tensor("float64").to(device), {"neighbours": "add-or-remove-one"}
    for method, passes in (("refined", 2), ("shifted", 1)):
        wanted = release(rows("float64"), method, passes, **private)
        assert_same(release(AsOnAGpu(X), method, passes, **private), wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_rows_that_lack_a_value_are_left_out_alike(device):
    assert_leaves_out(torch.tensor)
    assert_leaves_out(lambda array: AsOnAGpu(torch.tensor(array).to(device)))
    if device == "cuda":
        assert_leaves_out(lambda array: torch.tensor(array).to(device))


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("d", [1, 9])
def test_that_there_are_no_rows_is_private_where_their_number_is(device, d):
    nobody = {"neighbours": "add-or-remove-one", "allow_few_rows": True}
    for method, passes in METHODS:
        wanted = release(np.empty((0, d)), method, passes, **nobody)
        for dtype in (torch.float64, torch.bfloat16, torch.int32):
            X = torch.zeros((0, d), dtype=dtype, device=device)
            for source_of_none in (X, AsOnAGpu(X), *([X[:, 0]] if d == 1 else [])):
                assert_same(release(source_of_none, method, passes, **nobody), wanted)
                with pytest.raises(DataError, match="X is empty: give at least one row"):
                    release(source_of_none, method, passes, allow_few_rows=True)
    for shape in ((31415, 0), (31415, 2, 2), ()):
        with pytest.raises(DataError, match="must have shape") as caught:
            release(torch.zeros(shape), "clipped", 2, **nobody)
        assert "31415" not in str(caught.value)


def test_kernels_are_not_asked_about_no_rows():
    once = needed("dpmean.rows.torch.fused", "torch")
    rows = once.read_once(TensorRows(tensor("float64", FEW), Domain.within_norm(5, 64.0, impute=False)))
    assert isinstance(rows.take(np.arange(3)), once.RowsReadOnce)
    assert isinstance(rows.take(np.arange(0)), TensorRows)


@pytest.mark.parametrize("device", DEVICES)
def test_few_rows_boxes_and_one_dimension(device):
    X = tensor("float64", FEW).to(device)
    for method in ("refined", "shifted", "clipped"):
        assert_same(
            release(AsOnAGpu(X.T.contiguous().T), method, 2, box=True), expected("float64", method, 2, FEW, box=True)
        )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_domains_of_every_kind(dtype, device):
    array, X = np.array(rows(dtype, FEW)), tensor(dtype, FEW).to(device)
    if X.dtype.is_floating_point:
        array[3, 1] = array[-1] = np.nan
        X[3, 1] = X[-1] = np.nan
    for domain in domains(array.shape[1]).values():
        found = TensorRows(X, Domain.within_norm(5, 1.0, impute=False), block_rows=97).through(domain)
        assert answers(found, domain) == wanted_answers(array, domain)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("d", [1, 8, 200])
def test_rows_far_beyond_the_bound_are_first_shortened_in_the_users_units(d, device):
    for kind in ("norm", "norm, moved", "norm, beyond"):
        array, domain = far_and_near(d), domains(d)[kind]
        array[14] = domain.middle
        found = TensorRows(torch.tensor(array).to(device), domain, block_rows=97)
        assert answers(found, domain) == wanted_answers(array, domain)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("passes", [1, 2])
def test_one_dimension(device, passes):
    array = rows("float32")[:, :1]
    wanted = dpmean.mean(array, rho=4.0, norm_bound=64.0, seed=2, passes=passes)
    found = dpmean.mean(AsOnAGpu(torch.tensor(array).to(device)), rho=4.0, norm_bound=64.0, seed=2, passes=passes)
    assert_same(found, wanted)
    assert_same(dpmean.mean(torch.tensor(array)[:, 0], rho=4.0, norm_bound=64.0, seed=2, passes=passes), wanted)


def test_missing_values_are_refused_or_imputed():
    array = np.array(rows("float64", FEW))
    array[3, 1], array[5] = np.nan, np.inf
    X = AsOnAGpu(torch.tensor(array))
    with pytest.raises(DataError, match="NaN or infinity"):
        release(X, "refined", 2)
    settings = {"rho": 4.0, "norm_bound": 64.0, "seed": 1, "nan": "impute"}
    assert_same(dpmean.mean(X, **settings), dpmean.mean(array, **settings))


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ArgumentTypeError, match="dense tensor of real numbers"):
        release(torch.zeros(3, 3, dtype=torch.complex64), "clipped", 2)
    with pytest.raises(ArgumentTypeError, match=r"got a sparse_coo tensor: use X.to_dense\(\)"):
        release(torch.zeros(3, 3).to_sparse(), "clipped", 2)
    with pytest.raises(ArgumentTypeError, match=r"got torch.float8_e4m3fn: use X.to\(torch.float32\)"):
        release(torch.zeros(3, 3).to(torch.float8_e4m3fn), "clipped", 2)
    with pytest.raises(
        DataError, match=r"got 3 dimensions: flatten each row, for example with X.reshape\(len\(X\), -1\)"
    ):
        release(torch.zeros(3, 3, 3), "clipped", 2)
    with pytest.raises(DataError, match="at least one row"):
        release(torch.zeros(0, 3), "clipped", 2)
    with pytest.raises(ArgumentTypeError, match="no exact float64: move it to a CPU or CUDA device"):
        release(torch.zeros(3, 3, device="meta"), "clipped", 2)


def test_persons_and_groups_are_those_of_an_array():
    draw = np.random.default_rng(6)
    who, place = draw.integers(0, 200, FEW), draw.integers(0, 3, FEW)
    settings = {"rho": 4.0, "norm_bound": 64.0, "seed": 1, "allow_few_rows": True}
    for dtype in DTYPES:
        array, X = rows(dtype, FEW), tensor(dtype, FEW)
        wanted = dpmean.mean(array, privacy_unit=who, nan="impute", **settings).to_json()
        for keys in (who, torch.tensor(who), torch.tensor(who).double()):
            assert dpmean.mean(X, privacy_unit=keys, nan="impute", **settings).to_json() == wanted
        asked = {"groups": [0, 2], "nan": "impute", **settings}
        for persons in ({}, {"privacy_unit": who}):
            wanted = dpmean.mean_by(array, by=place, **asked, **persons).to_json()
            for keys in (place, torch.tensor(place)):
                assert dpmean.mean_by(X, by=keys, **asked, **persons).to_json() == wanted
    one = dpmean.mean_by(X[:, 0].requires_grad_() if X.is_floating_point() else X[:, 0], by=place, **asked)
    assert one.to_json() == dpmean.mean_by(array[:, 0], by=place, **asked).to_json()


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
def test_what_waits_to_be_negated_is_read_as_it_is():
    array = rows("float64", FEW)
    array = np.where(np.isfinite(array), array, 0.0)
    negative = torch.complex(torch.zeros(array.shape).double(), torch.tensor(-array)).conj().imag
    assert negative.is_neg()
    settings = {"rho": 4.0, "norm_bound": 64.0, "seed": 1, "allow_few_rows": True}
    assert_same(dpmean.mean(negative, **settings), dpmean.mean(array, **settings))
    keys = torch.complex(torch.zeros(FEW), -(torch.arange(FEW) % 7.0)).conj().imag
    wanted = dpmean.mean(array, privacy_unit=np.arange(FEW) % 7, **settings)
    assert dpmean.mean(array, privacy_unit=keys, **settings).to_json() == wanted.to_json()


def test_keys_that_would_be_merged_or_are_not_beside_rows_are_refused():
    X, settings = torch.zeros(3, 2), {"rho": 1.0, "norm_bound": 1.0}
    for keys, error, words in (
        (torch.tensor([2.0**24, 1.0, 2.0]), DataError, r"holds floats of 2\^24 or more"),
        (torch.tensor([1.0, 2.0, 3.0]).bfloat16(), ArgumentTypeError, "Enum members as keys, got bfloat16 numbers"),
        (torch.ones(3).to_sparse(), ArgumentTypeError, "Enum members as keys, got a sparse_coo tensor"),
        (torch.ones(3).to(torch.float8_e5m2), ArgumentTypeError, "Enum members as keys, got torch.float8_e5m2"),
        (torch.ones(3).to(torch.complex64).conj(), ArgumentTypeError, "Enum members as keys, got torch.complex64"),
        (torch.ones(3, device="meta"), ArgumentTypeError, "Enum members as keys, got a meta tensor"),
        (torch.tensor([1, 2]), ArgumentError, "as many keys as X has rows, in one dimension"),
        (torch.ones(3, 1), ArgumentError, "as many keys as X has rows, in one dimension"),
        ("who", ArgumentError, "there is no column 'who': X is an array; pass one key per row"),
    ):
        with pytest.raises(error, match=words):
            dpmean.mean(X, privacy_unit=keys, **settings)
    with pytest.raises(
        ArgumentTypeError, match=r"persons and groups need a tensor on a CPU, got a tensor on meta: give X.cpu\(\)"
    ):
        dpmean.mean(X.to("meta"), privacy_unit=[1, 2, 3], **settings)


def test_the_bench_says_that_it_needs_a_gpu(monkeypatch, capsys):
    from bench import gpu

    monkeypatch.setattr(sys, "argv", ["gpu"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit):
        gpu.main()
    assert "there is no CUDA device" in capsys.readouterr().err


def test_gradients_are_left_alone():
    X = tensor("float64", FEW).requires_grad_()
    assert_same(release(X, "clipped", 2), expected("float64", "clipped", 2, FEW))
    assert X.grad is None


def test_frames_are_seen_through():
    values = torch.arange(12.0, dtype=torch.float64).view(4, 3)
    found = TensorRows(values, Domain.within_norm(3, 10.0, impute=False)).take(np.array([2, 0]))
    assert found.tensor.tolist() == values[[2, 0]].tolist()
    assert (found.n, found.d, found.collect()) == (2, 3, found)


def test_kernels_of_a_gpu_give_the_same_whole_numbers(interpreted):
    if not interpreted:
        pytest.skip("there is no triton for this system")
    needed("triton", "engines")
    agreed = 0
    for process in interpreted:
        said, wrong = process.communicate()
        assert process.returncode == 0, wrong
        agreed += int(said)
    assert agreed == 59


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("d", [4, 9, 16])
def test_rows_beyond_the_bound_are_rounded_as_in_memory(device, d):
    """A few such rows are worked on by the host and many by blocks, so both must give the same whole numbers.

    Brought within the bound, these rows lie on the grid if they are rounded once, and next to it if twice.
    """
    array, domain = np.repeat(np.arange(70, 1000)[:, None], d, axis=1), Domain.within_norm(d, 64.0, impute=False)
    there, here = TensorRows(torch.tensor(array).to(device), domain), MemoryRows(array, domain)
    grid = Grid(2.0**-20, 64.0, d)
    for middle, radius in itertools.product((0.0, 2.5, -7.0), (8.0, 50.0, 63.0, 100.0)):
        centre = np.full(d, middle)
        ball, shells, view = grid.ball(centre, radius), grid.shells(centre, [radius, 4.0], 930), grid.distances(centre)
        assert np.array_equal(there.answer(ball), here.answer(ball))
        assert np.array_equal(there.answer(shells).outer, here.answer(shells).outer)
        assert np.array_equal(there.answer(view).counts, here.answer(view).counts)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("by_row", [True, False])
def test_rows_and_columns_may_lie_beyond_32_bits(device, by_row):
    """On a GPU by kernels and by blocks, on a CPU by the loops and by blocks; kernels are interpreted above."""
    array = np.random.default_rng(3).integers(-60, 61, (4, 700) if by_row else (700, 4)).astype("int8")
    X = far_apart(array, device, by_row=by_row)
    assert max(size * stride for size, stride in zip(X.shape, X.stride(), strict=True)) > 2**31
    settings = {"rho": 4.0, "norm_bound": 1000.0, "seed": 2, "allow_few_rows": True}
    for method, passes in METHODS:
        wanted = dpmean.mean(array, method=method, passes=passes, **settings)
        assert_same(dpmean.mean(X, method=method, passes=passes, **settings), wanted)
        assert_same(dpmean.mean(AsOnAGpu(X), method=method, passes=passes, **settings), wanted)

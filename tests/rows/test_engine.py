"""What an engine returns is checked, and errors name the verb and the cure, but no number of rows."""

import re

import numpy as np
import pytest

import dpmean
from dpmean.engines import Streamed
from dpmean.errors import ArgumentTypeError, DataError

ROWS = np.random.default_rng(0).normal(5, 1, (20_011, 4))
SETTINGS = {"rho": 0.5, "norm_bound": 60.0, "seed": 1}


class Toy:
    """An engine that is right, but for what is put in between."""

    shape = ROWS.shape

    def __init__(self, answer=lambda total, count: (total, count), gathered=lambda rows: rows):
        self.answer, self.gathered = answer, gathered

    def add_up(self, kernel):
        total = kernel.zeros()
        kernel.add(ROWS, total)
        return self.answer(total, len(ROWS))

    def gather(self, positions):
        return self.gathered(ROWS[positions])


def test_an_engine_that_is_right_gives_the_same_release_as_memory():
    for count in (int, np.int64):
        release = dpmean.mean(Streamed(Toy(lambda total, n, count=count: (total, count(n)))), **SETTINGS)
        assert np.array_equal(release.mean, dpmean.mean(ROWS, **SETTINGS).mean)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda total, _: total, "the total and the number of rows as a tuple, got ndarray: return total, count"),
        (
            lambda total, n: (total, n, n),
            "the total and the number of rows as a tuple, got a tuple of another length: return",
        ),
        (lambda _, n: n, "the total and the number of rows as a tuple, got int: return total, count"),
        (lambda total, n: (total.astype(float), n), "a total of int64 .*, got an array of floats: begin"),
        (lambda total, n: (total.tolist(), n), "a total of int64 .*, got list: begin with kernel.zeros()"),
        (lambda total, n: (total[..., :-1], n), "a total of int64 in the shape kernel.shape, got another shape: begin"),
        (lambda _, n: (np.zeros((n, 4), np.int64), n), "in the shape kernel.shape, got another shape: begin"),
        (lambda total, n: (total, float(n)), "the number of rows as an integer, got float: count the rows"),
        (lambda total, _: (total, True), "the number of rows as an integer, got bool: count the rows"),
    ],
)
def test_what_add_up_returns_is_checked(answer, words):
    with pytest.raises(ArgumentTypeError, match=f"add_up of the engine must return .*{words}") as caught:
        dpmean.mean(Streamed(Toy(answer)), **SETTINGS)
    assert not re.search(r"20.?0\d\d", str(caught.value))


@pytest.mark.parametrize(
    ("gathered", "words"),
    [
        (lambda rows: rows.tolist(), "got list: return a NumPy array of shape"),
        (lambda rows: rows.astype(str), "got an array of text: return"),
        (lambda rows: rows.astype(object), "got an array of objects: return"),
        (lambda rows: rows[:, :3], "got another shape: return a NumPy array of shape"),
        (lambda rows: rows[:, 0], "got another shape: return a NumPy array of shape"),
    ],
)
def test_what_gather_returns_is_checked(gathered, words):
    with pytest.raises(ArgumentTypeError, match=f"gather of the engine must return an array of numbers .*{words}"):
        dpmean.mean(Streamed(Toy(gathered=gathered)), **SETTINGS)


@pytest.mark.parametrize("toy", [Toy(lambda total, n: (total, n - 1)), Toy(gathered=lambda rows: rows[1:])])
def test_a_wrong_number_of_rows_is_refused_and_no_number_is_told(toy):
    words = r"the rows changed .*an engine of your own must read each row exactly once"
    with pytest.raises(DataError, match=words) as caught:
        dpmean.mean(Streamed(toy), **SETTINGS)
    assert not re.search(r"\d", str(caught.value))


def test_a_block_is_an_array():
    class Listed(Toy):
        def add_up(self, kernel):
            total = kernel.zeros()
            kernel.add(ROWS.tolist(), total)
            return total, len(ROWS)

    with pytest.raises(ArgumentTypeError, match=r"kernel\.add takes an array of rows, got list: use numpy\.asarray"):
        dpmean.mean(Streamed(Listed()), **SETTINGS)

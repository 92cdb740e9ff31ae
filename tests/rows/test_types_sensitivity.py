"""Rows of every type of number and every sparse format: one of them moves answers by what is paid for.

As in test_sensitivity.py, a run is recorded and its questions are put to neighbours, here by brute force: one row is
replaced by each of the extremes of its type, or left out, and the answers are compared two by two.
"""

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

import dpmean
from dpmean.arguments.rows import read_rows
from tests.support import runs
from tests.support.recorder import Binned, Counted, Histogrammed, Octaved, Shelled, Squared, Summed
from tests.support.runs import REACH, assert_paid_for, squared, with_and_without

WIDE = 2.0**63
"""A bound within which 64-bit integers lie that no float holds exactly."""
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "longdouble")


@dataclass(frozen=True)
class Dense:
    """Rows in an array of one type."""

    dtype: str

    def records(self, run):
        return self.crowd(run.seed, run.n, run.d, run.reach)

    def crowd(self, seed, n, d, reach):
        values = np.random.default_rng(seed).normal(0.1 * reach, 0.2 * reach, (n, d))
        if self.dtype == "bool":
            return values > 0
        if self.dtype in FLOATS:
            return values.astype(self.dtype)
        ends = np.iinfo(self.dtype)
        low, high = (float(end) for end in (ends.min, ends.max))  # the last one may be beyond the type
        return np.clip(values, low / 2, high / 2).astype(self.dtype)

    def values(self):
        """Return the ends of the type, what lies next to them, and what else is special."""
        if self.dtype == "bool":
            return [False, True]
        if self.dtype in FLOATS:
            ends = np.finfo(self.dtype)
            return [ends.min, ends.max, 0.0, -0.0, 30.0, ends.smallest_subnormal, np.nan, np.inf, -np.inf]
        ends = np.iinfo(self.dtype)
        values = {ends.min, ends.min + 1, ends.max, ends.max - 1, 0, 1, 50, *(2**k + 1 for k in (53, 54, 60, 62))}
        return sorted(value for value in values if ends.min <= value <= ends.max)

    def extremes(self, d):
        """Return rows of each of these values alone, and together with the least."""
        values = self.values()
        rows = [(value,) * d for value in values] + [(values[0],) * (d - 1) + (value,) for value in values if d > 1]
        return [np.array(row, dtype=self.dtype) for row in rows]

    def rows(self, data, domain):
        return read_rows(data).rows(domain)


@dataclass(frozen=True)
class Sparse:
    """Rows of a sparse matrix; a record is the entries of a row, columns and values, in any order, often twice."""

    format: str
    dtype: str = "float64"

    @property
    def like(self):
        return Dense(self.dtype)

    def records(self, run):
        found = []
        for i, row in enumerate(self.like.records(run)):
            found.append(self.cancelling() if i % 4 == 0 else (np.arange(run.d), row))
        return found

    def cancelling(self):
        """Return entries that add up to another value in another order, more than are sorted one by one."""
        values = [2**60, 1, -(2**60)] * 9 if self.dtype == "float64" else [1, 0, 1] * 9
        return np.zeros(27, dtype=int), np.array(values, dtype=self.dtype)

    def extremes(self, d):
        columns = np.arange(d)
        dense = [(columns, np.full(d, value, dtype=self.dtype)) for value in self.like.values()]
        last, first = columns[::-1], np.ones(d, dtype=self.dtype)
        others = [(last, first), (np.repeat(columns, 3), np.repeat(first, 3)), (np.tile(last, 20), np.tile(first, 20))]
        return [*dense, *others, (columns[:0], first[:0]), (columns, first * 0)]

    def rows(self, data, domain):
        return read_rows(self.matrix(data, domain.d)).rows(domain)

    def matrix(self, records, d):
        rows = np.repeat(np.arange(len(records)), [len(columns) for columns, _ in records])
        columns, values = (np.concatenate(parts) for parts in zip(*records, strict=True))
        values, shape = values.astype(self.dtype), (len(records), d)
        if self.format == "coo":
            return sparse.coo_array((values, (rows, columns)), shape=shape)
        if self.format == "csr":
            ends = np.searchsorted(rows, np.arange(len(records) + 1))
            return sparse.csr_array((values, columns, ends), shape=shape)
        order = np.argsort(columns, kind="stable")
        ends = np.searchsorted(columns[order], np.arange(d + 1))
        found = sparse.csc_array((values[order], rows[order], ends), shape=shape)
        return found if self.format == "csc" else sparse.csr_array(found.toarray()).asformat(self.format)


WAYS = (
    ("refined", 1, 0.5),
    ("refined", 3, 5.0),
    ("refined", 2, 200.0),
    ("refined", 17, 200.0),
    ("shifted", 3, 1.0),
    ("clipped", 3, 0.5),
)


@cache
def runs_of(kind, reach=REACH, **shape):
    """Return one run for each way to ask, and for each kind of neighbours."""
    settings = {"n": 41, "reach": reach, "kind": kind, "coins": "types", **shape}
    return [
        runs.Run(method, d, rho, 3, uncounted=uncounted, one_pass=method == "clipped", **settings)
        for (method, d, rho), uncounted in itertools.product(WAYS, (False, True))
    ]


DENSE = [Dense(dtype) for dtype in (*INTEGERS, *FLOATS, "bool")]
SPARSE = [
    *(Sparse(name) for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")),
    *(Sparse(name, dtype) for name in ("csr", "coo") for dtype in ("int8", "int64", "uint64", "bool")),
]
CASES = [
    *((kind, REACH) for kind in (*DENSE, *SPARSE)),
    *((Dense(dtype), WIDE) for dtype in ("int32", "uint32", "int64", "uint64", "float32")),
    *((Sparse("csr", dtype), WIDE) for dtype in ("int64", "uint64")),
]


RESHAPED = [
    *((kind, {"reshaped": True, "box": box}) for kind in DENSE for box in (False, True)),
    *((Sparse(name), {"reshaped": True, "box": box}) for name in ("csr", "coo") for box in (False, True)),
]


def replaced(data, row, record):
    neighbour = data.copy()
    neighbour[row] = record
    return neighbour


def assert_neighbours_paid_for(run, row, records):
    """Put any of some records in the place of a row: all of these are neighbours, and so are all without it."""
    neighbours = [run.data, *(replaced(run.data, row, record) for record in records)]
    for question in run.recorded.questions:
        if run.uncounted:
            for data in neighbours:
                assert_paid_for(run, question, *with_and_without(run, question, data, row))
        else:
            answers = [question.ask(run.rows(data)) for data in neighbours]
            for before, after in itertools.combinations(answers, 2):
                assert_paid_for(run, question, before, after)


@pytest.mark.parametrize(("kind", "reach"), CASES, ids=str)
def test_one_row_of_any_type_moves_answers_by_what_is_paid_for(kind, reach):
    for run in runs_of(kind, reach):
        assert_neighbours_paid_for(run, 5, kind.extremes(run.d))


@pytest.mark.parametrize(("kind", "shape"), RESHAPED, ids=str)
def test_one_row_moves_answers_by_what_is_paid_for_in_a_domain_of_any_shape(kind, shape):
    for run in runs_of(kind, **shape):
        assert_neighbours_paid_for(run, 5, kind.extremes(run.d))


@pytest.mark.parametrize(("kind", "shape"), RESHAPED, ids=str)
def test_a_row_is_read_by_itself_in_a_domain_of_any_shape(kind, shape):
    assert_read_by_itself(next(run for run in runs_of(kind, **shape) if run.d == 3))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_all_values_of_eight_bits_move_answers_by_what_is_paid_for(dtype):
    kind, ends = Dense(dtype), np.iinfo(dtype)
    for run in runs_of(kind):
        if run.d == 1:
            for low in range(ends.min, ends.max + 1, 16):
                values = {ends.min, 0, ends.max, *range(low, low + 16)}
                assert_neighbours_paid_for(run, 7, [np.array([value], dtype=dtype) for value in sorted(values)])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from([Dense("int64"), Dense("uint64"), Sparse("csr", "int64"), Sparse("coo", "int64")]),
    values=st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6),
    row=st.integers(0, 40),
)
@example(Dense("int64"), [2**63, 2**63 - 1, 2**53 + 1, 2**64 - 2**53 - 1, 0, 1], 0)
@example(Dense("uint64"), [2**64 - 1, 2**64 - 1024, 2**64 - 1025, 2**63, 2**53 + 1, 0], 40)
def test_one_row_of_any_64_bits_moves_answers_by_what_is_paid_for(kind, values, row):
    for run in runs_of(kind, WIDE):
        if run.d == 3:
            records = np.array(values, dtype=np.uint64).view(kind.dtype).reshape(2, 3)
            if isinstance(kind, Sparse):
                records = [(np.array([2, 0, 2]), record) for record in records]
            assert_neighbours_paid_for(run, row, records)


@pytest.mark.parametrize(("kind", "reach"), CASES, ids=str)
def test_a_row_is_read_by_itself(kind, reach):
    """Whatever one row holds, all others come out the same, to the bit; and whether a row is there changes none."""
    assert_read_by_itself(next(run for run in runs_of(kind, reach) if run.d == 3))


def assert_read_by_itself(run):
    alone = [run.rows(run.data[i : i + 1]).values()[0] for i in range(run.n)]
    for record in run.kind.extremes(run.d):
        found = run.rows(replaced(run.data, 5, record)).values()
        assert all(found[i].tobytes() == alone[i].tobytes() for i in range(run.n) if i != 5)


def test_entries_of_one_place_are_added_up_in_the_order_of_their_row():
    """Those of the crowd come to another value where scipy sorts them, so the tests above can fail."""
    kind = Sparse("coo")
    cancelling, unsorted = kind.cancelling(), (np.array([1, 0]), np.ones(2))
    matrix = kind.matrix([cancelling, unsorted], 2)
    assert matrix.tocsr().toarray()[0, 0] != kind.matrix([cancelling], 2).tocsr().toarray()[0, 0]
    domain = runs.Run("clipped", 2, 1.0, 1).domain
    assert read_rows(matrix).rows(domain).values()[0, 0] == 0.0
    assert not matrix.has_canonical_format


@pytest.mark.parametrize("kind", [Dense("int8"), Dense("float16"), Sparse("coo"), Sparse("csr", "int64")], ids=str)
def test_half_of_what_is_paid_for_would_not_be_enough(kind):
    """The tests above can fail: of rows that are replaced, two count, and of rows that are there or not, one."""
    run = runs_of(kind)[2]
    question = next(question for question in run.recorded.questions if isinstance(question, Summed))
    answers = [question.ask(run.rows(replaced(run.data, 5, record))) for record in kind.extremes(run.d)]
    moves = [squared(after - before) for before, after in itertools.combinations(answers, 2)]
    assert question.ball.radius**2 < max(moves) <= (2 * question.ball.radius) ** 2


def test_the_cases_cover_what_can_be_asked():
    asked = {type(question) for run in runs_of(Dense("int16")) for question in run.recorded.questions}
    assert asked == {Counted, Histogrammed, Summed, Shelled, Binned, Squared}
    boxed = runs_of(Dense("int16"), box=True, reshaped=True)
    assert Octaved in {type(question) for run in boxed for question in run.recorded.questions}
    assert any(step == "medians" for run in boxed for step, *_ in run.recorded.draws)
    weighed = [run for run in runs_of(Dense("int16")) if run.recorded.weights]
    assert {run.uncounted for run in weighed} == {True, False}


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("place", [3, 7, -1])
def test_entries_outside_of_a_sparse_matrix_are_refused(format, place):  # noqa: A002  scipy calls it so
    """Scipy would take a column number that is too large for one in the next row."""
    matrix = sparse.csr_array(np.full((50, 3), 0.1)).asformat(format)
    if format == "coo":
        matrix.col[4] = place
    else:
        matrix.indices[4 if format != "bsr" else 0] = place if format == "csr" else place + 50 * (place > 0)
    with pytest.raises(dpmean.DataError, match="an entry outside"):
        dpmean.mean(matrix, rho=5, norm_bound=1.0, method="clipped", allow_few_rows=True)

"""Whatever the domain, every engine and every path gives the same whole numbers: those of rows that numpy mapped."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from dpmean.arguments.rows import read_rows
from dpmean.errors import DataError
from dpmean.numerics.grid import Grid
from dpmean.queries.domain import Domain
from dpmean.queries.queries import BallSquares, Columns, Octaves, Squares
from dpmean.rows import block_query
from dpmean.rows.engine import Streamed
from dpmean.rows.memory import MemoryRows
from tests.rows.conformance.problems import (
    BOUND,
    D,
    answers,
    domains,
    in_working_units,
    questions,
    questions_of_shape,
    rows,
    shortened,
    wanted_answers,
)
from tests.support.pair_answers import ball_squares_of, differences, octaves_of, places_of, squares_of

KINDS = list(domains(D))
N = 1100  # in groups of any size, some are left over


def missing(dtype="float64", d=D):
    """Return rows with values that are missing, alone and all at once."""
    array = np.array(rows(dtype, N))[:, :d]
    if array.dtype.kind == "f":
        array[3, 1 % d], array[5], array[-1, 0], array[-2] = np.nan, np.inf, -np.inf, np.nan
    return array


@pytest.fixture(scope="module", params=KINDS)
def domain(request):
    return domains(D)[request.param]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int16", "uint8", "bool", ">f8"])
def test_memory_in_all_types_and_layouts(domain, dtype):
    with np.errstate(over="ignore", invalid="ignore"):
        array = missing("int16" if dtype in ("int64", "int16", "uint8", "bool") else "float64").astype(dtype)
    wanted = wanted_answers(array, domain)
    apart = np.zeros((2 * N, 3 * D), dtype=dtype)[::2, ::3]
    apart[:] = array
    for other in (array, np.asfortranarray(array), apart):
        assert answers(MemoryRows(other, domain), domain) == wanted


@pytest.mark.parametrize("d", [1, 2, 7, 8, 300])
def test_rows_of_any_width(d):
    array = np.random.default_rng(d).standard_t(2, (257, d)) * 3 + 5
    array[3, d // 2], array[4] = np.nan, 1e300
    for domain in domains(d).values():
        assert answers(MemoryRows(array, domain), domain) == wanted_answers(array, domain)


@pytest.mark.parametrize("d", [1, 2, 8, 33, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_questions_of_shape_are_answered_as_numpy_does(kind, d):
    """Not by a loop of ours: differences in pairs, and where values are, of rows of any size, also huge and missing."""
    array, domain = far_and_near(d), domains(d)[kind]
    rows = in_working_units(array, domain).array
    rows = rows if domain.ball is not None else shortened(rows, domain.reach)
    apart, found = differences(rows), MemoryRows(array, domain)
    for question in questions_of_shape(domain):
        answer = found.answer(question)
        match question:
            case Octaves():
                assert answer.tolist() == octaves_of(apart, question).tolist()
                assert answer.sum() > 0
            case Squares():
                assert answer.tolist() == squares_of(apart, question).tolist()
                assert answer.sum() > 0
            case BallSquares():
                assert answer.tolist() == ball_squares_of(rows, question)
                assert answer.sum() > 0
            case Columns():
                places = places_of(rows, question)
                assert answer.indices.tolist() == places.tolist()
                index = question.last // 2
                assert answer.count_at_most(index).tolist() == (places <= index[:, None]).sum(axis=1).tolist()


@pytest.mark.parametrize("d", [1, 2, 8, 33, 784])
@pytest.mark.parametrize("kind", ["norm", "norm, reshaped", "norm, moved", "norm, beyond"])
def test_rows_far_beyond_the_bound_are_first_shortened_to_it_in_the_users_units(kind, d):
    array, domain = far_and_near(d), domains(d)[kind]
    array[14] = domain.middle  # at a distance of zero, and yet beyond the bound for one kind
    wanted = wanted_answers(array, domain)
    assert answers(MemoryRows(array, domain), domain) == wanted
    finite = np.where(np.isfinite(array), array, 0.0)
    near = shortened(finite, BOUND)
    assert np.linalg.norm(near / BOUND, axis=1).max() < 1 + 1e-6
    assert answers(MemoryRows(finite, domain), domain) == wanted
    assert np.allclose(domain.to_user(MemoryRows(array, domain).values()), near, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["norm", "norm, reshaped", "norm, moved", "norm, beyond"])
def test_numbers_far_beyond_the_bound_are_counted_on_their_side(kind):
    domain = domains(1)[kind]
    array = np.array([[1e300], [-1e300], [BOUND * 1.5], [-BOUND * (1 + 1e-12)], [5e-324], [3.0]])
    for centre in (0.0, 2.0):
        sides = Grid(2.0**-20, domain.reach, 1).sides(np.array([centre]))
        ends = domain.working(np.clip(array, -BOUND, BOUND))
        plain = MemoryRows(ends, Domain.within_norm(1, 2 * domain.reach, impute=False))
        assert np.array_equal(MemoryRows(array, domain).answer(sides).counts, plain.answer(sides).counts)


def far_and_near(d):
    """Return rows within a bound on the norm, slightly and far beyond it, huge and tiny ones; some lack values."""
    array = np.random.default_rng(d).standard_t(2, (300, d)) * 3 + 5 / d**0.5
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    array[20:120] *= BOUND / lengths[20:120] * np.geomspace(1 - 1e-6, 1e6, 100)[:, np.newaxis]
    array[::9] *= 1e250
    array[1::9] *= 1e-315
    array[2], array[3], array[4], array[5, d // 2] = 1e300, -0.0, 5e-324, 1e308
    array[6, 0], array[7], array[8, -1], array[8, 0] = np.nan, np.inf, -np.inf, 1e300
    array[9::40, 0] = np.nan
    return array


@pytest.mark.parametrize("block_bytes", [1, 3000, 1 << 30])
@pytest.mark.parametrize(("threads", "span_rows"), [(1, 16), (2, 496), (2, None)])
def test_blocks_threads_and_spans_do_not_show(domain, block_bytes, threads, span_rows, monkeypatch):
    array = missing()
    wanted = wanted_answers(array, domain)
    monkeypatch.setattr(block_query, "BLOCK_BYTES", block_bytes)
    for other in (array, np.asfortranarray(array)):
        assert answers(MemoryRows(other, domain, threads=threads, span_rows=span_rows), domain) == wanted


def test_positions_are_those_rows(domain):
    array, places = missing(), np.random.default_rng(1).permutation(N)[:333]
    wanted = wanted_answers(array[places], domain)
    assert answers(MemoryRows(array, domain).take(places), domain) == wanted
    assert answers(MemoryRows(array, domain, positions=places[::-1]).take(np.arange(333)[::-1]), domain) == wanted
    assert (
        answers(MemoryRows(array, Domain.within_norm(D, 1.0, impute=False), places).through(domain), domain) == wanted
    )


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_rows_whose_zeros_are_mapped_like_any_value(domain, kind):
    array = missing()
    array[np.random.default_rng(2).random(array.shape) < 0.7] = 0.0
    found = read_rows(scipy.sparse.coo_array(array).asformat(kind)).rows(domain)
    assert answers(found, domain) == wanted_answers(array, domain)


class InPieces:
    """An engine that hands on rows in pieces of any size."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def add_up(self, kernel):
        total = kernel.zeros()
        for piece in np.array_split(self.array, [1, 18, 19, 700]):
            kernel.add(piece, total)
        return total, len(self.array)

    def gather(self, positions):
        return self.array[positions]


def test_rows_that_are_streamed(domain):
    array = missing()
    found = Streamed(InPieces(array)).rows(Domain.within_norm(D, 1.0, impute=False)).through(domain)
    assert answers(found, domain) == wanted_answers(array, domain)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", [0, 1])
def test_a_value_that_is_not_finite_ends_every_question_unless_imputed(kind, place):
    array = np.array(rows("float64", 40))
    array[17, place] = np.nan
    domain = domains(D)[kind]
    for refusing in (domains(D, impute=False)[kind], replace(domain, strict=(place,))):
        for question in questions(domain, len(array)):
            with pytest.raises(DataError, match="NaN or infinity"):
                MemoryRows(array, refusing).answer(question)
    assert answers(MemoryRows(array, replace(domain, strict=(2,))), domain) == wanted_answers(array, domain)

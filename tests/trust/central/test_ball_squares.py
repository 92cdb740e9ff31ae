"""Squares of the rows, column by column: by how much one row moves them, and the noise that is paid for.

As in test_sensitivity.py there is no chance in what answers may move by; every bound is shown to reject answers, and
prices, that are slightly wrong.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmean import ArgumentError, Neighbours, OverspendError, Zcdp
from dpmean.noise.source import seeded
from dpmean.numerics.grid import SQUARE_BITS, Grid, norm_bits
from dpmean.queries.domain import Domain
from dpmean.queries.queries import BallSquares
from dpmean.rows.memory import MemoryRows
from dpmean.rows.private_size import PrivateSizeRows
from dpmean.trust.central.curator import Curator
from tests.support.pair_answers import ball_squares_of
from tests.support.recorder import RecordingNoise
from tests.support.runs import nasty, squared
from tests.trust.central.test_shape_questions import assert_noise, domains_of

REACH = 64.0


def seen(rows, domain=None):
    rows = np.asarray(rows, dtype=float)
    return MemoryRows(rows, domain or Domain.within_norm(rows.shape[1], REACH, impute=True), threads=1)


def queries(domain):
    """Return balls of several sizes, around several centres: in fine units as they are asked, and in coarse ones."""
    grid = Grid.at_least(domain.reach * 2.0**-20, domain.reach, domain.d)
    for centre in (np.zeros(domain.d), np.full(domain.d, domain.reach / 7)):
        for radius in (0.9 * domain.reach, domain.reach / 9, domain.reach / 300):
            yield grid.ball_squares(centre, radius, 1000)
        yield BallSquares(centre, domain.reach / 9, 7, 1)


def price(query, neighbours):
    """Return the squared sensitivity that is charged."""
    twice = neighbours is Neighbours.REPLACE_ONE and len(query.centre) > 1
    return query.length**2 * (2 if twice else 1)


# --- by how much one row moves answers -------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_one_row_replaced_or_not_there_moves_squares_by_what_is_paid_for(data):
    d, n = data.draw(st.sampled_from([1, 2, 3, 8])), data.draw(st.integers(1, 9))
    domain = data.draw(st.sampled_from(domains_of(d)))
    row = st.lists(nasty, min_size=d, max_size=d)
    rows = np.array(data.draw(st.lists(row, min_size=n, max_size=n)))
    other, at = rows.copy(), data.draw(st.integers(0, n - 1))
    other[at] = data.draw(row)
    for query in queries(domain):
        one, two = (seen(each, domain).answer(query) for each in (rows, other))
        assert squared(two - one) <= price(query, Neighbours.REPLACE_ONE)
        fewer = seen(np.delete(rows, at, axis=0), domain).answer(query)
        assert squared(one - fewer) <= price(query, Neighbours.ADD_OR_REMOVE_ONE)
        assert (one - fewer).min() >= 0


@pytest.mark.parametrize("d", [2, 5])
def test_the_price_of_squares_is_reached(d):
    """A row at one end of a column, and another at the end of the next; or a row that is not there."""
    query, ends = BallSquares(np.zeros(d), 1.0, 16, 4), np.eye(d)[:2] * 16.0
    one, two = (seen([end]).answer(query) for end in ends)
    assert squared(two - one) == price(query, Neighbours.REPLACE_ONE) == 2 * 16**2
    nothing = seen(np.zeros((1, d))).answer(query)
    assert squared(one - nothing) == price(query, Neighbours.ADD_OR_REMOVE_ONE) == 16**2


def test_the_price_of_squares_is_reached_in_one_column():
    query = BallSquares(np.zeros(1), 1.0, 16, 4)
    far, near = (seen([[end]]).answer(query) for end in (16.0, 0.0))
    assert squared(far - near) == price(query, Neighbours.REPLACE_ONE) == 16**2


@pytest.mark.parametrize("d", [2, 4, 33, 1000])
def test_rows_of_any_direction_reach_no_more_than_is_paid_for(d):
    """Hill climbing by chance alone: rows far outside of the ball, uneven ones among them."""
    generator, best = np.random.default_rng(d), 0
    grid = Grid.at_least(REACH * 2.0**-20, REACH, d)
    query = grid.ball_squares(np.zeros(d), REACH / 4, 1000)
    for power in (1, 3, 9, 27, 81):
        rows = generator.normal(size=(40, d)) ** power
        rows *= REACH / 2 / np.abs(rows).max(axis=1, keepdims=True)
        answers = [seen(row[np.newaxis]).answer(query) for row in rows]
        best = max(best, *(squared(two - one) for one in answers for two in answers[:9]))
    assert 0.8 * 2 * query.length**2 <= best <= 2 * query.length**2


def in_a_ball(rows, query, *, wrong):
    """Return squares of rows that are handled wrongly."""
    whole = np.trunc(np.asarray(rows) / query.unit)
    if wrong == "rounded up":
        return [int(-(-(x**2).astype(int) // (1 << query.shift)).sum()) for x in whole.T]
    assert wrong == "clipped column by column"
    return [int(((np.clip(x, -query.radius, query.radius) ** 2).astype(int) >> query.shift).sum()) for x in whole.T]


@pytest.mark.parametrize(
    ("wrong", "row"), [("rounded up", np.full(9, 5.0)), ("clipped column by column", np.full(9, 20.0))]
)
def test_squares_that_are_slightly_wrong_cost_more_than_is_paid(wrong, row):
    """A row at nearly the end of the ball, of which every square is rounded up; one that is not clipped as a whole."""
    query = BallSquares(np.zeros(9), 1.0, 16, 7)
    right, bad = seen([row]).answer(query), in_a_ball([row], query, wrong=wrong)
    assert squared(right) <= price(query, Neighbours.ADD_OR_REMOVE_ONE) < squared(bad)


def test_the_price_of_one_row_less_would_not_do_for_one_that_is_replaced():
    query, ends = BallSquares(np.zeros(2), 1.0, 16, 0), np.eye(2) * 16.0
    one, two = (seen([end]).answer(query) for end in ends)
    assert squared(two - one) > price(query, Neighbours.ADD_OR_REMOVE_ONE)


# --- integers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 16, 1024, 10**5])
@pytest.mark.parametrize("n", [1, 200, 10**4, 10**6, 2**33])
def test_squares_of_all_rows_add_up_in_64_bits(n, d):
    grid = Grid.at_least(2.0**-30, 1.0, d)
    for radius in (1.0, 0.7, 2.0**-9):
        query = grid.ball_squares(np.zeros(d), radius, n)
        assert n * query.length < 1 << 62
        assert query.radius < 1 << norm_bits(d)
        assert query.length < 1 << SQUARE_BITS
        assert query.length >= 1 << min(SQUARE_BITS, 61 - n.bit_length()) - 2
        ideal = radius**2 / query.square_unit
        assert 0.999 * ideal <= query.length + 1 <= 1.001 * ideal + 1


def test_squares_are_those_of_clipped_rows():
    generator = np.random.default_rng(3)
    rows = generator.standard_t(2, (500, 6)) * [1, 2, 3, 4, 5, 6] + 4
    centre, radius = np.full(6, 4.0), 9.0
    query = Grid(2.0**-20, 1e6, 6).ball_squares(centre, radius, 500)
    found = seen(rows, Domain.within_norm(6, 1e6, impute=False)).answer(query)
    apart = rows - centre
    apart *= np.minimum(1, radius / np.linalg.norm(apart, axis=1, keepdims=True))
    assert np.allclose(found * query.square_unit, (apart**2).sum(axis=0), rtol=1e-6)
    assert found.tolist() == ball_squares_of(rows, query)


# --- what is charged, and the noise ----------------------------------------------------------------------------------

COST = Fraction(3, 1000)


@pytest.mark.parametrize("d", [1, 2, 33])
@pytest.mark.parametrize("neighbours", Neighbours)
def test_the_receipt_says_what_was_drawn(d, neighbours):
    noise, rows = RecordingNoise(seeded(1)), seen(np.random.default_rng(1).normal(0, 9, (60, d)))
    hidden = PrivateSizeRows(rows, 67, noise) if neighbours is Neighbours.ADD_OR_REMOVE_ONE else rows
    curator, query = Curator(hidden, Zcdp(1), noise, neighbours), BallSquares(np.zeros(d), 2.0**-20, 2**24, 10)
    found = curator.ball_squares(curator.rows, query, COST, "variances")
    ((step, start, variance, count),) = noise.log
    (receipt,) = curator.receipts
    assert (step, start, count, receipt.step) == ("variances", 0, d, "variances")
    assert price(query, neighbours) / (2 * variance) == receipt.cost.rho == COST == 1 - curator.left
    assert found.std == pytest.approx(math.sqrt(variance))
    with pytest.raises(OverspendError):
        curator.ball_squares(curator.rows, query, Fraction(2), "more")


@pytest.mark.parametrize("neighbours", Neighbours)
def test_squares_have_the_noise_that_they_say(neighbours):
    rows = seen(np.random.default_rng(2).normal(0, 1, (20, 4000)))
    query = BallSquares(np.zeros(4000), 2.0**-7, 2**13, 6)
    curator = Curator(rows, Zcdp(1), seeded(7), neighbours)
    found = curator.ball_squares(curator.rows, query, COST, "variances")
    assert_noise(found, rows.answer(query), Fraction(price(query, neighbours)) / (2 * COST))


# --- what is put aside -----------------------------------------------------------------------------------------------


def test_what_is_put_aside_cannot_be_spent_before_it_is_taken_back():
    curator, query = (
        Curator(seen(np.zeros((5, 2))), Zcdp(1), seeded(1), Neighbours.REPLACE_ONE),
        BallSquares(np.zeros(2), 1.0, 7, 0),
    )
    curator.put_aside(Fraction(1, 4))
    assert curator.left == Fraction(3, 4)
    with pytest.raises(OverspendError, match="costs 1, but 3/4 of the budget is left"):
        curator.ball_squares(curator.rows, query, Fraction(1), "too much")
    curator.ball_squares(curator.rows, query, curator.left, "mean")
    assert curator.left == 0
    curator.take_back()
    curator.take_back()  # once is enough
    assert curator.left == Fraction(1, 4)
    curator.ball_squares(curator.rows, query, curator.left, "variances")
    assert sum(receipt.cost.rho for receipt in curator.receipts) == 1
    for cost in (Fraction(0), Fraction(-1), Fraction(1)):
        with pytest.raises(OverspendError, match="put aside"):
            Curator(seen(np.zeros((5, 2))), Zcdp(1), seeded(1), Neighbours.REPLACE_ONE).put_aside(cost)


def test_a_ball_of_squares_needs_no_order_of_rows():
    """So it may be asked of all rows where their number is private, and of any sample."""
    rows = np.random.default_rng(5).normal(0, 9, (41, 3))
    query = Grid(2.0**-20, REACH, 3).ball_squares(np.zeros(3), 20.0, 41)
    hidden = PrivateSizeRows(seen(rows), 44, seeded(1))
    wanted = seen(rows).answer(query).tolist()
    assert hidden.answer(query).tolist() == hidden.take(np.arange(44)).answer(query).tolist() == wanted


def test_a_curator_says_what_squares_are_refused():
    with pytest.raises(ArgumentError, match="radius must be below"):
        BallSquares(np.zeros(2), 1.0, 0, 0)

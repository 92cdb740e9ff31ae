"""What is asked for the scales of columns: of pairs squares, octaves and far ones, of columns medians and far rows.

As in test_sensitivity.py and test_private_number.py there is no chance in what answers may move by: neighbours are
found by hypothesis, by hand where the bound is reached, and over all coins and orders for a private number of rows.
Every bound is shown to reject answers, and prices, that are slightly wrong.
"""

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from dpmean import ArgumentError, Neighbours, Zcdp
from dpmean.noise.source import seeded
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Columns, Octaves, Pairs, Squares
from dpmean.rows.memory import MemoryRows
from dpmean.rows.private_size import PrivateSizeRows
from dpmean.rows.tables.persons import average_by_person
from dpmean.trust.central.curator import Curator
from tests.support.laws import p_value
from tests.support.pair_answers import directions
from tests.support.recorder import Asked, Counted, Octaved, RecordingNoise, Squared
from tests.support.runs import nasty, squared
from tests.trust.central.test_private_number import words_that_take

REACH = 64.0
LENGTHS = (1, 2, 7, 1000, 1 << 24, 1 << 30)
OCTAVES = Octaves(-40, 47)


def lines(d):
    return Columns(np.full(d, -REACH), np.geomspace(0.25, 16.0, d), np.arange(1, d + 1) * 9 % 40)


def intervals(d, low=-REACH / 4, size=REACH / 2):
    return Columns(np.full(d, low), np.full(d, size), np.full(d, 2))


def outside(rows, view):
    """Return how many rows are outside of an interval in each column, as a curator counts them, without noise."""
    curator = Curator(rows, Zcdp(10**9), seeded(1), Neighbours.REPLACE_ONE)
    return curator.count_outside(curator.rows, view, curator.left, "outside").values


def beyond(rows, pairs, index):
    """Return how many pairs are beyond a point, in the same way."""
    curator = Curator(rows, Zcdp(10**9), seeded(1), Neighbours.REPLACE_ONE)
    return curator.count_beyond(curator.count(curator.rows, pairs), index, curator.left, "beyond").value


def seen(rows, domain=None):
    rows = np.asarray(rows, dtype=float)
    return MemoryRows(rows, domain or Domain.within_norm(rows.shape[1], REACH, impute=True), threads=1)


def domains_of(d):
    """Return a ball and a box, as they are given and as shapes make them."""
    ball, scales = Domain.within_norm(d, REACH, impute=True), np.geomspace(0.01, 100.0, d)
    box = Domain.within_box(np.full(d, -40.0), np.geomspace(1.0, 1e6, d), impute=True)
    return ball, ball.reshape(np.zeros(d), scales), box, box.reshape(np.full(d, 0.5), scales)


def assert_within_what_is_paid(before, after, d):
    """For all questions at once: two neighbours, under the same coins."""
    for length in LENGTHS:
        one, two = (rows.answer(Squares(length)) for rows in (before, after))
        assert squared(two - one) <= 2 * length**2
    one, two = (rows.answer(OCTAVES) for rows in (before, after))
    assert squared(two - one) <= 2 * d
    one, two = (rows.answer(lines(d)) for rows in (before, after))
    for point in range(40):
        index = np.minimum(point, lines(d).last)
        assert np.abs(two.count_at_most(index) - one.count_at_most(index)).max() <= 1
    for low, size in ((-REACH / 4, REACH / 2), (5.0, 1.0), (-9.0, 9.0)):
        one, two = (outside(rows, intervals(d, low, size)) for rows in (before, after))
        assert np.abs(two - one).max() <= 1
    pairs = Pairs(-20, 60)
    for index in (0, 17, 26, 59):
        assert abs(beyond(after, pairs, index) - beyond(before, pairs, index)) <= 1


# --- by how much one row moves answers -------------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_one_replaced_row_moves_answers_by_what_is_paid_for(data):
    d, n = data.draw(st.sampled_from([1, 2, 3, 8])), data.draw(st.integers(1, 9))
    domain = data.draw(st.sampled_from(domains_of(d)))
    row = st.lists(nasty, min_size=d, max_size=d)
    rows = np.array(data.draw(st.lists(row, min_size=n, max_size=n)))
    other = rows.copy()
    other[data.draw(st.integers(0, n - 1))] = data.draw(st.one_of(row, st.permutations(rows[0].tolist())))
    assert_within_what_is_paid(seen(rows, domain), seen(other, domain), d)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_one_person_moves_answers_by_what_is_paid_for(data):
    """Whatever a person's rows become, and however many there are: others stand where they stood."""
    generator = np.random.default_rng(data.draw(st.integers(0, 999)))
    persons, rows = np.sort(generator.integers(0, 6, 20)), generator.normal(0, 9, (20, 3))
    changed = data.draw(st.integers(0, 5))
    kept, count = persons != changed, data.draw(st.integers(1, 5))
    more = data.draw(st.lists(st.lists(nasty, min_size=3, max_size=3), min_size=count, max_size=count))
    others = np.concatenate((rows[kept], more))
    keys = np.concatenate((persons[kept], np.full(count, changed)))
    vectors = [average_by_person([x], p, 6, 3, np.zeros(3, bool)) for x, p in ((rows, persons), (others, keys))]
    for domain in domains_of(3):
        assert_within_what_is_paid(*(seen(each, domain) for each in vectors), 3)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("d", [2, 5])
def test_the_price_of_squares_is_reached(length, d):
    """One row in a pair turns its direction from one column to another."""
    rows = np.zeros((4, d))
    one, two = rows.copy(), rows.copy()
    one[0, 0], two[0, 1] = 8.0, 4.0
    change = seen(two).answer(Squares(length)) - seen(one).answer(Squares(length))
    assert squared(change) == 2 * length**2
    assert seen(rows).answer(Squares(length)).tolist() == [0] * d  # rows that are equal do not count


@pytest.mark.parametrize("length", [1000, 1 << 24])
def test_the_price_of_squares_is_nearly_reached_by_rows_of_any_direction(length):
    """Hill climbing from random pairs: at least 0.9 of the sensitivity, and never more than it."""
    generator, best = np.random.default_rng(length), 0
    for _ in range(300):
        partner = generator.normal(size=4)
        ends = partner + generator.normal(size=(2, 4)) ** 5
        answers = [seen(np.stack((end, partner))).answer(Squares(length)) for end in ends]
        best = max(best, squared(answers[0] - answers[1]))
    assert 0.9**2 * 2 * length**2 <= best <= 2 * length**2


@pytest.mark.parametrize("d", [1, 2, 33])
def test_the_price_of_octaves_is_reached(d):
    one, two = np.zeros((2, d)), np.zeros((2, d))
    one[0], two[0] = 1.0, 3.0
    change = seen(two).answer(OCTAVES) - seen(one).answer(OCTAVES)
    assert squared(change) == 2 * d
    assert seen(np.full((2, d), 2.0)).answer(OCTAVES).sum() == 0


def test_a_difference_that_is_not_listed_costs_nothing_more():
    """From a listed octave to none, half as much moves as from one listed octave to another."""
    apart = [0.0, 5e-324, 2.0**-1030, 2.0**-41, 0.99 * 2.0**-40]
    for small in apart:
        one, two = (seen([[x, x], [0.0, 0.0]]).answer(OCTAVES) for x in (small, 1.0))
        assert one.sum() == 0
        assert squared(two - one) == 2


def test_the_price_of_medians_is_reached():
    """All counts that are asked move by one, if a row comes from beyond all points to below them."""
    view = Columns(np.full(3, -1.0), np.array([0.5, 0.25, 2.0]), np.array([4, 8, 1]))
    low, high = (seen(np.concatenate((np.full((1, 3), end), np.zeros((4, 3))))).answer(view) for end in (-9.0, 9.0))
    for index in ([0, 0, 0], [3, 7, 0]):
        assert (low.count_at_most(np.array(index)) - high.count_at_most(np.array(index))).tolist() == [1, 1, 1]


@pytest.mark.parametrize("d", [1, 3, 100])
@pytest.mark.parametrize("neighbours", Neighbours)
def test_the_price_of_rows_outside_is_reached(d, neighbours):
    """All counts move by one, whether a row comes from within all intervals to outside, or is there or not."""
    others, view = np.linspace(-30.0, 30.0, 4 * d).reshape(4, d), intervals(d)
    within, below, above = (np.concatenate((np.full((1, d), x), others)) for x in (1.0, -REACH, REACH))
    before = [within] if neighbours is Neighbours.REPLACE_ONE else [others]
    for one, two in itertools.product(before, (below, above)):
        change = outside(seen(two, domain_of_any(d)), view) - outside(seen(one, domain_of_any(d)), view)
        assert squared(change) == d
        noise = RecordingNoise(seeded(1))
        curator = Curator(seen(two, domain_of_any(d)), Zcdp(1), noise, neighbours)
        curator.count_outside(curator.rows, view, Fraction(1, 3), "outside")
        ((_, _, variance, count),) = noise.log
        assert (Fraction(d) / (2 * variance), count) == (Fraction(1, 3), d)
        assert curator.left == Fraction(2, 3)


def domain_of_any(d):
    return Domain.within_norm(d, 1e6, impute=True)


def test_a_row_in_the_middle_of_all_intervals_or_not_there_is_the_same_to_those_outside():
    rows = np.full((3, 4), 2.0)
    assert outside(seen(rows), intervals(4)).tolist() == outside(seen(rows[1:]), intervals(4)).tolist() == [0] * 4


def test_rows_outside_are_those_that_are_not_above_the_first_point_and_not_below_the_second():
    rows, d = np.random.default_rng(6).normal(0, 20, (500, 3)), 3
    rows[:4] = [[-16.0] * 3, [16.0] * 3, [16.0 + 2.0**-40] * 3, [1e9, -1e9, 0.0]]
    view = intervals(d, -16.0, 32.0)
    wanted = ((rows <= -16) | (rows > 16)).sum(axis=0)
    assert outside(seen(rows, domain_of_any(d)), view).tolist() == wanted.tolist()
    assert wanted.min() > 100


@pytest.mark.parametrize("last", [[2, 2, 1], [3, 2, 2], [0, 0, 0], [2, 40, 2]])
def test_only_an_interval_has_an_outside(last):
    for neighbours in Neighbours:
        curator = Curator(seen(np.zeros((9, 3))), Zcdp(1), seeded(1), neighbours)
        view = Columns(np.full(3, -1.0), np.full(3, 2.0), np.array(last))
        with pytest.raises(ArgumentError, match="every column needs a line of three points"):
            curator.count_outside(curator.rows, view, Fraction(1, 2), "outside")
        assert curator.left == 1
        assert curator.receipts == ()


def test_a_pair_moves_a_count_of_far_pairs_by_one():
    """A far row makes its pair a far one, and no other; one row too many is in no pair."""
    pairs, rows = Pairs(-20, 60), np.zeros((7, 2))
    far = rows.copy()
    far[1] = 9.0
    for index in (0, 20, 30):
        assert beyond(seen(far), pairs, index) - beyond(seen(rows), pairs, index) == 1
    left_over = rows.copy()
    left_over[6] = 9.0
    assert beyond(seen(left_over), pairs, 0) == 0
    generator = np.random.default_rng(9)
    for _ in range(50):
        some = generator.normal(0, 9, (7, 2))
        other = some.copy()
        other[generator.integers(7)] = generator.normal(0, 9, 2)
        assert abs(beyond(seen(other), pairs, 28) - beyond(seen(some), pairs, 28)) <= 1


def test_far_pairs_are_counted_in_samples_only_where_the_number_of_rows_is_private():
    pairs, rows = Pairs(-20, 60), np.repeat([[0.0], [9.0]], 20, axis=0)
    noise = RecordingNoise(seeded(1))
    hidden = PrivateSizeRows(seen(rows), 40, noise)
    curator = Curator(hidden, Zcdp(1), noise, Neighbours.ADD_OR_REMOVE_ONE)
    with pytest.raises(ArgumentError, match="pairs are formed in a sample"):
        curator.count(curator.rows, pairs)
    drawn = curator.take(np.arange(40))
    for sample in (drawn, curator.through(drawn, Domain.within_norm(1, REACH, impute=True))):
        curator.count(sample, pairs)
    assert not noise.log
    curator.count_beyond(curator.count(drawn, pairs), 20, Fraction(1, 8), "far pairs")
    assert noise.log == [("far pairs", 0, Fraction(4), 1)]  # a count moves by one
    assert curator.receipts[0].asked == "number of pairs beyond a radius"
    assert curator.left == Fraction(7, 8)


# --- twins that the same bounds reject -------------------------------------------------------------------------------

EVEN = np.kron(np.eye(2), np.full(800, 0.04))
"""Two pairs that differ in columns of their own, by the same in each of them."""
TINY = np.kron(np.eye(2), np.array([1.0, 2.0**-15]))
TWINS = {
    "rounded to nearest": (partial(directions, nearest=True, check=False), EVEN, 21),
    "in multiples of the largest square": (partial(directions, norm="largest", check=False), EVEN[:, ::400], 1000),
    "not checked in integers": (partial(directions, check=False), TINY, 1 << 30),
}


@pytest.mark.parametrize("twin", TWINS)
def test_squares_that_are_slightly_wrong_cost_more_than_is_paid(twin):
    answer, pairs, length = TWINS[twin]
    one, two = answer(pairs, length)
    assert squared(two - one) > 2 * length**2
    right = directions(pairs, length)
    assert squared(right[1] - right[0]) <= 2 * length**2
    kernel = [seen(np.stack((pair, np.zeros_like(pair)))).answer(Squares(length)) for pair in pairs]
    assert np.array_equal(kernel, right)


def test_a_pair_costs_twice_what_a_row_that_is_not_in_pairs_costs():
    """To charge for one summand, as sums do where rows are added or removed, would be half of what a pair can move."""
    for query, paid, (y, z, x) in (
        (Squares(1 << 24), 1 << 48, ([0.0, 0.0], [8.0, 0.0], [0.0, 9.0])),
        (OCTAVES, 2, ([0.0, 0.0], [8.0, 8.0], [1.0, 1.0])),
    ):
        one, two = seen([y, z]), seen([x, z, y])  # once x is there, z is left over: x and y are the pair
        two = two.take(np.array([0, 2, 1]))
        change = two.answer(query) - one.answer(query)
        assert paid < squared(change) == 2 * paid


@pytest.mark.parametrize("d", [1, 3, 1 << 17])
def test_what_is_too_long_is_soon_short_enough(d):
    """For a great many columns, all alike or very unlike: of norm L at most, and hardly less than that but for cuts."""
    for apart in (np.full(d, 0.1), np.geomspace(1e-9, 1.0, d), 1.0 + np.arange(d) % 2):
        for length in (1 << 24, 1 << 30):
            found = seen(np.stack((apart * REACH / d, np.zeros(d)))).answer(Squares(length))
            assert found.min() >= 0
            assert (length - math.sqrt(d)) * (1 - 1e-6) <= math.sqrt(squared(found)) <= length


# --- a private number of rows ----------------------------------------------------------------------------------------

CORNERS = ((0, 0), (1, 8), (9, 0.5), (-3, 30))
VIEW = Columns(np.full(2, -8.0), np.array([4.0, 8.0]), np.array([5, 3]))


@dataclass(frozen=True)
class Coins:
    """Known coins for samples, by name: an order, or words that decide which rows are taken, then one that takes."""

    known: dict
    step: str = ""
    start: int = 0

    seeded = True

    def at(self, step, start=0):
        return Coins(self.known, step, start)

    def words(self, count):
        if self.step.startswith("order"):
            return np.array(self.known[self.step][:count], dtype=np.uint64)
        found = self.known[self.step][self.start : self.start + count]
        return np.array([*found, *[(1 << 64) - 1] * (count - len(found))], dtype=np.uint64)


HALF = Fraction(1, 2)


@dataclass(frozen=True)
class FarPairs(Asked):
    """How many pairs are beyond a point."""

    index: int
    domain = None

    def ask(self, rows):
        counts = self.of(rows).answer(Pairs(0, 40)).counts[0]
        return counts[-1] - counts[self.index]


@dataclass(frozen=True)
class Outside(Asked):
    """How many rows are outside of an interval, in each of two columns."""

    view: object
    domain = None

    def ask(self, rows):
        tally = self.of(rows).answer(self.view)
        below, within, every = (tally.count_at_most(np.full(2, point)) for point in range(3))
        return every - (within - below)


def coins(n, share, name):
    """Return all coins for one sample of n rows: how many are taken, the coins, and their probability."""
    for taken in itertools.product((True, False) if share == HALF else (True,), repeat=n):
        words, count = words_that_take(taken) if share == HALF else [], sum(taken)
        for order in itertools.permutations(range(count)):
            yield count, {f"places{name}": words, f"order{name}": order}, share**n / math.factorial(count)


def law_of_answers(values, shares):
    """Return the exact law of all answers about pairs of a sample, and about columns of a sample of that."""
    rows, law = seen(np.reshape(np.array(values, dtype=float), (-1, 2))), Counter()
    of_pairs = [Squared(None, Squares(5)), Octaved(None, Octaves(-2, 8)), Octaved(None, Octaves(1, 2))]
    of_columns = [Counted(None, VIEW, np.array(index)) for index in ((0, 0), (1, 1), (3, 2))]
    of_pairs.append(FarPairs(None, 24))
    of_columns.append(Outside(None, intervals(2, 0.25, 9.0)))
    of_pairs_too = [Squared(None, Squares(3))]
    for count, first, chance in coins(rows.n, shares[0], ""):
        for _, second, further in coins(count, shares[1], " 2"):
            drawn = PrivateSizeRows(rows, 8, Coins(first | second)).take(np.arange(int(8 * shares[0])))
            some = drawn.take(np.arange(int(8 * shares[0] * shares[1])))
            told = [question.ask(drawn) for question in of_pairs]
            told += [question.ask(some) for question in of_columns + of_pairs_too]
            law[tuple(np.ravel(each).astype(np.int64).tobytes() for each in told)] += chance * further
    assert sum(law.values()) == 1
    return law, [*of_pairs, *of_columns, *of_pairs_too]


def price(question, part):
    match question:
        case Squared(squares=squares):
            return part * squares.length**2
        case Octaved():
            return part * 2
        case Counted(index=index):
            return len(index)
        case Outside():
            return 2
        case FarPairs():
            return 1


def can_be_coupled(more, fewer, shares, part=2):
    """Whether two laws are those of one pair of answers that never differ by more than is paid for: by a flow.

    ``part`` is the price of a pair; of counts, each moves by one at most.
    """
    (one, questions), (two, _) = (law_of_answers(values, shares) for values in (more, fewer))
    prices = np.array([price(question, part) for question in questions])
    sides = [[np.concatenate([np.frombuffer(each, np.int64) for each in told]) for told in law] for law in (one, two)]
    sizes = [len(np.frombuffer(each, np.int64)) for each in next(iter(one))]
    starts = np.cumsum([0, *sizes[:-1]])
    whole = math.lcm(*(chance.denominator for law in (one, two) for chance in law.values()))
    capacity = np.zeros((2 + len(one) + len(two),) * 2, dtype=np.int32)
    capacity[0, 2 : 2 + len(one)] = [chance * whole for chance in one.values()]
    capacity[2 + len(one) :, 1] = [chance * whole for chance in two.values()]
    for i, before in enumerate(sides[0]):
        change = np.array(sides[1]) - before
        moved = np.add.reduceat(change**2, starts, axis=1)
        capacity[2 + i, 2 + len(one) :] = np.where((moved <= prices).all(axis=1), np.iinfo(np.int32).max, 0)
    flow = sparse.csgraph.maximum_flow(sparse.csr_array(capacity), 0, 1)
    return flow.flow_value == whole


SHARES = ((Fraction(1), HALF), (HALF, Fraction(1)), (HALF, HALF))


@pytest.mark.parametrize(("n", "shares"), [*itertools.product((1, 2, 3), SHARES), (4, SHARES[0])], ids=str)
def test_a_sample_and_a_sample_of_it_are_paid_for_under_some_coupling(n, shares):
    """Exactly, over all coins and orders of both: pairs of the one, columns and pairs of the other, at once."""
    for row in range(n):
        assert can_be_coupled(CORNERS[:n], CORNERS[:row] + CORNERS[row + 1 : n], shares)


@pytest.mark.parametrize("shares", SHARES, ids=str)
def test_half_of_the_price_of_a_pair_would_not_do_whatever_the_coupling(shares):
    """Of three rows one is left over, and may be in the pair once another is gone; of four, there is one pair less."""
    without = [CORNERS[:row] + CORNERS[row + 1 : 3] for row in range(3)]
    assert not all(can_be_coupled(CORNERS[:3], fewer, shares, part=1) for fewer in without)


@pytest.mark.parametrize("query", [OCTAVES, Squares(7), Pairs(0, 9)], ids=lambda query: type(query).__name__)
def test_pairs_in_an_order_that_is_known_are_refused_where_the_number_is_private(query):
    """One row more would change all of them: here of two columns, of which every row has one."""
    rows = np.where(np.arange(40)[:, None] // 20 == np.arange(2), 8.0, 0.0)
    rows[::2] = rows[::2, ::-1]
    hidden = PrivateSizeRows(seen(rows), 40, seeded(1))
    for unmixed in (hidden, hidden.through(domains_of(2)[1]), hidden.collect()):
        with pytest.raises(ArgumentError, match="pairs are formed in a sample"):
            unmixed.answer(query)
    drawn = hidden.take(np.arange(40))
    for mixed in (drawn, drawn.through(domains_of(2)[1]), drawn.take(np.arange(9)), drawn.collect()):
        mixed.answer(query)
    if not isinstance(query, Pairs):
        change = seen(rows).answer(query) - seen(rows[1:]).answer(query)
        assert squared(change) > 10 * (2 * 49 if isinstance(query, Squares) else 4)


def test_a_sample_of_a_sample_has_coins_of_its_own():
    noise = RecordingNoise(seeded(3))
    rows = PrivateSizeRows(seen(np.arange(400.0).reshape(-1, 2)), 210, noise)
    drawn = rows.take(np.arange(150))
    some = drawn.take(np.arange(70))
    assert (some.n, drawn.n) == (70, 150)
    assert {step for step, _ in noise.secrets} == {"places", "order", "places 2", "order 2"}
    assert drawn.rows.positions[:9].tolist() != some.rows.positions[:9].tolist()
    assert set(some.rows.positions) < set(drawn.rows.positions)
    assert len(set(some.rows.positions)) == len(some.rows.positions)
    nobody = rows.take(np.arange(0))
    assert nobody.take(np.arange(0)).answer(Squares(5)).tolist() == [0, 0]


def test_a_sample_of_a_sample_has_every_row_once():
    for neighbours in Neighbours:
        curator = Curator(seen(np.zeros((40, 2))), Zcdp(1), seeded(1), neighbours)
        drawn = curator.take(np.arange(40)[::-1][:20])
        for wrong in ([3, 3], [20], [-1]):
            with pytest.raises(ArgumentError, match="positions must be different integers from 0 to 19"):
                curator.take(np.array(wrong), of=drawn)
        assert curator.take(np.arange(7), of=drawn).n == 7
    held = MemoryRows(np.arange(40.0)[:, None], Domain.within_norm(1, REACH, impute=False))
    places = held.take(np.arange(39, 19, -1)).take(np.array([3, 0])).positions
    assert places.tolist() == [36, 39]


# --- what is charged, and the noise ----------------------------------------------------------------------------------

COST = Fraction(3, 1000)


def asked(noise, d=5, length=1 << 24, rows=None):
    """Ask everything, for the same price each; return the curator and its answers."""
    rows = np.random.default_rng(1).normal(0, 9, (60, d)) if rows is None else rows
    for neighbours in Neighbours:
        curator = Curator(seen(rows), Zcdp(1), noise, neighbours)
        yield (
            curator,
            curator.squares(curator.rows, Squares(length), COST, "squares"),
            curator.octaves(curator.rows, OCTAVES, COST, "octaves"),
            curator.column_medians(curator.rows, lines(d), COST, "medians"),
            curator.count_outside(curator.rows, intervals(d), COST, "outside"),
        )


@pytest.mark.parametrize(("d", "length"), [(1, 1), (2, 1000), (5, 1 << 24), (33, 1 << 30)])
def test_receipts_say_what_was_drawn_for_both_kinds_of_neighbours(d, length):
    """Sensitivity squared over twice the variance: the price, exactly; and as many numbers as answers."""
    levels = [int(last).bit_length() for last in lines(d).last]
    squares = {"squares": 2 * length**2, "octaves": 2 * d, "medians": sum(levels), "outside": d}
    numbers = {"squares": d, "octaves": d * OCTAVES.points, "medians": sum(levels), "outside": d}
    for curator, *_ in asked(noise := RecordingNoise(seeded(1)), d, length):
        draws = {step: (start, variance, count) for step, start, variance, count in noise.log}
        for receipt in curator.receipts:
            start, variance, count = draws[receipt.step]
            assert Fraction(squares[receipt.step]) / (2 * variance) == receipt.cost.rho == COST
            assert (start, count) == (0, numbers[receipt.step])
            assert receipt.exact
        assert curator.left == 1 - 4 * COST


def test_nothing_is_answered_that_is_not_paid_for():
    for curator, *_ in asked(seeded(1)):
        for ask in (
            lambda curator=curator: curator.squares(curator.rows, Squares(7), Fraction(2), "more"),
            lambda curator=curator: curator.octaves(curator.rows, OCTAVES, Fraction(2), "more"),
            lambda curator=curator: curator.column_medians(curator.rows, lines(5), Fraction(2), "more"),
            lambda curator=curator: curator.count_outside(curator.rows, intervals(5), Fraction(2), "more"),
        ):
            with pytest.raises(ValueError, match="of the budget is left"):
                ask()


PARTS = (Fraction(7, 10), Fraction(14, 10))
"""Wrong scales that a test must notice."""


def assert_noise(found, exact, variance):
    """Insist on the law of the noise, and that others like it are noticed."""
    noise = np.ravel(found.values - exact)[:40_000]
    assert found.std == pytest.approx(math.sqrt(variance))
    assert p_value(noise, variance) > 1e-4
    for part in PARTS:
        assert p_value(noise, variance * part**2) < 1e-9


def test_squares_and_octaves_have_the_noise_that_they_say():
    rows = np.random.default_rng(2).normal(0, 1, (20, 4000))
    exact = {name: seen(rows).answer(query) for name, query in (("squares", Squares(1000)), ("octaves", OCTAVES))}
    for _, squares, octaves, *_ in asked(seeded(7), 4000, 1000, rows):
        assert_noise(squares, exact["squares"], Fraction(2 * 1000**2) / (2 * COST))
        assert_noise(octaves, exact["octaves"], Fraction(2 * 4000) / (2 * COST))


@pytest.mark.parametrize("neighbours", Neighbours)
def test_counts_outside_have_the_noise_that_they_say(neighbours):
    rows, view, cost = np.random.default_rng(2).normal(0, 9, (20, 4000)), intervals(4000, -4.0, 8.0), Fraction(30)
    exact = outside(seen(rows, domain_of_any(4000)), view)
    curator = Curator(seen(rows, domain_of_any(4000)), Zcdp(cost), seeded(7), neighbours)
    found = curator.count_outside(curator.rows, view, cost, "outside")
    assert exact.min() > 3
    assert exact.max() <= 20
    assert_noise(found, exact, Fraction(4000) / (2 * cost))


def law_of_search(counts, rank, std):
    """Return the exact law of the point that a search finds, given the count at every point."""
    found, reach = np.zeros(len(counts)), 60
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * std**2))
    at_most = np.cumsum(weights / weights.sum())

    def go(left, right, chance):
        if left == right:
            found[left] += chance
            return
        middle = (left + right) // 2
        below = at_most[min(max(rank - counts[middle], -reach), reach) + reach]
        go(middle + 1, right, chance * below)
        go(left, middle, chance * (1 - below))

    go(0, len(counts) - 1, 1.0)
    return found


def test_medians_have_the_noise_that_they_say():
    """Columns that are all alike, each with noise of its own: the points that are found have their exact law."""
    d, last, n = 5000, 7, 14
    rows = np.repeat(np.arange(n)[:, None] / 2 + 0.25, d, axis=1)
    view, std = Columns(np.zeros(d), np.ones(d), np.full(d, last)), 3.0
    cost = Fraction(3 * d, 2 * 9)
    domain = Domain.within_norm(d, 1e6, impute=False)
    counts = seen(rows[:, :1]).answer(Columns(np.zeros(1), np.ones(1), np.array([last])))
    counts = [int(counts.count_at_most(np.array([k]))[0]) for k in range(last + 1)]
    for neighbours in Neighbours:
        curator = Curator(seen(rows, domain), Zcdp(cost), seeded(5), neighbours)
        found = np.bincount(curator.column_medians(curator.rows, view, cost, "medians"), minlength=last + 1)
        for part, accepted in ((1.0, True), (0.7, False), (1.4, False)):
            expected = d * law_of_search(counts, n // 2, part * std)
            p = stats.chisquare(found, expected).pvalue
            assert p > 1e-4 if accepted else p < 1e-9


def test_medians_without_noise_are_the_medians():
    generator = np.random.default_rng(4)
    rows = generator.normal(0, 9, (41, 6))
    view = Columns(np.full(6, -30.0), np.geomspace(0.001, 50.0, 6), np.array([60_000, 999, 257, 4, 1, 0]))
    curator = Curator(seen(rows), Zcdp(10**9), seeded(1), Neighbours.REPLACE_ONE)
    found = curator.column_medians(curator.rows, view, curator.left, "medians")
    wanted = np.clip(np.ceil((np.median(rows, axis=0) - view.low) / view.spacing), 0, view.last)
    assert found.tolist() == wanted.tolist()

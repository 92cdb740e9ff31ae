"""The fast sampler decides exactly as whole numbers would, and sources of bits fail closed."""

import itertools
import json
import math
import os
import random
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpmean import ArgumentError, EntropyError
from dpmean.noise import exact, fast
from dpmean.noise.entropy import entropy
from dpmean.noise.exact import exp_bounds
from dpmean.noise.source import secure, seeded

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "discrete_gaussian.json").read_text())
WORD = st.integers(0, 2**64 - 1)


def no_more(width):
    raise AssertionError(f"asked for {width} more bits")


def tail(following):
    """Return bits that begin with the given word and go on as 0101... (all ones for ever would never be decided)."""
    words = itertools.chain([following], itertools.repeat(0x5555555555555555))
    return lambda _: next(words)


def decided(words, variance):
    """Return (value, status) of the kernel for one candidate."""
    law = fast._law(variance)
    values, status = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    words = np.array([words], dtype=np.uint64)
    fast._decide(words, law.bounds, law.width, law.half_precision, values, status)
    return int(values[0]), int(status[0])


def settled(words, variance, more):
    law = fast._law(variance)
    return fast.settle(np.array(words, dtype=np.uint64), variance, law.width, more)


def agree(words, variance):
    """The kernel, where it is certain, says what exact arithmetic says whatever bits follow."""
    value, status = decided(words, variance)
    for following in (0, 2**64 - 1):
        exactly = settled(words, variance, tail(following))
        if status == fast.ACCEPTED:
            assert exactly == value
        elif status == fast.REJECTED:
            assert exactly is None
    return status


@given(st.fractions(min_value=0, max_value=300), st.integers(8, 300))
@example(Fraction(2272943, 580737305), 8)  # just above a whole number: what is left out of the series decides
@example(Fraction(18824108, 678969227), 9)
@example(Fraction(8290051, 526406347), 6)  # and just below one
def test_bounds_on_the_exponential_hold_and_are_tight(x, bits):
    context = Context(prec=250)
    true = context.multiply(
        context.exp(context.divide(Decimal(-x.numerator), Decimal(x.denominator))), Decimal(2**bits)
    )
    low, high = exp_bounds(x, bits)
    assert low <= true <= high <= low + 2


@settings(max_examples=300)
@given(
    WORD,
    WORD,
    WORD,
    st.sampled_from([Fraction(1, 3), Fraction(7), Fraction(5000), Fraction(10**12, 7), Fraction(10**24)]),
)
def test_the_kernel_agrees_with_whole_numbers(first, second, third, variance):
    agree((first, second, third), variance)


@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(2), Fraction(5000), Fraction(10**18, 7)])
def test_the_kernel_is_never_wrong_at_the_edges_of_cells(variance):
    bounds = fast._law(variance).bounds
    undecided = 0
    for bound in bounds[:: max(1, len(bounds) // 25)]:
        for shift in range(-3, 5):
            first = int(bound) + shift
            if 0 <= first < 2**64:
                undecided += agree((first, 12345, 1 << 40), variance) == fast.UNDECIDED
    assert undecided >= 2  # the doubtful ones were indeed left to whole numbers


@pytest.mark.parametrize("variance", [Fraction(2), Fraction(5000), Fraction(10**18, 7)])
def test_as_much_is_left_undecided_at_the_edge_of_a_cell_as_its_bounds_may_differ(variance):
    """A table is made where they differ by two at most, though hardly ever by more than one."""
    for bound in map(int, fast._law(variance).bounds[:3]):
        statuses = [decided((bound + shift, 0, 2), variance)[1] for shift in (-1, 0, 1, 2)]
        assert statuses == [fast.ACCEPTED, fast.UNDECIDED, fast.UNDECIDED, fast.ACCEPTED]


@pytest.mark.parametrize("variance", [Fraction(5000), Fraction(10**18, 7)])
def test_the_kernel_is_never_wrong_at_the_edge_of_acceptance(variance):
    """V set to within a few units of exp(-g), on both sides and far inside the tolerance."""
    law = fast._law(variance)
    undecided = 0
    for cell in (0, 5, 40, 100):
        first = int(law.bounds[cell]) - 10
        offset = law.width - 1
        exponent = Fraction(offset * (2 * cell * law.width + offset)) / (2 * variance)
        edge = exp_bounds(exponent, 63)[0]
        for shift in (-(2**20), -(2**17), -3, 0, 3, 2**17, 2**20):
            undecided += agree((first, offset, (edge + shift) << 1), variance) == fast.UNDECIDED
    assert undecided >= 12


def test_undecided_bits_are_extended_and_not_replaced():
    variance = Fraction(2)
    bound = int(fast._law(variance).bounds[0])
    outcomes = {settled((bound, 0, 2), variance, tail(bits)) for bits in (0, 2**64 - 1)}
    outcomes |= {settled((bound + 1, 0, 2), variance, tail(bits)) for bits in (0, 2**64 - 1)}
    assert outcomes == {0, 1}  # the same leading bits end in either cell, by the bits that follow


def test_a_candidate_that_is_certain_needs_no_more_bits():
    assert settled((0, 0, 0), Fraction(100), no_more) == 0
    assert settled((0, 0, 1), Fraction(100), no_more) is None  # minus zero


@pytest.mark.parametrize("entry", VECTORS["decisions"])
def test_vectors(entry):
    words = [int(word, 16) for word in entry["words"]]
    outcome = settled(words, Fraction(entry["variance"]), no_more)
    assert outcome == entry["value"]
    value, status = decided(words, Fraction(entry["variance"]))
    assert (value if status == fast.ACCEPTED else None) == entry["value"]


def test_seeded_noise_depends_on_seed_step_and_index_alone():
    whole = seeded(3).at("a step").gaussian(Fraction(100), 2000)
    for start, count in ((0, 1), (255, 3), (256, 256), (777, 1000)):
        assert np.array_equal(
            seeded(3).at("a step", start).gaussian(Fraction(100), count), whole[start : start + count]
        )
    assert not np.array_equal(seeded(4).at("a step").gaussian(Fraction(100), 2000), whole)
    assert not np.array_equal(seeded(3).at("another").gaussian(Fraction(100), 2000), whole)
    assert len(seeded(3).at("a step").gaussian(Fraction(100), 0)) == 0


def test_noise_from_a_seed_says_so():
    assert seeded(1).seeded is True
    assert secure().seeded is False


def test_secure_noise_is_fresh():
    assert not secure().seeded
    assert not np.array_equal(
        secure().at("x").gaussian(Fraction(10**6), 50), secure().at("x").gaussian(Fraction(10**6), 50)
    )


@pytest.mark.parametrize("failure", [OSError("no device"), NotImplementedError("none here")])
def test_missing_entropy_is_an_error(monkeypatch, failure):
    def broken(_):
        raise failure

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(EntropyError, match="nothing was released"):
        secure().gaussian(Fraction(1), 10)


@pytest.mark.parametrize("stuck", [bytes, lambda count: b"\xff" * count, lambda _: b""])
def test_stuck_entropy_is_an_error(monkeypatch, stuck):
    monkeypatch.setattr(os, "urandom", stuck)
    with pytest.raises(EntropyError, match="all equal"):
        entropy(64)


@pytest.mark.parametrize("count", [1, 8, 15, 16, 17, 1000])
def test_bytes_that_are_all_alike_are_stuck(monkeypatch, count):
    """Sixteen are drawn at least, since fewer may be alike by chance, and these only with a probability of 2^-120."""
    monkeypatch.setattr("os.urandom", lambda count: b"\x07" * count)
    with pytest.raises(EntropyError, match="all equal"):
        entropy(count)
    monkeypatch.setattr("os.urandom", lambda count: b"\x07" * (count - 1) + b"\x08")
    assert entropy(count) == (b"\x07" * (max(count, 16) - 1) + b"\x08")[:count]


@pytest.mark.parametrize("length", [15, 17])
def test_too_few_or_too_many_bytes_are_an_error(monkeypatch, length):
    monkeypatch.setattr("os.urandom", lambda _: bytes(range(length)))
    with pytest.raises(EntropyError):
        entropy(16)


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(2**113)])
def test_impossible_variances_are_refused(variance):
    with pytest.raises(ArgumentError, match="variance must be in"):
        secure().gaussian(variance, 1)


def test_cells_are_a_sixteenth_of_the_standard_deviation_or_single():
    for variance in (Fraction(1, 100), Fraction(1000), Fraction(1024), Fraction(10**20)):
        width = fast._law(variance).width
        assert width == 1 or width <= math.sqrt(variance) / 16
        assert width * 32 > math.sqrt(variance)


@pytest.mark.parametrize("unit", [1, 37, 1 << 40, 1 << 50])
def test_a_choice_by_floats_is_the_exact_one(unit):
    """Whatever the spread of the exponents, from the same bits; the largest ones leave it to exact arithmetic."""
    generator = random.Random(unit)
    for size, spread in itertools.product((1, 2, 50, 700), (1, 25, 40, 10**4, 10**15)):
        exponents = [generator.randrange(spread * unit + 1) - unit for _ in range(size)]
        for seed in range(5):
            drawn = [choose(exponents, unit, random.Random(seed).getrandbits) for choose in (exact.choose, fast.choose)]
            assert drawn[0] == drawn[1]


class OutOfCoinsError(Exception):
    pass


def law_by_coins(draw, depth):
    """Return the chance of each outcome, over all ways that so many coins can fall, and the chance of none as yet."""
    chances, undecided, paths = Counter(), Fraction(0), [""]
    while paths:
        path = paths.pop()
        try:
            chances[draw(coins_of(path))] += Fraction(1, 2 ** len(path))
        except OutOfCoinsError:
            if len(path) < depth:
                paths += [path + "0", path + "1"]
            else:
                undecided += Fraction(1, 2**depth)
    return chances, undecided


def coins_of(path):
    """Return bits that fall as the path says."""
    coins = iter(path)

    def bits(width):
        fallen = list(itertools.islice(coins, width))
        if len(fallen) < width:
            raise OutOfCoinsError
        return int("".join(fallen), 2)

    return bits


def weights(exponents):
    total = math.fsum(math.exp(-exponent) for exponent in exponents.values())
    return {x: math.exp(-exponent) / total for x, exponent in exponents.items()}


@pytest.mark.parametrize(
    ("draw", "depth", "expected"),
    [
        (lambda bits: exact.below(1, bits), 0, {0: 1}),
        (lambda bits: exact.below(4, bits), 2, dict.fromkeys(range(4), 1 / 4)),
        (lambda bits: exact.below(5, bits), 12, dict.fromkeys(range(5), 1 / 5)),
        (lambda bits: exact.bernoulli(Fraction(2, 3), bits), 12, {True: 2 / 3, False: 1 / 3}),
        (lambda bits: exact.bernoulli_exp(Fraction(0), bits), 0, {True: 1}),
        (lambda bits: exact.bernoulli_exp(Fraction(1, 2), bits), 14, {True: math.exp(-0.5), False: 1 - math.exp(-0.5)}),
        (lambda bits: exact.bernoulli_exp(Fraction(1), bits), 14, {True: math.exp(-1), False: 1 - math.exp(-1)}),
        (lambda bits: exact.bernoulli_exp(Fraction(5, 2), bits), 14, {True: math.exp(-2.5), False: 1 - math.exp(-2.5)}),
        (lambda bits: exact.discrete_laplace(1, bits), 14, weights({x: abs(x) for x in range(-40, 41)})),
        (lambda bits: exact.discrete_laplace(2, bits), 14, weights({x: abs(x) / 2 for x in range(-80, 81)})),
        (lambda bits: exact.discrete_gaussian(Fraction(1, 2), bits), 13, weights({x: x * x for x in range(-9, 10)})),
        (exact._poisson_one, 14, {x: math.exp(-1) / math.factorial(x) for x in range(30)}),
        (
            lambda bits: exact.poisson(Fraction(1, 2), bits),
            15,
            {x: math.exp(-0.5) / 2**x / math.factorial(x) for x in range(30)},
        ),
    ],
)
def test_the_reference_has_its_law_by_counting_coins(draw, depth, expected):
    """No chance is involved: what is decided is no more than its probability, and all that is missing is undecided."""
    found, undecided = law_by_coins(draw, depth)
    assert sum(found.values()) + undecided == 1
    assert set(found) <= set(expected)
    assert all(found[x] <= chance + 1e-12 for x, chance in expected.items())
    assert undecided < (0.5 if depth == 13 else 0.25)  # Gaussian numbers take many coins

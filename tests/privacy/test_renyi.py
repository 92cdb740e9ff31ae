"""What shuffled rounds cost: curves against exact divergences, totals against exact privacy losses, shares against
the exact number of ways to mix them."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import dpmean
from dpmean import ApproxDp, ArgumentError, OverspendError, PureDp, Zcdp
from dpmean.privacy.renyi import (
    NOTHING,
    ORDERS,
    Renyi,
    _log_of_falls,
    compose,
    poisson_counts,
    renyi_of,
    security_needed,
    security_of,
    shares_needed,
    skellam_sum,
)
from dpmean.trust.shuffle.costs import OUTSIDE, check_cost, stage_costs, total_cost
from dpmean.trust.shuffle.design import VARIANTS, calibrated
from dpmean.trust.shuffle.progress import played_collection
from dpmean.trust.shuffle.schema import Collection, Counters, Sums

TINY = Fraction(1, 10**10)


# --- curves ------------------------------------------------------------------------------------------------------


def exact_divergences(mean, floor, order):
    """Return (count falls, count rises): Renyi divergences of shifted Poisson laws, summed up in logarithms."""
    k = np.arange(1, mean + 60 * math.ceil(math.sqrt(mean)) + 20 * order)
    log_p = stats.poisson.logpmf(k, mean)
    falls = special.logsumexp(log_p + order * np.log(k / mean))
    kept = k >= floor
    rises = special.logsumexp(log_p[kept] + (order - 1) * np.log(mean / k[kept]))
    return falls / (order - 1), rises / (order - 1)


@pytest.mark.parametrize("mean", [40, 150, 2000, 50_000])
@pytest.mark.parametrize("shifts", [1, 2])
def test_counts_cost_at_least_what_they_do_and_hardly_more(mean, shifts):
    cost = poisson_counts(mean, shifts, TINY)
    floor = int(stats.poisson.ppf(float(TINY) / shifts, mean))
    assert stats.poisson.cdf(floor - 1, mean) * shifts <= float(TINY)
    assert cost.delta <= TINY
    for order, value in zip(ORDERS, cost.curve, strict=True):
        exact = shifts * sum(max(part, 0.0) for part in exact_divergences(mean, floor, order))
        assert value >= exact * (1 - 1e-9)
        if order * 2 <= mean:
            assert value <= exact * 1.001 + 3e-9


def test_a_rise_below_the_floor_has_no_bound_and_so_it_is_paid_for_in_delta():
    """At k = 0 the count K + 1 is impossible: no order has a finite divergence without a floor."""
    cost = poisson_counts(40, 1, TINY)
    assert cost.delta >= Fraction(stats.poisson.cdf(0, 40)) * Fraction(999, 1000)
    with pytest.raises(ArgumentError, match="a blanket of 10 messages is too small"):
        poisson_counts(10, 1, TINY)


@pytest.mark.parametrize("variance", [50, 4000, 10**6])
@pytest.mark.parametrize("shift", [1, 7, 30])
def test_sums_cost_at_least_what_the_exact_divergence_of_a_skellam_is(variance, shift):
    """The bound is from a paper; exact sums over the law agree with it, in one dimension and in two."""
    reach = 30 * math.ceil(math.sqrt(variance)) + 20 * shift
    x = np.arange(-reach, reach + 1)
    p, q = (special.ive(np.abs(x - move), variance) for move in (shift, 0))  # exp(-v) I_x(v)
    seen = (p > 1e-290) & (q > 1e-290)
    log_p, log_q = np.log(p[seen]), np.log(q[seen])
    one, two = skellam_sum(Fraction(variance), shift, 1), skellam_sum(Fraction(variance), 2 * shift, 4)
    for order in (2, 3, 8, 20):
        if order * shift > variance:
            continue  # far out the bound is a loose one
        exact = special.logsumexp(order * log_p + (1 - order) * log_q) / (order - 1)
        assert exact <= one.curve[ORDERS.index(order)]
        assert 4 * exact <= two.curve[ORDERS.index(order)]  # a vector (shift, shift, shift, shift)
        assert one.curve[ORDERS.index(order)] <= 1.3 * exact + 3 * shift / variance


def test_costs_of_other_notions_convert_as_they_should():
    for rho in (0.001, 0.1, 1.0):
        tight = float(dpmean.tight_epsilon(Zcdp(rho), 1e-9))
        assert tight <= float(renyi_of(Zcdp(rho)).epsilon(1e-9)) <= 1.03 * tight
    assert renyi_of(PureDp(1)).curve[-1] == pytest.approx(1)
    assert compose([Zcdp(1), PureDp(1), NOTHING]).curve[0] == pytest.approx(3)


def test_costs_that_are_none_are_refused():
    with pytest.raises(ArgumentError, match="a Rényi curve must have"):
        Renyi((1.0, 2.0))
    with pytest.raises(ArgumentError, match="delta and distance must lie"):
        Renyi(NOTHING.curve, Fraction(1))
    with pytest.raises(ArgumentError, match="sensitivity must be an integer"):
        skellam_sum(Fraction(100), -4, 3)
    with pytest.raises(ArgumentError, match="the delta of this cost itself"):
        Renyi(NOTHING.curve, Fraction(1, 100)).epsilon(Fraction(1, 1000))


def test_a_distance_costs_more_at_a_larger_epsilon():
    """(1 + e^epsilon) times the distance is part of delta, at the epsilon that comes out and not at another."""
    near = renyi_of(Zcdp(0.01))
    cost = near.apart(1e-12)
    for delta in (Fraction(1, 10**6), Fraction(1, 10**9), Fraction(1, 10**11)):
        epsilon = cost.epsilon(delta)
        left = delta - Fraction((1 + math.exp(float(epsilon))) * 1e-12)
        assert near.epsilon(left) <= epsilon <= near.epsilon(left) * Fraction(1000001, 1000000)
    many = compose([cost] * 30)
    assert many.distance >= 30e-12
    assert many.epsilon(Fraction(1, 10**8)) > compose([near] * 30).epsilon(Fraction(1, 10**8))
    with pytest.raises(ArgumentError, match="the delta of this cost itself"):
        cost.epsilon(Fraction(1, 10**12))


# --- totals ------------------------------------------------------------------------------------------------------


def exact_delta(stages, honest_part, epsilon):
    """Return the delta of all rounds together at epsilon, from exact privacy losses (both neighbours at their worst).

    One client moves: at each level of each round one count falls and one rises, and the sum moves by twice the radius
    along one axis. ``honest_part`` of the noise is there.
    """
    whole = None
    for stage in stages:
        if isinstance(stage, Counters):
            mean = stage.blanket * honest_part
            k = np.arange(max(0, int(mean - 12 * math.sqrt(mean))), int(mean + 12 * math.sqrt(mean)) + 30)
            same, moved = stats.poisson.logpmf(k, mean), stats.poisson.logpmf(k - 1, mean)
            pairs = [(moved, same), (same, moved)] * len(stage.levels)
        else:
            std = math.sqrt(stage.variance * honest_part)
            k = np.arange(-12 * int(std) - 2 * stage.radius, 12 * int(std) + 2 * stage.radius)
            log_p, log_q = (-((k - move) ** 2) / (2 * std**2) for move in (2 * stage.radius, 0))
            pairs = [(log_p - special.logsumexp(log_p), log_q - special.logsumexp(log_q))]
        for upper, lower in pairs:
            one = pld.from_two_probability_mass_functions(
                dict(enumerate(lower.tolist())), dict(enumerate(upper.tolist())), value_discretization_interval=2e-4
            )
            whole = one if whole is None else whole.compose(one)
    return whole.get_delta_for_epsilon(epsilon)


def split_cost(plan, epsilon):
    """Return the delta of all split sums at epsilon."""
    together = compose(stage_costs(plan.stages, plan.d, plan.honest, plan.budget.delta))
    return (1 + math.exp(epsilon)) * together.distance


@pytest.mark.parametrize(("epsilon", "variant"), [(1, "two"), (1, "mean"), (4, "tree"), (8, "twice")])
def test_a_design_keeps_its_promise_by_exact_privacy_losses(epsilon, variant):
    """Skellam noise of this variance is taken for discrete Gaussian; both agree to 1e-4 here."""
    budget = ApproxDp(epsilon, 1e-9)
    plan = calibrated(variant, 20_000, 4, budget, Fraction(4, 5))
    found = exact_delta(plan.stages, 1.0, epsilon)
    assert found + split_cost(plan, epsilon) <= 1e-9
    assert found > 1e-12  # conservative, but not by more than a factor of a thousand in delta
    assert (
        exact_delta(plan.stages, 0.5, epsilon) > 1e-9
    )  # with half of the noise the promise is broken, and this sees it


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1", "2.5", "4", "8"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_total_never_exceeds_what_was_asked(epsilon, variant):
    budget = ApproxDp(Fraction(epsilon), Fraction(1, 10**9))
    for users, d, honest in ((100_000, 8, Fraction(4, 5)), (5000, 30, Fraction(1))):
        plan = calibrated(variant, users, d, budget, honest)
        total = total_cost(plan.stages, d, plan.honest, budget)
        assert budget.epsilon * Fraction(99, 100) <= total.epsilon <= budget.epsilon
        outside = compose(stage_costs(plan.stages, d, plan.honest, budget.delta)).delta
        assert outside <= budget.delta * OUTSIDE
        assert split_cost(plan, float(epsilon)) <= budget.delta * OUTSIDE * Fraction(1000001, 1000000)


@settings(max_examples=25)
@given(
    epsilon=st.fractions(Fraction(1, 10), 8, max_denominator=50),
    exponent=st.integers(5, 15),
    users=st.integers(2000, 10**7),
    d=st.integers(1, 300),
    part=st.sampled_from([Fraction(1), Fraction(4, 5), Fraction(1, 2)]),
)
def test_whatever_is_planned_is_covered(epsilon, exponent, users, d, part):
    budget = ApproxDp(epsilon, Fraction(1, 10**exponent))
    plan = calibrated("mean", users, d, budget, part)
    assert total_cost(plan.stages, d, plan.honest, budget).epsilon <= epsilon
    assert plan.honest <= users * part


def test_the_promise_fails_if_anything_is_thinned_out():
    """A tenth less noise, or a tenth fewer shares, than was planned is refused by a client."""
    budget = ApproxDp(1, 1e-9)
    plan = calibrated("mean", 10_000, 4, budget, Fraction(4, 5))
    for number, stage in enumerate(plan.stages):
        if isinstance(stage, Counters):
            thin = [Counters(stage.about, stage.lines, stage.cells, stage.levels, stage.blanket * 9 // 10)]
        else:
            thin = [
                Sums(stage.radius, stage.variance * 9 // 10, stage.bits, stage.packed, stage.packs, stage.shares),
                Sums(stage.radius, stage.variance, stage.bits, stage.packed, stage.packs, stage.shares * 9 // 10),
                Sums(stage.radius * 11 // 10, stage.variance, stage.bits, stage.packed, stage.packs, stage.shares),
            ]
        for one in thin:
            stages = [*plan.stages[:number], one, *plan.stages[number + 1 :]]
            public = played_collection(plan, "0" * 16, 100.0)
            assert check_cost(public).epsilon <= 1
            with pytest.raises(OverspendError, match="would cost"):
                check_cost(msgspec.structs.replace(public, stages=tuple(stages)))


# --- split and mix -----------------------------------------------------------------------------------------------


def mixing(users, shares, log2_group):
    """Return an upper bound on log2(E[q^(C - 1)] - 1), C the components of the graph of two mixings (section 12.3).

    E_n <= 1 + sum over s < n of binom(n - 1, s) / binom(n m, s m) q E_s, for s users not connected to the first.
    """
    n = np.arange(users + 1)
    log_factorial = special.gammaln(n + 1)
    log_many = special.gammaln(shares * n + 1)
    log_e = np.zeros(users + 1)  # E_1 = 1
    rest = -math.inf
    for size in range(2, users + 1):
        s = np.arange(1, size)
        choose = log_factorial[size - 1] - log_factorial[s] - log_factorial[size - 1 - s]
        closed = log_many[size] - log_many[s] - log_many[size - s]
        rest = float(special.logsumexp(choose - closed + log2_group * math.log(2) + log_e[s]))
        log_e[size] = np.logaddexp(0.0, rest)
    return rest / math.log(2)


@pytest.mark.parametrize("users", [19, 60, 300, 1500])
@pytest.mark.parametrize(("bits", "security"), [(32, 20), (232, 40), (400, 60)])
def test_as_many_shares_as_the_theorem_says_are_enough_by_our_own_count(users, bits, security):
    shares = shares_needed(users, bits, security)
    # one share is uniform and makes inputs uniform; the distance of two inputs is at most sqrt(E - 1)
    assert mixing(users, shares - 1, bits) / 2 <= -security
    fewer = max(2, math.floor((2 * security + bits) / math.log2(users * math.e)))
    assert mixing(users, fewer - 1, bits) / 2 > -security  # and this count could have failed


def view(inputs, shares, group):
    """Return the exact law of the sorted shares of all users."""
    law = Counter({(): 1})
    for value in inputs:
        ways = [(*first, (value - sum(first)) % group) for first in itertools.product(range(group), repeat=shares - 1)]
        law = _spread(law, ways)
    total = sum(law.values())
    return {key: Fraction(count, total) for key, count in law.items()}


def _spread(law, ways):
    found = Counter()
    for key, count in law.items():
        for way in ways:
            found[tuple(sorted((*key, *way)))] += count
    return found


@pytest.mark.parametrize(("users", "shares", "group"), [(3, 3, 2), (4, 3, 2), (3, 4, 2), (3, 3, 3), (5, 3, 2)])
def test_the_count_bounds_the_exact_distance_of_two_views(users, shares, group):
    inputs = [tuple([1] + [0] * (users - 2) + [group - 1]), tuple([0] * users)]
    one, other = (view(x, shares, group) for x in inputs)
    distance = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys()) / 2
    assert distance > 0
    assert distance <= 2 ** (mixing(users, shares - 1, math.log2(group)) / 2)


def test_the_last_of_the_shares_gives_the_input_away_if_they_are_not_mixed():
    assert view((1,), 2, 2) != view((0,), 2, 2)


@given(honest=st.integers(19, 10**7), bits=st.integers(8, 4000), security=st.floats(1, 200), packs=st.integers(1, 500))
def test_shares_and_their_security_fit_together(honest, bits, security, packs):
    shares = shares_needed(honest, bits, security)
    assert security_of(honest, bits, shares) >= security - 1e-6
    assert security_of(honest, bits, shares - 1) < security
    delta = Fraction(1, 10**10)
    needed = security_needed(packs, Fraction(1), delta)
    each = [(1 + math.e) * packs * 2.0**-security for security in (needed, needed - 0.01)]
    assert each[0] <= delta < each[1]


def test_too_few_users_or_shares_are_refused():
    with pytest.raises(ArgumentError, match="at least 19 honest users, got 18"):
        shares_needed(18, 10, 20)
    with pytest.raises(OverspendError, match="would cost more than"):
        check_cost(_collection(5))


def _collection(shares):
    stage = Sums(64, 10**9, 30, 1, 1, shares)
    terms = (2, "0" * 16, 1, 0, 100, "epsilon 1 delta 1/1000000000", "0", "0")
    return Collection(*terms, 100, "mean", (stage,))


@pytest.mark.parametrize("value", [math.inf, math.nan, -1e-9])
def test_a_curve_is_made_of_finite_numbers(value):
    with pytest.raises(ArgumentError, match="non-negative numbers"):
        Renyi((value, *(1.0 for _ in ORDERS[1:])))


def test_counts_spend_no_more_delta_than_they_were_given():
    """Also where what would be taken away is as likely as that, but for the rounding of floats."""
    usual = poisson_counts(1000, 2, Fraction(1, 10**6)).delta
    for factor in (1 - 2e-9, 1 - 1e-9, 1 - 5e-10, 1.0, 1 + 1e-9):
        given = usual * Fraction(factor)
        assert poisson_counts(1000, 2, given).delta <= given


@pytest.mark.parametrize(("variance", "far", "root"), [(4, 3, 10), (4, 3, 2), (1000, 3, 2), (1, 5, 3)])
def test_a_sum_with_skellam_noise_costs_what_the_theorem_says(variance, far, root):
    """Written out in fractions, for d the square of a whole number."""
    found, one = skellam_sum(Fraction(variance), far, root**2).curve, min(root * far, far * far)
    for order, value in zip(ORDERS, found, strict=True):
        near = Fraction((2 * order - 1) * far * far + 6 * one, 4 * variance * variance)
        exactly = Fraction(order * far * far, 2 * variance) + min(near, Fraction(3 * one, 2 * variance))
        assert exactly <= value <= exactly * (1 + Fraction(1, 10**8))


def test_moments_beyond_the_last_number_are_bounded_by_a_geometric_series():
    law = [(math.log(part), math.log(chance)) for part, chance in ((0.5, 0.1), (1.0, 0.2), (2.0, 0.3))]
    ratio = 10 / 20 * math.exp(2 / 20)
    moments = 0.5**2 * 0.1 + 1.0**2 * 0.2 + 2.0**2 * 0.3 * (1 + ratio / (1 - ratio)) + 1e-3
    assert _log_of_falls(2, 10, law, 1e-3) == pytest.approx(math.log(moments))

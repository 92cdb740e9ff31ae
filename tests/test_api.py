"""The public functions: what they accept, what they refuse and in which words, and what a release says."""

import inspect
import json
import math
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dpmean
from dpmean import ArgumentError, DataError, Neighbours, Release, TooFewRowsError, TooFewRowsWarning
from tests.support.public import REPLACED


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(5, 1, (4000, 20))


def release(data, **changes):
    return dpmean.mean(data, **{"rho": 0.5, "norm_bound": 300.0, "seed": 7, **changes})


# --- who is protected ----------------------------------------------------------------------------------------


def test_who_took_part_is_private_unless_something_else_is_said(rows):
    """One default for all ways to ask: it hides who took part, has half the noise, and tells n with noise."""
    usual, said = release(rows), release(rows, neighbours="add-or-remove-one")
    assert usual.neighbours is Neighbours.ADD_OR_REMOVE_ONE
    assert usual.n == said.n != 4000
    assert abs(usual.n - 4000) < 50
    assert np.array_equal(usual.mean, said.mean)
    assert 0.4 < usual.noise_std[0] / release(rows, **REPLACED).noise_std[0] < 0.6
    grouped = dpmean.mean_by(rows, by=np.zeros(4000), groups=[0], rho=0.5, norm_bound=300.0)
    assert grouped.neighbours is grouped[0].neighbours is Neighbours.ADD_OR_REMOVE_ONE
    ledger = dpmean.Ledger(rho=1)
    ledger.record(release(rows, seed=None))
    assert ledger.neighbours == "add-or-remove-one"
    assert dpmean.plan(4000, 20, rho=0.5) == dpmean.plan(4000, 20, rho=0.5, neighbours="add-or-remove-one")


@pytest.mark.parametrize(("trust", "budget"), [("local", {"rho": 2.0}), ("shuffle", {"epsilon": 4.0, "delta": 1e-6})])
def test_devices_are_replaced_since_everybody_sees_how_many_there_are(trust, budget):
    data = np.random.default_rng(3).normal(5, 1, (8000, 2))
    asked = {"rho": None, "norm_bound": 60.0, "trust": trust, **budget}
    usual, said = release(data, **asked), release(data, **asked, **REPLACED)
    assert usual.neighbours is said.neighbours is Neighbours.REPLACE_ONE
    assert np.array_equal(usual.mean, said.mean)
    assert usual.n == 8000
    with pytest.raises(
        ArgumentError, match=f"for the central model: in the {trust} model the number of users is public"
    ):
        release(data, **asked, neighbours="add-or-remove-one")
    with pytest.raises(ArgumentError, match='neighbours must be "replace-one" or "add-or-remove-one", got'):
        release(data, **asked, neighbours="swap")


def test_a_budget_too_small_to_count_rows_says_what_to_do(rows):
    with pytest.raises(ArgumentError, match='got 1e-07: raise it, or give neighbours="replace-one" if that number is'):
        release(rows, rho=1e-7, allow_few_rows=True)
    with pytest.warns(TooFewRowsWarning):
        assert release(rows, rho=1e-7, allow_few_rows=True, **REPLACED).n == 4000


# --- what it accepts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["refined", "shifted", "clipped"])
def test_the_mean_is_about_right(rows, method):
    found = release(rows, method=method, **REPLACED)
    assert np.linalg.norm(found.mean - rows.mean(axis=0)) < 4 * np.linalg.norm(found.noise_std)
    assert found.mean.shape == found.noise_std.shape == found.centre.shape == (20,)
    assert found.mean.dtype == found.noise_std.dtype == np.float64
    assert (found.n, found.d, found.method, found.trust) == (4000, 20, method, "central")


@pytest.mark.parametrize("kind", ["f8", "f4", "f2", "i8", "i2", "u1", ">f8", "?"])
def test_numbers_of_every_kind(kind):
    data = np.random.default_rng(1).integers(0, 2, (3000, 4)).astype(kind)
    same = data.astype("f8")
    assert np.array_equal(release(data).mean, release(same).mean)


def test_numbers_beyond_float64_count_as_infinite():
    data = np.ones((5000, 3), dtype=np.longdouble)
    data[7, 1] = np.longdouble("1e4000") if np.finfo(np.longdouble).max > 1e308 else np.inf
    with pytest.raises(DataError):
        release(data)
    assert np.all(np.isfinite(release(data, nan="impute").mean))


def test_lists_and_one_dimension():
    data = np.random.default_rng(2).normal(7, 1, 5000)
    found = release(data.tolist(), norm_bound=100.0)
    assert found.mean.shape == (1,)
    assert abs(found.mean[0] - data.mean()) < 0.05
    assert np.array_equal(found.mean, release(data[:, np.newaxis], norm_bound=100.0).mean)


def test_any_memory_order_view_and_read_only_array_gives_the_same(rows):
    expected = release(rows).mean
    read_only = rows.copy()
    read_only.setflags(write=False)
    wide = np.repeat(rows, 2, axis=1)
    tall = np.repeat(rows, 3, axis=0)
    for other in (
        np.asfortranarray(rows),
        read_only,
        wide[:, ::2],
        tall[::3],
        rows[::-1][::-1],
        rows.astype("f8", order="F"),
    ):
        before = other.copy()
        assert np.array_equal(release(other).mean, expected)
        assert np.array_equal(other, before)


def test_bounds_scale_each_column_by_its_own_range():
    generator = np.random.default_rng(3)
    data = np.column_stack([generator.uniform(0, 1, 5000), generator.uniform(0, 1e6, 5000)])
    found = release(data, norm_bound=None, bounds=([0, 0], [1, 1e6]))
    assert found.noise_std[1] == pytest.approx(1e6 * found.noise_std[0], rel=3e-4)  # the noise on n differs a little
    assert np.all(np.abs(found.mean - data.mean(axis=0)) < 6 * found.noise_std)


def test_scalar_bounds_are_bounds_for_every_column(rows):
    one = release(rows, norm_bound=None, bounds=(-50, 50))
    many = release(rows, norm_bound=None, bounds=(np.full(20, -50), [50] * 20))
    assert np.array_equal(one.mean, many.mean)


def test_rows_outside_the_bounds_are_clipped_to_them():
    data = np.random.default_rng(4).normal(0, 1, (5000, 2))
    data[:2500] += 1000
    clamped = np.clip(data, -5, 5)
    one = release(data, norm_bound=None, bounds=(-5, 5))
    assert np.array_equal(one.mean, release(clamped, norm_bound=None, bounds=(-5, 5)).mean)


def test_all_rows_equal():
    found = release(np.full((5000, 8), 3.25), norm_bound=100.0)
    assert np.linalg.norm(found.mean - 3.25) < 1e-6


def test_epsilon_and_delta_are_converted_tightly(rows):
    found = release(rows, rho=None, epsilon=4.0, delta=1e-6)
    assert 3.999999 < found.epsilon(delta=1e-6) <= 4.0000001


def test_the_statistical_setting(rows):
    found = release(rows, norm_bound=50.0 * math.sqrt(20), sigma_min=0.1, sigma_max=50.0)
    assert np.linalg.norm(found.mean - rows.mean(axis=0)) < 0.05
    assert found.settings.step <= 0.1 / math.sqrt(4000)
    assert found.settings.bound.reach > 50.0 * math.sqrt(20)


def test_a_step_of_ones_own(rows):
    assert release(rows, step=2.0**-10).settings.step == 2.0**-10
    for step in (2.0**-30, Fraction(1, 2**30), Decimal(2) ** -30):
        assert release(rows, step=step).settings.step == 2.0**-30


def test_imputing_puts_the_public_centre_there():
    data = np.random.default_rng(5).uniform(2, 4, (5000, 3))
    data[17, 1] = math.nan
    filled = np.where(np.isnan(data), 5.0, data)
    found = release(data, norm_bound=None, bounds=(0, 10), nan="impute")
    assert np.array_equal(found.mean, release(filled, norm_bound=None, bounds=(0, 10)).mean)


def test_very_many_dimensions():
    d = 100_000
    data = np.random.default_rng(6).normal(2, 1, (100, d)).astype(np.float32)
    found = release(data, rho=1e5, norm_bound=10 * math.sqrt(d), allow_few_rows=True)
    assert np.linalg.norm(found.mean - data.mean(axis=0)) < 1.5 * np.linalg.norm(found.noise_std)
    assert np.linalg.norm(found.noise_std) < 0.03 * math.sqrt(d)


@pytest.mark.parametrize("scale", [2.0**-400, 1e-30, 1e30, 2.0**400])
def test_units_of_any_size(rows, scale):
    found = release(rows * scale, norm_bound=300.0 * scale)
    assert np.linalg.norm(found.mean / scale - rows.mean(axis=0)) < 0.1


def test_a_single_row_goes_through_when_forced():
    with pytest.warns(TooFewRowsWarning):
        found = release(np.ones((1, 3)), norm_bound=10.0, allow_few_rows=True)
    assert np.all(np.isfinite(found.mean))


def test_the_radius_is_in_the_users_units_when_columns_share_one(rows):
    plain = release(rows, **REPLACED)
    boxed = release(rows, norm_bound=None, bounds=(-60, 60), **REPLACED)
    assert boxed.radius == pytest.approx(plain.radius, rel=0.1)
    mixed = {"norm_bound": None, "bounds": (np.full(20, -60), np.append(np.full(19, 60), 80))}
    assert "standard deviations (each column in its own)" in release(rows, **mixed).explain()
    assert "% of the range (each column in its own)" in release(rows, shape="round", **mixed).explain()


def test_a_release_says_which_bounds_and_which_delta_it_was_given(rows):
    assert "every column from -60 to 60" in release(rows, norm_bound=None, bounds=(-60, 60)).explain()
    assert "norm_bound 300" in release(rows).explain()
    assert (
        "0 to 10, 5 to 20 (column by column)"
        in release(rows[:, :2], norm_bound=None, bounds=([0, 5], [10, 20])).explain()
    )
    found = release(rows, rho=None, epsilon=2.0, delta=1e-9)
    assert "epsilon = 2 at delta = 1e-09" in str(found)
    assert found.epsilon(1e-9) <= 2.0


def test_a_delta_that_is_not_small_is_warned_about(rows):
    with pytest.warns(UserWarning, match=r"delta=0\.1 is not below 1/n"):
        release(rows, rho=None, epsilon=2.0, delta=0.1)


def test_costs_of_two_releases_add_up(rows):
    first, second = release(rows), release(rows, rho=0.25, seed=8)
    assert dpmean.compose_zcdp([first.cost, second.cost]).rho == Fraction(3, 4)
    for wrong in ([first], [0.5], first.receipts):
        with pytest.raises(TypeError, match=r"release\.cost is needed"):
            dpmean.compose_zcdp(wrong)


# --- what they refuse -----------------------------------------------------------------------------------------

REFUSED = {
    "no budget": ({"rho": None}, "a privacy budget is missing: give rho=0.5"),
    "two budgets": ({"epsilon": 1.0, "delta": 1e-6}, "give either rho, or epsilon and delta"),
    "epsilon alone": ({"rho": None, "epsilon": 1.0}, "epsilon=1.0 needs a delta in the central model"),
    "delta alone": ({"rho": None, "delta": 1e-6}, "needs an epsilon: give"),
    "negative rho": ({"rho": -0.5}, "rho must be positive, got -0.5"),
    "zero rho": ({"rho": 0}, "rho must be positive, got 0"),
    "rho NaN": ({"rho": math.nan}, "rho must be a finite number, got nan"),
    "delta 2": ({"rho": None, "epsilon": 1.0, "delta": 2.0}, "delta must be below 1"),
    "no bound": ({"norm_bound": None}, "exactly one of norm_bound and bounds is needed"),
    "two bounds": ({"bounds": (-5, 5)}, "exactly one of norm_bound and bounds is needed, got both"),
    "method no word": ({"method": ["clipped"]}, "method must be one of"),
    "infinite bound": ({"norm_bound": math.inf}, "norm_bound must be a finite number, got inf"),
    "negative bound": ({"norm_bound": -1.0}, "norm_bound must be positive, got -1.0"),
    "huge bound": ({"norm_bound": 1e200}, "norm_bound must lie between"),
    "bounds upside down": (
        {"norm_bound": None, "bounds": (5, -5)},
        r"lower < upper in every column, got \(5, -5\)",
    ),
    "bounds equal": ({"norm_bound": None, "bounds": (5, 5)}, "lower < upper"),
    "bounds of the wrong length": (
        {"norm_bound": None, "bounds": ([0, 0], [1, 1])},
        r"\(d=20\), got an array of shape \(2,\)",
    ),
    "bounds infinite": ({"norm_bound": None, "bounds": (0, math.inf)}, "upper must be finite"),
    "bounds NaN": ({"norm_bound": None, "bounds": (math.nan, 1)}, "lower must be finite"),
    "bounds no pair": ({"norm_bound": None, "bounds": 5}, "each one number or one per column, got 5"),
    "a pair per column": ({"norm_bound": None, "bounds": [(0, 1)] * 20}, r"bounds=tuple\(zip\(\*pairs\)\)"),
    "bounds words": ({"norm_bound": None, "bounds": ("a", "b")}, "must be one number or one per column"),
    "unknown method": ({"method": "magic"}, "method must be one of refined, shifted, clipped, got 'magic'"),
    "unknown nan": ({"nan": "skip"}, 'nan must be "raise", "impute" or "drop"'),
    "sigma alone": ({"sigma_min": 0.1}, "sigma_min and sigma_max .the statistical setting. need each other"),
    "sigma upside down": ({"sigma_min": 2.0, "sigma_max": 1.0}, "sigma_min must not exceed sigma_max"),
    "sigma zero": ({"sigma_min": 0.0, "sigma_max": 1.0}, "sigma_min must be positive, got 0.0"),
    "sigma and bounds": (
        {"norm_bound": None, "bounds": (-5, 5), "sigma_min": 1.0, "sigma_max": 1.0},
        "sigma_min and sigma_max need norm_bound",
    ),
    "step no power": ({"step": 0.3}, r"step must be a power of two, got 0.3: give 2\.0\*\*-2"),
    "step nearly a power": ({"step": Fraction(2**60 + 1, 2**70)}, "step must be a power of two"),
    "step too fine": ({"step": 2.0**-60}, "too fine for d=20 .* raise it to at least"),
    "step too coarse": ({"step": 256.0}, r"too coarse for d=20 .* lower it to 2\.0\*\*6 or less"),
    "rho tiny": ({"rho": 1e-20}, "rho must lie between 1e-12 and 1e12, got 1e-20"),
    "rho huge": ({"rho": 10**20}, "rho must lie between 1e-12 and 1e12"),
    "rho beyond floats": ({"rho": 10**400}, "rho must lie between 1e-300 and 1e300"),
    "epsilon beyond floats": ({"rho": None, "epsilon": 10**400, "delta": 1e-6}, "epsilon must lie between"),
    "norm_bound beyond floats": ({"norm_bound": 10**400}, "norm_bound must lie between"),
    "step beyond floats": ({"step": 10**400}, "step must lie between"),
    "sigma beyond floats": ({"sigma_min": 1.0, "sigma_max": 10**400}, "sigma_max must lie between"),
    "bounds beyond floats": ({"norm_bound": None, "bounds": (0, 10**400)}, "upper must be"),
    "bounds too near": ({"norm_bound": None, "bounds": (0, 5e-324)}, "lower < upper in every column"),
    "bounds in words": (
        {"norm_bound": None, "bounds": ("1", "20")},
        "must be one number or one per column, got '1'",
    ),
    "bounds complex": ({"norm_bound": None, "bounds": (0, 2j)}, "must be one number or one per column"),
    "few rows in words": ({"allow_few_rows": "no"}, "allow_few_rows must be True or False, got 'no'"),
    "seed no number": ({"seed": 1.5}, "seed must be an integer, got 1.5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_arguments_are_refused_with_the_value_and_the_cure(rows, case):
    changes, message = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        release(rows, **changes)
    assert isinstance(caught.value, dpmean.DpMeanError)


def test_pairs_for_two_columns_are_not_taken_for_lower_and_upper(rows):
    with pytest.raises(ValueError, match="is ambiguous for two columns"):
        release(rows[:, :2], norm_bound=None, bounds=[(0, 10), (0, 20)])
    assert release(rows[:, :2], norm_bound=None, bounds=([0, 0], [10, 20])).d == 2


BAD_ROWS = {
    "three dimensions": (np.zeros((10, 10, 10)), r"got 3 dimensions"),
    "no rows": (np.zeros((0, 5)), r"X is empty, got shape \(0, 5\)"),
    "no columns": (np.zeros((5, 0)), "X has no columns"),
    "a number": (3.0, r"got 0 dimensions"),
    "strings": (np.array([["a", "b"]]), "X must hold real numbers, got text: leave out"),
    "objects": (np.array([[None, 1]]), "got objects"),
    "complex": (np.zeros((5, 2), dtype=complex), "got complex numbers"),
    "dates": (np.zeros((5, 2), dtype="M8[s]"), "must hold real numbers"),
    "ragged": ([[1, 2], [3]], "its rows differ in length"),
    "masked": (np.ma.masked_greater(np.ones((500, 2)), 3), "masked array"),
}


def test_the_message_about_text_does_not_measure_it():
    with pytest.raises(TypeError, match="got text") as caught:
        release(np.array([["a", "a secret of this length"]]))
    assert "22" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_tiny_sigma_gets_the_finest_grid_there_is(rows):
    found = release(rows, sigma_min=1e-200, sigma_max=1.0)
    assert np.linalg.norm(found.mean - rows.mean(axis=0)) < 0.1


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_refused(case):
    data, message = BAD_ROWS[case]
    for more in (REPLACED,) if case == "no rows" else (REPLACED, {}):  # no rows at all may be private
        with pytest.raises((ValueError, TypeError), match=message):
            release(data, **more)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("bound", [{"norm_bound": 300.0}, {"norm_bound": None, "bounds": (-50, 50)}])
@pytest.mark.parametrize("method", ["shifted", "clipped"])
def test_rows_that_are_not_finite_release_nothing_and_name_no_value(rows, bad, bound, method):
    data = rows.copy()
    data[123, 7] = bad
    with pytest.raises(DataError, match='nan="drop" leaves such rows out') as caught:
        release(data, method=method, **bound)
    assert "123" not in str(caught.value)
    assert "5." not in str(caught.value)


# --- too few rows --------------------------------------------------------------------------------------------


def test_too_few_rows_are_refused_with_the_number_that_would_do(rows):
    with pytest.raises(TooFewRowsError, match=r"20 rows are too few for d=20, rho=0\.01") as caught:
        release(rows[:20], rho=0.01, **REPLACED)
    needed = caught.value.rows_needed
    assert needed > 20
    data = np.random.default_rng(8).normal(5, 1, (needed, 20))
    with pytest.warns(TooFewRowsWarning, match="expect a larger error"):
        release(data, rho=0.01, **REPLACED)
    with pytest.raises(TooFewRowsError):
        release(data[:-1], rho=0.01, **REPLACED)
    with pytest.raises(TooFewRowsError, match=r"about \d+ (rows are|row is) too few for d=20, rho=0\.01"):
        release(rows[:20], rho=0.01)


def test_enough_rows_are_not_talked_about(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(rows)


def test_going_on_regardless_warns_and_marks_the_release(rows):
    with pytest.warns(TooFewRowsWarning, match="the mean may be far off"):
        found = release(rows[:50], rho=0.01, allow_few_rows=True)
    for text in (str(found), found.explain()):
        assert "FEW ROWS: do not rely on this mean, since its error is not known" in text
        assert "confidence" not in text
    assert "error      not known, since there are too few rows\n" in found.explain()
    assert "covered" not in found.explain()
    assert np.all(np.isfinite(found.mean))
    assert "FEW ROWS" not in str(release(rows))


def test_the_rule_looks_at_no_row():
    """Rows that would fail any look at them are refused for their number first."""
    with pytest.raises(TooFewRowsError):
        release(np.full((20, 20), math.nan), rho=0.01)


def test_the_medians_of_shifted_need_rows_of_their_own():
    data = np.random.default_rng(9).normal(5, 1, (4000, 128))
    with pytest.raises(TooFewRowsError):
        release(data, rho=0.005, norm_bound=500.0, method="shifted")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(data, rho=0.02, norm_bound=500.0, method="clipped")


# --- what a release says -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["shifted", "clipped"])
@pytest.mark.parametrize("rho", [0.1, 0.5, Fraction(1, 3), 17])
def test_receipts_add_up_to_the_budget_exactly(rows, method, rho):
    for first, more in (([], REPLACED), (["number"], {})):
        found = release(rows, method=method, rho=rho, allow_few_rows=True, **more)
        assert found.rho == Fraction(str(rho))
        steps = [receipt.step for receipt in found.receipts]
        assert steps == [*first, *(["centre"] if method == "shifted" else []), "radius", "mean"]


def test_epsilon_never_exceeds_what_was_asked(rows):
    for epsilon in (1.0, 1.3, 3.7):
        found = release(rows, rho=None, epsilon=epsilon, delta=1e-7)
        assert epsilon * (1 - 1e-9) < found.epsilon(1e-7) <= epsilon


def test_a_release_survives_json(rows):
    found = release(rows)
    text = found.to_json()
    back = Release.from_json(text)
    assert np.array_equal(back.mean, found.mean)
    assert np.array_equal(back.noise_std, found.noise_std)
    assert np.array_equal(back.centre, found.centre)
    assert back.receipts == found.receipts
    assert back.rho == found.rho
    assert back.neighbours is found.neighbours
    assert back.to_json() == text


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"mean": [1.0]},
        {"mean": [float("nan")] * 20},
        {"n": "many"},
        {"n": -4},
        {"radius": "x"},
        {"noise_std": [-1.0] * 20},
        {"public": {"delta": "x"}},
        {"public": {"bound": 3}},
        {"receipts": [{"step": None, "asked": "b", "mechanism": "c", "rho": "1/2"}]},
        {"receipts": [{"step": "a", "asked": "b", "mechanism": "c", "rho": 0.5}]},
        {"seeded": "no"},
        {"method": 3},
        {"neighbours": None},
        {"receipts": []},
        {"receipts": [{}]},
        {"receipts": [{"step": "a", "asked": "b", "mechanism": "c", "rho": "1/0"}]},
        {"more": 1},
    ],
)
def test_a_document_that_is_no_release_is_refused(rows, change):
    document = json.loads(release(rows).to_json())
    with pytest.raises(ValueError, match="release"):
        Release.from_json(json.dumps({**document, **change}))


def test_text_that_is_no_json_is_refused():
    with pytest.raises(ValueError, match="not a release"):
        Release.from_json("[1, 2")


def test_a_release_is_frozen(rows):
    found = release(rows)
    before = found.to_json()
    for name in ("mean", "noise_std", "centre"):
        getattr(found, name)[:] = 0  # a copy
        with pytest.raises(AttributeError):
            setattr(found, name, np.zeros(found.d))
    with pytest.raises(AttributeError):
        found.mean += 1
    with pytest.raises(ValueError, match="read-only"):
        found.__array__(copy=False)[0] = 0
    assert found.to_json() == before
    with pytest.raises(AttributeError):
        found.radius = 1.0
    with pytest.raises(AttributeError):
        found.settings.delta = 0.5


def test_a_release_prints_its_price_and_says_when_it_was_seeded(rows):
    said = {
        "replace-one": ("4000 rows in 20 dimensions", "rows is public"),
        "add-or-remove-one": ("of about 4002 rows in 20 dimensions", "rows is published with noise"),
    }
    for neighbours, parts in said.items():
        found = release(rows, neighbours=neighbours)
        assert max(map(len, found.explain().splitlines())) <= 80
        text = " ".join(found.explain().split())
        for part in (*parts, neighbours, "rho = 0.5", "SEEDED", "centre"):
            assert part in text
    assert "seeded" in repr(release(rows))
    assert "SEEDED" not in str(release(rows, seed=None))


def test_only_a_seed_makes_two_releases_alike(rows):
    one, two = release(rows, seed=None), release(rows, seed=None)
    assert not one.seeded
    assert not np.array_equal(one.mean, two.mean)
    assert one.settings.coins != two.settings.coins
    assert release(rows).seeded
    assert np.array_equal(release(rows).mean, release(rows).mean)
    assert not np.array_equal(release(rows).mean, release(rows, seed=8).mean)


def test_the_public_names_are_these():
    assert sorted(dpmean.__all__) == dpmean.__all__
    for name in dpmean.__all__:
        assert getattr(dpmean, name) is not None
    assert set(dpmean.__all__) <= set(dir(dpmean))
    with pytest.raises(AttributeError, match="no attribute 'median'"):
        _ = dpmean.median


@pytest.mark.parametrize(
    ("function", "given", "words"),
    [
        ("mean", {"epsilonn": 1}, "mean() has no argument 'epsilonn': did you mean 'epsilon'?"),
        ("mean", {"Epsilon": 1}, "mean() has no argument 'Epsilon': did you mean 'epsilon'?"),
        ("mean", {"eps": 1}, "mean() has no argument 'eps': did you mean 'epsilon'?"),
        ("mean", {"rho": 1, "bound": 1}, "mean() has no argument 'bound': did you mean 'bounds'?"),
        ("mean", {"by": "clinic"}, "mean() has no argument 'by': dpmean.mean_by takes it"),
        ("mean_by", {"group": ["a"]}, "mean_by() has no argument 'group': did you mean 'groups'?"),
        ("plan", {"norm_bound": 1}, "plan() has no argument 'norm_bound': dpmean.mean and dpmean.mean_by take it"),
        ("plan", {"wxyz": 1}, "plan() has no argument 'wxyz': help(dpmean.plan) lists its arguments"),
    ],
)
def test_a_misspelt_argument_is_told_with_the_one_that_is_meant(function, given, words):
    with pytest.raises(dpmean.ArgumentTypeError) as caught:
        getattr(dpmean, function)([[1.0]], **given)
    assert str(caught.value) == words


def test_what_knows_its_arguments_has_the_signature_and_the_words_of_the_function():
    for function in (dpmean.mean, dpmean.mean_by, dpmean.plan):
        assert inspect.signature(function) == inspect.signature(function.__wrapped__)
        assert all(one.kind is not one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())
        assert function.__doc__ == function.__wrapped__.__doc__
        assert getattr(sys.modules[function.__module__], function.__qualname__) is function  # as pickle finds it
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'X'"):
        dpmean.mean(rho=1)

"""The peers: the interface and receipts of ours, the errors they are known for, and what each claims to protect."""

import math
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import Neighbours, baselines
from dpmean.baselines import coinpress
from dpmean.baselines.floats import FloatCurator, clip_rows
from dpmean.experiments.methods import oracle
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import seeded
from dpmean.pipeline import central
from dpmean.privacy.budgets import Zcdp
from dpmean.queries.domain import Domain
from dpmean.rows import opening
from dpmean.rows.memory import MemoryRows
from tests.support.recorder import Histogrammed, Recorder, RecordingNoise, Summed

N, D = 4000, 128
ROWS = np.random.default_rng(0).normal(5, 1, (N, D))
BOUND = 50 * math.sqrt(D)

EXACT = {
    "gaussian_mechanism": {},
    "quantile_clipping": {"quantile": 0.5},
    "adaptive_clipping": {"rounds": 30},
    "coinpress_mean": {"rounds": 4},
}
IN_FLOATS = {"coinpress_covariance_mean": {"covariance_rounds": 2}, "plan_mean": {}}
ALL = EXACT | IN_FLOATS


def release(name, rows=ROWS, bound=BOUND, rho=0.5, seed=1, **options):
    return getattr(baselines, name)(rows, rho=rho, norm_bound=bound, seed=seed, **{**ALL[name], **options})


def error(name, rows=ROWS, trials=12, **more):
    found = [release(name, rows, seed=seed, **more).mean - rows.mean(axis=0) for seed in range(trials)]
    return float(np.median([np.linalg.norm(one) for one in found]))


@pytest.mark.parametrize("name", ALL)
def test_receipts_add_up_to_the_budget_and_a_seed_repeats_the_release(name):
    found = release(name)
    assert found.rho == Fraction(1, 2)
    assert np.array_equal(found.mean, release(name).mean)
    assert not np.array_equal(found.mean, release(name, seed=2).mean)
    assert found.mean.shape == found.noise_std.shape == (D,)
    assert found.exact == (name in EXACT)
    assert dpmean.Release.from_json(found.to_json()).exact == found.exact
    assert ("FLOATS" in str(found)) == (name in IN_FLOATS)


@pytest.mark.parametrize("name", ALL)
def test_a_ledger_takes_what_is_exact_and_refuses_floats_and_seeds(name):
    ledger = dpmean.Ledger(rho=0.7)
    with pytest.raises(ValueError, match="a release with a seed protects nobody"):
        ledger.record(release(name))
    if name in EXACT:
        ledger.record(release(name, seed=None))
        assert ledger.left == Fraction(2, 10)
        assert repr(ledger) == "<Ledger: rho = 0.5 spent, 0.2 left>"
        with pytest.raises(TypeError, match=r"release must be a dpmean\.Release or a dpmean\.GroupedRelease, got 0.5$"):
            ledger.record(0.5)
        with pytest.raises(dpmean.OverspendError, match=r"only rho = 0.2 is left"):
            ledger.record(release(name, seed=None))
    else:
        with pytest.raises(ValueError, match="noise in floating point"):
            ledger.record(release(name, seed=None))
        assert ledger.left == Fraction(7, 10)


@pytest.mark.parametrize("name", ALL)
def test_what_cannot_be_used_is_refused_with_a_word(name):
    with pytest.raises(ValueError, match="budget is missing"):
        getattr(baselines, name)(ROWS, norm_bound=BOUND, seed=1)
    with pytest.raises(ValueError, match="NaN or infinity"):
        release(name, np.where(np.arange(D) == 3, np.nan, ROWS[:50]))
    assert np.all(np.isfinite(release(name, np.where(np.arange(D) == 3, np.nan, ROWS[:50]), nan="impute").mean))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("quantile_clipping", {"quantile": 1.5}, "quantile must lie between 0 and 1, got 1.5"),
        ("adaptive_clipping", {"rounds": 0}, "rounds must be an integer from 1 to 10000, got 0"),
        ("adaptive_clipping", {"learning_rate": -1}, "learning_rate must lie between 0 and 10, got -1"),
        ("coinpress_mean", {"rounds": 2.5}, "rounds must be an integer"),
        ("coinpress_covariance_mean", {"covariance_rounds": 0}, "covariance_rounds must be an integer"),
        ("coinpress_covariance_mean", {"sigma_min": 3.0, "sigma_max": 1.0}, "sigma_min must not exceed sigma_max"),
    ],
)
def test_options_are_checked(name, options, words):
    with pytest.raises(ValueError, match=words):
        release(name, **options)


# --- magnitudes --------------------------------------------------------------------------------------------------


def test_the_gaussian_mechanism_has_noise_for_the_whole_bound():
    found = release("gaussian_mechanism")
    assert found.noise_std[0] == pytest.approx(2 * BOUND / (N * math.sqrt(2 * 0.5)), rel=1e-6)
    assert error("gaussian_mechanism") == pytest.approx(found.noise_std[0] * math.sqrt(D), rel=0.1)


def test_coinpress_with_one_round_is_the_gaussian_mechanism_and_with_more_nears_the_oracle():
    """The README's table: errors of 3.2 at t = 1, 0.11 at 2, and 0.09 from 3 on."""
    assert error("coinpress_mean", rounds=1) == pytest.approx(error("gaussian_mechanism"), rel=0.1)
    assert error("coinpress_mean", rounds=2) == pytest.approx(0.111, rel=0.1)
    for rounds in (3, 4, 10):
        assert error("coinpress_mean", rounds=rounds) == pytest.approx(0.09, rel=0.1)
    best = np.linalg.norm(oracle(ROWS, 0.5, np.random.default_rng(0)) - ROWS.mean(axis=0))
    assert error("coinpress_mean") > 1.1 * best


def test_the_last_round_of_coinpress_has_three_quarters_of_the_budget_and_the_published_clip():
    assert coinpress.shares(1) == [1]
    assert coinpress.shares(4) == [Fraction(1, 12)] * 3 + [Fraction(3, 4)]
    spread = math.sqrt(D + 2 * math.sqrt(D * math.log(100)) + 2 * math.log(100))
    radius = BOUND
    for share in coinpress.shares(4):
        clip = min(math.sqrt(radius**2 + 6 * radius + spread**2), radius + spread)
        std = 2 * clip / (N * math.sqrt(2 * 0.5 * share))
        radius = math.sqrt(1 / N + std**2) * spread
    found = release("coinpress_mean")
    assert found.radius == pytest.approx(clip, rel=1e-6)
    assert found.noise_std[0] == pytest.approx(std, rel=1e-6)


def test_coinpress_does_not_mind_a_translation_but_a_wrong_covariance():
    assert error("coinpress_mean", ROWS - 5) == pytest.approx(error("coinpress_mean"), rel=0.1)
    wide = 5 + 10 * (ROWS - 5)
    assert error("coinpress_mean", wide) > 5 * 10 * error("coinpress_mean")


def test_median_clipping_is_biased_where_the_mean_is_not_zero_and_clips_at_the_median():
    found = release("quantile_clipping", rho=5.0)
    assert found.radius == pytest.approx(np.median(np.linalg.norm(ROWS, axis=1)), rel=0.03)
    shrunk = np.linalg.norm(ROWS.mean(axis=0)) - np.linalg.norm(found.mean)
    assert 0.1 < shrunk < 1


def test_adaptive_clipping_arrives_at_the_quantile():
    """If norms are spread out; where they are all alike, steps of a fixed size jump to and fro across them."""
    rows = np.random.default_rng(6).normal(0, 1, (N, 2))
    for quantile in (0.3, 0.5, 0.9):
        found = release("adaptive_clipping", rows, rho=50.0, rounds=300, quantile=quantile)
        share = np.mean(np.linalg.norm(rows, axis=1) <= found.radius)
        assert share == pytest.approx(quantile, abs=0.05)
    assert release("adaptive_clipping", rounds=1).radius > 0.8 * BOUND


def test_with_enough_rows_the_covariance_is_found_and_helps():
    generator = np.random.default_rng(5)
    axes = np.linalg.qr(generator.normal(size=(8, 8)))[0]
    rows = generator.normal(size=(20000, 8)) * np.sqrt(np.linspace(1, 100, 8)) @ axes.T
    bounds = {"bound": 300.0, "sigma_min": 0.1, "sigma_max": 100.0, "covariance_rounds": 5}
    assert error("coinpress_covariance_mean", rows, **bounds) < 0.3 * error("coinpress_mean", rows, bound=300.0)


def test_a_covariance_that_cannot_be_inverted_is_a_clear_result(monkeypatch):
    """All rows zero: standard deviations are the smallest that are allowed. And if the algebra fails: a note."""
    zeros = np.zeros((500, 4))
    found = release("coinpress_covariance_mean", zeros, bound=10.0)
    assert np.all(np.isfinite(found.mean))
    assert np.linalg.norm(found.mean) < 10

    def fails(*_):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    found = release("coinpress_covariance_mean", ROWS[:, :4], bound=100.0)
    assert "the covariance could not be inverted (Eigenvalues did not converge)" in found.settings.note
    assert "the covariance could not be inverted" in " ".join(str(found).split())
    assert found.rho <= Fraction(1, 2)
    assert np.linalg.norm(found.mean - 5) < 10


def test_plan_gives_noise_to_columns_by_their_spread():
    stds = np.arange(1.0, D + 1) ** -1.5
    rows = 5 + np.random.default_rng(3).standard_normal((N, D)) * stds
    assert error("plan_mean", rows) < 0.75 * error("coinpress_mean", rows)
    errors = np.array([release("plan_mean", rows, seed=seed).mean - rows.mean(axis=0) for seed in range(12)])
    rms = np.sqrt(np.mean(errors**2, axis=0))
    assert rms[:4].mean() > 5 * rms[-20:].mean()
    assert error("plan_mean") == pytest.approx(0.095, rel=0.15)


# --- what is protected -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXACT)
def test_one_replaced_row_moves_exact_answers_by_what_the_receipts_say(name, monkeypatch):
    """Record a run, put its questions to neighbours, and add up sensitivity^2 / (2 variance) of all noise drawn."""
    n, d = 300, 5
    data = np.random.default_rng(7).normal(2, 1, (n, d))
    log, noise = [], RecordingNoise(seeded(3))
    monkeypatch.setattr(opening, "MemoryRows", lambda *given: Recorder(MemoryRows(*given), log))
    monkeypatch.setattr(central, "read_randomness", lambda _: (noise, PublicCoins("known")))
    found = release(name, data, bound=30.0)

    balls = [question.ball for question in log if isinstance(question, Summed)]
    spent, used = Fraction(0), 0
    for _, _, variance, count in noise.log:
        if count == d:
            spent += Fraction((2 * balls[used].radius) ** 2) / (2 * variance)
            used += 1
        else:
            spent += Fraction(count) / (2 * variance)
    assert used == len(balls)
    assert spent == found.rho == Fraction(1, 2)

    domain = Domain.within_norm(d, found.settings.bound.reach, impute=False)
    for row in (np.full(d, 1e6), np.full(d, -1e6), np.zeros(d), np.full(d, 2.0)):
        neighbour = data.copy()
        neighbour[17] = row
        for question in log:
            before, after = (question.ask(MemoryRows(rows, domain)) for rows in (data, neighbour))
            change = np.asarray(after, dtype=object) - np.asarray(before, dtype=object)
            if isinstance(question, Summed):
                assert sum(int(x) ** 2 for x in change) <= (2 * question.ball.radius) ** 2
            else:
                assert isinstance(question, Histogrammed) or len(change) == 1
                assert max(abs(int(x)) for x in change.ravel()) <= 1


@dataclass(frozen=True)
class Constant:
    """Noise that is the same number of standard deviations everywhere, to see how large one is."""

    deviations: float = 0.0
    seeded = True

    def at(self, step, start=0):  # noqa: ARG002  one signature for all
        return self

    def gaussian(self, variance, count):
        return np.full(count, round(self.deviations * math.sqrt(variance)), dtype=np.int64)


def curator(rows, noise=None, reach=100.0):
    domain = Domain.within_norm(rows.shape[1], reach, impute=True)
    return FloatCurator(MemoryRows(rows, domain), Zcdp(10), noise or Constant(), Neighbours.REPLACE_ONE)


def asked_of(curator, name, *arguments):
    """Ask a curator about all its rows."""
    return getattr(curator, name)(curator.rows, *arguments)


def line(index):
    return -10 + 20 * index / 4095


COST = Fraction(3, 10)
coordinates = st.floats(-50, 50)


@settings(max_examples=60, deadline=None)
@given(
    one=st.lists(coordinates, min_size=3, max_size=3),
    other=st.lists(coordinates, min_size=3, max_size=3),
    radius=st.floats(0.1, 20),
)
def test_one_replaced_row_moves_float_answers_by_what_their_noise_is_made_for(one, other, radius):
    """The change of an answer, squared, over twice the squared standard deviation of its noise: at most the cost."""
    data = np.random.default_rng(1).normal(1, 2, (20, 3))
    centre, upper = np.array([1.0, 0.0, -1.0]), np.triu_indices(3)
    answers = {}
    for name, row in (("one", one), ("other", other), ("noisy", one)):
        asked = curator(np.vstack([data, row]), Constant(1.0 if name == "noisy" else 0.0))
        mean, std = asked.ball_mean(asked.rows, centre, radius, COST, "mean")
        moments = asked.second_moments(asked.rows, radius, COST, "moments")
        answers[name] = mean, moments[upper], std
    for k in (0, 1):
        change = np.linalg.norm(answers["one"][k] - answers["other"][k])
        std = (answers["noisy"][k] - answers["one"][k])[0]
        assert change**2 / (2 * std**2) <= COST * (1 + 1e-6)
    assert answers["noisy"][2] == pytest.approx((answers["noisy"][0] - answers["one"][0])[0])


def test_what_float_answers_pay_for_can_happen():
    """Opposite rows far out use up the cost: there is not too much noise either."""
    upper = np.triu_indices(2)
    rows = [np.vstack([np.zeros((9, 2)), far]) for far in ([50.0, 0], [-50.0, 0], [0, 50.0])]
    asked = [curator(values) for values in rows]
    means = [one.ball_mean(one.rows, np.zeros(2), 2.0, COST, "mean") for one in asked]
    assert np.sum((means[0][0] - means[1][0]) ** 2) / (2 * means[0][1] ** 2) == pytest.approx(float(COST))
    moments = [one.second_moments(one.rows, 2.0, COST, "moments")[upper] for one in asked]
    noisy = asked_of(curator(rows[0], Constant(1.0)), "second_moments", 2.0, COST, "moments")[upper]
    std = (noisy - moments[0])[0]
    assert np.sum((moments[0] - moments[2]) ** 2) / (2 * std**2) == pytest.approx(float(COST))


@pytest.mark.parametrize("deviations", [-1.5, 0.0, 2.0])
def test_the_search_in_floats_compares_counts_with_noise_that_is_paid_for(deviations):
    """With the same noise everywhere it finds another rank: off by sqrt(questions columns / (2 cost)) each."""
    rows = np.random.default_rng(4).normal(0, 1, (4001, 3))
    found = asked_of(curator(rows, Constant(deviations)), "quantiles", 2000, line, 4096, COST, "medians")
    std = math.sqrt(12 * 3 / (2 * COST))
    rank = 2000 - round(deviations * std)
    assert np.allclose(found, np.sort(rows, axis=0)[rank], atol=20 / 4095)


@pytest.mark.parametrize("scale", [0.7, 1.3])
def test_a_wrong_scale_in_the_search_would_be_noticed(scale):
    rows = np.linspace(-9, 9, 4001)[:, np.newaxis] * np.ones(3)
    right = asked_of(curator(rows, Constant(20.0)), "quantiles", 2000, line, 4096, COST, "medians")
    wrong = asked_of(curator(rows, Constant(20.0 * scale)), "quantiles", 2000, line, 4096, COST, "medians")
    assert np.all(np.abs(right - wrong) > 5 * 20 / 4095)


def test_second_moments_are_those_of_the_clipped_rows_and_symmetric():
    rows = np.random.default_rng(2).normal(0, 1, (50, 4))
    short = clip_rows(rows, 1.5)
    moments = asked_of(curator(rows), "second_moments", 1.5, Fraction(1), "moments")
    assert np.allclose(moments, short.T @ short / 50)
    noisy = asked_of(curator(rows, seeded(1)), "second_moments", 1.5, Fraction(1), "moments")
    assert np.array_equal(noisy, noisy.T)


def test_noise_in_floats_is_normal():
    drawn = curator(np.zeros((2, 1)), seeded(1))._normal("step", 20000)
    assert drawn.std() == pytest.approx(1, abs=0.03)
    assert abs(drawn.mean()) < 0.04


def test_rows_of_any_size_are_shortened_and_not_lost():
    rows = MemoryRows(np.array([[3e300, 4e300], [0.3, 0.4], [30, 40]]), Domain.within_norm(2, 1.0, impute=False))
    assert np.allclose(rows.values(), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]])


def test_hopeless_settings_end_in_an_answer():
    rows = np.random.default_rng(1).normal(0, 1, (10, 128))
    for name in ("coinpress_mean", "coinpress_covariance_mean"):
        assert np.all(np.isfinite(release(name, rows, bound=10.0, rho=1e-6, rounds=100).mean))


def test_arguments_of_others_are_refused_by_name():
    with pytest.raises(TypeError, match="this baseline takes no argument bounds"):
        baselines.coinpress_mean(ROWS, rho=0.5, norm_bound=BOUND, bounds=(0, 1))


def test_baselines_are_found_without_importing_them():
    code = "import dpmean; print(dpmean.baselines.coinpress_mean.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "coinpress_mean"

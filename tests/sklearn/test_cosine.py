"""Nearest by cosine: every row at length 1 by itself, and centroids over their length without noise."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import normalize

import dpmean
from dpmean import ArgumentError, TooFewRowsError, TooFewRowsWarning
from dpmean.sklearn import PrivateNearestCentroid
from dpmean.sklearn.cosine import direction, unit_rows

seeded = pytest.mark.filterwarnings("ignore::dpmean.sklearn.SeededWarning")


def nearest(**more):
    return PrivateNearestCentroid(**{"classes": ["a", "b"], "rho": 0.5, "metric": "cosine", **more})


def directed(n=3000, d=8, seed=0, spread=0.3):
    """Return rows of two directions and of very different lengths."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b"], n)
    rows = np.eye(d)[np.where(labels == "a", 0, 1)] + spread * rng.standard_normal((n, d))
    return rows * rng.lognormal(0, 2, (n, 1)), labels


# --- rows of length 1 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int8, np.bool_])
def test_rows_have_length_one_and_zeros_stay(dtype):
    rows = (np.random.default_rng(0).normal(0, 40, (50, 7))).astype(dtype)
    rows[3] = 0
    before = rows.copy()
    found = unit_rows(rows)
    assert np.array_equal(rows, before)
    assert found == pytest.approx(normalize(rows.astype(np.float64)), abs=1e-6)
    assert not found[3].any()
    assert found.dtype == np.float64


def test_no_length_overflows_or_vanishes():
    rows = np.array([[1e300, 1e300], [5e-324, 0.0], [-3e-200, 4e-200], [np.finfo(float).max, 0.0]])
    root = np.sqrt(0.5)
    assert unit_rows(rows) == pytest.approx(np.array([[root, root], [1, 0], [-0.6, 0.8], [1, 0]]))


@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 9, 33, 128, 129, 1000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_is_scaled_by_itself(d, dtype):
    """To the bit, whatever rows there are beside it and however they are stored."""
    rows = np.random.default_rng(d).normal(0, 1, (300, d)).astype(dtype)
    alone = np.concatenate([unit_rows(row[None]) for row in rows])
    assert np.array_equal(unit_rows(rows), alone)
    assert np.array_equal(unit_rows(np.asfortranarray(rows)), alone)
    assert np.array_equal(unit_rows(rows[::-3])[::-1], alone[299 % 3 :: 3])
    assert np.array_equal(unit_rows(np.repeat(rows, 2, axis=1)[:, ::2]), alone)


@seeded
@pytest.mark.parametrize("kind", [np.float64, np.longdouble, list])
def test_the_type_of_one_row_changes_no_other(kind):
    """NumPy gives a list of rows one type; a row of a wider type changes it for all."""
    rows, labels = directed(d=16)
    rows = list(rows.astype(np.float32))
    other = [*rows[:-1], rows[-1].tolist() if kind is list else rows[-1].astype(kind)]
    assert np.array(rows).dtype != np.array(other).dtype
    assert np.array_equal(unit_rows(np.array(rows)), unit_rows(np.array(other)))
    found = [nearest(random_state=1).fit(one, labels).releases_.to_json() for one in (rows, other)]
    assert found[0] == found[1]


# --- the classifier --------------------------------------------------------------------------------------------------


@seeded
@pytest.mark.parametrize("neighbours", ["add-or-remove-one", "replace-one"])
def test_its_means_are_those_of_rows_of_length_one(neighbours):
    rows, labels = directed()
    fitted = nearest(neighbours=neighbours, random_state=7).fit(rows, labels)
    wanted = dpmean.mean_by(
        unit_rows(rows), by=labels, groups=["a", "b"], rho=0.5, norm_bound=1.0, neighbours=neighbours, seed=7
    )
    assert fitted.releases_.to_json() == wanted.to_json()
    assert fitted.releases_["a"].settings.bound.norm_bound == 1.0
    assert np.array_equal(fitted.centroids_[0], direction(wanted["a"])[0])


def test_only_directions_count():
    rows, labels = directed()
    fitted = nearest().fit(rows, labels)
    found = fitted.predict(rows)
    assert (found == labels).mean() > 0.9
    assert np.array_equal(fitted.predict(rows * 1e-3), found)
    asked = cosine_similarity(rows, fitted.centroids_).argmax(axis=1)
    assert (fitted.classes_[asked] == found).mean() > 0.99  # hardly any noise: both are the plain cosine
    assert np.linalg.norm(fitted.centroids_, axis=1) == pytest.approx(1, abs=0.02)
    euclidean = nearest(metric="euclidean", norm_bound=1e3).fit(rows, labels)
    assert euclidean.score(rows, labels) < fitted.score(rows, labels)
    assert fitted.predict(np.zeros((1, 8))) == ["a"]


def test_parameters_clones_and_pickles():
    rows, labels = directed()
    fitted = clone(nearest()).fit(rows, labels)
    assert fitted.get_params()["metric"] == "cosine"
    assert PrivateNearestCentroid().get_params()["metric"] == "euclidean"
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301  our own
    assert np.array_equal(again.predict(rows), fitted.predict(rows))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"metric": "manhattan"}, 'metric must be "euclidean" or "cosine", got \'manhattan\' .only these two have'),
        ({"metric": None}, "metric must be .* got None"),
        ({"metric": np.linalg.norm}, "metric must be .* got an object of type"),
        (
            {"norm_bound": 2.5},
            "to length 1 and needs no bound, got norm_bound=2.5: leave norm_bound out",
        ),
        ({"bounds": (0, 1)}, "got bounds=an object of type tuple: leave bounds out"),
        ({"metric": "euclidean"}, "exactly one of norm_bound and bounds"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_paid(wrong, words):
    ledger = dpmean.Ledger(rho=1)
    with pytest.raises(ArgumentError, match=words):
        nearest(ledger=ledger, **wrong).fit(*directed())
    assert not ledger.entries


def test_missing_values_are_an_error():
    rows, labels = directed()
    rows[5, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        nearest().fit(rows, labels)


@pytest.mark.parametrize("value", [0.0, 1e300])
def test_rows_of_zeros_and_huge_rows_do_no_harm(value):
    rows, labels = directed()
    with_odd, more = np.vstack([rows, np.full((20, 8), value)]), np.append(labels, ["a"] * 20)
    assert nearest().fit(with_odd, more).score(rows, labels) > 0.9


# --- noise -----------------------------------------------------------------------------------------------------------


def of_noise(mean, std, seed=0, d=400):
    """Return a release that has no error bound, with a mean of a length, and noise."""
    rows = np.random.default_rng(1).normal(0, 1, (2000, d))
    drawn = np.random.default_rng(seed).normal(0, std, d) + np.eye(d)[0] * mean
    release = dpmean.mean(rows, rho=0.5, norm_bound=100.0, method="clipped", seed=1)
    return replace(release, mean=drawn, noise_std=np.full(d, std))


def test_the_cosine_does_not_depend_on_the_noise():
    """Over the length with its noise, the cosine of a noisy centroid would be a third too small."""
    row = np.eye(400)[0]
    found = [direction(of_noise(0.8, 0.05, seed)) for seed in range(200)]
    cosines = np.array([row @ vector for vector, _ in found])
    plain = np.array([row @ vector / np.linalg.norm(vector) for vector, _ in found])
    assert all(clear for _, clear in found)
    assert cosines.mean() == pytest.approx(1, abs=3 * cosines.std() / np.sqrt(200) + 0.01)
    assert plain.mean() == pytest.approx(0.8 / np.hypot(0.8, 1), abs=0.02)


def test_pure_noise_has_no_direction():
    assert sum(direction(of_noise(0.0, 0.05, seed))[1] for seed in range(300)) <= 8
    assert all(direction(of_noise(1.0, 0.05, seed))[1] for seed in range(20))
    # and the vector of one stays within reach of rows of length 1: twice its noise, which has length 1 here
    assert max(np.linalg.norm(direction(of_noise(0.0, 0.05, seed))[0]) for seed in range(300)) < 2
    vector, clear = direction(of_noise(0.0, 0.0))
    assert not clear
    assert not vector.any()


def nowhere(n=1000, d=1500, seed=0):
    """Return unit rows of one class, and others that point everywhere."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b"], n)
    return np.eye(d)[0] * np.where(labels == "a", 50, 0)[:, None] + rng.standard_normal((n, d)), labels


@seeded
def test_a_class_that_points_nowhere_is_never_answered():
    rows, labels = nowhere()
    few = {"rho": 0.05, "random_state": 1}
    with pytest.warns(TooFewRowsWarning, match="never return class 'b': its mean cannot be distinguished"):
        fitted = nearest(**few).fit(rows, labels)
    assert np.isnan(fitted.centroids_).all(axis=1).tolist() == [False, True]
    assert set(fitted.predict(rows)) == {"a"}
    assert "b" in fitted.releases_.released
    forced = nearest(allow_few_rows=True, **few).fit(rows, labels)
    assert np.isfinite(forced.centroids_).all()
    assert forced.score(rows, labels) > 0.75  # better than with one class


@seeded
def test_if_no_class_has_a_direction_that_is_an_error_and_paid_for():
    rows, labels = nowhere()
    with pytest.raises(
        TooFewRowsError, match=r"no.* class has a centroid: class 'b': its mean cannot be distinguished"
    ) as caught:
        nearest(classes=["b"], rho=0.05, random_state=1).fit(rows, labels)
    assert float(sum(receipt.cost.rho for receipt in caught.value.receipts)) == pytest.approx(0.05)
    assert caught.value.rows_needed == pytest.approx(1000, abs=150)

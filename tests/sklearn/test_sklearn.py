"""The estimators of scikit-learn: they behave like its own, spend like dpmean's functions, and keep no row."""

import copy
import doctest
import pickle
import struct
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import dpmean
import dpmean.sklearn
from dpmean import ArgumentError, ArgumentTypeError, DataError, OverspendError, TooFewRowsError, TooFewRowsWarning
from dpmean.sklearn import PrivateMean, PrivateNearestCentroid, SeededWarning
from tests.support.public import REPLACED

ROOT = Path(__file__).parents[2]
BOUND = {"norm_bound": 100.0}
ADDED = "add-or-remove-one"
seeded = pytest.mark.filterwarnings("ignore::dpmean.sklearn.SeededWarning")


def labelled(n=3000, d=5, seed=0, classes=("a", "b")):
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, n)
    return rng.normal([[3 * classes.index(label)] for label in labels], 1, (n, d)), labels


def nearest(**more):
    return PrivateNearestCentroid(**{"classes": ["a", "b"], "rho": 0.5, **BOUND, **more})


# --- scikit-learn's own checks ---------------------------------------------------------------------------------------

OTHER_LABELS = {"check_classifiers_classes": "its labels are others than the listed ones, and are not looked at"}
NO_ROWS = {"check_estimators_empty_data_messages": "that there are no rows is private where their number is"}


@pytest.mark.filterwarnings("ignore")  # the checks set random_state, have few rows, and warn of their own
@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        # a budget that leaves hardly any noise: the checks have ten rows or so, and expect good answers
        (PrivateMean(rho=1e9, norm_bound=1e6, allow_few_rows=True, **REPLACED), {}),
        (PrivateMean(rho=1e9, bounds=(-1e6, 1e6), allow_few_rows=True), NO_ROWS),
        (PrivateMean(rho=1e9, bounds=(-1e6, 1e6), allow_few_rows=True, standardize=True), NO_ROWS),
        (PrivateNearestCentroid(classes=[0, 1, 2], rho=1000, norm_bound=1e6), OTHER_LABELS),
        (PrivateNearestCentroid(classes=[0, 1, 2], rho=4000, norm_bound=1e6, neighbours="replace-one"), OTHER_LABELS),
        (PrivateNearestCentroid(classes=[0, 1, 2], rho=1000, metric="cosine"), OTHER_LABELS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_checks_of_scikit_learn(estimator, expected):
    results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
    status = {entry["check_name"]: entry["status"] for entry in results}
    assert len(status) > 40
    assert {name for name, how in status.items() if how == "failed"} == set()
    assert {name for name, how in status.items() if how == "xfail"} == set(expected)
    assert {name for name, how in status.items() if how == "skipped"} <= {"check_array_api_input"}


@seeded
def test_what_that_check_asks_holds_for_listed_text():
    rows, labels = labelled(classes=("two", "one"))
    fitted = nearest(classes=["two", "one"], random_state=1).fit(rows, labels.astype(object))
    assert fitted.classes_.tolist() == ["one", "two"]
    assert fitted.score(rows, labels) > 0.99


# --- they are dpmean's functions -------------------------------------------------------------------------------------


@seeded
@pytest.mark.parametrize(
    "settings",
    [
        {"rho": 0.5, **BOUND},
        {"epsilon": 2.0, "delta": 1e-6, "bounds": (-10, 10), "method": "shifted"},
        {"rho": 0.5, **BOUND, "neighbours": "add-or-remove-one"},
        {"rho": 0.5, **BOUND, "neighbours": "replace-one"},
    ],
)
def test_the_mean_is_that_of_dpmean(settings):
    rows, _ = labelled()
    wanted = dpmean.mean(rows, seed=7, **settings)
    fitted = PrivateMean(random_state=7, **settings).fit(rows)
    assert fitted.release_.to_json() == wanted.to_json()
    assert np.array_equal(fitted.mean_, wanted.mean)
    assert np.array_equal(fitted.transform(rows), rows - wanted.mean)


def uneven(n=4000, seed=0):
    """Return rows whose columns differ a thousandfold, and one that does not vary at all."""
    scales = np.array([1000.0, 30.0, 1.0, 0.0])
    return np.random.default_rng(seed).normal(5, 1, (n, 4)) * scales, scales


@seeded
@pytest.mark.parametrize("shape", ["auto", [1000.0, 30.0, 1.0, 2.0]])
def test_a_mean_may_standardize(shape):
    """Each column is divided by its scale; one that hardly varies is not, as in a StandardScaler."""
    rows, scales = uneven()
    settings = {"rho": 0.5, "bounds": (-1e5, 1e5), "shape": shape}
    fitted = PrivateMean(random_state=7, standardize=True, **settings).fit(rows)
    assert fitted.release_.to_json() == dpmean.mean(rows, seed=7, **settings).to_json()
    assert fitted.scale_[:3] == pytest.approx(scales[:3], rel=0.3)
    assert fitted.scale_[3] == (1 if shape == "auto" else 2)
    out = fitted.transform(rows)
    assert np.array_equal(out, (rows - fitted.mean_) / fitted.scale_)
    assert out[:, :3].std(axis=0) == pytest.approx([1, 1, 1], rel=0.3)
    plain = PrivateMean(random_state=7, **settings).fit(rows)
    assert np.array_equal(plain.scale_, fitted.scale_)
    assert np.array_equal(plain.transform(rows), rows - plain.mean_)
    assert np.array_equal(copy.deepcopy(fitted).transform(rows), out)
    assert clone(fitted).get_params()["standardize"] is True
    for one in (fitted, plain):
        assert one.inverse_transform(one.transform(rows)) == pytest.approx(rows)
    assert np.array_equal(fitted.inverse_transform(np.zeros((1, 4))), fitted.mean_[None])
    assert np.allclose(fitted.inverse_transform(np.ones((2, 4))), fitted.mean_ + fitted.scale_)


@seeded
def test_scales_of_columns_have_names_and_are_left_out_where_asked():
    rows, _ = uneven()
    frame = pd.DataFrame(rows, columns=list("abcd"))
    scales = {"d": 1.0, "c": 1.0, "b": 30.0, "a": 1000.0}
    fitted = PrivateMean(rho=0.5, norm_bound=1e6, shape=scales, random_state=1).fit(frame)
    assert fitted.scale_.tolist() == [1000.0, 30.0, 1.0, 1.0]
    assert PrivateMean(rho=0.5, norm_bound=1e6, shape="round", random_state=1).fit(rows).scale_ is None
    labels = np.where(rows[:, 0] > 5000, "a", "b")
    given = nearest(norm_bound=1e6, shape=[1000.0, 30.0, 1.0, 1.0], random_state=1).fit(rows, labels)
    assert all(one.scales.kind == "given" for one in given.releases_.released.values())


@seeded
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"shape": "round"}, 'standardize=True needs the scales of the columns, got shape="round"'),
        ({"method": "shifted"}, 'standardize=True is for method="refined", got method="shifted"'),
        ({"standardize": "yes"}, "standardize must be True or False"),
        ({"d": 1}, "standardize=True needs at least two columns"),
    ],
)
def test_what_cannot_be_standardized_is_refused_before_anything_is_paid(wrong, words):
    ledger, d = dpmean.Ledger(rho=1), wrong.pop("d", 4)
    settings = {"rho": 0.5, "norm_bound": 1e6, "standardize": True, "ledger": ledger, **wrong}
    with pytest.raises((ArgumentError, ArgumentTypeError), match=words):
        PrivateMean(**settings).fit(uneven()[0][:, :d])
    assert ledger.entries == ()


@seeded
@pytest.mark.filterwarnings("ignore:about .* rows are too few")
def test_too_few_rows_to_standardize_are_told():
    rows, _ = uneven(60)
    with pytest.warns(TooFewRowsWarning, match="does not standardize"):
        fitted = PrivateMean(rho=0.01, bounds=(-1e5, 1e5), allow_few_rows=True, standardize=True, random_state=1).fit(
            rows
        )
    assert fitted.scale_ is None
    assert np.array_equal(fitted.transform(rows), rows - fitted.mean_)


@seeded
@pytest.mark.parametrize("neighbours", ["add-or-remove-one", "replace-one"])
def test_centroids_are_those_of_mean_by_with_private_sizes(neighbours):
    rows, labels = labelled()
    wanted = dpmean.mean_by(
        rows, by=labels, groups=["a", "b"], rho=0.5, neighbours=neighbours, sizes="private", seed=7, **BOUND
    )
    fitted = nearest(neighbours=neighbours, random_state=7).fit(rows, labels)
    assert fitted.releases_.to_json() == wanted.to_json()
    assert fitted.releases_.rho == Fraction(1, 2)
    assert np.array_equal(fitted.centroids_, [wanted["a"].mean, wanted["b"].mean])


def test_predict_answers_the_nearest():
    rows, labels = labelled()
    fitted = nearest(classes=["b", "a"]).fit(rows, labels)
    assert fitted.classes_.tolist() == ["a", "b"]
    assert fitted.predict([[0.0] * 5, [3.0] * 5, [-9.0] * 5]).tolist() == ["a", "b", "a"]
    assert fitted.score(rows, labels) > 0.99


# --- in scikit-learn's hands -----------------------------------------------------------------------------------------


def test_pipelines_clones_and_parameters():
    rows, labels = labelled()
    model = Pipeline([("centre", PrivateMean(rho=0.2, **BOUND)), ("nearest", nearest())])
    twin = clone(model.set_params(nearest__rho=0.3, centre__method="shifted"))
    assert twin.get_params()["nearest__classes"] == ["a", "b"]
    assert twin.fit(rows, labels).score(rows, labels) > 0.99
    assert twin["centre"].release_.method == "shifted"
    assert twin["nearest"].releases_.rho == Fraction(3, 10)
    assert np.linalg.norm(twin["nearest"].centroids_.sum(axis=0)) < 1  # around zero, where the rows are now
    with pytest.raises(NotFittedError):
        clone(twin["nearest"]).predict(rows)
    with pytest.raises(NotFittedError):
        clone(twin["centre"]).transform(rows)


def test_frames_and_names():
    rows, labels = labelled(d=2)
    frame = pd.DataFrame(rows, columns=["age", "bmi"])
    bounds = {"bmi": (-20, 20), "age": (-10, 10)}
    fitted = PrivateMean(rho=0.5, bounds=bounds, shape="round", **REPLACED).set_output(transform="pandas").fit(frame)
    assert fitted.feature_names_in_.tolist() == fitted.get_feature_names_out().tolist() == ["age", "bmi"]
    assert fitted.release_["bmi"] == fitted.mean_[1]
    assert fitted.release_.noise_std[1] == pytest.approx(2 * fitted.release_.noise_std[0])
    assert fitted.transform(frame).columns.tolist() == ["age", "bmi"]
    back = fitted.inverse_transform(fitted.transform(frame))  # a frame, and below an array without names
    assert back == pytest.approx(frame.to_numpy())
    assert fitted.inverse_transform(fitted.transform(frame).to_numpy()) == pytest.approx(frame.to_numpy())
    assert np.allclose(clone(fitted).fit_transform(frame).mean(), 0, atol=0.5)

    classifier = nearest(bounds=bounds, norm_bound=None).fit(frame, pd.Series(labels))
    assert classifier.releases_["a"].columns == ("age", "bmi")
    assert classifier.score(frame, labels) > 0.9
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame[["bmi", "age"]])
    with pytest.raises(ArgumentError, match="needs columns with names"):
        PrivateMean(rho=0.5, bounds=bounds).fit(rows)


@seeded
@pytest.mark.parametrize("estimator", [PrivateMean(rho=0.5, **BOUND, random_state=1), nearest(random_state=1)])
def test_they_survive_pickling(estimator):
    rows, labels = labelled()
    fitted = clone(estimator).fit(rows, labels)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301  our own
    answer = "transform" if hasattr(fitted, "transform") else "predict"
    assert np.array_equal(getattr(again, answer)(rows), getattr(fitted, answer)(rows))


# --- what they keep to themselves ------------------------------------------------------------------------------------


def numbers_in(estimator, values):
    """Count the numbers that the pickle holds, in binary or in print."""
    stored = pickle.dumps(estimator)
    forms = ({struct.pack("<d", value), struct.pack(">d", value), repr(value).encode()} for value in values)
    return sum(any(form in stored for form in each) for each in forms)


@pytest.mark.parametrize("estimator", [PrivateMean(rho=0.5, **BOUND), nearest()])
def test_a_fitted_estimator_holds_no_number_of_a_row(estimator):
    rows, labels = labelled(n=1000, d=3)
    values = [float(value) for value in rows.ravel()]
    exact = [float(value) for label in "ab" for value in rows[labels == label].mean(axis=0)]
    fitted = estimator.fit(rows, labels)
    assert numbers_in(fitted, [*values, *exact, *rows.mean(axis=0).tolist()]) == 0
    fitted.kept_ = rows[17:18]
    assert numbers_in(fitted, values) == 3


@seeded
def test_unlisted_labels_leave_no_trace():
    rows, labels = labelled(classes=("a", "b", "secret"))
    listed = labels != "secret"
    with warnings.catch_warnings():
        warnings.simplefilter("error", TooFewRowsWarning)
        full, part = (nearest(random_state=3).fit(*data) for data in ((rows, labels), (rows[listed], labels[listed])))
    assert pickle.dumps(full) == pickle.dumps(part)
    assert b"secret" not in pickle.dumps(full)
    missing = labels.astype(object)
    missing[~listed] = None
    assert pickle.dumps(nearest(random_state=3).fit(rows, missing)) == pickle.dumps(part)


@seeded
def test_labels_that_are_no_numbers_leave_no_trace_beside_numbers():
    rows, labels = labelled(classes=(0, 1, 2))
    strange = np.where(labels == 2, np.nan, labels)
    listed = labels != 2
    full = nearest(classes=[0, 1], random_state=3).fit(rows, strange)
    part = nearest(classes=[0, 1], random_state=3).fit(rows[listed], labels[listed])
    assert pickle.dumps(full) == pickle.dumps(part)


@seeded
@pytest.mark.parametrize(
    "store",
    [list, lambda y: pd.Series(y, dtype=object), lambda y: pd.Series(y, dtype=object).astype("category")],
    ids=["list", "objects", "category"],
)
@pytest.mark.parametrize("odd", ["x", "0.0", b"x", None, pd.NA, 7, np.datetime64("2024-01-01")])
def test_one_label_changes_no_other(store, odd):
    """In an array of NumPy one text makes text of all numbers: 0.0 becomes "0.0", which nobody listed."""
    rows, labels = labelled(classes=(0.0, 1.0))
    wanted = nearest(classes=[0, 1], random_state=3).fit(rows[1:], labels[1:])
    found = nearest(classes=[0, 1], random_state=3).fit(rows, store([odd, *labels[1:].tolist()]))
    assert found.releases_.to_json() == wanted.releases_.to_json()


@pytest.mark.parametrize("classes", [(2**53 + 1, 0.5), (1, 2**63 + 1), (-1, 2**64 - 1), ("a\0", "a")])
def test_classes_are_the_labels_that_were_listed(classes):
    rows, places = labelled(classes=(0, 1))
    fitted = nearest(classes=list(classes)).fit(rows, [classes[place] for place in places])
    assert fitted.classes_.tolist() == sorted(classes)
    assert np.isfinite(fitted.centroids_).all()
    assert fitted.predict(rows).tolist().count(classes[0]) == pytest.approx((places == 0).sum(), abs=50)
    assert fitted.score(rows, [classes[place] for place in places]) > 0.97


@seeded
def test_labels_of_every_kind_are_the_same_classes():
    rows, labels = labelled(classes=(0, 1))
    wanted = nearest(classes=[0, 1], random_state=3).fit(rows, labels).releases_.to_json()
    series = pd.Series(labels)
    for y in (
        labels.tolist(),
        labels.astype(float),
        series.astype("Int64"),
        series.astype("category"),
        pl.Series(labels),
    ):
        assert nearest(classes=[0, 1], random_state=3).fit(rows, y).releases_.to_json() == wanted
    for y in (labels[:, None], series.to_frame()):
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
            assert nearest(classes=[0, 1], random_state=3).fit(rows, y).releases_.to_json() == wanted


def test_errors_do_not_tell_how_many_rows_there_are():
    rows, labels = labelled(n=3141)
    fitted = [PrivateMean(rho=0.5, **BOUND).fit(rows), nearest().fit(rows, labels)]
    estimators = [PrivateMean(rho=0.5, neighbours=ADDED, **BOUND), nearest(), nearest(neighbours="replace-one")]
    calls = [lambda e=e: clone(e).fit(rows[:, :0], labels) for e in estimators]
    calls += [lambda e=e: clone(e).fit(rows[:, :, None], labels) for e in estimators]
    for y in (labels[1:], labels.tolist()[1:], np.stack([labels, labels], axis=1), [[label] * 2 for label in labels]):
        calls += [lambda e=e, y=y: clone(e).fit(rows, y) for e in estimators[1:]]
    calls += [lambda: fitted[0].inverse_transform(rows.T), lambda: fitted[0].inverse_transform(rows[:, :, None])]
    calls += [lambda: fitted[0].transform(rows.T), lambda: fitted[1].predict(rows.T)]
    calls += [lambda: fitted[1].score(rows, labels[1:]), lambda: fitted[1].score(rows.T, labels)]
    calls += [lambda: fitted[1].score(rows, labels, np.ones(5)), lambda: fitted[1].score(rows, None)]
    for call in calls:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert not any(number in str(caught.value) for number in ("3141", "3140"))
        assert caught.value.__context__ is None
    with pytest.raises(ValueError, match="X has another number of features, but PrivateMean is expecting 5 features"):
        fitted[0].transform(rows.T)
    with pytest.raises(ValueError, match="X has another number of features, but PrivateMean is expecting 5 features"):
        fitted[0].inverse_transform(rows.T)
    with pytest.raises(NotFittedError):
        PrivateMean().inverse_transform(rows)


def test_the_score_reads_labels_one_by_one():
    rows, labels = labelled(classes=(0, 1))
    fitted = nearest(classes=[0, 1]).fit(rows, labels)
    right = fitted.predict(rows) == labels
    assert fitted.score(rows, labels.astype(float).tolist()) == right.mean()
    mixed = [*labels.tolist()[:-1], "text"]
    assert fitted.score(rows, mixed) == np.append(right[:-1], False).mean()
    weights = np.arange(len(rows))
    assert np.isclose(fitted.score(rows, labels, weights), np.average(right, weights=weights))


@seeded
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nothing_in_rows_of_unlisted_classes_is_an_error(value):
    rows, labels = labelled(classes=("a", "b", "secret"))
    listed = labels != "secret"
    part = pickle.dumps(nearest(random_state=3).fit(rows[listed], labels[listed]))
    strange, text = np.where(listed[:, None], rows, value), pd.Series(labels, dtype="string")
    text[~listed] = pd.NA
    for y in (labels, text, text.astype(object)):
        assert pickle.dumps(nearest(random_state=3).fit(strange, y)) == part
    for neighbours in ("add-or-remove-one", "replace-one"):
        nearest(neighbours=neighbours).fit(pd.DataFrame(strange, columns=list("vwxyz"), dtype="Float64"), labels)
    strange[np.flatnonzero(listed)[7], 2] = value
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        nearest().fit(strange, labels)
    with pytest.raises(ArgumentError, match="y must hold as many keys as X has rows") as caught:
        nearest().fit(rows, labels[1:])
    assert "299" not in str(caught.value)


def test_a_class_with_too_few_rows_is_never_answered():
    rows, labels = labelled(classes=("a", "b", "c"))
    few = (labels != "c") | (np.cumsum(labels == "c") <= 5)
    with pytest.warns(TooFewRowsWarning, match=r"never return class 'c': about \d+ (rows are|row is) too few"):
        fitted = nearest(classes=["a", "b", "c"]).fit(rows[few], labels[few])
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert np.isnan(fitted.centroids_).all(axis=1).tolist() == [False, False, True]
    assert fitted.releases_["c"].rows_needed > 20
    assert dpmean.GroupedRelease.from_json(fitted.releases_.to_json())["c"] == fitted.releases_["c"]
    assert set(fitted.predict(rows)) == {"a", "b"}
    forced = nearest(classes=["a", "b", "c"], allow_few_rows=True).fit(rows[few], labels[few])
    assert np.isfinite(forced.centroids_).all()
    assert [forced.releases_[label].settings.few_rows for label in "abc"] == [False, False, True]


def test_if_no_class_is_left_that_is_an_error_and_paid_for():
    rows, labels = labelled(n=10)
    ledger = dpmean.Ledger(rho=1.0)
    with pytest.raises(TooFewRowsError, match=r"not one class has a centroid: class 'a': about \d+ rows?") as caught:
        nearest(ledger=ledger).fit(rows, labels)
    assert ledger.spent == Fraction(1, 50)  # the count of a class: a row is in one
    assert len(caught.value.receipts) == 2
    assert caught.value.rows_needed > 20


def test_that_there_are_no_rows_is_private_where_their_number_is():
    for estimator in (PrivateMean(rho=0.5, **BOUND), PrivateMean(rho=0.5, neighbours=ADDED, **BOUND), nearest()):
        with pytest.raises(TooFewRowsError, match="about"):
            estimator.fit(np.empty((0, 3)), [])
    with pytest.raises(ValueError, match="0 sample"):
        PrivateMean(rho=0.5, **BOUND, **REPLACED).fit(np.empty((0, 3)))


def test_errors_do_not_repeat_what_is_in_rows():
    rows, labels = labelled()
    text = rows.astype(object)
    text[3, 2] = "31415926"
    text[4, 2] = "somebody"
    secret = np.full(len(rows), 31415926.0)
    for estimator in (PrivateMean(rho=0.5, **BOUND), nearest()):
        fitted = clone(estimator).fit(rows, labels)
        huge = [[31415926 * 10**400] * rows.shape[1]] * len(rows)
        for wrong in (text, pd.DataFrame(text), secret, secret.tolist(), 31415926.0, secret[:, None] * 1j, huge):
            calls = [lambda X, e=estimator: clone(e).fit(X, labels)]
            names = ("transform", "inverse_transform", "predict")
            calls += [getattr(fitted, name) for name in names if hasattr(fitted, name)]
            for call in calls:
                with pytest.raises(DataError, match="real numbers") as caught:
                    call(wrong)
                assert "somebody" not in str(caught.value)
                assert "3141" not in str(caught.value)
                assert caught.value.__context__ is None


# --- budgets ---------------------------------------------------------------------------------------------------------


def test_clones_share_the_ledger():
    rows, labels = labelled()
    ledger = dpmean.Ledger(rho=1.0)
    assert copy.deepcopy([ledger, copy.copy(ledger)]) == [ledger, ledger]
    model = make_pipeline(
        PrivateMean(rho=0.25, ledger=ledger, neighbours=ADDED, **BOUND), nearest(rho=0.25, ledger=ledger)
    )
    clone(model).fit(rows, labels)
    assert ledger.spent == Fraction(1, 2)
    clone(clone(model)).fit(rows, labels)
    assert ledger.left == 0
    with pytest.raises(OverspendError):
        model.fit(rows, labels)


def test_cross_validation_and_searches_stop_where_the_budget_does():
    rows, labels = labelled()
    ledger = dpmean.Ledger(rho=0.25)
    with pytest.raises(OverspendError):
        cross_val_score(nearest(rho=0.1, ledger=ledger), rows, labels, cv=5, error_score="raise")
    assert ledger.spent == Fraction(1, 5)
    search = GridSearchCV(nearest(ledger=dpmean.Ledger(rho=1.1)), {"rho": [0.1, 0.3]}, cv=2, error_score="raise")
    assert search.fit(rows, labels).best_estimator_.score(rows, labels) > 0.99
    assert search.estimator.ledger.spent == Fraction(8, 10) + Fraction(str(search.best_params_["rho"]))


def test_a_ledger_in_memory_does_not_travel():
    fitted = nearest(ledger=dpmean.Ledger(rho=1.0)).fit(*labelled())
    with pytest.raises(ArgumentTypeError, match="cannot be pickled"):
        pickle.dumps(fitted)
    pickle.dumps(fitted.set_params(ledger=None))


# --- noise that is known ---------------------------------------------------------------------------------------------


def test_a_random_state_is_marked_and_no_ledger_takes_it():
    rows, labels = labelled()
    for estimator in (PrivateMean(rho=0.5, **BOUND), nearest()):
        first, second = (clone(estimator).fit(rows, labels) for _ in range(2))
        told = first.mean_ if hasattr(first, "mean_") else first.centroids_.ravel()
        assert numbers_in(first, told.tolist()) == len(told)
        assert numbers_in(second, told.tolist()) == 0
        with pytest.warns(SeededWarning, match="protects nobody"):
            known = clone(estimator).set_params(random_state=np.random.RandomState(1)).fit(rows, labels)
        assert (known.release_ if hasattr(known, "release_") else known.releases_).seeded
        with pytest.warns(SeededWarning), pytest.raises(ArgumentError, match="a release with a seed protects nobody"):
            clone(estimator).set_params(random_state=1, ledger=dpmean.Ledger(rho=1.0)).fit(rows, labels)


def test_an_ensemble_that_sets_the_random_state_is_noticed():
    with pytest.warns(SeededWarning, match="protects nobody"):
        BaggingClassifier(nearest(classes=[0, 1]), n_estimators=2).fit(*labelled())


# --- what is given ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"classes": None}, "classes must list the labels, got None"),
        ({"classes": []}, "classes must list the labels"),
        ({"classes": "ab"}, "classes must list the labels, got 'ab'"),
        ({"classes": ["a", "a"]}, "classes lists a label twice"),
        ({"classes": ["a", 1]}, "must be all numbers or all text"),
        ({"classes": [["a", "b"]]}, "must be all numbers or all text"),
        ({"rho": None}, "a privacy budget is missing"),
        ({"norm_bound": None}, "exactly one of norm_bound and bounds"),
        ({"neighbours": "swap"}, "neighbours must be"),
        ({"method": "best"}, "method must be one of"),
    ],
)
def test_arguments_are_checked_when_rows_come(more, words):
    with pytest.raises(ArgumentError, match=words):
        nearest(**more).fit(*labelled())


# --- the words -------------------------------------------------------------------------------------------------------


def test_without_scikit_learn_the_extra_is_named():
    code = "import sys; sys.modules['sklearn'] = None; import dpmean.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("dpmean.sklearn needs scikit-learn: run pip install 'dpmean[sklearn]'\n")


def test_the_examples_run():
    assert doctest.testmod(dpmean.sklearn) == (0, 10)
    names = {}
    exec((ROOT / "docs" / "sklearn.md").read_text().split("```python")[1].split("```")[0], names)  # noqa: S102  our own text
    assert names["ledger"].spent == Fraction(1, 5)
    assert names["model"].score(names["rows"], names["labels"]) > 0.97


def test_dates_are_no_numbers():
    dates = np.array(["NaT"] + ["2020-01-01"] * 300, dtype="M8[D]").reshape(-1, 1)
    ledger = dpmean.Ledger(rho=5.0)
    for rows in (dates, dates - np.datetime64("2000-01-01")):
        with pytest.raises(DataError, match="of real numbers"):
            PrivateMean(rho=1, ledger=ledger, **BOUND).fit(rows)
        with pytest.raises(DataError, match="of real numbers"):
            nearest(ledger=ledger).fit(rows, ["a"] * 301)
    assert not ledger.entries


@pytest.mark.parametrize("y", [{0: "Anna Secret"}, {"Anna Secret"}, "Anna Secret", pd.Series(["Anna Secret"]).items])
def test_errors_about_labels_name_a_type_and_quote_no_label(y):
    with pytest.raises(ArgumentTypeError, match="y must name a column, or hold one key per row, got an") as caught:
        PrivateNearestCentroid(classes=["a", "b"], norm_bound=9.0, rho=1.0).fit(np.ones((1, 2)), y)
    assert "Anna" not in str(caught.value)

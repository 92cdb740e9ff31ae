"""Estimators for scikit-learn: a transformer that subtracts a private mean, and a nearest centroid classifier.

They share one file because scikit-learn needs every parameter of each estimator written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
    from sklearn.metrics import pairwise_distances_argmin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted
except ModuleNotFoundError as error:
    words = "dpmean.sklearn needs scikit-learn: run pip install 'dpmean[sklearn]'"
    raise ModuleNotFoundError(words, name=error.name) from None

from dpmean.arguments.bounds import Bounds
from dpmean.arguments.choices import read_flag
from dpmean.arguments.groups import Groups, read_groups
from dpmean.arguments.request import Request, read_request
from dpmean.arguments.shape import ShapeArgument
from dpmean.enums import CentroidMetric, Shaping, read_name
from dpmean.errors import ArgumentError, DataError, TooFewRowsError, TooFewRowsWarning, describe, hide_sizes
from dpmean.estimators.registry import ESTIMATORS
from dpmean.ledger.ledger import Ledger
from dpmean.pipeline.dispatch import run
from dpmean.pipeline.grouped import run_groups
from dpmean.privacy.budgets import Number
from dpmean.release.grouped import GroupedRelease, Refusal
from dpmean.release.release import Release
from dpmean.release.statistics import scale
from dpmean.sklearn.cosine import NO_DIRECTION, UNIT_LENGTH, direction, unit_rows
from dpmean.sklearn.rows import (
    as_labels,
    check_fit,
    check_labelled,
    check_output,
    check_rows,
    find_labels,
    sort_labels,
)
from dpmean.warning import warn_user

__all__ = ["PrivateMean", "PrivateNearestCentroid", "SeededWarning"]

_PARAMETERS = (
    *("rho", "epsilon", "delta", "norm_bound", "bounds"),
    *("method", "neighbours", "shape", "population", "allow_few_rows", "ledger"),
)


class SeededWarning(UserWarning):
    """The noise is known, because ``random_state`` was given: the fitted estimator protects nobody."""


class PrivateMean(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """The mean of rows under differential privacy, as a transformer that centres and standardizes rows.

    ``fit`` releases the mean once. The fitted estimator holds the release, and no row and no exact statistic: it may be
    stored and published. ``transform`` subtracts the mean and can divide by the scales of the columns. It returns rows,
    which are as sensitive as the rows that you give.

    **Every fit spends the budget again.** Cross-validation and parameter searches fit many times on overlapping rows:
    five folds are five fits. Give a ``ledger``: clones share it, and it refuses a fit that would exceed the budget.

    Args:
        rho: The privacy budget in zero-concentrated differential privacy. Give either ``rho`` or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, instead of ``rho``. It needs a ``delta``.
        delta: The delta of ``epsilon``. It should be well below 1/n.
        norm_bound: An upper bound on the l2 norm of every row, known without looking at the rows. It may be loose. Give
            either ``norm_bound`` or ``bounds``.
        bounds: Bounds on the columns, instead of ``norm_bound``: ``(lower, upper)``, each one number or one number per
            column, or a dictionary by name if X has column names.
        method: The estimator, ``"refined"``, ``"shifted"`` or ``"clipped"``, as for ``dpmean.mean``.
        neighbours: Which datasets are neighbours. With ``"add-or-remove-one"``, the default, the number of rows is
            private. With ``"replace-one"`` it is public.
        shape: Whether the noise follows the scales of the columns, as for ``dpmean.mean``: ``"auto"``, ``"round"``, or
            the scale of each column if you know it.
        population: Whether to release the variances of the columns too, as for ``dpmean.mean``.
            ``release_.interval(of="population")`` and ``release_.std`` need them.
        standardize: Whether ``transform`` also divides each column by its scale, ``scale_``. That requires at least two
            columns, method ``"refined"``, and a shape other than ``"round"``.
        allow_few_rows: Whether to continue if there are too few rows for a useful mean. By default that is an error.
        ledger: A ``dpmean.Ledger`` that pays for every fit.
        random_state: A seed, for experiments only. Any value but None makes the noise known: the release then protects
            nobody and says so, and no ledger records it.

    Attributes:
        mean_: The private mean, one number per column.
        scale_: The scale of each column, roughly its standard deviation, found privately or given: the values of
            ``release_.scales``, and 1 for a scale that was not found. None if no scales were needed.
        release_: The ``dpmean.Release``, with the errors of the mean and the receipts of all queries.
        n_features_in_: The number of columns.
        feature_names_in_: The names of the columns, if they have names.

    Example:
        >>> import numpy as np
        >>> rows = np.random.default_rng(0).normal(5, 1, (4000, 100))
        >>> private = PrivateMean(rho=0.5, norm_bound=500.0).fit(rows)
        >>> bool(abs(private.transform(rows).mean()) < 0.1)
        True

    """

    def __init__(
        self,
        *,
        rho: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        norm_bound: float | None = None,
        bounds: Bounds | None = None,
        method: str = "refined",
        neighbours: str | None = None,
        shape: ShapeArgument = "auto",
        population: bool = False,
        standardize: bool = False,
        allow_few_rows: bool = False,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.rho = rho
        self.epsilon = epsilon
        self.delta = delta
        self.norm_bound = norm_bound
        self.bounds = bounds
        self.method = method
        self.neighbours = neighbours
        self.shape = shape
        self.population = population
        self.standardize = standardize
        self.allow_few_rows = allow_few_rows
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Release the mean of the rows of ``X``; this spends the whole budget.

        Args:
            X: The rows.
            y: Ignored. It is here because scikit-learn passes it.

        """
        request = _request(self)
        _check_standardize(self, request)
        rows = hide_sizes(lambda: check_fit(self, X, private_number=request.terms.private_size))
        if self.standardize and rows.shape[1] == 1:
            raise ArgumentError(
                "standardize=True needs at least two columns, got n_features = 1: leave standardize out"
            )
        self.release_: Release = run(rows, request)
        known = scale(self.release_)
        self.mean_, self.scale_ = self.release_.mean, None if known is None else np.where(known > 0, known, 1.0)
        if self.standardize and self.scale_ is None:
            warn_user(
                "transform does not standardize: there are too few rows to find scales; give them as shape",
                TooFewRowsWarning,
            )
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the rows of ``X`` minus the private mean; with ``standardize``, divided by the scales of the columns.

        A column whose scale was not found is not divided. The result has one row per row of ``X``, and is as sensitive.

        Args:
            X: Rows with the same columns.

        """
        check_is_fitted(self)
        centred: NDArray[Any] = check_rows(self, X, reset=False) - self.mean_
        if self.standardize and self.scale_ is not None:
            centred /= self.scale_
        return centred

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Undo ``transform``, up to rounding: multiply by the scales, and add the private mean.

        Use it for results that were computed from transformed rows, such as the centres of clusters.

        Args:
            X: Rows with the same columns, as ``transform`` returns them.

        """
        check_is_fitted(self)
        rows = check_output(self, X)
        return (rows * self.scale_ if self.standardize and self.scale_ is not None else rows) + self.mean_


class PrivateNearestCentroid(ClassifierMixin, BaseEstimator):
    """A classifier that predicts the class with the nearest private mean.

    You list the classes, because labels from the data would reveal who is in it. Rows with other labels are left out,
    and nothing reveals whether there are any. A row is in one class, so every class gets the whole budget, and all
    classes together cost it once. The number of rows in a class is private too. A class with too few rows gets no
    centroid: ``fit`` warns and gives the reason, and ``predict`` never returns this class.

    With ``metric="cosine"`` every row is first scaled to length 1, by itself. No bound is needed then, and only the
    directions of rows matter, as is usual for embeddings. A class whose mean cannot be distinguished from noise gets no
    centroid either.

    A fitted classifier holds no row and may be stored and published. The results of ``predict`` and ``score`` on
    sensitive rows are not protected. **Every fit spends the budget again**, also in cross-validation and parameter
    searches: give a ``ledger``, which clones share.

    Args:
        classes: The labels, all numbers or all text.
        rho: The privacy budget of all classes together, in zero-concentrated differential privacy. Give either ``rho``
            or ``epsilon``.
        epsilon: The privacy budget in approximate differential privacy, instead of ``rho``. It needs a ``delta``.
        delta: The delta of ``epsilon``. It should be well below 1/n.
        norm_bound: An upper bound on the l2 norm of every row, known without looking at the rows. It may be loose. Give
            either ``norm_bound`` or ``bounds``, and neither of them with ``metric="cosine"``.
        bounds: Bounds on the columns, instead of ``norm_bound``: ``(lower, upper)``, each one number or one number per
            column, or a dictionary by name if X has column names.
        metric: The distance between a row and a centroid: ``"euclidean"``, or ``"cosine"``, the angle between them.
        method: The estimator, ``"refined"``, ``"shifted"`` or ``"clipped"``, as for ``dpmean.mean``.
        neighbours: Which datasets are neighbours. With ``"add-or-remove-one"``, the default, they differ in one added
            or removed row: its presence and its label are protected. With ``"replace-one"`` they differ in one row,
            which may also change its class; the same centroids then need four times the budget.
        shape: Whether the noise follows the scales of the columns, as for ``dpmean.mean``. The scales are found for
            each class; scales that you give are used for all classes.
        population: Whether to release the variances of the columns in each class too, as for ``dpmean.mean``.
        allow_few_rows: Whether to compute centroids of classes with too few rows for a useful one. The centroid of a
            class with hardly any rows is noise.
        ledger: A ``dpmean.Ledger`` that pays for every fit.
        random_state: A seed, for experiments only. Any value but None makes the noise known: the release then protects
            nobody and says so, and no ledger records it.

    Attributes:
        classes_: The listed labels, sorted.
        centroids_: The private means, one row per class; a class without a centroid has NaN. With ``metric="cosine"``
            they are the private means of rows of length 1, each divided by its length without the share of the noise:
            their products with a row of length 1 are the cosines that ``predict`` compares.
        releases_: The ``dpmean.GroupedRelease``: for every label a release, or the reason why there is none.
        n_features_in_: The number of columns.
        feature_names_in_: The names of the columns, if they have names.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> labels = rng.integers(0, 2, 4000)
        >>> rows = rng.normal(labels[:, None], 1, (4000, 20))
        >>> private = PrivateNearestCentroid(classes=[0, 1], rho=0.1, norm_bound=100.0).fit(rows, labels)
        >>> bool(private.score(rows, labels) > 0.97)
        True

    """

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        rho: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        norm_bound: float | None = None,
        bounds: Bounds | None = None,
        metric: str = "euclidean",
        method: str = "refined",
        neighbours: str | None = None,
        shape: ShapeArgument = "auto",
        population: bool = False,
        allow_few_rows: bool = False,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.classes = classes
        self.rho = rho
        self.epsilon = epsilon
        self.delta = delta
        self.norm_bound = norm_bound
        self.bounds = bounds
        self.metric = metric
        self.method = method
        self.neighbours = neighbours
        self.shape = shape
        self.population = population
        self.allow_few_rows = allow_few_rows
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Release the mean of every listed class; this spends the whole budget.

        Args:
            X: The rows.
            y: One label per row.

        """
        labels = _labels(self.classes)
        cosine = _metric(self) is CentroidMetric.COSINE
        if y is None:
            raise ArgumentError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        named = as_labels(labels)
        groups = read_groups("y", named)
        request = _request(self, groups)
        rows, by = hide_sizes(lambda: check_labelled(self, X, y, labels, unit_rows if cosine else None))
        releases = run_groups(rows, replace(request, groups=replace(groups, by=by)))
        without = dict(releases.refused)
        centroids = np.full((len(labels), rows.shape[1]), np.nan)
        for place, label in enumerate(named):
            if label not in releases.released:
                continue
            centroid, clear = releases.released[label].mean, True
            if cosine:
                centroid, clear = direction(releases.released[label])
            if clear or self.allow_few_rows:
                centroids[place] = centroid
            else:
                without[label] = NO_DIRECTION
        if len(without) == len(named):
            raise _no_centroid_error(releases, without)
        self.classes_, self.releases_, self.centroids_ = labels, releases, centroids
        if without:
            warn_user(f"predict will never return {_reasons(without)}", TooFewRowsWarning)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the nearest private mean for every row.

        With ``metric="cosine"`` a row of zeros has no direction: it gets the first class that has a centroid.

        Args:
            X: Rows with the same columns.

        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        answered = np.flatnonzero(np.isfinite(self.centroids_).all(axis=1))
        centroids = self.centroids_[answered]
        if _metric(self) is CentroidMetric.COSINE:
            nearest = (unit_rows(rows) @ centroids.T).argmax(axis=1)
        else:
            nearest = pairwise_distances_argmin(rows, centroids)
        found: NDArray[Any] = self.classes_[answered[nearest]]
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, between 0 and 1. It is exact, and therefore not private.

        Args:
            X: Rows with the same columns.
            y: The true label of each row.
            sample_weight: One weight per row. By default all weights are equal.

        """
        found = self.predict(X)
        right = find_labels(y, len(found), self.classes_) == np.searchsorted(self.classes_, found)
        if sample_weight is None:
            return float(right.mean())
        weights = np.asarray(sample_weight)
        if weights.shape != right.shape or weights.dtype.kind not in "fiub":
            raise DataError(
                "sample_weight must be one number for each row of X: give one weight per row, or leave it out"
            )
        return float(np.average(right, weights=weights))


def _request(estimator: PrivateMean | PrivateNearestCentroid, groups: Groups | None = None) -> Request:
    """Read the parameters of an estimator, before it reads any row."""
    given = {name: getattr(estimator, name) for name in _PARAMETERS}
    if getattr(estimator, "metric", None) == CentroidMetric.COSINE:
        given["norm_bound"] = UNIT_LENGTH
    return read_request(**given, groups=groups, seed=_seed(estimator.random_state))


def _metric(estimator: PrivateNearestCentroid) -> CentroidMetric:
    """Read the metric."""
    metric = read_name(
        CentroidMetric, estimator.metric, "metric", "only these two have the private mean as their centroid"
    )
    for name in ("norm_bound", "bounds") if metric is CentroidMetric.COSINE else ():
        if (value := getattr(estimator, name)) is not None:
            given = f"got {name}={describe(value)}: leave {name} out"
            raise ArgumentError(f'metric="cosine" scales every row to length 1 and needs no bound, {given}')
    return metric


def _check_standardize(estimator: PrivateMean, request: Request) -> None:
    """Refuse to standardize if no scales will be found, before any budget is spent."""
    if not read_flag(estimator.standardize, "standardize"):
        return
    if request.shape is Shaping.ROUND:
        raise ArgumentError('standardize=True needs the scales of the columns, got shape="round": leave shape out')
    if estimator.method is not None and not ESTIMATORS[estimator.method].shapes:
        given = f'got method="{estimator.method}": leave method out'
        raise ArgumentError(f'standardize=True is for method="refined", {given}')


def _labels(classes: Sequence[Any] | None) -> NDArray[Any]:
    """Read the listed labels and sort them."""
    if classes is None or isinstance(classes, str | bytes) or not hasattr(classes, "__len__") or not len(classes):
        raise ArgumentError(
            f"classes must list the labels, got {classes!r}: give classes=[0, 1], for example; they must not come from "
            "the data, because that would reveal who is in it"
        )
    given = list(classes)
    if len({isinstance(label, str) for label in given}) > 1 or np.asarray(given).ndim != 1:
        raise ArgumentError(f"classes must be all numbers or all text, got {classes!r}: convert them")
    labels = sort_labels(given)
    if len(labels) < len(given):
        raise ArgumentError(f"classes lists a label twice, got {classes!r}: leave one out")
    return labels


def _no_centroid_error(releases: GroupedRelease, reasons: dict[Any, str]) -> TooFewRowsError:
    """Return the error if no class has a centroid. Twice the rows of a class would halve the noise in its mean."""
    return TooFewRowsError(
        f"not one class has a centroid: {_reasons(reasons)}. Use more rows or a larger budget, and check that "
        "classes lists the labels that are in y (a continuous y has no labels)",
        rows_needed=min(one.rows_needed if isinstance(one, Refusal) else 2 * one.n for one in releases.values()),
        receipts=releases.receipts,
    )


def _reasons(reasons: dict[Any, str]) -> str:
    return "; ".join(f"class {label!r}: {reason}" for label, reason in reasons.items())


def _seed(random_state: Any) -> int | None:
    """Return the seed of the noise with a warning, or None for secure noise."""
    if random_state is None:
        return None
    warn_user(
        "random_state makes the noise known, and the release protects nobody: leave it out, except in experiments",
        SeededWarning,
    )
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))

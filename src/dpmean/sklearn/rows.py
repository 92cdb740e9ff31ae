"""Rows as scikit-learn checks them, with none of its errors that may quote one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import assert_all_finite, check_array, validate_data

from dpmean.errors import ArgumentError, DataError, plural
from dpmean.queries.queries import Ints
from dpmean.rows.opening import InMemory
from dpmean.rows.tables.keys import ABSENT, Keys
from dpmean.warning import warn_user

_DISCREET = ("Input X contains", "Found array with", "X has ", "The feature names should match")
"""How errors of scikit-learn begin that tell shapes and names, and no value of a row."""
_SHAPE = re.compile(r"(?<=shape=\()\d+")
"""The number of rows, where an error tells it."""
_FEATURES = re.compile(r"(?<=^X has )(?!1 features)\d+ features")
"""The number of columns of what should have been as wide as what was fitted: it is the number of rows, in X.T."""


def fitted_rows(estimator: BaseEstimator, X: Any, *, private_number: bool, **how: Any) -> InMemory:
    """Check the rows as scikit-learn does, remember the columns, and keep their names for the release."""
    array = checked_rows(estimator, X, ensure_min_samples=0 if private_number else 1, **how)
    names = getattr(estimator, "feature_names_in_", None)
    return InMemory(array, None if names is None else tuple(names.tolist()))


def labelled_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    labels: NDArray[Any],
    change: Callable[[NDArray[Any]], NDArray[Any]] | None,
) -> tuple[InMemory, NDArray[Any]]:
    """Check the rows with a listed label, and leave the others out: nothing may tell whether there are any.

    What is left may be changed, each row by itself.
    """
    rows = fitted_rows(estimator, X, private_number=True, ensure_all_finite=False)
    places = places_of_labels(y, len(rows.array), labels)
    listed = places != ABSENT
    array = rows.array[listed]
    assert_all_finite(array, estimator_name=type(estimator).__name__, input_name="X")
    return replace(rows, array=array if change is None else change(array)), labels[places[listed]]


def places_of_labels(y: Any, n: int, labels: NDArray[Any]) -> Ints:
    """Return for each of n rows the place of its label in a list of them; ABSENT if it is not there.

    Labels are read one by one, as ``mean_by`` reads them: in an array of NumPy one text makes text of all numbers.
    """
    return Keys.of_array("y", _one_dimensional(y), n).among(as_labels(labels))


def sorted_labels(given: list[Any]) -> NDArray[Any]:
    """Return different labels in order, each as it is.

    Beside a float, NumPy makes another integer of one beyond 2^53; and it takes zeros off the end of text.
    """
    labels = np.asarray(given)
    exact = all(one == other for one, other in zip(given, as_labels(labels), strict=True))
    plain = any(all(isinstance(label, kind) for label in given) for kind in (str, int | float | np.number))
    return np.unique(labels if exact or not plain else np.array(given, dtype=object))


def as_labels(labels: NDArray[Any]) -> list[Any]:
    """Return an array of labels as a list of them."""
    return list(labels) if labels.dtype.kind in "mM" else list(labels.tolist())


def _one_dimensional(y: Any) -> Any:
    """Return a column as its values, with the warning that scikit-learn wants; anything else as it is."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return y
    warn_user("A column-vector y was passed when a 1d array was expected: pass y.ravel()", DataConversionWarning)
    return np.asarray(y)[:, 0]


def checked_rows(estimator: BaseEstimator, X: Any, **how: Any) -> NDArray[Any]:
    """Check rows as scikit-learn does, but let none of its errors through that may print them."""
    return _discreetly(lambda: validate_data(estimator, X, **how))


def checked_output(estimator: BaseEstimator, X: Any) -> NDArray[Any]:
    """Check what came out of ``transform`` in the same way; it may have lost the names of columns."""
    array = _discreetly(lambda: check_array(X, estimator=estimator, input_name="X"))
    if array.shape[1] != estimator.n_features_in_:
        name, expected = type(estimator).__name__, plural(estimator.n_features_in_, "feature")
        raise ArgumentError(f"X has another number of features, but {name} is expecting {expected} as input.")
    return array


def _discreetly(check: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """Return what a check of scikit-learn returns, or an error of our own."""
    try:
        array = check()
        if array.dtype.kind == "O":  # whole numbers of Python may be too large
            array = array.astype(np.float64)
        if array.dtype.kind in "fiub":
            return array
        words = ""
    except MemoryError:
        raise
    except TypeError:
        raise  # as scikit-learn's own checks demand
    except Exception as error:  # of whichever library X comes from
        words = _FEATURES.sub("another number of features", _SHAPE.sub("", str(error)))
    # Raised out here, as an error keeps the one that it was raised beside, and whoever stores it stores what that says.
    if words.startswith(_DISCREET):
        raise DataError(words)
    raise DataError(
        "X must have a line for every row, of real numbers. Reshape your data with X.reshape(-1, 1) if it is "
        "one column, or X.reshape(1, -1) if it is one row. Complex data not supported, and text neither"
    )

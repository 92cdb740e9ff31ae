"""Checks of rows by scikit-learn, without those of its errors that may quote a row."""

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

_SAFE = ("Input X contains", "Found array with", "X has ", "The feature names should match")
"""The beginnings of errors of scikit-learn that contain shapes and names, but no value of a row."""
_SHAPE = re.compile(r"(?<=shape=\()\d+")
"""The number of rows in an error."""
_FEATURES = re.compile(r"(?<=^X has )(?!1 features)\d+ features")
"""The number of columns of X in an error. In X.T it is the number of rows."""


def check_fit(estimator: BaseEstimator, X: Any, *, private_number: bool, **how: Any) -> InMemory:
    """Check the rows as scikit-learn does, and keep the names of the columns for the release."""
    array = check_rows(estimator, X, ensure_min_samples=0 if private_number else 1, **how)
    names = getattr(estimator, "feature_names_in_", None)
    return InMemory(array, None if names is None else tuple(names.tolist()))


def check_labelled(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    labels: NDArray[Any],
    change: Callable[[NDArray[Any]], NDArray[Any]] | None,
) -> tuple[InMemory, NDArray[Any]]:
    """Check the rows with a listed label, and leave out the others: nothing may reveal whether there are any.

    ``change`` may change the remaining rows, each by itself.
    """
    rows = check_fit(estimator, X, private_number=True, ensure_all_finite=False)
    places = find_labels(y, len(rows.array), labels)
    listed = places != ABSENT
    array = rows.array[listed]
    assert_all_finite(array, estimator_name=type(estimator).__name__, input_name="X")
    return replace(rows, array=array if change is None else change(array)), labels[places[listed]]


def find_labels(y: Any, n: int, labels: NDArray[Any]) -> Ints:
    """Return the position of the label of each of n rows in a list of labels; ABSENT if it is not listed.

    Labels are read one by one, as in ``mean_by``: in a NumPy array, one string would turn all numbers into strings.
    """
    return Keys.of_array("y", _one_dimensional(y), n).find_labels(as_labels(labels))


def sort_labels(given: list[Any]) -> NDArray[Any]:
    """Return the distinct labels in order, unchanged.

    NumPy would change integers beyond 2^53 next to a float, and remove zero characters from the end of text.
    """
    labels = np.asarray(given)
    exact = all(one == other for one, other in zip(given, as_labels(labels), strict=True))
    plain = any(all(isinstance(label, kind) for label in given) for kind in (str, int | float | np.number))
    return np.unique(labels if exact or not plain else np.array(given, dtype=object))


def as_labels(labels: NDArray[Any]) -> list[Any]:
    """Return an array of labels as a list."""
    return list(labels) if labels.dtype.kind in "mM" else list(labels.tolist())


def _one_dimensional(y: Any) -> Any:
    """Return a column as an array of its values, with the warning that scikit-learn requires; others unchanged."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return y
    warn_user("A column-vector y was passed when a 1d array was expected: pass y.ravel()", DataConversionWarning)
    return np.asarray(y)[:, 0]


def check_rows(estimator: BaseEstimator, X: Any, **how: Any) -> NDArray[Any]:
    """Check rows as scikit-learn does, but hide errors that may contain values."""
    return _hide_values(lambda: validate_data(estimator, X, **how))


def check_output(estimator: BaseEstimator, X: Any) -> NDArray[Any]:
    """Check the output of ``transform`` in the same way; it may have lost the names of columns."""
    array = _hide_values(lambda: check_array(X, estimator=estimator, input_name="X"))
    if array.shape[1] != estimator.n_features_in_:
        name, expected = type(estimator).__name__, plural(estimator.n_features_in_, "feature")
        raise ArgumentError(f"X has another number of features, but {name} is expecting {expected} as input.")
    return array


def _hide_values(check: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """Return the result of a check of scikit-learn, or raise an error without values."""
    try:
        array = check()
        if array.dtype.kind == "O":  # Python integers may be too large
            array = array.astype(np.float64)
        if array.dtype.kind in "fiub":
            return array
        words = ""
    except MemoryError:
        raise
    except TypeError:
        raise  # as scikit-learn's own checks demand
    except Exception as error:  # from any library that X comes from
        words = _FEATURES.sub("another number of features", _SHAPE.sub("", str(error)))
    # Raised outside of the except block: otherwise the error would keep the original one, with its message.
    if words.startswith(_SAFE):
        raise DataError(words)
    raise DataError(
        "X must be a two-dimensional array of real numbers. Reshape your data with X.reshape(-1, 1) if it is one "
        "column, or X.reshape(1, -1) if it is one row. Complex data not supported, and text is not either"
    )

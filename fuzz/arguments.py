"""The public functions: arguments of any kind, with rows that contain a secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import atheris
import numpy as np

import dpmean
from fuzz.judge import SECRET, check_errors, check_message

_NUMBERS = [0, 1, -1, 0.5, 1e-6, 1e-13, 1e13, 1e300, float("nan"), float("inf"), 2**70, True, "1", None, Fraction(1, 3)]
_NUMBERS += [Decimal("0.1"), [1], (0, 1), {"a": (0, 1)}, ([0, 0], [1, 1]), (1, 0), b"x", 10, 100.0]
_WORDS = ["refined", "shifted", "clipped", "central", "local", "shuffle", "adaptive", "few", "raise", "impute"]
_WORDS += ["totals", "messages", "replace-one", "add-or-remove-one", "private", "public", "", "a", "b", 3, None, ["a"]]
_WORDS += [{"a": "impute"}, "auto", "round", "drop", {"a": "drop", "b": 1}, {0: 0.5, 1: "impute"}, {"a": float("nan")}]
_WORDS += [";", ",", ".", "latin-1", "utf-16", "quoted", "records"]
_SHAPES = [
    "auto",
    "round",
    [1.0],
    [1.0, 1e-9, 1e9],
    (1e-120, 1e120),
    [0.0, 1.0],
    {"a": 1.0, "b": 1e-30},
    {},
    [],
    "square",
]
_BOUNDS = [(0, 1), (-1e150, 1e150), (0, 1e-150), ([0, 0, -1e9], [1, 1e-9, 1e9]), (-10.0, 10.0)]
_NUMERIC = ("rho", "epsilon", "delta", "norm_bound", "bounds", "sigma_min", "sigma_max", "step", "passes", "honest")
_WORDY = ("method", "trust", "rounds", "fidelity", "nan", "neighbours", "columns", "vector_column", "shape")
_WORDY += ("count_values", "sep", "decimal", "encoding", "quotechar", "newlines")
_KINDS = ("<f8", "<f4", "<i8", "<i2", "|b1", "<u2", "<f2", "O", "U5")


def seeds() -> Iterator[bytes]:
    """Yield initial inputs."""
    yield bytes(range(64))
    yield b"\x01" * 200


def prepare(folder: Path) -> Callable[[bytes], None]:  # noqa: ARG001  one signature for all targets
    """Return a function that runs one input."""

    def one(data: bytes) -> None:
        given = atheris.FuzzedDataProvider(data)
        rows = _rows(given)
        arguments: dict[str, Any] = {"seed": given.ConsumeIntInRange(0, 3)}
        if given.ConsumeBool():
            arguments |= {"rho": 0.5, "norm_bound": 10.0}
        for _ in range(given.ConsumeIntInRange(0, 6)):
            if given.ConsumeBool():
                arguments[given.PickValueInList(list(_NUMERIC))] = given.PickValueInList(_NUMBERS)
            else:
                arguments[given.PickValueInList(list(_WORDY))] = given.PickValueInList(_WORDS)
        if given.ConsumeBool():
            arguments["shape"] = given.PickValueInList(_SHAPES)
        if given.ConsumeIntInRange(0, 2) == 0:
            arguments = {**arguments, "norm_bound": None, "bounds": given.PickValueInList(_BOUNDS)}
        arguments["population"] = given.PickValueInList([True, False, False])
        arguments["allow_few_rows"] = given.PickValueInList([True, False, False, False])
        if given.ConsumeIntInRange(0, 3) == 0:
            keys = [given.ConsumeIntInRange(0, 3) for _ in range(len(rows) if hasattr(rows, "__len__") else 3)]
            arguments["privacy_unit"] = keys if given.ConsumeBool() else given.PickValueInList([*_WORDS, *_NUMBERS])
        if given.ConsumeIntInRange(0, 3) == 0:
            check_errors(lambda: _by_group(rows, arguments, given))
        else:
            check_errors(lambda: _mean(rows, arguments))

    return one


def _mean(rows: Any, arguments: dict[str, Any]) -> None:
    release = dpmean.mean(rows, **arguments)
    check_message("" if release.n < 3 else str(release.settings) + release.method)
    if dpmean.Release.from_json(release.to_json()).to_json() != release.to_json():
        raise AssertionError("a release changes in JSON")


def _by_group(rows: Any, arguments: dict[str, Any], given: Any) -> None:
    known = (
        "rho",
        "epsilon",
        "delta",
        "norm_bound",
        "bounds",
        "method",
        "columns",
        "vector_column",
        "sep",
        "decimal",
        "encoding",
        "quotechar",
        "newlines",
        "privacy_unit",
        "shape",
        "population",
    )
    some = {name: value for name, value in arguments.items() if name in (*known, "nan", "seed", "neighbours")}
    labels = [given.ConsumeIntInRange(0, 2) for _ in range(len(rows) if hasattr(rows, "__len__") else 3)]
    by = labels if given.ConsumeBool() else given.PickValueInList([*_WORDS, *_NUMBERS])
    groups = given.PickValueInList([[0, 1], [0], [], "a", None, [None], ["x", 1.5], [[1]], 7])
    found = dpmean.mean_by(rows, by=by, groups=groups, sizes=given.PickValueInList(["private", "public", "x"]), **some)
    check_message(str(found.refused))


def _rows(given: Any) -> Any:
    n, d = given.ConsumeIntInRange(0, 40), given.ConsumeIntInRange(0, 4)
    kind = given.PickValueInList(list(_KINDS))
    values = [given.PickValueInList([0.0, 1.0, -3.5, SECRET, 5e-324, 1e308]) for _ in range(min(n * d, 12))]
    values += [SECRET] * (n * d - len(values))
    array = np.array(values).reshape(n, d)
    if given.ConsumeIntInRange(0, 7) == 0 and array.size:
        array.flat[0] = given.PickValueInList([np.nan, np.inf, -np.inf])
    with np.errstate(all="ignore"):
        found = array.astype(kind)
    shape = given.ConsumeIntInRange(0, 9)
    if shape == 0:
        return found.tolist()
    if shape == 1:
        return found.ravel()
    if shape == 2:
        return np.asfortranarray(found)
    if shape == 3:
        return given.PickValueInList([None, 3, "nothing.csv", {"a": 1}, [[1], [2, 3]], object()])
    return found

"""The registry of engines: who reads an input, what is refused, and what documents say about it."""

import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpmean
from dpmean.engines import Streamed
from dpmean.errors import ArgumentError, ArgumentTypeError
from dpmean.rows.opening import InMemory
from dpmean.rows.registry import ENGINES, EngineEntry, Selection, find_engine

ROOT = Path(__file__).parents[2]
SETTINGS = {"rho": 1.0, "norm_bound": 1.0}


class From:
    """Something of a library that is not imported."""

    def __init__(self, module, **named):
        self.__class__ = type("Thing", (From,), {"__module__": module, **named})


INPUTS = {
    "files": ["rows.csv", Path("rows")],
    "spark": [From("pyspark.sql.dataframe", columns=["a"], __dataframe__=None)],
    "dask": [From("dask.array.core", __array__=None), From("dask_expr._collection", columns=["a"], __dataframe__=None)],
    "opened": [InMemory(np.ones((2, 2))), Streamed(None)],
    "duckdb": [From("duckdb._relation", columns=["a"], __arrow_c_stream__=None), From("_duckdb")],
    "datasets": [From("datasets.arrow_dataset", column_names=["a"], __len__=None, __getitem__=None)],
    "frames": [pd.DataFrame({"a": [1]}), From("polars.dataframe.frame", __dataframe__=None, __array__=None)],
    "sparse": [From("scipy.sparse._csr", __len__=None, __getitem__=None)],
    "torch": [From("torch", __array__=None, __len__=None, __getitem__=None)],
    "memory": [np.ones(3), [1, 2], (1, 2), 3.0, range(3), pd.Series([1.0]), np.float64(1), memoryview(b"1")],
}


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_is_recognised_by_its_engine(name):
    for X in INPUTS[name]:
        assert find_engine(X, Selection()).name == name


def test_every_engine_has_an_input_here_and_its_module_has_what_its_entry_says():
    assert [entry.name for entry in ENGINES] == list(INPUTS)
    for entry in ENGINES:
        module = entry.load()
        if module is not None:
            assert list(inspect.signature(module.open_source).parameters)[1:] == ["selection"]
            assert hasattr(module, "open_table") == entry.keys, entry.name


def test_to_recognise_an_input_imports_no_library():
    code = (
        "import sys; from dpmean.rows.registry import *; known = set(sys.modules);"
        "find_engine([1.0], Selection()); print(sorted(set(sys.modules) - known))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("X", [None, {"a": [1.0]}, {1.0}, (x for x in [1.0]), object(), From("strange.things")])
def test_what_nobody_recognises_is_named_beside_what_can_be_read(X):
    for more in ({}, {"privacy_unit": "a"}, {"columns": ["a"]}):
        with pytest.raises(ArgumentTypeError, match="X must hold rows of numbers, got") as caught:
            dpmean.mean(X, **SETTINGS, **more)
        assert type(X).__name__ in str(caught.value)
        assert all(entry.words in str(caught.value) for entry in ENGINES if entry.name != "opened")
    with pytest.raises(ArgumentTypeError, match="X must hold rows of numbers, got"):
        dpmean.mean_by(X, by=[1], groups=[1], **SETTINGS)


@pytest.mark.parametrize("entry", ENGINES, ids=lambda entry: entry.name)
def test_what_an_engine_cannot_do_is_refused_before_it_is_loaded(entry, monkeypatch):
    monkeypatch.setattr(EngineEntry, "load", lambda _: pytest.fail("refused too late"))
    X = INPUTS[entry.name][0]
    if not entry.columns:
        for given in ("columns", "vector_column"):
            with pytest.raises(ArgumentError, match=f"{given} is for tables, got {type(X).__name__}: select"):
                dpmean.mean(X, **SETTINGS, **{given: ["a"] if given == "columns" else "a"})
    if not entry.text:
        with pytest.raises(ArgumentError, match=f"newlines is for CSV files, got {type(X).__name__}: leave it out"):
            dpmean.mean(X, **SETTINGS, newlines="quoted")
    if not entry.keys:
        words = (
            "supported for files, DuckDB relations, Hugging Face datasets, data frames, PyTorch tensors and arrays, "
            "got .*: average each person's rows there"
        )
        with pytest.raises(ArgumentTypeError, match=words):
            dpmean.mean(X, **SETTINGS, privacy_unit="a")
        with pytest.raises(ArgumentTypeError, match=words):
            dpmean.mean_by(X, by="a", groups=[1], **SETTINGS)


def test_persons_in_a_source_that_was_opened_before_are_refused():
    with pytest.raises(ArgumentTypeError, match="an opened source cannot be divided by person or group, got Streamed"):
        dpmean.mean(Streamed(None), **SETTINGS, privacy_unit=[1])


def test_every_extra_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {entry.extra for entry in ENGINES} - {None} <= set(extras)


def test_the_table_in_the_documentation_is_the_registry():
    lines = ["| rows | `columns=`, `vector_column=` | people and groups | extra |", "|---|---|---|---|"]
    for entry in ENGINES:
        if entry.name != "opened":
            extra = "" if entry.extra is None else f"`{entry.extra}`"
            lines.append(f"| {entry.words} | {_yes(entry.columns)} | {_yes(entry.keys)} | {extra} |")
    assert "\n".join(lines) in (ROOT / "docs" / "scale.md").read_text()


def _yes(flag):
    return "yes" if flag else ""

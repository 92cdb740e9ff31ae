"""Public names: one table says where each is, and to use one loads what it needs and no more."""

import ast
import importlib
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import dpmean
from dpmean.enums import Verdict

SCALARS = (
    "privacy.budgets",
    "errors",
    "privacy.conversions",
    "privacy.neighbours",
    "privacy.receipts",
    "release.diagnostics",
    "pipeline.outlook",
    "api",
)
"""Modules that do without arrays."""
MOST_MODULES = {
    "errors": 5,
    "privacy.neighbours": 5,
    "release.diagnostics": 5,
    "privacy.budgets": 6,
    "privacy.conversions": 7,
    "pipeline.outlook": 9,
    "privacy.receipts": 9,
    "api": 5,
    "release.release": 20,
    "release.intervals": 17,
    "release.variances": 6,
    "ledger.account": 16,
    "release.grouped": 21,
    "ledger.entries": 17,
    "ledger.ledger": 22,
    "reports.document": 49,
}
"""How many modules of this package a public module loads at most, packages not counted but for the outermost."""
NEVER = {"torch", "pandas", "polars", "pyarrow", "narwhals", "dask", "distributed", "duckdb", "pyspark", "sklearn"}
NEVER |= {"matplotlib", "click", "rich"}


def loaded_by(name):
    """Return the modules that are there once a name was used in a fresh process."""
    kept = "name == 'dpmean' or not name.startswith('dpmean.') or not hasattr(module, '__path__')"
    names = f"sorted(name for name, module in sys.modules.items() if {kept})"
    code = f"import json, sys, dpmean; dpmean.{name}; print(json.dumps({names}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("name", dpmean.__all__)
def test_a_name_loads_what_it_needs_and_no_more(name):
    loaded, module = loaded_by(name), dpmean._MODULES[name]
    ours = {one for one in loaded if one.partition(".")[0] == "dpmean"}
    assert not loaded & NEVER
    assert "numba" not in loaded
    assert len(ours) <= MOST_MODULES[module], f"{name} loads {sorted(ours)}"
    assert module not in SCALARS or "numpy" not in loaded


def test_a_mean_loads_no_page_no_command_and_no_other_way_in():
    rows = "[[float(i % 7)] for i in range(400)]"
    found = loaded_by(f"mean({rows}, rho=2, norm_bound=60.0, seed=1)")
    assert "dpmean.pipeline.central" in found
    others = ("dpmean.reports", "dpmean.cli", "dpmean.sklearn", "dpmean.pipeline.local", "dpmean.pipeline.shuffle")
    assert not {one for one in found if one.startswith(others)}
    assert not found & NEVER


def test_the_table_the_types_and_the_list_of_names_agree():
    tree = ast.parse(Path(dpmean.__file__).read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imported = {alias.name: line.module for line in typed.body for alias in line.names}
    assert imported == {name: f"dpmean.{module}" for name, module in dpmean._MODULES.items()}
    assert list(dpmean._MODULES) == dpmean.__all__ == sorted(dpmean.__all__)


def test_a_name_is_where_the_table_says():
    for name, module in dpmean._MODULES.items():
        found = getattr(dpmean, name)
        assert found is getattr(importlib.import_module(f"dpmean.{module}"), name)
        assert found.__module__ == f"dpmean.{module}", f"{name} is only passed on by {module}"


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'dpmean' has no attribute 'median'"):
        _ = dpmean.median
    assert set(dpmean.__all__) < set(dir(dpmean))


def test_a_verdict_that_was_stored_by_its_former_place_is_read():
    stored = pickle.dumps(Verdict.RISKY, protocol=0).replace(b"dpmean.enums", b"dpmean.estimators.feasibility")
    assert b"dpmean.estimators.feasibility" in stored
    assert pickle.loads(stored) is Verdict.RISKY  # noqa: S301  our own bytes

"""Import paths of version 0.1.0: they work, and say where their names are now."""

import importlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import dpmean
from dpmean import moved
from dpmean.queries.domain import Domain

SHOWN = {
    "dpmean.budget": ("Zcdp", "dpmean.privacy.budgets"),
    "dpmean.coins": ("PublicCoins", "dpmean.noise.public"),
    "dpmean.frame": ("Frame", "dpmean.queries.domain"),
    "dpmean.grid": ("Grid", "dpmean.numerics.grid"),
    "dpmean.rows.streamed": ("Streamed", "dpmean.rows.engine"),
    "dpmean.rows.kernel": ("Kernel", "dpmean.rows.block_query"),
    "dpmean.trust.analyzer": ("Analyzer", "dpmean.trust.local.analyzer"),
    "dpmean.trust.protocol": ("setup_for", "dpmean.trust.local.protocol"),
    "dpmean.renyi": ("Renyi", "dpmean.privacy.renyi"),
    "dpmean.outlook": ("Traffic", "dpmean.pipeline.outlook"),
    "dpmean.estimators.enough": ("Verdict", "dpmean.estimators.feasibility"),
    "dpmean.books.pages": ("Entry", "dpmean.ledger.account"),
}


DOCUMENTED = """\
from dpmean import ApproxDp
from dpmean import Ledger
from dpmean import Zcdp
from dpmean import baselines
from dpmean.budget import Zcdp
from dpmean.coins import PublicCoins
from dpmean.estimators.shifted import ShiftedClippedMean
from dpmean.experiments import figures
from dpmean.experiments.data import draw
from dpmean.experiments.methods import CALLS, Problem
from dpmean.frame import Frame
from dpmean.grid import Grid
from dpmean.noise.source import seeded
from dpmean.rows.memory import MemoryRows
from dpmean.rows.streamed import Streamed
from dpmean.sklearn import PrivateMean, PrivateNearestCentroid
from dpmean.trust.analyzer import Analyzer
from dpmean.trust.central import Central
from dpmean.trust.client import Client
from dpmean.trust.protocol import setup_for
from dpmean.trust.shuffle.analyzer import Analyzer, collection_for
from dpmean.trust.shuffle.design import design
from dpmean.trust.shuffle.seal import new_key
from dpmean.trust.shuffle.shuffler import Shuffler
from dpmean.version import __version__
import dpmean
""".splitlines()
"""All imports of this package that README.md and docs/ showed in version 0.1.0."""


@pytest.mark.parametrize("old", SHOWN)
def test_an_old_path_works_and_names_the_new_one(old):
    name, new = SHOWN[old]
    for module in (old, "dpmean.books"):
        sys.modules.pop(module, None)
    with pytest.warns(DeprecationWarning, match=f"{old} has moved to {new}") as caught:
        found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(new), moved.RENAMED.get(name, name))
    assert len(caught) == 1


def test_the_warning_is_at_the_line_of_the_import(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import math\n\nfrom dpmean.budget import Zcdp\n\nprint(Zcdp(1))\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert f"{script}:3: DeprecationWarning: dpmean.budget has moved to dpmean.privacy.budgets" in done.stderr


REMOVED = "from dpmean.trust.central import Central"


@pytest.mark.parametrize("line", [line for line in DOCUMENTED if line != REMOVED])
def test_every_import_that_was_documented_works(line):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        exec(line, {})  # noqa: S102  our own text
    assert len([one for one in caught if "has moved to" in str(one.message)]) <= 1


def test_the_one_that_was_removed_says_what_to_do():
    assert REMOVED in DOCUMENTED
    words = r"use dpmean\.trust\.central\.curator\.Curator.*an estimator is called with a curator"
    with pytest.raises(ImportError, match=words) as caught:
        exec(REMOVED, {})  # noqa: S102  our own text
    assert caught.value.name == "dpmean.trust.central"


def test_what_was_removed_is_no_attribute():
    central = importlib.import_module("dpmean.trust.central")
    assert not hasattr(central, "Central")
    with pytest.raises(AttributeError, match=r"was removed after version 0\.1\.0: use dpmean\.trust"):
        _ = central.Central
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        exec("from dpmean.trust.central import Nothing", {})  # noqa: S102  our own text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from dpmean.trust.central import curator
    assert curator.Curator


@pytest.mark.parametrize(
    ("line", "name", "new"),
    [
        ("from dpmean.release import Release", "Release", dpmean.Release),
        ("from dpmean.release import *", "Release", dpmean.Release),
        ("import dpmean.release; Release = dpmean.release.Release", "Release", dpmean.Release),
        ("from dpmean.budget import Zcdp", "Zcdp", dpmean.Zcdp),
        ("from dpmean.budget import *", "Zcdp", dpmean.Zcdp),
        ("from dpmean.frame import *", "Frame", Domain),
        ("from dpmean.neighbours import *", "Neighbours", dpmean.Neighbours),
    ],
)
def test_a_line_warns_once_and_a_star_brings_all_names(line, name, new):
    """The import system asks a package twice for a name."""
    for module in ("dpmean.budget", "dpmean.frame", "dpmean.neighbours"):
        sys.modules.pop(module, None)
    names = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(line, "script.py", "exec"), names)  # noqa: S102  our own text
    assert names[name] is new
    assert [(one.filename, one.category) for one in caught] == [("script.py", DeprecationWarning)]


@pytest.mark.parametrize(("old", "name"), [("dpmean.release", "Release")])
def test_a_module_that_is_a_package_now_still_has_its_names(old, name):
    with pytest.warns(DeprecationWarning, match=rf"{old}\.{name} has moved to {old}\."):
        getattr(importlib.import_module(old), name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = importlib.import_module(old).nothing


def test_every_old_path_leads_somewhere_and_is_gone_itself():
    for old, new in moved.MODULES.items():
        assert importlib.import_module(f"dpmean.{new}")
        assert not any(part in str(importlib.util.find_spec(f"dpmean.{new}").origin) for part in ("moved.py",)), old
    with pytest.raises(ModuleNotFoundError, match=r"dpmean\.nowhere"):
        importlib.import_module("dpmean.nowhere")


def test_a_release_that_was_pickled_before_can_be_read():
    release = dpmean.mean(np.zeros((300, 2)), rho=1.0, norm_bound=1.0, neighbours="replace-one", seed=1)
    before = {b"dpmean.release.release": b"dpmean.release", b"dpmean.release.diagnostics": b"dpmean.found"}
    before |= {b"dpmean.privacy.receipts": b"dpmean.receipt", b"dpmean.privacy.budgets": b"dpmean.budget"}
    before |= {b"dpmean.privacy.neighbours": b"dpmean.neighbours"}
    stored = pickle.dumps(release, protocol=0)
    for new, old in before.items():
        stored = stored.replace(new, old)
    assert b"dpmean.release.release" not in stored
    with pytest.warns(DeprecationWarning, match="has moved to"):
        assert pickle.loads(stored).to_json() == release.to_json()  # noqa: S301  our own bytes

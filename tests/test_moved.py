"""Import paths of version 0.1.0: they work, and say where their names are now."""

import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import dpmean
from dpmean import moved

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

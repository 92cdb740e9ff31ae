"""Import paths of version 0.1.0 that have moved: they work for one more version, and a warning names the new one."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, final

from dpmean.warning import warn_user

MODULES = {
    "account": "ledger.ledger",
    "accountant": "privacy.conversions",
    "books.pages": "ledger.account",
    "books.recordable": "ledger.entries",
    "budget": "privacy.budgets",
    "by_group": "api",
    "coins": "noise.public",
    "estimators.enough": "estimators.feasibility",
    "forecast": "api",
    "found": "release.diagnostics",
    "frame": "queries.domain",
    "grid": "numerics.grid",
    "groups": "release.grouped",
    "neighbours": "privacy.neighbours",
    "outlook": "pipeline.outlook",
    "receipt": "privacy.receipts",
    "renyi": "privacy.renyi",
    "rows.kernel": "rows.block_query",
    "rows.streamed": "rows.engine",
    "trust.analyzer": "trust.local.analyzer",
    "trust.protocol": "trust.local.protocol",
}
"""Modules that the documentation has shown, or that define a public name, which a pickled object refers to."""
NAMES = {
    "release": ("release.release", ("Release",)),
}
"""Modules that are packages now, and the names that they had."""
RENAMED = {"Frame": "Domain"}
"""Names that were renamed as well."""
GONE = {
    "trust.central": {
        "Central": "use dpmean.trust.central.curator.Curator, which holds rows, budget and noise; "
        "an estimator is called with a curator, as docs/guide/extending.md shows",
    },
}
"""Names that the documentation has shown and that nothing replaces as it was, and what to do."""


@final
class _Forward(ModuleType):
    """A module that hands on the names of another."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        module = importlib.import_module(_new(self.__name__))
        return _public_names(module) if name == "__all__" else getattr(module, RENAMED.get(name, name))


@final
class _Loader:
    """Loads a module under its old name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make a module that hands on the names of the one that stands in its place."""
        return _Forward(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Say where its names are now."""
        _warn(module.__name__, _new(module.__name__))


@final
class _Finder:
    """Finds modules by their old names, after every other finder has looked."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  the signature of a finder
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return where to load an old name from, if it is one."""
        if fullname == "dpmean.books":
            return ModuleSpec(fullname, _Empty(), is_package=True)  # type: ignore[arg-type]  # importlib.abc is slow
        if fullname.removeprefix("dpmean.") in MODULES:
            return ModuleSpec(fullname, _Loader())  # type: ignore[arg-type]
        return None


@final
class _Empty:
    """Loads a package that has only old names in it."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is nothing in it."""


def forward(package: str, name: str) -> Any:
    """Return a name that a package had when it was a module, or say what took its place, or that it has none."""
    old = package.removeprefix("dpmean.")
    new, names = NAMES.get(old, ("", ()))
    if name == "__all__" and names:
        return list(names)
    if name in names:
        if not _is_asked_by_import():
            _warn(f"{package}.{name}", f"dpmean.{new}.{name}")
        return getattr(importlib.import_module(f"dpmean.{new}"), name)
    cure = GONE.get(old, {}).get(name)
    if cure is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    message = f"{package}.{name} was removed after version 0.1.0: {cure}"
    raise ImportError(message, name=package) if _is_asked_by_import() else AttributeError(message)


def install() -> None:
    """Let old names be found."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def _is_asked_by_import() -> bool:
    """Tell whether ``from package import name`` asks a package, through ``forward``, if it has the name.

    It asks once more, from the line of the user, for the name itself. Only an ``ImportError`` at the first time keeps
    its own words.
    """
    asking = sys._getframe(3)
    return asking.f_globals.get("__name__") == "importlib._bootstrap"


def _public_names(module: ModuleType) -> list[str]:
    """Return what a star imports from a module, by new names and old ones."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return [*names, *(old for old, new in RENAMED.items() if new in names)]


def _new(old: str) -> str:
    return f"dpmean.{MODULES[old.removeprefix('dpmean.')]}"


def _warn(old: str, new: str) -> None:
    warn_user(f"{old} has moved to {new}; the old name goes with the next version", DeprecationWarning)

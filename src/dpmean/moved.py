"""Import paths of version 0.1.0 that have moved. They still work, with a warning that names the new path."""

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
"""Old and new names of modules that the documentation has shown, or that pickled objects refer to."""
NAMES = {
    "release": ("release.release", ("Release",)),
}
"""Modules that are packages now, and the names that they defined."""
RENAMED = {"Frame": "Domain"}
"""Old and new names of classes."""
GONE = {
    "trust.central": {
        "Central": "use dpmean.trust.central.curator.Curator, which holds rows, budget and noise; "
        "an estimator is called with a curator, as docs/guide/extending.md shows",
    },
}
"""Names that the documentation has shown and that no longer exist, and what to use instead."""


@final
class _Forward(ModuleType):
    """A module that forwards names to another module."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        module = importlib.import_module(_new(self.__name__))
        return _public_names(module) if name == "__all__" else getattr(module, RENAMED.get(name, name))


@final
class _Loader:
    """Loads a module under its old name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module that forwards names to the new module."""
        return _Forward(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Warn with the new name."""
        _warn(module.__name__, _new(module.__name__))


@final
class _Finder:
    """Finds modules by their old names, after every other finder has failed."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  the signature of a finder
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return how to load a module, if its name is an old one."""
        if fullname == "dpmean.books":
            return ModuleSpec(fullname, _Empty(), is_package=True)  # type: ignore[arg-type]  # importlib.abc is slow
        if fullname.removeprefix("dpmean.") in MODULES:
            return ModuleSpec(fullname, _Loader())  # type: ignore[arg-type]
        return None


@final
class _Empty:
    """Loads a package that contains only old names."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Return nothing, so that the import system creates the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because the package is empty."""


def forward(package: str, name: str) -> Any:
    """Return a name that a package defined when it was a module, or raise an error that says what to use instead."""
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
    """Install the finder of old names."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def _is_asked_by_import() -> bool:
    """Return whether ``from package import name`` has called ``forward``, to see whether the package has the name.

    It asks a second time, from the user's line, for the value of the name. The message of an error reaches the user
    only if it is an ``ImportError`` at the first time.
    """
    asking = sys._getframe(3)
    return asking.f_globals.get("__name__") == "importlib._bootstrap"


def _public_names(module: ModuleType) -> list[str]:
    """Return the names that ``import *`` takes from a module, new and old."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return [*names, *(old for old, new in RENAMED.items() if new in names)]


def _new(old: str) -> str:
    return f"dpmean.{MODULES[old.removeprefix('dpmean.')]}"


def _warn(old: str, new: str) -> None:
    warn_user(
        f"{old} has moved to {new}: use the new name; the old one will be removed in the next version",
        DeprecationWarning,
    )

"""The mean of high-dimensional data under differential privacy, with nothing to tune."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dpmean import moved
from dpmean.version import __version__ as __version__

if TYPE_CHECKING:
    from dpmean.api import mean, mean_by, plan
    from dpmean.errors import (
        ArgumentError,
        ArgumentTypeError,
        DataError,
        DpMeanError,
        EntropyError,
        FormatWarning,
        LargeEpsilonWarning,
        LedgerError,
        OverspendError,
        TooFewRowsError,
        TooFewRowsWarning,
    )
    from dpmean.ledger.account import Entry
    from dpmean.ledger.entries import Recordable
    from dpmean.ledger.ledger import Ledger
    from dpmean.pipeline.outlook import Outlook
    from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
    from dpmean.privacy.conversions import (
        compose_advanced,
        compose_basic,
        compose_zcdp,
        simple_epsilon,
        tight_delta,
        tight_epsilon,
        to_approx,
        zcdp_implied_by,
        zcdp_that_implies,
    )
    from dpmean.privacy.neighbours import Neighbours
    from dpmean.privacy.receipts import Receipt
    from dpmean.release.diagnostics import Found
    from dpmean.release.grouped import GroupedRelease, Refusal
    from dpmean.release.intervals import Difference, Interval
    from dpmean.release.release import Release
    from dpmean.release.variances import Variances
    from dpmean.reports.document import report

__all__ = [
    "ApproxDp",
    "ArgumentError",
    "ArgumentTypeError",
    "DataError",
    "Difference",
    "DpMeanError",
    "EntropyError",
    "Entry",
    "FormatWarning",
    "Found",
    "GroupedRelease",
    "Interval",
    "LargeEpsilonWarning",
    "Ledger",
    "LedgerError",
    "Neighbours",
    "Outlook",
    "OverspendError",
    "PureDp",
    "Receipt",
    "Recordable",
    "Refusal",
    "Release",
    "TooFewRowsError",
    "TooFewRowsWarning",
    "Variances",
    "Zcdp",
    "compose_advanced",
    "compose_basic",
    "compose_zcdp",
    "mean",
    "mean_by",
    "plan",
    "report",
    "simple_epsilon",
    "tight_delta",
    "tight_epsilon",
    "to_approx",
    "zcdp_implied_by",
    "zcdp_that_implies",
]

_MODULES = {
    "ApproxDp": "privacy.budgets",
    "ArgumentError": "errors",
    "ArgumentTypeError": "errors",
    "DataError": "errors",
    "Difference": "release.intervals",
    "DpMeanError": "errors",
    "EntropyError": "errors",
    "Entry": "ledger.account",
    "FormatWarning": "errors",
    "Found": "release.diagnostics",
    "GroupedRelease": "release.grouped",
    "Interval": "release.intervals",
    "LargeEpsilonWarning": "errors",
    "Ledger": "ledger.ledger",
    "LedgerError": "errors",
    "Neighbours": "privacy.neighbours",
    "Outlook": "pipeline.outlook",
    "OverspendError": "errors",
    "PureDp": "privacy.budgets",
    "Receipt": "privacy.receipts",
    "Recordable": "ledger.entries",
    "Refusal": "release.grouped",
    "Release": "release.release",
    "TooFewRowsError": "errors",
    "TooFewRowsWarning": "errors",
    "Variances": "release.variances",
    "Zcdp": "privacy.budgets",
    "compose_advanced": "privacy.conversions",
    "compose_basic": "privacy.conversions",
    "compose_zcdp": "privacy.conversions",
    "mean": "api",
    "mean_by": "api",
    "plan": "api",
    "report": "reports.document",
    "simple_epsilon": "privacy.conversions",
    "tight_delta": "privacy.conversions",
    "tight_epsilon": "privacy.conversions",
    "to_approx": "privacy.conversions",
    "zcdp_implied_by": "privacy.conversions",
    "zcdp_that_implies": "privacy.conversions",
}
"""The module that defines each public name. Using a name loads that module and its imports, and no other."""
_PACKAGES = ("baselines", "collections", "engines")
"""Public packages that are loaded on first use. ``dpmean.sklearn`` needs scikit-learn and an import of its own."""


moved.install()


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562), so that ``import dpmean`` is fast."""
    if name in _PACKAGES:
        return importlib.import_module(f"dpmean.{name}")
    if name in _MODULES:
        value: object = getattr(importlib.import_module(f"dpmean.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'dpmean' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__", *_PACKAGES]

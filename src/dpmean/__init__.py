"""The mean of high-dimensional data under differential privacy, with nothing to tune."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dpmean.version import __version__ as __version__

if TYPE_CHECKING:
    from dpmean.api import mean
    from dpmean.errors import (
        ArgumentError,
        ArgumentTypeError,
        DataError,
        DpMeanError,
        EntropyError,
        LedgerError,
        OverspendError,
        TooFewRowsError,
        TooFewRowsWarning,
    )
    from dpmean.ledger.account import Entry
    from dpmean.ledger.entries import Recordable
    from dpmean.ledger.ledger import Ledger
    from dpmean.pipeline.forecast import plan
    from dpmean.pipeline.grouped import mean_by
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
    from dpmean.release.release import Release
    from dpmean.reports.document import report

__all__ = [
    "ApproxDp",
    "ArgumentError",
    "ArgumentTypeError",
    "DataError",
    "DpMeanError",
    "EntropyError",
    "Entry",
    "Found",
    "GroupedRelease",
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

_ROOMS = (
    "errors",
    "privacy.budgets",
    "privacy.conversions",
    "privacy.neighbours",
    "privacy.receipts",
    "release.diagnostics",
    "release.release",
    "release.grouped",
    "ledger.account",
    "ledger.entries",
    "ledger.ledger",
    "reports.document",
    "api",
    "pipeline.grouped",
    "pipeline.outlook",
    "pipeline.forecast",
)


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for (PEP 562), so that ``import dpmean`` costs nothing."""
    if name == "baselines":
        return importlib.import_module("dpmean.baselines")
    if name in __all__:
        for room in _ROOMS:
            module = importlib.import_module(f"dpmean.{room}")
            if name in vars(module) and getattr(vars(module)[name], "__module__", None) == module.__name__:
                value: object = vars(module)[name]
                globals()[name] = value
                return value
    raise AttributeError(f"module 'dpmean' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__", "baselines"]

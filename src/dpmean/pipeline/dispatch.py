"""Run a request in its trust model; the module of a trust model is loaded when it is first used."""

from __future__ import annotations

import importlib
from typing import Any, Protocol, cast

from dpmean.arguments.questions import ExpectedRows
from dpmean.arguments.request import Request
from dpmean.arguments.terms import Terms
from dpmean.errors import hide_sizes
from dpmean.pipeline.large_epsilon import warn_if_large
from dpmean.pipeline.outlook import Outlook, Promise
from dpmean.release.release import Release
from dpmean.trust.registry import TrustModel


class Runner(Protocol):
    """The interface of a trust model's module."""

    def run(self, X: Any, request: Request) -> Release:
        """Release the mean of the rows of ``X``, and record it in the ledger of the request."""
        ...

    def expect(self, n: int, d: int, terms: Terms, rows: ExpectedRows) -> Outlook:
        """Forecast the mean of n rows in d dimensions, from public numbers only."""
        ...

    def promise(self, n: int, d: int, terms: Terms, rows: ExpectedRows) -> Promise:
        """Return only the part of the forecast that a search needs, in less time."""
        ...


def run(X: Any, request: Request) -> Release:
    """Release the mean of the rows of ``X``, in the trust model of the request."""
    request.check_ledger()
    warn_if_large(request)
    return hide_sizes(lambda: _runner(request.terms.model).run(X, request))


def expect(n: int, d: int, terms: Terms, rows: ExpectedRows) -> Outlook:
    """Forecast the mean of n rows in d dimensions."""
    return _runner(terms.model).expect(n, d, terms, rows)


def promise(n: int, d: int, terms: Terms, rows: ExpectedRows) -> Promise:
    """Forecast the error for n rows in d dimensions, and whether there are enough rows."""
    return _runner(terms.model).promise(n, d, terms, rows)


def _runner(model: TrustModel) -> Runner:
    return cast(Runner, importlib.import_module(model.module))

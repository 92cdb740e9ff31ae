"""Bookkeeping for one data set: what its releases cost together, and what is left of a budget."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn, Protocol, Self, final

from dpmean.budget import Number, Zcdp
from dpmean.errors import ArgumentError, ArgumentTypeError, OverspendError
from dpmean.ledger import Receipt


class Recordable(Protocol):
    """What a ledger takes: the mean of rows, or those of groups."""

    @property
    def receipts(self) -> tuple[Receipt, ...]: ...  # noqa: D102
    @property
    def cost(self) -> Zcdp: ...  # noqa: D102
    @property
    def seeded(self) -> bool: ...  # noqa: D102
    @property
    def exact(self) -> bool: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102


@final
class Ledger:
    """Adds up the releases from one data set, and refuses what protects nobody or costs more than is left.

    >>> import numpy as np, dpmean
    >>> ledger = dpmean.Ledger(rho=1.0)
    >>> rows = np.random.default_rng(0).normal(5, 1, (4000, 100))
    >>> ledger.record(dpmean.mean(rows, rho=0.5, norm_bound=500.0))
    >>> float(ledger.left)
    0.5
    """

    def __init__(self, rho: Number) -> None:
        self.budget = Zcdp(rho)
        self._spent = Fraction(0)

    @property
    def spent(self) -> Fraction:
        """What the recorded releases cost together."""
        return self._spent

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.budget.rho - self.spent

    def record(self, release: Recordable) -> None:
        """Take the cost of a release from the budget."""
        if not hasattr(release, "receipts"):
            raise ArgumentTypeError(f"a release is needed, got {release!r} of type {type(release).__name__}")
        if release.seeded:
            raise ArgumentError("this release was made with a seed and protects nobody: make it again without one")
        if not release.exact:
            raise ArgumentError(
                f"this release of {release.method} has noise in floating point, which may give rows away: "
                "use dpmean.mean for what is to be published"
            )
        if release.cost.rho > self.left:
            raise OverspendError(
                f"the release costs rho = {float(release.cost.rho):.6g}, and only rho = {float(self.left):.6g} is left"
            )
        self._spent += release.cost.rho

    def check(self, cost: Zcdp) -> None:
        """Refuse early what costs more than is left."""
        if cost.rho > self.left:
            raise OverspendError(
                f"the release costs rho = {float(cost.rho):.6g}, and only rho = {float(self.left):.6g} is left"
            )

    def charge(self, cost: Zcdp, what: str) -> None:  # noqa: ARG002  it is written down in a file
        """Take something that was paid without a release from the budget."""
        self.check(cost)
        self._spent += cost.rho

    def __copy__(self) -> Self:
        return self  # two budgets for the same rows are none

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "a ledger in memory stays in its process, since a copy could be spent twice: stay in one process "
            "(n_jobs=None), or leave the ledger out of what you store (set_params(ledger=None))"
        )

    def __repr__(self) -> str:
        return f"<Ledger: rho = {float(self.spent):.6g} spent, {float(self.left):.6g} left>"

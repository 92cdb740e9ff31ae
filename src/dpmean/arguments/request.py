"""What is asked of the central model: every argument, read and checked before noise or a ledger can be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpmean.arguments.bounds import Bounds, Setting, read_domain, read_sigmas, read_step
from dpmean.arguments.budgets import read_budget
from dpmean.arguments.choices import read_flag, read_ledger, read_neighbours, read_seed
from dpmean.arguments.rows import read_nan_of_columns
from dpmean.errors import ArgumentError
from dpmean.ledger.ledger import Ledger
from dpmean.privacy.budgets import Number, Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.rows.engine import Source

SMALLEST_TO_COUNT = Fraction(1, 10**6)
"""A smaller budget would say nothing of the number of rows."""
_MOST_ROWS = 2**63
"""No number of rows is larger, as it is counted or as it is told."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a mean, read; what they say of columns is checked when these are known, by ``of``."""

    budget: Zcdp
    delta: Number | None
    neighbours: Neighbours
    norm_bound: float | None
    bounds: Bounds | None
    sigmas: tuple[float, float] | None
    step: float | None
    nan: str | Mapping[str, str]
    ledger: Ledger | None
    seed: int | None
    allow_few_rows: bool

    def __post_init__(self) -> None:
        if self.private and self.budget.rho < SMALLEST_TO_COUNT:
            least, given = float(SMALLEST_TO_COUNT), float(self.budget.rho)
            raise ArgumentError(
                f"rho must be at least {least:g} where the number of rows is private, got {given:g}: raise it, or give "
                'neighbours="replace-one" if that number is public'
            )

    @property
    def private(self) -> bool:
        """Whether the number of rows is private."""
        return self.neighbours is Neighbours.ADD_OR_REMOVE_ONE

    @property
    def fewest(self) -> int:
        """How many rows there must be at least: a private number is told as one that may be zero."""
        return 0 if self.private else 1

    def check_ledger(self) -> None:
        """Refuse a budget that is more than the ledger has left, before any row is read."""
        if self.ledger is not None:
            self.ledger.check(self.budget)

    def finite(self, names: tuple[str, ...] | None, d: int) -> np.typing.NDArray[np.bool_]:
        """Return in which columns every value must be finite."""
        return read_nan_of_columns(self.nan, names, d)

    def of(self, source: Source) -> Asked:
        """Check what the arguments say of the columns of these rows."""
        n, d = source.shape
        finite = self.finite(source.names, d)
        domain = read_domain(d, self.norm_bound, self.bounds, impute=not finite.all(), names=source.names)
        setting = Setting(domain, self.sigmas, self.step)
        for number in (1, _MOST_ROWS) if self.private else (max(n, 1),):
            setting.at(number)  # reach and step grow and fall with it, so that a number between them will do
        return Asked(self, source, setting, tuple(np.flatnonzero(finite).tolist()) if domain.impute else ())


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, of which rows. Whoever draws noise is given this, and no argument as it came."""

    arguments: Arguments
    source: Source
    setting: Setting
    strict: tuple[int, ...]
    """The columns in which every value must be finite, if that is not all."""


def read_arguments(
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    norm_bound: float | None = None,
    bounds: Bounds | None = None,
    sigma_min: float | None = None,
    sigma_max: float | None = None,
    step: float | None = None,
    nan: str | Mapping[str, str] = "raise",
    neighbours: str | None = None,
    ledger: Ledger | None = None,
    seed: int | None = None,
    allow_few_rows: bool = False,
) -> Arguments:
    """Read the arguments of a mean in the central model; ``dpmean.mean`` explains them."""
    return Arguments(
        budget=read_budget(rho, epsilon, delta),
        delta=delta,
        neighbours=read_neighbours(neighbours),
        norm_bound=norm_bound,
        bounds=bounds,
        sigmas=read_sigmas(sigma_min, sigma_max, bounds),
        step=read_step(step),
        nan=nan,
        ledger=read_ledger(ledger, seed),
        seed=read_seed(seed),
        allow_few_rows=read_flag(allow_few_rows, "allow_few_rows"),
    )

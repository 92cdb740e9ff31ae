"""The settings of a release: the public choices of a run, and what a collection of answers adds to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from dpmean.enums import Fidelity

VARIANTS = {
    "mean": "a coarse mean",
    "twice": "a coarse mean, taken twice",
    "two": "quartiles, in two rounds",
    "tree": "quartiles, in one round",
    "binary": "medians, by halving",
}
"""Ways to the centre in the shuffle model, in words."""
USUAL_DELTA = 1e-6
"""The delta at which epsilon is stated if none was given."""


@final
@dataclass(frozen=True, slots=True)
class NormBound:
    """A bound on the norms of rows.

    Attributes:
        reach: The norm at which rows were clipped first of all.
        norm_bound: The bound as it was given. With standard deviations, ``reach`` adds the spread of rows to it. None
            in a collection on separate machines, which only knows the reach.

    """

    reach: float
    norm_bound: float | None = None


@final
@dataclass(frozen=True, slots=True)
class BoxBounds:
    """Bounds on every column.

    Attributes:
        lower: The lower bounds, one per column.
        upper: The upper bounds, one per column.

    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSettings:
    """What a collection in the local or the shuffle model adds to the settings of a release.

    Attributes:
        rounds: The number of rounds.
        messages_per_user: The number of messages that one user sends, on average in the shuffle model.
        bytes_per_user: The bytes that one user sends.
        answered: The number of users who answered; in the shuffle model in the last round.
        sealed_bytes_per_user: The bytes that one user of the shuffle model sends when messages are sealed.
        variant: The way to the centre in the shuffle model: ``"mean"``, ``"twice"``, ``"two"``, ``"tree"`` or
            ``"binary"``.
        honest: The number of users who must be honest, in the shuffle model.
        fidelity: How a collection in the shuffle model was played, if it was.
        played_in_one_process: True when one process played all users, and saw all rows.

    """

    rounds: int
    messages_per_user: float
    bytes_per_user: float
    answered: int
    sealed_bytes_per_user: float | None = None
    variant: str | None = None
    honest: int | None = None
    fidelity: Fidelity | None = None
    played_in_one_process: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The public choices of a run, which do not depend on any row.

    Attributes:
        bound: The bound on rows: a ``NormBound`` or ``BoxBounds``.
        step: The step of the grid on which numbers were rounded, in working units.
        coins: The public coins, 32 hexadecimal digits: they tell this release from all others.
        passes: How often all rows were read, in the central model.
        sample: How many rows were read once more, by position, in the central model.
        collection: What a collection in the local or the shuffle model adds, or None.
        columns: The names of the columns, or None.
        privacy_unit: The column that identifies persons, or None if every row is protected by itself.
        imputed: The columns in which missing values were replaced by the middle of the bounds, or zero; True for all,
            if columns have no names.
        dropped: The columns in which a missing value left its row out; True for all, if columns have no names.
        filled: The columns in which missing values were replaced by a public value, each with that value.
        delta: The delta of the budget, or None if it has none.
        few_rows: True when there were too few rows to know the error.
        version: The version of dpmean that made the release.
        radius_unit: Words to follow the radius, if it is not in the user's units: half the range of the
            bounds, or standard deviations (each column in its own).
        note: What went wrong on the way, as far as others may know.

    """

    bound: NormBound | BoxBounds | None = None
    step: float | None = None
    coins: str | None = None
    passes: int | None = None
    sample: int | None = None
    collection: CollectionSettings | None = None
    columns: tuple[str, ...] | None = None
    privacy_unit: str | None = None
    imputed: bool | tuple[str, ...] = False
    dropped: bool | tuple[str, ...] = False
    filled: tuple[tuple[str, float], ...] = ()
    delta: float | None = None
    few_rows: bool = False
    version: str | None = None
    radius_unit: str = ""
    note: str = ""
    _order: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)
    """The order of these fields in a document: written again, the document and its hash in a ledger stay the same."""


def choose_delta(settings: Settings) -> float:
    """Return the delta at which epsilon is stated: that of the budget, or 1e-6."""
    return USUAL_DELTA if settings.delta is None else settings.delta

"""Closed lists of names, such as those of trust models; a name that is not in its list is an error."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TypeVar

from dpmean.errors import ArgumentError, describe

_Kind = TypeVar("_Kind", bound=StrEnum)


class Trust(StrEnum):
    """Who sees rows."""

    CENTRAL = "central"
    """A trusted curator sees them, and adds noise to answers."""
    LOCAL = "local"
    """Nobody does, since devices randomize what they send."""
    SHUFFLE = "shuffle"
    """Nobody does, as long as shuffler and analyzer do not work together."""


class Sizes(StrEnum):
    """Whether the numbers of rows in groups are protected."""

    PRIVATE = "private"
    """They are told with noise."""
    PUBLIC = "public"
    """They are told as they are, and so is who is in which group."""


class Missing(StrEnum):
    """What becomes of values that are not finite."""

    RAISE = "raise"
    """They end the call."""
    IMPUTE = "impute"
    """They count as the middle of the bounds, or zero."""
    DROP = "drop"
    """Their row does not count."""


class Newlines(StrEnum):
    """How line breaks in a CSV file are read."""

    RECORDS = "records"
    """Each ends a record."""
    QUOTED = "quoted"
    """Those within quoted fields belong to the field."""


class Shaping(StrEnum):
    """Whether noise follows the scales of the columns."""

    AUTO = "auto"
    """They are asked for where that is likely to pay."""
    ROUND = "round"
    """It does not."""


class RowKind(StrEnum):
    """What rows look like, as far as it matters for what their mean costs."""

    NORMAL = "normal"
    """Columns are about normal."""
    UNIFORM = "uniform"
    """Values are spread evenly over a range."""
    BINARY = "binary"
    """Columns have two values, about equally often."""
    MOSTLY_ZERO = "mostly zero"
    """About one value in twelve is 1, or near it, and the others are 0."""
    LAPLACE = "laplace"
    """Symmetric, with tails that fall exponentially."""
    SKEWED = "skewed"
    """A long tail on one side that falls exponentially, as waiting times have."""
    LOGNORMAL = "lognormal"
    """A long tail on one side that falls more slowly, as incomes have."""
    HEAVY_TAILS = "heavy tails"
    """A single value can outweigh all others, as the variance may be infinite."""
    CORRELATED = "correlated"
    """Columns move together, as the pixels of images and successive measurements do."""
    CLUSTERS = "clusters"
    """A few clusters of similar size, far apart."""
    SMALL_CLUSTER = "small cluster"
    """A tenth of the rows is in a cluster of its own, far from all others."""
    LINE = "line"
    """Evenly along one line, as rows with a trend are."""


class ScaleKind(StrEnum):
    """Where the scales of columns come from."""

    FOUND = "found"
    """They were found privately."""
    GIVEN = "given"
    """The caller knew them."""


class Rounds(StrEnum):
    """How many rounds a collection has."""

    ADAPTIVE = "adaptive"
    FEW = "few"


class Fidelity(StrEnum):
    """How a collection in the shuffle model is played."""

    TOTALS = "totals"
    MESSAGES = "messages"


class Question(StrEnum):
    """What a plan is to find out, of the number of rows, the budget and the error."""

    ERROR = "error"
    BUDGET = "budget"
    ROWS = "rows"


class Verdict(IntEnum):
    """What to expect from a number of rows."""

    FINE = 0
    RISKY = 1
    HOPELESS = 2


def read_name(kind: type[_Kind], value: object, argument: str, hint: str = "") -> _Kind:
    """Read a name of a closed list, or refuse it and say which there are, with a hint."""
    for member in kind:
        if isinstance(value, str) and value == member:
            return member
    *names, last = (f'"{member}"' for member in kind)
    raise ArgumentError(
        f"{argument} must be {', '.join(names)} or {last}, got {describe(value)}{hint and f' ({hint})'}"
    )

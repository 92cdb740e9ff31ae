"""Closed lists of names, such as the trust models. A name that is not in its list is an error."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TypeVar

from dpmean.errors import ArgumentError, describe

_Kind = TypeVar("_Kind", bound=StrEnum)


class Trust(StrEnum):
    """Who sees the rows."""

    CENTRAL = "central"
    """A trusted curator sees them and adds noise to the answers."""
    LOCAL = "local"
    """Nobody sees them, because devices randomize what they send."""
    SHUFFLE = "shuffle"
    """Nobody sees them, as long as the shuffler and the analyzer do not collude."""


class Sizes(StrEnum):
    """Whether the number of rows in each group is protected."""

    PRIVATE = "private"
    """It is released with noise."""
    PUBLIC = "public"
    """It is released exactly, and it is public who is in which group."""


class Missing(StrEnum):
    """What to do with values that are missing or infinite."""

    RAISE = "raise"
    """Raise an error."""
    IMPUTE = "impute"
    """Replace them with the middle of the bounds, or with zero."""
    DROP = "drop"
    """Leave out their rows."""


class Newlines(StrEnum):
    """How line breaks in a CSV file are read."""

    RECORDS = "records"
    """Each one ends a record."""
    QUOTED = "quoted"
    """Those inside a quoted field belong to the field."""


class Shaping(StrEnum):
    """Whether the noise follows the scales of the columns."""

    AUTO = "auto"
    """It does, if finding them privately is likely to reduce the error."""
    ROUND = "round"
    """It does not."""


class RowKind(StrEnum):
    """What the rows look like, as far as it changes the error of their mean."""

    NORMAL = "normal"
    """Columns are roughly normal."""
    UNIFORM = "uniform"
    """Values are spread evenly over a range."""
    BINARY = "binary"
    """Columns have two values, about equally often."""
    MOSTLY_ZERO = "mostly zero"
    """About one value in twelve is 1, or close to 1; the others are 0."""
    LAPLACE = "laplace"
    """Symmetric, with tails that fall exponentially."""
    SKEWED = "skewed"
    """A tail on one side that falls exponentially, such as waiting times."""
    LOGNORMAL = "lognormal"
    """A longer tail on one side, such as incomes."""
    HEAVY_TAILS = "heavy tails"
    """The variance may be infinite, so that a single outlier can outweigh all other values."""
    CORRELATED = "correlated"
    """Columns are correlated, such as the pixels of images and successive measurements."""
    CLUSTERS = "clusters"
    """A few clusters of similar size, far apart."""
    SMALL_CLUSTER = "small cluster"
    """A tenth of the rows is in one cluster, far from all other rows."""
    LINE = "line"
    """Rows lie evenly along one line, such as measurements with a trend."""


class CentroidMetric(StrEnum):
    """How the distance between a row and a centroid is measured."""

    EUCLIDEAN = "euclidean"
    """The Euclidean distance."""
    COSINE = "cosine"
    """The cosine of the angle between them, which ignores the lengths of rows."""


class ScaleKind(StrEnum):
    """Where the scales of the columns come from."""

    FOUND = "found"
    """They were found privately."""
    GIVEN = "given"
    """The caller gave them."""


class Rounds(StrEnum):
    """How many rounds a collection has."""

    ADAPTIVE = "adaptive"
    FEW = "few"


class Fidelity(StrEnum):
    """How a collection in the shuffle model is simulated."""

    TOTALS = "totals"
    MESSAGES = "messages"


class Question(StrEnum):
    """What a plan has to find: the error, the budget or the number of rows."""

    ERROR = "error"
    BUDGET = "budget"
    ROWS = "rows"


class Verdict(IntEnum):
    """Whether there are enough rows for a useful mean."""

    FINE = 0
    RISKY = 1
    HOPELESS = 2


def read_name(kind: type[_Kind], value: object, argument: str, hint: str = "") -> _Kind:
    """Read a name of a closed list; an error lists the names, with a hint."""
    for member in kind:
        if isinstance(value, str) and value == member:
            return member
    *names, last = (f'"{member}"' for member in kind)
    raise ArgumentError(
        f"{argument} must be {', '.join(names)} or {last}, got {describe(value)}{hint and f' ({hint})'}"
    )

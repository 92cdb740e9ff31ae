"""The means of groups: what was released for each, or why nothing was, and what it cost together.

This is one file because every field and every promise of the public class is explained where it is.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Sizes, Trust, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError, display_label, display_name, plural
from dpmean.privacy.budgets import Number, Zcdp
from dpmean.privacy.conversions import rounded_up, tight_epsilon
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt, total_cost
from dpmean.release.intervals import Difference, difference
from dpmean.release.release import Release

MOVED = 4
"""What a row that is replaced costs, in multiples of what one row more or less costs.

In its own group it is one row less and another more, two steps, whose cost grows with the square: four times. If it
moves to another group, each of two separate releases changes by one step: twice.
"""
PROTECTED = {
    (Sizes.PRIVATE, Neighbours.ADD_OR_REMOVE_ONE): "whether any one {one} is in the data, and in which {group}",
    (Sizes.PRIVATE, Neighbours.REPLACE_ONE): "what any one {one} contributed, and in which {group}",
    (Sizes.PUBLIC, Neighbours.REPLACE_ONE): "what any one {one} contributed; who is in which {group} is public",
}
"""What is protected; public sizes reveal who is in the data."""


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """A group of which no mean was released: why, and what it cost to know.

    Attributes:
        reason: Why there is no mean.
        receipts: What was paid to know that.
        rows_needed: The number of rows, or persons, that is needed at least.

    """

    reason: str
    receipts: tuple[Receipt, ...] = ()
    rows_needed: int = 1

    @property
    def rho(self) -> Fraction:
        """The zCDP budget that was spent, exactly."""
        return total_cost(self.receipts).rho if self.receipts else Fraction(0)

    @property
    def cure(self) -> str:
        """What to do about it."""
        from dpmean.release.refusals import cure_of  # here, as few need it

        return cure_of(self)

    def __str__(self) -> str:
        return f"no mean: {self.reason}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class GroupedRelease(Mapping[Any, Release | Refusal]):
    """The private means of publicly listed groups. All of it may be published.

    Attributes:
        by: The column that defines the groups; a tuple for several columns.
        groups: For every listed label, a ``Release`` or a ``Refusal``. Labels are tuples where ``by`` is one.
        sizes: Whether the numbers of rows in the groups are ``"private"`` or ``"public"``.
        neighbours: The pairs of data sets for which the guarantee holds: releases of both look almost the same.
        seeded: True when the noise came from a seed. Such a release is an experiment and protects nobody.
        delta: The delta at which epsilon is stated: that of the budget, or 1e-6.
        coins: The salt of the hash that chose a group for persons with rows in several.
        unit: The column that identifies persons, or None if every row is protected by itself.
        contributions: In how many groups one person counts at most.

    """

    by: str | tuple[str, ...]
    groups: Mapping[Any, Release | Refusal]
    sizes: Sizes
    neighbours: Neighbours
    seeded: bool = False
    delta: float = 1e-6
    coins: str = ""
    unit: str | None = None
    contributions: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", read_name(Sizes, self.sizes, "sizes"))
        object.__setattr__(self, "neighbours", read_name(Neighbours, self.neighbours, "neighbours"))
        central = all(release.trust is Trust.CENTRAL for release in self.released.values())
        if not central or (self.sizes, self.neighbours) not in PROTECTED:
            raise ArgumentError("groups have the central model, and public sizes only where neighbours replace one")
        each = Neighbours.REPLACE_ONE if self.sizes is Sizes.PUBLIC else Neighbours.ADD_OR_REMOVE_ONE
        for release in self.released.values():
            if (release.seeded, release.neighbours, release.unit) != (self.seeded, each, self.unit):
                raise ArgumentError("the groups and the release must have the same seed, neighbours and unit")
        if self.contributions < 1 or (self.contributions > 1 and self.unit is None):
            raise ArgumentError("contributions must be at least 1, and more are for persons: a row is in one group")
        if {len(label) if isinstance(label, tuple) else None for label in self.groups} - {self._columns}:
            raise ArgumentError("labels must have one value for each column of by")
        if len({release.d for release in self.released.values()}) > 1:
            raise ArgumentError("all groups must have the same number of columns")

    def __getitem__(self, label: Any) -> Release | Refusal:
        """Return what was released for one group, or why nothing was.

        Args:
            label: The label of the group.

        """
        if label not in self.groups:
            raise KeyError(
                f"there is no group {label!r}: the groups are {', '.join(map(repr, list(self.groups)[:20]))}"
            )
        return self.groups[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        """Refuse: without this, NumPy would make an array of the labels."""
        raise ArgumentTypeError(
            "the means of groups are not one array, since a group may have none: take release.means, whose rows are "
            "those of release.labels, or one group, as in np.asarray(release[label])"
        )

    @property
    def _columns(self) -> int | None:
        """How many values a label has, if it is a tuple."""
        return len(self.by) if isinstance(self.by, tuple) else None

    @property
    def cost(self) -> Zcdp:
        """What was spent, exactly: the most that the groups of one row, or person, cost together.

        A row is in one group, and a person counts in ``contributions`` groups at most, so only the most expensive ones
        add up. If the neighbours of private sizes replace a row, that may change each of these twice, or as many others
        (see MOVED).
        """
        return Zcdp(self.rho)

    @property
    def rho(self) -> Fraction:
        """The zCDP budget that was spent, exactly; zero if all groups were refused for their public sizes."""
        prices = sorted((found.rho for found in self.groups.values()), reverse=True)
        largest = sum(prices[: self.contributions], start=Fraction(0))
        moves = self.neighbours is Neighbours.REPLACE_ONE and self.sizes is Sizes.PRIVATE
        return largest * MOVED if moves else largest

    def epsilon(self, delta: Number) -> float:
        """Return the epsilon that goes with ``delta`` for what was spent (tight conversion, rounded up).

        Args:
            delta: The delta to go with the epsilon.

        """
        return rounded_up(tight_epsilon(self.cost, delta)) if self.rho else 0.0

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all groups; not all of them add up, see ``cost``."""
        return tuple(
            replace(receipt, step=f"{display_label(label)}: {receipt.step}")
            for label, found in self.groups.items()
            for receipt in found.receipts
        )

    @property
    def released(self) -> dict[Any, Release]:
        """The groups of which there is a mean."""
        return {label: found for label, found in self.groups.items() if isinstance(found, Release)}

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the groups of which there is a mean, in the order in which they were listed."""
        return tuple(self.released)

    @property
    def means(self) -> NDArray[np.float64]:
        """The means as a matrix, in your units: a row for each of ``labels``, and a column for each column.

        A refused group has no row, so that no number is missing; its label is in ``refused``. If all groups were
        refused, the matrix has no rows and no columns.
        """
        means = [release.mean for release in self.released.values()]
        return np.array(means) if means else np.empty((0, 0))

    @property
    def refused(self) -> dict[Any, str]:
        """The groups without a mean, each with the reason."""
        return {label: found.reason for label, found in self.groups.items() if isinstance(found, Refusal)}

    @property
    def exact(self) -> bool:
        """False if any noise was drawn in floats."""
        return all(receipt.exact for receipt in self.receipts)

    @property
    def method(self) -> str:
        """Which estimator; if all groups were refused, that none was used."""
        none = f"none: {plural(len(self), 'group')}, all refused"
        return next((release.method for release in self.released.values()), none)

    @property
    def identity(self) -> str | None:
        """The hash by which a ledger recognises this release; None if it has no public coins."""
        from dpmean.release import codec  # here, as it makes releases

        return codec.identify(self.to_json(), [self.coins, *(one.settings.coins for one in self.released.values())])

    def difference(self, first: Any, second: Any, confidence: float = 0.95, *, of: str = "rows") -> Difference:
        """Return the mean of one group minus that of another, with a confidence interval for each column.

        No row is in two groups, so the errors of both are independent. Persons may be in several with
        ``contributions``: then what a sample of a population adds to them may be as large as both together.

        Args:
            first: The label of a group.
            second: The label of the group that is subtracted.
            confidence: The probability with which each of the intervals holds.
            of: What it is about: ``"rows"`` for the means of these rows, ``"population"`` for those of the
                distributions they were drawn from independently. The latter needs ``population=True`` in
                ``dpmean.mean_by``.

        """
        both = []
        for label in (first, second):
            found = self[label]
            if isinstance(found, Refusal):
                why = f"the group {display_label(label)} has no mean: {found.reason}"
                raise ArgumentError(f"there is no difference, as {why}")
            both.append(found)
        shared = self.contributions > 1
        return difference(both[0], both[1], (first, second), confidence, of, shared=shared)

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame with a line per group and column: what ``Release.to_frame`` has, ``n`` and ``refused``.

        It has the same columns whatever happened. A refused group has lines, too: its numbers are NaN, and ``refused``
        says why, which is empty for the others; ``release[label].cure`` says what to do. If all groups were refused,
        there is one line for each, whose ``column`` is empty.

        Args:
            library: The library of the data frame: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.

        """
        from dpmean.release.frame_export import frame_of  # here, as few need it

        return frame_of(self, library)

    def to_json(self) -> str:
        """Return the whole release as JSON; labels that are not text, numbers or booleans become text."""
        from dpmean.release import codec

        return codec.encode_grouped(self)

    @staticmethod
    def from_json(text: str) -> GroupedRelease:
        """Read a release that ``to_json`` wrote.

        Args:
            text: The JSON that ``to_json`` returned.

        """
        from dpmean.release import codec

        return codec.decode_grouped(text)

    def explain(self) -> str:
        """Return what ``print`` leaves out, as text; ``release[label].explain()`` explains one group.

        That is: the noise in each column of each group, the clipping radii, why groups were refused, and the steps with
        their costs.
        """
        from dpmean.release.grouped_explanation import explanation_of_groups  # here, as few need it

        return explanation_of_groups(self)

    def __str__(self) -> str:
        from dpmean.release.grouped_summary import summary_of_groups  # here, as few need it

        return summary_of_groups(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def why_refused(self) -> tuple[str, str]:
        """Return how many groups were refused and why, and what to do about it, in words; empty if none was."""
        from dpmean.release.refusals import cure_of_all, refusals_in_words  # here, as few need it

        refused = [found for found in self.groups.values() if isinstance(found, Refusal)]
        one = "row" if self.unit is None else "person"
        return (refusals_in_words(refused, len(self), one), cure_of_all(refused)) if refused else ("", "")

    def __repr__(self) -> str:
        seeded = ", seeded" if self.seeded else ""
        groups = f"{plural(len(self), 'group')}, {len(self.refused)} refused"
        return f"<GroupedRelease by {display_name(self.by)}: {groups}, rho={float(self.rho):.6g}{seeded}>"

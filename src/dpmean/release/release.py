"""A release: a private mean, its cost and its error; all of it may be published.

This is one file because every field and every promise of the public class is explained where it is.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpmean.enums import Trust, read_name
from dpmean.errors import ArgumentError
from dpmean.numerics.error_quantiles import error_quantile, normal_quantile
from dpmean.privacy.budgets import Number, Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt, epsilon_of, zcdp_of
from dpmean.release.arrays import Kept, keep_arrays
from dpmean.release.diagnostics import Found
from dpmean.release.intervals import ROWS, Interval, interval, margins_of, no_bound
from dpmean.release.scales import SILENT, Scales
from dpmean.release.settings import BoxBounds, Settings, choose_delta
from dpmean.release.variances import Variances
from dpmean.warning import warn_user

if TYPE_CHECKING:
    from dpmean.release.value_counts import ValueCounts


@final
@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """A private mean, its cost and its error; it contains no row and no exact statistic.

    ``np.asarray(release)`` is the mean. Every array is handed out as a copy, which you may change: the release stays
    what it is. To look at many of its numbers one by one, keep the array in a variable.

    Attributes:
        mean: The private mean, one number per column, in the user's units. With ``bounds``, a column that hardly varies
            is reported at its private median, if there were enough rows to find that, unless the noisy mean is more
            than four noise standard deviations away.
        noise_std: The standard deviation of the noise in each number, in the user's units. Clipping may add bias.
        centre: The centre around which rows were clipped, in the user's units. It was found privately (methods refined
            and shifted), or is public (method clipped).
        radius: The privately chosen clipping radius, in the user's units. When columns have bounds of their own, it is
            in their standard deviations, or in half their range if ``scales`` is None. Where noise follows the
            scales of columns, it is the clipping distance in the direction of a typical row.
        receipts: What each step asked, with which mechanism, at which exact cost.
        n: The number of rows, with noise where it is private.
        d: The number of columns.
        method: The estimator.
        trust: The trust model.
        neighbours: The pairs of data sets for which the guarantee holds: releases of both look almost the same.
        seeded: True when the noise came from a seed. Such a release is an experiment and protects nobody.
        settings: The public choices of the run: the bound, the step of the grid, the public coins, the version; in the
            central model how often all rows were read; and what a collection in the other models adds.
        found: What method refined measured privately on the way to the mean: spread, radii, rounds, bias.
        scales: How widely each column varies, with the errors of that, if method refined asked for it or it was given.
        value_counts: How many rows have a value in each column, with noise, if ``count_values=True`` asked for it.
        variances: The variance of each column, if the release was made with ``population=True``.
        intervals: The confidence intervals that its document shows: at 95 %, of the mean of its rows, and of that of
            a population if ``variances`` are known. Use ``interval`` for others.

    """

    mean: NDArray[np.float64]
    noise_std: NDArray[np.float64]
    centre: NDArray[np.float64]
    radius: float
    receipts: tuple[Receipt, ...]
    n: int
    d: int
    method: str
    trust: Trust
    neighbours: Neighbours
    seeded: bool
    settings: Settings = field(default_factory=Settings)
    found: Found | None = None
    scales: Scales | None = None
    value_counts: ValueCounts | None = None
    variances: Variances | None = None
    intervals: tuple[Interval, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "trust", read_name(Trust, self.trust, "trust"))
        object.__setattr__(self, "neighbours", read_name(Neighbours, self.neighbours, "neighbours"))
        if self.scales is not None:
            object.__setattr__(self, "scales", replace(self.scales, columns=self.columns))

    @property
    def cost(self) -> Zcdp:
        """What was spent, exactly. Costs of releases on the same rows add up: see ``dpmean.compose_zcdp``."""
        return zcdp_of(self.receipts)

    @property
    def rho(self) -> Fraction:
        """The zCDP budget that was spent, exactly."""
        return self.cost.rho

    @property
    def exact(self) -> bool:
        """False if any noise was drawn in floating point, whose rounding may reveal rows: then it is an experiment."""
        return all(receipt.exact for receipt in self.receipts)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns, or None."""
        return self.settings.columns

    @property
    def unit(self) -> str | None:
        """The column that identifies persons, or None if every row is protected by itself."""
        return self.settings.privacy_unit

    @property
    def std(self) -> NDArray[np.float64] | None:
        """The standard deviation of each column, from ``variances``; None if these were not asked for.

        It is NaN where noise hides the variance, that is, where this is less than two standard deviations of its noise.
        Intervals of a population hold there, too.
        """
        if self.variances is None:
            return None
        return np.sqrt(np.where(self.variances.hidden, np.nan, self.variances.values))

    @property
    def identity(self) -> str | None:
        """The hash by which a ledger recognises this release; None if it has no public coins."""
        from dpmean.release import codec  # here, as it makes releases

        return codec.identify(self.to_json(), [self.settings.coins])

    @property
    def public(self) -> Mapping[str, Any]:
        """The settings as a mapping, as in version 0.1.0; use ``settings``."""
        from dpmean.release.settings_codec import mapping_of

        warn_user(
            "Release.public has moved to Release.settings, a record: release.settings.coins, say, for "
            'release.public["coins"]; the old name goes with the next version',
            DeprecationWarning,
        )
        return MappingProxyType(mapping_of(self.settings))

    def __getitem__(self, column: str) -> float:
        """Return the mean of one column by its name.

        Args:
            column: The name of the column.

        """
        names = self.columns or ()
        if column not in names:
            raise KeyError(f"there is no column {column!r}: the columns are {', '.join(names[:20]) or 'no names'}")
        return float(_own_mean(self)[names.index(column)])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the mean for NumPy.

        Args:
            dtype: The type of the numbers. By default it is float64.
            copy: False for the array of the release itself, read-only. By default the mean is copied.

        """
        own = _own_mean(self)
        if copy is not False:
            return own.astype(own.dtype if dtype is None else dtype)
        if dtype is not None and np.dtype(dtype) != own.dtype:
            raise ArgumentError(f"the mean is float64, and {np.dtype(dtype)} takes a copy: leave copy=False out")
        return own.view()

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame with a line per column: ``mean``, ``lower`` and ``upper`` at 95 % confidence, and more.

        It has the same columns whatever was asked for and whatever happened: ``population_lower``,
        ``population_upper``, ``noise_std``, ``scale``, ``std``, ``values`` and ``values_std``, too. What is not known,
        or cannot be relied upon as there are too few rows, is NaN.

        Args:
            library: The library of the data frame: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.

        """
        from dpmean.release.frame_export import frame_of  # here, as few need it

        return frame_of(self, library)

    def epsilon(self, delta: Number) -> float:
        """Return the epsilon that goes with ``delta`` for what was spent (tight conversion, rounded up).

        Args:
            delta: The delta to go with the epsilon.

        """
        return epsilon_of(self.receipts, delta)

    def error_bound(self, confidence: float = 0.95, *, of: str = "rows") -> float:
        """Return a bound on the error of the mean, in l2 norm over all columns, that holds with this confidence.

        The unit is that of ``radius``: yours; or, when columns have bounds of their own, their standard deviations, or
        half their range if ``scales`` is None. The bound covers the noise, the bias that was measured, and
        that of the few rows beyond the ceiling if the tail goes on as it began. It does not cover ``found.unseen``
        rows, or fewer, that are much farther out than all others, nor bounds that cut off rows, and for a population
        not the rare values of a heavy tail. With ``settings.few_rows`` it is not
        a bound, since the error is not known.

        Args:
            confidence: The probability with which the bound holds.
            of: What the error is measured to: ``"rows"`` for the mean of these rows, ``"population"`` for the mean of
                the distribution they were drawn from independently. The latter also covers the sampling error, as
                estimated from the spread.

        """
        if of not in ("rows", "population"):
            raise ArgumentError(f'of must be "rows" or "population", got {of!r}')
        if self.found is None:
            raise ArgumentError(no_bound(self))
        found, weights = self.found, np.ones(self.d) if self.scales is None else self.scales.weights
        bound = error_quantile(found.noise_std * weights, found.bias + found.tail, found.bias_std, confidence)
        if self.scales is not None:
            bound += SILENT * found.noise_std * math.hypot(*weights[self.scales.still])
        if of == "rows":
            return bound
        width = found.spread if found.spread > found.ceiling / 50 else found.ceiling  # too few pairs differ to tell
        return math.hypot(bound, normal_quantile((1 + confidence) / 2) * width / math.sqrt(self.n))

    def column_bounds(self, confidence: float = 0.95) -> NDArray[np.float64]:
        """Return a bound on the error of each column to the mean of these rows, in your units, each at this confidence.

        What ``error_bound`` does not cover, these do not cover either, and where ``settings.few_rows`` is True they
        are no bounds.

        Args:
            confidence: The probability with which each of the bounds holds.

        """
        if self.found is None:
            raise ArgumentError(no_bound(self))
        in_your_units, given = margins_of(self, confidence, ROWS), self.settings.bound
        if isinstance(given, BoxBounds):  # the mean of the rows lies within them
            farthest = np.maximum(self.mean - np.array(given.lower), np.array(given.upper) - self.mean)
            in_your_units = np.minimum(in_your_units, farthest)
        return in_your_units

    def imputation_bounds(self, confidence: float = 0.95) -> NDArray[np.float64]:
        """Return by how much at most missing values may have moved each mean, in your units, each at this confidence.

        Missing values that count as the middle of the bounds, or as a public value, move the mean away from what it
        would be if they were known, or if they were left out. It takes a release with ``value_counts``. In columns
        without such values it is zero.

        Args:
            confidence: The probability with which each of the bounds holds.

        """
        from dpmean.release.value_counts import moved_at_most  # here, as few need it

        return moved_at_most(self, confidence)

    def interval(self, confidence: float = 0.95, *, of: str = "rows") -> Interval:
        """Return a confidence interval for each column, in its own unit: ``lower`` and ``upper``.

        Each interval holds for its column with this confidence. What ``error_bound`` does not cover, it does not cover
        either. Intervals do not go beyond the bounds on columns, if there are any, as no mean does.

        Args:
            confidence: The probability with which each of the intervals holds.
            of: What the interval is about: ``"rows"`` for the mean of these rows, ``"population"`` for the mean of the
                distribution they were drawn from independently. The latter also covers the sampling error. It needs
                ``variances``, so the release must have been made with ``population=True``.

        """
        return interval(self, confidence, of)

    def to_json(self) -> str:
        """Return the whole release as JSON; ``from_json`` restores every number exactly."""
        from dpmean.release import codec

        return codec.encode_release(self)

    @staticmethod
    def from_json(text: str) -> Release:
        """Read a release that ``to_json`` wrote.

        Args:
            text: The JSON that ``to_json`` returned.

        """
        from dpmean.release import codec

        return codec.decode_release(text)

    def explain(self) -> str:
        """Return what ``print`` leaves out, as text.

        That is: the noise and the scale of each column, the bound, the clipping radius, which errors are covered and
        which are not, and the steps with their costs.
        """
        from dpmean.release.explanation import explanation  # here, as few need it

        return explanation(self)

    def __str__(self) -> str:
        from dpmean.release.summary import summary  # here, as few need it

        return summary(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Release.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        seeded = ", seeded" if self.seeded else ""
        from dpmean.release.text import price_in_brief  # here, as few need it

        price = price_in_brief(self.receipts, choose_delta(self.settings))
        return f"<Release of a mean: n={self.n}, d={self.d}, method={self.method}, {price}{seeded}>"


keep_arrays(Release, "mean", "noise_std", "centre")


def _own_mean(release: Release) -> NDArray[np.float64]:
    """Return the mean without a copy; it is read-only."""
    kept: Kept = vars(Release)["mean"]
    return kept.of(release)

"""A release in words, as it is printed in 80 columns: each function makes the lines for one of its parts.

This is one file because all that ``print`` says of a release is to be read together.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import numpy as np
from numpy.typing import NDArray

from dpmean.enums import Fidelity, Trust
from dpmean.errors import display_name, plural
from dpmean.privacy.budgets import PureDp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt, epsilon_of, zcdp_of
from dpmean.privacy.renyi import Renyi, compose, renyi_of
from dpmean.release.diagnostics import Found
from dpmean.release.settings import VARIANTS, CollectionSettings, NormBound, Settings

if TYPE_CHECKING:
    from dpmean.release.intervals import Interval
    from dpmean.release.scales import Scales
    from dpmean.release.statistics import Statistic

Paragraph = tuple[str, str]
"""A label, or nothing, and what is said under it."""
FEW_COLUMNS = 10
"""So many are told one by one; of more, some."""
_PLAYED = "played in one process, which saw all rows"
_WIDEST_NAME = 26
"""Names of columns up to this length stand before their numbers, longer ones above them."""
_WIDEST_STEP = 24
"""So it is with the names of steps."""
_OWN = "each column in its own"
"""Which standard deviations these are."""
_HALVES = " half-widths"
"""How the unit of a radius begins where columns are measured by their bounds, half a range to the unit."""
NOT_ASKED: Paragraph = ("scales", "not asked for: noise is in proportion to the ranges")
"""What is said of scales where columns have different bounds, and noise follows these."""
PROTECTED = "protected: "
"""How the words on who is protected begin."""
NOT_KNOWN_VALUE = "not known"
"""What stands for a number that is NaN in data frames."""
NOT_KNOWN: Paragraph = ("error", "not known, since there are too few rows")
"""What is said of errors where rows are few."""


def length(value: float, unit: str, digits: int = 4) -> str:
    """Return a length in words: by the ranges of columns in per cent, as readers know them."""
    if unit.startswith(_HALVES):
        return f"{50 * value:.{digits}g} % of the range"
    return f"{value:.{digits}g}{unit}"


def lines_of(paragraphs: Sequence[Paragraph]) -> list[str]:
    """Return labels and words in lines of 80 columns."""
    return [line for label, words in paragraphs for line in wrapped(f"  {label:<11}", words)]


def wrapped(start: str, words: str, indent: int | None = None) -> list[str]:
    """Return words in lines of 80 columns, the first after a start, the others below it."""
    rest = " " * (len(start) if indent is None else indent)
    maker = textwrap.TextWrapper(80, start, rest, break_on_hyphens=False)
    return maker.wrap(words)


def number(n: int, neighbours: Neighbours, unit: str | None) -> str:
    """Return how many there are, and of what; a private number is not exact."""
    private = neighbours is Neighbours.ADD_OR_REMOVE_ONE
    about = "about " * private
    return f"{about}{plural(n, 'row')}" if unit is None else f"{about}{plural(n, 'person')} ({display_name(unit)})"


def warning(settings: Settings) -> list[str]:
    """Return what a reader should know before any number."""
    if not settings.few_rows:
        return []
    return ["  FEW ROWS: do not rely on the mean or on any error given for it"]


def estimate(
    columns: tuple[str, ...] | None,
    mean: NDArray[np.float64],
    noise_std: NDArray[np.float64],
    intervals: Sequence[Interval],
    others: Sequence[tuple[Statistic, NDArray[np.float64]]] = (),
) -> list[str]:
    """Return the mean and its noise, column by column if there are few, with their intervals if known.

    ``others`` are statistics beside these.
    """
    d = len(mean)
    if d > FEW_COLUMNS:
        return _arrays(mean, noise_std, intervals, others)
    names = columns or [f"mean[{j}]" for j in range(d)]
    width = max(10, *(len(name) for name in names if len(name) <= _WIDEST_NAME), 0)
    lines = wrapped("  ", in_brackets(intervals)) if intervals else []
    for j, name in enumerate(names):
        words = f"{mean[j]:.6g}{_brackets(intervals, j)}; noise std {noise_std[j]:.3g}"
        words += "".join(f"; {one.words} {_known(values[j], one.digits)}" for one, values in others)
        if len(name) > width:  # the numbers of all columns are to begin at the same place
            lines += wrapped("  ", name)
            name = ""
        lines += wrapped(f"  {name:<{width}} ", words)
    return lines


def _known(value: float, digits: int) -> str:
    return NOT_KNOWN_VALUE if math.isnan(value) else f"{value:.{digits}g}"


def in_brackets(intervals: Sequence[Interval]) -> str:
    """Return what the intervals in brackets are."""
    also = ", and of the population" if len(intervals) > 1 else ""
    return f"{100 * intervals[0].confidence:g} % confidence intervals in brackets: for the mean of these rows{also}"


def _brackets(intervals: Sequence[Interval], j: int) -> str:
    """Return the intervals of one column."""
    ends = [f"{one.lower[j]:.6g} to {one.upper[j]:.6g}" for one in intervals]
    return f" ({'; '.join(ends)})" if ends else ""


def _arrays(
    mean: NDArray[np.float64],
    noise_std: NDArray[np.float64],
    intervals: Sequence[Interval],
    others: Sequence[tuple[Statistic, NDArray[np.float64]]],
) -> list[str]:
    lines = [*wrapped("  mean       ", numbers(mean)), *wrapped("  noise_std  ", numbers(noise_std))]
    if np.ptp(noise_std) == 0:
        noise = math.hypot(*noise_std.tolist())
        lines.append(f"             that is {noise:.4g} in l2 norm, all columns together")
    for interval in intervals:
        whose = "these rows" if interval.of == "rows" else "the population"
        lines += wrapped("  interval   ", f"{100 * interval.confidence:g} % confidence, for the mean of {whose}:")
        for end, values in (("from", interval.lower), ("to", interval.upper)):
            lines += wrapped(f"    {end:<8} ", numbers(values), 13)
    for one, values in others:
        lines += wrapped(f"  {one.name:<10} ", numbers(values), 13)
    return lines


def in_one_line(columns: tuple[str, ...] | None, mean: NDArray[np.float64], intervals: Sequence[Interval]) -> str:
    """Return the mean in one line, column by column, with intervals if these are known."""
    names = [f"{name} " for name in columns] if columns else [""] * len(mean)
    around = [_brackets(intervals, j) for j in range(len(mean))]
    return ", ".join(f"{name}{value:.6g}{words}" for name, value, words in zip(names, mean, around, strict=True))


def bound(settings: Settings) -> str:
    """Return the bound on the rows."""
    given = settings.bound
    if given is None:
        return ""
    if isinstance(given, NormBound):
        norm = [] if given.norm_bound is None else [f"norm_bound {given.norm_bound:g}"]
        return ", ".join([*norm, *([] if given.reach == given.norm_bound else [f"reach {given.reach:g}"])])
    sides = list(zip(given.lower, given.upper, strict=True))
    if len(set(sides)) == 1:
        return f"every column from {sides[0][0]:g} to {sides[0][1]:g}"
    shown = ", ".join(f"{low:g} to {high:g}" for low, high in sides[:4])
    return shown + (f", ... ({len(sides)} columns)" if len(sides) > 4 else " (column by column)")


def clipping(radius: float, unit: str) -> list[Paragraph]:
    """Return where rows were clipped, if that is all that is known."""
    beyond = "rows beyond it were clipped, which may add bias to the noise"
    return [("radius", f"{length(radius, unit, 5)} around the centre; {beyond}")]


def findings(found: Found, radius: float, unit: str, one: str, scales: Scales | None) -> list[Paragraph]:
    """Return what was found out on the way."""
    own = f" ({_OWN})" if unit and not (scales is not None and not scales.per_column) else ""
    shape = ", more along columns that vary more" if scales is not None and scales.used and not own else ""
    clipped = f"{one}s farther from the centre were clipped"
    times = f"released {found.rounds} times, around better and better centres" if found.rounds > 1 else "released once"
    return [
        ("spread", f"{length(found.spread, unit)}{own}: the typical distance of a {one} from the mean of all"),
        (
            "radius",
            f"{length(radius, unit)}{own}{shape}: {clipped}; the mean was {times}",
        ),
    ]


def ends_of_one(rows: tuple[float, float], population: tuple[float, float], one: str) -> str:
    """Return the intervals of one column."""
    (low, high), (least, most) = rows, population
    return (
        f"95 % confidence interval of the mean of these {one}s: {low:.6g} to {high:.6g}; of the population mean, if "
        f"they are an independent sample: {least:.6g} to {most:.6g}"
    )


def lengths(unit: str, one: str, *, rows: float, population: float, per_column: bool) -> str:
    """Return the bounds on the errors of several columns; ``per_column`` where each has a unit of its own."""
    each, unit = (f", each in its own{unit}", "") if per_column else (f", {_OWN}" if unit else "", unit)
    return (
        f"at 95 % confidence, the mean of these {one}s differs from this estimate by at most {length(rows, unit, 3)} "
        f"(l2 norm over all columns{each}); "
        f"population mean, if they are an independent sample: at most {length(population, unit, 3)}"
    )


def errors(found: Found, error: str, one: str, *, imputed: bool) -> list[Paragraph]:
    """Return what errors to expect, and what that covers."""
    covered = "covered: noise, and the bias of clipping as far as it was measured"
    missing = f"{'missing values, ' * imputed}up to {plural(found.unseen, one)} far beyond all others"
    rare = "for the population mean also rare large values, which the spread does not show"
    return [("error", error), ("", f"{covered}; not covered: {missing}, bounds that are too tight; {rare}")]


def price(receipts: Sequence[Receipt], delta: float) -> str:
    """Return what all receipts cost together."""
    costs = [receipt.cost for receipt in receipts]
    if any(isinstance(cost, Renyi) for cost in costs):
        return f"epsilon = {four_digits_up(epsilon_of(receipts, delta)):.4g}, delta = {delta:g}"
    if all(isinstance(cost, PureDp) for cost in costs):
        return f"epsilon = {four_digits_up(epsilon_of(receipts, delta)):.4g}, pure"
    rho, epsilon = float(zcdp_of(receipts).rho), epsilon_of(receipts, delta)
    return f"rho = {rho:.6g} zCDP, that is epsilon = {four_digits_up(epsilon):.4g} at delta = {delta:g}"


def price_in_brief(receipts: Sequence[Receipt], delta: float) -> str:
    """Return the same in as few words as possible."""
    if any(isinstance(receipt.cost, Renyi) for receipt in receipts):
        return price(receipts, delta).replace(" = ", "=")
    return f"rho={float(zcdp_of(receipts).rho):.6g}"


def protected(neighbours: Neighbours, unit: str | None) -> str:
    """Return who is protected."""
    one = "one row" if unit is None else f"all rows of one {display_name(unit)}"
    what = "rows" if unit is None else "persons"
    change, number = {
        Neighbours.REPLACE_ONE: ("replaced by any other" if unit is None else "replaced by any others", "public"),
        Neighbours.ADD_OR_REMOVE_ONE: ("present or absent", "published with noise"),
    }[neighbours]
    return f"{PROTECTED}{one}, {change} ({neighbours}); the number of {what} is {number}"


def protocol(trust: Trust, collection: CollectionSettings | None) -> list[Paragraph]:
    """Return what devices did, if every row is one."""
    if collection is None:
        return []
    match trust:
        case Trust.CENTRAL:
            return []
        case Trust.LOCAL:
            return [("protocol", _local(collection))]
        case Trust.SHUFFLE:
            return [("protocol", _shuffle(collection))]
        case _:
            assert_never(trust)  # a new trust model needs words of its own


def _local(collection: CollectionSettings) -> str:
    sent = (
        f"{collection.rounds} rounds, {collection.messages_per_user:g} message of "
        f"{collection.bytes_per_user:.0f} bytes per user; {collection.answered} users answered"
    )
    apart = "each device randomized its own answer, only messages were added up"
    return f"{sent}; {_PLAYED if collection.played_in_one_process else apart}"


def _shuffle(collection: CollectionSettings) -> str:
    messages, size = f"{collection.messages_per_user:.1f} messages", f"{collection.bytes_per_user:.0f} bytes per user"
    sent = f"{collection.rounds} rounds, {messages} and {size}"
    sealed = f"{collection.sealed_bytes_per_user or 0:.0f} when sealed; centre by {VARIANTS[collection.variant or '']}"
    honest = f"{collection.answered} users answered, of whom {collection.honest} must be honest"
    played = f"; {_PLAYED}, by {collection.fidelity or Fidelity.MESSAGES}" if collection.played_in_one_process else ""
    return f"{sent}, {sealed}; {honest}; shuffler and analyzer must not collude{played}"


def paid(receipts: Sequence[Receipt]) -> list[str]:
    """Return what every step asked, in brief, and its part of the cost."""
    total = compose(receipt.cost for receipt in receipts).curve[0]
    width = max([11, *(len(receipt.step) for receipt in receipts if len(receipt.step) <= _WIDEST_STEP)])
    lines = []
    for receipt in receipts:
        cost = receipt.cost
        part = f"{float(cost.epsilon):.5g}" if isinstance(cost, PureDp) else f"{renyi_of(cost).curve[0] / total:.1%}"
        step, asked = receipt.step, receipt.asked.split(",")[0]
        if len(step) > width:  # the costs of all steps are to stand below each other
            lines += wrapped("    ", step)
            step = ""
        lines += wrapped(f"    {step:<{width}} {part:>6}  ", asked)
    return lines


def remarks(settings: Settings, moved: str, *, exact: bool, seeded: bool) -> list[Paragraph]:
    """Return what a reader should know after all numbers; ``moved`` says what missing values may have done."""
    told = []
    if settings.imputed or settings.filled:
        told.append(
            ("IMPUTED", f"{imputed(settings)}; what is said of errors does not cover that{moved and ': '}{moved}")
        )
    if settings.dropped:
        told.append(("LEFT OUT", f"{dropped(settings)}; the mean is that of the others, which may differ from these"))
    if settings.note:
        told.append(("NOTE", settings.note))
    if not exact:
        told.append(("FLOATS", "made with noise in floating point, to be measured; its rounding may give rows away"))
    if seeded:
        told.append(("SEEDED", "made with known noise, for experiments only; it protects nobody"))
    return told


def imputed(settings: Settings) -> str:
    """Return what counted as something else, as it was missing; of persons, only what is missing in all their rows."""
    parts = []
    if settings.imputed:
        words = (
            "the middle of the bounds, or zero"
            if settings.privacy_unit is None
            else "the middle of its bounds, or zero"
        )
        parts.append(f"{_missing(settings, settings.imputed)} counted as {words}")
    if settings.filled:
        values = ", ".join(f"{name} as {value:g}" for name, value in settings.filled[:6])
        filled = _missing(settings, tuple(name for name, _ in settings.filled))
        parts.append(f"{filled} counted as public values: {values}{', ...' * (len(settings.filled) > 6)}")
    return ", and ".join(parts)


def dropped(settings: Settings) -> str:
    """Return which rows were left out, as something was missing in them."""
    which, unit = settings.dropped, settings.privacy_unit
    columns = "" if isinstance(which, bool) else f" of {_few(which)}"
    if unit is None:
        return f"rows in which a value{columns} was missing were left out"
    at_least = " in at least one column" if isinstance(which, bool) or len(which) > 1 else ""
    listed = f" ({_few(which)})" if at_least and not isinstance(which, bool) else columns
    return f"persons ({display_name(unit)}) who have no value{at_least}{listed} were left out"


def _missing(settings: Settings, which: bool | tuple[str, ...]) -> str:
    columns, unit = "" if isinstance(which, bool) else f" of {_few(which)}", settings.privacy_unit
    if unit is None:
        return f"values{columns} that were missing"
    return f"persons ({display_name(unit)}) without any value{columns or ' in a column'}"


def _few(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:6])}{', ...' * (len(names) > 6)}"


def four_digits_up(epsilon: float) -> float:
    """Return an epsilon with four digits that is not below it, but for a float's error: it is a promise."""
    if not 0 < epsilon < math.inf:
        return epsilon
    place = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    return math.ceil(epsilon / place - 1e-6) * place


def numbers(values: NDArray[np.float64]) -> str:
    """Return some of many numbers."""
    with np.printoptions(precision=5, threshold=6, edgeitems=3, suppress=False, linewidth=200):
        return str(values)

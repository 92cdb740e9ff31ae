"""The sentences of ``print`` and ``explain()``, in lines of 80 characters.

This is one file because readers see these sentences below each other.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from dpmean.enums import Fidelity, Trust
from dpmean.errors import display_name, plural
from dpmean.privacy.budgets import PureDp
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.receipts import Receipt, epsilon_of, zcdp_of
from dpmean.privacy.renyi import Renyi, compose, renyi_of
from dpmean.release.diagnostics import Found
from dpmean.release.settings import VARIANTS, CollectionSettings, NormBound, Settings

if TYPE_CHECKING:
    from dpmean.release.scales import Scales

WIDTH = 80
"""The number of characters in a line."""
Paragraph = tuple[str, str]
"""A label, which may be empty, and the words beside it."""
LARGE_EPSILON = 10
"""An epsilon above this is a weak guarantee; most releases use less."""
NOT_ASKED: Paragraph = ("scales", "not asked for: noise is in proportion to the ranges")
"""Shown for scales if columns have different bounds, and noise is in proportion to these."""
NOT_KNOWN_VALUE = "not known"
"""Shown for numbers that are NaN in data frames."""
NOT_KNOWN: Paragraph = ("error", "not known, since there are too few rows")
"""Shown for errors if rows are too few."""
_PLAYED = "played in one process, which saw all rows"
_LONGEST_STEP = 24
"""Longer names of steps stand above their costs, not beside them."""
_LABEL = 11
_OWN = "each column in its own"
_HALVES = " half-widths"
"""The beginning of the unit of a release whose lengths are in halves of the range of each column."""
_NAMED = 6
"""The number of columns that are named."""

# --- lines -----------------------------------------------------------------------------------------------------------


def lines_of(paragraphs: Sequence[Paragraph], most: int | None = None) -> list[str]:
    """Return labels, and words beside them, in lines of 80 characters; of each paragraph ``most`` lines at most."""
    return [line for label, words in paragraphs for line in wrap(f"{label:<{_LABEL}}", words, most=most)]


def wrap(start: str, words: str, indent: int | None = None, most: int | None = None) -> list[str]:
    """Return words in lines of 80 characters, the first after ``start``, the others indented."""
    rest = " " * (len(start) if indent is None else indent)
    wrapper = textwrap.TextWrapper(WIDTH, start, rest, break_on_hyphens=False, max_lines=most, placeholder=" ...")
    return wrapper.wrap(words)


# --- rows, bounds, and what was found --------------------------------------------------------------------------------


def number(n: int, neighbours: Neighbours, unit: str | None) -> str:
    """Return how many rows, or persons, there are; a private number is not exact."""
    about = "about " * (neighbours is Neighbours.ADD_OR_REMOVE_ONE)
    return f"{about}{plural(n, 'row')}" if unit is None else f"{about}{plural(n, 'person')} ({display_name(unit)})"


def few_rows(settings: Settings) -> list[str]:
    """Return the warning that stands above the numbers of a release of too few rows."""
    return ["FEW ROWS: do not rely on this mean, since its error is not known"] if settings.few_rows else []


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


def length(value: float, unit: str, digits: int = 4) -> str:
    """Return a length and its unit; lengths in halves of the range become per cent of the range."""
    return f"{_factor(unit) * value:.{digits}g}{_words_of(unit)}"


def _factor(unit: str) -> float:
    return 50.0 if unit.startswith(_HALVES) else 1.0


def _words_of(unit: str) -> str:
    return " % of the range" if unit.startswith(_HALVES) else unit


def clipping(radius: float, unit: str) -> list[Paragraph]:
    """Return where rows were clipped, for methods that do not measure the bias of that."""
    words = "around the centre; rows beyond it were clipped, and the bias of that was not measured"
    return [("radius", f"{length(radius, unit, 5)} {words}")]


def findings(found: Found, radius: float, unit: str, one: str, scales: Scales | None) -> list[Paragraph]:
    """Return what method refined measured on the way to the mean."""
    own = f" ({_OWN})" if unit and not (scales is not None and not scales.per_column) else ""
    shape = ", more along columns that vary more" if scales is not None and scales.used and not own else ""
    clipped = f"{one}s farther from the centre were clipped"
    times = f"{found.rounds} times, each time around a better centre" if found.rounds > 1 else "once"
    bias, noise, tail = (f"{_factor(unit) * value:.2g}" for value in (found.bias, found.bias_std, found.tail))
    beyond = f"; {one}s beyond {length(found.ceiling, unit, 2)} may add {tail}" * (found.tail > 0)
    return [
        ("spread", f"{length(found.spread, unit)}{own}: the typical distance of a {one} from the mean of all"),
        ("radius", f"{length(radius, unit)}{own}{shape}: {clipped}; the mean was released {times}"),
        ("bias", f"{bias} ± {noise}{_words_of(unit)}: how far clipping moves the mean, as measured{beyond}"),
    ]


def interval_of_one(rows: tuple[float, float], population: tuple[float, float], one: str) -> str:
    """Return the confidence intervals of the only column."""
    (low, high), (least, most) = rows, population
    return (
        f"95 % confidence interval of the mean of these {one}s: {low:.6g} to {high:.6g}; of the population mean, if "
        f"they are an independent sample: {least:.6g} to {most:.6g}"
    )


def error_bounds(unit: str, one: str, *, rows: float, population: float, per_column: bool) -> str:
    """Return the bounds on the errors of several columns; ``per_column`` where each has a unit of its own."""
    each, unit = (f", each in its own{unit}", "") if per_column else (f", {_OWN}" if unit else "", unit)
    return (
        f"at 95 % confidence, the mean of these {one}s differs from this estimate by at most {length(rows, unit, 3)} "
        f"(l2 norm over all columns{each}); "
        f"population mean, if they are an independent sample: at most {length(population, unit, 3)}"
    )


def coverage(found: Found, one: str, *, imputed: bool) -> Paragraph:
    """Return which errors the bounds and intervals cover, and which they do not."""
    covered = "covered: noise, and the bias of clipping as far as it was measured"
    missing = f"{'missing values, ' * imputed}up to {plural(found.unseen, one)} far beyond all others"
    rare = "for the population mean also rare large values, which the spread does not show"
    return ("", f"{covered}; not covered: {missing}, bounds that are too tight; {rare}")


# --- privacy ---------------------------------------------------------------------------------------------------------


def price(receipts: Sequence[Receipt], delta: float) -> str:
    """Return the cost of all receipts together."""
    costs = [receipt.cost for receipt in receipts]
    if any(isinstance(cost, Renyi) for cost in costs):
        return f"epsilon = {four_digits_up(epsilon_of(receipts, delta)):.4g}, delta = {delta:g}"
    if all(isinstance(cost, PureDp) for cost in costs):
        return f"epsilon = {four_digits_up(epsilon_of(receipts, delta)):.4g}, pure"
    return price_of_rho(float(zcdp_of(receipts).rho), epsilon_of(receipts, delta), delta)


def price_of_rho(rho: float, epsilon: float, delta: float) -> str:
    """Return a cost in rho, and the epsilon that it implies."""
    return f"rho = {rho:.6g} zCDP, that is epsilon = {four_digits_up(epsilon):.4g} at delta = {delta:g}"


def price_in_brief(receipts: Sequence[Receipt], delta: float) -> str:
    """Return the same in as few words as possible."""
    if any(isinstance(receipt.cost, Renyi) for receipt in receipts):
        return price(receipts, delta).replace(" = ", "=")
    return f"rho={float(zcdp_of(receipts).rho):.6g}"


def protected(neighbours: Neighbours, unit: str | None) -> str:
    """Return who is protected, and the pairs of data sets that look almost the same."""
    one = "one row" if unit is None else f"all rows of one {display_name(unit)}"
    changed = {
        Neighbours.REPLACE_ONE: "replaced by any other" if unit is None else "replaced by any others",
        Neighbours.ADD_OR_REMOVE_ONE: "present or absent",
    }[neighbours]
    return f"{one}, {changed} ({neighbours})"


def number_is_public(neighbours: Neighbours, unit: str | None) -> str:
    """Return whether everybody may know the number of rows."""
    known = {Neighbours.REPLACE_ONE: "public", Neighbours.ADD_OR_REMOVE_ONE: "published with noise"}[neighbours]
    return f"the number of {'rows' if unit is None else 'persons'} is {known}"


def model(trust: Trust, collection: CollectionSettings | None) -> list[Paragraph]:
    """Return whom one has to trust, unless that is the curator of the central model."""
    if collection is None or trust is Trust.CENTRAL:
        return []
    played = f", {_PLAYED}" * collection.played_in_one_process
    if trust is Trust.LOCAL:
        return [("model", f"local{played or ': each device randomized its own answer'}")]
    honest = f"{collection.honest} of {collection.answered} users must be honest"
    return [("model", f"shuffle{played}"), ("", f"{honest}; shuffler and analyzer must not collude")]


def protocol(trust: Trust, collection: CollectionSettings | None) -> list[Paragraph]:
    """Return what devices sent, in the models without a curator."""
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


def steps(receipts: Sequence[Receipt]) -> list[str]:
    """Return the steps, each with its part of the cost and what it asked, in brief."""
    total = compose(receipt.cost for receipt in receipts).curve[0]
    width = max([11, *(len(receipt.step) for receipt in receipts if len(receipt.step) <= _LONGEST_STEP)])
    lines = []
    for receipt in receipts:
        cost = receipt.cost
        part = (
            f"{float(cost.epsilon):.5g}"
            if isinstance(cost, PureDp)
            else f"{100 * renyi_of(cost).curve[0] / total:.1f} %"
        )
        step, asked = receipt.step, receipt.asked.split(",")[0]
        if len(step) > width:  # the costs of all steps stand below each other
            lines += wrap("  ", step)
            step = ""
        lines += wrap(f"  {step:<{width}} {part:>7}  ", asked)
    return lines


def four_digits_up(epsilon: float) -> float:
    """Return an epsilon with four digits, rounded up but for a float's error, since it is a promise."""
    if not 0 < epsilon < math.inf:
        return epsilon
    place = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    return math.ceil(epsilon / place - 1e-6) * place


# --- remarks ---------------------------------------------------------------------------------------------------------


def remarks(settings: Settings, moved: str, *, exact: bool, seeded: bool, epsilon: float) -> list[Paragraph]:
    """Return what a reader must not miss; ``moved`` says by how much missing values may have moved the mean."""
    found = []
    if settings.imputed or settings.filled:
        words = f"{imputed(settings)}; intervals and error bounds do not cover that{moved and ': '}{moved}"
        found.append(("IMPUTED", words))
    if settings.dropped:
        found.append(("LEFT OUT", f"{dropped(settings)}; the mean is that of the others, which may differ"))
    if settings.note:
        found.append(("NOTE", settings.note))
    if epsilon > LARGE_EPSILON and not seeded:
        found.append(("EPSILON", f"above {LARGE_EPSILON}: this is a weak guarantee"))
    if not exact:
        found.append(("FLOATS", "made with floating-point noise, for experiments only; rounding may reveal rows"))
    if seeded:
        found.append(("SEEDED", "made with known noise, for experiments only; it protects nobody"))
    return found


def imputed(settings: Settings) -> str:
    """Return which missing values were replaced, and by what; of persons, those without any value."""
    parts = []
    if settings.imputed:
        value = "zero" if isinstance(settings.bound, NormBound) else "the middle of the bounds"
        parts.append(f"{_missing(settings, settings.imputed)} counted as {value}")
    if settings.filled:
        values = ", ".join(f"{name} as {value:g}" for name, value in settings.filled[:_NAMED])
        filled = _missing(settings, tuple(name for name, _ in settings.filled))
        parts.append(f"{filled} counted as public values: {values}{', ...' * (len(settings.filled) > _NAMED)}")
    return ", and ".join(parts)


def dropped(settings: Settings) -> str:
    """Return which rows, or persons, a missing value leaves out."""
    which, unit = settings.dropped, settings.privacy_unit
    columns = "" if isinstance(which, bool) else f" of {_few(which)}"
    if unit is None:
        return f"rows with a missing value{columns}"
    at_least = " in at least one column" if isinstance(which, bool) or len(which) > 1 else ""
    listed = f" ({_few(which)})" if at_least and not isinstance(which, bool) else columns
    return f"persons ({display_name(unit)}) without a value{at_least}{listed}"


def _missing(settings: Settings, which: bool | tuple[str, ...]) -> str:
    columns, unit = "" if isinstance(which, bool) else f" of {_few(which)}", settings.privacy_unit
    if unit is None:
        return f"missing values{columns}"
    return f"persons ({display_name(unit)}) without any value{columns or ' in a column'}"


def _few(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:_NAMED])}{', ...' * (len(names) > _NAMED)}"

"""The error to expect, and what no number on the page covers."""

from __future__ import annotations

from dpmean.enums import ScaleKind
from dpmean.errors import plural
from dpmean.release import text
from dpmean.release.digits import between, from_to, plain
from dpmean.release.intervals import population_of_one
from dpmean.release.release import Release
from dpmean.release.settings import BoxBounds, Settings
from dpmean.release.value_counts import counted_in_words, moved_in_words
from dpmean.reports.column_scales import scales
from dpmean.reports.columns import Columns
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.parts import entries, points

_HALVES = " half-widths"
"""The beginning of the unit of a release whose lengths are in halves of the range of each column."""


def accuracy(release: Release, columns: Columns) -> Html:
    """Return what error to expect of a release, whose columns these are."""
    unit, counted = unit_in_words(release), counted_in_words(release, columns.names)
    unseen = None if release.found is None else release.found.unseen
    return join(
        entries(_sizes(release, columns), "sizes"),
        tag("p", unit, class_="soft") if unit else None,
        tag("p", f"{counted[0].upper()}{counted[1:]}.", class_="soft") if counted else None,
        scales(release, columns.names),
        uncovered(unseen, release.settings, moved_in_words(release, columns.names), several=columns.d > 1),
    )


def unit_in_words(release: Release) -> str:
    """Return what lengths are measured in, if it is not the unit of all columns."""
    if release.settings.radius_unit.startswith(_HALVES):
        return "Each column is measured in per cent of its range, from its lower bound to its upper one."
    if release.scales is None or not release.scales.per_column:
        return ""
    source = {
        ScaleKind.FOUND: "as it was found privately (in the table, as rough scale)",
        ScaleKind.GIVEN: "as the author of this page gave it (in the table, as rough scale)",
    }[release.scales.kind]
    rest = " A column whose scale could not be found is measured in a part of its range."
    rest = "" if all(release.scales.known) else rest
    return f"Each column is measured in its own standard deviation, {source}.{rest}"


def uncovered(unseen: int | None, settings: Settings, moved: str, *, several: bool) -> Html:
    """Return what errors do not cover; ``unseen`` rows may be cut off, None if not even that was measured.

    ``moved`` says by how much imputed values may have moved the mean; ``several`` if there are several
    columns.
    """
    one = "row" if settings.privacy_unit is None else "person"
    tight = (
        f"A bound that is too tight. Rows beyond the bound ({bound_in_words(settings)}) were first shortened to it. If "
        "it cuts"
    )
    if isinstance(settings.bound, BoxBounds):
        tight = (
            f"Bounds that are too tight. Values outside the bounds ({bound_in_words(settings)}) were first moved to "
            "the nearest bound. If they cut"
        )
    texts = [
        f"The bias of clipping: if {one}s are skewed to one side, it moves the mean to the other. It was not measured."
        if unseen is None
        else f"Up to {plural(unseen, one)} much farther out than all others: they may have been clipped "
        "unnoticed, and then count too little in the mean.",
        f"{tight} through the data, the mean is biased, and nothing on this page shows that.",
        f"Who is in the data. Errors refer to the mean of these {one}s, not to people who are not in the data"
        + ("" if unseen is None else ", and a population may have rare large values that no sample shows")
        + ".",
        "Estimates are not limited to their bounds: noise may move a small one below its lower bound.",
    ]
    if several and unseen is not None:
        texts.insert(
            1,
            "A column whose largest values are far more extreme than those of the other columns (a log-normal column "
            "beside normal ones, for example): more of it may be clipped than its interval covers. Released by itself, "
            "it is covered better.",
        )
    if settings.dropped:
        texts.insert(0, f"Missing values: {text.dropped(settings)} were left out, and the mean is that of the others.")
    if settings.imputed or settings.filled:
        texts.insert(0, f"Missing values: {text.imputed(settings)}, which moves the mean there{moved and ': '}{moved}.")
    return join(tag("h3", "What errors do not cover"), points(texts))


def _sizes(release: Release, columns: Columns) -> list[tuple[str, str]]:
    found = release.found
    unit, one = release.settings.radius_unit, "row" if release.unit is None else "person"
    more = ", more along columns that vary more" if not unit and release.scales and release.scales.used else ""
    where = f"{length_of(release, release.radius)} from the centre{more}"
    clipped = ("Clipped at", f"{where}: {one}s farther out were moved closer")
    each = "" if columns.d == 1 else "in each column, "
    if found is None or not columns.measured:
        return [("Noise", f"{each}a standard deviation of {from_to(columns.noise_std)}"), clipped]
    spread = (
        f"Spread of the {one}s",
        f"{length_of(release, found.spread)}: how far a {one} typically lies from the mean of all",
    )
    drawn = f"if these {one}s are an independent sample of it"
    if columns.d == 1:
        rows, population = intervals_of_one(release, columns)
        intervals = [(f"Mean of these {one}s", f"{rows} (95 % confidence interval)")]
        if population:
            intervals.append(("Mean of a population", f"{population} (95 % confidence interval), {drawn}"))
        return [*intervals, spread, clipped]
    lengths = [length_of(release, release.error_bound(of=of)) for of in ("rows", "population")]
    return [
        ("Each column alone", "the 95 % confidence intervals above, each in the unit of its column"),
        (
            "All columns together",
            f"at most {lengths[0]}, at 95 % confidence, in l2 norm",
        ),
        ("All columns together, population", f"at most {lengths[1]}, {drawn}"),
        spread,
        clipped,
    ]


def intervals_of_one(release: Release, columns: Columns) -> tuple[str, str]:
    """Return the intervals of the only column in words: of the mean of these rows, and of a population if known."""
    rows = between(float(columns.low[0]), float(columns.high[0]), float(columns.error[0]))
    ends = population_of_one(release)
    return rows, "" if ends is None else between(*ends, (ends[1] - ends[0]) / 2)


def length_of(release: Release, value: float) -> str:
    """Return a length of a release, and its unit, if it is not that of the columns."""
    unit = release.settings.radius_unit
    return f"{plain(50 * value, 3)} % of the range" if unit.startswith(_HALVES) else f"{plain(value, 3)}{unit}"


def bound_in_words(settings: Settings) -> str:
    """Return the public bound in words."""
    bound = settings.bound
    if bound is None:
        return "none given"
    if isinstance(bound, BoxBounds):
        sides = list(zip(bound.lower, bound.upper, strict=True))
        if len(set(sides)) == 1:
            every = "" if len(sides) == 1 else ", every column"
            return f"{plain(sides[0][0], 6)} to {plain(sides[0][1], 6)}{every}"
        return "column by column, see the table of numbers"
    given, reach = bound.norm_bound, bound.reach
    mean = "" if given is None or given == reach else f", for a mean of norm at most {plain(given, 6)}"
    return f"a norm of at most {plain(reach, 6)}{mean}"

"""What ``print`` shows of the means of groups, in twenty lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmean.enums import Sizes
from dpmean.errors import display_label, display_name, plural
from dpmean.release import text
from dpmean.release.column_numbers import Place, head_lines, margins, names_of, number_columns
from dpmean.release.intervals import usual_intervals
from dpmean.release.refusals import several_in_words
from dpmean.release.summary import WHOLE, draw_what_fits, in_twenty_lines, wanted_lines
from dpmean.release.text import Paragraph, wrap
from dpmean.release.text_table import DOTS, TextColumn, align_pairs, draw, fits, shorten, skip_middle

if TYPE_CHECKING:
    from dpmean.release.grouped import GroupedRelease


def summary_of_groups(grouped: GroupedRelease) -> str:
    """Return the means of groups, their intervals, the privacy, and what to mind, in twenty lines."""
    facts = [
        *_refused(grouped),
        *few_rows_of(grouped),
        ("privacy", f"{price_of_all(grouped)}"),
        (WHOLE, who_is_protected(grouped)),
        *persons_in_groups(grouped),
        *remarks_of_groups(grouped),
    ]
    lead = wrap("", title_of_groups(grouped), 2, most=2)
    if not grouped.released:
        return in_twenty_lines(lead, lambda _: [], 0, facts)
    first = next(iter(grouped.released.values()))
    wanted = wanted_lines(len(grouped.released) * first.d) + head_lines(first)
    return in_twenty_lines(lead, lambda room: _groups(grouped, room), wanted, facts)


def title_of_groups(grouped: GroupedRelease) -> str:
    """Return what the release of several groups is, in one line."""
    none = "" if grouped.released else f": {'it was' if len(grouped) == 1 else 'all were'} refused"
    return (
        f"Private means of {_only_column(grouped)}{plural(len(grouped), 'group')} by {display_name(grouped.by)}{none}"
    )


def _only_column(grouped: GroupedRelease) -> str:
    """Return the name of the only column, if it has one."""
    columns = next((release.columns for release in grouped.released.values()), None) or ()
    return f"{display_name(columns[0])} in " if len(columns) == 1 else ""


def price_of_all(grouped: GroupedRelease) -> str:
    """Return the cost of all groups together."""
    return text.price_of_rho(float(grouped.rho), grouped.epsilon(grouped.delta), grouped.delta)


def who_is_protected(grouped: GroupedRelease) -> str:
    """Return who is protected, and whether that hides in which group they are."""
    from dpmean.release.grouped import PROTECTED  # here, as it needs this module

    one = "row" if grouped.unit is None else "person"
    group = "groups" if grouped.contributions > 1 else "group"
    return f"{PROTECTED[grouped.sizes, grouped.neighbours].format(one=one, group=group)} ({grouped.neighbours})"


def persons_in_groups(grouped: GroupedRelease) -> list[Paragraph]:
    """Return in how many groups a person counts."""
    if grouped.unit is None:
        return []
    most = f"at most {grouped.contributions} groups" if grouped.contributions > 1 else "one group"
    unit = display_name(grouped.unit)
    return [("", f"each {unit} counts in {most}; rows in other groups are ignored")]


def few_rows_of(grouped: GroupedRelease) -> list[Paragraph]:
    """Return which groups have too few rows to know the error."""
    few = [display_label(label) for label, one in grouped.released.items() if one.settings.few_rows]
    if not few:
        return []
    means = "this mean" if len(few) == 1 else "these means"
    return [("FEW ROWS", f"do not rely on {means}, since the error is not known: {', '.join(few)}")]


def remarks_of_groups(grouped: GroupedRelease) -> list[Paragraph]:
    """Return what a reader of the means of groups must not miss."""
    first, moved = next(iter(grouped.released.values()), None), ""
    if first is None:
        return []
    if first.settings.imputed or first.settings.filled:
        from dpmean.release.value_counts import for_each_percent  # here, as few need it

        moved = for_each_percent(first.settings, first.d)
    epsilon = grouped.epsilon(grouped.delta)
    return text.remarks(first.settings, moved, exact=grouped.exact, seeded=grouped.seeded, epsilon=epsilon)


def _refused(grouped: GroupedRelease) -> list[Paragraph]:
    why, cure = grouped.why_refused()
    if not why:
        return []
    if grouped.released:
        labels = several_in_words([*map(display_label, grouped.refused)])
        why = why.replace(" refused:", f" refused ({labels}):", 1)
    return [("refused", f"{why}; {cure}")]


def _groups(grouped: GroupedRelease, room: int) -> list[str]:
    """Return the numbers of groups: a line per group and column, or a line per group if that shows more of them."""
    released = grouped.released
    d = next(iter(released.values())).d
    each = (room - max(map(head_lines, released.values()))) // len(released)
    if d > 1 and each < d:
        narrow = _line_per_group(grouped, room)
        columns = min(d, each - 1) if each >= 3 else 0
        if narrow is not None and narrow[0] >= columns * len(released):
            return narrow[1]
    return _line_per_column(grouped, room)


def _line_per_column(grouped: GroupedRelease, room: int) -> list[str]:
    """Return a table with a line for each column of each group."""
    labels: list[str] = []
    rows: list[str] = []
    names: list[str] = []
    places: list[Place] = []
    for label, release in grouped.released.items():
        labels += [display_label(label), *[""] * (release.d - 1)]
        rows += [str(release.n), *[""] * (release.d - 1)]
        names += map(display_name, names_of(release))
        places += [Place(release, j) for j in range(release.d)]
    heads = max(map(head_lines, grouped.released.values()))
    shown, some = skip_middle(len(places), room - heads)
    if some and labels[shown[len(shown) // 2]] == "":  # the group that goes on after the dots is named again
        first_below = shown[len(shown) // 2]
        start = max(i for i in range(first_below) if labels[i])
        labels[first_below], rows[first_below] = labels[start], rows[start]
    columns = number_columns([places[i] for i in shown], every_statistic=False, of_groups=True)
    table = [
        TextColumn(display_name(grouped.by), [labels[i] for i in shown], is_name=True),
        TextColumn(rows_head(grouped, two_lines=heads > 1), [rows[i] for i in shown]),
        *([TextColumn("column", [names[i] for i in shown], is_name=True)] if len(set(names)) > 1 else []),
        *columns,
    ]
    return draw_what_fits(table, len(shown) // 2 if some else None)


def _line_per_group(grouped: GroupedRelease, room: int) -> tuple[int, list[str]] | None:
    """Return a table with a line for each group, and how many means it shows; None if their errors are not known."""
    released = list(grouped.released.items())
    if any(not usual_intervals(release) for _, release in released):
        return None
    shown, some = skip_middle(len(released), room - 2)
    groups = [released[i] for i in shown]
    table = [
        TextColumn(display_name(grouped.by), [display_label(label) for label, _ in groups], is_name=True),
        TextColumn(rows_head(grouped), [str(one.n) for _, one in groups]),
    ]
    names, d = names_of(groups[0][1]), groups[0][1].d
    dots = TextColumn(DOTS, [DOTS] * len(groups))
    for j in range(d):
        cells = align_pairs([pair for pair in margins([Place(one, j) for _, one in groups]) if pair], " ± ")
        longer = [*table, TextColumn(_head(names[j], len(cells[0])), cells)]
        if not fits([*longer, *([dots] if j < d - 1 else [])]):
            table.append(dots)
            break
        table = longer
    means = len([column for column in table[2:] if column is not dots])
    lines = draw(table, dots_after=len(shown) // 2 if some else None)
    return means * len(groups), ["mean ± margin of error at 95 % confidence", *lines]


def _head(name: str, width: int) -> str:
    """Return the name of a column as a head above cells of some width."""
    return shorten(display_name(name), max(width, 12))


def rows_head(grouped: GroupedRelease, *, two_lines: bool = False) -> str:
    """Return the head above the numbers of rows, or persons."""
    several = "rows" if grouped.unit is None else "persons"
    if grouped.sizes is Sizes.PUBLIC:
        return several
    return f"{several}{chr(10) if two_lines else ' '}(noisy)"

"""What ``print`` shows of a release, in twenty lines: means with confidence intervals, the privacy, what to mind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpmean.errors import display_name, plural
from dpmean.release import text
from dpmean.release.column_numbers import Place, head_lines, names_of, number_columns
from dpmean.release.settings import choose_delta
from dpmean.release.text import Paragraph, lines_of, wrap
from dpmean.release.text_table import TextColumn, draw, fits, skip_middle

if TYPE_CHECKING:
    from dpmean.release.release import Release

MOST_LINES = 20
WHOLE = "protects"
"""The paragraph that is always shown in full, as it names the neighbours."""
_FEWEST = 8
"""The lines of a table, with its head, that are shown before words are shortened to one line."""
_EDGES = 11
"""The lines of a table of many columns: the first five, dots, and the last five."""


def summary(release: Release) -> str:
    """Return the mean, its intervals, the privacy, and what to mind, in twenty lines of 80 characters."""
    delta = choose_delta(release.settings)
    facts = [
        *_error(release),
        ("privacy", text.price(release.receipts, delta)),
        (WHOLE, text.protected(release.neighbours, release.unit)),
        *text.model(release.trust, release.settings.collection),
        *remarks_of(release),
    ]
    lead = [*wrap("", title(release), 2, most=2), *text.few_rows(release.settings)]
    wanted = wanted_lines(release.d) + head_lines(release)
    return in_twenty_lines(lead, lambda room: _columns(release, room), wanted, facts)


def title(release: Release) -> str:
    """Return what a release is, in one line."""
    number = text.number(release.n, release.neighbours, release.unit)
    return f"Private mean of {number} in {plural(release.d, 'dimension')}"


def remarks_of(release: Release) -> list[Paragraph]:
    """Return what a reader of one release must not miss."""
    settings, moved = release.settings, ""
    if settings.imputed or settings.filled:
        from dpmean.release.value_counts import moved_in_words  # here, as few need it

        moved = moved_in_words(release)
    epsilon = release.epsilon(choose_delta(settings))
    return text.remarks(settings, moved, exact=release.exact, seeded=release.seeded, epsilon=epsilon)


def _error(release: Release) -> list[Paragraph]:
    """Return the error of all columns together, or why there are no intervals."""
    if release.settings.few_rows:
        return []
    if release.found is None:
        return [("error", "the noise alone; clipping may add a bias, which was not measured")]
    if release.d == 1 or release.settings.radius_unit:
        return []
    bound = text.length(release.error_bound(), "", 3)
    return [("error", f"at most {bound} in l2 norm over all columns, at 95 % confidence")]


def _columns(release: Release, room: int) -> list[str]:
    """Return a table of the columns, or of the first and the last, in this many lines."""
    shown, some = skip_middle(release.d, room - head_lines(release))
    names, numbers = (
        names_of(release),
        number_columns([Place(release, j) for j in shown], every_statistic=False, of_groups=False),
    )
    listed = TextColumn("", [display_name(names[j]) for j in shown], is_name=True)
    return draw_what_fits([listed, *numbers], len(shown) // 2 if some else None)


def wanted_lines(count: int) -> int:
    """Return the number of lines of a table of this number of columns, if there is room."""
    return count if count <= _EDGES + 1 else _EDGES


def draw_what_fits(columns: Sequence[TextColumn], dots_after: int | None) -> list[str]:
    """Return the lines of a table; if it is too wide, the last columns are left out, and a line names them."""
    shown = list(columns)
    while len(shown) > 1 and not fits(shown):
        shown.pop()
    lines, hidden = draw(shown, dots_after=dots_after), [column.head for column in columns[len(shown) :]]
    if not hidden:
        return lines
    return [*lines, *wrap("", f"explain() also shows: {'; '.join(hidden)}".replace("\n", " "), most=1)]


def in_twenty_lines(
    lead: Sequence[str], table: Callable[[int], list[str]], wanted: int, facts: Sequence[Paragraph]
) -> str:
    """Return a title, a table and words below it; the longest words are shortened where the table needs the room."""
    blank, lines = ([""] if wanted else []), [len(lines_of([fact])) for fact in facts]
    available = MOST_LINES - len(lead) - 2 * len(blank)
    for needed, fewest in ((wanted, 2), (min(wanted, _FEWEST), 1)):
        while sum(lines) > available - needed:
            long = [i for i, fact in enumerate(facts) if lines[i] > (2 if fact[0] == WHOLE else fewest)]
            if not long:
                break
            lines[max(long, key=lambda i: lines[i])] -= 1
    below = [line for fact, most in zip(facts, lines, strict=True) for line in lines_of([fact], most)]
    room = available - len(below)
    drawn = table(room)
    if len(drawn) > room:  # a line names columns that are left out
        drawn = table(room - 1)
    return "\n".join([*lead, *blank, *drawn, *([""] if below else []), *below])

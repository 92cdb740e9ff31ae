"""Tables of text, as they are printed: names to the left, numbers aligned on the decimal point, 80 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dpmean.release.text import WIDTH

_GAPS = ("   ", "  ")
"""What stands between columns: the narrower one where a table would be too wide."""
_RAGGED = 1
"""Numbers whose digits after the point differ by more are aligned to the right, not on the point."""
_SHORTEST_NAME = 8
DOTS = "..."


@final
@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of a table.

    Attributes:
        head: What stands above it, on one line or two.
        cells: Its cells, aligned to each other already; one per line.
        is_name: True for names, which are aligned to the left, and shortened if the table is too wide.

    """

    head: str
    cells: Sequence[str]
    is_name: bool = False


def align(numbers: Sequence[str], *, left: bool = False) -> list[str]:
    """Return numbers of the same length, with their decimal points below each other if that takes little room."""
    after = [len(number) - number.index(".") if "." in number else 0 for number in numbers]
    plain = not any("e" in number for number in numbers)
    if plain and max(after) - min(after) <= _RAGGED:
        numbers = [number + " " * (max(after) - digits) for number, digits in zip(numbers, after, strict=True)]
        left = False
    width = max(map(len, numbers))
    return [number.ljust(width) if left else number.rjust(width) for number in numbers]


def align_pairs(pairs: Sequence[tuple[str, str]], between: str) -> list[str]:
    """Return pairs of numbers with a word or sign between them, each number aligned to those above and below it."""
    first, second = align([one for one, _ in pairs]), align([other for _, other in pairs], left=True)
    return [f"{one}{between}{other}" for one, other in zip(first, second, strict=True)]


def skip_middle(count: int, room: int) -> tuple[list[int], bool]:
    """Return which of many lines are shown in this room: all, or the first and the last; and whether some are not."""
    if count <= room:
        return list(range(count)), False
    edge = min(max((room - 1) // 2, 1), 5)
    return [*range(edge), *range(count - edge, count)], True


def draw(columns: Sequence[TextColumn], *, dots_after: int | None = None) -> list[str]:
    """Return the lines of a table; dots after ``dots_after`` lines stand for those that are not shown."""
    heads = max(column.head.count("\n") for column in columns) + 1
    gap = next((gap for gap in _GAPS if _least_width(columns, gap) <= WIDTH), _GAPS[-1])
    widths = [_width_of(column) for column in columns]
    while sum(widths) + len(gap) * (len(columns) - 1) > WIDTH:
        long = [i for i, column in enumerate(columns) if column.is_name and widths[i] > _SHORTEST_NAME]
        if not long:
            break
        widths[max(long, key=lambda i: widths[i])] -= 1  # the longest name is shortened first
    drawn = [_lines_of(column, heads, width, dots_after) for column, width in zip(columns, widths, strict=True)]
    return [gap.join(cells).rstrip() for cells in zip(*drawn, strict=True)]


def fits(columns: Sequence[TextColumn]) -> bool:
    """Whether a table is narrow enough, when names are shortened as far as they may be."""
    return _least_width(columns, _GAPS[-1]) <= WIDTH


def _least_width(columns: Sequence[TextColumn], gap: str) -> int:
    widths = [min(_width_of(column), _SHORTEST_NAME) if column.is_name else _width_of(column) for column in columns]
    return sum(widths) + len(gap) * (len(columns) - 1)


def shorten(name: str, longest: int) -> str:
    """Return a name with dots in its middle if it is too long; signs that cannot be printed are replaced."""
    name = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in name)
    if len(name) <= longest:
        return name
    end = (longest - len(DOTS)) // 2
    return f"{name[: longest - len(DOTS) - end]}{DOTS}{name[len(name) - end :]}"


def _width_of(column: TextColumn) -> int:
    """Return the width of a column, in which dots may stand too."""
    return max(len(DOTS), *map(len, column.head.split("\n")), *map(len, column.cells))


def _lines_of(column: TextColumn, heads: int, longest: int, dots_after: int | None) -> list[str]:
    """Return the head, on some lines, and the cells of a column, all of one width."""
    head = column.head.split("\n")
    head = [""] * (heads - len(head)) + head
    if column.is_name:
        lines = [shorten(cell, longest) for cell in (*head, *column.cells)]
    else:
        block = max(map(len, column.cells), default=0)
        lines = [*head, *(cell.rjust(block) for cell in column.cells)]
    if dots_after is not None:
        lines.insert(heads + dots_after, DOTS)
    width = max(map(len, lines))
    if column.is_name:
        return [line.ljust(width) for line in lines]
    if "%" in column.head:  # the heads of intervals are wide, and stand centred above them
        return [line.center(width) for line in lines]
    return [line.rjust(width) for line in lines]

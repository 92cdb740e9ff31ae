"""Which collections and rounds are refused: parts that do not fit together, numbers beyond what messages can hold."""

from __future__ import annotations

from dpmean.errors import ArgumentError
from dpmean.trust.randomizers import MOST_COLUMNS
from dpmean.trust.shuffle.schema import LARGEST, VERSION, Collection, Counters, Round, Stage, Sums, read_budget

MOST_USERS, MOST_ROUNDS, MOST_SHARES = 1 << 40, 64, 4096
MOST_CELLS, MOST_BUCKETS, MOST_BLANKET = 1 << 16, 1 << 31, 1 << 30
MOST_MESSAGES = 1 << 20
"""On average, of one client in one round."""


def check_collection(collection: Collection) -> None:
    """Refuse a collection whose parts do not fit together, or whose numbers are beyond what messages can hold."""
    c = collection
    width = 1 << (c.d - 1).bit_length() if 1 <= c.d <= MOST_COLUMNS else 0
    wrong = {
        "version": c.version != VERSION,
        "name (16 hexadecimal digits)": len(c.name) != 16 or any(letter not in "0123456789abcdef" for letter in c.name),
        "users": not 1 <= c.users <= MOST_USERS,
        "honest": not 1 <= c.honest <= c.users,
        "quorum": not c.users - (c.users - c.honest) // 2 <= c.quorum <= c.users,
        "d": not width,
        "step": not -1000 <= c.step <= 900,
        "reach": not 1 <= c.reach <= LARGEST,
        "stages": not 1 <= len(c.stages) <= MOST_ROUNDS,
        "key": len(c.key) not in (0, 64) or any(letter not in "0123456789abcdef" for letter in c.key),
    }
    for number, stage in enumerate(c.stages):
        right = _counters_fit(stage, width, c.honest) if isinstance(stage, Counters) else _sums_fit(stage, c)
        wrong[f"stage {number}"] = not right
    for name, is_wrong in wrong.items():
        if is_wrong:
            raise ArgumentError(f"this is not a collection: its {name} cannot be right")
    read_budget(c.budget)


def _counters_fit(stage: Counters, width: int, honest: int) -> bool:
    return (
        stage.lines == (width if stage.about == "median" else 1)
        and 2 <= stage.cells <= MOST_CELLS
        and 1 <= len(stage.levels) <= 16
        and all(0 <= level < 16 for level in stage.levels)
        and len(set(stage.levels)) == len(stage.levels)
        and stage.buckets <= MOST_BUCKETS
        and 1 <= stage.blanket <= MOST_BLANKET
        and stage.buckets * stage.blanket <= MOST_MESSAGES * honest
    )


def _sums_fit(stage: Sums, c: Collection) -> bool:
    return (
        1 <= stage.radius <= 1 << 30
        and 4 * stage.radius**2 > c.d
        and 1 <= stage.variance <= 1 << 53
        and 2 <= stage.bits <= 120
        and 1 <= stage.packed <= c.d
        and stage.packs == -(-c.d // stage.packed)
        and 2 <= stage.shares <= MOST_SHARES
    )


def check_round(collection: Collection, asked: Round) -> Stage:
    """Refuse a round that does not belong to a collection, or does not fit it; return what it asks."""
    c = collection
    if asked.version != VERSION or asked.name != c.name or not 0 <= asked.round < len(c.stages):
        raise ArgumentError("this round does not belong to the collection")
    stage = c.stages[asked.round]
    counters = isinstance(stage, Counters)
    lines, cells = (stage.lines, stage.cells) if isinstance(stage, Counters) else (0, 1)
    numbers = [*asked.lows, *asked.widths, *asked.gaps, *asked.centre, asked.radius]
    wrong = {
        "centre": len(asked.centre) not in (0, c.d),
        "lows": len(asked.lows) != lines,
        "widths": len(asked.widths) != lines or any(width < 1 for width in asked.widths),
        "gaps": len(asked.gaps) != cells - 1 or list(asked.gaps) != sorted(asked.gaps),
        "radius": (asked.radius != 0) if counters else asked.radius < 1,
        "numbers": any(abs(number) > LARGEST for number in numbers),
    }
    for name, is_wrong in wrong.items():
        if is_wrong:
            raise ArgumentError(f"this is not a round of the collection: its {name} cannot be right")
    return stage

"""Records, and changes of one record: plausible ones and very odd ones."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_TEXTS = (
    "",
    " ",
    "x",
    "1",
    "01",
    "1.0",
    "-0",
    "nan",
    "NA",
    "None",
    "True",
    "é",
    "\u2028",
    'a"b',
    "a,b",
    "a\tb",
    "'",
    "\0",
)
_BROKEN = ("a\nb", "a\r\nb", 'a\n"1","2"', "a\rb")
"""Texts with line breaks, for forms in which a field may contain them."""
_DAY, _TIME = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30)
ODD: tuple[Any, ...] = (
    *_TEXTS,
    *_BROKEN,
    *(None, True, False, 0, -1, 2**53, 2**53 + 1, 2**62 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**400),
    *(0.0, -0.0, 0.1, 1.5, 1e300, 1e308, 5e-324, float("nan"), float("inf"), float("-inf"), 2.0**53, 2.0**63),
    *(b"", b"x", b"1", b"\xff", bytearray(b"x"), 1j, Fraction(1, 3), object),
    *(Decimal(1), Decimal("1.50"), Decimal("1e30"), Decimal("1e-30"), Decimal("NaN"), Decimal("Infinity")),
    *(_DAY, _TIME, _TIME.replace(tzinfo=datetime.UTC), _TIME.time(), datetime.timedelta(days=1)),
    *(datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    *(np.datetime64("2024-02-29"), np.datetime64("NaT"), np.timedelta64(1, "s"), np.bool_(True), np.str_("x")),
    *(np.int8(5), np.uint64(2**63 + 5), np.float16(0.1), np.float32(0.1), np.longdouble(0.1), np.float64("nan")),
    *([], [1], [1.5, 2.5], (1, 2), {"a": 1}, {1}, np.array([1.0]), np.array(2.5), range(2)),
)
"""Values of a field in formats that do not declare its type."""

_VALUES: dict[str, tuple[Any, ...]] = {
    "floats": (0.0, 0.1, -2.5, 1e-3, 123.456, -0.0),
    "extremes": (1e300, -1e308, 5e-324, 2.0**60, 0.1, 1 / 3),
    "integers": (0, 1, -3, 7, 250, 100),
    "long integers": (2**53 + 1, -(2**53) - 1, 2**60 + 3, 2**62 + 1, 2**63 - 1, 5),
    "longer integers": (2**63 + 1, 2**64 - 1, 2**63, 1, 2**53 + 1, 2**60 + 3),
    "truth": (True, False),
    "gaps": (1.5, None, 0.1, float("nan"), 2.0**53, 3.0),
    "many types": (np.float16(1.5), 1, True, np.float32(0.1), np.uint64(2**63 + 5), np.longdouble("0.1"), 0.1, None),
    "short and long": (np.float16(1.5), 1, 7, np.float32(0.1), -2),
    "integers and gaps": (2**53 + 1, None, 2**60 + 3, 1, 2**62 + 1, -3),
}
_KEYS: dict[str, Any] = {
    "text": lambda k: f"p{k}",
    "digits": str,
    "decimal text": lambda k: f"{k}.0",
    "quoted": lambda k: f'p"{k}',
    "integers": int,
    "long integers": lambda k: 2**53 + k,
    "longest integers": lambda k: 2**63 + k,
    "floats": lambda k: k / 2,
    "integral floats": float,
    "long floats": lambda k: float(2**53 + 2 * k),
    "zeros": lambda k: -0.0 if k == 0 else 0.0 if k == 1 else float(k),
    "bytes": lambda k: b"p%d" % k,
    "days": lambda k: _DAY + datetime.timedelta(days=k),
    "times": lambda k: _TIME + datetime.timedelta(seconds=k),
    "decimals": lambda k: Decimal(k) + Decimal("0.50"),
    "mixed": lambda k: k if k % 2 else f"p{k}",
    "truth": lambda k: k % 2 == 1,
}


@dataclass(frozen=True)
class Record:
    """One record: numbers, of which the first identifies the person or the record, a key, a group, and a note."""

    values: tuple[Any, ...]
    who: Any
    team: Any
    note: Any
    whole: Any = None
    """A replacement for the numbers of the record, in forms that allow it."""
    line: bytes | None = None
    """A replacement for the whole record in text."""


@dataclass(frozen=True)
class Base:
    """The original records, and the public information about them."""

    records: tuple[Record, ...]
    labels: tuple[Any, ...]
    """The groups that the caller lists."""
    kinds: tuple[str, str]
    """The kinds of the keys of persons, and of groups."""


@dataclass(frozen=True)
class Change:
    """A change of the record at ``place``; ``new`` is the new record."""

    what: str
    """"change", "add" or "remove"."""
    place: int
    new: Record | None = None
    same_key: bool = False
    """Whether it still belongs to the same person."""

    def apply(self, records: tuple[Record, ...]) -> tuple[Record, ...]:
        """Return the neighbour of the records."""
        line = list(records)
        if self.what == "add":
            line.insert(self.place, self.new)  # type: ignore[arg-type]
        elif self.what == "remove":
            del line[self.place]
        else:
            line[self.place] = self.new  # type: ignore[assignment]
        return tuple(line)


def base(draw: random.Random, *, by_person: bool) -> Base:
    """Draw records; every column holds one kind of value, as in a tidy table."""
    count, persons = draw.randint(1, 14) if draw.random() < 0.95 else draw.randint(15, 60), draw.randint(1, 6)
    kinds = [draw.choice(list(_VALUES)) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.6:  # most tables hold one kind of number
        kinds = kinds[:1] * len(kinds)
    keys, teams = draw.choice(list(_KEYS)), draw.choice(list(_KEYS))
    number = float if draw.random() < 0.5 else int
    records = []
    for place in range(count):
        person = draw.randrange(persons if keys != "truth" else 2)
        whose = 0 if keys == "zeros" and person == 1 else person  # minus zero is zero
        values = (number(whose if by_person else place), *(draw.choice(_VALUES[kind]) for kind in kinds))
        team = _KEYS[teams](draw.randrange(3))
        records.append(Record(values, _KEYS[keys](person), team, draw.choice(("", "ok", "fine"))))
    listed = [_KEYS[teams](k) for k in range(2)]
    if draw.random() < 0.3:
        listed.append(draw.choice(("other", 77, 77.5, _DAY, b"other", "77")))
    return Base(tuple(records), tuple(dict.fromkeys(listed)), (keys, teams))


def draw_change(draw: random.Random, start: Base, *, whole: bool) -> Change:
    """Draw a change of one record; with ``whole``, its numbers may be replaced by anything."""
    what = draw.choice(("change", "change", "add", "remove")) if len(start.records) > 1 else "change"
    count = len(start.records)
    if what == "remove":
        return Change(what, draw.randrange(count))
    place = draw.randrange(count + (what == "add"))
    old = start.records[min(place, count - 1)]
    if what == "add":
        old = replace(old, values=(type(old.values[0])(100), *old.values[1:]))
    new, same = old, what == "change"
    for _ in range(1 if draw.random() < 0.8 else 3):
        field = draw.choice(("value", "value", "who", "team", "note", "whole" if whole else "value"))
        if field == "value":
            at = draw.randrange(len(old.values))
            values = list(new.values)
            values[at] = _odd(draw, values[at], [one.values[at] for one in start.records])
            new = replace(new, values=tuple(values))
        elif field == "whole":
            new = replace(
                new, whole=draw.choice((*ODD[::2], list(new.values[1:]), [*new.values, 1.0], tuple(new.values)))
            )
        elif field == "note":
            new = replace(new, note=draw.choice(ODD))
        else:
            same = same and field != "who"
            known = [getattr(one, field) for one in start.records]
            new = replace(new, **{field: _odd(draw, getattr(new, field), known)})
    return Change(what, place, new, same)


def _odd(draw: random.Random, value: Any, known: list[Any]) -> Any:
    """Return another value: any odd one, one of another record, or a similar one."""
    way = draw.randrange(4)
    if way < 2:
        return draw.choice(ODD)
    value = draw.choice(known)
    if way == 2:
        return value
    likes = [str, float, int, bool, Decimal, np.float32, lambda one: one + 1, lambda one: -one]
    likes += [lambda one: str(one).encode(), lambda one: [one], lambda one: f"{one} "]
    try:
        with np.errstate(all="ignore"):
            return draw.choice(likes)(value)
    except (ValueError, TypeError, ArithmeticError):
        return None

"""Bounds on columns as they are typed: ranges by name, a file of them, or one range for every column."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import click

from dpmean.errors import ArgumentError

Ranges = dict[str, tuple[float, float]]
_FORM = "column=lower:upper, such as age=0:130 or temp=-40:5e1, nor a file"


@final
@dataclass(frozen=True, slots=True)
class TypedBounds:
    """What ``--bounds``, ``--lower`` and ``--upper`` say, before it is known which columns there are."""

    file: Path | None
    ranges: Ranges
    """Of columns, each by its name exactly as it was typed."""
    sides: tuple[float, float] | None
    """One range for every column."""

    def arguments(self, data: str, columns: Sequence[str] | None, vector_column: str | None) -> dict[str, Any]:
        """Return bounds, and the columns they are for, as ``dpmean.mean`` takes them."""
        if self.sides is not None:
            return {"bounds": self.sides}
        if self.file is None and not self.ranges:
            return {}
        if vector_column is not None:
            raise click.UsageError(
                "--bounds names columns, which vectors do not have: give --norm-bound, or --lower and --upper"
            )
        ranges = self.ranges if self.file is None else _read_file(self.file)
        self._check(ranges, columns)
        if data.lower().endswith(".npy"):
            return {"bounds": tuple(zip(*self._in_order(ranges), strict=True))}
        chosen = list(columns or ranges)
        return {"columns": chosen, "bounds": {name: ranges[name] for name in chosen}}

    def _check(self, ranges: Ranges, columns: Sequence[str] | None) -> None:
        """Refuse columns without a range; and ranges without a column, except in a file, which may have many."""
        if columns is None:
            return
        if bare := [name for name in columns if name not in ranges]:
            if self.file is not None:
                raise ArgumentError(f"{self.file} has no bounds for the column {bare[0]!r}: add a line for it")
            cure = f"add --bounds {shlex.quote(f'{bare[0]}=lower:upper')}"
            raise click.UsageError(f"--bounds has no range for the column {bare[0]!r}: {cure}")
        if self.file is None and (extra := [name for name in ranges if name not in columns]):
            raise click.UsageError(f"--bounds has a range for {extra[0]!r}, which --columns lacks: add it there")

    def _in_order(self, ranges: Ranges) -> list[tuple[float, float]]:
        """Return the ranges of an array: in the order of a file, or by the numbers of columns, counted from 0."""
        if self.file is not None:
            return list(ranges.values())
        numbers = [str(j) for j in range(len(ranges))]
        if set(ranges) != set(numbers):
            raise click.UsageError(
                "columns of a .npy file have no names: count them from 0, and give each a range, as in "
                "--bounds 0=0:130 --bounds 1=0:500; or give --lower and --upper"
            )
        return [ranges[number] for number in numbers]


def read_bounds(given: Sequence[str], lower: float | None, upper: float | None) -> TypedBounds:
    """Read what was typed; a file of ranges is opened later."""
    if given and (lower is not None or upper is not None):
        raise click.UsageError("give --bounds, or --lower and --upper, not both")
    if lower is not None and upper is not None:
        return TypedBounds(None, {}, (lower, upper))
    if lower is not None or upper is not None:
        raise click.UsageError("--lower and --upper go together: give both")
    files: list[str] = []
    ranges: Ranges = {}
    for words in given:
        found = _read_range(words)
        if found is None:
            files.append(words)
            continue
        name, sides = found
        if name in ranges:
            raise click.UsageError(f"--bounds has two ranges for the column {name!r}: keep one")
        ranges[name] = sides
    if files and len(given) > 1:
        raise click.UsageError(
            f"--bounds {files[0]} is a file: name one file alone, or a range for each column, column=lower:upper"
        )
    return TypedBounds(Path(files[0]) if files else None, ranges, None)


def _read_range(words: str) -> tuple[str, tuple[float, float]] | None:
    """Read one range, or return None for what names a file. Numbers have no equals sign, so names may have any."""
    name, sign, sides = words.rpartition("=")
    try:
        lower, upper = map(float, sides.split(":"))
    except ValueError:
        if Path(words).is_file() or not any(mark in words for mark in "=:"):
            return None
        raise click.UsageError(f"--bounds {words} is neither {_FORM}") from None
    if not sign:
        cure = f"write --bounds age={words}, say, or --lower and --upper"
        raise click.UsageError(f"--bounds {words} names no column: {cure}")
    return name, (lower, upper)


def _read_file(file: Path) -> Ranges:
    """Read a file with the header column,lower,upper."""
    with open(file, newline="", encoding="utf-8-sig") as lines:
        try:
            reader = csv.DictReader(lines, strict=True)
            fields = [field.strip().lower() for field in reader.fieldnames or ()]
            if sorted(fields) != ["column", "lower", "upper"]:
                raise ArgumentError(f"{file} must begin with the line column,lower,upper")
            reader.fieldnames = fields
            found: Ranges = {}
            for line in reader:
                name = (line["column"] or "").strip()
                if name in found:
                    raise ArgumentError(f"{file} has two lines for the column {name!r}: keep one")
                found[name] = float(line["lower"]), float(line["upper"])
        except (csv.Error, ValueError, TypeError, UnicodeDecodeError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError(f"line {reader.line_num} of {file} is not a name and two numbers") from None
    if not found:
        raise ArgumentError(f"{file} has no lines below its header")
    return found

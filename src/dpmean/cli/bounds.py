"""Bounds on columns as typed: ranges by name, a file of ranges, or one range for all columns."""

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
_FORM = "a file, nor column=lower:upper, as in age=0:130 or temp=-40:5e1"


@final
@dataclass(frozen=True, slots=True)
class TypedBounds:
    """The values of ``--bounds``, ``--lower`` and ``--upper``, before the columns are known."""

    file: Path | None
    ranges: Ranges
    """The range of each column, by its name as typed."""
    sides: tuple[float, float] | None
    """One range for every column."""

    def arguments(self, data: str, columns: Sequence[str] | None, vector_column: str | None) -> dict[str, Any]:
        """Return bounds and columns as arguments of ``dpmean.mean``."""
        if self.sides is not None:
            return {"bounds": self.sides}
        if self.file is None and not self.ranges:
            return {}
        if vector_column is not None:
            raise click.UsageError(
                "--bounds names columns, and --vector-column has none: give --norm-bound, or --lower and --upper"
            )
        ranges = self.ranges if self.file is None else _read_file(self.file)
        self._check(ranges, columns)
        if data.lower().endswith(".npy"):
            return {"bounds": tuple(zip(*self._in_order(ranges), strict=True))}
        chosen = list(columns or ranges)
        return {"columns": chosen, "bounds": {name: ranges[name] for name in chosen}}

    def _check(self, ranges: Ranges, columns: Sequence[str] | None) -> None:
        """Refuse columns without a range, and typed ranges without a column. A file may have more ranges."""
        if columns is None:
            return
        if bare := [name for name in columns if name not in ranges]:
            if self.file is not None:
                raise ArgumentError(f"{self.file} has no bounds for column {bare[0]!r}: add a line for it")
            cure = f"add --bounds {shlex.quote(f'{bare[0]}=lower:upper')}"
            raise click.UsageError(f"--bounds has no range for column {bare[0]!r}: {cure}")
        if self.file is None and (extra := [name for name in ranges if name not in columns]):
            raise click.UsageError(
                f"--bounds has a range for {extra[0]!r}, which is not in --columns: add it to --columns"
            )

    def _in_order(self, ranges: Ranges) -> list[tuple[float, float]]:
        """Return the ranges of an array: in the order of a file, or by the numbers of columns from 0."""
        if self.file is not None:
            return list(ranges.values())
        numbers = [str(j) for j in range(len(ranges))]
        if set(ranges) != set(numbers):
            raise click.UsageError(
                "columns of a .npy file have no names: give each a range by its number from 0, as in "
                "--bounds 0=0:130 --bounds 1=0:500; or give --lower and --upper"
            )
        return [ranges[number] for number in numbers]


def read_bounds(given: Sequence[str], lower: float | None, upper: float | None) -> TypedBounds:
    """Read the options; a file of ranges is opened later."""
    if given and (lower is not None or upper is not None):
        raise click.UsageError("--bounds excludes --lower and --upper: give one or the other")
    if lower is not None and upper is not None:
        return TypedBounds(None, {}, (lower, upper))
    if lower is not None or upper is not None:
        raise click.UsageError("--lower and --upper need each other: give both")
    files: list[str] = []
    ranges: Ranges = {}
    for words in given:
        found = _read_range(words)
        if found is None:
            files.append(words)
            continue
        name, sides = found
        if name in ranges:
            raise click.UsageError(f"--bounds has two ranges for column {name!r}: keep one")
        ranges[name] = sides
    if files and len(given) > 1:
        raise click.UsageError(
            f"--bounds {files[0]} is a file: name one file and no ranges, or a range column=lower:upper for each column"
        )
    return TypedBounds(Path(files[0]) if files else None, ranges, None)


def _read_range(words: str) -> tuple[str, tuple[float, float]] | None:
    """Read one range, or return None for the name of a file. The last equals sign ends the name of the column."""
    name, sign, sides = words.rpartition("=")
    try:
        lower, upper = map(float, sides.split(":"))
    except ValueError:
        if Path(words).is_file() or not any(mark in words for mark in "=:"):
            return None
        raise click.UsageError(f"--bounds {words} is neither {_FORM}") from None
    if not sign:
        cure = f"write --bounds age={words}, for example, or --lower and --upper"
        raise click.UsageError(f"--bounds {words} has no column: {cure}")
    return name, (lower, upper)


def _read_file(file: Path) -> Ranges:
    """Read a file with the header column,lower,upper."""
    with open(file, newline="", encoding="utf-8-sig") as lines:
        try:
            reader = csv.DictReader(lines, strict=True)
            fields = [field.strip().lower() for field in reader.fieldnames or ()]
            if sorted(fields) != ["column", "lower", "upper"]:
                raise ArgumentError(f"{file} must begin with the header column,lower,upper")
            reader.fieldnames = fields
            found: Ranges = {}
            for line in reader:
                name = (line["column"] or "").strip()
                if name in found:
                    raise ArgumentError(f"{file} has two lines for column {name!r}: keep one")
                found[name] = float(line["lower"]), float(line["upper"])
        except (csv.Error, ValueError, TypeError, UnicodeDecodeError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError(
                f"line {reader.line_num} of {file} must be the name of a column and two numbers, as in age,0,130"
            ) from None
    if not found:
        raise ArgumentError(f"{file} has no lines below its header: add one for each column, as in age,0,130")
    return found

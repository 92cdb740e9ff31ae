"""Around a release: the files of bounds and groups, the ledger, and the ways to write it down."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import click
import numpy as np

import dpmean
from dpmean.account import datasets
from dpmean.books.pages import digits
from dpmean.budget import Number
from dpmean.cli import show, tables
from dpmean.door import read_rows
from dpmean.errors import ArgumentError, DataError
from dpmean.renyi import renyi_of
from dpmean.rows.streamed import Streamed

_INDENT = 13
"""Where the words of a release begin."""
_KINDS = {".json": "json", ".csv": "csv", ".npy": "npy"}


Releases = dpmean.Release | dpmean.GroupedRelease


def make(data: str, asked: dict[str, Any], ledger: dpmean.Ledger | None) -> Releases:
    """Release what was asked for; it is recorded before anybody sees it."""
    if "by" not in asked:
        if extra := {"groups", "sizes"} & set(asked):
            raise click.UsageError(f"--{min(extra)} is for one mean per group: give --by COLUMN, too")
        rows, asked = _in_memory(data, asked) if asked.get("trust", "central") != "central" else (data, asked)
        return dpmean.mean(rows, ledger=ledger, **asked)
    if "groups" not in asked:
        raise click.UsageError("--by needs --groups: labels found in the data would tell who is there, so list them")
    for name in ("trust", "passes", "rounds", "honest"):
        if name in asked:
            raise click.UsageError(f"--{name.replace('_', '-')} is not for means of groups: leave it out")
    return dpmean.mean_by(data, ledger=ledger, **asked)


def _in_memory(data: str, asked: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the rows of files as an array or a table, and what was asked of it: devices are played in memory."""
    rest = {name: value for name, value in asked.items() if name not in ("columns", "vector_column")}
    source = read_rows(data, asked.get("columns"), asked.get("vector_column"))
    if not isinstance(source, Streamed):
        return data, asked
    array = source.engine.gather(np.arange(source.shape[0]))
    if source.names is None:
        return array, rest
    import pyarrow as pa

    return pa.table(dict(zip(source.names, array.T.copy(), strict=True))), rest


def read_groups(given: str) -> list[str]:
    """Read labels: a file with one on a line, or labels divided by commas."""
    file = Path(given)
    if not file.is_file():
        return [label.strip() for label in given.split(",") if label.strip()]
    try:
        return [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise ArgumentError(f"{file} must be text, with one label on a line") from None


def open_ledger(
    file: Path | None,
    dataset: str | None,
    rho: Number | None,
    epsilon: Number | None,
    delta: Number | None,
    *,
    seeded: bool,
) -> dpmean.Ledger | None:
    """Open the ledger, if there is to be one."""
    if file is None:
        if any(value is not None for value in (dataset, rho, epsilon, delta)):
            raise click.UsageError("--dataset and the budgets of a ledger need --ledger FILE beside them")
        return None
    if seeded:
        raise click.UsageError("a seeded release protects nobody and is not recorded: leave out --seed, or --ledger")
    name = "data" if dataset is None else dataset
    if all(value is None for value in (rho, epsilon, delta)) and name not in _known(file):
        raise click.UsageError(
            f"{name!r} has no budget in {file} yet: give --ledger-rho 1, say, or --ledger-epsilon 3 --ledger-delta 1e-6"
        )
    return dpmean.Ledger(file, rho, epsilon=epsilon, delta=delta, dataset=name)


def _known(file: Path) -> tuple[str, ...]:
    return datasets(file) if file.exists() else ()


def say_what_is_left(ledger: dpmean.Ledger) -> None:
    """Say what may still be spent."""
    unit = "rho" if isinstance(ledger.budget, dpmean.Zcdp) else "epsilon"
    show.err().print(
        f"recorded in {ledger.path}: {unit} = {digits(ledger.left, up=False)} is left for {ledger.dataset}"
    )


def read_bounds(
    data: str, file: Path | None, lower: float | None, upper: float | None, columns: Sequence[str] | None
) -> dict[str, Any]:
    """Return bounds, and the columns they are for, as ``dpmean.mean`` takes them."""
    if file is None:
        if (lower is None) != (upper is None):
            raise click.UsageError("--lower and --upper go together: give both")
        return {} if lower is None else {"bounds": (lower, upper)}
    if lower is not None or upper is not None:
        raise click.UsageError("give --bounds, or --lower and --upper, not both")
    ranges = _ranges(file)
    for name in columns or ():
        if name not in ranges:
            raise ArgumentError(f"{file} has no bounds for the column {name!r}: add a line for it")
    if data.lower().endswith(".npy"):  # whose columns have no names, and are taken in the order of the file
        return {"bounds": tuple(zip(*ranges.values(), strict=True))}
    chosen = list(columns or ranges)
    return {"columns": chosen, "bounds": {name: ranges[name] for name in chosen}}


def _ranges(file: Path) -> dict[str, tuple[float, float]]:
    """Read a file with the header column,lower,upper."""
    with open(file, newline="", encoding="utf-8-sig") as lines:
        try:
            reader = csv.DictReader(lines, strict=True)
            fields = [field.strip().lower() for field in reader.fieldnames or ()]
            if sorted(fields) != ["column", "lower", "upper"]:
                raise ArgumentError(f"{file} must begin with the line column,lower,upper")
            reader.fieldnames = fields
            found: dict[str, tuple[float, float]] = {}
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


@final
@dataclass(frozen=True, slots=True)
class Target:
    """Where a release goes, and how it is written; found out before anything is spent."""

    file: Path | None
    kind: str | None
    report: Path | None
    as_json: bool
    grouped: bool = False

    def __post_init__(self) -> None:
        for file in (self.file, self.report):
            if file is not None:
                _check_writable(file)
        kind = self.kind or ("" if self.file is None else _KINDS.get(self.file.suffix.lower()))
        if kind == "npy" and self.grouped:
            raise click.UsageError("npy is for one mean: write those of groups as json or csv")
        if self.file is None:
            if self.as_json and self.kind not in (None, "json"):
                raise click.UsageError(f"--json prints JSON: give --out FILE for {self.kind}, or leave one out")
            if self.kind == "npy" and sys.stdout.isatty():
                raise click.UsageError("--format npy is no text for a terminal: give --out FILE")
            return
        if kind is None:
            raise click.UsageError(f"--out {self.file} should end in .json, .csv or .npy; or give --format")
        object.__setattr__(self, "kind", kind)

    def write(self, release: Releases) -> None:
        """Write a release to its file and print it, or what there is to say of it."""
        if self.file is not None:
            try:
                self.file.write_bytes(_document(release, self.kind))
            except OSError as error:
                click.echo(release.to_json(), err=self.as_json)  # it is paid for, and should not be lost
                raise DataError(
                    f"cannot write {self.file}, so it is printed: {(error.strerror or '').lower()}"
                ) from None
        if self.as_json:
            click.echo(release.to_json())
        elif self.file is None and self.kind is not None:
            click.echo(_document(release, self.kind), nl=False)
        else:
            _print(release)
        if self.report is not None:
            dpmean.report(release, self.report)
        written = [str(file) for file in (self.file, self.report) if file is not None]
        if written and not self.as_json:
            show.err().print(f"written to {' and '.join(written)}", soft_wrap=True)


def _check_writable(file: Path) -> None:
    """Refuse a file that cannot be written before anything is spent."""
    if not file.parent.is_dir():
        raise DataError(f"cannot write {file}: there is no folder {file.parent}")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise DataError(f"cannot write {file}: permission denied")


def _document(release: Releases, kind: str | None) -> bytes:
    if kind == "json":
        return release.to_json().encode() + b"\n"
    if kind == "npy":
        content = io.BytesIO()
        np.save(content, release.mean if isinstance(release, dpmean.Release) else np.empty(0))
        return content.getvalue()
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    if isinstance(release, dpmean.Release):
        lines.writerow(("column", "mean", "noise_std"))
        lines.writerows(_lines(release))
    else:
        lines.writerow((release.by, "column", "mean", "noise_std", "n", "refused"))
        for label, found in release.items():
            if isinstance(found, dpmean.Release):
                lines.writerows((label, *line, found.n, "") for line in _lines(found))
            else:
                lines.writerow((label, "", "", "", "", found.reason))
    return text.getvalue().encode()


def _lines(release: dpmean.Release) -> Iterator[tuple[str | int, float, float]]:
    names = release.columns or range(release.d)
    return zip(names, release.mean.tolist(), release.noise_std.tolist(), strict=True)


def _print(found: Releases) -> None:
    """Print a release for people: a table, and what is to be known of it; the receipts are in its JSON."""
    title, *lines = str(found).split("\n")
    if isinstance(found, dpmean.Release):
        start = next((i for i, line in enumerate(lines) if line.startswith("  bound ")), 0)
        lines = [*_without_receipts(lines[start:]), f"  paid for  {_shares(found)}"]
        show.table(title, tables.release_table(found))
    else:
        groups = tuple(f"  {label}: " for label in found.released)
        lines = [line for line in lines if not groups or not line.startswith(groups)]
        show.table(title, tables.grouped_table(found))
    show.sheet("\n".join(lines))


def _without_receipts(lines: list[str]) -> list[str]:
    kept = [line for line in lines if len(line) - len(line.lstrip()) in (2, _INDENT)]
    return [line.replace("; what it paid for:", "") for line in kept]


def _shares(found: dpmean.Release) -> str:
    """Return which part of the budget went into which kind of step, the largest first."""
    parts: dict[str, float] = {}
    for receipt in found.receipts:
        step = receipt.step.rstrip(" 0123456789")
        parts[step] = parts.get(step, 0.0) + renyi_of(receipt.cost).curve[0]
    total = sum(parts.values())
    return ", ".join(f"{step} {part / total:.1%}" for step, part in sorted(parts.items(), key=lambda item: -item[1]))

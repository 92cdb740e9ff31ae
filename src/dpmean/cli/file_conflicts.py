"""Checks that no output file overwrites the rows, the ledger, or another file of the same command."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from pathlib import Path

import click

_ROWS = (".csv", ".npy")
"""In a folder of rows, an output file with such an ending would be read as rows."""


def check_apart(
    data: str, *, written: Mapping[str, Path | None], read: Mapping[str, Path | None], ledger: Path | None
) -> None:
    """Refuse files that would overwrite the rows, the ledger, or each other; errors name their options."""
    ours = {name: [file] for name, file in written.items() if file is not None}
    others = {name: [file] for name, file in read.items() if file is not None and file.is_file()}
    kept = {} if ledger is None else {"--ledger": list(_of_ledger(ledger))}
    pairs = [*combinations((ours | kept).items(), 2), *product((ours | kept).items(), others.items())]
    for (name, files), (other, those) in pairs:
        if any(_same(file, that) for file in files for that in those):
            raise click.UsageError(f"{name} and {other} are the same file, {files[0]}: give different files")
    for name, (file,) in ours.items():
        if _holds(data, file):
            raise click.UsageError(f"{name} {file} is one of the files in DATA: give another file")


def _of_ledger(file: Path) -> Iterator[Path]:
    """Return all files of a ledger."""
    real = file.expanduser().resolve()
    return (real.with_name(f"{real.name}{end}") for end in ("", ".lock", ".tmp"))


def _holds(data: str, file: Path) -> bool:
    """Return whether a file is one of those with rows, or would become one."""
    source = Path(data).expanduser()
    if not source.is_dir():
        matching = map(Path, glob.glob(str(source), recursive=True))
        return any(_same(file, found) for found in (source, *matching))
    inside = file.suffix.lower() in _ROWS and file.resolve().is_relative_to(source.resolve())
    return inside or any(_same(file, found) for found in source.rglob("*") if found.is_file())


def _same(one: Path, other: Path) -> bool:
    if one.resolve() == other.resolve():
        return True
    return one.exists() and other.exists() and os.path.samefile(one, other)

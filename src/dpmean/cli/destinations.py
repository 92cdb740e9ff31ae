"""Writes a release to files, to a page and to the output. It has been paid for, and must not get lost."""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import click
import numpy as np

import dpmean
from dpmean.cli import show
from dpmean.cli.typed import as_typed
from dpmean.errors import DataError, DpMeanError
from dpmean.release.frame_export import table_of
from dpmean.release.text import lines_of

_KINDS = {".json": "json", ".csv": "csv", ".npy": "npy"}

Releases = dpmean.Release | dpmean.GroupedRelease


@final
@dataclass(frozen=True, slots=True)
class Target:
    """Where a release goes, and in which format; checked before any budget is spent."""

    file: Path | None
    kind: str | None
    report: Path | None
    as_json: bool
    grouped: bool = False
    seeded: bool = False
    explain: bool = False
    """Whether the steps and their costs are printed, too."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """The text of the author of the page: arguments of ``dpmean.report``."""

    def __post_init__(self) -> None:
        for file in (self.file, self.report):
            if file is not None:
                _check_writable(file)
        kind = self.kind or ("" if self.file is None else _KINDS.get(self.file.suffix.lower()))
        if kind == "npy" and self.grouped:
            raise click.UsageError("npy holds one mean only: write means of groups as json or csv")
        if kind == "npy" and self.seeded:
            raise click.UsageError("npy cannot record that --seed protects nobody: write json or csv")
        if self.file is None:
            if self.as_json and self.kind not in (None, "json"):
                raise click.UsageError(
                    f"--json and --format {self.kind} are two formats for one output: add --out FILE, or leave one out"
                )
            if self.kind == "npy" and sys.stdout.isatty():
                raise click.UsageError("--format npy is binary and cannot be printed on a terminal: give --out FILE")
            return
        if kind is None:
            raise click.UsageError(f"--out {self.file} must end in .json, .csv or .npy: rename it, or give --format")
        object.__setattr__(self, "kind", kind)

    def write(self, release: Releases) -> None:
        """Write a release to its files, and then print it, as JSON or for people.

        If a file cannot be written, the release is printed. If it cannot be printed, it goes to the error output.
        """
        written, trouble = [], ""
        for file, save in ((self.file, self._save), (self.report, self._report)):
            if file is None:
                continue
            try:
                save(release, file)
                written.append(str(file))
            except (OSError, UnicodeError, DpMeanError) as error:
                instead = "; the release is printed instead" if file is self.file else ""
                trouble = trouble or f"cannot write {file}: {_reason(error)}{instead}"
        if trouble and self.as_json:  # the output is for the error
            click.echo(release.to_json(), err=True)
        elif self.file is not None and str(self.file) not in written:
            self._echo(lambda: click.echo(release.to_json()), release, kept=bool(written))
        else:
            self._echo(lambda: self._print(release), release, kept=bool(written))
        if written and not self.as_json:
            show.err().print(f"written to {' and '.join(written)}", soft_wrap=True)
        if trouble:
            raise DataError(trouble)

    def _report(self, release: Releases, file: Path) -> None:
        dpmean.report(release, file, **self.words)

    def _save(self, release: Releases, file: Path) -> None:
        file.write_bytes(_document(release, self.kind))

    def _echo(self, say: Callable[[], None], release: Releases, *, kept: bool) -> None:
        """Print something; if that fails and no file has the release, write it to the error output."""
        try:
            say()
        except (OSError, UnicodeError, SystemExit) as error:
            broken = show.why_not_printed(error)
            show.print_no_more()
            if kept and isinstance(broken, BrokenPipeError):
                return  # the reader of the output has closed it
            if not kept:
                click.echo(release.to_json(), err=True)
            where = "the release is in its files" if kept else "the release is on the error output, above"
            raise DataError(f"cannot print: {_reason(broken)}; {where}") from None

    def _print(self, release: Releases) -> None:
        if self.as_json:
            click.echo(release.to_json())
        elif self.file is None and self.kind is not None:
            click.echo(_document(release, self.kind), nl=False)
        else:
            _print(release, explain=self.explain)


def _reason(error: BaseException) -> str:
    if isinstance(error, DpMeanError):
        return str(error)
    return (getattr(error, "strerror", None) or type(error).__name__).lower()


def _check_writable(file: Path) -> None:
    """Refuse a file that cannot be written, before any budget is spent."""
    if not file.parent.is_dir():
        raise DataError(f"cannot write {file}: the folder {file.parent} does not exist")
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
    table = table_of(release) | ({"seeded": itertools.repeat("protects nobody")} if release.seeded else {})
    lines.writerow(table)
    lines.writerows(map(_write_cell, cells) for cells in zip(*table.values(), strict=False))
    return text.getvalue().encode()


def _write_cell(cell: Any) -> Any:
    return "" if isinstance(cell, float) and math.isnan(cell) else cell


def _print(found: Releases, *, explain: bool) -> None:
    """Print a release for people, as Python does, with cures as they are typed here."""
    show.release(as_typed(found.explain() if explain else str(found)))
    if found.unit is None and not explain:
        several = "protected less if they have several rows; --privacy-unit NAME protects them"
        show.release("\n".join(lines_of([("persons", several)])))

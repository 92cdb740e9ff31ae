"""Rows in files: find the files for a name or pattern, and choose their reader."""

from __future__ import annotations

import glob
import os
from itertools import takewhile
from pathlib import Path

from dpmean.errors import ArgumentError, DataError
from dpmean.rows.engine import Streamed
from dpmean.rows.files.csv import TextReader
from dpmean.rows.files.npy import NpyReader
from dpmean.rows.files.parquet import TableReader
from dpmean.rows.files.reader import FileEngine, Reader
from dpmean.rows.files.text import ARCHIVES
from dpmean.rows.registry import Selection

_TABLES = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_PLAIN = (".csv", ".tsv", ".tab")
_TEXT = (*_PLAIN, *(f"{kind}{archive}" for kind in _PLAIN for archive in ARCHIVES))
_KINDS = (".npy", *_TABLES, *_TEXT)
_SHOWN = (".npy", *_TABLES, ".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".csv.zst")
_LONGEST_NAME = 4096
_NO_NAME = "text must be the name of a file, a folder or a pattern: write the data to a file, and give its name"
_BY_NAME = (".txt", *(f".txt{archive}" for archive in ARCHIVES))
"""Files that may hold any kind of text: they are read only if the caller names the file itself."""


def open_source(name: str | os.PathLike[str], selection: Selection) -> Streamed:
    """Open files as a source of rows."""
    engine = open_table(name, selection)
    return Streamed(engine, engine.names)


def open_table(name: str | os.PathLike[str], selection: Selection) -> FileEngine:
    """Open a file, a folder of files or all files that match a pattern, in the order of their names."""
    paths = find_files(name)
    kinds = {find_kind(path) for path in paths}
    if len(kinds) > 1:
        raise ArgumentError(f"{name} matches files of several types, {', '.join(sorted(kinds))}: give one type")
    kind = kinds.pop()
    if selection.dialect.given and kind not in (*_TEXT, *_BY_NAME):
        raise ArgumentError(f"{selection.dialect.given[0]} is for CSV files, got a {kind} file: leave it out")
    return FileEngine(_reader(paths, kind, selection))


def is_kind(name: str | os.PathLike[str]) -> bool:
    """Whether a file name has an extension that can be read."""
    return find_kind(Path(name)) in _KINDS


def find_kind(path: Path) -> str:
    """Return the extension of a file name; for an archive, with that of the file in it."""
    end = path.suffix.lower()
    return path.with_suffix("").suffix.lower() + end if end in ARCHIVES else end


def _reader(paths: list[Path], kind: str, selection: Selection) -> Reader:
    columns, vector_column = selection.columns, selection.vector_column
    if kind in _TABLES:
        return TableReader.open(paths, columns, vector_column, selection.keys, selection.width)
    if len(paths) > 1:
        raise ArgumentError(f"give one {kind} file, got {len(paths)}: only Parquet and Arrow files may be several")
    if vector_column is not None or (kind == ".npy" and columns is not None):
        given = "columns" if vector_column is None else "vector_column"
        raise ArgumentError(f"{given} is for tables, got a {kind} file: leave it out")
    if kind == ".npy":
        return NpyReader.open(paths[0])
    return TextReader.open(paths[0], columns, selection.keys, selection.dialect)


def is_table(path: Path) -> bool:
    """Whether a file declares the types of its columns."""
    return find_kind(path) in _TABLES


def find_files(name: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a name or pattern matches, in the order of their names."""
    path = Path(os.path.expanduser(name))
    if os.path.isdir(path):
        found = [inner for inner in sorted(path.rglob("*")) if _is_data(inner, path)]
    elif os.path.exists(path):
        found = [path]
        if find_kind(path) not in (*_KINDS, *_BY_NAME):
            raise ArgumentError(f"cannot read {path.name}: give a file whose name ends in {', '.join(_SHOWN)}")
        if not path.is_file():
            raise ArgumentError(f"{path.name} is a pipe or a device, which cannot be read twice: save it as a file")
    else:
        matching, home = sorted(map(Path, glob.glob(str(path), recursive=True))), _find_base(path)
        found = [inner for inner in matching if _is_data(inner, home)]
    if not found and not (str(path).isprintable() and len(str(path)) < _LONGEST_NAME):
        raise ArgumentError(_NO_NAME)
    if not found:
        raise DataError(f"there is no file {name}: give a file, a folder, or a pattern such as 'data/*.parquet'")
    return found


def _find_base(pattern: Path) -> Path:
    """Return the folder before the first wildcard of a pattern."""
    return Path(*takewhile(lambda part: not glob.has_magic(part), pattern.parts[:-1]))


def _is_data(path: Path, home: Path) -> bool:
    """Whether a file found in a folder holds rows: it has a known extension, and no part of its path is hidden.

    Names that begin with a dot or an underscore are hidden.
    """
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(home).parts)
    return not hidden and is_kind(path) and path.is_file()

"""Damaged files of rows: Parquet, Arrow, CSV and .npy."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

import dpmean
from fuzz.judge import SECRET, check_errors

_ENDINGS = (".npy", ".csv", ".tsv", ".parquet", ".arrow", ".txt", ".csv.gz")
_NAMED = re.compile(rb"[^\n]*[A-Za-z][^,\t\n]*(83714|59126)")
"""A first line with the secret in the name of a column: names are public, so this is not a finding."""
_ROWS = np.array([[1.0, 2.0], [SECRET, -SECRET]] * 30)


def seeds() -> Iterator[bytes]:
    """Yield complete files, each after a byte for its kind."""
    table = pa.table({"a": _ROWS[:, 0], "b": _ROWS[:, 1], "who": ["x", "y"] * 30})
    for number, ending in enumerate(_ENDINGS):
        file = io.BytesIO()
        if ending == ".npy":
            np.save(file, _ROWS)
        elif ending == ".parquet":
            parquet.write_table(table, file)
        elif ending == ".arrow":
            feather.write_feather(table, file, compression="uncompressed")
        else:
            mark = {".tsv": "\t", ".txt": ";"}.get(ending, ",")
            text = f"a{mark}b{mark}who\n" + "".join(f"{a}{mark}{b}{mark}x\n" for a, b in _ROWS)
            whole = text.encode("utf-16" if ending == ".txt" else "utf-8")
            file.write(gzip.compress(whole) if ending == ".csv.gz" else whole)
        yield bytes([number]) + file.getvalue()


def prepare(folder: Path) -> Callable[[bytes], None]:
    """Return a function that runs one input."""
    shared = {"rho": 0.5, "norm_bound": 10.0, "method": "clipped", "allow_few_rows": True, "seed": 1}
    ways: list[dict[str, object]] = [{}, {"columns": ["a", "b"]}, {"vector_column": "a"}]
    ways += [{"columns": ["a", "b"], "privacy_unit": "who"}, {"nan": "impute"}]
    ways += [{"sep": ";", "decimal": ","}, {"encoding": "latin-1", "quotechar": "'"}, {"newlines": "quoted"}]

    def one(data: bytes) -> None:
        if not data:
            return
        path = folder / f"rows{_ENDINGS[data[0] % len(_ENDINGS)]}"
        path.write_bytes(data[1:])
        if _NAMED.match(_as_text(path, data[1:])):
            return
        way = ways[data[0] // len(_ENDINGS) % len(ways)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_errors(lambda: dpmean.mean(path, **{**shared, **way}))

    return one


def _as_text(path: Path, data: bytes) -> bytes:
    """Return the readable text of a file in UTF-8."""
    if path.suffix == ".gz":
        found = b""
        with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(io.BytesIO(data)) as file:
            while piece := file.read(64):
                found += piece
        data = found
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data

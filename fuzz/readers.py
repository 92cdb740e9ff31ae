"""Files of rows that somebody damaged: Parquet, Arrow, CSV and .npy."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

import dpmean
from fuzz.judge import SECRET, judged

_ENDINGS = (".npy", ".csv", ".tsv", ".parquet", ".arrow")
_NAMED = re.compile(rb"[^\n]*[A-Za-z][^,\t\n]*(83714|59126)")
"""Names of columns are public: a first line that holds the secret within a name is none of a row."""
_ROWS = np.array([[1.0, 2.0], [SECRET, -SECRET]] * 30)


def seeds() -> Iterator[bytes]:
    """Return whole files, each after a byte that names its kind."""
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
            mark = "," if ending == ".csv" else "\t"
            file.write(mark.join(["a", "b", "who"]).encode() + b"\n")
            file.write("".join(f"{a}{mark}{b}{mark}x\n" for a, b in _ROWS).encode())
        yield bytes([number]) + file.getvalue()


def prepare(folder: Path) -> Callable[[bytes], None]:
    """Return what runs one input."""
    shared = {"rho": 0.5, "norm_bound": 10.0, "method": "clipped", "allow_few_rows": True, "seed": 1}
    ways: list[dict[str, object]] = [{}, {"columns": ["a", "b"]}, {"vector_column": "a"}]
    ways += [{"columns": ["a", "b"], "privacy_unit": "who"}, {"nan": "impute"}]

    def one(data: bytes) -> None:
        if not data:
            return
        path = folder / f"rows{_ENDINGS[data[0] % len(_ENDINGS)]}"
        path.write_bytes(data[1:])
        if _NAMED.match(data[1:]):
            return
        way = ways[data[0] // len(_ENDINGS) % len(ways)]
        judged(lambda: dpmean.mean(path, **{**shared, **way}))

    return one

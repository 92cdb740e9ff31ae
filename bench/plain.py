"""The yardstick for rows in files: a plain loop over a file that adds up its columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from bench.problem import Floats

_BLOCK_ROWS = 1024
_GROUP_ROWS = 1 << 17


def write_npy(path: Path, n: int, d: int) -> None:
    """Write rows of N(5, 1), block by block."""
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
    generator = np.random.default_rng(0)
    for start in range(0, n, 1 << 16):
        block = rows[start : start + (1 << 16)]
        block[:] = generator.standard_normal(block.shape)
        block += 5.0
    rows.flush()


def write_parquet(source: Path, folder: Path, n: int, *, vectors: bool) -> None:
    """Write the first n rows of a ``.npy`` file as eight Parquet files, with the default settings of pyarrow.

    A row is a vector in one column, or a number in each of many columns.
    """
    rows = np.load(source, mmap_mode="r")[:n]
    folder.mkdir()
    size = -(-n // 8)
    for number, start in enumerate(range(0, len(rows), size)):
        tables = (
            _table(np.array(rows[inner : min(inner + _GROUP_ROWS, start + size)]), vectors=vectors)
            for inner in range(start, min(start + size, len(rows)), _GROUP_ROWS)
        )
        first = next(tables)
        with parquet.ParquetWriter(folder / f"{number:02}.parquet", first.schema) as out:
            for table in (first, *tables):
                out.write_table(table)


def _table(block: Floats, *, vectors: bool) -> pa.Table:
    if vectors:
        ends = np.arange(0, block.size + 1, block.shape[1], dtype=np.int32)
        return pa.table({"v": pa.ListArray.from_arrays(ends, pa.array(block.ravel()))})
    names = [f"c{j}" for j in range(block.shape[1])]
    return pa.table([np.ascontiguousarray(column) for column in block.T], names=names)


def npy_mean(path: Path) -> Floats:
    """Average a memory map in blocks."""
    rows = np.load(path, mmap_mode="r")
    total = np.zeros(rows.shape[1])
    for start in range(0, len(rows), _BLOCK_ROWS):
        total += rows[start : start + _BLOCK_ROWS].sum(axis=0)
    return total / len(rows)


def parquet_mean(folder: Path) -> Floats:
    """Average Parquet files batch by batch, as pyarrow reads them."""
    total, n = np.zeros(0), 0
    for path in sorted(folder.iterdir()):
        for batch in parquet.ParquetFile(path).iter_batches():
            if batch.num_columns == 1:
                sums = batch.column(0).flatten().to_numpy().reshape(batch.num_rows, -1).sum(axis=0)
            else:
                sums = np.array([column.to_numpy().sum() for column in batch.columns])
            total = sums if not n else total + sums
            n += batch.num_rows
    return total / n

"""All forms of rows except text, made from records as users would make them."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.frames import (
    arrow,
    arrow_decimals,
    pandas,
    pandas_categories,
    pandas_decimals,
    pandas_nullable,
    pandas_objects,
    polars,
)
from fuzz.records import Record
from fuzz.setting import PATHS, Made, Setting, cells_of, check_other_records, known_of

# --- files ---------------------------------------------------------------------------------------------------


def _columnar(setting: Setting, records: tuple[Record, ...], ending: str) -> Made:
    """Write a file, or two files with types of their own."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    pieces = [records]
    if setting.pick("files", 1, 1, 2) == 2 and len(records) > 1:
        half = len(setting.base.records) // 2
        pieces = [records[:half], records[half:]]
    named: dict[str, Any] = {}
    for number in range(2):
        path = setting.folder / f"rows-{number}{ending}"
        path.unlink(missing_ok=True)
        if number < len(pieces):
            found, named = arrow(setting, pieces[number])
            found = pa.Table.from_batches([found]) if isinstance(found, pa.RecordBatch) else found
            if ending == ".parquet":
                parquet.write_table(found, path, row_group_size=setting.pick("group", 1, 3, 100))
            else:
                with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, found.schema) as writer:
                    writer.write_table(found)
    return str(setting.folder / (f"rows-*{ending}" if len(pieces) == 2 else f"rows-0{ending}")), named


def parquet(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Write Parquet."""
    return _columnar(setting, records, ".parquet")


def ipc(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Write Arrow files."""
    return _columnar(setting, records, ".arrow")


def npy(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Write an array to a file; keys are separate."""
    array, keys = numpy(setting, records)
    if array.dtype.kind == "O":
        raise TypeError("no objects in files")
    path, file = setting.folder / "rows.npy", io.BytesIO()
    np.save(file, array)
    path.write_bytes(file.getvalue())
    return path, keys


def duckdb(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a DuckDB relation: a table of the database, or a query that reads Arrow."""
    import duckdb as database

    found, named = _with_names(*arrow(setting, records))
    connection = database.connect(config={"threads": 1})
    relation = connection.from_arrow(found)
    if setting.pick("stored", True, False):
        relation.create("stored")
        relation = connection.table("stored")
    return relation, named


def datasets(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a Hugging Face dataset: a table, or a reversed table whose indices restore the order."""
    import datasets as library

    found, named = _with_names(*arrow(setting, records))
    if setting.pick("indices", True, False):
        backwards = range(found.num_rows - 1, -1, -1)
        return library.Dataset(found.take(list(backwards))).select(list(backwards)), named
    return library.Dataset(found), named


def _with_names(found: Any, named: dict[str, Any]) -> Made:
    """Return an Arrow table without empty column names, which DuckDB and datasets do not allow."""
    import pyarrow as pa

    found = pa.Table.from_batches([found]) if isinstance(found, pa.RecordBatch) else found
    found = found.rename_columns([name or "first" for name in found.column_names])
    return found, named | {key: named[key] or "first" for key in {"privacy_unit", "by"} & set(named)}


def lazy(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a polars lazy frame from a frame or from a Parquet file."""
    import polars as pl

    found, named = polars(setting, records)
    if setting.pick("scanned", True, False):
        path = setting.folder / "lazy.parquet"
        found.write_parquet(path)
        return pl.scan_parquet(path), named
    return found.lazy(), named


def combinations(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a table with groups by two columns, the second of which may contain anything."""
    setting._picked.setdefault("chosen", True)  # of columns, so that there are others
    make = setting.pick("library", pandas, pandas_objects, polars, arrow, parquet, duckdb, datasets)
    found, named = make(setting, records)
    labels = [(label, note) for label in setting.base.labels for note in ("ok", "fine")]
    return found, named | {"by": [named["by"], "note"], "groups": labels}


# --- arrays, lists, matrices, tensors ------------------------------------------------------------------------


def _beside(setting: Setting, records: tuple[Record, ...]) -> dict[str, Any]:
    """Return keys that are separate from an array: as a list, or as another container."""
    import pandas as pd

    def held(name: str) -> Any:
        keys, known = ([getattr(one, name) for one in some] for some in (records, setting.base.records))
        how = setting.pick("keys", "list", "tuple", "array", "objects", "series", "nullable")
        if how == "array":
            return _typed(keys, known)
        if how in ("series", "nullable"):
            column = pd.Series(cells_of(keys), dtype=object if how == "nullable" else None)
            if how == "series":
                return column
            typed = column.convert_dtypes()
            check_other_records(setting, records, {name: known_of(column)}, {name: known_of(typed)})
            return typed
        return {"list": list, "tuple": tuple, "objects": lambda keys: cells_of([*keys, ()])[:-1]}[how](keys)

    return {
        **({"privacy_unit": held("who")} if setting.by_person else {}),
        **({"by": held("team")} if setting.by_group else {}),
    }


def _typed(keys: list[Any], known: list[Any]) -> Any:
    """Return keys as an array of the same type as those of the base: another type would change all keys."""
    kind = np.array(known).dtype
    one_kind = {"U": str, "S": bytes}.get(kind.kind, object)
    if not all(isinstance(one, one_kind) for one in keys):
        raise TypeError("an array holds keys of one kind")
    found = np.array(keys, dtype=kind if one_kind is object else None)
    if found.ndim != 1:
        raise TypeError("a key is one value")
    return found


def _lines(records: tuple[Record, ...]) -> list[Any]:
    return [list(one.values) if one.whole is None else one.whole for one in records]


def lists(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a list of lists; NumPy infers the type."""
    if setting.pick("flat", True, False, False):
        at = -1 if setting.path == "rows" else 0
        flat = [one.values[at] if one.whole is None else one.whole for one in records]
        return setting.pick("column", list, tuple, _series)(flat), _beside(setting, records)
    return _lines(records), _beside(setting, records)


def _series(column: list[Any]) -> Any:
    import pandas as pd

    return pd.Series(cells_of(column))


def numpy(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make an array of a given type, or of the type that NumPy infers."""
    kinds = (None, None, "f8", "f8", "f4", "f2", "i8", "i4", "u8", "u1", ">f8", ">i8", "g")
    kinds += ("b1",) * (setting.path == "rows")
    with np.errstate(all="ignore"):
        array = np.array(_lines(records), dtype=setting.pick("dtype", *kinds))
    return np.asfortranarray(array) if setting.pick("order", True, False) else array, _beside(setting, records)


_FIELDS = {"privacy_unit": "who", "by": "team"}


def sparse(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a SciPy sparse matrix."""
    from scipy import sparse as matrices

    array, _ = numpy(setting, records)
    kinds = ("csr_matrix", "csc_matrix", "coo_array", "lil_array", "csr_array", "dok_array", "bsr_array")
    return getattr(matrices, setting.pick("format", *kinds))(array), {}


def torch(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a PyTorch tensor, with separate keys, which may be tensors as well."""
    import torch as tensors

    kinds = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
    kinds = kinds[: -1 if setting.by_person or setting.by_group else None]  # the first number identifies the person
    keys = _beside(setting, records)
    if setting.pick("tensors of keys", True, False):
        for name in keys:
            given, known = ([getattr(one, _FIELDS[name]) for one in some] for some in (records, setting.base.records))
            keys[name] = tensors.tensor(given, dtype=tensors.tensor(known).dtype)
    return tensors.tensor(_lines(records), dtype=getattr(tensors, setting.pick("tensor", *kinds))), keys


def scikit_learn(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make X and y for scikit-learn; X is a list, a frame, an array or a sparse matrix."""
    make = setting.pick("X", lists, pandas, numpy, sparse, polars)
    X, _ = make(Setting("rows", setting.base, setting.seed, setting.folder, _picked={"chosen": False}), records)
    if setting.by_group and str(getattr(X, "dtype", "")) == "bool":
        raise TypeError("the rows of groups are identified by their first number")
    return X, ({"y": _beside(setting, records)["by"]} if setting.by_group else {})


Form = Callable[[Setting, tuple[Record, ...]], Made]
FORMS: dict[str, tuple[Form, tuple[str, ...]]] = {
    "pandas": (pandas, PATHS),
    "pandas objects": (pandas_objects, PATHS),
    "pandas nullable": (pandas_nullable, PATHS),
    "pandas categories": (pandas_categories, PATHS),
    "pandas decimals": (pandas_decimals, PATHS),
    "polars": (polars, PATHS),
    "lazy": (lazy, PATHS),
    "arrow": (arrow, PATHS),
    "arrow decimals": (arrow_decimals, PATHS),
    "parquet": (parquet, PATHS),
    "ipc": (ipc, PATHS),
    "duckdb": (duckdb, PATHS),
    "datasets": (datasets, PATHS),
    "combinations": (combinations, ("groups", "persons in groups")),
    "npy": (npy, PATHS),
    "lists": (lists, PATHS),
    "numpy": (numpy, PATHS),
    "sparse": (sparse, ("rows",)),
    "torch": (torch, PATHS),
    "scikit-learn": (scikit_learn, ("rows", "groups")),
}
"""All forms in this process except text, and their paths."""

"""Every form in which rows may come: how records become one, as somebody would make it who has these records."""

from __future__ import annotations

import datetime
import io
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.records import Base, Record

_PLAIN = (bool, int, float, str, bytes, list, type(None), datetime.date, datetime.datetime)
PATHS = ("rows", "persons", "groups", "persons in groups")
Made = tuple[Any, dict[str, Any]]
"""What is given to the library: the rows, and arguments beside them."""


@dataclass
class Setting:
    """What is public of a case, and the same for both neighbours."""

    path: str
    base: Base
    seed: str
    folder: Path
    names: tuple[str, ...] = ("id", "a", "b", "c")
    _picked: dict[str, Any] = field(default_factory=dict)

    def pick(self, what: str, *choices: Any) -> Any:
        """Return one of some choices, always the same."""
        if what not in self._picked:
            self._picked[what] = random.Random(f"{self.seed}/{what}").choice(choices)  # noqa: S311  cases are to be reproduced
        return self._picked[what]

    @property
    def who(self) -> str:
        """Name the column of persons; R calls the first column of a file by nothing at all."""
        return str(self.pick("who", "who", "who", ""))

    @property
    def team(self) -> str:
        """Name the column of groups."""
        return "team" if self.who == "" else str(self.pick("team", "team", "team", ""))

    @property
    def by_person(self) -> bool:
        """Whether all rows of one person are one."""
        return self.path.startswith("persons")

    @property
    def by_group(self) -> bool:
        """Whether rows are of groups."""
        return self.path.endswith("groups")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Name the columns of numbers."""
        return self.names[: len(self.base.records[0].values)]

    def keys(self) -> dict[str, Any]:
        """Return how the library is told of columns that are keys."""
        return {
            **({"privacy_unit": self.who} if self.by_person else {}),
            **({"by": self.team} if self.by_group else {}),
        }


def table(
    setting: Setting, records: tuple[Record, ...], *, vectors: bool
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return records as columns by name, and the arguments that name those to use."""
    chosen = bool(setting.pick("chosen", True, True, False))
    found: dict[str, list[Any]] = {}
    if setting.by_person or chosen:
        found[setting.who] = [one.who for one in records]
    if vectors:
        held = setting.pick("vector", list, list, tuple, np.array, lambda row: np.array(row, dtype="f4"))
        found["v"] = [held(one.values) if one.whole is None else one.whole for one in records]
    else:
        found |= {name: [one.values[j] for one in records] for j, name in enumerate(setting.coordinates)}
    if setting.by_group or chosen:
        found[setting.team] = [one.team for one in records]
    if chosen:
        found["note"] = [one.note for one in records]
    named = {"vector_column": "v"} if vectors else {"columns": list(setting.coordinates)}
    return found, {**(named if chosen or vectors else {}), **setting.keys()}


# --- data frames ---------------------------------------------------------------------------------------------


def pandas(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a frame of pandas, which finds types itself."""
    import pandas as pd

    columns, named = table(setting, records, vectors=setting.pick("vectors", False, False, False, True))
    return pd.DataFrame({name: pd.Series(cells_of(column)) for name, column in columns.items()}), named


def cells_of(column: list[Any]) -> Any:
    """Return a column as pandas finds it: an array where there are lists in it would be taken apart."""
    if any(hasattr(one, "__len__") and not isinstance(one, str | bytes) for one in column):
        cells = np.empty(len(column), dtype=object)
        for place, one in enumerate(column):
            cells[place] = one
        return cells
    return column


def pandas_objects(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a frame of objects."""
    frame, named = pandas(setting, records)
    return frame.astype(object), named


def pandas_nullable(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a frame of pandas' types that know of missing values, or of Arrow's."""
    frame, named = pandas(setting, records)
    return frame.convert_dtypes(dtype_backend=setting.pick("backend", "numpy_nullable", "pyarrow")), named


def pandas_categories(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a frame whose keys are categories, found in the data or in the base."""
    import pandas as pd

    frame, named = pandas(setting, records)
    for name in {setting.who, setting.team} & set(frame.columns):
        if setting.pick("known", True, False):
            known = pd.Series([one.who if name == setting.who else one.team for one in setting.base.records])
            frame[name] = pd.Categorical(frame[name], categories=known.unique())
        else:
            frame[name] = frame[name].astype("category")
    return frame, named


def pandas_decimals(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a frame whose keys are decimals."""
    import pandas as pd

    frame, named = pandas(setting, records)
    places = {}
    for name in {setting.who, setting.team, *setting.pick("decimals", (), ("a",))} & set(frame.columns):
        places[name] = [Decimal(str(one)) if isinstance(one, int | float) else one for one in frame[name]]
    return frame.assign(**{name: pd.Series(cells_of(column), dtype=object) for name, column in places.items()}), named


def polars(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a frame of polars: of the types of the base, or numbers of those that it finds; it would lose other keys."""
    import polars as pl

    vectors = setting.pick("vectors", False, False, False, True)
    columns, named = table(setting, records, vectors=vectors)
    known, _ = table(setting, setting.base.records, vectors=vectors)
    fixed = set(known) if setting.pick("fixed", True, False) else {setting.who, setting.team}
    if not all(type(one) in _PLAIN for record in records for one in (*record.values, record.who, record.team)):
        raise TypeError("polars would panic")
    kinds = {name: pl.Series(column, strict=False).dtype if name in fixed else None for name, column in known.items()}
    try:
        found = pl.DataFrame([pl.Series(name, one, kinds[name], strict=False) for name, one in columns.items()])
    except pl.exceptions.PanicException as error:
        raise TypeError("polars knows no such column") from error
    _insist_on_others(setting, records, columns, found.to_dict(as_series=False))
    return found, named


def _insist_on_others(
    setting: Setting, records: tuple[Record, ...], given: dict[str, list[Any]], made: dict[str, list[Any]]
) -> None:
    """Insist that a library left the other records as they were when it made a table: a neighbour differs in one."""
    others = {id(record) for record in setting.base.records}
    for name, column in given.items():
        for record, value, cell in zip(records, column, made[name], strict=True):
            if id(record) in others and not _is_same(value, cell):
                raise TypeError("the library changed another record")


def _is_same(value: Any, cell: Any) -> bool:
    if isinstance(value, list | tuple | np.ndarray):
        return cell is not None and all(_is_same(*pair) for pair in zip(value, cell, strict=True))
    if isinstance(value, Decimal | str | bytes | datetime.date) or value is None or cell is None:
        return bool(value == cell)
    return bool(value == cell or float(value) == float(cell) or value != value)


def arrow(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a table of Arrow, in chunks: of the types of the base, or of those that it finds."""
    import pyarrow as pa

    vectors = setting.pick("vectors", False, False, False, True)
    columns, named = table(setting, records, vectors=vectors)
    known, _ = table(setting, setting.base.records, vectors=vectors)
    fixed = setting.pick("fixed", True, True, False)
    if any(isinstance(one, np.datetime64 | np.timedelta64) for column in columns.values() for one in column):
        raise TypeError("Arrow would crash")
    kinds = {name: pa.array(column).type if fixed else None for name, column in known.items()}
    found = pa.table({name: pa.array(column, kinds[name]) for name, column in columns.items()})
    _insist_on_others(setting, records, columns, found.to_pydict())
    size = setting.pick("chunk", 1, 2, 3, 100)
    if setting.pick("batch", True, False, False) and found.num_rows:
        return found.combine_chunks().to_batches()[0], named
    return pa.concat_tables([found.slice(start, size) for start in range(0, max(len(records), 1), size)]), named


# --- files ---------------------------------------------------------------------------------------------------


def _columnar(setting: Setting, records: tuple[Record, ...], ending: str) -> Made:
    """Write a file, or two of which each has types of its own."""
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
    """Write an array to a file, with keys beside it."""
    array, keys = numpy(setting, records)
    if array.dtype.kind == "O":
        raise TypeError("no objects in files")
    path, file = setting.folder / "rows.npy", io.BytesIO()
    np.save(file, array)
    path.write_bytes(file.getvalue())
    return path, keys


# --- arrays, lists, matrices, tensors ------------------------------------------------------------------------


def _beside(setting: Setting, records: tuple[Record, ...]) -> dict[str, Any]:
    """Return keys beside an array: in a list, or in whatever a library makes of one."""
    import pandas as pd

    def held(name: str) -> Any:
        keys, known = ([getattr(one, name) for one in some] for some in (records, setting.base.records))
        how = setting.pick("keys", "list", "tuple", "array", "objects", "series", "nullable")
        if how == "array":
            return _typed(keys, known)
        if how in ("series", "nullable"):
            return pd.Series(cells_of(keys)) if how == "series" else pd.Series(cells_of(keys)).convert_dtypes()
        return {"list": list, "tuple": tuple, "objects": lambda keys: cells_of([*keys, ()])[:-1]}[how](keys)

    return {
        **({"privacy_unit": held("who")} if setting.by_person else {}),
        **({"by": held("team")} if setting.by_group else {}),
    }


def _typed(keys: list[Any], known: list[Any]) -> Any:
    """Return keys as an array of the type that the base has: another one would have made others of all keys."""
    kind = np.array(known).dtype
    if kind.kind not in "US":
        return np.array(keys, dtype=kind)
    if not all(isinstance(one, str if kind.kind == "U" else bytes) for one in keys):
        raise TypeError("an array holds keys of one kind")
    return np.array(keys)


def _lines(records: tuple[Record, ...]) -> list[Any]:
    return [list(one.values) if one.whole is None else one.whole for one in records]


def lists(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make lists in a list; NumPy finds out what they hold."""
    if setting.pick("flat", True, False, False):
        at = -1 if setting.path == "rows" else 0
        flat = [one.values[at] if one.whole is None else one.whole for one in records]
        return setting.pick("column", list, tuple, _series)(flat), _beside(setting, records)
    return _lines(records), _beside(setting, records)


def _series(column: list[Any]) -> Any:
    import pandas as pd

    return pd.Series(cells_of(column))


def numpy(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make an array: of a type that is given, or of the one that NumPy finds."""
    kinds = (None, None, "f8", "f8", "f4", "f2", "i8", "i4", "u8", "u1", ">f8", ">i8", "g")
    kinds += ("b1",) * (setting.path == "rows")
    with np.errstate(all="ignore"):
        array = np.array(_lines(records), dtype=setting.pick("dtype", *kinds))
    return np.asfortranarray(array) if setting.pick("order", True, False) else array, _beside(setting, records)


def sparse(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a sparse matrix of scipy."""
    from scipy import sparse as matrices

    array, _ = numpy(setting, records)
    kinds = ("csr_matrix", "csc_matrix", "coo_array", "lil_array", "csr_array", "dok_array", "bsr_array")
    return getattr(matrices, setting.pick("format", *kinds))(array), {}


def torch(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a tensor of PyTorch."""
    import torch as tensors

    kinds = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
    return tensors.tensor(_lines(records), dtype=getattr(tensors, setting.pick("tensor", *kinds))), {}


def scikit_learn(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make X and y of scikit-learn; X is a list, a frame, an array or a sparse matrix."""
    make = setting.pick("X", lists, pandas, numpy, sparse, polars)
    X, _ = make(Setting("rows", setting.base, setting.seed, setting.folder, _picked={"chosen": False}), records)
    return X, ({"y": _beside(setting, records)["by"]} if setting.by_group else {})


Form = Callable[[Setting, tuple[Record, ...]], Made]
FORMS: dict[str, tuple[Form, tuple[str, ...]]] = {
    "pandas": (pandas, PATHS),
    "pandas objects": (pandas_objects, PATHS),
    "pandas nullable": (pandas_nullable, PATHS),
    "pandas categories": (pandas_categories, PATHS),
    "pandas decimals": (pandas_decimals, PATHS),
    "polars": (polars, PATHS),
    "arrow": (arrow, PATHS),
    "parquet": (parquet, PATHS),
    "ipc": (ipc, PATHS),
    "npy": (npy, PATHS),
    "lists": (lists, PATHS),
    "numpy": (numpy, PATHS),
    "sparse": (sparse, ("rows",)),
    "torch": (torch, ("rows",)),
    "scikit-learn": (scikit_learn, ("rows", "groups")),
}
"""Forms of this process but text, and the paths that they may go."""

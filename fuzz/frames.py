"""Data frames of every library, made from records as users would make them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from fuzz.records import Record
from fuzz.setting import Made, Setting, cells_of, check_other_records, known_of, table

_PLAIN = (bool, int, float, str, bytes, list, type(None), datetime.date, datetime.datetime)


def pandas(setting: Setting, records: tuple[Record, ...], dtype: Any = None) -> Made:
    """Make a pandas frame; pandas infers the types."""
    import pandas as pd

    columns, named = table(setting, records, vectors=setting.pick("vectors", False, False, False, True))
    return pd.DataFrame({name: pd.Series(cells_of(column), dtype=dtype) for name, column in columns.items()}), named


def pandas_objects(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a pandas frame of objects."""
    return pandas(setting, records, object)


def pandas_nullable(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a pandas frame with nullable types, or with Arrow types."""
    objects, named = pandas(setting, records, object)
    frame = objects.convert_dtypes(dtype_backend=setting.pick("backend", "numpy_nullable", "pyarrow"))
    keys = {setting.who, setting.team} & set(frame.columns)
    given, made = ({name: known_of(one[name]) for name in keys} for one in (objects, frame))
    check_other_records(setting, records, given, made)
    return frame, named


def pandas_categories(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a pandas frame whose keys are categories, from the data or from the base."""
    import pandas as pd

    objects, named = pandas(setting, records, object)
    frame, keys = objects.infer_objects(), {setting.who, setting.team} & set(objects.columns)
    for name in keys:
        known = pd.Series([one.who if name == setting.who else one.team for one in setting.base.records])
        fixed = setting.pick("known", True, False)
        frame[name] = pd.Categorical(objects[name], categories=known.unique() if fixed else None)
    given, made = ({name: known_of(one[name]) for name in keys} for one in (objects, frame))
    check_other_records(setting, records, given, made)
    return frame, named


def pandas_decimals(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a pandas frame whose keys are decimals, and sometimes also its numbers."""
    frame, named = pandas(setting, records, object)
    for name in {setting.who, setting.team, *setting.pick("decimals", (), ("a",))} & set(frame.columns):
        frame[name] = cells_of([Decimal(str(one)) if isinstance(one, int | float) else one for one in frame[name]])
    return frame.infer_objects(), named


def polars(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make a polars frame with the types of the base, or with inferred types for numbers; keys would be lost."""
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
        made = found.to_dict(as_series=False)
    except pl.exceptions.PanicException as error:
        raise TypeError("polars does not support such a column") from error
    check_other_records(setting, records, columns, made)
    return found, named


def arrow(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make an Arrow table, in chunks, with the types of the base or with inferred types."""
    import pyarrow as pa

    vectors = setting.pick("vectors", False, False, False, True)
    columns, named = table(setting, records, vectors=vectors)
    known, _ = table(setting, setting.base.records, vectors=vectors)
    fixed = setting.pick("fixed", True, True, False)
    if any(isinstance(one, np.datetime64 | np.timedelta64) for column in columns.values() for one in column):
        raise TypeError("Arrow would crash")
    kinds = {name: pa.array(column).type if fixed else None for name, column in known.items()}
    return _chunked(setting, records, columns, kinds), named


def arrow_decimals(setting: Setting, records: tuple[Record, ...]) -> Made:
    """Make an Arrow table whose numbers are decimals, of a fixed type or of an inferred one."""
    import pyarrow as pa

    vectors = setting.pick("vectors", False, False, False, True)
    columns, named = table(setting, records, vectors=vectors)
    kind = setting.pick("decimal", None, None, pa.decimal256(76, 30), pa.decimal128(38, 9), pa.decimal128(30, 0))
    kinds: dict[str, Any] = dict.fromkeys(columns)
    for name in {*setting.coordinates, "v"} & set(columns):
        columns[name] = [[*map(_decimal, one)] if name == "v" else _decimal(one) for one in columns[name]]
        kinds[name] = kind if kind is None or name != "v" else pa.list_(kind)
    return _chunked(setting, records, columns, kinds), named


def _decimal(value: Any) -> Decimal | None:
    return None if value is None or value != value else Decimal(repr(value))


def _chunked(setting: Setting, records: tuple[Record, ...], columns: dict[str, Any], kinds: dict[str, Any]) -> Any:
    """Return columns as an Arrow table, in chunks, or as a batch."""
    import pyarrow as pa

    found = pa.table({name: pa.array(column, kinds[name]) for name, column in columns.items()})
    check_other_records(setting, records, columns, found.to_pydict())
    size = setting.pick("chunk", 1, 2, 3, 100)
    if setting.pick("batch", True, False, False) and found.num_rows:
        return found.combine_chunks().to_batches()[0]
    return pa.concat_tables([found.slice(start, size) for start in range(0, max(len(records), 1), size)])

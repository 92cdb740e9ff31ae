"""The cells of one text column, sorted into numbers, missing values, and other contents by their kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmean.queries.queries import Floats, Ints
from dpmean.rows.files.csv_records import MISSING, Fields
from dpmean.rows.inspection.findings import DATE, TEXT, TRUTH

_NUMBER = r"^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity|nan)$"
"""A pattern for what may be a number; the reader decides."""
_SPACE = r"(?:[ _']|\xc2\xa0|\xa0|\xe2\x80\xaf|\xe2\x80\x99)"
_CURRENCY = r"(?:\$|\xe2\x82\xac|\xc2\xa3|\xc2\xa5|EUR|USD|GBP|CHF)"
_THOUSANDS, _UNIT = "a number with a thousands separator", "a number with a unit or a currency"
_POINT = f"{_THOUSANDS}, or with a decimal point"
_KINDS = (
    (DATE, r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ].*)?$|^\d{1,2}[-/.]\d{1,2}[-/.](?:\d{2}|\d{4})(?:[T ].*)?$"),
    ("a time of day", r"^\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?$"),
    ("a percentage", r"^[+-]?[\d.,]+\s*%$"),
    ("a number with a sign such as < before it", r"^(?:[<>~]=?|\xe2\x89[\xa4\xa5])\s*[+-]?[\d.,]+$"),
    (_THOUSANDS, r"^[+-]?\d{1,3}(?:[.]\d{3}){2,}(?:,\d+)?$|^[+-]?\d{1,3}(?:,\d{3}){2,}(?:\.\d+)?$"),
    (_THOUSANDS, rf"^[+-]?\d{{1,3}}(?:{_SPACE}\d{{3}})+(?:[.,]\d+)?$"),
    (_THOUSANDS, r"^[+-]?\d{1,3}(?:,\d{3})+\.\d+$|^[+-]?\d{1,3}(?:\.\d{3})+,\d+$"),
    (f"{_THOUSANDS}, or with a decimal comma (then give --decimal ,)", r"^[+-]?\d+,\d+$"),
    (_POINT, r"^[+-]?\d+\.\d+$"),
    (_UNIT, rf"^{_CURRENCY}\s*[+-]?\d[\d.,]*$|^[+-]?\d[\d.,]*\s*{_CURRENCY}$"),
    (_UNIT, r"^[+-]?\d[\d.,]*(?:\s+[^\d\s]{1,6}|kg|g|mg|km|m|cm|mm|l|ml|h|min|s)$"),
    (
        "a code for a missing value that is not recognized (write NA)",
        r"(?i)^(?:-+|\?+|\.|none|<na>|missing|unknown|k\.?a\.?)$",
    ),
    (TRUTH, r"(?i)^(?:true|false|yes|no|y|n|ja|nein|oui|non)$"),
)
"""Kinds of non-numeric contents with their patterns; the first match counts. Patterns match bytes, not characters."""


def read_cells(cells: Any, odd: NDArray[np.bool_], decimal: str) -> tuple[Floats, NDArray[np.bool_], Ints]:
    """Read an Arrow array of text: return numbers (NaN for others), which are missing, and where others are."""
    import pyarrow as pa
    import pyarrow.compute as compute

    missing, at = np.zeros(len(cells), dtype=np.bool_), np.flatnonzero(odd)
    words = pa.array(sorted(MISSING), pa.large_string())
    missing[at] = compute.is_in(cells.take(pa.array(at)), value_set=words).to_numpy(zero_copy_only=False)
    numbers, known = np.full(len(cells), np.nan), missing.copy()
    if (found := _numbers(cells, odd, decimal)) is not None:
        return found, np.isnan(found), np.empty(0, dtype=np.int64)
    pattern = _NUMBER.replace(r"\.", decimal) if decimal == "," else _NUMBER
    likely = compute.match_substring_regex(_as_bytes(cells), pattern).to_numpy(zero_copy_only=False)
    for some, found in _find_numbers(cells, odd, decimal, np.flatnonzero(likely & ~missing)):
        numbers[some], known[some] = found, True
    return numbers, known & np.isnan(numbers), np.flatnonzero(~known)


def name_kinds(cells: Any, others: Ints, decimal: str) -> Iterator[tuple[str, Ints]]:
    """Yield each kind of non-numeric contents, and where it occurs."""
    import pyarrow as pa
    import pyarrow.compute as compute

    left = others
    for kind, pattern in _KINDS:
        if not len(left):
            return
        if kind == _POINT and decimal == ".":
            continue
        found = compute.match_substring_regex(_as_bytes(cells.take(pa.array(left))), pattern)
        fits = found.to_numpy(zero_copy_only=False)
        if fits.any():
            yield kind, left[fits]
            left = left[~fits]
    if len(left):
        yield TEXT, left


def _numbers(cells: Any, odd: NDArray[np.bool_], decimal: str) -> Floats | None:
    """Read cells as the file reader does; None if one is not a number."""
    import pyarrow as pa

    whole = cells if not cells.offset else pa.concat_arrays([cells])
    _, stops, packed = whole.buffers()
    text = np.empty(0, dtype=np.uint8) if packed is None else np.frombuffer(packed, dtype=np.uint8)
    fields = Fields(text, np.frombuffer(stops, dtype=np.int64)[: len(cells) + 1], odd)
    try:
        return fields.as_numbers(decimal)
    except (pa.ArrowException, ValueError):
        return None


def _find_numbers(cells: Any, odd: NDArray[np.bool_], decimal: str, places: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Yield the places of cells that the reader accepts as numbers, and the numbers."""
    import pyarrow as pa

    if not len(places):
        return
    found = _numbers(cells.take(pa.array(places)), odd[places], decimal)
    if found is not None:
        yield places, found
    elif len(places) > 1:
        for half in np.array_split(places, 2):
            yield from _find_numbers(cells, odd, decimal, half)


def _as_bytes(cells: Any) -> Any:
    """Return text, which may not be valid UTF-8, as bytes."""
    import pyarrow as pa

    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(cells), cells.buffers(), offset=cells.offset)

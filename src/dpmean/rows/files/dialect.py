"""The dialect of a CSV file, as the caller declares it: separator, decimal mark, encoding, quotes, line breaks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import final

from dpmean.enums import Newlines

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""The separators that are recognised in a header, with their names in messages."""


@final
@dataclass(frozen=True, slots=True)
class Dialect:
    """What the caller declares about a file; what is None is read from its first line."""

    sep: str | None = None
    decimal: str = "."
    encoding: str | None = None
    quotechar: str = '"'
    newlines: Newlines = Newlines.RECORDS

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the arguments that differ from their defaults; they apply to text files only."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != one.default)


USUAL = Dialect()
"""The defaults: the caller declares nothing."""


def name_separator(sep: str) -> str:
    """Return the name of a separator for a message."""
    return SEPARATORS.get(sep, f"{sep!r}")

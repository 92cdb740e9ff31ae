"""How a CSV file is written, as far as the caller says: separator, decimal mark, encoding, quotes, line breaks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import final

from dpmean.enums import Newlines

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""What may be found between names, and how people call it."""


@final
@dataclass(frozen=True, slots=True)
class Dialect:
    """What the caller says of a file; what is None, its first line tells."""

    sep: str | None = None
    decimal: str = "."
    encoding: str | None = None
    quotechar: str = '"'
    newlines: Newlines = Newlines.RECORDS

    @property
    def given(self) -> tuple[str, ...]:
        """The arguments that are not as they are by default: they make sense for text alone."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != one.default)


USUAL = Dialect()
"""Nothing is said."""


def name_separator(sep: str) -> str:
    """Return what people call a separator."""
    return SEPARATORS.get(sep, f"{sep!r}")

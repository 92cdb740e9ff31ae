"""A corpus of odd CSV files: 200 ways to write the same table, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

COUNT = 200
_NOTES = (
    "fine",
    "",
    "a b",
    "O'Neil",
    "50 %",
    "<0.5",
    "-",
    "café",
    "größer",
    "n/a",
    "x;y",
    "u,v",
    "p|q",
    'say "so"',
    "t\tt",
)
_MISSING = ("", "", "", "NA", "NA", "nan", "NULL", "n/a", "#N/A", "None", "-", "?")
_ENCODINGS = (
    "utf-8",
    "utf-8",
    "utf-8-sig",
    "latin-1",
    "cp1252",
    "utf-16",
    "utf-16-le with mark",
    "utf-16-be with mark",
)
_ENDS = (*"\n" * 6, *["\r\n"] * 5, "\r")
_TROUBLES = (
    *[""] * 9,
    "blank lines",
    "blank lines",
    "comment",
    "ragged",
    "trailing separators",
    "trailing separators",
    "no end",
    "odd quotes",
    "thousands",
)


@dataclass(frozen=True)
class Drawn:
    """One way to write a table, and one that was written so."""

    number: int
    sep: str
    quote: str
    quotes: str
    decimal: str
    encoding: str
    end: str
    spaces: bool
    trouble: str
    missing: str
    names: tuple[str, ...]
    records: tuple[tuple[object, ...], ...] = field(repr=False)

    @property
    def suffix(self) -> str:
        """The end of its name: archives as well."""
        return (".csv", ".csv", ".txt", ".tsv", ".csv.gz", ".csv.zst")[self.number % 6]

    @property
    def codec(self) -> str:
        """What Python calls the encoding."""
        return self.encoding.removesuffix(" with mark")

    def line(self, record: tuple[object, ...]) -> str:
        """Return a record as text, without its end."""
        cells = [self._cell(value) for value in record]
        between = self.sep + " " * self.spaces
        return between.join(cells) + self.sep * (self.trouble == "trailing separators")

    def _cell(self, value: object) -> str:
        if value is None:
            words = self.missing
        elif isinstance(value, float):
            words = f"{value:.4f}".replace(".", self.decimal)
        else:
            words = (
                str(value)
                .encode(self.codec, "replace")
                .decode(self.codec)
                .replace("\t", " " if self.sep == "\t" else "\t")
            )
        needed = any(sign in words for sign in (self.sep, self.quote)) or (self.spaces and words != words.strip())
        if self.trouble == "odd quotes" and words == "fine":
            return f"fi{self.quote}ne"
        if self.quotes == "all" or needed:
            return self.quote + words.replace(self.quote, self.quote * 2) + self.quote
        return words

    def lines(self, records: tuple[tuple[object, ...], ...] | None = None) -> list[str]:
        """Return all lines, the names first."""
        records = self.records if records is None else records
        found = [self.line(self.names), *map(self.line, records)]
        draw = random.Random(self.number)
        odd = {"blank lines": "", "comment": "# a comment", "ragged": self.line(self.records[0]) + self.sep + "1"}
        if self.trouble in odd:
            found.insert(draw.randrange(1, len(found)), odd[self.trouble])
        if self.trouble == "thousands":
            found[3] = self.line(("p3", "1'234" if self.decimal == "." else "1.234,5", 2.0, "fine"))
        return found

    def write(self, lines: list[str]) -> bytes:
        """Return the bytes of a file."""
        text = self.end.join(lines) + self.end * (self.trouble != "no end")
        mark = "\ufeff" * self.encoding.endswith("with mark")
        return (mark + text).encode(self.codec, "replace")


def draw(number: int) -> Drawn:
    """Return one of the corpus."""
    chance = random.Random(f"dialect {number}")
    sep = chance.choice(",,;;;\t\t|")
    decimal = chance.choice(".," if sep != "," else ".")
    records = tuple(
        (
            f"p{i % 7}",
            None if chance.random() < 0.1 else round(chance.gauss(40, 20), 4),
            float(chance.randrange(1000)),
            chance.choice(_NOTES),
        )
        for i in range(chance.randrange(8, 40))
    )
    return Drawn(
        number,
        sep,
        chance.choice('"""\''),
        chance.choice(("needed", "needed", "all")),
        decimal,
        chance.choice(_ENCODINGS),
        chance.choice(_ENDS),
        chance.random() < 0.1,
        chance.choice(_TROUBLES),
        chance.choice(_MISSING),
        ("who", "größe" if chance.random() < 0.5 else "age", "height", "note"),
        records,
    )


CORPUS = [draw(number) for number in range(COUNT)]

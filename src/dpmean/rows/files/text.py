"""The text of a file, plain or compressed, as bytes in which every ASCII character is one byte."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from dpmean.errors import ArgumentError, DataError
from dpmean.rows.files.reader import read_safely

ARCHIVES = (".gz", ".zst")
LONGEST_LINE = 64 << 20
"""The largest size of a first line, in bytes."""
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Byte order marks."""
_UNMARKED = (
    '{} does not begin with a byte order mark, which encoding="utf-16" needs: give encoding="utf-16-le" (the usual '
    'one) or "utf-16-be"'
)
_MARKED = "{} begins with the byte order mark of {}, got encoding={!r}: leave encoding out"
_CUT_OFF = "the files cannot be read (an archive is empty), so nothing was released: check that they are complete"


@final
@dataclass(frozen=True, slots=True)
class Text:
    """A text file. UTF-16 is converted to UTF-8 as it is read; text with one byte per character is not."""

    path: Path
    encoding: str
    mark: int
    """The length of its byte order mark, in bytes."""
    marked: bool
    """Whether the encoding was taken from that mark alone."""

    @staticmethod
    def open(path: Path, encoding: str | None) -> Text:
        """Read the first bytes of a file, and choose its encoding if none is given: by its mark, otherwise UTF-8."""
        if path.suffix.lower() in ARCHIVES and not path.stat().st_size:
            raise DataError(_CUT_OFF)
        with closing(_open(path)) as file:
            start = _read_exactly(path, file, 3)
        mark, found = next(((mark, name) for mark, name in _MARKS.items() if start.startswith(mark)), (b"", None))
        if encoding == "utf-16" and found is None:
            raise ArgumentError(_UNMARKED.format(path.name))
        fits = encoding is None or encoding == found or (encoding == "utf-16" and found != "utf-8")
        if found is not None and not fits:
            raise ArgumentError(_MARKED.format(path.name, name_encoding(found), encoding))
        return Text(path, found or encoding or "utf-8", len(mark), encoding is None and found is not None)

    @property
    def in_order(self) -> bool:
        """Whether the file can only be read from its beginning."""
        return self.path.suffix.lower() in ARCHIVES or self.is_wide

    @property
    def is_wide(self) -> bool:
        """Whether every character has at least two bytes."""
        return self.encoding.startswith("utf-16")

    def first_lines(self, size: int) -> tuple[bytes, bytes]:
        """Return the first line, and the second one as far as it lies in about the first ``size`` bytes."""
        held, ends = bytearray(), 0
        for piece in self.between(0, None, size):
            held += piece
            ends += piece.count(b"\n")
            if ends > 1 or len(held) > (size if ends else LONGEST_LINE):
                break
        first, end, rest = bytes(held).partition(b"\n")
        return first + end, b"".join(rest.partition(b"\n")[:2])

    def between(self, start: int, stop: int | None, size: int) -> Iterator[bytes]:
        """Yield the text between two offsets, counted after the mark, about ``size`` bytes at a time."""
        at = 0
        with closing(_open(self.path)) as file:
            if self.in_order:
                _read_exactly(self.path, file, self.mark)
            else:
                file.seek(self.mark + start)
                at = start
            for piece in self._pieces(file, size):
                first, last = max(start - at, 0), len(piece) if stop is None else max(stop - at, 0)
                at += len(piece)
                if found := piece[first:last]:
                    yield found
                if stop is not None and at >= stop:
                    return

    def span(self, start: int, stop: int) -> bytes:
        """Return the text between two offsets of a file that allows random access."""
        with open(self.path, "rb") as file:
            file.seek(self.mark + start)
            return file.read(stop - start)

    def as_utf8(self, text: bytes) -> bytes:
        """Return text in UTF-8; invalid characters become invalid UTF-8, and change no others."""
        if self.is_wide or self.encoding == "utf-8":
            return text
        return text.decode(self.encoding, "surrogateescape").encode("utf-8", "surrogatepass")

    def _pieces(self, file: Any, size: int) -> Iterator[bytes]:
        if not self.is_wide:
            while piece := _read(self.path, file, size):
                yield piece
            return
        decoder = codecs.getincrementaldecoder(self.encoding)("surrogatepass")
        while piece := _read(self.path, file, size):
            yield read_safely(decoder.decode, piece).encode("utf-8", "surrogatepass")
        yield read_safely(decoder.decode, b"", final=True).encode("utf-8", "surrogatepass")


def name_encoding(encoding: str) -> str:
    """Return the name of an encoding for a message."""
    return {"iso8859-1": "Latin-1"}.get(encoding, encoding.upper() if encoding.startswith("utf") else encoding)


def _open(path: Path) -> Any:
    """Open a file; an archive is unpacked while it is read."""
    archive = path.suffix.lower()
    if archive == ".zst":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")
    return gzip.open(path, "rb") if archive == ".gz" else open(path, "rb")


def _read(path: Path, file: Any, size: int) -> bytes:
    """Read some bytes; refuse a damaged or truncated archive."""
    if path.suffix.lower() not in ARCHIVES:
        return bytes(file.read(size))
    return bytes(read_safely(file.read, size))


def _read_exactly(path: Path, file: Any, size: int) -> bytes:
    """Read ``size`` bytes, or fewer if the file ends."""
    held = b""
    while len(held) < size and (more := _read(path, file, size - len(held))):
        held += more
    return held

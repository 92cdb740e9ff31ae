"""Output: documents to the standard output, everything else to the error output, color only in a terminal."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from dpmean.cli.typed import as_typed

_PLAINER = {"±": "+-", "é": "e"}


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Return replacements for characters that the encoding of an output lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAINER.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("dpmean.plainer", _plainer)


def print_anywhere() -> None:
    """Replace characters that the encoding of an output lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="dpmean.plainer")


def print_no_more() -> None:
    """Give up an output that failed, so that it does not fail again at the end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def why_not_printed(error: BaseException) -> BaseException:
    """Return why printing failed; raise any other error. Rich and click exit if the reader of a pipe is gone."""
    if isinstance(error, SystemExit):
        if not isinstance(error.__context__, BrokenPipeError):
            raise error
        return error.__context__
    return error


def out() -> Console:
    """Return the console for results."""
    return Console(highlight=False, emoji=False, markup=False)


def err() -> Console:
    """Return the console for messages."""
    return Console(stderr=True, highlight=False, emoji=False, markup=False)


def printable(text: str) -> str:
    """Return text without terminal control characters: names in files are not trusted."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "\N{REPLACEMENT CHARACTER}" for sign in text)


def trouble(message: str) -> None:
    """Print an error."""
    err().print(Text.assemble(("dpmean: ", "bold red"), printable(message)), soft_wrap=True)


def note(message: str) -> None:
    """Print a note."""
    err().print(Text.assemble(("dpmean: ", "bold yellow"), printable(message)), soft_wrap=True)


@contextlib.contextmanager
def working(words: str) -> Iterator[None]:
    """Show a progress line in a terminal, and the warnings of the library afterwards."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning, module="dpmean")
        try:
            with bar(*columns) as progress:
                progress.add_task(words, total=None)
                yield
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                note(as_typed(message))


def bar(*columns: SpinnerColumn | TextColumn | BarColumn | TaskProgressColumn | TimeElapsedColumn) -> Progress:
    """Return a progress bar, which is shown only in a terminal, and removed at the end."""
    columns = columns or (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    console = err()
    return Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty())


def table(title: str, made: RenderableType) -> None:
    """Print a table under its title."""
    console = out()
    _put(console, Text(printable(title), style="bold"))
    _put(console, Padding(made, (0, 0, 1, 2)))


def warning(words: str) -> None:
    """Print a warning."""
    _put(out(), Text(printable(words), style="bold yellow"))


def release(text: str) -> None:
    """Print a release: its title in bold, and labels and warnings in color."""
    shown = Text(printable(text))
    shown.highlight_regex(r"\A.+", "bold")
    shown.highlight_regex(r"(?m)^[a-z]+(?=  )", "cyan")
    shown.highlight_regex(r"(?m)^[A-Z]+(?: [A-Z]+)?(?=:|  )", "bold yellow")
    _put(out(), shown, soft_wrap=True)


def _put(console: Console, what: RenderableType, *, soft_wrap: bool = False) -> None:
    """Print something; in files and pipes, without trailing blanks."""
    if console.is_terminal:
        console.print(what, soft_wrap=soft_wrap)
        return
    with console.capture() as held:
        console.print(what, soft_wrap=soft_wrap)
    console.file.write("\n".join(line.rstrip() for line in held.get().split("\n")))
    console.file.flush()


def sheet(paragraphs: Iterable[tuple[str, str]]) -> None:
    """Print labels and text, as wide as the terminal allows."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for label, words in paragraphs:
        grid.add_row(f"  {label}", printable(words))
    _put(out(), grid)


def plan(text: str) -> None:
    """Print a title, and below it one paragraph per line that begins with two blanks."""
    title, *lines = printable(text).split("\n")
    _put(out(), Text(title, style="bold"))
    paragraphs = re.split(r"\n  (?! )", "\n" + "\n".join(lines))[1:]
    for words in paragraphs:
        _put(out(), Padding(Text(" ".join(words.split())), (0, 0, 0, 2)))

"""How a command ended: an exit code, and one line that says why, for people or as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import click

from dpmean.cli import show
from dpmean.cli.typed import as_typed
from dpmean.errors import (
    DataError,
    DpMeanError,
    EntropyError,
    LedgerError,
    OverspendError,
    TooFewRowsError,
)

USAGE, DATA, BUDGET, STOPPED, BROKEN = 2, 3, 4, 130, 1
_KINDS = {USAGE: "usage", DATA: "data", BUDGET: "budget", STOPPED: "stopped", BROKEN: "internal"}
_EXTRAS = {
    "scipy": "sparse",
    "cryptography": "shuffle",
    "jinja2": "figures",
    "matplotlib": "figures",
    "sklearn": "figures",
}
_TRACEBACK = "DPMEAN_TRACEBACK"


@contextlib.contextmanager
def well_if_nobody_reads() -> Iterator[None]:
    """End well where whoever read our output has seen enough; click and rich would call that an error."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        show.why_not_printed(error)
        show.print_no_more()
        raise click.exceptions.Exit(0) from None


def of(command: Callable[[], Any], *, as_json: bool) -> int:
    """Run a command and return its exit code; what went wrong is told here and nowhere else."""
    show.print_anywhere()
    try:
        code = command()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except (Exception, KeyboardInterrupt) as error:
        code, message = _explained(error)
        _tell(code, as_typed(message), as_json=as_json)
        if os.environ.get(_TRACEBACK):
            traceback.print_exception(error)
    return code if isinstance(code, int) else 0


def _tell(code: int, message: str, *, as_json: bool) -> None:
    if not as_json:
        show.trouble(message)
        return
    try:
        click.echo(json.dumps({"error": {"kind": _KINDS[code], "message": message}}))
    except OSError:  # the output may be what failed
        show.print_no_more()
        show.trouble(message)


def _explained(error: BaseException) -> tuple[int, str]:
    """Return an exit code and a line. Errors of others are not repeated: they may quote a row."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            return STOPPED, "stopped"
        case click.FileError():
            return DATA, error.format_message()
        case click.UsageError() if error.ctx is not None:
            return USAGE, f"{error.format_message().rstrip('.')} ({error.ctx.command_path} --help explains)"
        case click.ClickException():
            return USAGE, error.format_message()
        case DataError() | TooFewRowsError() | LedgerError():
            return DATA, str(error)
        case OverspendError():
            return BUDGET, str(error)
        case EntropyError():
            return BROKEN, str(error)
        case DpMeanError():
            return USAGE, str(error)
        case ModuleNotFoundError():
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            package = f"'dpmean[{extra}]'" if extra else error.name
            return USAGE, f"{error.name} is not installed: pip install {package}"
        case OSError() if error.filename is not None and error.strerror:
            return DATA, f"{error.filename}: {error.strerror.lower()}"
        case OSError() if error.errno is not None and error.strerror == os.strerror(error.errno):
            return DATA, f"cannot read or write: {error.strerror.lower()}"
        case MemoryError():
            return DATA, "there is not enough memory for these rows"
    name = type(error).__name__
    cure = f"{_TRACEBACK}=1 shows where, but may also show rows"
    return BROKEN, f"an error that should not happen ({name}): please report it; {cure}"

"""The outcome of a command: an exit code, and one line for an error, for people or as JSON."""

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
def exit_if_output_is_closed() -> Iterator[None]:
    """Exit with 0 if the reader of the output has closed it; click and rich would raise an error."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        show.why_not_printed(error)
        show.print_no_more()
        raise click.exceptions.Exit(0) from None


def run(command: Callable[[], Any], *, as_json: bool) -> int:
    """Run a command and return its exit code. Errors are printed here and nowhere else."""
    show.print_anywhere()
    try:
        code = command()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except (Exception, KeyboardInterrupt) as error:
        code, message = _explain(error)
        _print_error(code, as_typed(message), as_json=as_json)
        if os.environ.get(_TRACEBACK):
            traceback.print_exception(error)
    return code if isinstance(code, int) else 0


def _print_error(code: int, message: str, *, as_json: bool) -> None:
    if not as_json:
        show.trouble(message)
        return
    try:
        click.echo(json.dumps({"error": {"kind": _KINDS[code], "message": message}}))
    except OSError:  # the output itself may have failed
        show.print_no_more()
        show.trouble(message)


def _explain(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the message of an error. Messages of other libraries may quote a row: hide them."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            return STOPPED, "interrupted"
        case click.FileError():
            return DATA, error.format_message()
        case click.UsageError() if error.ctx is not None:
            return USAGE, f"{error.format_message().rstrip('.')} (see {error.ctx.command_path} --help)"
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
            return USAGE, f"{error.name} is not installed: run pip install {package}"
        case OSError() if error.filename is not None and error.strerror:
            return DATA, f"{error.filename}: {error.strerror.lower()}"
        case OSError() if error.errno is not None and error.strerror == os.strerror(error.errno):
            return DATA, f"cannot read or write: {error.strerror.lower()}"
        case MemoryError():
            return DATA, "there is not enough memory for these rows: use fewer columns, or a Parquet file"
    name = type(error).__name__
    cure = f"{_TRACEBACK}=1 prints where it happened, but the output may contain rows"
    return BROKEN, f"internal error ({name}): please report it; {cure}"

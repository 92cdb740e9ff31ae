"""How a command ended: an exit code, and one line that says why, for people or as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import click

from dpmean.cli import show
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
    "pyarrow": "files",
    "scipy": "sparse",
    "cryptography": "shuffle",
    "jinja2": "figures",
    "matplotlib": "figures",
    "sklearn": "figures",
}
_TYPED = {
    "allow_few_rows=True": "--allow-few-rows",
    'pass nan="impute"': "give --nan impute",
    "(zero with norm_bound)": "(zero with --norm-bound)",
    "Give neighbours and privacy_unit as before": "Give --neighbours and --privacy-unit as before",
    "Leave neighbours out in the central": "Leave --neighbours out in the central",
    'with neighbours="replace-one" before its first release': "with --ledger-neighbours replace-one at its first use",
    "exactly one of norm_bound and bounds is": "exactly one of --norm-bound and --bounds (or --lower and --upper) is",
}
"""What the library says, and how it is typed here."""
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
        _tell(code, _on_the_command_line(message), as_json=as_json)
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


def _on_the_command_line(message: str) -> str:
    """Return a message of the library with its cures as they are typed here: rho=0.5 becomes --rho 0.5."""
    said, give, cure = message.partition(": give ")
    cure = re.sub(r"\bbounds=\((\S+), (\S+)\)", r"--lower \1 --upper \2", cure)
    cure = re.sub(r"\b([a-z]+(?:_[a-z]+)?)=\"?([\w.-]+)\"?", lambda m: f"--{m[1].replace('_', '-')} {m[2]}", cure)
    message = said + give + cure
    for words, typed in _TYPED.items():
        message = message.replace(words, typed)
    return re.sub(r"\bask for at most (rho|epsilon)=", r"ask for at most --\1 ", message)


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

"""How a command ended: an exit code, and one line that says why, for people or as JSON."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Callable
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
_TRACEBACK = "DPMEAN_TRACEBACK"


def of(command: Callable[[], Any], *, as_json: bool) -> int:
    """Run a command and return its exit code; what went wrong is told here and nowhere else."""
    try:
        code = command()
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:
        code, message = _explained(error)
        message = _on_the_command_line(message)
        if as_json:
            click.echo(json.dumps({"error": {"kind": _KINDS[code], "message": message}}))
        else:
            show.trouble(message)
        if os.environ.get(_TRACEBACK):
            traceback.print_exception(error)
    return code if isinstance(code, int) else 0


def _on_the_command_line(message: str) -> str:
    """Return a message of the library with its cures as they are typed here: rho=0.5 becomes --rho 0.5."""
    said, give, cure = message.partition(": give ")
    cure = re.sub(r"\bbounds=\((\S+), (\S+)\)", r"--lower \1 --upper \2", cure)
    cure = re.sub(r"\b([a-z]+(?:_[a-z]+)?)=\"?([\w.-]+)\"?", lambda m: f"--{m[1].replace('_', '-')} {m[2]}", cure)
    return (said + give + cure).replace("allow_few_rows=True", "--allow-few-rows")


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
        case MemoryError():
            return DATA, "there is not enough memory for these rows"
    name = type(error).__name__
    cure = f"{_TRACEBACK}=1 shows where, but may also show rows"
    return BROKEN, f"an error that should not happen ({name}): please report it; {cure}"

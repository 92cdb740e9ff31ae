"""How a command ended: an exit code, and one line that says why, for people or as JSON."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from dpmean.cli import show
from dpmean.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
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
        if as_json:
            click.echo(json.dumps({"error": {"kind": _KINDS[code], "message": message}}))
        else:
            show.trouble(message, error.ctx if isinstance(error, click.UsageError) else None)
        if os.environ.get(_TRACEBACK):
            traceback.print_exception(error)
    return code if isinstance(code, int) else 0


def _explained(error: BaseException) -> tuple[int, str]:
    """Return an exit code and a line. Errors of others are not repeated: they may quote a row."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            return STOPPED, "stopped"
        case click.FileError():
            return DATA, error.format_message()
        case click.ClickException():
            return USAGE, error.format_message()
        case DataError() | TooFewRowsError() | LedgerError():
            return DATA, str(error)
        case OverspendError():
            return BUDGET, str(error)
        case ArgumentError() | ArgumentTypeError():
            return USAGE, str(error)
        case EntropyError():
            return BROKEN, str(error)
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

"""The command line: any arguments, on files with a secret."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from dpmean import cli
from fuzz.judge import SECRET, check_message

_WORDS = ["mean", "plan", "convert", "ledger", "show", "completion", "bash", "--help", "--json", "rows.csv", "rows.npy"]
_WORDS += [
    "--rho",
    "0.5",
    "--epsilon",
    "--delta",
    "1e-6",
    "--norm-bound",
    "10",
    "--lower",
    "--upper",
    "-5",
    "5",
    "1e-999",
]
_WORDS += ["--columns", "a,b", "--by", "who", "--groups", "x,y", "--privacy-unit", "--sizes", "public", "--neighbours"]
_WORDS += ["add-or-remove-one", "--nan", "impute", "--allow-few-rows", "--method", "clipped", "--ledger", "b.json"]
_WORDS += ["--ledger-neighbours", "replace-one"]
_WORDS += ["--ledger-rho", "--out", "o.json", "--format", "csv", "--seed", "1", "--n", "4000", "--d", "8", "--trust"]
_WORDS += ["local", "--vector-column", "a", "--passes", "", "\x1b[2J", "é", "--", "-", "nan", "[red]"]
_WORDS += ["--shape", "auto", "round", "1,2", "a=1,b=2", "a=1", "1e400,1", "=,="]
_WORDS += ["--population", "--count-values", "--nan", "drop", "a=drop,b=1", "--contributions", "2"]
_WORDS += ["--error", "0.01", "--scale", "--rows", "skewed", "check", "--sep", ";", "tab", "--decimal", ","]
_WORDS += ["--encoding", "latin-1", "utf-16", "--quotechar", "--newlines", "quoted"]
_EXPECTED = {0, 2, 3, 4}


def seeds() -> Iterator[bytes]:
    """Yield initial inputs."""
    lines = [
        ["mean", "rows.csv", "--rho", "0.5", "--norm-bound", "10", "--columns", "a,b", "--allow-few-rows"],
        ["check", "rows.csv", "--columns", "a,b", "--lower", "-5", "--upper", "5", "--privacy-unit", "who"],
        ["check", "rows.csv", "--by", "who", "--sep", ";", "--decimal", ",", "--encoding", "latin-1"],
        ["plan", "--n", "4000", "--d", "8", "--rho", "0.5"],
        ["convert", "--rho", "0.5", "--delta", "1e-6"],
        [
            "mean",
            "rows.csv",
            "--rho",
            "0.5",
            "--norm-bound",
            "10",
            "--columns",
            "a,b",
            "--by",
            "who",
            "--groups",
            "x,y",
        ],
    ]
    for line in lines:
        yield bytes(_WORDS.index(word) for word in line)


def prepare(folder: Path) -> Callable[[bytes], None]:
    """Return a function that runs one input."""
    rows = np.array([[1.0, 2.0], [SECRET, -SECRET]] * 30)
    np.save(folder / "rows.npy", rows)
    (folder / "rows.csv").write_text("a,b,who\n" + "".join(f"{a},{b},x\n" for a, b in rows))
    os.chdir(folder)

    def one(data: bytes) -> None:
        for name in ("b.json", "o.json"):
            (folder / name).unlink(missing_ok=True)
        given = [_WORDS[byte % len(_WORDS)] for byte in data[:24]]
        out, err = io.StringIO(), io.StringIO()
        sys.argv = ["dpmean", *given]
        code: object = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                cli.entry()
            except SystemExit as end:
                code = end.code
        checked = code == 1 and "check" in given and "should not happen" not in err.getvalue()
        if code not in _EXPECTED and code is not None and not checked:
            raise AssertionError(f"exit code {code} of {given}")
        check_message(err.getvalue())
        if code:
            check_message(out.getvalue())

    return one

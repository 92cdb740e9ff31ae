"""Translates messages of the library into options of the command."""

from __future__ import annotations

import re
import shlex

_TYPED = {
    "allow_few_rows=True": "--allow-few-rows",
    "name groups in group_labels": "name groups with --group-label",
    "or set nan.": "or give --nan.",
    'nan={"crp": 10.0}': "--nan crp=10",
    'for each column: {"crp": 10.0}': "for each column: --nan crp=10",
    "with columns=[...]": "with --columns A,B",
    "(zero with norm_bound)": "(zero with --norm-bound)",
    "Give neighbours and privacy_unit as before": "Give --neighbours and --privacy-unit as before",
    "Leave neighbours out in the central": "Leave --neighbours out in the central",
    "with --neighbours replace-one before its first release": "with --ledger-neighbours replace-one at its first use",
    "exactly one of norm_bound and bounds is": "exactly one of --norm-bound and --bounds (or --lower and --upper) is",
}
"""Text of the library, and the same text with options of the command."""
_CHOICE = re.compile(r"\b(nan|neighbours|privacy_unit|shape|sizes|trust)=\"([\w-]+)\"()")
"""A choice in any part of a message; in a cure, every argument is translated."""


def as_typed(message: str) -> str:
    """Return a message of the library with options in place of arguments: rho=0.5 becomes --rho 0.5."""
    problem, give, cure = message.partition(": give ")
    cure = re.sub(r"\bbounds=\((\S+), (\S+)\)", r"--lower \1 --upper \2", cure)
    cure = re.sub(r"\b([a-z]+(?:_[a-z]+)?)=(?:\"([^\"]+)\"|([\w.-]+))", _option, cure)
    message = _CHOICE.sub(_option, problem) + give + cure
    for words, typed in _TYPED.items():
        message = message.replace(words, typed)
    return re.sub(r"\b(ask for|or) at most (rho|epsilon)=", r"\1 at most --\2 ", message)


def _option(found: re.Match[str]) -> str:
    return f"--{found[1].replace('_', '-')} {shlex.quote(found[2] or found[3])}"

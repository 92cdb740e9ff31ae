"""How a release was made: all of it public."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpmean.release.text import VARIANTS
from dpmean.reports.numbers import plain, power

_LONGEST = 160
_CHOICES = {
    "step": "resolution of the answer",
    "coins": "public coins",
    "passes": "times all rows were read",
    "sample": "rows read once more, by position",
    "rounds": "rounds",
    "messages_per_user": "messages per user",
    "bytes_per_user": "bytes per user",
    "sealed_bytes_per_user": "bytes per user, sealed",
    "answered": "users who answered",
    "honest": "users who must be honest",
    "variant": "way to the centre",
    "fidelity": "played by",
    "dpmean": "version of dpmean",
}
_SAID_ELSEWHERE = (
    *("bound", "columns", "delta", "few_rows", "note", "played_in_one_process", "privacy_unit", "radius_unit"),
)


def choices(public: Mapping[str, Any], leave_out: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return the public choices of a run, as far as no other part of a page says them."""
    return [
        (_CHOICES.get(key, key), VARIANTS[value] if key == "variant" else _value(value))
        for key, value in public.items()
        if key not in _SAID_ELSEWHERE and key not in leave_out
    ]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return power(value) if 0 < abs(value) < 1e-4 else plain(value, 4)
    if isinstance(value, str | int | Fraction):
        return str(value)
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else "see the data below"

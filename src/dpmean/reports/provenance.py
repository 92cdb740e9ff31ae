"""How a release was made; all of it is public."""

from __future__ import annotations

from typing import Any

from dpmean.release.digits import plain, power
from dpmean.release.settings import VARIANTS, Settings

_LONGEST = 160
_CHOICES = {
    "step": "resolution of the answer",
    "coins": "public coins",
    "passes": "times all rows were read",
    "sample": "rows read once more, by position",
    "rounds": "rounds",
    "variant": "how the centre was found",
    "honest": "users who must be honest",
    "messages_per_user": "messages per user",
    "bytes_per_user": "bytes per user",
    "sealed_bytes_per_user": "bytes per user, sealed",
    "answered": "users who answered",
    "fidelity": "played by",
    "imputed": "imputed",
    "filled": "public values in place of missing ones",
    "dropped": "left out where a value is missing",
    "version": "version of dpmean",
}
"""What no other part of a page says, of the settings and of those of a collection, in words."""


def choices(settings: Settings, leave_out: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return the public choices of a run, as far as no other part of a page says them."""
    found = []
    for name, words in _CHOICES.items():
        value = getattr(settings if hasattr(settings, name) else settings.collection, name, None)
        if value is not None and value is not False and value != () and name not in leave_out:
            shown = VARIANTS[value] if name == "variant" else _value(value)
            if name == "dropped":
                words = f"{'rows' if settings.privacy_unit is None else 'persons'} {words}"
                shown = "in any column" if value is True else f"in any of {shown}"
            found.append((words, shown))
    return found


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return power(value) if 0 < abs(value) < 1e-4 else plain(value, 4)
    if isinstance(value, str | int):
        return str(value)
    items = [each if isinstance(each, str) else " as ".join(map(_value, each)) for each in value]
    text = ", ".join(items)
    return text if len(text) <= _LONGEST else "see the data below"

"""Random bytes from the operating system, for whoever needs them: they are there, or it is an error."""

from __future__ import annotations

import os

from dpmean.errors import EntropyError


def entropy(count: int) -> bytes:
    """Return random bytes from the operating system, or fail: there is no second best."""
    try:
        drawn = os.urandom(count)
    except (OSError, NotImplementedError) as error:
        raise EntropyError(f"the operating system gave no random bytes ({error}); nothing was released") from error
    if len(drawn) != count or (count >= 16 and drawn.count(drawn[:1]) == count):
        raise EntropyError("the operating system's random bytes are all alike; nothing was released")
    return drawn

"""Random bytes from the operating system, for whoever needs them: they are there, or it is an error."""

from __future__ import annotations

import os

from dpmean.errors import EntropyError

_ENOUGH = 16  # bytes that are all alike by chance once in 2^120 draws: fewer are never drawn


def entropy(count: int) -> bytes:
    """Return random bytes from the operating system, or fail: there is no second best."""
    wanted = max(count, _ENOUGH)
    try:
        drawn = os.urandom(wanted)
    except (OSError, NotImplementedError) as error:
        raise EntropyError(f"the operating system gave no random bytes ({error}); nothing was released") from error
    if len(drawn) != wanted or drawn.count(drawn[:1]) == wanted:
        raise EntropyError("the operating system's random bytes are all alike; nothing was released")
    return drawn[:count]

"""Random bytes from the operating system; if it provides none, an error is raised."""

from __future__ import annotations

import os

from dpmean.errors import EntropyError

_ENOUGH = 16  # bytes drawn at least: by chance they are all equal once in 2^120 draws only


def entropy(count: int) -> bytes:
    """Return random bytes from the operating system, or raise an error: there is no weaker fallback."""
    wanted = max(count, _ENOUGH)
    try:
        drawn = os.urandom(wanted)
    except (OSError, NotImplementedError) as error:
        raise EntropyError(f"the operating system provided no random bytes ({error}); nothing was released") from error
    if len(drawn) != wanted or drawn.count(drawn[:1]) == wanted:
        raise EntropyError("the operating system's random bytes are all equal; nothing was released")
    return drawn[:count]

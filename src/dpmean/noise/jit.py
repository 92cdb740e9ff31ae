"""How loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from dpmean.noise.compile_notice import notice

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile a loop: no global lock, kept on disk for the next process, no liberties with arithmetic.

    Where nothing can be kept on disk (a read-only home, say), it is compiled in each process.
    """
    try:
        return cast(_F, numba.njit(nogil=True, cache=True, fastmath=False)(function))
    except RuntimeError:
        notice.kept = False
        return cast(_F, numba.njit(nogil=True, cache=False, fastmath=False)(function))

"""Compilation of loops with Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from dpmean.noise.compile_notice import notice

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile a loop: without the global lock, with a cache on disk, and with strict IEEE arithmetic.

    If nothing can be written to disk (such as a read-only home folder), it is compiled in each process.
    """
    try:
        return cast(_F, numba.njit(nogil=True, cache=True, fastmath=False)(function))
    except RuntimeError:
        notice.kept = False
        return cast(_F, numba.njit(nogil=True, cache=False, fastmath=False)(function))

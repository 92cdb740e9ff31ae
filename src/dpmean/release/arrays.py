"""Arrays of frozen records: reading one returns a copy, which may be changed."""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any, Self, final, overload

import numpy as np
from numpy.typing import NDArray


@final
class Kept:
    """A field that holds an array, in the place of the slot of a frozen dataclass.

    To hand out a read-only array would not be enough: PyTorch warns of one, and then writes to it all the same.
    """

    def __init__(self, slot: MemberDescriptorType) -> None:
        self._slot = slot

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type | None = None) -> NDArray[np.float64]: ...
    def __get__(self, owner: object | None, kind: type | None = None) -> Self | NDArray[np.float64]:
        return self if owner is None else self.of(owner).copy()

    def __set__(self, owner: object, value: Any) -> None:
        array = np.array(value, dtype=np.float64)
        array.setflags(write=False)
        self._slot.__set__(owner, array)

    def of(self, owner: object) -> NDArray[np.float64]:
        """Return the owner's own array, without a copy: it cannot be changed."""
        array: NDArray[np.float64] = self._slot.__get__(owner)
        return array


def keep_arrays(kind: type, *names: str) -> None:
    """Make fields of a frozen dataclass with slots keep their arrays."""
    for name in names:
        setattr(kind, name, Kept(vars(kind)[name]))

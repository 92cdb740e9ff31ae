"""Measured constants for the forecast of the refined mean: ``python -m bench.forecast --write`` writes this file.

Each constant is the measured error divided by the smallest error that clipping allows for this kind of rows at the
planned noise. It would be 1 if the centre and the radius were found without any loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

COLUMNS = (1, 2, 3, 4, 16)
"""The largest number of columns for each entry; the last entry is for all larger numbers."""
REACHED: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "sharp": (1.01, 1.02, 1.03, 1.03, 1.17, 1.04),
        "line": (1.39, 1.14, 1.28, 1.34, 1.56, 1.06),
        "thin": (1.11, 1.20, 1.24, 1.25, 1.28, 1.02),
        "skewed": (1.25, 1.57, 1.59, 1.65, 1.60, 1.08),
        "long": (1.24, 1.46, 1.56, 1.69, 1.50, 1.30),
        "correlated": (1.00, 1.23, 1.57, 1.58, 1.68, 1.20),
        "heavy": (1.11, 1.10, 1.16, 1.19, 1.41, 1.22),
    }
)
"""The constants, by the kind of tail and by the number of columns."""

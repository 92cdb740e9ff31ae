"""What was measured of the refined mean, for its forecast: ``python -m bench.forecast --write`` writes this file.

The error that is reached, in multiples of the least error that clipping rows of such a kind allows at the noise that is
planned. It is one where the centre and the radius are found without a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

COLUMNS = (1, 2, 3, 4, 16)
"""Up to so many columns an entry holds; the last entry is for all larger numbers."""
REACHED: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "sharp": (1.01, 1.05, 1.07, 1.08, 1.20, 1.05),
        "thin": (0.99, 1.14, 1.16, 1.12, 1.13, 1.02),
        "skewed": (1.16, 1.40, 1.40, 1.52, 1.41, 1.08),
        "long": (1.74, 1.47, 1.40, 1.52, 1.40, 1.30),
        "correlated": (1.00, 1.14, 1.42, 1.30, 1.35, 1.20),
        "heavy": (1.17, 1.05, 1.06, 1.03, 1.06, 1.22),
    }
)
"""By how the ends of rows look, and by the number of columns."""

"""Release the mean of the rows in a file, again for every line of input. Runs in diffprivlib's own environment."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from diffprivlib.tools import mean  # type: ignore[import-not-found]  # it is not installed where types are checked

file, epsilon, bound = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
for _ in sys.stdin:
    rows = np.load(file)
    start = time.perf_counter()
    answer = mean(rows, epsilon=epsilon, bounds=(-bound, bound), axis=0)
    seconds = time.perf_counter() - start
    print(json.dumps({"mean": answer.tolist(), "seconds": seconds}), flush=True)

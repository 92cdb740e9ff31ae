"""Release the mean of the rows in a file, once per line of input. Runs in diffprivlib's own environment."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from diffprivlib.tools import mean  # type: ignore[import-not-found]  # it is not installed where types are checked

for line in sys.stdin:
    job = json.loads(line)
    rows = np.load(job["file"])
    bounds = tuple(np.array(job[end]) if isinstance(job[end], list) else job[end] for end in ("lower", "upper"))
    start = time.perf_counter()
    answer = mean(rows, epsilon=job["epsilon"], bounds=bounds, axis=0)
    seconds = time.perf_counter() - start
    print(json.dumps({"mean": answer.tolist(), "seconds": seconds}), flush=True)

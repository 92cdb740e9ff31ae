"""Rows with a tight bound and a mean near zero: the Gaussian mechanism is as good as dpmean.mean."""

from typing import Any

import numpy as np

import dpmean
from dpmean import baselines

RUNS = 20


def main() -> None:
    """Print the l2 errors of both methods, with the same budget and the same neighbours."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, 1, (4000, 128))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    answers = (rng.random((4000, 64)) < 0.5).astype(float)

    print("               dpmean.mean   Gaussian mechanism")
    unit: dict[str, Any] = {"norm_bound": 1.0}
    for name, rows, bound in (("unit vectors", vectors, unit), ("yes or no", answers, {"bounds": (0, 1)})):
        truth, ours, usual = rows.mean(axis=0), [], []
        for seed in range(RUNS):
            found = dpmean.mean(rows, rho=0.5, neighbours="replace-one", seed=seed, **bound)
            ours.append(np.linalg.norm(found.mean - truth))
            plain = baselines.gaussian_mechanism(rows, rho=0.5, seed=seed, **bound)
            usual.append(np.linalg.norm(plain.mean - truth))
        print(f"{name:14} {np.mean(ours):11.4f} {np.mean(usual):20.4f}")


if __name__ == "__main__":
    main()

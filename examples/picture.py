"""Draw the picture of the README: true, private and noisy mean images of handwritten digits.

``python examples/picture.py FILE`` writes it; it needs matplotlib (``pip install 'dpmean[figures]'``).
"""

import sys

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import dpmean
from dpmean import baselines

RHO, NORM_BOUND = 0.5, 1000.0  # a loose bound: the largest norm of an image is 77
ROWS = ("true mean", "dpmean", "Gaussian\nmechanism")
INK = "#1b2a49"

Images = list[NDArray[np.float64]]


def release_means() -> tuple[Images, Images, Images]:
    """Return the true mean image of each digit, the private one, and that of the Gaussian mechanism."""
    images, labels = load_digits(return_X_y=True)
    true, ours, usual = [], [], []
    for digit in range(10):
        rows = images[labels == digit]
        true.append(rows.mean(axis=0))
        release = dpmean.mean(rows, rho=RHO, norm_bound=NORM_BOUND, neighbours="replace-one", seed=digit)
        ours.append(release.mean)
        usual.append(baselines.gaussian_mechanism(rows, rho=RHO, norm_bound=NORM_BOUND, seed=digit).mean)
    return true, ours, usual


def draw(pictures: tuple[Images, Images, Images]) -> Figure:
    """Draw three rows of ten digits."""
    figure = Figure(figsize=(10, 3.25), facecolor="white")
    axes = figure.subplots(3, 10, gridspec_kw={"wspace": 0.08, "hspace": 0.08})
    figure.subplots_adjust(left=0.125, right=0.995, top=0.99, bottom=0.01)
    for line, (words, means) in enumerate(zip(ROWS, pictures, strict=True)):
        for place, mean in zip(axes[line], means, strict=True):
            place.imshow(mean.reshape(8, 8), cmap="Greys", vmin=0, vmax=16, interpolation="nearest")
            place.set_xticks([])
            place.set_yticks([])
            for spine in place.spines.values():
                spine.set_color("#c8ccd4")
        weight = "bold" if words == "dpmean" else "normal"
        axes[line][0].set_ylabel(words, rotation=0, ha="right", va="center", fontsize=14, color=INK, fontweight=weight)
    return figure


def main() -> None:
    """Write the picture, and print the errors that it shows."""
    mpl.use("Agg")
    true, ours, usual = release_means()
    for words, means in (("dpmean", ours), ("Gaussian mechanism", usual)):
        errors = [float(np.linalg.norm(mean - truth)) for mean, truth in zip(means, true, strict=True)]
        print(f"{words:18} l2 error {np.mean(errors):.3g} on average over ten digits")
    print(f"average norm of the true means {np.mean([np.linalg.norm(truth) for truth in true]):.3g}")
    draw((true, ours, usual)).savefig(sys.argv[1], dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()

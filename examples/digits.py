"""Draw the private mean image of scikit-learn's handwritten digits in the terminal, next to the true one."""

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import dpmean

RHO = 0.5
SHADES = " .:-=+*#%@"


def drawn(image: NDArray[np.float64]) -> list[str]:
    """Return an 8 x 8 image with values from 0 to 16 as lines of text, two characters per pixel."""
    shade = np.clip(np.rint(image.reshape(8, 8) / 16 * (len(SHADES) - 1)), 0, len(SHADES) - 1).astype(int)
    return ["".join(SHADES[s] * 2 for s in line) for line in shade]


def main() -> None:
    """Release the mean image of all digits, and draw it."""
    images = load_digits().data  # 1797 images of 64 pixels, each from 0 to 16
    release = dpmean.mean(images, rho=RHO, bounds=(0, 16))
    truth = images.mean(axis=0)
    error = float(np.linalg.norm(release.mean - truth))

    print(f"The mean of about {release.n} images of handwritten digits, {release.d} pixels each, from 0 to 16\n")
    print(f"    {'true':<16}        private")
    for left, right in zip(drawn(truth), drawn(release.mean), strict=True):
        print(f"    {left}        {right}")
    print(f"\n{release}\n")
    share = error / np.linalg.norm(truth)
    print(f"The error of the private mean is {error:.3f} (l2 norm), which is {share:.1%} of the norm of the true mean.")
    print(f"The average distance of an image from the mean is {np.linalg.norm(images - truth, axis=1).mean():.1f}.")


if __name__ == "__main__":
    main()

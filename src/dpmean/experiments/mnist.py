"""MNIST's training images, from a folder of the original files or through scikit-learn's download from OpenML."""

from __future__ import annotations

import gzip
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmean.errors import DpMeanError
from dpmean.queries.queries import Floats

VARIABLE = "DPMEAN_MNIST"
DOWNLOAD = "openml"
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")


class MissingDataError(DpMeanError):
    """A dataset is missing; the message says what is needed, and where it is looked for."""


def images(digit: int) -> Floats:
    """Return the training images of one digit, in their original order, with pixels from 0 to 1."""
    pixels, labels = _training_set(os.environ.get(VARIABLE, ""))
    chosen: Floats = pixels[labels == digit] / 255.0
    return chosen


def check() -> None:
    """Raise ``MissingDataError`` if the images are missing."""
    _training_set(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=1)
def _training_set(place: str) -> tuple[NDArray[Any], NDArray[Any]]:
    if not place:
        raise MissingDataError(
            f"MNIST is needed: give the folder of {FILES[0]} and {FILES[1]} (.gz or not) with --mnist or in the "
            f"environment variable {VARIABLE}, or give --mnist {DOWNLOAD} to download it with scikit-learn"
        )
    if place == DOWNLOAD:
        return _download()
    found = []
    for name in FILES:
        candidates = [path for path in (Path(place, name), Path(place, f"{name}.gz")) if path.is_file()]
        if not candidates:
            raise MissingDataError(f"MNIST: there is no {name} or {name}.gz in {place}")
        raw = candidates[0].read_bytes()
        try:
            found.append(gzip.decompress(raw) if candidates[0].suffix == ".gz" else raw)
        except (OSError, EOFError) as error:
            raise MissingDataError(f"MNIST: {candidates[0]} cannot be read ({error})") from None
    pixels, labels = (np.frombuffer(raw, np.uint8) for raw in found)
    pixels, labels = pixels[16:], labels[8:]
    if len(pixels) != 784 * len(labels) or not len(labels):
        raise MissingDataError(f"MNIST: {place} holds {len(pixels) / 784:g} images but {len(labels)} labels")
    return pixels.reshape(-1, 784), labels


def _download() -> tuple[NDArray[Any], NDArray[Any]]:
    """Download once, and store the images next to scikit-learn's data, as its own copy takes a minute to read."""
    from sklearn.datasets import fetch_openml, get_data_home

    kept = Path(get_data_home(), "dpmean-mnist.npz")
    if not kept.exists():
        try:
            pixels, labels = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff")
        except (OSError, ValueError) as error:
            raise MissingDataError(f"MNIST could not be downloaded from OpenML ({error}): try --mnist FOLDER") from None
        np.savez_compressed(kept, pixels=pixels[:60000].astype(np.uint8), labels=labels[:60000].astype(np.uint8))
    with np.load(kept) as images:
        return images["pixels"], images["labels"]

"""The cost of privacy for nearest centroids of images: printed as a table and written to docs/sklearn.md."""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid

import dpmean
import sklearn
from bench import diffprivlib_mean
from bench.clock import track
from bench.problem import Floats
from dpmean.experiments import mnist
from dpmean.sklearn import PrivateNearestCentroid, SeededWarning

PAGE = Path("docs") / "sklearn.md"
BUDGETS = (0.1, 0.5, 2.0)
DELTA = 1e-6
MARK = "<!-- from here on written by python -m bench.centroids -->"
_WORKER = Path(__file__).with_name("diffprivlib_bayes.py")
REPLACED: dict[str, dict[str, Any]] = {
    "dpmean": {"neighbours": "replace-one"},
    "allow_few_rows": {"allow_few_rows": True, "neighbours": "replace-one"},
}
"""The variants that are compared with other methods: same relation for all, and a public number of rows."""
DEFAULT: dict[str, dict[str, Any]] = {
    "dpmean, default": {"neighbours": "add-or-remove-one"},
    "allow_few_rows, default": {"allow_few_rows": True, "neighbours": "add-or-remove-one"},
}
"""The default relation. At the same rho it guarantees less than replace-one, so it is not compared with others."""
THEIRS = {"diffprivlib, naive Bayes": "bayes", "nearest of its means": "nearest"}
Bayes = Callable[["Split", float, int], dict[str, float]]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Training rows, test rows, and the public bounds of every pixel."""

    train: Floats
    train_labels: NDArray[Any]
    test: Floats
    test_labels: NDArray[Any]
    bounds: tuple[float, float]


def digits(trial: int) -> Split:
    """Split scikit-learn's digits, differently in every trial."""
    rows, labels = load_digits(return_X_y=True)
    train, test, known, asked = train_test_split(rows, labels, test_size=0.25, stratify=labels, random_state=trial)
    return Split(train, known, test, asked, (0.0, 16.0))


def mnist_images(trial: int) -> Split:  # noqa: ARG001  there is one split
    """Split MNIST's training images: the last sixth of every digit is the test set."""
    images = [mnist.images(digit) for digit in range(10)]
    kept = [len(rows) - len(rows) // 6 for rows in images]
    return Split(
        train=np.concatenate([rows[:count] for rows, count in zip(images, kept, strict=True)]),
        train_labels=np.repeat(np.arange(10), kept),
        test=np.concatenate([rows[count:] for rows, count in zip(images, kept, strict=True)]),
        test_labels=np.repeat(np.arange(10), [len(rows) // 6 for rows in images]),
        bounds=(0.0, 1.0),
    )


DATA: dict[str, tuple[Callable[[int], Split], bool]] = {
    "digits": (digits, True),
    "MNIST": (mnist_images, False),
}
"""The functions that make splits, and whether every trial has a new one."""


@contextmanager
def diffprivlib() -> Iterator[Bayes]:
    """Start a process in diffprivlib's environment that evaluates its naive Bayes on request."""
    command = [str(diffprivlib_mean.PYTHON), str(_WORKER)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        file = Path(folder) / "split.npz"
        last: list[Split] = []

        def judged(split: Split, epsilon: float, trial: int) -> dict[str, float]:
            if last != [split]:
                np.savez(
                    file,
                    train=split.train,
                    train_labels=split.train_labels,
                    test=split.test,
                    test_labels=split.test_labels,
                )
                last[:] = [split]
            job = {"file": str(file), "bounds": split.bounds, "epsilon": epsilon, "random_state": trial}
            print(json.dumps(job), file=process.stdin, flush=True)
            answer: dict[str, float] = json.loads(process.stdout.readline() if process.stdout else "")
            return answer

        yield judged  # leaving closes its input, and it ends


def one_trial(split: Split, trial: int, bayes: Bayes | None) -> Iterator[tuple[str, str, float]]:
    """Yield the method, the budget and the accuracy on the test rows; also the number of refused classes."""
    asked = split.test, split.test_labels
    yield "nearest", "", NearestCentroid().fit(split.train, split.train_labels).score(*asked)
    yield "bayes", "", GaussianNB().fit(split.train, split.train_labels).score(*asked)
    for rho in BUDGETS:
        for variant, how in {**REPLACED, **DEFAULT}.items():
            ours = PrivateNearestCentroid(classes=range(10), rho=rho, bounds=split.bounds, random_state=trial, **how)
            try:
                ours.fit(split.train, split.train_labels)
            except dpmean.TooFewRowsError:
                yield f"{variant} refused", f"{rho:g}", 10
                continue
            yield variant, f"{rho:g}", ours.score(*asked)
            yield f"{variant} refused", f"{rho:g}", len(ours.releases_.refused)
        if bayes is not None:
            epsilon = float(dpmean.tight_epsilon(dpmean.Zcdp(rho), DELTA))
            found = bayes(split, epsilon, trial)
            yield from ((who, f"{rho:g}", found[what]) for who, what in THEIRS.items())


def measured(name: str, trials: int, bayes: Bayes | None) -> tuple[str, dict[tuple[str, str], list[float]]]:
    """Run all trials on one dataset; return its description, and the accuracies of all methods."""
    draw, anew = DATA[name]
    found: dict[tuple[str, str], list[float]] = {}
    split = draw(0)
    what = f"{name}: {len(split.train)} training rows, {len(split.test)} test rows, d = {split.train.shape[1]}"
    for trial in track(range(trials), name):
        split = draw(trial) if anew else split
        for who, rho, accuracy in one_trial(split, trial, bayes):
            found.setdefault((who, rho), []).append(accuracy)
    return what, found


def table(what: str, found: dict[tuple[str, str], list[float]]) -> list[str]:
    """Return the lines of the tables for one dataset."""

    def cell(who: str, rho: str) -> str:
        values = 100 * np.array(found.get((who, rho), []))
        refused = np.mean(found.get((f"{who} refused", rho), [0.0]))
        accuracy = f"{values.mean():.1f} ± {values.std():.1f}" if len(values) else "none"
        return accuracy + (f" ({refused:g} of 10 classes had too few rows)" if refused else "")

    def lines(shown: tuple[str, ...]) -> list[str]:
        names = [who.partition(", default")[0] for who in shown]
        out = [f"| rho | epsilon | {' | '.join(names)} |", "|---|---" + "|---" * len(names) + "|"]
        for rho in BUDGETS:
            epsilon = float(dpmean.tight_epsilon(dpmean.Zcdp(rho), DELTA))
            cells = [cell(who, f"{rho:g}") for who in shown]
            out.append(f"| {rho:g} | {epsilon:.2f} | {' | '.join(cells)} |")
        return out

    return [
        f"**{what}.** Without privacy: nearest centroid {cell('nearest', '')}, naive Bayes {cell('bayes', '')}.",
        "",
        "Neighbours replace one row:",
        "",
        *lines((*REPLACED, *THEIRS)),
        "",
        "Neighbours add or remove one row, the default of dpmean:",
        "",
        *lines(tuple(DEFAULT)),
        "",
    ]


def main() -> None:
    """Measure, print, and write the tables below the text of the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.centroids", description=__doc__)
    parser.add_argument(
        "--trials", type=int, default=10, help="trials per dataset; with fewer than 10 nothing is written"
    )
    trials = parser.parse_args().trials
    warnings.simplefilter("ignore", SeededWarning)
    warnings.filterwarnings("ignore", "self.within_class_std_dev_", UserWarning)  # some pixels are always black
    warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)  # the table says so
    today = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}"
    versions = f"dpmean {dpmean.__version__}, scikit-learn {sklearn.__version__}"
    lines = [
        f"`python -m bench.centroids`, {today}, {versions}, diffprivlib {diffprivlib_mean.VERSION}; per cent of the "
        f"test rows, mean ± standard deviation of {trials} trials.",
        "",
    ]
    with diffprivlib() if diffprivlib_mean.install() else nullcontext() as bayes:
        for name in DATA:
            try:
                lines += table(*measured(name, trials, bayes))
            except mnist.MissingDataError as error:
                lines += [f"**{name}** is missing: {error}", ""]
    print("\n".join(lines))
    if trials >= 10:
        words = PAGE.read_text().partition(MARK)[0]
        PAGE.write_text("\n".join([f"{words}{MARK}", *lines]).rstrip() + "\n")


if __name__ == "__main__":
    main()

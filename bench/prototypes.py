"""Private class prototypes beside those of other methods: errors and accuracies over the budget.

Rows are features of images from a random network, at length 1. A prototype is the mean of the rows of a class, and a
row is in the class whose prototype is nearest by cosine. Printed, and with ``--write`` written to
docs/results/prototypes.md with a figure.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

import dpmean
from bench import random_network
from bench.centroids import Split, digits, mnist_images
from bench.clock import track
from bench.problem import Floats
from dpmean import Release, baselines
from dpmean.enums import Verdict
from dpmean.experiments import mnist
from dpmean.sklearn import PrivateNearestCentroid, SeededWarning
from dpmean.sklearn.cosine import direction, unit_rows

BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
CLASSES = range(10)
ROUNDS = (1, 2, 3, 4)
REPORT = Path("docs") / "results" / "prototypes.md"
FEW = 500
OURS, DEFAULT, GAUSSIAN = "dpmean", "dpmean, default", "Gaussian"
COINPRESS, FAVOURED = "COINPRESS", "COINPRESS, told the spread"
METHODS = (OURS, GAUSSIAN, COINPRESS, FAVOURED, DEFAULT)
MEASURES = (
    "l2 error of a prototype",
    "angle between a prototype and the exact one, in degrees",
    "accuracy in per cent",
)
PLAIN, CORRECTED = "over its whole length", "over its length without noise"
INTRODUCTION = """\
# Class prototypes

Features of images from a convolution with random filters (`bench/random_network.py`), each scaled to length 1. A
prototype is the mean of the features of one class. An image is in the class whose prototype is nearest by cosine.

- The first four columns promise the same: neighbours replace one row, sizes of classes are public, and everybody is
  told that rows have length 1. All of them are used with the same correction for noise in the length of a prototype.
- **COINPRESS** takes rows of identity covariance, so it gets rows times sqrt(d). *Told the spread*: it gets the exact
  spread of the class, a favour that is not private. Its number of rounds, 1 to 4, is the best one, chosen afterwards.
- **dpmean, default** is `PrivateNearestCentroid(metric="cosine")`: neighbours have one row more or less, and sizes of
  classes are private. This is another promise, so do not compare it with the other columns.
- Errors are to the exact means of the rows of length 1, averaged over the classes. Numbers behind ± are standard errors
  over trials. An asterisk, or a hollow marker: dpmean refuses so few rows, unless `allow_few_rows=True` is given, as
  it was here.
""".splitlines()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Unit rows with classes to learn from, and others to be judged by."""

    rows: Floats
    labels: NDArray[Any]
    test: Floats
    test_labels: NDArray[Any]

    @property
    def parts(self) -> list[Floats]:
        """The rows of each class."""
        return [self.rows[self.labels == label] for label in CLASSES]

    @property
    def exact(self) -> Floats:
        """The exact mean of each class."""
        return np.array([part.mean(axis=0) for part in self.parts])

    def uneven(self) -> Task:
        """Return the task with classes of very different sizes: the last has a tenth of its rows."""
        places = [np.flatnonzero(self.labels == label) for label in CLASSES]
        kept = np.concatenate([at[: round(len(at) * (1 - k / len(CLASSES)))] for k, at in enumerate(places)])
        return replace(self, rows=self.rows[kept], labels=self.labels[kept])

    def accuracy(self, directions: Floats) -> float:
        """Return how many per cent of the test rows have the largest product with the prototype of their class."""
        return 100 * float(np.mean((self.test @ directions.T).argmax(axis=1) == self.test_labels))

    def scores(self, releases: Sequence[Release]) -> tuple[float, float, float]:
        """Return what is measured of one private mean per class, in the order of ``MEASURES``."""
        means, exact = np.array([release.mean for release in releases]), self.exact
        cosines = np.clip(np.sum(unit_rows(means) * unit_rows(exact), axis=1), -1, 1)
        directions = np.array([direction(release)[0] for release in releases])
        error = np.linalg.norm(means - exact, axis=1).mean()
        return float(error), float(np.degrees(np.arccos(cosines)).mean()), self.accuracy(directions)


def features(split: Split, network: random_network.RandomNetwork) -> Task:
    """Return the features of a split at length 1; pixels are brought to the range from 0 to 1 first."""
    train, test = (unit_rows(network.features(part / split.bounds[1])) for part in (split.train, split.test))
    return Task(train, split.train_labels, test, split.test_labels)


def digits_tasks(trials: int) -> Iterator[Task]:
    """Yield scikit-learn's digits, split in another way in every trial."""
    return (features(digits(trial), random_network.DIGITS) for trial in range(trials))


def mnist_tasks(trials: int) -> Iterator[Task]:
    """Yield MNIST's one split again and again: trials differ in the noise alone."""
    return itertools.repeat(features(mnist_images(0), random_network.MNIST), trials)


def few_tasks(trials: int) -> Iterator[Task]:
    """Yield some training images of each digit of MNIST, others in every trial."""
    for trial, task in enumerate(mnist_tasks(trials)):
        generator = np.random.default_rng(trial)
        drawn = [generator.choice(np.flatnonzero(task.labels == k), FEW, replace=False) for k in CLASSES]
        kept = np.concatenate(drawn)
        yield replace(task, rows=task.rows[kept], labels=task.labels[kept])


DATA: dict[str, Callable[[int], Iterator[Task]]] = {
    "digits": digits_tasks,
    f"MNIST, {FEW} images of each digit": few_tasks,
    "MNIST": mnist_tasks,
}


# --- methods ---------------------------------------------------------------------------------------------------------


def ours(rows: Floats, rho: float, seed: int) -> Release:
    """Return our mean for the relation of the others."""
    told: dict[str, Any] = {"norm_bound": 1.0, "neighbours": "replace-one", "allow_few_rows": True}
    return dpmean.mean(rows, rho=rho, seed=seed, **told)


def gaussian(rows: Floats, rho: float, seed: int) -> Release:
    """Return the mean with noise for the whole bound."""
    return baselines.gaussian_mechanism(rows, rho=rho, norm_bound=1.0, seed=seed)


def coinpress(rows: Floats, rho: float, seed: int, *, rounds: int, favoured: bool) -> Release:
    """Return the mean of COINPRESS: rows are divided by a standard deviation first, a bound on it or the exact one."""
    scale = 1 / math.sqrt(rows.shape[1])
    if favoured:
        scale *= math.sqrt(float(np.sum(rows.var(axis=0))))
    found = baselines.coinpress_mean(rows / scale, rho=rho, norm_bound=1 / scale, rounds=rounds, seed=seed)
    return replace(found, mean=found.mean * scale, noise_std=found.noise_std * scale)


def by_rounds(name: str, rounds: int) -> str:
    """Return what COINPRESS with a number of rounds is called among the results."""
    return f"{name}, {rounds} rounds"


ASKED: dict[str, Callable[[Floats, float, int], Release]] = {
    OURS: ours,
    GAUSSIAN: gaussian,
    **{by_rounds(COINPRESS, t): partial(coinpress, rounds=t, favoured=False) for t in ROUNDS},
    **{by_rounds(FAVOURED, t): partial(coinpress, rounds=t, favoured=True) for t in ROUNDS},
}


def default(task: Task, rho: float, seed: int) -> PrivateNearestCentroid:
    """Return the fitted classifier, as a user would call it, but for the seed."""
    asked: dict[str, Any] = {"metric": "cosine", "allow_few_rows": True, "random_state": seed}
    return PrivateNearestCentroid(classes=CLASSES, rho=rho, **asked).fit(task.rows, task.labels)


# --- measurements ----------------------------------------------------------------------------------------------------


@final
class Results:
    """What was measured of one data set: numbers of each trial, by who and at which budget."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.about = ""
        self.few: set[tuple[str, float]] = set()
        self._found: dict[tuple[str, float], list[tuple[float, ...]]] = {}

    def add(self, who: str, rho: float, scores: tuple[float, ...]) -> None:
        """Keep the numbers of a trial."""
        self._found.setdefault((who, rho), []).append(scores)

    def best(self, who: str, rho: float) -> str:
        """Return who is meant: for COINPRESS, the number of rounds with the least l2 error."""
        if (who, rho) in self._found:
            return who
        return min((by_rounds(who, t) for t in ROUNDS), key=lambda name: self.mean(name, rho, 0))

    def mean(self, who: str, rho: float, measure: int) -> float:
        """Return the mean over the trials."""
        return float(np.mean(self._column(self.best(who, rho), rho, measure)))

    def error(self, who: str, rho: float, measure: int) -> float:
        """Return the standard error of that mean; of one trial it is not known."""
        column = self._column(self.best(who, rho), rho, measure)
        return float(np.std(column, ddof=1) / math.sqrt(len(column))) if len(column) > 1 else math.nan

    def _column(self, who: str, rho: float, measure: int) -> Floats:
        return np.array([scores[measure] for scores in self._found[who, rho]])


def measured(name: str, trials: int, budgets: Sequence[float] = BUDGETS) -> Results:
    """Run all trials on one data set."""
    results, exact = Results(name), []
    jobs = ((trial, task, rho) for trial, task in enumerate(DATA[name](trials)) for rho in budgets)
    for trial, task, rho in _shown(jobs, trials * len(budgets), name):
        _one_trial(results, task, rho, trial)
        if rho == budgets[0]:
            exact.append(exact_accuracies(task))
        results.few = results.few or set(_too_few(task, budgets))
        results.about = about(name, task, exact)
    return results


def _shown(jobs: Iterable[tuple[int, Task, float]], count: int, name: str) -> Iterator[tuple[int, Task, float]]:
    """Show progress over jobs that are made one by one."""
    for _, job in zip(track(range(count), name), jobs, strict=True):
        yield job


def _one_trial(results: Results, task: Task, rho: float, trial: int) -> None:
    parts = task.parts
    for who, release in ASKED.items():
        found = [release(part, rho, trial * len(parts) + k) for k, part in enumerate(parts)]
        results.add(who, rho, task.scores(found))
    fitted = default(task, rho, trial)
    results.add(DEFAULT, rho, task.scores([*fitted.releases_.released.values()]))
    uneven = task.uneven()
    fitted = default(uneven, rho, trial)
    results.add(PLAIN, rho, (uneven.accuracy(unit_rows(fitted.releases_.means)),))
    results.add(CORRECTED, rho, (uneven.accuracy(fitted.centroids_),))


def exact_accuracies(task: Task) -> tuple[float, float]:
    """Return the accuracy of exact prototypes, with all rows and with uneven classes."""
    whole, uneven = (one.accuracy(unit_rows(one.exact)) for one in (task, task.uneven()))
    return whole, uneven


def about(name: str, task: Task, exact: Sequence[tuple[float, float]]) -> str:
    """Return what a data set is, and the accuracy without privacy over the trials so far."""
    n, d = task.rows.shape
    least, most = np.bincount(task.labels).min(), np.bincount(task.labels).max()
    each = f"{least}" if least == most else f"{least} to {most}"
    length = np.linalg.norm(task.exact, axis=1).mean()
    whole, uneven = np.mean(exact, axis=0)
    return (
        f"**{name}: {n} rows to learn from, {each} per class, {len(task.test)} to be judged by, d = {d}.** The exact "
        f"prototypes have length {length:.2f} on average (1: all rows of a class point the same way) and an accuracy "
        f"of {whole:.1f} %; with classes of uneven size, {uneven:.1f} %."
    )


def _too_few(task: Task, budgets: Sequence[float]) -> Iterator[tuple[str, float]]:
    """Yield which of ours would refuse the smallest class, and at which budgets."""
    n, d = min(len(part) for part in task.parts), task.rows.shape[1]
    for who, neighbours in ((OURS, "replace-one"), (DEFAULT, "add-or-remove-one")):
        for rho in budgets:
            if dpmean.plan(n, d, rho=rho, neighbours=neighbours).verdict is Verdict.HOPELESS:
                yield who, rho


# --- what is shown ---------------------------------------------------------------------------------------------------


def tables(results: Results, budgets: Sequence[float] = BUDGETS) -> list[str]:
    """Return the tables of one data set: one for each measure, and one of uneven classes."""
    out = [results.about, ""]
    for number, measure in enumerate(MEASURES):
        out += _table(results, measure, METHODS, number, budgets)
    words = "accuracy in per cent, dpmean, default, with 10 to 100 % of the rows of each class. Means are divided by"
    return [*out, *_table(results, words, (PLAIN, CORRECTED), 0, budgets, digits=1)]


def _table(
    results: Results,
    title: str,
    methods: Sequence[str],
    measure: int,
    budgets: Sequence[float],
    digits: int | None = None,
) -> list[str]:
    digits = (4, 2, 1)[measure] if digits is None else digits
    out = [f"{title[0].upper()}{title[1:]}:", "", f"| rho | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for rho in budgets:
        cells = []
        for who in methods:
            mean, error = results.mean(who, rho, measure), results.error(who, rho, measure)
            star = "\\*" if (who, rho) in results.few else ""
            cells.append(f"{mean:.{digits}f} ± {error:.{digits}f}{star}")
        out.append(f"| {rho:g} | {' | '.join(cells)} |")
    return [*out, ""]


_LOOKS: dict[str, dict[str, Any]] = {
    OURS: {"color": "#00204d", "marker": "o", "linewidth": 2.2},
    GAUSSIAN: {"color": "#d67f4e", "marker": "D", "linestyle": "--"},
    COINPRESS: {"color": "#7a7a7a", "marker": "s", "linestyle": ":"},
    FAVOURED: {"color": "#3d8a80", "marker": "^", "linestyle": "-."},
}


def picture(found: Sequence[Results], path: Path, budgets: Sequence[float] = BUDGETS) -> None:
    """Draw l2 errors and accuracies over the budget; the default of dpmean promises something else and is left out.

    Markers are hollow where dpmean refuses so few rows.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    grid: Any
    figure, grid = plt.subplots(len(found), 2, figsize=(9.4, 3.1 * len(found)), squeeze=False, layout="constrained")
    for line, results in zip(grid, found, strict=True):
        for axes, measure in zip(line, (0, 2), strict=True):
            for who, look in _LOOKS.items():
                means = [results.mean(who, rho, measure) for rho in budgets]
                errors = [results.error(who, rho, measure) for rho in budgets]
                axes.errorbar(budgets, means, errors, label=who, markersize=5, capsize=2, **look)
                few = [rho for rho in budgets if (who, rho) in results.few]
                hollow = {**look, "linestyle": "", "markerfacecolor": "white", "zorder": 5}
                axes.plot(few, [results.mean(who, rho, measure) for rho in few], **hollow)
            axes.set(xscale="log", xlabel="rho", ylabel=MEASURES[measure], title=results.name)
            axes.set_xticks(budgets, [f"{rho:g}" for rho in budgets], fontsize=8)
            axes.minorticks_off()
            axes.grid(visible=True, alpha=0.3)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        line[0].set_yscale("log")
        low, high = line[1].get_ylim()
        line[1].set_ylim(min(low, high - 10), high + 0.5)  # tenths of a point should look small
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=95)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print; write the page if asked to."""
    parser = argparse.ArgumentParser(prog="python -m bench.prototypes", description=__doc__)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--data", choices=DATA, action="append", help="one data set of them; by default all are used")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT} and its figure")
    told = parser.parse_args(argv)
    warnings.simplefilter("ignore", SeededWarning)
    warnings.simplefilter("ignore", dpmean.TooFewRowsWarning)  # asterisks say so
    try:
        found = [measured(name, told.trials) for name in told.data or DATA]
    except mnist.MissingDataError as error:
        parser.exit(1, f"{error}\n")
    today = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}"
    version, trials = dpmean.__version__, told.trials
    run = f"`python -m bench.prototypes --write`, {today}, dpmean {version}, trials per data set: {trials}."
    report = [run, "", *(line for results in found for line in tables(results))]
    print("\n".join(report))
    if told.write:
        picture(found, REPORT.with_suffix(".png"))
        image = "![Errors and accuracies of private class prototypes over the budget](prototypes.png)"
        REPORT.write_text("\n".join([*INTRODUCTION, "", image, "", *report]).rstrip() + "\n")


if __name__ == "__main__":
    main()

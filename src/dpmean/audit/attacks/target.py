"""The target of an attack, and the attack itself: many runs on each of two neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from dpmean.audit.judge import Finding, judge
from dpmean.privacy.renyi import Renyi
from dpmean.queries.interfaces import Noise
from dpmean.trust.local.randomizers import Budget

MakeNoise = Callable[[int], Noise]


@final
@dataclass(frozen=True, slots=True)
class Target:
    """The target of an attack: a function from the run number and the neighbour (False or True) to a score."""

    score: Callable[[int, bool], float]
    claim: Budget | Renyi
    whole: bool = False
    """Whether a run is that of a whole estimator, which takes longer."""
    more: int = 1
    """A factor for the number of runs: more are needed to detect noise of 0.7 times the right size."""


LONGER = 4
"""Whole estimators take longer than single steps, so their number of runs is divided by this."""


def runs_of(target: Target, runs: int) -> int:
    """Return the number of runs of a mechanism on each neighbour, given that of single steps."""
    return target.more * (max(runs // LONGER, 8) if target.whole else runs)


def attack(target: Target, runs: int, after_each: Callable[[], None] = lambda: None) -> Finding:
    """Run a mechanism on each of two neighbours, and judge the scores."""
    scores: tuple[list[float], list[float]] = ([], [])
    for neighbour in (False, True):
        for run in range(runs_of(target, runs)):
            scores[neighbour].append(target.score(run, neighbour))
            after_each()
    return judge(np.array(scores[0]), np.array(scores[1]), target.claim)

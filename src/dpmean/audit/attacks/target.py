"""A mechanism under attack, and the attack itself: many runs on each of two neighbours."""

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
    """A mechanism under attack: run number and neighbour (False or True) in, score out."""

    score: Callable[[int, bool], float]
    claim: Budget | Renyi
    whole: bool = False
    """Whether a run is a whole estimator, which takes longer."""
    more: int = 1
    """How many times as many runs as others it takes to notice 0.7 of the noise."""


LONGER = 4
"""A whole estimator takes longer than one step of it, and gets so many times fewer runs."""


def runs_of(target: Target, runs: int) -> int:
    """Return how often a mechanism is run on either side, if single steps get so many runs."""
    return target.more * (max(runs // LONGER, 8) if target.whole else runs)


def attack(target: Target, runs: int, after_each: Callable[[], None] = lambda: None) -> Finding:
    """Run a mechanism so many times on each of two neighbours, and judge what can be told from it."""
    scores: tuple[list[float], list[float]] = ([], [])
    for neighbour in (False, True):
        for run in range(runs_of(target, runs)):
            scores[neighbour].append(target.score(run, neighbour))
            after_each()
    return judge(np.array(scores[0]), np.array(scores[1]), target.claim)

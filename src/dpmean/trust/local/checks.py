"""Which tasks a device refuses: parts that do not fit together, and answers that would cost more than is said."""

from __future__ import annotations

from dpmean.errors import ArgumentError, OverspendError
from dpmean.privacy.budgets import Zcdp
from dpmean.trust.devices.signatures import VERSION
from dpmean.trust.local.randomizers import (
    MOST_COLUMNS,
    WORD,
    Budget,
    HalfSpace,
    flips_are_covered,
    half_space_is_covered,
)
from dpmean.trust.local.schema import LARGEST, TICKETS, Task, read_budget


def check_task(task: Task, columns: int) -> Budget:
    """Refuse a task that is not well formed, or that costs more than it says.

    Nothing here depends on the row: an error must not tell anything about it either.
    """
    if columns != task.d:
        raise ArgumentError(f"the task is about rows of {task.d} columns, this one has {columns}")
    check_form(task)
    budget = read_budget(task.budget)
    if task.question != "vector":
        covered = flips_are_covered(int(task.lie), budget)
    elif isinstance(budget, Zcdp):
        covered = True  # the device computes the noise itself
    else:
        covered = half_space_is_covered(HalfSpace(task.threshold, min(int(task.outside), WORD)), budget)
    if not covered:
        raise OverspendError(f"the answer would cost more than the task says, {budget}")
    return budget


def check_form(task: Task) -> None:
    """Refuse a task whose parts do not fit together, or whose numbers are beyond what answers can hold."""
    trees, medians = task.question.endswith("tree"), task.question.startswith("median")
    width = len(task.signs)
    points = len(task.thresholds)
    numbers = [*task.thresholds, *task.centre, task.reach, task.radius]
    wrong = {
        "version": task.version != VERSION,
        "collection": len(task.collection) != 64 or any(x not in "0123456789abcdef" for x in task.collection),
        "closes": not 0 <= task.closes < 1 << 40,
        "name": len(task.name) != 16 or any(letter not in "0123456789abcdef" for letter in task.name),
        "round": not 0 <= task.round < 128,
        "tickets": not 0 <= task.tickets[0] <= task.tickets[1] <= TICKETS,
        "d": not 1 <= task.d <= MOST_COLUMNS,
        "step": not -1000 <= task.step <= 900,
        "reach": task.reach < 1,
        "radius": task.question == "vector" and task.radius < 1,
        "centre": len(task.centre) != (0 if medians else task.d),
        "signs": medians
        and (width < task.d or width & (width - 1) != 0 or any(sign not in (-1, 1) for sign in task.signs)),
        "thresholds": points != (0 if task.question == "vector" else width if medians else 1) and not trees,
        "cells": trees
        and (points < 1 or points & (points + 1) != 0 or list(task.thresholds) != sorted(task.thresholds)),
        "numbers": any(abs(number) > LARGEST for number in numbers),
        "lie": not (task.lie.isdecimal() and len(task.lie) <= 20),
        "outside": not (task.outside.isdecimal() and len(task.outside) <= 20),
        "threshold": not 0 <= task.threshold < 100,
    }
    for name, is_wrong in wrong.items():
        if is_wrong:
            raise ArgumentError(f"this is not a task: its {name} cannot be right")

"""The largest work of a client in the shuffle model: ``python -m bench.client_work`` takes a minute.

It prints the limits of work, the largest work of any design for up to a million users (before the noise of rounds is
calibrated, which changes it by some per cent), and the time of a client at all limits at once.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from fractions import Fraction

import msgspec
from rich.console import Console
from rich.table import Table

from bench.clock import track
from dpmean import ApproxDp
from dpmean.privacy.conversions import zcdp_that_implies
from dpmean.trust.client import Client
from dpmean.trust.shuffle.checks import MOST_ROUNDS, WORK, too_much, work_of
from dpmean.trust.shuffle.costs import OUTSIDE
from dpmean.trust.shuffle.design import FEW_ROUNDS, VARIANTS, Design, chosen, clients_needed, honest_users
from dpmean.trust.shuffle.schema import Collection, Counters, Round, Stage, Sums
from dpmean.trust.shuffle.seal import new_key
from dpmean.trust.shuffle.sizes import messages_sent
from dpmean.trust.shuffle.stages import stages_worth

_USERS, _HONEST, _COLUMNS = 10**6, 8 * 10**5, 4096
_NAME = "00112233445566ff"


def main() -> None:
    """Measure and print."""
    table = Table("work of a client", "limit", "largest design", "n, d, epsilon, delta, honest, variant")
    most: dict[str, tuple[float, Design]] = {}
    for plan in track(list(_designs()), "designs"):
        for name, number in work_of(plan.stages, plan.d, plan.honest).items():
            if number > most.get(name, (-1.0, plan))[0]:
                most[name] = number, plan
    for name, (number, plan) in most.items():
        budget = f"{float(plan.budget.epsilon):g}, {float(plan.budget.delta):g}, {plan.honest / plan.users:.2g}"
        table.add_row(name, f"{WORK[name]}", f"{number:.0f}", f"{plan.users}, {plan.d}, {budget}, {plan.variant}")
    joined, encoded = _times_at_the_limits()
    table.caption = f"at all limits at once: {joined:.1f} s to join, {encoded:.1f} s for all rounds"
    Console(width=150).print(table)


def _designs() -> Iterator[Design]:
    """Yield the designs for many sizes and budgets, with the minimum number of users and more."""
    epsilons = [Fraction(part) for part in ("1/100", "3/100", "1/10", "3/10", "1", "8", "20")]
    deltas = [Fraction(1, 10**digits) for digits in (2, 9, 30)]
    parts = [Fraction(1, 2), Fraction(4, 5), Fraction(1)]
    for d, epsilon, delta, part in itertools.product((1, 2, 8, 64, 256, 1024, 4096), epsilons, deltas, parts):
        budget = ApproxDp(epsilon, delta)
        rho = float(zcdp_that_implies(ApproxDp(epsilon, delta * (1 - 2 * OUTSIDE))).rho)
        well, least = (math.ceil(number) for number in clients_needed(d, budget, part))
        for users in sorted({least, well, 10**4, 10**5, _USERS}):
            if not least <= users <= _USERS:
                continue
            honest = honest_users(users, part)
            for names in (VARIANTS, FEW_ROUNDS):
                rounds = {name: stages_worth(name, users, honest, d, budget, rho) for name in names}
                yield chosen([Design(name, users, honest, d, budget, rounds[name], rho) for name in names])


def _times_at_the_limits() -> tuple[float, float]:
    """Return how long a client takes to join a hostile collection, and to answer all its rounds."""
    thick = WORK["messages on average in a bucket"]
    counters = [Counters("radius", 1, 2, (0,), thick - kind) for kind in range(WORK["kinds of counters"])]
    rounds, packed = MOST_ROUNDS - len(counters), 64
    pieces = WORK["Poisson draws"] // (2 * rounds * _COLUMNS) - 1
    packs = _COLUMNS // packed
    shares = int(WORK["messages"] - sum(messages_sent(stage, _HONEST) for stage in counters)) // (rounds * packs)
    sums = [Sums(1 << 10, (pieces - 1) * 2 * _HONEST << 14, 5, packed, packs, shares)] * rounds
    stages: tuple[Stage, ...] = (*counters, *sums)
    if too_much(stages, _COLUMNS, _HONEST):
        raise AssertionError("this is beyond the limits")
    digits = "1" + "0" * 30
    budget, quorum = f"epsilon 1000 delta 1/{digits}", _USERS - (_USERS - _HONEST) // 2
    numbers = (_USERS, _HONEST, quorum, _COLUMNS, -20, 10 << 20)
    public = Collection(1, _NAME, *numbers, budget, "mean", stages, new_key()[1])
    client = Client(0, [1.0] * _COLUMNS, ApproxDp(1000, Fraction(1, 10**6)))
    start = time.process_time()
    client.join(msgspec.json.encode(public))
    joined = time.process_time()
    for number, stage in enumerate(stages):
        cells = ([0], [1], [0]) if isinstance(stage, Counters) else ([], [], [])
        radius = 0 if isinstance(stage, Counters) else 1 << 20
        client.encode(msgspec.json.encode(Round(1, _NAME, number, *cells, [0] * _COLUMNS, radius)))
    return joined - start, time.process_time() - joined


if __name__ == "__main__":
    main()

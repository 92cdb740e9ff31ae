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
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from rich.console import Console
from rich.table import Table

from bench.clock import track
from dpmean import ApproxDp
from dpmean.privacy.conversions import zcdp_that_implies
from dpmean.trust.client import Client
from dpmean.trust.devices.ledger import DeviceLedger
from dpmean.trust.devices.signatures import (
    VERSION,
    content_of,
    digest_of,
    new_identity,
    publish,
    read_content,
    sign,
)
from dpmean.trust.shuffle.checks import MOST_ROUNDS, rolled
from dpmean.trust.shuffle.costs import OUTSIDE
from dpmean.trust.shuffle.design import FEW_ROUNDS, VARIANTS, Design, chosen, clients_needed, honest_users
from dpmean.trust.shuffle.invitation import AnalyzerKeys, invite
from dpmean.trust.shuffle.schema import Collection, Counters, Invitation, Round, Stage, Sums
from dpmean.trust.shuffle.sizes import messages_sent
from dpmean.trust.shuffle.stages import stages_worth
from dpmean.trust.shuffle.work import WORK, too_much, work_of

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
    parts = [Fraction(3, 10), Fraction(1, 2), Fraction(4, 5), Fraction(1)]
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
    later, budget = int(time.time()) + 86400, ApproxDp(1000, Fraction(1, 10**30))
    keys, (identity, shuffler) = AnalyzerKeys.new(), new_identity()
    times = {"closes": later, "expires": later}
    invited = invite(keys, shuffler, name=_NAME, d=_COLUMNS, reach=10.0, budget=budget, **times)
    content = content_of(invited, "invitation")
    digest = digest_of(content)
    terms = msgspec.structs.asdict(read_content(content, Invitation, "invitation"))
    roll = sign(identity, "roll", rolled(digest, _USERS)).hex()
    public = Collection(**terms, users=_USERS, variant="mean", stages=stages, invitation=digest.hex(), roll=roll)
    document = publish(keys.identity, "collection", msgspec.json.encode(public))
    with TemporaryDirectory() as folder, DeviceLedger(Path(folder) / "ledger") as ledger:
        client = Client(0, [1.0] * _COLUMNS, ledger.account("me", "rows", budget), keys.public)
        client.check_in(invited)
        start = time.process_time()
        client.join(document)
        joined = time.process_time()
        for number, stage in enumerate(stages):
            cells = ([0], [1], [0]) if isinstance(stage, Counters) else ([], [], [])
            radius = 0 if isinstance(stage, Counters) else 1 << 20
            bound = digest_of(content_of(document, "collection")).hex()
            asked = Round(VERSION, bound, number, later, *cells, [0] * _COLUMNS, radius)
            client.encode(publish(keys.identity, "round", msgspec.json.encode(asked)))
    return joined - start, time.process_time() - joined


if __name__ == "__main__":
    main()

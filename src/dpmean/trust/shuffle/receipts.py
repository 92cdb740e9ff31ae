"""The receipts of a collection in the shuffle model: what each round asked, how it was hidden, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpmean.privacy.receipts import Receipt
from dpmean.trust.shuffle.amounts import read_budget
from dpmean.trust.shuffle.costs import stage_costs
from dpmean.trust.shuffle.protocol import Tally
from dpmean.trust.shuffle.schema import Collection, Counters, Round, Stage


def receipts_of(collection: Collection, asked_in: Sequence[Round], closed: Sequence[Tally]) -> tuple[Receipt, ...]:
    """Return what each round asked and cost."""
    c = collection
    budget = read_budget(c.budget)
    costs = stage_costs(c.stages, c.d, c.honest, budget.delta)
    receipts = []
    for number, (stage, cost, tally) in enumerate(zip(c.stages, costs, closed, strict=True)):
        if isinstance(stage, Counters):
            asked = f"{stage.buckets} counts of {tally.clients} clients, each in {len(stage.levels)}"
            mechanism = f"Poisson of mean {stage.blanket} on each, from {c.honest} honest clients alone"
        else:
            length = asked_in[number].radius * math.ldexp(1.0, c.step)
            asked = f"sum of the rows of {tally.clients} clients, clipped to {length:.4g}, or {stage.radius} units"
            mechanism = f"Skellam of std {math.sqrt(stage.variance):.4g} units, from {c.honest} honest clients alone"
        finds = "mean" if number == len(c.stages) - 1 else "radius" if _finds_radius(stage) else "centre"
        receipts.append(Receipt(f"{finds} {number}", asked, mechanism, cost))
    return tuple(receipts)


def _finds_radius(stage: Stage) -> bool:
    return isinstance(stage, Counters) and stage.about == "radius"

"""How much work a collection is for a client: it follows from public numbers, and a client looks at these first.

The limits are beyond what ``design`` chooses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpmean.errors import ArgumentError
from dpmean.noise.poisson import LARGEST_PIECE
from dpmean.trust.shuffle.schema import Collection, Counters, Stage
from dpmean.trust.shuffle.sizes import bytes_sent, messages_sent

WORK = {
    "messages": 1 << 16,
    "bytes": 1 << 23,
    "Poisson draws": 1 << 21,
    "messages on average in a bucket": 1 << 27,
    "kinds of counters": 4,
}
"""How much of what a client may have to do in all rounds together: seal, send, draw; and to compute what it costs."""


def check_work(collection: Collection) -> None:
    """Refuse a collection that would keep a client busy for longer than any that is designed here."""
    reason = too_much(collection.stages, collection.d, collection.honest)
    if reason:
        raise ArgumentError(
            f"this collection is too much work for a client: {reason}. Ask for fewer columns, cells or rounds, invite "
            "more users, or allow a larger epsilon"
        )


def too_much(stages: Sequence[Stage], d: int, honest: int) -> str:
    """Return which part of a client's work is beyond its limit, with both numbers; nothing if none is."""
    return "; ".join(
        f"{math.ceil(number)} {name}, and {WORK[name]} are the limit"
        for name, number in work_of(stages, d, honest).items()
        if number > WORK[name]
    )


def work_of(stages: Sequence[Stage], d: int, honest: int) -> dict[str, float]:
    """Return how much of each kind of work the rounds of a collection are for one client, on average."""
    counters = [stage for stage in stages if isinstance(stage, Counters)]
    return {
        "messages": sum(messages_sent(stage, honest) for stage in stages),
        "bytes": sum(bytes_sent(stage, honest, sealed=True) for stage in stages),
        "Poisson draws": sum(_draws(stage, d, honest) for stage in stages),
        "messages on average in a bucket": max((stage.blanket for stage in counters), default=0),
        "kinds of counters": len({(stage.blanket, len(stage.levels)) for stage in counters}),
    }


def _draws(stage: Stage, d: int, honest: int) -> int:
    """Return how many Poisson numbers a client draws in a round; large means are cut into pieces."""
    if isinstance(stage, Counters):
        return 1 + stage.buckets * stage.blanket // (honest * LARGEST_PIECE)
    return 2 * d * (1 + stage.variance // (2 * honest * LARGEST_PIECE))

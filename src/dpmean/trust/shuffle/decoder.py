"""What shuffled messages of one round tell the analyzer: counts by bucket, or the numbers of a sum."""

from __future__ import annotations

from dpmean.errors import DataError
from dpmean.queries.queries import Ints
from dpmean.trust.devices.hashing import Lines
from dpmean.trust.shuffle import counters, secure_sum
from dpmean.trust.shuffle.schema import Collection, Counters, Stage


def decoded(collection: Collection, stage: Stage, lines: Lines, clients: int) -> Ints:
    """Return what shuffled messages tell: counts by bucket, or the numbers of a sum."""
    if isinstance(stage, Counters):
        return counters.tally(stage, lines)
    if len(lines) != clients * stage.packs * stage.shares:
        needed = clients * stage.packs * stage.shares
        raise DataError(
            f"{len(lines)} shares could be read, and {needed} are needed: some are missing, or there are too many, and "
            "the sum cannot be told. Have the shuffler hand on the same round again"
        )
    return secure_sum.decoded(collection, stage, secure_sum.tally(stage, lines), clients)

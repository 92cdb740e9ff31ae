"""How much a client sends in a round: messages, bytes and noise, from public numbers alone."""

from __future__ import annotations

import math
from fractions import Fraction

from dpmean.release.settings import CollectionSettings
from dpmean.trust.shuffle.schema import Collection, Counters, Stage, Sums

SEAL_BYTES = 48
"""What sealing adds to a message: a key of 32 bytes and a tag of 16."""


def blanket_mean(collection: Collection, stage: Counters) -> Fraction:
    """Return how many blanket messages a client sends on average."""
    return Fraction(stage.buckets * stage.blanket, collection.honest)


def noise_mean(collection: Collection, stage: Sums) -> Fraction:
    """Return the mean of the two Poisson numbers whose difference is a client's part of the noise."""
    return Fraction(stage.variance, 2 * collection.honest)


def messages_sent(stage: Stage, honest: int) -> float:
    """Return how many messages a client sends in a round, on average."""
    if isinstance(stage, Sums):
        return stage.packs * stage.shares
    return len(stage.levels) + stage.buckets * stage.blanket / honest


def bytes_sent(stage: Stage, honest: int, *, sealed: bool) -> float:
    """Return how many bytes a client sends in a round, on average, frames of messages and of the batch included."""
    return 51 + messages_sent(stage, honest) * (stage.size + (SEAL_BYTES if sealed else 0) + 2)


def traffic_of(collection: Collection, answered: int) -> CollectionSettings:
    """Return what a release says about a collection in which so many clients answered."""
    stages, honest = collection.stages, collection.honest
    return CollectionSettings(
        rounds=len(stages),
        messages_per_user=sum(messages_sent(stage, honest) for stage in stages),
        bytes_per_user=sum(bytes_sent(stage, honest, sealed=False) for stage in stages),
        answered=answered,
        sealed_bytes_per_user=sum(bytes_sent(stage, honest, sealed=True) for stage in stages),
        variant=collection.variant,
        honest=honest,
    )


def most_messages(collection: Collection, stage: Stage) -> int:
    """Return how many messages a batch may have: one that an honest client exceeds with a chance below 2^-100."""
    if isinstance(stage, Sums):
        return stage.packs * stage.shares
    mean = float(blanket_mean(collection, stage))
    far = 100 * math.log(2)
    return len(stage.levels) + math.ceil(mean + far / 3 + math.sqrt(far**2 / 9 + 2 * mean * far)) + 1


def fewest_messages(stage: Stage) -> int:
    """Return how many messages a batch has at least."""
    return stage.packs * stage.shares if isinstance(stage, Sums) else len(stage.levels)

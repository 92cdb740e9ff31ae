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
    return 49 + messages_sent(stage, honest) * (stage.size + (SEAL_BYTES if sealed else 0) + 2)


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
    return len(stage.levels) + _poisson_span(float(blanket_mean(collection, stage)))[1]


def fewest_messages(stage: Stage) -> int:
    """Return how many messages a batch has at least."""
    return stage.packs * stage.shares if isinstance(stage, Sums) else len(stage.levels)


def messages_of_all(collection: Collection, stage: Stage, clients: int) -> tuple[int, int]:
    """Return how few and how many messages so many clients send, if no more of them cheat than may.

    Those who do not cheat leave the span with a chance below 2^-99.
    """
    if isinstance(stage, Sums):
        return (clients * stage.packs * stage.shares,) * 2
    cheats = min(collection.cheats, clients)
    low, high = _poisson_span(float(blanket_mean(collection, stage)) * (clients - cheats))
    each = len(stage.levels)
    return clients * each + low, (clients - cheats) * each + high + cheats * most_messages(collection, stage)


def unreadable_messages(collection: Collection, stage: Stage) -> int:
    """Return how many messages of a round may be unreadable, if no more clients cheat than may."""
    return collection.cheats * most_messages(collection, stage) if isinstance(stage, Counters) else 0


def _poisson_span(mean: float) -> tuple[int, int]:
    """Return two numbers between which a Poisson number lies but for a chance of 2^-100 on each side (Chernoff)."""
    far = 100 * math.log(2)
    low = mean - math.sqrt(2 * mean * far)
    return max(math.floor(low) - 1, 0), math.ceil(mean + far / 3 + math.sqrt(far**2 / 9 + 2 * mean * far)) + 1

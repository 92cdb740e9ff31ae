"""What tests of the shuffle model share: small collections, clients without noise, rounds to ask."""

from fractions import Fraction

import msgspec
import numpy as np
from hypothesis import strategies as st

from dpmean import ApproxDp
from dpmean.trust.client import Client
from dpmean.trust.shuffle.analyzer import collection_for
from dpmean.trust.shuffle.design import calibrated
from dpmean.trust.shuffle.schema import (
    Collection,
    Round,
    Sums,
    write_budget,
)
from tests.audit.broken import ScaledNoise
from tests.support.shuffle_roles import rows_for

NAME = "00112233445566ff"
BUDGET = ApproxDp(8, Fraction(1, 10**6))
SMALL = 120


def collection(variant="mean", users=SMALL, d=2, reach=40.0, key="", honest=Fraction(4, 5), budget=BUDGET):
    return collection_for(calibrated(variant, users, d, budget, honest), NAME, reach, key)


def client_of(user, row, budget=BUDGET, **more):
    """A client that trusts everybody and does not seal, where that is not what is tested."""
    return Client(user, row, budget, **{"honest": Fraction(1), "sealed": False, **more})


def document(thing):
    return msgspec.json.encode(thing)


def silent():
    """Noise that is none: every Poisson number is zero."""
    return ScaledNoise(1, Fraction(0))


class AverageNoise:
    """Noise that is always what it is on average."""

    seeded = True

    def at(self, _step, _start=0):
        return self

    def poisson(self, mean, count):
        return np.full(count, round(mean))


class NoCoins:
    """Coins for a client without noise, or with average noise; shares and buckets are still random."""

    def __init__(self, seed=0, average=False):
        self.generator, self.average = np.random.default_rng(seed), average

    def poissons(self, _step, mean, count):
        assert mean > 0
        return [round(mean) if self.average else 0] * count

    def below(self, _step, limit, count):
        return [int.from_bytes(self.generator.bytes(80)) % limit for _ in range(count)]


def sums_stage(d=3, bits=20, packed=2, shares=4, radius=64):
    return Sums(radius, 1000, bits, packed, -(-d // packed), shares)


def one_stage(stage, users=SMALL, d=3, honest=None):
    return Collection(
        1, NAME, users, honest or users, honest or users, d, -20, 10 << 20, write_budget(BUDGET), "mean", (stage,)
    )


def sum_round(radius=5 << 20, centre=()):
    return Round(1, NAME, 0, centre=list(centre), radius=radius)


rows_of_three = st.lists(st.floats(allow_nan=True) | st.floats(-8, 8), min_size=3, max_size=3)


def batches_for(public, asked, count=SMALL, budget=BUDGET):
    rows = rows_for(count)
    found = []
    for user in range(count):
        client = client_of(user, rows[user].tolist(), budget)
        client.join(document(public))
        found.append(client.encode(document(asked)))
    return found

"""What tests of the shuffle model share: small collections, clients without noise, rounds to ask."""

from fractions import Fraction

import msgspec
import numpy as np
from hypothesis import strategies as st

from dpmean import ApproxDp
from dpmean.trust.client import Client
from dpmean.trust.devices.ledger import DeviceLedger
from dpmean.trust.devices.signatures import (
    VERSION,
    content_of,
    digest_of,
    identity_of,
    publish,
    read_content,
    read_message,
    sign,
)
from dpmean.trust.shuffle.amounts import write_budget
from dpmean.trust.shuffle.analyzer import ShuffleAnalyzer
from dpmean.trust.shuffle.checks import rolled
from dpmean.trust.shuffle.delivery import signed_delivery
from dpmean.trust.shuffle.design import calibrated
from dpmean.trust.shuffle.enrollment import Enrollment
from dpmean.trust.shuffle.invitation import AnalyzerKeys, designed, invite
from dpmean.trust.shuffle.messages import Batch, CheckIn, Delivery, Roll
from dpmean.trust.shuffle.progress import played_collection
from dpmean.trust.shuffle.schema import Collection, Invitation, Round, Sums
from dpmean.trust.shuffle.shuffler import Shuffler
from tests.audit.broken import ScaledNoise
from tests.support.shuffle_roles import rows_for

NAME = "00112233445566ff"
BUDGET = ApproxDp(8, Fraction(1, 10**6))
SMALL = 120
KEYS = AnalyzerKeys(bytes(range(32)), bytes(range(32, 64)))
SHUFFLER = bytes(range(64, 96))
NOW, LATER = 1_800_000_000, 1_800_600_000
"""Times at which nothing has closed yet, in tests whose clocks stand still."""


def clock():
    """A clock that stands still."""
    return NOW


def collection(variant="mean", users=SMALL, d=2, reach=40.0, honest=Fraction(4, 5), budget=BUDGET):
    """A collection that is only played."""
    return played_collection(calibrated(variant, users, d, budget, honest), NAME, reach)


def invitation(**changes):
    """An invitation, as it is published."""
    times = {"closes": LATER, "expires": LATER}
    given = {"name": NAME, "d": 2, "reach": 40.0, "budget": BUDGET, **times, **changes}
    return invite(KEYS, identity_of(SHUFFLER), **given)


def digest_in(document):
    """The digest of a document."""
    return digest_of(document.partition(b"\n")[0])


def terms_of(document):
    """What an invitation says."""
    return read_content(content_of(document, "invitation"), Invitation, "invitation")


def check_in(document, user):
    """The check-in of a user."""
    return msgspec.msgpack.encode(CheckIn(VERSION, digest_in(document), user.to_bytes(8)))


class Play:
    """One real collection: invitation, enrollment, analyzer, clients; with keys, signatures and a ledger on disk."""

    def __init__(self, folder, variant="mean", users=SMALL, budget=BUDGET, d=2, now=clock, stages=None, **terms):
        self.folder, self.now = folder, now
        self.invitation = invitation(d=d, budget=budget, **terms)
        self.enrollment = Enrollment(self.invitation, KEYS.public, SHUFFLER, clock=now)
        for user in range(users):
            self.enrollment.receive(check_in(self.invitation, user))
        roll = read_message(self.enrollment.close(), Roll, "roll")
        said = terms_of(self.invitation)
        honest = 1 - Fraction(said.silent) - Fraction(said.colluding)
        if stages is None:
            self.public = designed(said, roll, calibrated(variant, users, d, budget, honest))
        else:
            plan = calibrated("mean", max(users, 100), d, budget, honest)
            self.public = msgspec.structs.replace(designed(said, roll, plan), stages=tuple(stages))
        self.document = publish(KEYS.identity, "collection", msgspec.json.encode(self.public))
        self.ledger = DeviceLedger(folder / "ledger", clock=now)

    def analyzer(self):
        return ShuffleAnalyzer(self.public, KEYS)

    def account(self, user, budget=BUDGET):
        return self.ledger.account(f"user {user}", "rows", budget)

    def client(self, user, row=None, budget=BUDGET, joined=True, **more):
        """A client that has checked in and, unless told otherwise, has joined."""
        row = rows_for(SMALL)[user].tolist() if row is None else row
        client = Client(user, row, self.account(user, budget), KEYS.public, **more)
        client.check_in(self.invitation)
        if joined:
            client.join(self.document)
        return client

    def shuffler(self, asked, journal=None, document=None, enrollment=None):
        document, enrollment = document or self.document, enrollment or self.enrollment
        return Shuffler(document, asked, enrollment, journal, clock=self.now)

    def batches(self, asked, count=SMALL):
        """Return what the first clients answer to a round."""
        return [self.client(user).encode(asked) for user in range(count)]

    def delivery(self, asked, batches):
        """Return what a shuffler hands on."""
        shuffler = self.shuffler(asked)
        for batch in batches:
            assert shuffler.receive(batch)[0] == "accepted"
        return shuffler.hand_on()


def resigned(delivery, users=None, clients=None, messages=None, digest=None):
    """Return a delivery with changes that the shuffler itself has signed."""
    read = msgspec.msgpack.decode(delivery, type=Delivery)
    return signed_delivery(
        SHUFFLER,
        read.round if digest is None else digest,
        read.users if users is None else users,
        read.clients if clients is None else clients,
        read.messages if messages is None else messages,
    )


def signed_round(asked):
    """Return a round as it is published."""
    return publish(KEYS.identity, "round", msgspec.json.encode(asked))


def changed(document, kind, **changes):
    """Return a document with other fields, signed by the analyzer."""
    fields = msgspec.json.decode(content_of(document, kind))
    return publish(KEYS.identity, kind, msgspec.json.encode({**fields, **changes}))


def roll_for(document, users):
    """Return a roll that the shuffler has signed."""
    digest = digest_in(document)
    return Roll(VERSION, digest, users, sign(SHUFFLER, "roll", rolled(digest, users)))


def changed_batch(batch, **changes):
    return msgspec.msgpack.encode(msgspec.structs.replace(msgspec.msgpack.decode(batch, type=Batch), **changes))


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


def one_stage(stage, users=SMALL, d=3, colluding="0"):
    terms = (VERSION, NAME, d, -20, 10 << 20, write_budget(BUDGET), "0", colluding)
    return Collection(*terms, users, "mean", (stage,))


def sum_round(radius=5 << 20, centre=()):
    return Round(VERSION, "", 0, centre=list(centre), radius=radius)


rows_of_three = st.lists(st.floats(allow_nan=True) | st.floats(-8, 8), min_size=3, max_size=3)

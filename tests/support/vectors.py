"""Write the vectors that other implementations replay: ``python -m tests.support.vectors``, into ``tests/vectors/``.

What is drawn at random is written down beside what comes of it. Envelopes are sealed with fresh keys, so those of
``shuffle.json`` differ from one writing to the next; everything else is the same.
"""

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from dpmean import ApproxDp, PureDp, Zcdp
from dpmean.noise import exact
from dpmean.noise.poisson import poisson
from dpmean.noise.source import seeded
from dpmean.trust.client import Client
from dpmean.trust.devices.ledger import DeviceLedger
from dpmean.trust.devices.signatures import VERSION, content_of, digest_of, identity_of, publish
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.protocol import setup_for
from dpmean.trust.local.schema import is_asked
from dpmean.trust.local.simulation import Fleet
from dpmean.trust.shuffle import encoder
from dpmean.trust.shuffle.amounts import read_budget
from dpmean.trust.shuffle.checks import check_round
from dpmean.trust.shuffle.costs import check_cost, cost_of_rounds, stage_costs
from dpmean.trust.shuffle.design import VARIANTS
from dpmean.trust.shuffle.enrollment import Enrollment
from dpmean.trust.shuffle.messages import Batch, Delivery
from dpmean.trust.shuffle.schema import Counters, Round, Sums
from dpmean.trust.shuffle.seal import seal, unseal
from dpmean.trust.shuffle.stages import HALVINGS
from tests.support.shuffle_parts import (
    KEYS,
    LATER,
    NAME,
    NOW,
    SHUFFLER,
    Play,
    changed_batch,
    check_in,
    clock,
    collection,
    digest_in,
    one_stage,
    resigned,
)

FOLDER = Path(__file__).parents[1] / "vectors"
ROWS = ([1.25, 2.5, -3.0], [9.0, 9.0, 9.0])
IDENTITY = KEYS.identity


class Recorder:
    """Coins of a seed that are written down."""

    def __init__(self, seed):
        self.noise = seeded(seed)
        self.words, self.drawn, self.numbers, self.variance = {}, {}, {}, ""
        self.poisson_numbers = []

    def word(self, step):
        self.words[step] = str(int(self.noise.at(step).words(1)[0]))
        return int(self.words[step])

    def gaussians(self, step, variance, count):
        found = self.noise.at(step).gaussian(variance, count).tolist()
        self.drawn[step], self.variance = [str(x) for x in found], str(variance)
        return found

    def poissons(self, step, mean, count):
        found = self.noise.at(step).poisson(mean, count).tolist()
        self.poisson_numbers += found
        return found

    def below(self, step, limit, count):
        bits = ByteStream(step.encode())
        found = [exact.below(limit, bits) for _ in range(count)]
        self.numbers[step] = [str(x) for x in found]
        return found


class ByteStream:
    """Bits from the bytes SHA-256(seed, 0), SHA-256(seed, 1), ...; a draw takes whole bytes, and their upper bits."""

    def __init__(self, seed):
        self.seed, self.left, self.block, self.used = seed, b"", 0, 0

    def __call__(self, count):
        size = -(-count // 8)
        while len(self.left) < size:
            self.left += hashlib.sha256(self.seed + self.block.to_bytes(8)).digest()
            self.block += 1
        drawn, self.left = self.left[:size], self.left[size:]
        self.used += size
        return int.from_bytes(drawn) >> (8 * size - count)


def local(folder):
    """Tasks and what devices answer; then messages to an analyzer, and documents that a device refuses."""
    answers, ledger = [], DeviceLedger(folder / "local", clock=clock)
    for few, budget in ((False, Zcdp(0.5)), (False, PureDp(1)), (True, PureDp(1)), (True, Zcdp(Fraction(1, 32)))):
        setup = setup_for(NAME, 400, 3, 10.0, budget, few_rounds=few, analyzer=KEYS.public)
        analyzer, asked_before = LocalAnalyzer(setup, IDENTITY), set()
        fleet = Fleet(_rows(400), seeded(4))
        while not analyzer.done:
            document, task = analyzer.document(LATER), analyzer.task
            users = [user for user in range(400) if is_asked(task, user)]
            for lines in fleet.answers(task):
                analyzer.receive_lines(lines)
            for user, row in zip(users, ROWS, strict=False) if task.question not in asked_before else ():
                coins = Recorder(7)
                account = ledger.account(f"{few} {budget} {user}", task.question, budget)
                sent = Client(user, row, account, KEYS.public, coins=coins).answer(document)
                drawn = {"words": coins.words, "gaussians": coins.drawn, "variance": coins.variance}
                answers.append(
                    {"document": document.decode(), "user": user, "row": row, **drawn, "message": sent.hex()}
                )
            asked_before.add(task.question)
            analyzer.close()
    setup = setup_for(NAME, 400, 3, 10.0, Zcdp(0.5), few_rounds=False, analyzer=KEYS.public)
    analyzer = LocalAnalyzer(setup, IDENTITY)
    document, task = analyzer.document(LATER), analyzer.task
    one, other = [user for user in range(400) if is_asked(task, user)][:2]
    stranger = next(user for user in range(400) if not is_asked(task, user))
    digest = digest_in(document)
    messages = []
    for parts in (
        [2, digest, one.to_bytes(8), b"\1"],
        [2, digest, one.to_bytes(8), b"\1"],
        [2, digest, one.to_bytes(8), b"\0"],
        [1, bytes.fromhex(NAME), 0, other.to_bytes(8), b"\1"],
        [2, bytes(32), other.to_bytes(8), b"\1"],
        [2, digest, (10**9).to_bytes(8), b"\1"],
        [2, digest, other.to_bytes(7), b"\1"],
        [2, digest, other.to_bytes(8), b"\1\1"],
        [2, digest, other.to_bytes(8), b"\2"],
        [2, digest, other.to_bytes(8)],
        [2, digest, other.to_bytes(8), b"\1", 0],
        [2, digest, other, b"\1"],
        {},
        [2, digest, stranger.to_bytes(8), b"\1"],
        [2, digest, other.to_bytes(8), b"\0"],
    ):
        message = msgspec.msgpack.encode(parts)
        outcome, reason = analyzer.receive(message)
        messages.append({"message": message.hex(), "outcome": f"{outcome}: {reason}".rstrip(": ")})
    bad = {"setup": msgspec.to_builtins(setup), "closes": LATER, "task": document.decode(), "messages": messages}
    ledger.close()
    return {
        "about": "Version 2. A task as it is published, the row and the random numbers of a device, and the message it "
        "must send; then messages to an analyzer in this order, and what it must make of them; then documents that a "
        "device must refuse. The private key is for tests.",
        "analyzer": {"private": IDENTITY.hex(), "public": KEYS.public},
        "now": NOW,
        "answers": answers,
        "bad messages": bad,
        "bad documents": _bad_documents("task", document),
    }


def _rows(users):
    return np.random.default_rng(0).normal(2, 1, (users, 3))


def _bad_documents(kind, document):
    """Documents that must be refused, and why."""
    content = content_of(document, kind)
    old = content.replace(b'"version":2', b'"version":1')
    return [
        {"kind": kind, "document": bad.decode(), "why": why}
        for why, bad in (
            ("it is of version 1, which was not signed", old),
            ("it is of version 1", publish(IDENTITY, kind, old)),
            ("it is not signed", content),
            ("its signature is cut short", document[:-2]),
            ("its signature is in upper case", document[:-128] + document[-128:].upper()),
            ("there is more after its signature", document + b"\n"),
            ("another key has signed it", publish(SHUFFLER, kind, content)),
            ("what is signed is of another kind", publish(IDENTITY, "end", content)),
            ("it was changed", document.replace(b'"version":2', b'"version": 2')),
        )
    ]


STAGES = [
    (
        Counters("median", 4, 10, (0,), 2),
        {"lows": [-31457280, 0, 5, -1048576], "widths": [6291456, 1835008, 1048576, 9]},
    ),
    (Counters("median", 4, 16, (2, 0), 1), {"lows": [-31457280] * 4, "widths": [4194304] * 4}),
    (Counters("radius", 1, 8, (0,), 3), {"lows": [0], "widths": [1], "centre": [1048576, -1048576, 7]}),
    (Sums(64, 1000, 20, 2, 2, 4), {"centre": [1048576, 2097152, -5], "radius": 5242880}),
    (Sums(128, 1000, 21, 3, 1, 3), {"radius": 5242880}),
]


def shuffled_answers():
    """Rounds and what clients answer, before it is sealed."""
    answers = []
    for stage, asked in STAGES:
        public = one_stage(stage, users=20)
        content = msgspec.json.encode(public)
        cells = {}
        if isinstance(stage, Counters):
            doubled = [131072 << k for k in range(stage.cells - 1)]
            cells = {"gaps": list(range(stage.cells - 1)) if stage.about == "median" else doubled}
        round_ = Round(VERSION, digest_of(content).hex(), 0, LATER, **{**asked, **cells})
        check_round(public, digest_of(content), round_)
        document = msgspec.json.encode(round_)
        for user, row in ((0, ROWS[0]), (13, [30.0, -40.0, 50.0])):
            coins = Recorder(user)
            sent = encoder.messages(public, stage, round_, user, row, coins)
            batch = Batch(VERSION, digest_of(document), user.to_bytes(8), sent)
            answers.append(
                {
                    "collection": content.decode(),
                    "round": document.decode(),
                    "digest": digest_of(document).hex(),
                    "user": user,
                    "row": row,
                    "poissons": coins.poisson_numbers,
                    "numbers": coins.numbers,
                    "batch": msgspec.msgpack.encode(batch).hex(),
                }
            )
    return answers


def shuffle(folder):
    """Documents, check-ins, batches and deliveries: good ones and bad ones."""
    halvings = [Counters("median", 2, 2, (0,), 1)] * HALVINGS
    stages = [*halvings, Counters("radius", 1, 11, (0,), 1), Sums(16, 100, 12, 2, 1, 2)]
    terms = {"silent": Fraction(1, 6), "colluding": Fraction(1, 6)}
    play = Play(folder, users=6, stages=stages, **terms)
    play.public = msgspec.structs.replace(play.public, variant="binary")
    play.document = publish(IDENTITY, "collection", msgspec.json.encode(play.public))
    analyzer = play.analyzer()
    asked = analyzer.document(LATER)
    stage, digest = stages[0], digest_in(asked)

    enrollment, check_ins = _enrollment(play), []
    for message in (
        check_in(play.invitation, 5),
        check_in(play.invitation, 5),
        msgspec.msgpack.encode([1, digest_in(play.invitation), bytes(8)]),
        msgspec.msgpack.encode([2, bytes(32), bytes(8)]),
        msgspec.msgpack.encode([2, digest_in(play.invitation), bytes(7)]),
        msgspec.msgpack.encode([2, digest_in(play.invitation)]),
        *(check_in(play.invitation, user) for user in range(5)),
    ):
        check_ins.append({"check_in": message.hex(), "outcome": _words(enrollment.receive(message))})

    shuffler, received, batches = play.shuffler(asked), [], []
    for user in range(6):
        coins = Recorder(user)
        row = [1.0 + user, 2.0]
        messages = encoder.messages(play.public, stage, analyzer.round, user, row, coins)
        sealed = seal(messages, KEYS.key, digest)
        batches.append(msgspec.msgpack.encode(Batch(VERSION, digest, user.to_bytes(8), sealed)))
    mine = msgspec.msgpack.decode(batches[0], type=Batch).messages
    for batch in (
        batches[0],
        batches[0],
        changed_batch(batches[0], messages=mine[::-1]),
        msgspec.msgpack.encode([1, digest, 0, bytes(8), mine]),
        changed_batch(batches[1], round=bytes(32)),
        changed_batch(batches[1], user=(6).to_bytes(8)),
        changed_batch(batches[1], user=bytes(7)),
        changed_batch(batches[1], messages=[]),
        changed_batch(batches[1], messages=[mine[0][:-1]] * 12),
        changed_batch(batches[0], user=(1).to_bytes(8)),
        b"",
        batches[1][:-1],
        *batches[1:],
    ):
        received.append({"batch": batch.hex(), "outcome": _words(shuffler.receive(batch))})
    good = shuffler.hand_on()
    messages = msgspec.msgpack.decode(good, type=Delivery).messages
    read = msgspec.msgpack.decode(good, type=Delivery)
    noise = [bytes([k]) * len(messages[0]) for k in range(1, 250)]
    deliveries = []
    for why, delivery in (
        ("it is of version 1", msgspec.msgpack.encode([1, bytes(32), 0, 6, messages])),
        ("it is malformed", good[:-1]),
        ("it is for another round", resigned(good, digest=bytes(32))),
        ("its order was changed", msgspec.msgpack.encode(msgspec.structs.replace(read, messages=messages[::-1]))),
        ("it is not signed", msgspec.msgpack.encode(msgspec.structs.replace(read, signature=bytes(64)))),
        ("fewer clients than the quorum", resigned(good, clients=4)),
        ("more clients than users", resigned(good, clients=7)),
        ("another number of check-ins", resigned(good, users=7)),
        ("it is empty", resigned(good, messages=[])),
        ("more messages than so many clients send", resigned(good, messages=noise * 2)),
        ("an envelope twice", resigned(good, messages=[messages[1], *messages[1:]])),
        ("more cannot be opened than those who may collude can send", resigned(good, messages=noise[:90])),
    ):
        deliveries.append({"delivery": delivery.hex(), "outcome": f"refused: {why}"})
    deliveries.append({"delivery": good.hex(), "outcome": "accepted"})
    extension, end = analyzer.extend(LATER - 1), analyzer.end()
    documents = {"invitation": play.invitation, "collection": play.document, "round": asked}
    documents |= {"extension": extension, "end": end}
    play.ledger.close()
    return {
        "about": "Version 2. Documents as they are published; rounds, the row and the random numbers of a client, and "
        "the batch it must send, not sealed; check-ins, batches and deliveries in this order, and what a shuffler or "
        "an analyzer must make of them; an envelope, the key that opens it, and what is inside; documents that "
        "everybody must refuse. The private keys are for tests.",
        "keys": {
            "analyzer": {"private": IDENTITY.hex(), "public": KEYS.public},
            "opening": {"private": KEYS.opening.hex(), "public": KEYS.key},
            "shuffler": {"private": SHUFFLER.hex(), "public": identity_of(SHUFFLER)},
        },
        "now": NOW,
        "documents": {
            kind: {"document": document.decode(), "digest": digest_in(document).hex()}
            for kind, document in documents.items()
        },
        "bad documents": [
            *_bad_documents("invitation", play.invitation),
            *_bad_documents("collection", play.document),
            *_bad_documents("round", asked),
        ],
        "answers": shuffled_answers(),
        "check-ins": check_ins,
        "roll": enrollment.close().hex(),
        "batches": received,
        "deliveries": deliveries,
        "counts": _counts(play, good),
        "sealed": {
            "digest": digest.hex(),
            "envelope": messages[0].hex(),
            "message": _inside(messages[0], digest).hex(),
        },
    }


def _inside(envelope, digest):
    return unseal([envelope], KEYS.opening, digest)[0]


def _counts(play, good):
    """What the analyzer makes of the good delivery."""
    analyzer = play.analyzer()
    analyzer.document(LATER)
    analyzer.receive(good)
    return analyzer._rounds.closed[0].numbers.tolist()


def _enrollment(play):
    return Enrollment(play.invitation, KEYS.public, SHUFFLER, clock=clock)


def _words(judged):
    outcome, reason = judged
    return f"{outcome}: {reason}".rstrip(": ")


def prices():
    """Collections, and what a client computes that they cost: curves of rounds, and epsilon of all and of some."""
    found = []
    cases = [(variant, 120, 2, ApproxDp(8, Fraction(1, 10**6))) for variant in VARIANTS]
    cases += [("two", 100_000, 8, ApproxDp(1, Fraction(1, 10**9))), ("mean", 3000, 3, ApproxDp(3, Fraction(1, 10**5)))]
    for variant, users, d, budget in cases:
        public = collection(variant, users, d, budget=budget)
        said = read_budget(public.budget)
        costs = stage_costs(public.stages, d, public.honest, said.delta)
        found.append(
            {
                "collection": msgspec.json.encode(public).decode(),
                "honest": public.honest,
                "quorum": public.quorum,
                "delta": str(said.delta),
                "orders_2_8_32": [[cost.curve[k] for k in (0, 6, 25)] for cost in costs],
                "floors": [str(cost.delta) for cost in costs],
                "distances": [cost.distance for cost in costs],
                "epsilon": float(check_cost(public).epsilon),
                "epsilon of the first round": float(cost_of_rounds(public, [0]).epsilon),
                "epsilon without the last round": float(cost_of_rounds(public, range(len(public.stages) - 1)).epsilon),
            }
        )
    return {
        "about": "Version 2. A collection, and what a client computes that it costs: Renyi divergences of each round "
        "at the orders 2, 8 and the 26th of the list in privacy/renyi.py, what lies below the floors, the distance of "
        "split sums; and the epsilon of all rounds and of some, at delta. Floats may differ in the ninth digit.",
        "prices": found,
    }


def samplers():
    """What exact samplers draw from given bytes."""
    found = []

    def add(law, arguments, draw, count=6):
        bits = ByteStream(f"{law} {arguments}".encode())
        values = [draw(bits) for _ in range(count)]
        found.append(
            {
                "law": law,
                **arguments,
                "seed": f"{law} {arguments}",
                "values": [str(x) for x in values],
                "bytes": bits.used,
            }
        )

    for limit in (1, 2, 3, 256, 10**9, 1 << 200, (1 << 64) - 59):
        add("below", {"limit": str(limit)}, lambda bits, limit=limit: exact.below(limit, bits))
    for variance in ("1/2", "1", "37/3", "1000000", str(1 << 60)):
        add(
            "discrete gaussian",
            {"variance": variance},
            lambda bits, variance=variance: exact.discrete_gaussian(Fraction(variance), bits),
        )
    for mean in ("1/1000", "1/3", "1", "25", "2274/7", "16384", "100000"):
        add("poisson", {"mean": mean}, lambda bits, mean=mean: poisson(Fraction(mean), bits))
    return {
        "about": "Version 2. Bytes are SHA-256(seed, 0), SHA-256(seed, 1), ..., with the number in 8 bytes (big "
        "endian). A draw of k bits takes the next ceil(k / 8) bytes as a number and drops its lowest bits. Values are "
        "drawn one after the other; bytes says how many were taken for all of them.",
        "samplers": found,
    }


def write():
    """Write all files."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = {"local": local(folder), "shuffle": shuffle(folder), "prices": prices(), "samplers": samplers()}
    for name, vectors in files.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(vectors, indent=1) + "\n")


if __name__ == "__main__":
    write()

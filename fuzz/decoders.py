"""Damaged messages, documents and saved states of all parties."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np

import dpmean
from dpmean import ApproxDp, Entry, Zcdp
from dpmean.ledger import codec
from dpmean.ledger.account import Account
from dpmean.privacy.renyi import renyi_of
from dpmean.trust.client import Client
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.protocol import setup_for
from dpmean.trust.shuffle.analyzer import ShuffleAnalyzer, collection_for
from dpmean.trust.shuffle.design import calibrated
from dpmean.trust.shuffle.shuffler import Shuffler
from fuzz.judge import SECRET, judged, told

_LOCAL, _SHUFFLED = Zcdp(Fraction(1, 2)), ApproxDp(8, Fraction(1, 10**6))
_USERS, _D = 120, 2
_ROW = [SECRET, -SECRET]


def _setup() -> LocalAnalyzer:
    return LocalAnalyzer(setup_for("0" * 16, 2000, _D, 40.0, _LOCAL, few_rounds=True))


def _collection() -> bytes:
    plan = calibrated("mean", _USERS, _D, _SHUFFLED, Fraction(4, 5))
    return msgspec.json.encode(collection_for(plan, "0" * 16, 40.0))


def _release() -> dpmean.Release:
    rows = np.random.default_rng(0).normal(5, 1, (600, _D))
    return dpmean.mean(rows, rho=0.5, norm_bound=60.0, seed=1)


def _groups() -> dpmean.GroupedRelease:
    rows, labels = np.random.default_rng(0).normal(5, 1, (600, _D)), np.arange(600) % 2
    return dpmean.mean_by(rows, by=labels, groups=[0, 1, 2], rho=0.5, norm_bound=60.0, seed=1)


def _ledger() -> bytes:
    entry = Entry("0" * 32, "2026-01-01T00:00:00Z", "refined", Zcdp(Fraction(1, 2)), 600, _D, ("a", "b"), "replace-one")
    costs = (Zcdp(Fraction(1, 3)), dpmean.PureDp(Fraction(1, 8)), renyi_of(Zcdp(Fraction(1, 10))))
    others = tuple(Entry(f"{k:032}", entry.when, "a count", cost) for k, cost in enumerate(costs))
    return codec.write({"data": Account(Zcdp(1), (entry,)), "other": Account(ApproxDp(8, Fraction(1, 10**6)), others)})


def _device() -> Client:
    return Client(3, _ROW, _SHUFFLED, honest=Fraction(1), sealed=False)


def seeds() -> Iterator[bytes]:
    """Yield complete messages, each after a byte that names its reader."""
    analyzer, collection = _setup(), _collection()
    device = _device()
    device.join(collection)
    asked = ShuffleAnalyzer(msgspec.json.decode(collection, type=_type(collection)))
    batch = device.encode(asked.document())
    shuffler = Shuffler(collection, 0)
    told_batches = []
    for user in range(_USERS):
        client = Client(user, _ROW, _SHUFFLED, honest=Fraction(1), sealed=False)
        client.join(collection)
        told_batches.append(client.encode(asked.document()))
        shuffler.receive(told_batches[-1])
    documents = [
        _release().to_json().encode(),
        _groups().to_json().encode(),
        analyzer.document(),
        Client(3, _ROW, _LOCAL).answer(analyzer.document()) or b"",
        analyzer.save(),
        collection,
        asked.document(),
        batch,
        shuffler.hand_on(),
        asked.save(),
        collection,
        _ledger(),
    ]
    for number, document in enumerate(documents):
        yield bytes([number]) + document


def _type(collection: bytes) -> type:
    return type(Shuffler(collection, 0).collection)


def prepare(folder: Path) -> Callable[[bytes], None]:
    """Return a function that runs one input."""
    analyzer, collection, ledger = _setup(), _collection(), folder / "ledger.json"
    kind = _type(collection)
    round_document = ShuffleAnalyzer(msgspec.json.decode(collection, type=kind)).document()
    joined = _device()
    joined.join(collection)

    def receive(data: bytes) -> None:
        told(str(analyzer.receive(data)))

    def deliver(data: bytes) -> None:
        ShuffleAnalyzer(msgspec.json.decode(collection, type=kind)).receive(data)

    def read_ledger(data: bytes) -> None:
        ledger.write_bytes(data)
        told(str(dpmean.Ledger(ledger, rho=1.0)))

    readers: list[Callable[[bytes], object]] = [
        lambda data: dpmean.Release.from_json(_text(data)),
        lambda data: dpmean.GroupedRelease.from_json(_text(data)),
        lambda data: Client(3, _ROW, _LOCAL).answer(data),
        receive,
        LocalAnalyzer.resume,
        lambda data: _device().join(data),
        lambda data: joined.encode(data) if data != round_document else None,
        lambda data: told(str(Shuffler(collection, 0).receive(data))),
        deliver,
        ShuffleAnalyzer.resume,
        lambda data: Shuffler(data, 0),
        read_ledger,
    ]

    def one(data: bytes) -> None:
        if data:
            judged(lambda: readers[data[0] % len(readers)](data[1:]))

    return one


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")

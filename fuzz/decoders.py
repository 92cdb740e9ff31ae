"""Damaged messages, documents and saved states of all parties."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

import dpmean
from dpmean import ApproxDp, Entry, Zcdp
from dpmean.ledger import codec
from dpmean.ledger.account import Account
from dpmean.privacy.renyi import renyi_of
from dpmean.trust.client import Client
from dpmean.trust.devices.ledger import DeviceLedger
from dpmean.trust.devices.signatures import Kind, content_of, identity_of, publish
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.protocol import setup_for
from dpmean.trust.shuffle.analyzer import ShuffleAnalyzer
from dpmean.trust.shuffle.enrollment import Enrollment
from dpmean.trust.shuffle.invitation import AnalyzerKeys, collection_for, invite
from dpmean.trust.shuffle.shuffler import Shuffler
from fuzz.judge import SECRET, check_errors, check_message

_LOCAL, _SHUFFLED = Zcdp(Fraction(1, 2)), ApproxDp(8, Fraction(1, 10**6))
_USERS, _D = 120, 2
_ROW = [SECRET, -SECRET]


_KEYS, _SHUFFLER = AnalyzerKeys(bytes(range(32)), bytes(range(32, 64))), bytes(range(64, 96))
_NOW, _LATER = 1_800_000_000, 1_800_600_000
_KINDS: list[tuple[int, Kind]] = [(2, "task"), (5, "collection"), (6, "round"), (10, "round"), (12, "invitation")]
"""Which readers take signed documents: damage is signed, too, or nothing behind the signature would be reached."""


def _clock() -> float:
    return _NOW


def _setup() -> LocalAnalyzer:
    setup = setup_for("0" * 16, 2000, _D, 40.0, _LOCAL, few_rounds=True, analyzer=_KEYS.public)
    return LocalAnalyzer(setup, _KEYS.identity)


def _invitation() -> bytes:
    times: dict[str, Any] = {"closes": _LATER, "expires": _LATER}
    return invite(_KEYS, identity_of(_SHUFFLER), name="0" * 16, d=_D, reach=40.0, budget=_SHUFFLED, **times)


def _enrollment() -> Enrollment:
    enrollment = Enrollment(_invitation(), _KEYS.public, _SHUFFLER, clock=_clock)
    for user in range(_USERS):
        enrollment.receive(msgspec.msgpack.encode([2, enrollment.digest, user.to_bytes(8)]))
    return enrollment


def _analyzer(enrollment: Enrollment) -> ShuffleAnalyzer:
    return ShuffleAnalyzer(collection_for(_invitation(), enrollment.close(), few_rounds=True), _KEYS)


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


class _Devices:
    """Devices whose ledgers are in one file."""

    def __init__(self, folder: Path) -> None:
        self._ledger = DeviceLedger(folder / "devices", clock=_clock)
        self._number = 0

    def new(self, budget: Zcdp | ApproxDp, user: int = 3) -> Client:
        """Return a device that has sent nothing."""
        self._number += 1
        return Client(user, _ROW, self._ledger.account(f"{self._number}", "rows", budget), _KEYS.public)

    def joined(self, document: bytes, user: int = 3) -> Client:
        """Return a device that has joined a collection."""
        device = self.new(_SHUFFLED, user)
        device.check_in(_invitation())
        device.join(document)
        return device


def seeds() -> Iterator[bytes]:
    """Yield complete messages, each after a byte that names its reader."""
    with TemporaryDirectory() as name:
        yield from _seeds(_Devices(Path(name)))


def _seeds(devices: _Devices) -> Iterator[bytes]:
    analyzer, enrollment = _setup(), _enrollment()
    roll = enrollment.close()
    asking = _analyzer(enrollment)
    task, asked = analyzer.document(_LATER), asking.document(_LATER)
    shuffler = Shuffler(asking.published, asked, enrollment, clock=_clock)
    batches = [devices.joined(asking.published, user).encode(asked) for user in range(_USERS)]
    for batch in batches:
        shuffler.receive(batch)
    documents = [
        _release().to_json().encode(),
        _groups().to_json().encode(),
        task,
        devices.new(_LOCAL).answer(task) or b"",
        analyzer.save(),
        asking.published,
        asked,
        batches[0],
        shuffler.hand_on(),
        asking.save(),
        asked,
        _ledger(),
        _invitation(),
        msgspec.msgpack.encode([2, enrollment.digest, bytes(8)]),
        roll,
    ]
    kinds = dict(_KINDS)
    for number, document in enumerate(documents):
        yield bytes([number]) + (content_of(document, kinds[number]) if number in kinds else document)


def prepare(folder: Path) -> Callable[[bytes], None]:
    """Return a function that runs one input."""
    analyzer, enrollment, ledger = _setup(), _enrollment(), folder / "ledger.json"
    enrollment.close()
    asking, devices = _analyzer(enrollment), _Devices(folder)
    analyzer.document(_LATER)
    asked = asking.document(_LATER)
    joined, unasked = devices.joined(asking.published), content_of(asked, "round")

    def checked_in() -> Client:
        device = devices.new(_SHUFFLED)
        device.check_in(_invitation())
        return device

    def deliver(data: bytes) -> None:
        one = _analyzer(enrollment)
        one.document(_LATER)
        one.receive(data)

    def read_ledger(data: bytes) -> None:
        ledger.write_bytes(data)
        check_message(str(dpmean.Ledger(ledger, rho=1.0)))

    def signed(number: int, data: bytes) -> bytes:
        return publish(_KEYS.identity, dict(_KINDS)[number], data)

    readers: list[Callable[[bytes], object]] = [
        lambda data: dpmean.Release.from_json(_text(data)),
        lambda data: dpmean.GroupedRelease.from_json(_text(data)),
        lambda data: devices.new(_LOCAL).answer(signed(2, data)),
        lambda data: check_message(str(analyzer.receive(data))),
        lambda data: LocalAnalyzer.resume(data, _KEYS.identity),
        lambda data: checked_in().join(signed(5, data)),
        lambda data: joined.encode(signed(6, data)) if data != unasked else None,
        lambda data: check_message(str(Shuffler(asking.published, asked, enrollment, clock=_clock).receive(data))),
        deliver,
        lambda data: ShuffleAnalyzer.resume(data, _KEYS),
        lambda data: Shuffler(asking.published, signed(10, data), enrollment, clock=_clock),
        read_ledger,
        lambda data: devices.new(_SHUFFLED).check_in(signed(12, data)),
        lambda data: check_message(str(_enrollment().receive(data))),
        lambda data: collection_for(_invitation(), data),
    ]

    def one(data: bytes) -> None:
        if data:
            check_errors(lambda: readers[data[0] % len(readers)](data[1:]))

    return one


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")

"""The analyzer: asks in rounds, hears messages in any order, and knows nothing that devices did not randomize.

The protocol is a generator that yields tasks and is sent tallies. What must survive a crash is the public setup, the
tallies of closed rounds, and that of the open one: replaying the former leads back to the same task.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import final

import msgspec
import numpy as np
from numpy.typing import NDArray

from dpmean.errors import ArgumentError
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.queries.queries import Ints
from dpmean.release.estimate import Estimate
from dpmean.trust.devices.hashing import Lines, body_size, hashed_all, header
from dpmean.trust.devices.signatures import VERSION, digest_of, fault_of, identity_of, publish
from dpmean.trust.local.protocol import Protocol, Setup
from dpmean.trust.local.schema import TICKET, Message, Outcome, Task
from dpmean.trust.local.tally import DIGEST, add_answers, digests, empty_tally, read_answers


@final
class LocalAnalyzer:
    """The analyzer of one collection in the local model: it asks in rounds, and adds up what devices answer.

    ``estimate`` is the ``Estimate`` once all rounds are closed, and None before.

    ``published`` is the setup as everybody reads it; it is empty if the collection is only played in one process.

    Args:
        setup: What everybody knows, as ``setup_for`` returns it.
        identity: The private key that signs documents, as ``new_identity`` returns it; its public key is in the setup.

    """

    def __init__(self, setup: Setup, identity: bytes = b"") -> None:
        if setup.analyzer and identity_of(identity) != setup.analyzer:
            raise ArgumentError("the public key of this identity is not the analyzer of the setup: give its own key")
        self.setup = setup
        self.published = publish(identity, "setup", msgspec.json.encode(setup)) if setup.analyzer else b""
        protocol = Protocol(setup)
        self.budget, self.step = protocol.budget, protocol.step
        self.outcomes: Counter[str] = Counter()
        self.answered = np.zeros(setup.users, dtype=np.bool_)
        self.closed: list[Ints] = []
        self._answers = np.zeros((setup.users, DIGEST), dtype=np.uint8)  # the start of the digest of each answer
        self._over: set[bytes] = set()
        self._identity = identity
        self.estimate: Estimate | None = None
        self._protocol = protocol.play()
        self._open(next(self._protocol))

    @property
    def done(self) -> bool:
        """Whether there is an estimate."""
        return self.estimate is not None

    def document(self, closes: int) -> bytes:
        """Return the open task as devices read it; the same one until the round is closed.

        Args:
            closes: Until when devices may answer, in seconds since 1970.

        """
        if self.done:
            raise ArgumentError("this collection is complete: there is nothing left to ask")
        if not self.setup.analyzer:
            raise ArgumentError("this collection can only be played in one process: give setup_for the analyzer's key")
        if not 0 < closes < 1 << 40:
            raise ArgumentError(f"closes must be a time in seconds since 1970, got {closes}")
        if self.task.closes not in (0, closes):
            raise ArgumentError(
                f"this task has been published: it closes at {self.task.closes}, and not at {closes}. Devices that "
                "have answered would answer no other one"
            )
        if not self.task.closes:
            self._publish(msgspec.structs.replace(self.task, closes=closes))
        return publish(self._identity, "task", msgspec.json.encode(self.task))

    def _open(self, task: Task) -> None:
        self._publish(task)
        self.tally = empty_tally(task)

    def _publish(self, task: Task) -> None:
        self.task, self._digest = task, digest_of(msgspec.json.encode(task))

    def close(self) -> None:
        """End the open round; who has not answered by now is not heard."""
        if self.done:
            raise ArgumentError("this collection is complete")
        if self.task.question == "vector" and not self.tally[0]:
            raise ArgumentError("nobody has answered the last round: there is no mean yet")
        self.closed.append(self.tally.copy())
        self._over.add(self._digest)
        try:
            self._open(self._protocol.send(self.tally))
        except StopIteration as end:
            self.estimate = replace(end.value, receipts=(self._receipt(end.value.radius),))

    def _receipt(self, radius: float) -> Receipt:
        counted = f"{int(self.answered.sum())} of {self.setup.users} users were heard in {len(self.closed)} rounds"
        hidden = "discrete Gaussian" if isinstance(self.budget, Zcdp) else "half spaces of vectors"
        return Receipt(
            step="answers",
            asked=f"one answer per user, a bit or a vector of norm at most {radius:.4g}; {counted}",
            mechanism=f"randomized response, {hidden}",
            cost=self.budget,
        )

    def receive(self, message: bytes) -> tuple[Outcome, str]:
        """Take in one message; return what became of it, and why.

        Args:
            message: The message, as a device returned it.

        """
        judged = self._judge(message)
        self._count(*judged)
        return judged

    def _count(self, outcome: Outcome, reason: str) -> None:
        self.outcomes[f"{outcome}: {reason}" if reason else outcome] += 1

    def _judge(self, message: bytes) -> tuple[Outcome, str]:
        if self.done:
            return Outcome.REJECTED, "the collection is complete"
        try:
            read = msgspec.msgpack.decode(message, type=Message)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Outcome.REJECTED, fault_of(message)
        if read.version != VERSION:
            return Outcome.REJECTED, "another version"
        if read.task != self._digest:
            return Outcome.REJECTED, "a closed round" if read.task in self._over else "another task"
        user = int.from_bytes(read.user)
        if len(read.user) != 8 or user >= self.setup.users:
            return Outcome.REJECTED, "an unknown user"
        body = np.frombuffer(read.body, dtype=np.uint8)[np.newaxis]
        if body.shape[1] != body_size(self.task):
            return Outcome.REJECTED, "a body of the wrong length"
        accepted, reasons = self._take(np.array([user]), body)
        return (Outcome.ACCEPTED, "") if accepted[0] else reasons[0]

    def receive_lines(self, lines: Lines) -> None:
        """Take in many messages of the right length at once; others, one by one.

        Args:
            lines: The messages, a line of bytes each, as an (any number, length) array of uint8.

        """
        start, user_at, body_at = header(self.task)
        right = not self.done and lines.shape[1] == body_at + body_size(self.task)
        if right:
            fits = np.all(lines[:, :user_at] == start[:user_at], axis=1)
            fits &= np.all(lines[:, user_at + 8 : body_at] == start[user_at + 8 :], axis=1)
            users = np.ascontiguousarray(lines[:, user_at : user_at + 8]).view(">u8")[:, 0].astype(np.uint64)
            fits &= users < self.setup.users
            chosen = np.flatnonzero(fits)
            accepted, reasons = self._take(users[chosen].astype(np.int64), lines[chosen, body_at:])
            self.outcomes[Outcome.ACCEPTED] += int(accepted.sum())
            for judged in reasons:
                self._count(*judged)
            others = np.flatnonzero(~fits)
        else:
            others = np.arange(len(lines))
        for k in others:
            self.receive(lines[k].tobytes())

    def _take(self, users: Ints, bodies: Lines) -> tuple[NDArray[np.bool_], list[tuple[Outcome, str]]]:
        """Add answers to the tally; each user counts once. Return who was accepted, and why others were not."""
        task = self.task
        tickets = hashed_all(task.name, users, TICKET) >> np.uint64(32)
        invited = (tickets >= np.uint64(task.tickets[0])) & (tickets < np.uint64(task.tickets[1]))
        legal, values = read_answers(task, bodies, self.budget)
        usable = np.flatnonzero(invited & legal)
        accepted = np.zeros(len(users), dtype=np.bool_)
        accepted[usable[np.unique(users[usable], return_index=True)[1]]] = True  # the first of each user
        accepted &= ~self.answered[users]
        found = digests(users, bodies)
        self.answered[users[accepted]] = True
        self._answers[users[accepted]] = found[accepted]
        same = np.all(self._answers[users] == found, axis=1)
        reasons: list[tuple[Outcome, str]] = []
        for k in np.flatnonzero(~accepted):
            if not invited[k]:
                reasons.append((Outcome.REJECTED, "a user who was not asked"))
            elif not legal[k]:
                reasons.append((Outcome.REJECTED, "an impossible answer"))
            elif same[k]:
                reasons.append((Outcome.DUPLICATE, ""))
            else:
                reasons.append((Outcome.CONFLICT, "another answer of the same user"))
        add_answers(self.tally, task, users[accepted], values[accepted])
        return accepted, reasons

    def save(self) -> bytes:
        """Return everything that must survive, but for the private key; ``resume`` goes on from there."""
        state = {
            "version": VERSION,
            "setup": self.setup,
            "closed": [[list(tally.shape), tally.tobytes()] for tally in self.closed],
            "open": self.tally.tobytes(),
            "closes": self.task.closes,
            "over": sorted(self._over),
            "answered": np.packbits(self.answered).tobytes(),
            "answers": self._answers[self.answered].tobytes(),
            "outcomes": dict(self.outcomes),
        }
        return msgspec.msgpack.encode(state)

    @staticmethod
    def resume(saved: bytes, identity: bytes = b"") -> LocalAnalyzer:
        """Go on where ``save`` was called.

        Args:
            saved: What ``save`` returned.
            identity: The private key that signs documents.

        """
        try:
            state = msgspec.msgpack.decode(saved)
            if state["version"] != VERSION:
                raise ValueError(f"it is of version {state['version']}")
            analyzer = LocalAnalyzer(msgspec.convert(state["setup"], Setup), identity)
            bits = np.unpackbits(np.frombuffer(state["answered"], dtype=np.uint8), count=analyzer.setup.users)
            analyzer.answered = bits.astype(np.bool_)
            answers = np.frombuffer(state["answers"], dtype=np.uint8).reshape(-1, DIGEST)
            analyzer._answers[analyzer.answered] = answers
            for size, tally in state["closed"]:
                analyzer.tally = np.frombuffer(tally, dtype=np.int64).reshape(size).copy()
                analyzer.close()
            analyzer._publish(msgspec.structs.replace(analyzer.task, closes=msgspec.convert(state["closes"], int)))
            analyzer._over = set(msgspec.convert(state["over"], list[bytes]))
            analyzer.tally = np.frombuffer(state["open"], dtype=np.int64).reshape(analyzer.tally.shape).copy()
            analyzer.outcomes = Counter(state["outcomes"])
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
            raise ArgumentError(f"this is not a saved analyzer: {error}") from None
        return analyzer


Analyzer = LocalAnalyzer
"""Its name in version 0.1.0."""

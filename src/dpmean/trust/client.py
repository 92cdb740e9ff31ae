"""A device: one row, randomized before anything leaves. Knows public documents, its row and its ledger.

It takes no array library: integers, exact coins from the operating system, signatures, and the schema of messages.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import msgspec

from dpmean.errors import ArgumentError, OverspendError
from dpmean.privacy.budgets import ApproxDp
from dpmean.trust.devices import lattice
from dpmean.trust.devices.ledger import DeviceAccount
from dpmean.trust.devices.randomness import Coins, SystemCoins
from dpmean.trust.devices.signatures import (
    VERSION,
    bytes_of,
    check_identity,
    digest_of,
    read_content,
    read_signed,
)
from dpmean.trust.devices.spending import Part, State
from dpmean.trust.local import encoder as local
from dpmean.trust.local.checks import check_task
from dpmean.trust.local.schema import Message, Task, is_asked
from dpmean.trust.shuffle import encoder as shuffled
from dpmean.trust.shuffle.amounts import read_budget as read_shuffled_budget
from dpmean.trust.shuffle.amounts import read_share
from dpmean.trust.shuffle.checks import check_collection, check_invitation, check_invited, check_round, read_extension
from dpmean.trust.shuffle.costs import check_cost, cost_of_rounds
from dpmean.trust.shuffle.messages import Batch, CheckIn
from dpmean.trust.shuffle.schema import Collection, End, Invitation, Round
from dpmean.trust.shuffle.seal import check_seal, seal
from dpmean.trust.shuffle.work import check_work

LONGEST = 400 * 86400
"""Seconds for which a collection may hold a part of the budget."""


@final
class Client:
    """One user's device. It answers a collection's questions once each, as far as its budget allows.

    What it sends is in the ledger of the device before it is returned, and asked again it returns the same bytes: a
    device that forgot what it has sent, and answered anew, would spend twice. Threads may share a client.

    Args:
        user: The number of the user, from 0 to 2^64 - 1, by which whoever carries messages knows the device.
        row: The row of the user. What leaves the device is randomized.
        account: The budget of these data, as ``DeviceLedger.account`` returns it.
        analyzer: The public key of the analyzer (Ed25519), from a source that the user trusts. Documents that are not
            signed by it are refused.
        colluding: In the shuffle model, the share of users that may collude with the analyzer, at least: a collection
            that allows for fewer is refused.
        coins: A source of randomness, for tests only. By default it is that of the operating system.

    """

    def __init__(
        self,
        user: int,
        row: Sequence[float],
        account: DeviceAccount,
        analyzer: str,
        *,
        colluding: Fraction = Fraction(1, 10),
        coins: Coins | None = None,
    ) -> None:
        if type(user) is not int or not 0 <= user < 1 << 64:
            raise ArgumentError(f"user must be an integer from 0 to 2^64 - 1, got {user!r}")
        self.user, self.account = user, account
        self._spending = account.spending
        self.analyzer = check_identity(analyzer, "analyzer")
        self._row = [lattice.number(x) for x in row]
        self._colluding = colluding
        self._coins = coins or SystemCoins()
        self._alone = threading.RLock()  # whoever is asked twice at once must know of the first answer

    # --- the local model ---------------------------------------------------------------------------------------

    def answer(self, document: bytes) -> bytes | None:
        """Answer a task, or return None if it asks others. The same task gets the same bytes again.

        Args:
            document: The task, as the analyzer published it.

        """
        content = read_signed(document, "task", self.analyzer)
        task = read_content(content, Task, "task")
        budget = check_task(task, len(self._row))
        if not is_asked(task, self.user):
            return None
        with self._alone, self._spending.change():
            setup, digest = bytes.fromhex(task.collection), digest_of(content)
            part = self._spending.invited(setup)
            if part is not None:
                return self._sent_before(part, task.round, digest, f"collection {task.name}")
            self._check_time(task.closes, "task")
            self._spending.affordable(budget)
            body = local.body(task, self.user, self._row, self._coins)
            message = msgspec.msgpack.encode(Message(VERSION, digest, self.user.to_bytes(8), body))
            part = self._spending.check_in(setup, task.name, content, task.closes)
            self._spending.join(part, setup, content, budget)
            self._spending.keep(part, task.round, digest, message, budget)
            return message

    # --- the shuffle model -------------------------------------------------------------------------------------

    def check_in(self, document: bytes) -> bytes:
        """Return a message to the shuffler that says that this device will take part. That costs nothing.

        Args:
            document: The invitation, as the analyzer published it.

        """
        content = read_signed(document, "invitation", self.analyzer)
        invitation, now = read_content(content, Invitation, "invitation"), self._spending.now
        check_invitation(invitation)
        self._check_invitation(invitation)
        check_seal()
        digest = digest_of(content)
        with self._alone, self._spending.change():
            if self._spending.invited(digest) is None:
                self._check_time(invitation.closes, "invitation")
                if invitation.expires > now + LONGEST:
                    raise ArgumentError(
                        f"the collection expires in {(invitation.expires - now) // 86400} days, and this device holds "
                        f"its budget for {LONGEST // 86400} at most: ask for an earlier end"
                    )
                self._spending.affordable(read_shuffled_budget(invitation.budget))
                self._spending.check_in(digest, invitation.name, content, invitation.expires)
        return msgspec.msgpack.encode(CheckIn(VERSION, digest, self.user.to_bytes(8)))

    def _check_invitation(self, invitation: Invitation) -> None:
        if invitation.analyzer != self.analyzer:
            raise ArgumentError("the invitation names another analyzer than the one that has signed it")
        if len(self._row) != invitation.d:
            raise ArgumentError(
                f"the collection is about rows of {invitation.d} columns, this one has {len(self._row)}"
            )
        if not isinstance(self.account.budget, ApproxDp):
            raise OverspendError(
                f"a collection costs an epsilon and a delta, and the budget of this device is {self.account.budget}"
            )
        if read_share(invitation.colluding) < self._colluding:
            raise OverspendError(
                f"the collection allows for {invitation.colluding} of the users to collude, and this device for "
                f"{self._colluding} at least"
            )

    def join(self, document: bytes) -> ApproxDp:
        """Agree to a collection, or refuse one that could cost more than is left. Return what it could cost.

        That is held until the collection is over. Then what was sent is paid, and the rest is given back.

        Args:
            document: The collection, as the analyzer published it.

        """
        content = read_signed(document, "collection", self.analyzer)
        collection = read_content(content, Collection, "collection")
        check_collection(collection)
        check_work(collection)
        with self._alone, self._spending.change():
            part = self._part(self._spending.invited(bytes_of(collection.invitation)), "invitation", "check_in")
            if part.state is State.JOINED:
                if part.document != content:
                    raise OverspendError("this device has agreed to another collection of the same invitation")
                return check_cost(collection)
            invitation = read_content(part.document, Invitation, "invitation")
            check_invited(collection, invitation, bytes_of(collection.invitation))
            cost = check_cost(collection)
            self._spending.join(part, digest_of(content), content, cost)
            return cost

    def encode(self, document: bytes, extension: bytes | None = None) -> bytes:
        """Return the batch of messages that answers a round of the collection; the same one when asked again.

        Args:
            document: The round, as the analyzer published it.
            extension: A document by which the analyzer takes answers until a later time.

        """
        content = read_signed(document, "round", self.analyzer)
        asked, digest = read_content(content, Round, "round"), digest_of(content)
        with self._alone, self._spending.change():
            part = self._part(self._spending.joined(bytes_of(asked.collection)), "collection", "join")
            if asked.round in part.rounds:
                return self._sent_before(part, asked.round, digest, f"round {asked.round}")
            collection = read_content(part.document, Collection, "collection")
            stage = check_round(collection, digest_of(part.document), asked)
            closes = asked.closes if extension is None else read_extension(extension, self.analyzer, digest)
            self._check_time(closes, "round")
            messages = shuffled.messages(collection, stage, asked, self.user, self._row, self._coins)
            batch = Batch(VERSION, digest, self.user.to_bytes(8), seal(messages, collection.key, digest))
            encoded = msgspec.msgpack.encode(batch)
            paid = cost_of_rounds(collection, [*part.rounds, asked.round])
            self._spending.keep(part, asked.round, digest, encoded, paid)
            return encoded

    def end(self, document: bytes) -> None:
        """Take leave of a collection that has ended: what was reserved and not sent is given back.

        Args:
            document: The document by which the analyzer ends it.

        """
        end = read_content(read_signed(document, "end", self.analyzer), End, "end")
        with self._alone, self._spending.change():
            part = self._spending.joined(bytes_of(end.collection))
            if part is None:
                raise ArgumentError("this device has not joined the collection that has ended")
            if part.state is not State.ENDED:
                self._spending.end(part)

    # --- parts -------------------------------------------------------------------------------------------------

    def _part(self, part: Part | None, name: str, call: str) -> Part:
        if part is None:
            raise ArgumentError(f"this device does not know the {name}: call {call} first")
        if part.state is State.ENDED:
            raise ArgumentError(f"collection {part.name} is over: this device sends nothing more to it")
        return part

    def _sent_before(self, part: Part, number: int, digest: bytes, what: str) -> bytes:
        """Return what was sent; refuse to answer another document."""
        known = self._spending.sent(part, number)
        if known is None or known[0] != digest:
            raise OverspendError(f"this device has answered another document of {what}, and answers it only once")
        if known[1] is None:
            raise ArgumentError(f"collection {part.name} is over: this device sends nothing more to it")
        return known[1]

    def _check_time(self, closes: int, name: str) -> None:
        late = self._spending.now - closes
        if late > 0:
            raise ArgumentError(f"this {name} closed {late} seconds ago: ask for an extension, or set the clock")

"""A device: one row, one answer, randomized before it leaves. Knows the task and its row, and nothing else.

It takes no array library: whole numbers, exact coins from the operating system, and the schema of messages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import final

import msgspec

from dpmean.errors import ArgumentError, OverspendError
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.trust.devices import lattice
from dpmean.trust.devices.randomness import Coins, SystemCoins
from dpmean.trust.local import encoder as local
from dpmean.trust.local.randomizers import WORD, Budget, HalfSpace, flips_are_covered, half_space_is_covered
from dpmean.trust.local.schema import VERSION, Message, Task, check_form, is_asked, read_budget, read_document
from dpmean.trust.shuffle import encoder as shuffled
from dpmean.trust.shuffle.checks import check_collection, check_round, check_work
from dpmean.trust.shuffle.costs import check_cost
from dpmean.trust.shuffle.schema import VERSION as COLLECTED
from dpmean.trust.shuffle.schema import Batch, Collection, Round, digest_of
from dpmean.trust.shuffle.seal import check_seal, seal


@final
class Client:
    """One user's device. It answers one task of its life, or all rounds of one collection.

    A device that forgets its answer, and answers again, spends twice: give ``remember`` to store its memory, and
    ``memory`` after a restart. Threads may share a device; processes must not share a memory.

    Args:
        user: The number of the user, from 0 to 2^64 - 1.
        row: The row of the user. What leaves the device is randomized.
        budget: The most that may be spent: ``Zcdp`` or ``PureDp`` in the local model, ``ApproxDp`` in the shuffle
            model.
        memory: What the device remembered before a restart. By default it is new.
        coins: A source of randomness, for tests only. By default it is that of the operating system.
        remember: A function that stores the memory where it survives. It is called before a message is returned.
        honest: The largest share of users, in the shuffle model, that a collection may rely on.
        sealed: Whether the device takes part in the shuffle model only if messages are sealed.

    """

    def __init__(
        self,
        user: int,
        row: Sequence[float],
        budget: Budget | ApproxDp,
        memory: dict[str, bytes | str] | None = None,
        coins: Coins | None = None,
        remember: Callable[[dict[str, bytes | str]], None] | None = None,
        honest: Fraction = Fraction(4, 5),
        sealed: bool = True,
    ) -> None:
        if type(user) is not int or not 0 <= user < 1 << 64:
            raise ArgumentError(f"user must be an integer from 0 to 2^64 - 1, got {user!r}")
        self.user, self.budget = user, budget
        self._honest, self._sealed = honest, sealed
        self.memory = {} if memory is None else memory
        self._row = [lattice.number(x) for x in row]
        self._remember = remember
        self._coins = coins or SystemCoins()
        self._alone = threading.RLock()  # whoever is asked twice at once must know of the first answer

    def answer(self, document: bytes) -> bytes | None:
        """Answer a task, or return None if it asks others. The same task gets the same bytes again.

        Args:
            document: The task, as the analyzer published it.

        """
        with self._alone:
            return self._answer(document)

    def _answer(self, document: bytes) -> bytes | None:
        task = read_document(document, Task, "task")
        self._check(task)
        if not is_asked(task, self.user):
            return None
        at = f"{task.name}/{task.round}"
        if self.memory:
            if self.memory.get("place") == at and self.memory.get("task") == document:
                return self._kept("message")
            raise OverspendError(f"this device has answered {self.memory.get('place')!r} and answers only once")
        body = local.body(task, self.user, self._row, self._coins)
        message = msgspec.msgpack.encode(
            Message(VERSION, bytes.fromhex(task.name), task.round, self.user.to_bytes(8), body)
        )
        self._keep(place=at, task=document, message=message)
        return message

    def join(self, document: bytes) -> ApproxDp:
        """Agree to a collection in the shuffle model, or refuse one that could cost more than is allowed.

        Return what its rounds cost together, as long as the collection's number of clients is honest.

        Args:
            document: The collection, as the analyzer published it.

        """
        with self._alone:
            return self._join(document)

    def _join(self, document: bytes) -> ApproxDp:
        collection = read_document(document, Collection, "collection")
        check_collection(collection)
        check_work(collection)
        if not isinstance(self.budget, ApproxDp):
            raise OverspendError(f"a collection costs an epsilon and a delta, and this device allows {self.budget}")
        if len(self._row) != collection.d:
            raise ArgumentError(
                f"the collection is about rows of {collection.d} columns, this one has {len(self._row)}"
            )
        if not 0 <= self.user < collection.users:
            raise ArgumentError(f"users of the collection are numbered 0 to {collection.users - 1}, got {self.user}")
        if collection.honest > self._honest * collection.users:
            raise OverspendError(
                f"the collection relies on {collection.honest} of {collection.users} users, and this device on "
                f"{float(self._honest):.0%} at most: the others may be silent or collude"
            )
        if self._sealed and not collection.key:
            raise OverspendError("the collection has no key, and this device seals what it sends: see sealed=False")
        if collection.key:
            check_seal()
        cost = check_cost(collection, self.budget)
        if self.memory and self.memory.get("collection") != document:
            raise OverspendError(
                "this device has answered, or agreed to another collection, and takes part in one only"
            )
        self._keep(collection=document)
        return cost

    def encode(self, document: bytes) -> bytes:
        """Return the batch of messages that answers a round of the collection; the same one when asked again.

        Args:
            document: The round, as the analyzer published it.

        """
        with self._alone:
            return self._encode(document)

    def _encode(self, document: bytes) -> bytes:
        if "collection" not in self.memory:
            raise ArgumentError("this device has agreed to no collection: call join first")
        agreed = self._kept("collection")
        collection = msgspec.json.decode(agreed, type=Collection)
        asked = read_document(document, Round, "round")
        stage = check_round(collection, asked)
        known = self.memory.get(f"round {asked.round}")
        if known is not None:
            if known != document:
                raise OverspendError(f"this device has answered round {asked.round} and answers it only once")
            return self._kept(f"batch {asked.round}")
        messages = shuffled.messages(collection, stage, asked, self.user, self._row, self._coins)
        digest = digest_of(agreed)
        if collection.key:
            messages = seal(messages, collection.key, digest, asked.round)
        batch = Batch(COLLECTED, digest, asked.round, self.user.to_bytes(8), messages)
        encoded = msgspec.msgpack.encode(batch)
        self._keep(**{f"round {asked.round}": document, f"batch {asked.round}": encoded})
        return encoded

    def _kept(self, name: str) -> bytes:
        return bytes(self.memory[name])  # type: ignore[arg-type]  # only the place of an answer is text

    def _keep(self, **facts: bytes | str) -> None:
        """Remember, where it survives, before anything is sent."""
        if self._remember is not None:
            self._remember({**self.memory, **facts})
        self.memory.update(facts)

    def _check(self, task: Task) -> None:
        """Refuse a task that this version does not know, that is not well formed, or that costs more than is allowed.

        Nothing here depends on the row: an error must not tell anything about it either.
        """
        if task.version != VERSION:
            raise ArgumentError(f"this device speaks version {VERSION}, and the task is of version {task.version}")
        if len(self._row) != task.d:
            raise ArgumentError(f"the task is about rows of {task.d} columns, this one has {len(self._row)}")
        check_form(task)
        budget = read_budget(task.budget)
        mine = self.budget
        if isinstance(mine, ApproxDp) or type(budget) is not type(mine) or _amount(budget) > _amount(mine):
            raise OverspendError(f"the task would cost {budget}, and this device allows {self.budget}")
        if task.question != "vector":
            covered = flips_are_covered(int(task.lie), budget)
        elif isinstance(budget, Zcdp):
            covered = True  # the device computes the noise itself
        else:
            covered = half_space_is_covered(_half_space(task), budget)
        if not covered:
            raise OverspendError(f"the answer would cost more than the task says, {budget}")


def _amount(budget: Budget) -> Fraction:
    return budget.epsilon if isinstance(budget, PureDp) else budget.rho


def _half_space(task: Task) -> HalfSpace:
    return HalfSpace(task.threshold, min(int(task.outside), WORD))

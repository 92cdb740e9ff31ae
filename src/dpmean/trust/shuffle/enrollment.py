"""Who takes part: clients check in with the shuffler, before the number of users is fixed.

A check-in names a user and an invitation. It is in a journal before it counts, so a restart loses none, and a closed
enrollment stays what it was: rounds are calibrated to its number.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import final

import msgspec

from dpmean.errors import ArgumentError, DataError
from dpmean.trust.devices.signatures import (
    VERSION,
    check_identity,
    digest_of,
    fault_of,
    identity_of,
    read_content,
    read_signed,
    sign,
)
from dpmean.trust.local.schema import Outcome
from dpmean.trust.shuffle.checks import check_invitation, rolled
from dpmean.trust.shuffle.journal import Journal
from dpmean.trust.shuffle.messages import CheckIn, Roll
from dpmean.trust.shuffle.schema import Invitation


@final
class Enrollment:
    """The users who have checked in to one collection. Threads may share it.

    Args:
        invitation: The invitation, as the analyzer published it.
        analyzer: The public key of the analyzer that this shuffler works with.
        identity: The private key of the shuffler, as ``new_identity`` returns it.
        journal: The file that survives a crash. Without one, an enrollment that is lost must not be started again.
        clock: What tells the time, in seconds since 1970.

    """

    def __init__(
        self,
        invitation: bytes,
        analyzer: str,
        identity: bytes,
        journal: Path | str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        content = read_signed(invitation, "invitation", check_identity(analyzer, "analyzer"))
        self.invitation = read_content(content, Invitation, "invitation")
        check_invitation(self.invitation)
        if self.invitation.analyzer != analyzer:
            raise ArgumentError("the invitation names another analyzer than the one that has signed it")
        if self.invitation.shuffler != identity_of(identity):
            raise ArgumentError("the invitation names another shuffler: it must be given this one's public key")
        self.digest = digest_of(content)
        self.identity = identity
        self.closed = False
        self._clock = clock
        self._users: set[int] = set()
        self._alone = threading.RLock()
        self._process = os.getpid()
        self._stopped = ""
        self._journal: Journal | None = None
        if journal is not None:
            self._journal = Journal(Path(journal), self.digest + b"check-ins")
            try:
                for entry in self._journal.entries():
                    if entry is None:
                        self.closed = True
                    else:
                        self._users.add(int.from_bytes(entry))
            except BaseException:
                self._journal.close()
                raise

    @property
    def users(self) -> int:
        """How many users have checked in."""
        return len(self._users)

    def __contains__(self, user: int) -> bool:
        return user in self._users

    def receive(self, check_in: bytes) -> tuple[Outcome, str]:
        """Take in a check-in; return what became of it, and why.

        Args:
            check_in: The check-in, as a client returned it.

        """
        with self._alone:
            self._check_running()
            try:
                read = msgspec.msgpack.decode(check_in, type=CheckIn)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return Outcome.REJECTED, fault_of(check_in)
            user = int.from_bytes(read.user)
            if read.version != VERSION:
                return Outcome.REJECTED, "another version"
            if read.invitation != self.digest:
                return Outcome.REJECTED, "another invitation"
            if len(read.user) != 8:
                return Outcome.REJECTED, "an unknown user"
            if user in self._users:
                return Outcome.DUPLICATE, ""
            if self.closed or self._clock() > self.invitation.closes:
                return Outcome.REJECTED, "the enrollment is closed"
            self._stopped = _UNSURE
            if self._journal is not None:
                self._journal.append(read.user)
            self._users.add(user)
            self._stopped = ""
            return Outcome.ACCEPTED, ""

    def close(self) -> bytes:
        """Close the enrollment, and return how many users have checked in, signed; asked again, the same."""
        with self._alone:
            self._check_running()
            if not self.closed:
                self._stopped = _UNSURE
                if self._journal is not None:
                    self._journal.end()
                self.closed = True
                self._stopped = ""
            signature = sign(self.identity, "roll", rolled(self.digest, self.users))
            return msgspec.msgpack.encode(Roll(VERSION, self.digest, self.users, signature))

    def let_go(self) -> None:
        """Let go of the journal; nobody checks in any more."""
        with self._alone:
            self._stopped = "this enrollment was let go: start another one from its journal"
            if self._journal is not None:
                self._journal.close()

    def _check_running(self) -> None:
        if os.getpid() != self._process:
            raise DataError(
                "this enrollment belongs to the process that started it, and this is another one: let that process "
                "do the work"
            )
        if self._stopped:
            raise DataError(self._stopped)


_UNSURE = "the journal could not be written, and may differ from what is in memory: start again from it"

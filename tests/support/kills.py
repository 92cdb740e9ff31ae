"""Kill processes that spend from one file, at random moments, and check after each kill that nothing is lost.

Each of several writers tells through a pipe what it does: ``began`` and ``shown`` with the coins of a release, and in
between how far it is. A writer that is killed is replaced by another. Every file has a budget for so many releases;
when it is spent, the next file is begun.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from dpmean import Ledger, OverspendError, Zcdp
from dpmean.ledger.entries import entry_of
from tests.support.spender import PRICE, release

MOMENTS = {
    "began": "before it asks for the lock",
    "waits": "while it waits for the lock",
    "locked": "while it reads, adds, and writes beside the file",
    "written": "after the copy is on the disk, before it takes its place",
    "placed": "after it took its place, before the folder is on the disk",
    "synced": "after the folder is on the disk, before the lock is given back",
    "unlocked": "after it is recorded, before it is shown",
    "shown": "after it is shown, before the next",
    "refused": "while nothing is left to spend",
}
"""What a writer said last before it was killed, in words."""
RELEASES = 100
"""How many the budget of a file allows."""
_LONGEST = 0.02


@dataclass(slots=True)
class Figures:
    """What happened in all."""

    kills: int = 0
    files: int = 0
    shown: int = 0
    recorded: int = 0
    moments: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOMENTS, 0))


class Writer:
    """A process that spends from a file until it is killed."""

    def __init__(self, file: str) -> None:
        self._inlet, outlet = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _spend_without_end(file, outlet)
        os.close(outlet)
        os.set_blocking(self._inlet, False)
        self._said = ""

    def said(self) -> list[str]:
        """Return all that it has said so far, in whole lines."""
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._inlet, 1 << 16):
                self._said += more.decode()
        return self._said.rpartition("\n")[0].splitlines()

    def coins(self, word: str) -> list[str]:
        """Return the coins of the releases of which it said so."""
        return [line.split()[1] for line in self.said() if line.startswith(word)]

    def wait_for(self, word: str, patience: float) -> None:
        """Wait until it says a word, or not for long."""
        heard, end = len(self.said()), time.monotonic() + patience
        while time.monotonic() < end and not any(line.startswith(word) for line in self.said()[heard:]):
            time.sleep(0.0002)

    def kill(self) -> str:
        """Kill it on the spot, and return at which moment that was."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return (self.said() or ["began"])[-1].split()[0]

    def close(self) -> None:
        """Forget it."""
        os.close(self._inlet)


def _spend_without_end(file: str, outlet: int) -> NoReturn:
    try:
        _tell_moments(lambda word: os.write(outlet, f"{word}\n".encode()))
        ledger = Ledger(file)
        while True:
            made = release()
            coins = made.settings.coins
            os.write(outlet, f"began {coins}\n".encode())
            try:
                ledger.record(made)
            except OverspendError:
                os.write(outlet, b"refused\n")
                time.sleep(0.001)
            else:
                os.write(outlet, f"shown {coins}\n".encode())
    finally:
        os._exit(1)


def _tell_moments(tell: Callable[[str], object]) -> None:
    """Let the system calls of a ledger say that they are done."""
    import fcntl

    flock, fsync, replace, placed = fcntl.flock, os.fsync, os.replace, False

    def telling_flock(handle: int, how: int) -> None:
        tell("waits" if how == fcntl.LOCK_EX else "synced")
        flock(handle, how)
        tell("locked" if how == fcntl.LOCK_EX else "unlocked")

    def telling_fsync(handle: int) -> None:
        nonlocal placed
        fsync(handle)
        if not placed:
            tell("written")
        placed = False

    def telling_replace(old: Any, new: Any) -> None:
        nonlocal placed
        replace(old, new)
        placed = True
        tell("placed")

    fcntl.flock, os.fsync, os.replace = telling_flock, telling_fsync, telling_replace  # type: ignore[assignment]


class Watch:
    """One file, those who write it, and what must hold after every kill."""

    def __init__(self, file: Path, writers: int) -> None:
        self.file = str(file)
        Ledger(self.file, rho=RELEASES * PRICE)
        self.alive = [Writer(self.file) for _ in range(writers)]
        self.dead: list[Writer] = []
        self._before: list[str] = []
        self._ids: dict[str, str] = {}

    def kill(self, writer: Writer, figures: Figures, *, replace: bool) -> None:
        """Kill one, look at the file, and put another one in its place."""
        self.alive.remove(writer)
        figures.moments[writer.kill()] += 1
        figures.kills += 1
        self.dead.append(writer)
        if len(set(writer.coins("began"))) - len(writer.coins("shown")) > 1 + writer.said().count("refused"):
            raise AssertionError("it began a release before it showed the last")
        self.check()
        if replace:
            self.alive.append(Writer(self.file))

    def check(self) -> None:
        """Check that the file is whole, and has all that was shown, once, and nothing that nobody made."""
        everybody = [*self.alive, *self.dead]
        shown = [self._id(coins) for writer in everybody for coins in writer.coins("shown")]
        ledger = Ledger(self.file)
        entries = ledger.entries
        recorded = [entry.id for entry in entries]
        began = {self._id(coins) for writer in everybody for coins in writer.coins("began")}
        if len(recorded) != len(set(recorded)):
            raise AssertionError("a release is recorded twice")
        if not set(shown) <= set(recorded):
            raise AssertionError("a release was shown that is not recorded")
        if not set(recorded) <= began:
            raise AssertionError("a release is recorded that nobody made")
        if recorded[: len(self._before)] != self._before:
            raise AssertionError("what was recorded before has changed")
        # Who is alive goes on while this looks: what was recorded before is on its way, or was shown by now.
        by_now = {self._id(coins) for writer in everybody for coins in writer.coins("shown")}
        if len(set(recorded) - by_now) > len(everybody):
            raise AssertionError("more is recorded than was shown or may be on its way")
        if any(entry.cost != Zcdp(PRICE) for entry in entries) or len(entries) > RELEASES or ledger.left < 0:
            raise AssertionError("the sum is not that of the releases, or exceeds the budget")
        self._before = recorded

    def _id(self, coins: str) -> str:
        if coins not in self._ids:
            self._ids[coins] = entry_of(release(coins=coins), Zcdp(1)).id
        return self._ids[coins]

    @property
    def is_spent(self) -> bool:
        """Whether the budget is."""
        return len(self._before) == RELEASES

    def end(self, figures: Figures) -> None:
        """Kill all that are left, and check what they leave behind."""
        import fcntl

        for writer in list(self.alive):
            self.kill(writer, figures, replace=False)
        with open(f"{self.file}.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if one has it still
            fcntl.flock(lock, fcntl.LOCK_UN)
        figures.files += 1
        figures.recorded += len(self._before)
        figures.shown += sum(len(writer.coins("shown")) for writer in self.dead)
        if self.is_spent:
            with contextlib.suppress(OverspendError):
                Ledger(self.file).record(release())
                raise AssertionError("more was spent than there was")
        Ledger(self.file, rho=1, dataset="others").record(release())
        if Path(f"{self.file}.tmp").exists():
            raise AssertionError("a copy stays behind")
        for writer in self.dead:
            writer.close()


def campaign(
    folder: Path, kills: int, *, writers: int = 3, seed: int = 7, tick: Callable[[int], object] = lambda _kills: None
) -> Figures:
    """Kill so many writers, or a few more; every second one right after it said a word that is drawn at random.

    Raises AssertionError as soon as something is wrong.
    """
    figures, chance = Figures(), random.Random(seed)
    words = [word for word in MOMENTS if word != "refused"]
    while figures.kills < kills:
        watch = Watch(folder / f"budget-{figures.files}.json", writers)
        try:
            while figures.kills < kills and not watch.is_spent:
                victim = chance.choice(watch.alive)
                if chance.random() < 0.5:
                    victim.wait_for(chance.choice(words), patience=1.0)
                    time.sleep(chance.uniform(0, 0.0005))
                else:
                    time.sleep(chance.uniform(0, _LONGEST))
                watch.kill(victim, figures, replace=True)
                tick(figures.kills)
            watch.end(figures)
            tick(figures.kills)
        finally:
            for writer in watch.alive:
                writer.kill()
    return figures

"""Processes that spend from one file, for the tests of ledgers: each line printed says what was shown to somebody.

python -m tests.support.spender spend FILE TIMES       record so many releases of rho = 1/50, as long as there is budget
python -m tests.support.spender killed FOLDER TIMES    kill so many processes that spend without end: see kills.py
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpmean import Ledger, Neighbours, OverspendError, Receipt, Release, Zcdp
from dpmean.enums import Trust
from dpmean.release.settings import Settings

PRICE = Fraction(1, 50)


def release(cost: Fraction = PRICE, *, coins: str | None = None, seeded: bool = False) -> Release:
    """Return a release as ``dpmean.mean`` makes them, without the work."""
    return Release(
        mean=np.array([1.5, 2.5]),
        noise_std=np.array([0.5, 0.5]),
        centre=np.zeros(2),
        radius=1.0,
        receipts=(Receipt("mean", "a sum", "discrete Gaussian", Zcdp(cost)),),
        n=100,
        d=2,
        method="refined",
        trust=Trust.CENTRAL,
        neighbours=Neighbours.REPLACE_ONE,
        seeded=seeded,
        settings=Settings(coins=coins or os.urandom(16).hex()),
    )


def spend(file: str, times: int) -> None:
    ledger = Ledger(file)
    for _ in range(times):
        made = release()
        try:
            ledger.record(made)
        except OverspendError:
            print("refused", flush=True)
        else:
            print("shown", made.settings.coins, flush=True)


def killed(folder: str, times: int) -> None:
    from tests.support.kills import campaign

    print(json.dumps(asdict(campaign(Path(folder), times))))


def killed_without_locks(folder: str, times: int) -> None:
    """The same with locks that lock nothing, which must not go well."""
    import fcntl

    fcntl.flock = lambda *_: None
    killed(folder, times)


if __name__ == "__main__":
    tasks = {"spend": spend, "killed": killed, "killed-without-locks": killed_without_locks}
    tasks[sys.argv[1]](sys.argv[2], int(sys.argv[3]))

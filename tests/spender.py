"""Processes that spend from one file, for the tests of ledgers: each line printed says what was shown to somebody.

python -m tests.spender spend FILE TIMES       record so many releases of rho = 1/50, as long as there is budget
python -m tests.spender killed FILE TIMES      start a process that spends without end, and kill it, so many times
"""

import os
import random
import signal
import sys
import time
from fractions import Fraction

import numpy as np

from dpmean import Ledger, Neighbours, OverspendError, Receipt, Release, Zcdp

PRICE = Fraction(1, 50)


def release(cost=PRICE, *, coins=None, seeded=False):
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
        trust="central",
        neighbours=Neighbours.REPLACE_ONE,
        seeded=seeded,
        public={"coins": coins or os.urandom(16).hex()},
    )


def spend(file, times):
    ledger = Ledger(file)
    for _ in range(times):
        made = release()
        try:
            ledger.record(made)
        except OverspendError:
            print("refused", flush=True)
        else:
            print("shown", made.public["coins"], flush=True)


def spend_without_end(file, out):
    ledger = Ledger(file)
    while True:
        made = release()
        os.write(out, f"began {made.public['coins']}\n".encode())
        ledger.record(made)
        os.write(out, f"shown {made.public['coins']}\n".encode())


def killed(file, times):
    chance, kills, shown, longest = random.Random(7), 0, 0, 0.005
    while kills < times or shown < 20:  # a disk may be slow: then wait longer
        inlet, outlet = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                spend_without_end(file, outlet)
            finally:
                os._exit(1)
        os.close(outlet)
        with os.fdopen(inlet) as lines:
            said = lines.readline()  # it is at work
            time.sleep(chance.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            said += lines.read()
        print(f"{said}killed {len(Ledger(file).entries)}", flush=True)
        kills, shown, longest = kills + 1, shown + said.count("shown"), longest * (1 if "shown" in said else 1.2)


if __name__ == "__main__":
    {"spend": spend, "killed": killed}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))

"""Clients, or a shuffler, as a process of their own: bytes come in on standard input and go out on standard output.

``clients USERS ANALYZER FOLDER`` reads an invitation and writes a check-in for every client, reads a collection, and
then round after round, and writes a batch for every client to each. ``shuffler ANALYZER IDENTITY FOLDER`` reads an
invitation and check-ins up to an empty one, and writes a roll; it reads a collection, and for every round the document
and the batches up to an empty one, and writes a delivery. ANALYZER is a public key, IDENTITY a private one.
"""

import sys
from pathlib import Path

import numpy as np

from dpmean import ApproxDp
from dpmean.trust.client import Client
from dpmean.trust.devices.ledger import DeviceLedger
from dpmean.trust.shuffle.enrollment import Enrollment
from dpmean.trust.shuffle.shuffler import Shuffler


def read(stream):
    size = stream.read(8)
    return stream.read(int.from_bytes(size)) if len(size) == 8 else None


def write(stream, message):
    stream.write(len(message).to_bytes(8) + message)
    stream.flush()


def rows_for(users):
    return np.random.default_rng(1).normal(5, 1, (users, 2))


def clients(users, analyzer, folder):
    source, out = sys.stdin.buffer, sys.stdout.buffer
    ledger = DeviceLedger(folder / "ledger")
    everyone = [
        Client(user, row, ledger.account(f"user {user}", "rows", ApproxDp(8, 1e-6)), analyzer)
        for user, row in enumerate(rows_for(users).tolist())
    ]
    invitation = read(source)
    for one in everyone:
        write(out, one.check_in(invitation))
    collection = read(source)
    for one in everyone:
        one.join(collection)
    while (asked := read(source)) is not None:
        for one in everyone:
            write(out, one.encode(asked))


def shuffler(analyzer, identity, folder):
    source, out = sys.stdin.buffer, sys.stdout.buffer
    enrollment = Enrollment(read(source), analyzer, identity, folder / "check-ins")
    while check_in := read(source):
        enrollment.receive(check_in)
    write(out, enrollment.close())
    collection, number = read(source), 0
    while (asked := read(source)) is not None:
        one = Shuffler(collection, asked, enrollment, folder / f"round-{number}")
        while batch := read(source):
            one.receive(batch)
        write(out, one.hand_on())
        number += 1


if __name__ == "__main__":
    if sys.argv[1] == "clients":
        clients(int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
    else:
        shuffler(sys.argv[2], bytes.fromhex(sys.argv[3]), Path(sys.argv[4]))

"""Clients, or a shuffler, as a process of their own: bytes come in on standard input and go out on standard output.

``clients USERS`` reads a collection, then round after round, and writes a batch for every client to each.
``shuffler`` reads a collection, and then for every round the batches up to an empty one; it writes a delivery.
"""

import sys
from fractions import Fraction

import numpy as np

from dpmean import ApproxDp
from dpmean.trust.client import Client
from dpmean.trust.shuffle.shuffler import Shuffler


def read(stream):
    size = stream.read(8)
    return stream.read(int.from_bytes(size)) if len(size) == 8 else None


def write(stream, message):
    stream.write(len(message).to_bytes(8) + message)
    stream.flush()


def rows_for(users):
    return np.random.default_rng(1).normal(5, 1, (users, 2))


def clients(users):
    source, out = sys.stdin.buffer, sys.stdout.buffer
    everyone = [
        Client(user, row, ApproxDp(8, 1e-6), honest=Fraction(4, 5)) for user, row in enumerate(rows_for(users).tolist())
    ]
    collection = read(source)
    for one in everyone:
        one.join(collection)
    while (asked := read(source)) is not None:
        for one in everyone:
            write(out, one.encode(asked))


def shuffler():
    source, out = sys.stdin.buffer, sys.stdout.buffer
    collection, number = read(source), 0
    while (batch := read(source)) is not None:
        one = Shuffler(collection, number)
        while batch:
            one.receive(batch)
            batch = read(source)
        write(out, one.hand_on())
        number += 1


if __name__ == "__main__":
    if sys.argv[1] == "clients":
        clients(int(sys.argv[2]))
    else:
        shuffler()

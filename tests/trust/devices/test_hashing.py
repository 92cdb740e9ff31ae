"""Hashes of users: the same on a device and for many users at once."""

import numpy as np

from dpmean.trust.devices.hashing import hashed_all
from dpmean.trust.local.schema import TICKET, hashed

NAME = "00112233445566ff"


def test_hashes_are_the_same_one_by_one_and_all_at_once():
    users = np.array([0, 1, 2, 1000, 2**40])
    for purpose in range(4):
        assert hashed_all(NAME, users, purpose).tolist() == [hashed(NAME, int(user), purpose) for user in users]
    tickets = hashed_all(NAME, np.arange(100_000), TICKET) / 2.0**64
    assert np.abs(np.histogram(tickets, 10)[0] - 10_000).max() < 500

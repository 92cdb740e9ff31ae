"""The shuffle model over rows in memory: every row a client, all of them at once.

With every message made, split and permuted; or, faster, with the totals of the shuffled messages drawn from the same
law: counts plus Poisson noise, sums plus Skellam noise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpmean.noise.jit import compiled
from dpmean.queries.interfaces import Noise
from dpmean.queries.queries import Floats, Ints
from dpmean.release.estimate import Estimate
from dpmean.trust.devices import lattice_numpy
from dpmean.trust.devices.hashing import Lines, hashed_all
from dpmean.trust.local.schema import COORDINATE
from dpmean.trust.shuffle import secure_sum
from dpmean.trust.shuffle.decoder import decoded
from dpmean.trust.shuffle.encoder import signs, twice_inner
from dpmean.trust.shuffle.progress import Rounds
from dpmean.trust.shuffle.schema import Collection, Counters, Round, Sums
from dpmean.trust.shuffle.sizes import blanket_mean, noise_mean

_BLOCK = 1 << 16


@final
class Crowd:
    """One client per row. Does what ``Client`` and ``Shuffler`` do, for all at once; tests compare them."""

    def __init__(self, rows: Floats, noise: Noise, *, totals: bool) -> None:
        self.rows, self._noise, self._totals = rows, noise, totals

    def play(self, rounds: Rounds) -> Estimate:
        """Answer every round until there is an estimate."""
        while not rounds.done:
            rounds.close(len(self.rows), self.answer(rounds.collection, rounds.round))
        if rounds.estimate is None:
            raise AssertionError("a complete collection has an estimate")
        return rounds.estimate

    def answer(self, collection: Collection, asked: Round) -> Ints:
        """Return what the analyzer makes of all messages of a round."""
        stage, step = collection.stages[asked.round], f"round {asked.round}"
        if isinstance(stage, Counters):
            if self._totals:
                return self._counts(collection, stage, asked, step)
            lines = self._bucket_messages(collection, stage, asked, step)
        else:
            if self._totals:
                return self._sums(collection, stage, asked, step)
            lines = self._share_messages(collection, stage, asked, step)
        return decoded(collection, stage, self._permuted(lines, step), len(self.rows))

    # --- the totals of shuffled messages -----------------------------------------------------------------------

    def _counts(self, collection: Collection, stage: Counters, asked: Round, step: str) -> Ints:
        exact = np.zeros(stage.buckets, dtype=np.int64)
        for users in self._blocks():
            found = buckets(collection, stage, asked, users, self._whole(collection, asked, users))
            exact += np.bincount(found.ravel(), minlength=stage.buckets)
        mean = Fraction(stage.blanket * len(self.rows), collection.honest)
        return exact + self._noise.at(f"{step} blanket").poisson(mean, stage.buckets)

    def _sums(self, collection: Collection, stage: Sums, asked: Round, step: str) -> Ints:
        exact = np.zeros(collection.d, dtype=np.int64)
        for users in self._blocks():
            exact += whole_vectors(stage, asked, self._whole(collection, asked, users)).sum(axis=0)
        drawn = self._noise.at(f"{step} noise").poisson(
            len(self.rows) * noise_mean(collection, stage), 2 * collection.d
        )
        packed = secure_sum.packed(stage, exact + drawn[::2] - drawn[1::2])
        return secure_sum.decoded(collection, stage, packed, len(self.rows))

    # --- all messages ------------------------------------------------------------------------------------------

    def _bucket_messages(self, collection: Collection, stage: Counters, asked: Round, step: str) -> Lines:
        parts = []
        for users in self._blocks():
            parts.append(buckets(collection, stage, asked, users, self._whole(collection, asked, users)).ravel())
        each = self._noise.at(f"{step} blanket").poisson(blanket_mean(collection, stage), len(self.rows))
        parts.append(self._below(stage.buckets, int(each.sum()), f"{step} buckets"))
        return np.concatenate(parts).astype(">u4")[:, np.newaxis].view(np.uint8)

    def _share_messages(self, collection: Collection, stage: Sums, asked: Round, step: str) -> Lines:
        n, d = len(self.rows), collection.d
        lines = np.empty((n, stage.packs, stage.shares, stage.size), dtype=np.uint8)
        tag = stage.tag_bytes
        if tag:
            lines[..., :tag] = np.arange(stage.packs).astype(">u2")[:, np.newaxis].view(np.uint8)[:, np.newaxis]
        count = n * stage.packs * (stage.shares - 1) * stage.pack_bytes
        random = self._noise.at(f"{step} shares").words(-(-count // 8)).view(np.uint8)[:count]
        lines[:, :, :-1, tag:] = random.reshape(n, stage.packs, stage.shares - 1, stage.pack_bytes)
        mean, noise = noise_mean(collection, stage), self._noise.at(f"{step} noise")
        drawn = noise.poisson(mean, 2 * n * d).reshape(n, d, 2)
        for users in self._blocks():
            vectors = whole_vectors(stage, asked, self._whole(collection, asked, users))
            vectors += drawn[users, :, 0] - drawn[users, :, 1]
            _last_shares(vectors, stage.bits, stage.packed, tag, lines[users[0] : users[-1] + 1])
        return lines.reshape(-1, stage.size)

    def _permuted(self, lines: Lines, step: str) -> Lines:
        """Put messages into a uniformly random order."""
        order = np.arange(len(lines))
        words = self._noise.at(f"{step} order").words(2 * len(lines))
        if not _shuffle(order, words):
            raise AssertionError("so many unfair words do not happen")
        return lines[order]

    # --- parts -------------------------------------------------------------------------------------------------

    def _blocks(self) -> list[Ints]:
        return [np.arange(k, min(k + _BLOCK, len(self.rows))) for k in range(0, len(self.rows), _BLOCK)]

    def _whole(self, collection: Collection, asked: Round, users: Ints) -> Ints:
        return lattice_numpy.on_grid(
            self.rows[users[0] : users[-1] + 1], collection.step, collection.reach, asked.centre
        )

    def _below(self, limit: int, count: int, step: str) -> Ints:
        """Draw uniform integers below a limit; words that would not be fair are drawn again."""
        fair = np.uint64((1 << 64) // limit * limit - 1)
        words = self._noise.at(step).words(count)
        for again in range(1, 100):
            unfair = np.flatnonzero(words > fair)
            if not len(unfair):
                break
            words[unfair] = self._noise.at(f"{step} {again}").words(len(unfair))
        return (words % np.uint64(limit)).astype(np.int64)


def buckets(collection: Collection, stage: Counters, asked: Round, users: Ints, rows: Ints) -> Ints:
    """Return the buckets of rows, one column for each level: ``encoder.buckets`` for many."""
    line = np.zeros(len(users), dtype=np.int64)
    if stage.about == "median":
        line = (hashed_all(collection.name, users, COORDINATE) % np.uint64(stage.lines)).astype(np.int64)
        values = lattice_numpy.rotated(rows, signs(collection.name, rows.shape[1]), line)
    else:
        values = lattice_numpy.lengths(lattice_numpy.moved(rows, asked.centre))
    units = -((np.array(asked.lows)[line] - values) // np.array(asked.widths)[line])
    cells = np.searchsorted(np.array(asked.gaps), units, side="left")
    found, start = [], line * stage.per_line
    for level in stage.levels:
        found.append(start + (cells >> level))
        start = start + stage.at_level(level)
    return np.stack(found, axis=1)


def whole_vectors(stage: Sums, asked: Round, rows: Ints) -> Ints:
    """Return clipped rows as whole vectors: ``encoder.whole_vector`` for many."""
    moved = lattice_numpy.moved(rows, asked.centre)
    longest = 2 * np.maximum(lattice_numpy.lengths(moved), asked.radius)[:, np.newaxis]
    vectors: Ints = (2 * moved * twice_inner(stage.radius, rows.shape[1]) + longest) // (2 * longest)
    return vectors


@compiled
def _last_shares(vectors: Ints, bits: int, packed: int, tag: int, lines: Lines) -> None:
    """Fill in the last share of every pack: what it holds minus all other shares, modulo what its bytes can hold."""
    n, packs, shares, size = lines.shape
    d = vectors.shape[1]
    for i in range(n):
        for p in range(packs):
            carry = 0
            for byte in range(size - tag):  # from the last byte on
                total = carry
                for k in range(packed):  # bits of each number that fall into this byte, and what it borrows
                    j = p * packed + k
                    if j < d:
                        at = 8 * byte - bits * k
                        if at >= 0:
                            total += (vectors[i, j] >> min(at, 63)) & 255
                        elif at > -8:
                            total += (vectors[i, j] << -at) & 255
                place = size - 1 - byte
                for s in range(shares - 1):
                    total -= lines[i, p, s, place]
                lines[i, p, shares - 1, place] = total & 255
                carry = total >> 8


@compiled
def _shuffle(order: Ints, words: NDArray[np.uint64]) -> bool:
    """Fisher and Yates, with words that are drawn again where they would not be fair; False if there are too few."""
    at = 0
    for i in range(len(order) - 1, 0, -1):
        limit = np.uint64(i + 1)
        top = np.uint64(0xFFFFFFFFFFFFFFFF) - np.uint64(0xFFFFFFFFFFFFFFFF) % limit  # a multiple of limit
        while at < len(words) and words[at] >= top:
            at += 1
        if at == len(words):
            return False
        j = np.int64(words[at] % limit)
        at += 1
        order[i], order[j] = order[j], order[i]
    return True

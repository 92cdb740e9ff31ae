"""Rows of every kind say through what they are seen, and can be seen through another domain."""

import numpy as np
import pytest

from dpmean.noise.source import seeded
from dpmean.queries.domain import Domain
from dpmean.rows.engine import Streamed
from dpmean.rows.memory import MemoryRows
from dpmean.rows.pass_counter import PassCounter
from dpmean.rows.private_size import PrivateSizeRows
from tests.rows.conformance.problems import answers
from tests.rows.conformance.test_domains import InPieces
from tests.support.recorder import Recorder

ROWS = np.random.default_rng(5).normal(3, 4, (700, 3))
BALL = Domain.within_norm(3, 9.0, impute=False)
OTHER = BALL.reshape(np.array([2.0, 3.0, -1.0]), np.array([0.5, 1.0, 3.0]))


def on_tensors(domain):
    torch = pytest.importorskip("torch")
    from dpmean.rows.torch.blocks import TensorRows

    return TensorRows(torch.tensor(ROWS), domain)


def read_once(domain):
    blocks = on_tensors(domain)
    return pytest.importorskip("dpmean.rows.torch.fused").RowsReadOnce(blocks)


def in_memory(domain):
    return MemoryRows(ROWS, domain)


KINDS = {
    "memory": in_memory,
    "streamed": lambda domain: Streamed(InPieces(ROWS)).rows(domain),
    "tensor": on_tensors,
    "tensor, read once": read_once,
    "counter": lambda domain: PassCounter(in_memory(domain)),
    "private size": lambda domain: PrivateSizeRows(in_memory(domain), len(ROWS), seeded(1), depth=1),
    "recorder": lambda domain: Recorder(in_memory(domain)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_seen_through_another_domain(kind):
    rows = KINDS[kind](BALL)
    assert rows.domain is BALL
    seen = rows.through(OTHER)
    assert (seen.domain, rows.domain) == (OTHER, BALL)
    assert type(seen) is type(rows)
    assert (seen.n, seen.d) == (rows.n, rows.d)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("tensor, read once", "recorder")])
def test_other_domains_give_their_own_answers(kind):
    found = KINDS[kind](BALL).through(OTHER)
    assert answers(found, OTHER) == answers(in_memory(OTHER), OTHER)
    places = np.arange(300)
    if kind != "private size":  # there, nobody knows which rows are taken
        assert answers(found.take(places), OTHER) == answers(in_memory(OTHER).take(places), OTHER)


def test_what_is_read_through_any_domain_is_counted():
    rows = PassCounter(in_memory(BALL))
    seen = rows.through(OTHER)
    rows.collect()
    seen.collect()
    seen.through(BALL).collect()
    seen.take(np.arange(5))
    rows.take(np.arange(4))
    assert (rows.passes, rows.sampled) == (seen.passes, seen.sampled) == (3, 9)
    assert (PassCounter(in_memory(BALL)).passes, PassCounter(in_memory(BALL)).sampled) == (0, 0)

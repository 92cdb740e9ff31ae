"""The vectors on disk: what other implementations must send, sign, refuse, draw and compute."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from dpmean import ArgumentError, DataError
from dpmean.noise import exact
from dpmean.noise.poisson import poisson
from dpmean.privacy.renyi import ORDERS
from dpmean.trust.devices.signatures import VERSION, digest_of, identity_of, read_content, read_signed
from dpmean.trust.shuffle import encoder
from dpmean.trust.shuffle.analyzer import ShuffleAnalyzer
from dpmean.trust.shuffle.checks import check_round
from dpmean.trust.shuffle.costs import check_cost, cost_of_rounds, stage_costs
from dpmean.trust.shuffle.enrollment import Enrollment
from dpmean.trust.shuffle.invitation import AnalyzerKeys
from dpmean.trust.shuffle.messages import Batch
from dpmean.trust.shuffle.schema import Collection, Round
from dpmean.trust.shuffle.seal import public_of, unseal
from dpmean.trust.shuffle.shuffler import Shuffler
from tests.support.vectors import ByteStream

FOLDER = Path(__file__).parents[2] / "vectors"
VECTORS = json.loads((FOLDER / "shuffle.json").read_text())
IDENTITY, OPENING, SHUFFLER = (
    bytes.fromhex(VECTORS["keys"][name]["private"]) for name in ("analyzer", "opening", "shuffler")
)
KEYS = AnalyzerKeys(IDENTITY, OPENING)
DOCUMENTS = {kind: entry["document"].encode() for kind, entry in VECTORS["documents"].items()}


def now():
    return VECTORS["now"]


class WrittenCoins:
    """Coins that were written down."""

    def __init__(self, poissons, numbers):
        self._poissons, self._numbers = iter(poissons), {step: list(map(int, n)) for step, n in numbers.items()}

    def poissons(self, _step, _mean, count):
        return list(itertools.islice(self._poissons, count))

    def below(self, step, _limit, count):
        assert len(self._numbers.get(step, [])) == count
        return self._numbers.get(step, [])


def test_keys():
    assert identity_of(IDENTITY) == KEYS.public == VECTORS["keys"]["analyzer"]["public"]
    assert identity_of(SHUFFLER) == VECTORS["keys"]["shuffler"]["public"]
    assert public_of(OPENING) == KEYS.key == VECTORS["keys"]["opening"]["public"]


def test_documents():
    assert set(DOCUMENTS) == {"invitation", "collection", "round", "extension", "end"}
    for kind, document in DOCUMENTS.items():
        content = read_signed(document, kind, KEYS.public)
        assert digest_of(content).hex() == VECTORS["documents"][kind]["digest"]
    assert len(VECTORS["bad documents"]) == 27
    for entry in VECTORS["bad documents"]:
        with pytest.raises(ArgumentError, match=f"this {entry['kind']} (is of version 1|is not signed|was not signed)"):
            read_signed(entry["document"].encode(), entry["kind"], KEYS.public)


def test_answers():
    assert len(VECTORS["answers"]) == 10
    for answer in VECTORS["answers"]:
        content, document = answer["collection"].encode(), answer["round"].encode()
        public, asked = read_content(content, Collection, "collection"), read_content(document, Round, "round")
        stage = check_round(public, digest_of(content), asked)
        coins = WrittenCoins(answer["poissons"], answer["numbers"])
        sent = encoder.messages(public, stage, asked, answer["user"], answer["row"], coins)
        assert digest_of(document).hex() == answer["digest"]
        batch = Batch(VERSION, digest_of(document), answer["user"].to_bytes(8), sent)
        assert msgspec.msgpack.encode(batch).hex() == answer["batch"]


def told(judged):
    outcome, reason = judged
    return f"{outcome}: {reason}".rstrip(": ")


@pytest.fixture
def enrollment():
    """The enrollment of the vectors, when everybody has checked in."""
    one = Enrollment(DOCUMENTS["invitation"], KEYS.public, SHUFFLER, clock=now)
    for entry in VECTORS["check-ins"]:
        assert told(one.receive(bytes.fromhex(entry["check_in"]))) == entry["outcome"]
    assert one.close().hex() == VECTORS["roll"]
    return one


def test_check_ins_and_batches(enrollment):
    shuffler = Shuffler(DOCUMENTS["collection"], DOCUMENTS["round"], enrollment, clock=now)
    for entry in VECTORS["batches"]:
        assert told(shuffler.receive(bytes.fromhex(entry["batch"]))) == entry["outcome"]


def test_deliveries():
    public = read_content(read_signed(DOCUMENTS["collection"], "collection", KEYS.public), Collection, "collection")
    analyzer = ShuffleAnalyzer(public, KEYS)
    closes = json.loads(DOCUMENTS["round"].partition(b"\n")[0])["closes"]
    assert analyzer.document(closes) == DOCUMENTS["round"]
    *bad, good = VECTORS["deliveries"]
    for entry in bad:
        assert entry["outcome"].startswith("refused: ")
        with pytest.raises(DataError):
            analyzer.receive(bytes.fromhex(entry["delivery"]))
        assert analyzer.round.round == 0
    analyzer.receive(bytes.fromhex(good["delivery"]))
    assert analyzer._rounds.closed[0].numbers.tolist() == VECTORS["counts"]


def test_envelopes():
    sealed = VECTORS["sealed"]
    opened = unseal([bytes.fromhex(sealed["envelope"])], OPENING, bytes.fromhex(sealed["digest"]))
    assert opened == [bytes.fromhex(sealed["message"])]


def test_the_price_of_joining():
    for entry in json.loads((FOLDER / "prices.json").read_text())["prices"]:
        public = read_content(entry["collection"].encode(), Collection, "collection")
        assert (public.honest, public.quorum) == (entry["honest"], entry["quorum"])
        delta = Fraction(entry["delta"])
        costs = stage_costs(public.stages, public.d, public.honest, delta)
        places = [ORDERS.index(order) for order in (2, 8)] + [25]
        for cost, curve in zip(costs, entry["orders_2_8_32"], strict=True):
            assert [cost.curve[k] for k in places] == pytest.approx(curve, rel=1e-9)
        assert [float(cost.delta) for cost in costs] == pytest.approx([float(Fraction(x)) for x in entry["floors"]])
        assert [cost.distance for cost in costs] == pytest.approx(entry["distances"], rel=1e-6)
        assert float(check_cost(public).epsilon) == pytest.approx(entry["epsilon"], rel=1e-9)
        first, most = cost_of_rounds(public, [0]), cost_of_rounds(public, range(len(public.stages) - 1))
        assert float(first.epsilon) == pytest.approx(entry["epsilon of the first round"], rel=1e-9)
        assert float(most.epsilon) == pytest.approx(entry["epsilon without the last round"], rel=1e-9)
        assert first.delta == most.delta == delta


DRAW = {
    "below": lambda entry, bits: exact.below(int(entry["limit"]), bits),
    "discrete gaussian": lambda entry, bits: exact.discrete_gaussian(Fraction(entry["variance"]), bits),
    "poisson": lambda entry, bits: poisson(Fraction(entry["mean"]), bits),
}


def test_samplers():
    entries = json.loads((FOLDER / "samplers.json").read_text())["samplers"]
    assert len(entries) == 19
    for entry in entries:
        bits = ByteStream(entry["seed"].encode())
        assert [str(DRAW[entry["law"]](entry, bits)) for _ in entry["values"]] == entry["values"]
        assert bits.used == entry["bytes"]

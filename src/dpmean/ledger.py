"""What a private answer is made of and what it cost: receipts and releases, all of it publishable."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.accountant import compose_zcdp, tight_epsilon
from dpmean.budget import Number, PureDp, Zcdp
from dpmean.errors import ArgumentError, OverspendError

_FORMAT = "dpmean.release/1"


class Neighbours(StrEnum):
    """Which two data sets a release keeps apart only with difficulty."""

    REPLACE_ONE = "replace-one"


@final
@dataclass(frozen=True, slots=True)
class Receipt:
    """One private step: its name, what it asked, the mechanism that answered, and the exact cost."""

    step: str
    asked: str
    mechanism: str
    cost: Zcdp | PureDp


def total_cost(receipts: Iterable[Receipt], budget: Zcdp) -> Zcdp:
    """Add up receipts and insist that they stay within the budget."""
    spent = compose_zcdp(receipt.cost for receipt in receipts)
    if spent.rho > budget.rho:
        raise OverspendError(f"the steps cost {spent.rho}, more than the budget of {budget.rho}")
    return spent


@final
@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """A private mean and everything that may be said about it: no row and no exact statistic is in it."""

    mean: NDArray[np.float64]
    """The private mean, one number per coordinate, in the user's units."""
    noise_std: NDArray[np.float64]
    """Standard deviation of the noise in each coordinate of ``mean``, in the user's units."""
    centre: NDArray[np.float64]
    """The privately found centre around which rows were clipped, in the user's units."""
    radius: float
    """The privately chosen clipping radius: in the user's units, or in half-widths when bounds were given."""
    receipts: tuple[Receipt, ...]
    """What each step asked, with which mechanism, at which exact cost."""
    n: int
    d: int
    method: str
    trust: str
    neighbours: Neighbours
    seeded: bool
    """True when the noise came from a seed: such a release is an experiment and protects nobody."""
    public: Mapping[str, Any] = field(default_factory=dict)
    """The public choices of the run: the bound, the grid's step, the public coins, the library's version."""

    def __post_init__(self) -> None:
        for name in ("mean", "noise_std", "centre"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def rho(self) -> Fraction:
        """The zCDP budget that was spent, exactly."""
        return compose_zcdp(receipt.cost for receipt in self.receipts).rho

    def epsilon(self, delta: Number) -> float:
        """Return the epsilon that goes with ``delta`` for what was spent (tight conversion, rounded up)."""
        return float(np.nextafter(float(tight_epsilon(Zcdp(self.rho), delta)), np.inf))

    def to_json(self) -> str:
        """Return the whole release as JSON; numbers survive the way there and back unchanged."""
        document = {
            "format": _FORMAT,
            "mean": self.mean.tolist(),
            "noise_std": self.noise_std.tolist(),
            "centre": self.centre.tolist(),
            "radius": self.radius,
            "receipts": [_receipt_to_dict(receipt) for receipt in self.receipts],
            "n": self.n,
            "d": self.d,
            "method": self.method,
            "trust": self.trust,
            "neighbours": str(self.neighbours),
            "seeded": self.seeded,
            "public": dict(self.public),
        }
        return json.dumps(document, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Release:
        """Read a release that ``to_json`` wrote."""
        try:
            document = json.loads(text)
            if document.pop("format") != _FORMAT:
                raise ValueError("another format is named")
            receipts = tuple(_receipt_from_dict(entry) for entry in document.pop("receipts"))
            neighbours = Neighbours(document.pop("neighbours"))
            release = Release(receipts=receipts, neighbours=neighbours, **document)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(f"this is not a release in the format {_FORMAT}: {error}") from None
        if not release.mean.shape == release.noise_std.shape == release.centre.shape == (release.d,):
            raise ArgumentError(f"a release with d={release.d} must have {release.d} means, noises and centres")
        return release

    def __str__(self) -> str:
        rho = self.rho
        width = max(len(receipt.step) for receipt in self.receipts)
        error = float(np.sqrt(np.square(self.noise_std).sum()))
        lines = [
            f"Private mean of {self.n} rows in {self.d} dimension{'s' if self.d > 1 else ''}, "
            f"method {self.method}, {self.trust} model",
            f"  mean       {_brief(self.mean)}",
            f"  noise_std  {_brief(self.noise_std)}",
            f"  expected l2 error of the noise: {error:.4g} (bias from clipping at radius "
            f"{self.radius:.4g} comes on top)",
            f"  privacy    rho = {float(rho):.6g} zCDP, that is epsilon = {self.epsilon(1e-6):.4g} at "
            f"delta = 1e-06; neighbours: {self.neighbours}, n is public",
        ]
        lines += [
            f"    {receipt.step:<{width}}  {_price(receipt.cost):<16}  {receipt.asked}; {receipt.mechanism}"
            for receipt in self.receipts
        ]
        if self.seeded:
            lines.append("  SEEDED: made with known noise, for experiments only; it protects nobody")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return textwrap.shorten(
            f"<Release of a mean: n={self.n}, d={self.d}, method={self.method}, rho={float(self.rho):.6g}"
            f"{', seeded' if self.seeded else ''}>",
            200,
        )


def _brief(values: NDArray[np.float64]) -> str:
    with np.printoptions(precision=5, threshold=6, edgeitems=3, suppress=False):
        return str(values)


def _price(cost: Zcdp | PureDp) -> str:
    return f"rho {float(cost.rho):.5g}" if isinstance(cost, Zcdp) else f"epsilon {float(cost.epsilon):.5g}"


def _receipt_to_dict(receipt: Receipt) -> dict[str, str]:
    cost = receipt.cost
    price = {"rho": str(cost.rho)} if isinstance(cost, Zcdp) else {"epsilon": str(cost.epsilon)}
    return {"step": receipt.step, "asked": receipt.asked, "mechanism": receipt.mechanism, **price}


def _receipt_from_dict(entry: dict[str, str]) -> Receipt:
    cost = Zcdp(Fraction(entry["rho"])) if "rho" in entry else PureDp(Fraction(entry["epsilon"]))
    return Receipt(entry["step"], entry["asked"], entry["mechanism"], cost)

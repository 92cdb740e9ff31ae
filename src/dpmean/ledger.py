"""What a private answer is made of and what it cost: receipts and releases, all of it publishable."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.accountant import compose_zcdp, tight_epsilon
from dpmean.budget import Number, PureDp, Zcdp
from dpmean.errors import ArgumentError, OverspendError
from dpmean.renyi import ORDERS, Renyi, compose, renyi_of
from dpmean.uncertainty import error_quantile, normal_quantile

_FORMAT = "dpmean.release/1"
VARIANTS = {
    "mean": "a coarse mean",
    "twice": "a coarse mean, taken twice",
    "two": "quartiles, in two rounds",
    "tree": "quartiles, in one round",
    "binary": "medians, by halving",
}
"""Ways to the centre in the shuffle model, in words."""


class Neighbours(StrEnum):
    """Which pairs of data sets the guarantee makes hard to tell apart."""

    REPLACE_ONE = "replace-one"
    """One row is replaced by any other; the number of rows is public."""
    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    """One row more or less; the number of rows is private."""

    @property
    def contributions(self) -> int:
        """By how many rows' contributions a sum over rows may differ: one goes and another comes, or only one."""
        return 2 if self is Neighbours.REPLACE_ONE else 1


@final
@dataclass(frozen=True, slots=True)
class Receipt:
    """One private step: its name, what it asked, the mechanism that answered, and the exact cost.

    ``exact`` is False if its noise was drawn in floats, as some baselines do: rounding may then give rows away.
    """

    step: str
    asked: str
    mechanism: str
    cost: Zcdp | PureDp | Renyi
    exact: bool = True


@final
@dataclass(frozen=True, slots=True)
class Found:
    """What the refined estimator found out on its way, privately; lengths are in the units of the radius.

    Attributes:
        spread: the typical distance of a row from the mean of all.
        ceiling: the radius beyond which hardly any row lies.
        rounds: how often the mean was released, each time around a better centre.
        bias: how far clipping below the ceiling moves the mean, as it was measured.
        bias_std: the standard deviation of the noise on that.
        tail: how far the rows beyond the ceiling may move it, if their numbers go on falling as they do up to there.
        unseen: how many rows may lie far beyond the ceiling without having been noticed.
        noise_std: the standard deviation of the noise on each coordinate of the mean, in the same unit.

    """

    spread: float
    ceiling: float
    rounds: int
    bias: float
    bias_std: float
    tail: float
    unseen: int
    noise_std: float

    def times(self, unit: float) -> Found:
        """Return the same in another unit of length."""
        names = ("spread", "ceiling", "bias", "bias_std", "tail", "noise_std")
        return replace(self, **{name: getattr(self, name) * unit for name in names})


def _concentrated(receipts: Iterable[Receipt]) -> Zcdp:
    """Add up what was paid in zCDP or pure differential privacy; nothing else has a rho."""
    costs = []
    for receipt in receipts:
        if isinstance(receipt.cost, Renyi):
            raise ArgumentError(
                "a release in the shuffle model costs an epsilon and a delta and has no rho: see release.epsilon(delta)"
            )
        costs.append(receipt.cost)
    return compose_zcdp(costs)


def total_cost(receipts: Iterable[Receipt], budget: Zcdp | None = None) -> Zcdp:
    """Add up receipts and insist that they stay within the budget, if there is one."""
    spent = _concentrated(receipts)
    if budget is not None and spent.rho > budget.rho:
        raise OverspendError(f"the steps cost {spent.rho}, more than the budget of {budget.rho}")
    return spent


@final
@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """A private mean and everything that may be said about it: no row and no exact statistic is in it.

    Attributes:
        mean: the private mean, one number per column, in the user's units.
        noise_std: the standard deviation of the noise in each of them, in the user's units. Clipping may add bias.
        centre: the centre around which rows were clipped, in the user's units: privately found (methods refined and
            shifted), or public (method clipped).
        radius: the privately chosen clipping radius, in the user's units; in half-widths of the bounds when columns
            have different ones.
        receipts: what each step asked, with which mechanism, at which exact cost.
        n: how many rows there were.
        d: how many columns.
        method: which estimator.
        trust: which trust model.
        neighbours: which pairs of data sets the guarantee makes hard to tell apart.
        seeded: True when the noise came from a seed; such a release is an experiment and protects nobody.
        public: the public choices of the run: the bound, the step of the grid, the public coins, the version; and in
            the central model how often all rows were read (``passes``), and how many by position (``sample``).
        found: what method refined found out on its way, privately: spread, radii, rounds, bias.

    """

    mean: NDArray[np.float64]
    noise_std: NDArray[np.float64]
    centre: NDArray[np.float64]
    radius: float
    receipts: tuple[Receipt, ...]
    n: int
    d: int
    method: str
    trust: str
    neighbours: Neighbours
    seeded: bool
    public: Mapping[str, Any] = field(default_factory=dict)
    found: Found | None = None

    def __post_init__(self) -> None:
        for name in ("mean", "noise_std", "centre"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "public", MappingProxyType(dict(self.public)))

    @property
    def cost(self) -> Zcdp:
        """What was spent, exactly. Costs of releases on the same rows add up: see ``dpmean.compose_zcdp``."""
        return _concentrated(self.receipts)

    @property
    def rho(self) -> Fraction:
        """The zCDP budget that was spent, exactly."""
        return self.cost.rho

    @property
    def exact(self) -> bool:
        """False if any noise was drawn in floats: then this is a measurement, and no protection to rely on."""
        return all(receipt.exact for receipt in self.receipts)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """What the columns are called, if they have names."""
        names = self.public.get("columns")
        return None if names is None else tuple(names)

    def __getitem__(self, column: str) -> float:
        """Return the mean of one column by its name."""
        names = self.columns or ()
        if column not in names:
            raise KeyError(f"there is no column {column!r}: there are {', '.join(names[:20]) or 'no names'}")
        return float(self.mean[names.index(column)])

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame of pandas, polars or pyarrow, a line per column: mean, noise and error."""
        names = self.columns or tuple(f"column {j}" for j in range(self.d))
        table: dict[str, Any] = {
            "column": list(names),
            "mean": self.mean.tolist(),
            "noise_std": self.noise_std.tolist(),
        }
        if self.found is not None:
            table["within"] = self.column_bounds().tolist()
        return frame_of(table, library)

    def epsilon(self, delta: Number) -> float:
        """Return the epsilon that goes with ``delta`` for what was spent (tight conversion, rounded up)."""
        if any(isinstance(receipt.cost, Renyi) for receipt in self.receipts):
            epsilon = compose(receipt.cost for receipt in self.receipts).epsilon(delta)
        else:
            epsilon = tight_epsilon(self.cost, delta)
        pure = [receipt.cost.epsilon for receipt in self.receipts if isinstance(receipt.cost, PureDp)]
        if len(pure) == len(self.receipts):
            epsilon = min(epsilon, sum(pure, start=Fraction(0)))
        return rounded_up(epsilon)

    def error_bound(self, confidence: float = 0.95, *, of: str = "rows") -> float:
        """Return a bound on the error of the mean, in l2 norm over all columns, that holds with this confidence.

        The unit is that of ``radius``: yours, or half-widths of the bounds when columns have different ones. The
        bound covers the noise, the bias that was measured, and that of the few rows beyond the ceiling if the tail
        goes on as it began; with ``of="population"`` also the sampling error, as the spread tells it, of rows that
        were drawn independently. It does not cover ``found.unseen`` rows, or fewer, that are much farther out than
        all others, nor bounds that cut off rows, and for a population not the rare values of a heavy tail.
        """
        if of not in ("rows", "population"):
            raise ArgumentError(f'of must be "rows" or "population", got {of!r}')
        if self.found is None:
            raise ArgumentError(_no_bound(self))
        found = self.found
        bound = error_quantile(self.d, found.noise_std, found.bias + found.tail, found.bias_std, confidence)
        if of == "rows":
            return bound
        width = found.spread if found.spread > found.ceiling / 50 else found.ceiling  # too few pairs differ to tell
        return math.hypot(bound, normal_quantile((1 + confidence) / 2) * width / math.sqrt(self.n))

    def column_bounds(self, confidence: float = 0.95) -> NDArray[np.float64]:
        """Return a bound on the error of each column to the mean of these rows, in your units, each at this confidence.

        What ``error_bound`` does not cover, these do not cover either.
        """
        if self.found is None:
            raise ArgumentError(_no_bound(self))
        found = self.found
        bound = error_quantile(1, found.noise_std, found.bias + found.tail, found.bias_std, confidence)
        bounds: NDArray[np.float64] = self.noise_std * (bound / found.noise_std)
        return bounds

    def to_json(self) -> str:
        """Return the whole release as JSON; numbers survive the way there and back unchanged."""
        document = {
            "format": _FORMAT,
            "mean": self.mean.tolist(),
            "noise_std": self.noise_std.tolist(),
            "centre": self.centre.tolist(),
            "radius": self.radius,
            "receipts": [receipt_to_dict(receipt) for receipt in self.receipts],
            "n": self.n,
            "d": self.d,
            "method": self.method,
            "trust": self.trust,
            "neighbours": str(self.neighbours),
            "seeded": self.seeded,
            "public": dict(self.public),
            "found": None if self.found is None else asdict(self.found),
        }
        return json.dumps(document, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Release:
        """Read a release that ``to_json`` wrote."""
        try:
            document = json.loads(text)
            if not isinstance(document, dict) or document.pop("format", None) != _FORMAT:
                raise ValueError("it does not name this format")
            receipts = tuple(receipt_from_dict(entry) for entry in document.pop("receipts"))
            neighbours = Neighbours(document.pop("neighbours"))
            details = document.pop("found", None)
            found = None if details is None else Found(**details)
            release = Release(receipts=receipts, neighbours=neighbours, found=found, **document)
        except (ArithmeticError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(f"this is not a release in the format {_FORMAT}: {error}") from None
        _check(release)
        return release

    def __str__(self) -> str:
        few_rows = bool(self.public.get("few_rows"))
        lines = [
            f"Private mean of {_number_in_words(self)} in {self.d} dimension{'s' if self.d > 1 else ''}",
            *(["  FEW ROWS: the mean may be far off, and what is said of its error worthless"] if few_rows else []),
            *_estimate_in_words(self),
            f"  bound      {_bound_in_words(self.public)}",
            *_radius_in_words(self),
            f"  privacy    {_privacy_in_words(self)}",
            f"             {_protected_in_words(self)}",
            *_protocol_in_words(self.public),
            f"  method     {self.method}, {self.trust} model; what it paid for:",
        ]
        total = compose(receipt.cost for receipt in self.receipts).curve[0]
        for receipt in self.receipts:
            part = "" if isinstance(receipt.cost, PureDp) else f"{renyi_of(receipt.cost).curve[0] / total:.1%}"
            lines.append(f"    {receipt.step:<10} {_price(receipt.cost):<14} {part:>6}  {receipt.asked},")
            lines.append(f"    {'':<32}  {receipt.mechanism}")
        if self.public.get("imputed"):
            which = self.public["imputed"]
            where = "" if which is True else f" of {', '.join(which[:6])}{', ...' * (len(which) > 6)}"
            lines.append(f"  IMPUTED: values{where} that were missing counted as the middle of the bounds, or zero;")
            lines.append("           what is said of errors does not cover that")
        if "note" in self.public:
            lines.append(f"  NOTE: {self.public['note']}")
        if not self.exact:
            lines.append("  FLOATS: made with noise in floating point, to be measured; its rounding may give rows away")
        if self.seeded:
            lines.append("  SEEDED: made with known noise, for experiments only; it protects nobody")
        return "\n".join(lines)

    def in_brief(self) -> str:
        """Return one line: how many rows, and the mean, with what it is within at 95 % confidence if that is known."""
        number = _number_in_words(self)
        if self.d > 10:
            return f"{number}: {_brief(self.mean)}"
        errors = self.noise_std * 1.96 if self.found is None else self.column_bounds()
        names = [f"{name} " for name in self.columns] if self.columns else [""] * self.d
        found = zip(names, self.mean, errors, strict=True)
        return f"{number}: " + ", ".join(f"{name}{mean:.6g} ± {error:.2g}" for name, mean, error in found)

    def __reduce__(self) -> tuple[Any, ...]:
        return Release.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        seeded = ", seeded" if self.seeded else ""
        privacy = _privacy_in_words(self, brief=True)
        return f"<Release of a mean: n={self.n}, d={self.d}, method={self.method}, {privacy}{seeded}>"


def rounded_up(value: Fraction) -> float:
    """Return the nearest float that is not below a fraction."""
    nearest = float(value)
    return nearest if nearest >= value else float(np.nextafter(nearest, np.inf))


def frame_of(table: dict[str, Any], library: str) -> Any:
    """Return columns as a data frame of some library."""
    if library not in ("pandas", "polars", "pyarrow"):
        raise ArgumentError(f'library must be "pandas", "polars" or "pyarrow", got {library!r}')
    try:
        found = importlib.import_module(library)
    except ModuleNotFoundError:
        raise ArgumentError(f"{library} is not installed: pip install {library}, or name another library") from None
    return found.table(table) if library == "pyarrow" else found.DataFrame(table)


def _number_in_words(release: Release) -> str:
    unit = release.public.get("privacy_unit")
    private = release.neighbours is Neighbours.ADD_OR_REMOVE_ONE
    return f"{'about ' * private}{release.n} {'rows' if unit is None else f'persons ({unit})'}"


def _protected_in_words(release: Release) -> str:
    unit = release.public.get("privacy_unit")
    one = "one row" if unit is None else f"all rows of one {unit}"
    what = "persons" if unit else "rows"
    if release.neighbours is Neighbours.REPLACE_ONE:
        return f"neighbours: {release.neighbours}, that is, {one}; the number of {what} is public"
    return f"neighbours: {release.neighbours}, that is, {one}; the number of {what} is private, and told with noise"


def _privacy_in_words(release: Release, *, brief: bool = False) -> str:
    delta = release.public.get("delta", 1e-6)
    costs = [receipt.cost for receipt in release.receipts]
    if any(isinstance(cost, Renyi) for cost in costs):
        text = f"epsilon = {release.epsilon(delta):.6g}, delta = {delta:g}"
    elif brief:
        return f"rho={float(release.rho):.6g}"
    elif all(isinstance(cost, PureDp) for cost in costs):
        text = f"epsilon = {release.epsilon(delta):.6g}, pure"
    else:
        text = (
            f"rho = {float(release.rho):.6g} zCDP, that is epsilon = {release.epsilon(delta):.4g} at delta = {delta:g}"
        )
    return text.replace(" = ", "=") if brief else text


def _no_bound(release: Release) -> str:
    if release.trust != "central":
        return (
            f"there is no error bound in the {release.trust} model: see noise_std, and dpmean.plan for what to expect"
        )
    return f'method {release.method} does not measure its bias: use method="refined" for a bound'


def _check(release: Release) -> None:
    """Refuse a document whose fields are not what a release has."""
    arrays = (release.mean, release.noise_std, release.centre)
    words = [release.method, release.trust]
    for receipt in release.receipts:
        words += [receipt.step, receipt.asked, receipt.mechanism]
    delta, bound = release.public.get("delta", 0.5), release.public.get("bound", {})
    names, unit = release.public.get("columns", []), release.public.get("privacy_unit", "")
    right = (
        type(release.n) is int
        and type(release.d) is int
        and release.n >= 1
        and type(release.seeded) is bool
        and all(type(receipt.exact) is bool for receipt in release.receipts)
        and type(release.radius) is float
        and 0 <= release.radius < np.inf
        and all(type(word) is str for word in words)
        and all(array.shape == (release.d,) and np.all(np.isfinite(array)) for array in arrays)
        and bool(np.all(release.noise_std >= 0))
        and len(release.receipts) > 0
        and type(delta) is float
        and 0 < delta < 1
        and type(bound) is dict
        and type(names) is list
        and len(names) in (0, release.d)
        and all(type(name) is str for name in [*names, unit])
        and (release.found is None or _is_right(release.found))
    )
    if not right:
        raise ArgumentError("this release has fields of the wrong type or size")


def _is_right(found: Found) -> bool:
    lengths = (found.spread, found.ceiling, found.bias, found.bias_std, found.tail, found.noise_std)
    whole = type(found.rounds) is int and type(found.unseen) is int and found.unseen >= 0
    return whole and all(type(length) is float and 0 <= length < np.inf for length in lengths)


def _estimate_in_words(release: Release) -> list[str]:
    if release.d <= 10:
        within = [""] * release.d
        if release.found is not None and not release.public.get("few_rows"):
            within = [f", within {bound:.3g} at 95 % confidence" for bound in release.column_bounds()]
        names = release.columns or [f"mean[{j}]" for j in range(release.d)]
        width = min(max(10, *(len(name) for name in names)), 30)
        found = zip(names, release.mean, release.noise_std, within, strict=True)
        return [f"  {name:<{width}} {mean:.6g} with noise of std {std:.3g}{words}" for name, mean, std, words in found]
    noise = math.hypot(*release.noise_std.tolist())
    lines = [f"  mean       {_brief(release.mean)}", f"  noise_std  {_brief(release.noise_std)}"]
    if np.ptp(release.noise_std) == 0:
        lines.append(f"             that is {noise:.4g} in l2 norm, all columns together")
    return lines


def _radius_in_words(release: Release) -> list[str]:
    unit, found = release.public.get("radius_unit", ""), release.found
    if found is None:
        return [
            f"  radius     {release.radius:.5g}{unit} around the centre; rows beyond it",
            "             were clipped, which may add bias to the noise",
        ]
    rows, population = (release.error_bound(of=of) for of in ("rows", "population"))
    return [
        f"  spread     {found.spread:.4g}{unit}: the typical distance of a row from the mean of all",
        f"  radius     {release.radius:.4g}{unit}: rows farther from the centre than this were clipped; the mean was",
        f"             released {found.rounds} time{'s' if found.rounds > 1 else ''}, around better and better centres",
        f"  error      the mean of these rows is within {rows:.3g}{unit} of this, in l2 norm over all columns,",
        f"             at 95 % confidence; that of the population they are a sample of, within {population:.3g}{unit}",
        f"             not covered: up to {found.unseen} rows far beyond all others, bounds that cut rows off,",
        "             and for a population rare large values, which add to its variance but not to the spread",
    ]


def _protocol_in_words(public: Mapping[str, Any]) -> list[str]:
    if "rounds" not in public:
        return []
    if "variant" in public:
        return [
            f"  protocol   {public['rounds']} rounds, {public['messages_per_user']:.1f} messages and "
            f"{public['bytes_per_user']:.0f} bytes per user, {public['sealed_bytes_per_user']:.0f} when sealed;",
            f"             centre by {VARIANTS.get(public['variant'], '?')}; {public['answered']} users answered,",
            f"             of whom {public['honest']} must be honest; shuffler and analyzer must not collude",
            *(
                [f"             played in one process, which saw all rows, by {public.get('fidelity', 'messages')}"]
                if public.get("played_in_one_process")
                else []
            ),
        ]
    return [
        f"  protocol   {public['rounds']} rounds, {public['messages_per_user']} message of "
        f"{public['bytes_per_user']:.0f} bytes per user; {public['answered']} users answered",
        "             each device randomized its own answer; only messages were added up",
    ]


def _bound_in_words(public: Mapping[str, Any]) -> str:
    bound = public.get("bound", {})
    if "lower" not in bound:
        lengths = {name: value for name, value in bound.items() if name != "reach" or value != bound.get("norm_bound")}
        return ", ".join(f"{name} {value:g}" for name, value in lengths.items())
    sides = list(zip(bound["lower"], bound["upper"], strict=True))
    if len(set(sides)) == 1:
        return f"every column from {sides[0][0]:g} to {sides[0][1]:g}"
    shown = ", ".join(f"{low:g} to {high:g}" for low, high in sides[:4])
    return shown + (f", ... ({len(sides)} columns)" if len(sides) > 4 else " (column by column)")


def _brief(values: NDArray[np.float64]) -> str:
    with np.printoptions(precision=5, threshold=6, edgeitems=3, suppress=False, linewidth=200):
        return str(values)


def _price(cost: Zcdp | PureDp | Renyi) -> str:
    if isinstance(cost, Renyi):
        return "Rényi"
    return f"rho {float(cost.rho):.5g}" if isinstance(cost, Zcdp) else f"epsilon {float(cost.epsilon):.5g}"


def receipt_to_dict(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as JSON has it."""
    cost = receipt.cost
    price: dict[str, Any]
    if isinstance(cost, Renyi):
        price = {"orders": ORDERS, "renyi": cost.curve, "delta": str(cost.delta), "distance": cost.distance}
    else:
        price = {"rho": str(cost.rho)} if isinstance(cost, Zcdp) else {"epsilon": str(cost.epsilon)}
    inexact = {} if receipt.exact else {"exact": False}
    return {"step": receipt.step, "asked": receipt.asked, "mechanism": receipt.mechanism, **price, **inexact}


def receipt_from_dict(entry: dict[str, Any]) -> Receipt:
    """Read a receipt from JSON."""
    if "renyi" in entry:
        if tuple(entry["orders"]) != ORDERS or not all(type(value) is float for value in entry["renyi"]):
            raise ValueError("a Rényi curve must have the orders of this version, and numbers")
        curve = Renyi(tuple(entry["renyi"]), Fraction(entry["delta"]), entry["distance"])
        return Receipt(entry["step"], entry["asked"], entry["mechanism"], curve, entry.get("exact", True))
    price = entry["rho"] if "rho" in entry else entry["epsilon"]
    if type(price) is not str:
        raise ValueError("a price must be a fraction in quotes")
    cost = Zcdp(Fraction(price)) if "rho" in entry else PureDp(Fraction(price))
    return Receipt(entry["step"], entry["asked"], entry["mechanism"], cost, entry.get("exact", True))

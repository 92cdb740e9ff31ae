"""The queries, the mechanisms that answered them, and their costs."""

from __future__ import annotations

from collections.abc import Sequence

from dpmean.errors import plural
from dpmean.privacy.budgets import PureDp, Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.privacy.renyi import Renyi, renyi_of
from dpmean.release.digits import fraction, percent, plain
from dpmean.reports import charts, wording
from dpmean.reports.markup import Html, join, tag

_SHORT = 24
_NAMED = 3
"""The number of purposes that are named."""
_HEAD = ("step", "query and mechanism", "cost", "share")


def receipts(found: Sequence[Receipt], total: str) -> Html:
    """Return a table of receipts; ``total`` says what they add up to."""
    lines = [_line(receipt, share) for receipt, share in zip(found, _shares(found), strict=True)]
    return tag(
        "table",
        tag("caption", f"Every number derived from rows, and its exact cost; together {total}."),
        tag(
            "thead",
            tag("tr", *(tag("th", word, scope="col", role="columnheader") for word in _HEAD), role="row"),
            role="rowgroup",
        ),
        tag("tbody", *lines, role="rowgroup"),
        class_="receipts",
        role="table",
    )


def folded(found: Sequence[Receipt], total: str) -> Html:
    """Return the most expensive purposes in a sentence, and a folded table of receipts."""
    shares: dict[str, float] = {}
    for receipt, share in zip(found, _shares(found), strict=True):
        purpose = wording.purpose_of(receipt.step) or receipt.step
        shares[purpose] = shares.get(purpose, 0.0) + share
    largest = sorted(shares.items(), key=lambda item: -item[1])[:_NAMED]
    words = "; ".join(f"{purpose} {percent(share)}" for purpose, share in largest)
    steps = plural(len(found), "step")
    return join(
        tag("p", f"{steps} asked the data for numbers and cost {total} together. Most of that was spent on: {words}."),
        tag("details", tag("summary", "Step by step, for experts"), receipts(found, total)),
    )


def _line(receipt: Receipt, share: float) -> Html:
    purpose = wording.purpose_of(receipt.step)
    gloss = tag("span", purpose, class_="soft") if purpose else None
    drawn = charts.bar(share, f"{percent(share)} of what was spent")
    return tag(
        "tr",
        tag("th", receipt.step, gloss, scope="row", role="rowheader"),
        tag("td", _sentence(receipt.asked), tag("span", _sentence(receipt.mechanism), class_="soft"), role="cell"),
        tag("td", _price(receipt.cost), role="cell", class_="price"),
        tag("td", tag("span", percent(share)), drawn, role="cell", class_="share"),
        role="row",
    )


def _shares(found: Sequence[Receipt]) -> list[float]:
    costs = [receipt.cost for receipt in found]
    if all(isinstance(cost, PureDp) for cost in costs):
        parts = [float(cost.epsilon) for cost in costs if isinstance(cost, PureDp)]
    else:
        parts = [renyi_of(cost).curve[0] for cost in costs]
    return [part / sum(parts) for part in parts]


def _price(cost: Zcdp | PureDp | Renyi) -> Html:
    if isinstance(cost, Renyi):
        return join(
            "Rényi divergence ",
            plain(cost.curve[0], 3),
            " at order 2",
            tag("span", "all orders are in the data", class_="soft"),
        )
    name, value = ("rho", cost.rho) if isinstance(cost, Zcdp) else ("epsilon", cost.epsilon)
    exact = fraction(value)
    if len(exact) <= _SHORT:
        same = "/" not in exact
        return join(
            f"{name} {exact}" if same else f"{name} {plain(float(value))}",
            None if same else tag("span", f"exactly {exact}", class_="soft"),
        )
    return join(f"{name} {plain(float(value))}", tag("details", tag("summary", "exactly"), tag("code", exact)))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." if text else ""

"""The sections of a page that go with an estimate: warnings, errors, privacy, receipts, choices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpmean.budget import PureDp, Zcdp
from dpmean.ledger import VARIANTS, Receipt, Release
from dpmean.pages import charts, words
from dpmean.pages.columns import columns_of
from dpmean.pages.markup import Html, join, tag
from dpmean.pages.numbers import fraction, from_to, percent, percent_up, plain, power
from dpmean.pages.odds import best_guess, is_renyi, pure_epsilon
from dpmean.renyi import Renyi, renyi_of

_SHORT = 24
_LONGEST = 160
_HALVES = " half-widths"
_MODELS = {"central": "central, a trusted curator", "local": "local, nobody is trusted", "shuffle": "shuffle"}
_CHOICES = {
    "step": "resolution of the answer",
    "coins": "public coins",
    "passes": "times all rows were read",
    "sample": "rows read once more, by position",
    "rounds": "rounds",
    "messages_per_user": "messages per user",
    "bytes_per_user": "bytes per user",
    "sealed_bytes_per_user": "bytes per user, sealed",
    "answered": "users who answered",
    "honest": "users who must be honest",
    "variant": "way to the centre",
    "fidelity": "played by",
    "dpmean": "version of dpmean",
}
_SAID_ELSEWHERE = {
    "bound",
    "columns",
    "delta",
    "few_rows",
    "note",
    "played_in_one_process",
    "privacy_unit",
    "radius_unit",
}


def warnings(release: Release) -> Html:
    """Return what a reader must know before anything else: this protects nobody, or may be far off."""
    found = []
    if release.seeded:
        found.append(
            _alarm(
                "This protects nobody.",
                "It was made with a seed: whoever knows or guesses the seed can subtract the noise. It is an "
                "experiment, not a release. Do not publish it as if it were private.",
            )
        )
    if not release.exact:
        found.append(
            _alarm(
                "This protects nobody reliably.",
                "Its noise was drawn in floating point, whose rounding may give rows away. It is there to be measured "
                "and compared, not to be relied on.",
            )
        )
    if release.public.get("few_rows"):
        found.append(
            _remark(
                "Few rows.", "There were few rows for this budget: the estimate may be farther off than errors say."
            )
        )
    if "note" in release.public:
        found.append(_remark("Note.", str(release.public["note"])))
    return join(*found)


def facts(release: Release) -> Html:
    """Return the most important facts at a glance."""
    entries = [
        ("rows", str(release.n)),
        ("columns", str(release.d)),
        ("privacy", _no_privacy(release) or words.privacy_in_brief(release)),
        ("trust", _MODELS.get(release.trust, release.trust)),
    ]
    return tag("dl", *(tag("div", tag("dt", key), tag("dd", value)) for key, value in entries), class_="facts")


def _no_privacy(release: Release) -> str:
    """Return why there is none, if there is none."""
    return "none: seeded" if release.seeded else "" if release.exact else "none to rely on: noise in floats"


def accuracy(release: Release) -> Html:
    """Return what error to expect, and what no number here covers."""
    sizes = tag("dl", *(tag("div", tag("dt", key), tag("dd", value)) for key, value in _sizes(release)), class_="sizes")
    uncovered = tag("ul", *(tag("li", text) for text in _uncovered(release)))
    halves = str(release.public.get("radius_unit", "")).startswith(_HALVES)
    unit = tag("p", "A half-range is half the way from a column's lower bound to its upper one.", class_="soft")
    return join(sizes, unit if halves else None, tag("h3", "What errors do not cover"), uncovered)


def _sizes(release: Release) -> list[tuple[str, str]]:
    columns, found = columns_of(release), release.found
    unit = _unit(release)
    clipped = ("Clipped at", f"{plain(release.radius, 3)}{unit} from the centre: rows farther out were moved closer")
    each = "" if columns.d == 1 else "in each column, "
    if found is None or not columns.measured:
        return [("Noise", f"{each}a standard deviation of {from_to(columns.noise_std)}"), clipped]
    rows, population = release.error_bound(), release.error_bound(of="population")
    lengths = [
        ("To the mean of these rows", f"at most {plain(rows, 3)}{unit}, at 95 % confidence"),
        ("To that of a population", f"at most {plain(population, 3)}{unit}, if rows were drawn from it independently"),
        ("Spread of the rows", f"{plain(found.spread, 3)}{unit}: how far a row typically lies from the mean of all"),
        clipped,
    ]
    if columns.d == 1:
        return lengths
    alone = f"at most {from_to(columns.error)}, at 95 % confidence" if columns.share_a_unit else "as drawn above"
    names = ("All columns together", "To that of a population", "Spread of the rows", "Clipped at")
    together = [(name, words) for name, (_, words) in zip(names, lengths, strict=True)]
    together[0] = ("All columns together", f"{lengths[0][1]}, as the length of the vector of all errors")
    return [("Each column alone", alone), *together]


def _unit(release: Release) -> str:
    """Return the unit of lengths, if it is not that of the columns."""
    unit = str(release.public.get("radius_unit", ""))
    return " half-ranges" if unit.startswith(_HALVES) else unit


def _uncovered(release: Release) -> list[str]:
    found, clipped = release.found, []
    if found is None:
        clipped.append(
            "The bias of clipping: if rows lean to one side, the mean is moved to the other. It was not measured."
        )
    else:
        clipped.append(
            f"Up to {found.unseen} rows much farther out than all others: they may have been clipped without anybody "
            "noticing, and their weight in the mean is then lost."
        )
    return [
        *clipped,
        f"Bounds that cut. First of all, values beyond the bounds ({bound_in_words(release.public)}) were moved "
        "to them. If the bounds cut through the data, the mean is biased, and nothing on this page can tell.",
        "Who is in the data. Errors are about the mean of these rows, not about people who were never asked"
        + ("" if found is None else ", and a population may have rare large values that no sample shows")
        + ".",
        "Estimates are not forced into their bounds: noise may carry a small one below its lower bound.",
    ]


def privacy(release: Release) -> Html:
    """Return the promise in plain words."""
    how, bet = words.how_well(release)
    guess = best_guess(release)
    account = words.conversion(release)
    supposed = "What follows would hold if the noise were secret and exact. It is not, and this protects nobody."
    return join(
        _remark("Not here.", supposed) if _no_privacy(release) else None,
        tag("p", words.who_is_protected(release), class_="lead"),
        tag("p", words.who_is_a_person(release)),
        tag("h3", "How well"),
        tag("p", how),
        tag("p", bet),
        charts.bet(guess, f"at most {percent_up(guess)} right"),
        tag("h3", "Whom it trusts"),
        *(tag("p", text) for text in words.whom_to_trust(release)),
        tag("h3", "How costs add up"),
        tag("p", account) if account else None,
        tag(
            "p",
            "Whoever publishes another result about the same rows spends more, and the promise for both together is "
            "weaker than for each.",
        ),
    )


def receipts(release: Release) -> Html:
    """Return what was asked, which mechanism answered, and what it cost."""
    shares = _shares(release.receipts)
    lines = []
    for receipt, share in zip(release.receipts, shares, strict=True):
        purpose = words.STEPS.get(receipt.step.split()[0] if receipt.step.split() else "")
        lines.append(
            tag(
                "tr",
                tag(
                    "th",
                    receipt.step,
                    tag("span", purpose, class_="soft") if purpose else None,
                    scope="row",
                    role="rowheader",
                ),
                tag(
                    "td",
                    _sentence(receipt.asked),
                    tag("span", _sentence(receipt.mechanism), class_="soft"),
                    role="cell",
                ),
                tag("td", _price(receipt.cost), role="cell", class_="price"),
                tag(
                    "td",
                    tag("span", percent(share)),
                    charts.bar(share, f"{percent(share)} of what was spent"),
                    role="cell",
                    class_="share",
                ),
                role="row",
            )
        )
    head = ("step", "what was asked, and who answered", "cost", "share")
    has_rho = not is_renyi(release) and pure_epsilon(release) is None
    total = f"rho {plain(float(release.rho), 6)}" if has_rho else words.privacy_in_brief(release)
    return tag(
        "table",
        tag("caption", f"Every number derived from rows, and its exact cost; together {total}."),
        tag(
            "thead",
            tag("tr", *(tag("th", word, scope="col", role="columnheader") for word in head), role="row"),
            role="rowgroup",
        ),
        tag("tbody", *lines, role="rowgroup"),
        class_="receipts",
        role="table",
    )


def choices(release: Release, date: str | None = None) -> Html:
    """Return how the release was made: all of it public."""
    entries = [("method", release.method), ("model", release.trust), ("neighbours", str(release.neighbours))]
    if date is not None:
        entries.insert(0, ("date", date))
    entries.append(("bounds", bound_in_words(release.public)))
    for key, value in release.public.items():
        if key not in _SAID_ELSEWHERE:
            entries.append((_CHOICES.get(key, key), VARIANTS.get(value, "?") if key == "variant" else _value(value)))
    return tag("dl", *(tag("div", tag("dt", key), tag("dd", value)) for key, value in entries), class_="choices")


def bound_in_words(public: Mapping[str, Any]) -> str:
    """Return the public bound in words."""
    bound = public.get("bound", {})
    if "lower" in bound and "upper" in bound:
        sides = list(zip(bound["lower"], bound["upper"], strict=True))
        if len(set(sides)) == 1:
            every = "" if len(sides) == 1 else ", every column"
            return f"{plain(sides[0][0], 6)} to {plain(sides[0][1], 6)}{every}"
        return "column by column, see the table of numbers"
    if "norm_bound" not in bound and "reach" not in bound:
        return "none given"
    given, reach = bound.get("norm_bound"), bound.get("reach", bound.get("norm_bound"))
    mean = f", for a mean of norm at most {plain(given, 6)}" if given not in (None, reach) else ""
    return f"a norm of at most {plain(reach, 6)}{mean}"


def _shares(found: tuple[Receipt, ...]) -> list[float]:
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


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return power(value) if 0 < abs(value) < 1e-4 else plain(value, 4)
    if isinstance(value, str | int | Fraction):
        return str(value)
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else "see the data below"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." if text else ""


def _alarm(title: str, text: str) -> Html:
    return tag("p", tag("strong", title), " ", text, class_="alarm", role="alert")


def _remark(title: str, text: str) -> Html:
    return tag("p", tag("strong", title), " ", text, class_="remark", role="note")

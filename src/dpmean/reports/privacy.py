"""Who is protected, how well, and from whom."""

from __future__ import annotations

from dpmean.reports import charts
from dpmean.reports import wording as words
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.numbers import percent_up
from dpmean.reports.parts import remark
from dpmean.reports.promise import Promise, best_guess


def privacy(promise: Promise) -> Html:
    """Return the promise in plain words."""
    how, bet = words.how_well(promise)
    guess = best_guess(promise)
    supposed = "What follows would hold if the noise were secret and exact. It is not, and this protects nobody."
    costs = (
        words.of_groups(promise),
        words.conversion(promise),
        "Whoever publishes another result about the same rows spends more, and the promise for both together is "
        "weaker than for each.",
    )
    return join(
        remark("Not here.", supposed) if promise.broken else None,
        tag("p", words.who_is_protected(promise), class_="lead"),
        tag("p", words.who_is_a_person(promise)),
        tag("h3", "How well"),
        tag("p", how),
        tag("p", bet),
        charts.bet(guess, f"at most {percent_up(guess)} right"),
        tag("h3", "Whom it trusts"),
        *(tag("p", text) for text in words.whom_to_trust(promise)),
        tag("h3", "How costs add up"),
        *(tag("p", text) for text in costs if text is not None),
    )

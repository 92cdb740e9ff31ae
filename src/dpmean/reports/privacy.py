"""Who is protected, how well, and from whom."""

from __future__ import annotations

from dpmean.release.digits import percent_up
from dpmean.reports import charts, wording
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.parts import remark
from dpmean.reports.promise import Promise, best_guess


def privacy(promise: Promise) -> Html:
    """Return the guarantee in plain words."""
    how, bet = wording.how_well(promise)
    guess = best_guess(promise)
    supposed = "What follows would hold if the noise were secret and exact. It is not, and this protects nobody."
    costs = (
        wording.of_groups(promise),
        wording.conversion(promise),
        "Another published result about the same rows costs more privacy: the guarantee for both together is "
        "weaker than for each.",
    )
    return join(
        remark("Not valid here.", supposed) if promise.broken else None,
        tag("p", wording.who_is_protected(promise), class_="lead"),
        tag("p", wording.who_is_a_person(promise)),
        tag("h3", "How well"),
        tag("p", how),
        tag("p", bet),
        charts.bet(guess, f"at most {percent_up(guess)} right"),
        tag("h3", "Who is trusted"),
        *(tag("p", text) for text in wording.whom_to_trust(promise)),
        tag("h3", "How costs add up"),
        *(tag("p", text) for text in costs if text is not None),
    )

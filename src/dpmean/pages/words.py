"""The promise in plain words: who is protected, from whom, and how well."""

from __future__ import annotations

import math

from dpmean.ledger import Release
from dpmean.pages.numbers import percent_up, plain, small, times_up
from dpmean.pages.odds import best_guess, delta_of, is_renyi, pure_epsilon

STEPS = {
    "spread": "how far apart rows typically are",
    "reach": "how far from zero, or from the middle of the bounds, rows lie",
    "extremes": "how far out the outermost rows are",
    "locate": "a first, rough mean, to look from",
    "outline": "how many rows lie how far out",
    "far": "how far out the farthest rows are",
    "alarm": "whether some rows lie far beyond all others",
    "radius": "where to clip",
    "upper": "where to clip above",
    "lower": "where to clip below",
    "end": "where to clip",
    "shrinkage": "how much clipping shortens rows",
    "bias": "how far clipping moves the mean",
    "centre": "where the rows are",
    "medians": "where the rows are",
    "spreads": "how wide each column is",
    "mean": "the mean itself",
    "answers": "what each device was asked",
}
"""What the steps of our estimators are for, by the first word of their names."""


_DELTAS = (1e-5, 1e-6, 1e-9)
_LARGE = 20  # an epsilon that lets things become half a billion times as likely


def privacy_in_brief(release: Release) -> str:
    """Return the cost in one line."""
    pure, delta = pure_epsilon(release), delta_of(release)
    if pure is not None:
        return f"epsilon {_up(float(pure))}"
    return f"epsilon {_up(release.epsilon(delta))} at delta {small(delta)}"


def who_is_protected(release: Release) -> str:
    """Return, in plain words, which two worlds are hard to tell apart."""
    one, several = _unit(release)
    seen, relation = _seen(release), str(release.neighbours)
    if relation == "replace-one":
        hidden = f"Whether {one} is as it is, or has any other values instead, can hardly be told from {seen}"
        count = f"How many {several} there are is public, and not protected."
    elif relation.startswith("add"):
        hidden = f"Whether {one} is in the data at all can hardly be told from {seen}"
        count = f"How many {several} there are is protected as well: a number of them on this page is an estimate."
    else:
        hidden = f"Data sets that are neighbours ({relation}) can hardly be told apart from {seen}"
        count = ""
    return f"{hidden}, even by somebody who knows everything else in the data. {count}".strip()


def who_is_a_person(release: Release) -> str:
    """Return what the unit means for people."""
    unit = release.public.get("privacy_unit", "row")
    if unit in ("row", None):
        return (
            "One row is protected. If every person has one row, that is the person; somebody who has several rows is "
            "protected less, for each of them adds to what can be told."
        )
    return "All rows that carry the same identifier are protected together, however many they are."


def _unit(release: Release) -> tuple[str, str]:
    if release.public.get("privacy_unit", "row") in ("row", None):
        return "any one row", "rows"
    return "everything that any one person contributed (all rows of one identifier)", "identifiers"


def _seen(release: Release) -> str:
    if release.trust == "local":
        return "all that the device sent, and from this page"
    if release.trust == "shuffle":
        return "all that the analyzer received, and from this page"
    return "this page"


def how_well(release: Release) -> list[str]:
    """Return what the cost means, in sentences that are exactly true."""
    delta = delta_of(release)
    pure = pure_epsilon(release)
    epsilon = release.epsilon(delta) if pure is None else float(pure)
    replaced = str(release.neighbours) == "replace-one"
    change = "with that one replaced by any other" if replaced else "if that one were added or left out"
    name, also = f"{privacy_in_brief(release)}, pure differential privacy", ""
    if pure is None:
        name, also = privacy_in_brief(release), f", apart from an extra probability of at most {small(delta)}"
    asked = (
        "and has two candidates for that one, each as likely as the other, names the right one"
        if replaced
        else "and has to say whether that one is in it, as likely as not, says the truth"
    )
    if epsilon > _LARGE:
        meaning = "a number so large that it rules out next to nothing"
    else:
        meaning = (
            "whatever anybody might conclude, they come to conclude it at most "
            f"{times_up(math.exp(epsilon))} times as often as they would {change}{also}"
        )
    return [
        f"This is {name}: {meaning}.",
        f"As a bet: somebody who knows all the rest, {asked} in at most {percent_up(best_guess(release))} of cases; "
        "guessing blindly is right in 50 %.",
    ]


def conversion(release: Release) -> str | None:
    """Return how rho converts to epsilon, if there is a rho."""
    if pure_epsilon(release) is not None:
        return None
    asked = delta_of(release)
    deltas = sorted({asked, *(delta for delta in _DELTAS if delta > asked or not is_renyi(release))})
    pairs = ", ".join(f"epsilon {_up(release.epsilon(delta))} at delta {small(delta)}" for delta in reversed(deltas))
    if is_renyi(release):
        return (
            f"Costs were added up as Rényi divergences and converted once, by a tight formula, rounded up: {pairs}. "
            "There is no single rho in the shuffle model."
        )
    return (
        f"Accounts are kept in rho, zero-concentrated differential privacy, in which costs of steps simply add up: "
        f"rho = {plain(float(release.rho), 6)}. By a tight formula, rounded up, that is {pairs}; "
        "all of these hold at once."
    )


def whom_to_trust(release: Release) -> list[str]:
    """Return who saw what."""
    if release.trust == "central":
        return [
            "Central model: whoever made this page held the rows, and is trusted with them. Everybody else sees what "
            "went through the noise, and nothing besides."
        ]
    if release.trust == "local":
        return [
            "Local model: nobody is trusted. Each device randomized its answer before it sent it, and the promise "
            "holds against the collector too.",
            "A collection that is played in one process, to try it out, does not hide rows from that process.",
        ]
    words = [
        "Shuffle model: clients sealed their messages, a shuffler mixed them without reading them, and an analyzer "
        f"added them up. The promise holds as long as shuffler and analyzer do not work together{_honest(release)}."
    ]
    if release.public.get("played_in_one_process"):
        words.append("This collection was played in one process, which saw all rows: it does not hide them from there.")
    return words


def _honest(release: Release) -> str:
    honest = release.public.get("honest")
    return f", and at least {honest} clients are honest in every round" if honest is not None else ""


def _up(epsilon: float) -> str:
    """Return an epsilon with four digits, rounded up, but for a float's error: it is an upper bound."""
    if not epsilon > 0:
        return "0"
    place = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    return plain(math.ceil(epsilon / place - 1e-6) * place)

"""The guarantee in plain words: who is protected, from whom, and how well."""

from __future__ import annotations

import math

from dpmean.enums import Sizes
from dpmean.errors import display_name
from dpmean.privacy.neighbours import Neighbours
from dpmean.release.digits import percent_up, plain, small, times_up
from dpmean.release.release import Release
from dpmean.release.text import four_digits_up
from dpmean.reports.promise import Promise, best_guess
from dpmean.trust.registry import TRUST_MODELS

STEPS = {
    "number": "how many there are",
    "values": "how many have a value in each column",
    "spread": "how far apart rows typically are",
    "reach": "how far from zero, or from the middle of the bounds, rows lie",
    "extremes": "how far out the outermost rows are",
    "locate": "an intermediate mean, used as the next centre",
    "outline": "how many rows lie how far out",
    "squares": "how widely each column varies",
    "octaves": "how widely each column varies",
    "variances": "the variance of each column, for intervals of a population",
    "far pairs": "whether noise in proportion to the scales is smaller",
    "tails": "whether a column has more rows far out than its scale suggests",
    "far": "how far out the farthest rows are",
    "profile": "how fast the number of rows falls far out",
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
"""The purposes of the steps of our estimators, by the first word of their names, or the first two."""


def purpose_of(step: str) -> str | None:
    """Return the purpose of a step, if it is one of ours."""
    first, second, *_ = [*step.replace(",", "").split(), "", ""]
    return STEPS.get(f"{first} {second}", STEPS.get(first))


_DELTAS = (1e-5, 1e-6, 1e-9)
_LARGE = 20  # an epsilon that lets things become half a billion times as likely


def in_brief(promise: Promise) -> str:
    """Return the cost in one line."""
    if promise.pure is not None:
        return f"epsilon {_up(float(promise.pure))}"
    return f"epsilon {_up(promise.epsilon(promise.delta))} at delta {small(promise.delta)}"


def who_is_protected(promise: Promise) -> str:
    """Return, in plain words, what a release hides."""
    seen, hidden = TRUST_MODELS[promise.trust].seen, _hidden(promise)
    if _epsilon(promise) > _LARGE:
        weak = f"At this cost, almost nothing is hidden: from {seen}, someone who knows all other data may well learn"
        return f"{weak} {hidden}. {_numbers(promise)}"
    strong = f"From {seen}, even someone who knows all other data can only guess {hidden}."
    return f"{strong} The bet below says how often such a guess can be right. {_numbers(promise)}"


def _epsilon(promise: Promise) -> float:
    return promise.epsilon(promise.delta) if promise.pure is None else float(promise.pure)


def _hidden(promise: Promise) -> str:
    """Return what is hidden from neighbours that differ in one step, which the bet is about."""
    if not promise.replaced:
        return "whether any one row is in the data" if promise.unit is None else "whether any one person is in the data"
    what = "any one row has its true values or others"
    if promise.unit is not None:
        what = "any one person has their true rows or others"
    groups = {Sizes.PRIVATE: ", in this group or in another", Sizes.PUBLIC: " in the same group", None: ""}
    return f"whether {what}{groups[promise.sizes]}"


def _numbers(promise: Promise) -> str:
    several = "rows" if promise.unit is None else "persons"
    if promise.sizes is Sizes.PUBLIC:
        return f"The number of {several} in each group, and who is in which group, are public and not protected."
    if promise.sizes is Sizes.PRIVATE:
        one = "row" if promise.unit is None else "person"
        moved = (
            ""
            if promise.replaced
            else f"The group of a {one} is hidden as well, but less well: as if the release had cost twice the rho. "
        )
        return f"{moved}The number of {several} in a group is also protected, and published with noise."
    if promise.replaced:
        return f"The number of {several} is public and not protected."
    return f"The number of {several} is also protected, and published with noise."


def who_is_a_person(promise: Promise) -> str:
    """Return what the unit means for people."""
    if promise.unit is None:
        return (
            "Each row is protected by itself. If every person has one row, this protects each person; a person with "
            "several rows is protected less, since each row reveals more."
        )
    return (
        f"All rows of one person, that is, all that have the same value of {display_name(promise.unit)}, are protected "
        "together, however many there are."
    )


def how_persons_count(promise: Promise) -> str | None:
    """Return what the estimate is a mean of, if it is not rows."""
    if promise.unit is None:
        return None
    if promise.sizes is None:
        return "Every person counts once, with the mean of their rows."
    if promise.contributions > 1:
        return (
            f"Every person counts in at most {promise.contributions} groups, in each with the mean of their rows in it;"
            " their rows in other listed groups were left out."
        )
    return (
        "Every person counts once, in one group, with the mean of their rows in it; their rows in other listed groups "
        "were left out."
    )


def how_well(promise: Promise) -> list[str]:
    """Return what the cost means, in sentences that are exactly true."""
    pure, one = promise.pure, "row" if promise.unit is None else "person"
    epsilon = _epsilon(promise)
    same = promise.sizes is Sizes.PUBLIC  # who is in which group is known, so that neighbours differ within one
    other = "any other of its group" if same else "any other"
    change = f"with that {one} replaced by {other}" if promise.replaced else f"if that {one} were added or left out"
    asked = (
        f"which of two candidates{', both of its group,' * same} that {one} is"
        if promise.replaced
        else f"whether that {one} is in the data"
    )
    name, also = f"{in_brief(promise)}, pure differential privacy", ""
    if pure is None:
        name, also = in_brief(promise), f", apart from an extra probability of at most {small(promise.delta)}"
    if epsilon > _LARGE:
        meaning = "a number so large that it rules out almost nothing"
    else:
        meaning = (
            f"any conclusion is at most {times_up(math.exp(epsilon))} times as likely as it would be {change}{also}"
        )
    return [
        f"This is {name}: {meaning}.",
        f"As a bet: someone who knows all other data guesses {asked}, at even odds, and is right in at most "
        f"{percent_up(best_guess(promise))} of cases; a blind guess is right in 50 %.",
    ]


def conversion(promise: Promise) -> str | None:
    """Return how rho converts to epsilon, if there is a rho."""
    if promise.pure is not None:
        return None
    deltas = {promise.delta, *(delta for delta in _DELTAS if delta > promise.delta or promise.rho is not None)}
    pairs = ", ".join(
        f"epsilon {_up(promise.epsilon(delta))} at delta {small(delta)}" for delta in sorted(deltas, reverse=True)
    )
    if promise.rho is None:
        return (
            f"Costs were added up as Rényi divergences and converted once, by a tight formula, rounded up: {pairs}. "
            "There is no single rho in the shuffle model."
        )
    return (
        "Costs are counted in rho, that is, in zero-concentrated differential privacy (zCDP), where the costs of steps "
        f"add up: rho = {plain(float(promise.rho), 6)}. A tight conversion, rounded up, gives {pairs}; "
        "all of these hold at once."
    )


def of_groups(promise: Promise) -> str | None:
    """Return why the costs of groups do not add up."""
    if promise.sizes is None:
        return None
    one, most = "row" if promise.unit is None else "person", promise.contributions
    words, dearest = f"A {one} is in only one group, so the costs of groups do not add up", "the most expensive group"
    if most > 1:
        words, dearest = f"A {one} counts in at most {most} groups, whose costs add up", f"{dearest}s, {most} of them"
    if promise.replaced and promise.sizes is Sizes.PRIVATE:
        return (
            f"{words}: the total is four times the cost of {dearest}, because replacing a {one} removes it in one "
            "place and adds it in another."
        )
    return f"{words}: the total is the cost of {dearest}."


def whom_to_trust(promise: Promise) -> list[str]:
    """Return who has to be trusted, and who saw what."""
    model = TRUST_MODELS[promise.trust]
    words = f"{model.name.capitalize()} model: {model.statement}"
    if not model.devices:
        words += f" All others see only noisy numbers{_besides(promise)}."
    if model.condition:
        honest = "" if promise.honest is None else f", and at least {promise.honest} clients are honest in every round"
        words += f" The guarantee holds as long as {model.condition}{honest}."
    played = "This collection was played in one process, which saw all rows, so they are not hidden from that process."
    return [words, played] if promise.played else [words]


def _besides(promise: Promise) -> str:
    """Return which exact numbers readers see."""
    several = "rows" if promise.unit is None else "persons"
    if promise.sizes is Sizes.PUBLIC:
        return f", and the exact number of {several} in each group"
    if promise.sizes is None and promise.replaced:
        return f", and the exact number of {several}"
    return ""


def number_of(release: Release) -> tuple[str, str]:
    """Return how many there are, and of what."""
    about = {Neighbours.REPLACE_ONE: "", Neighbours.ADD_OR_REMOVE_ONE: "about "}[release.neighbours]
    one = "row" if release.unit is None else "person"
    return f"{about}{release.n}", one if release.n == 1 else f"{one}s"


def _up(epsilon: float) -> str:
    return plain(four_digits_up(epsilon))

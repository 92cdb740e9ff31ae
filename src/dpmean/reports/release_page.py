"""The page of one release."""

from __future__ import annotations

from dpmean.errors import display_name
from dpmean.release.digits import plain
from dpmean.release.refusals import in_plain_words
from dpmean.release.release import Release
from dpmean.reports import wording
from dpmean.reports.accuracy import accuracy, bound_in_words
from dpmean.reports.author import Author
from dpmean.reports.columns import Columns
from dpmean.reports.estimate import estimate
from dpmean.reports.markup import Html, join, tag
from dpmean.reports.parts import about, alarms, by_author, data, entries, head, remark, section
from dpmean.reports.privacy import privacy
from dpmean.reports.promise import Promise, promise_of
from dpmean.reports.provenance import choices
from dpmean.reports.receipts import folded
from dpmean.trust.registry import TRUST_MODELS


def body(release: Release, columns: Columns, image: tuple[int, int] | None, author: Author, text: str) -> Html:
    """Return all that is on the page of a release; ``text`` is its JSON."""
    promise = promise_of(release)
    how = wording.how_persons_count(promise)
    counted = None if how is None else tag("p", how)
    return tag(
        "main",
        head(
            author.title,
            _subtitle(release, promise),
            alarms(seeded=release.seeded, exact=release.exact),
            _remarks(release),
            entries(_facts(release, promise), "facts"),
        ),
        about(author),
        section("estimate", "The estimate", counted, estimate(columns, image)),
        section("accuracy", "How accurate it is", accuracy(release, columns)),
        section("privacy", "Who is protected, and how well", privacy(promise)),
        section("receipts", "What it cost", folded(release.receipts, _total(promise))),
        section(
            "choices",
            "How it was made",
            join(entries(_choices(release, author.date), "choices"), data(text, "Release"), by_author(author)),
        ),
    )


def _subtitle(release: Release, promise: Promise) -> str:
    what = "one number" if release.d == 1 else f"{release.d} columns"
    mean = f"The mean of {what} over {' '.join(wording.number_of(release))}"
    if promise.broken:
        return f"{mean}, with noise that does not protect them."
    return f"{mean}, with noise that protects each of them. Everything on this page may be published."


def _remarks(release: Release) -> list[Html]:
    found = []
    if release.settings.few_rows:
        few = "There were too few rows for this budget, so the error of the estimate is not known."
        found.append(remark("Few rows: do not rely on this estimate.", few))
    if release.settings.note:
        found.append(remark("Note.", in_plain_words(release.settings.note)))
    return found


def _facts(release: Release, promise: Promise) -> list[tuple[str, str]]:
    number, unit = wording.number_of(release)
    return [
        (unit, number),
        ("columns", str(release.d)),
        ("privacy", promise.broken or wording.in_brief(promise)),
        ("trust", TRUST_MODELS[release.trust].label),
    ]


def _total(promise: Promise) -> str:
    if promise.pure is not None or promise.rho is None:
        return wording.in_brief(promise)
    return f"rho {plain(float(promise.rho), 6)}"


def _choices(release: Release, date: str | None) -> list[tuple[str, str]]:
    return [
        *([] if date is None else [("date", date)]),
        ("method", release.method),
        ("model", release.trust),
        ("neighbours", str(release.neighbours)),
        *([] if release.unit is None else [("one person", display_name(release.unit))]),
        ("bounds", bound_in_words(release.settings)),
        *choices(release.settings),
    ]

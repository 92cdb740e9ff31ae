"""The parts of a page."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from dpmean.reports.author import Author
from dpmean.reports.markup import Html, tag


def section(name: str, title: str, *children: str | None) -> Html:
    """Return a section with a heading."""
    return tag("section", tag("h2", title, id=name), *children, aria_labelledby=name)


def entries(pairs: Iterable[tuple[str, str]], kind: str) -> Html:
    """Return names and what goes with them."""
    lines = (tag("div", tag("dt", tag("bdi", name)), tag("dd", tag("bdi", value))) for name, value in pairs)
    return tag("dl", *lines, class_=kind)


def points(texts: Iterable[str]) -> Html:
    """Return a list of points."""
    return tag("ul", *(tag("li", text) for text in texts))


def alarm(title: str, text: str) -> Html:
    """Return a warning that nobody may miss."""
    return tag("p", tag("strong", title), " ", text, class_="alarm", role="alert")


def remark(title: str, text: str) -> Html:
    """Return a remark for readers."""
    return tag("p", tag("strong", title), " ", text, class_="remark", role="note")


def alarms(*, seeded: bool, exact: bool) -> list[Html]:
    """Return why this protects nobody, if it does not."""
    found = []
    if seeded:
        found.append(
            alarm(
                "This protects nobody.",
                "It was made with a seed: anyone who knows or guesses the seed can subtract the noise. It is an "
                "experiment, not a release. Do not publish it as if it were private.",
            )
        )
    if not exact:
        found.append(
            alarm(
                "This protects nobody reliably.",
                "Its noise was drawn in floating point, whose rounding may reveal rows. Use it for experiments only.",
            )
        )
    return found


def head(title: str, lead: str, alarmed: Iterable[Html], remarks: Iterable[Html], facts: Html) -> Html:
    """Return how a page begins."""
    return tag("header", tag("h1", tag("bdi", title)), tag("p", lead, class_="lead"), *alarmed, *remarks, facts)


def about(author: Author) -> Html | None:
    """Return what the author of a page says about the data, paragraph by paragraph; None for nothing."""
    if not author.about and not author.contact:
        return None
    paragraphs = [tag("p", tag("bdi", text.strip())) for text in author.about.split("\n\n") if text.strip()]
    contact = [tag("p", "Contact: ", tag("bdi", author.contact.strip()))] if author.contact else []
    return section("about", "About the data", *paragraphs, *contact)


def by_author(author: Author) -> Html | None:
    """Return which parts of a page its author wrote; they are not part of the release."""
    parts = {
        "readable names": author.labels or author.groups,
        "units": author.units,
        "text about the data": author.about,
    }
    parts |= {"contact": author.contact}
    words = [name for name, value in parts.items() if value]
    if not words:
        return None
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    text = f"Written by the author of this page, and not part of the release: {listed}."
    return tag("p", text, class_="soft")


def data(text: str, kind: str) -> Html:
    """Return a link to the whole release as JSON; ``kind`` is the class that reads it."""
    link = "data:application/json;base64," + base64.b64encode(text.encode()).decode()
    return tag(
        "p",
        "The whole release, with unrounded (still noisy) numbers, is part of this page: ",
        tag("a", "download it as JSON", href=link, download="release.json"),
        ". In Python, ",
        tag("code", f'dpmean.{kind}.from_json(Path("release.json").read_text(encoding="utf-8"))'),
        " reads it.",
    )

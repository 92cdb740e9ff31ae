"""What dpmean check has to say about the columns, persons and groups of a file, beside its tables."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpmean.errors import plural
from dpmean.pipeline.group_outlook import budget_in_words
from dpmean.pipeline.outlook import Outlook
from dpmean.rows.inspection.findings import Asked, Findings, KeyColumn
from dpmean.rows.inspection.judgement import Judgement, where

_STAND_INS = (
    "or count them as a value that is public, --nan NAME=VALUE; or as the middle of the bounds, --nan impute, which "
    "moves the mean towards it, often far"
)
_DELTA = Fraction(1, 10**6)
"""At which an epsilon is told."""
_EMPTY = "with one column, an empty line is a row with a missing value: remove it if no row is meant"


def make_notes(found: Findings, wanted: Asked, judged: Judgement, outlook: Outlook | None) -> Iterator[tuple[str, str]]:
    """Yield what is good to know."""
    for name in judged.columns:
        column = found.columns[name]
        for words, places in (("missing", column.missing), ("infinite", column.infinite)):
            if places.count:
                yield name, f"{words}: {where(places, found.place)}"
        if wanted.unit is not None and column.missing.count + column.infinite.count:
            yield name, _count_without(found, wanted.unit, name)
        for words, places in (("below", column.below), ("above", column.above)):
            if places.count:
                yield name, f"{words} the bounds: {where(places, found.place)}; clipped to them"
    if judged.lacking:
        yield "missing", f"{_say_what_drop_does(found, wanted, judged)}; {_STAND_INS}"
    if found.empty_end.count:
        yield next(iter(found.columns)), f"empty at the end: {where(found.empty_end, found.place)}; {_EMPTY}"
    for name, keys in found.keys.items():
        if keys.counts:
            yield name, _count_keys(keys, "persons" if name == wanted.unit else "labels")
    if wanted.groups is not None:
        yield "groups", _count_listed(found)
        if found.groups.in_several:
            several = plural(found.groups.in_several, "person")
            yield "", f"{several} with rows in several groups: each counts in one of them, unless --contributions says"
        if outlook is not None and outlook.n < outlook.rows_least:
            yield "", _say_what_the_smallest_needs(outlook, "row" if wanted.unit is None else "person")
    if wanted.unit is None:
        yield "persons", "every row is protected by itself; if one person may have several rows, give --privacy-unit"
    if judged.left_out:
        yield "left out", ", ".join(judged.left_out)


def _count_without(found: Findings, unit: str, name: str) -> str:
    """Say how many persons have no value in a column."""
    count = found.without([name], unit)
    if count is None:
        return "who has no value at all was not counted: name the columns, with --columns"
    persons = len(found.keys[unit].counts)
    return f"{count or 'none'} of {plural(persons, 'person')} {'has' if count == 1 else 'have'} no value of {name}"


def _say_what_drop_does(found: Findings, wanted: Asked, judged: Judgement) -> str:
    """Say whom --nan drop leaves out."""
    if wanted.unit is None:
        return "--nan drop leaves out rows that lack a value in one of these columns"
    count = found.without(judged.columns, wanted.unit)
    many = "" if count is None else f", here {count}"
    return (
        "a person's mean is that of the values that are there; --nan drop leaves out persons who have no value in one "
        f"of these columns{many}"
    )


def _count_listed(found: Findings) -> str:
    """Say how many rows are of groups that are listed, and where others are."""
    words = f"{found.listed} rows are of groups that are listed, {found.rows - found.listed} are not"
    if found.unlisted.count:
        words += f"; another label: {where(found.unlisted, found.place)} (even a blank at the end makes another label)"
    return words


def _say_what_the_smallest_needs(outlook: Outlook, one: str) -> str:
    """Say which budget the smallest group needs."""
    budget = budget_in_words(outlook.budget_least, _DELTA)
    return (
        f"with the budget below a group needs {plural(outlook.rows_least, one)}; the smallest, of "
        f"{plural(outlook.n, one)}, needs {budget}"
    )


def _count_keys(keys: KeyColumn, what: str) -> str:
    """Say how many rows the persons, or the groups, have."""
    counts = sorted(keys.counts.values())
    median, most = counts[len(counts) // 2], counts[-1]
    many = sum(count > 10 * median for count in counts)
    words = f"{'at least ' * keys.full}{len(counts)} {what}; rows of each: median {median}, at most {most}"
    return words + (f"; more than ten times the median: {many} of them" if many else "")

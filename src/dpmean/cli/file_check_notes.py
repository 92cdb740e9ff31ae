"""The notes of dpmean check about the columns, persons and groups of a file."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpmean.errors import plural
from dpmean.pipeline.group_outlook import budget_in_words
from dpmean.pipeline.outlook import Outlook
from dpmean.rows.inspection.findings import Asked, Findings, KeyColumn
from dpmean.rows.inspection.judgement import Judgement, where

_REPLACE = (
    "--nan NAME=VALUE replaces missing values with a public value; --nan impute replaces them with the middle of the "
    "bounds, which can move the mean far towards it"
)
_DELTA = Fraction(1, 10**6)
"""The delta for an epsilon in a note."""
_EMPTY = "in a file of one column, an empty line is a row with a missing value: remove it if it is not a row"


def make_notes(found: Findings, wanted: Asked, judged: Judgement, outlook: Outlook | None) -> Iterator[tuple[str, str]]:
    """Yield notes as labels and text."""
    for name in judged.columns:
        column = found.columns[name]
        for words, places in (("missing", column.missing), ("infinite", column.infinite)):
            if places.count:
                yield name, f"{words}: {where(places, found.place)}"
        if wanted.unit is not None and column.missing.count + column.infinite.count:
            yield name, _count_without(found, wanted.unit, name)
        for words, places in (("below", column.below), ("above", column.above)):
            if places.count:
                yield name, f"{words} the bounds: {where(places, found.place)}; clipped to the bounds"
    if judged.lacking:
        yield "missing", f"{_explain_drop(found, wanted, judged)}; {_REPLACE}"
    if found.empty_end.count:
        yield next(iter(found.columns)), f"empty lines at the end: {where(found.empty_end, found.place)}; {_EMPTY}"
    for name, keys in found.keys.items():
        if keys.counts:
            yield name, _count_keys(keys, "persons" if name == wanted.unit else "labels")
    if wanted.groups is not None:
        yield "groups", _count_listed(found)
        if found.groups.in_several:
            several = plural(found.groups.in_several, "person")
            yield (
                "",
                f"{several} with rows in several groups: each counts in one group, or with --contributions K in up to "
                "K",
            )
        if outlook is not None and outlook.n < outlook.rows_least:
            yield "", _explain_smallest_group(outlook, "row" if wanted.unit is None else "person")
    if wanted.unit is None:
        yield "persons", "each row is protected by itself; if a person may have several rows, give --privacy-unit"
    if judged.left_out:
        yield "not used", ", ".join(judged.left_out)


def _count_without(found: Findings, unit: str, name: str) -> str:
    """Count the persons without a value in a column."""
    count = found.without([name], unit)
    if count is None:
        return "persons without any value were not counted: name the columns with --columns"
    persons = len(found.keys[unit].counts)
    return f"{count or 'none'} of {plural(persons, 'person')} {'has' if count == 1 else 'have'} no value in {name}"


def _explain_drop(found: Findings, wanted: Asked, judged: Judgement) -> str:
    """Say which rows or persons --nan drop leaves out."""
    if wanted.unit is None:
        return "--nan drop leaves out rows with a missing value in one of these columns"
    count = found.without(judged.columns, wanted.unit)
    many = "" if count is None else f" ({count} here)"
    return (
        "a person's mean ignores their missing values; --nan drop leaves out persons who have no value at all in one "
        f"of these columns{many}"
    )


def _count_listed(found: Findings) -> str:
    """Count the rows of listed groups, and say where other labels are."""
    words = f"{found.listed} rows are in listed groups, {found.rows - found.listed} are not"
    if found.unlisted.count:
        words += f"; other labels: {where(found.unlisted, found.place)} (labels that differ in a blank are different)"
    return words


def _explain_smallest_group(outlook: Outlook, one: str) -> str:
    """Say which budget the smallest group needs."""
    budget = budget_in_words(outlook.budget_least, _DELTA)
    return (
        f"with the budget below, a group needs {plural(outlook.rows_least, one)}; the smallest group has "
        f"{plural(outlook.n, one)} and needs {budget}"
    )


def _count_keys(keys: KeyColumn, what: str) -> str:
    """Describe how many rows the persons, or the groups, have."""
    counts = sorted(keys.counts.values())
    median, most = counts[len(counts) // 2], counts[-1]
    many = sum(count > 10 * median for count in counts)
    words = f"{'at least ' * keys.full}{len(counts)} {what}; rows of each: median {median}, maximum {most}"
    return words + (f"; {many} of them with more than ten times the median" if many else "")

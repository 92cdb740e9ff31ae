"""What ``explain()`` returns of the means of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmean.errors import display_label, display_name
from dpmean.privacy.receipts import zcdp_of
from dpmean.release.column_numbers import Place, names_of, number_columns
from dpmean.release.digits import significant
from dpmean.release.explanation import MOST_COLUMNS, in_parts
from dpmean.release.grouped_summary import (
    few_rows_of,
    persons_in_groups,
    price_of_all,
    remarks_of_groups,
    rows_head,
    title_of_groups,
    who_is_protected,
)
from dpmean.release.text import Paragraph, lines_of, wrap
from dpmean.release.text_table import TextColumn, align, draw, skip_middle

if TYPE_CHECKING:
    from dpmean.release.grouped import GroupedRelease


def explanation_of_groups(grouped: GroupedRelease) -> str:
    """Return everything that is known of the means of groups, in words."""
    from dpmean.release.scales_text import groups_without_scales  # here, as few need it

    lines = [*wrap("", title_of_groups(grouped), 2), ""]
    if grouped.released:
        lines += [*_numbers_of_groups(grouped), "", *_findings_of_groups(grouped), ""]
    facts = [
        *_refusals(grouped),
        *few_rows_of(grouped),
        *_values_of_groups(grouped),
        *([("scales", without)] if (without := groups_without_scales(grouped.released, display_label)) else []),
        ("privacy", f"{price_of_all(grouped)}, for all groups together"),
        ("protects", f"{who_is_protected(grouped)}; sizes of groups: {grouped.sizes}"),
        *persons_in_groups(grouped),
        *remarks_of_groups(grouped),
    ]
    return "\n".join([*lines, *lines_of(facts), *_steps_of_groups(grouped)])


def _numbers_of_groups(grouped: GroupedRelease) -> list[str]:
    labels, names, places = [], [], []
    for label, release in grouped.released.items():
        shown, _ = skip_middle(release.d, MOST_COLUMNS)
        called = names_of(release)
        labels += [display_label(label), *[""] * (len(shown) - 1)]
        names += [display_name(called[j]) for j in shown]
        places += [Place(release, j) for j in shown]
    first = [TextColumn(display_name(grouped.by), labels, is_name=True), TextColumn("column", names, is_name=True)]
    return in_parts(first, number_columns(places, every_statistic=True, of_groups=True), None)


def _findings_of_groups(grouped: GroupedRelease) -> list[str]:
    """Return a table with what was found of each group."""
    released = list(grouped.released.items())
    names = TextColumn(display_name(grouped.by), [display_label(label) for label, _ in released], is_name=True)
    columns = [
        TextColumn(rows_head(grouped), align([str(one.n) for _, one in released])),
        TextColumn("radius", align([significant(one.radius, 4) for _, one in released])),
        TextColumn("rho", align([significant(float(one.rho), 4) for _, one in released])),
    ]
    if all(one.found is not None for _, one in released):
        spreads = [significant(one.found.spread, 4) for _, one in released if one.found is not None]
        rounds = [str(one.found.rounds) for _, one in released if one.found is not None]
        columns[1:1] = [TextColumn("spread", align(spreads)), TextColumn("rounds", align(rounds))]
    if all(one.found is not None and not one.settings.few_rows for _, one in released):
        errors = [significant(one.error_bound(), 3) for _, one in released]
        columns.append(TextColumn("error (l2, 95 %)", align(errors)))
    unit = released[0][1].settings.radius_unit
    below = wrap("", f"Spread, radius and error in{unit} (each column in its own).") if unit else []
    return [*in_parts([names], columns, None), *below]


def _values_of_groups(grouped: GroupedRelease) -> list[Paragraph]:
    if all(release.value_counts is None for release in grouped.released.values()):
        return []
    from dpmean.release.value_counts import noise_in_words  # here, as few need it

    return [("values", noise_in_words(grouped.released.values()))]


def _refusals(grouped: GroupedRelease) -> list[Paragraph]:
    """Return why each refused group has no mean, and what to do about it."""
    refused = [("", f"{display_label(label)}: {reason}") for label, reason in grouped.refused.items()]
    why, cure = grouped.why_refused()
    return [("refused", f"{why}; {cure}"), *refused] if why else []


def _steps_of_groups(grouped: GroupedRelease) -> list[str]:
    """Return what each step cost the groups, as parts of what each group cost."""
    parts: dict[str, list[float]] = {}
    for found in grouped.released.values():
        for receipt in found.receipts:
            parts.setdefault(receipt.step, []).append(float(zcdp_of([receipt]).rho / found.rho))
    if not parts:
        return []
    ends = {step: [f"{100 * end:.1f}" for end in (min(shares), max(shares))] for step, shares in parts.items()}
    columns = [
        TextColumn("step", list(parts), is_name=True),
        TextColumn("groups", align([str(len(shares)) for shares in parts.values()])),
        TextColumn("part of the cost (%)", [low if low == high else f"{low} to {high}" for low, high in ends.values()]),
    ]
    head = "Steps, each with its part of what a group cost; release[label].explain() explains one group"
    return ["", *wrap("", head), *draw(columns)]

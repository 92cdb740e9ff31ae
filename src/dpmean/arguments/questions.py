"""The arguments of a plan: which of the number of rows, the budget and the error it has to find, and for which rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from dpmean.arguments.choices import read_flag, read_integer
from dpmean.arguments.shape import ShapeArgument, list_scales, read_shape
from dpmean.arguments.terms import Terms, check_options, read_terms
from dpmean.enums import Question, RowKind, Shaping, Trust, read_name
from dpmean.errors import ArgumentError, ArgumentTypeError, describe
from dpmean.estimators.refined.shape import OrderedScales
from dpmean.privacy.budgets import ApproxDp, Number, positive
from dpmean.trust.registry import find_trust_model


@final
@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """What the rows look like, and what is released about them besides their mean."""

    shaping: OrderedScales = Shaping.AUTO
    kind: RowKind = RowKind.NORMAL
    contributions: int = 1
    """The maximum number of groups in which one person counts."""
    count_values: bool = False
    population: bool = False
    """Whether the variances of the columns are released."""


def read_expected(
    shape: ShapeArgument,
    rows: str,
    scale: Number | None,
    d: int,
    terms: Terms,
    *,
    contributions: int = 1,
    count_values: bool = False,
    population: bool = False,
) -> ExpectedRows:
    """Read what is expected of the rows."""
    shaping, kind = read_shape(shape), read_name(RowKind, rows, "rows")
    groups, counts = read_integer(contributions, "contributions"), read_flag(count_values, "count_values")
    variances = read_flag(population, "population")
    given = {"count_values": counts or None, "population": variances or None}
    check_options(terms.model, given | {"shape": None if shaping is Shaping.AUTO else shaping})
    if groups > 1 and terms.model.name is not Trust.CENTRAL:
        raise ArgumentError(
            f"contributions is for the central model, got contributions={groups} with "
            f'trust="{terms.model.name}": leave contributions out'
        )
    if groups > 1 and not terms.private_size:
        raise ArgumentError(
            f'contributions={groups} can be planned only with neighbours="add-or-remove-one". For "replace-one", leave '
            f"contributions out and give the budget of one group: rho / {groups} with public sizes; with private sizes "
            f'rho / {4 * groups} and neighbours="add-or-remove-one"'
        )
    if kind is not RowKind.NORMAL and terms.model.name is not Trust.CENTRAL:
        raise ArgumentError(
            f'rows is for the central model, got rows="{kind}" with trust="{terms.model.name}": leave rows out'
        )
    if scale is not None and not isinstance(shaping, Shaping):
        raise ArgumentError(f"scale={scale} and scales in shape exclude each other: leave one of them out")
    return ExpectedRows(list_scales(shaping, d), kind, groups, counts, variances)


def read_group_sizes(groups: Sequence[int] | None, n: int | None) -> tuple[int, ...]:
    """Read the expected number of rows of each group; return an empty tuple if there are no groups."""
    if groups is None:
        return ()
    if n is not None:
        raise ArgumentError(f"got n={n} and also groups, whose sizes say how many rows there are: leave n out")
    if isinstance(groups, str | bytes) or not hasattr(groups, "__iter__"):
        raise ArgumentTypeError(
            f"groups must list the number of rows of each group, got {describe(groups)}: give [600, 400], for example"
        )
    sizes = tuple(read_integer(size, "the size of a group") for size in groups)
    if not sizes:
        raise ArgumentError("groups is empty: list the number of rows of each group, for example [600, 400]")
    return sizes


def check_groups(sizes: tuple[int, ...], terms: Terms) -> None:
    """Refuse terms for which groups cannot be planned."""
    if not sizes:
        return
    if terms.model.name is not Trust.CENTRAL:
        raise ArgumentError(f'groups is for the central model, got trust="{terms.model.name}": leave groups out')
    if not terms.private_size:
        raise ArgumentError(
            'groups can be planned only with neighbours="add-or-remove-one", their default: leave neighbours out, or '
            "plan one group with its size as n and its own budget"
        )


def read_length(value: Number | None, name: str) -> float | None:
    """Read an error, or a standard deviation."""
    return None if value is None else float(positive(value, name))


def read_question(
    n: int | None, error: Number | None, rho: Number | None, epsilon: Number | None, delta: Number | None
) -> Question:
    """Return which of the number of rows, the budget and the error was left out and has to be found."""
    budget = f"rho={rho}" if rho is not None else f"epsilon={epsilon}" if epsilon is not None else None
    if error is None:
        if n is None:
            raise ArgumentError(
                "n is missing: give the number of rows, or error=0.01, for example, to find the number for this error"
            )
        return Question.ERROR
    if n is None and budget is None:
        given = f"error={error} leaves" if delta is None else f"error={error} and delta={delta} leave"
        raise ArgumentError(
            f"{given} both the number of rows and the budget open: give n to find the budget, or a budget such as "
            "rho=0.5 to find the number of rows"
        )
    if n is not None and budget is not None:
        raise ArgumentError(f"got n={n}, {budget} and error={error}: leave out the one that is to be found")
    return Question.BUDGET if budget is None else Question.ROWS


def read_open_terms(delta: Number | None, **others: Any) -> Terms:
    """Read terms whose budget has to be found. Until then it is 1, in the notion that fits the trust model.

    That is epsilon if there is a delta. Otherwise it is rho in the central model, and pure differential privacy in the
    local model.
    """
    model = find_trust_model(others["trust"])
    if delta is None and ApproxDp in model.notions:
        raise ArgumentError(f"the {model.name} model needs a delta: give delta=1e-9, for example, well below 1/n")
    if delta is None and model.name is Trust.CENTRAL:
        return read_terms(rho=1, **others)
    return read_terms(epsilon=1, delta=delta, **others)

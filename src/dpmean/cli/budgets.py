"""Commands about budgets: plan a mean, convert a budget, show a ledger."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from dpmean.cli import arguments, show
from dpmean.enums import RowKind
from dpmean.privacy.budgets import ApproxDp, Number, PureDp, Zcdp


def _complete_rows(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    """Return the kinds of rows that complete a word."""
    return [kind for kind in RowKind if kind.startswith(incomplete)]


@click.command(
    cls=arguments.Command,
    examples=[
        "dpmean plan --n 4000 --d 128 --rho 0.5",
        "dpmean plan --n 4000 --d 3 --rho 0.5 --shape 1,2,40",
        "dpmean plan --n 4000 --d 128 --epsilon 1 --delta 1e-6 --json",
        "dpmean plan --n 100000 --d 8 --epsilon 1 --trust local",
        "dpmean plan --n 4000 --d 128 --error 0.01",
        "dpmean plan --d 8 --error 0.5 --scale 18 --rho 0.1 --rows skewed",
        "dpmean plan --n 900 --d 3 --rho 0.5 --contributions 3 --count-values",
        "dpmean plan --groups 600,400,200,200 --d 3 --rho 0.5",
    ],
)
@click.option("--n", type=int, metavar="N", help="Number of rows; leave it out to find it for --error.")
@click.option("--d", type=int, required=True, metavar="D", help="Number of columns.")
@click.option(
    "--error",
    type=arguments.NUMBER,
    metavar="X",
    help="Error that privacy may add. The plan finds the smallest budget for it, or without --n the number of rows.",
)
@arguments.budget
@click.option(
    "--scale", type=arguments.NUMBER, metavar="S", help="Standard deviation of a column; errors are in its unit."
)
@click.option(
    "--rows",
    type=click.STRING,
    default="normal",
    show_default=True,
    metavar="KIND",
    shell_complete=_complete_rows,
    help=f"What the rows look like: {', '.join(RowKind)}.",
)
@click.option(
    "--trust", default="central", show_default=True, metavar="MODEL", help="Trust model: central, local or shuffle."
)
@click.option(
    "--neighbours", metavar="WHICH", help="add-or-remove-one (default), or replace-one, which makes n public."
)
@click.option("--rounds", default="adaptive", metavar="WHAT", help="adaptive or few (local and shuffle model).")
@click.option(
    "--honest", type=arguments.NUMBER, default=0.8, metavar="X", help="Share of honest users (shuffle model)."
)
@click.option(
    "--shape",
    type=arguments.SHAPE,
    default="auto",
    metavar="WHAT",
    help="auto (default), round, or the scales of columns with the same unit, as in 1.5,20,3; names are ignored.",
)
@click.option(
    "--contributions",
    type=int,
    default=1,
    metavar="K",
    help="Maximum number of groups per person; N is then the number of persons in one group.",
)
@click.option("--count-values", is_flag=True, help="Also count the values of each column.")
@click.option("--population", is_flag=True, help="Also release confidence intervals of a population.")
@click.option("--groups", type=arguments.SIZES, metavar="N,N,...", help="Number of rows in each group, instead of --n.")
@arguments.as_json
def plan(*, as_json: bool, **asked: Any) -> None:
    """Predict the error of a private mean, without any data.

    Errors are in spreads (a spread is the typical distance of a row from the mean), or with --scale in the unit of a
    column.

    Or find what an error requires: give two of the number of rows, the budget
    and the error, and the plan finds the third.
    """
    from dpmean.api import plan as look_ahead

    with show.working("planning"):
        outlook = look_ahead(**asked)
    if not as_json:
        show.plan(str(outlook))
        return
    traffic, scales, goal = outlook.traffic, outlook.scales, outlook.goal
    document = {
        "n": outlook.n,
        "d": outlook.d,
        "budget": _budget(outlook.budget),
        "trust": outlook.trust,
        "neighbours": outlook.neighbours,
        "verdict": outlook.verdict.name.lower(),
        "error": outlook.error,
        "sampling_error": outlook.sampling_error,
        "rows_needed": outlook.rows_needed,
        "budget_needed": None if math.isinf(outlook.budget_needed) else outlook.budget_needed,
        "rows_to_match": outlook.rows_to_match,
        "traffic": None if traffic is None else {name: getattr(traffic, name) for name in traffic.__slots__},
        "scales": None if scales is None else {name: getattr(scales, name) for name in scales.__slots__},
        "rows": outlook.rows,
        "scale": outlook.scale,
        "contributions": outlook.contributions,
        "count_values": outlook.count_values,
        "variances": outlook.variances,
        "rows_least": outlook.rows_least,
        "budget_least": None if math.isinf(outlook.budget_least) else outlook.budget_least,
        "groups": [
            {"n": one.n, "verdict": one.verdict.name.lower(), "error": one.error, "sampling_error": one.sampling_error}
            for one in outlook.groups
        ],
        "goal": None if goal is None else {name: getattr(goal, name) for name in goal.__slots__},
    }
    click.echo(json.dumps(document, indent=2))


@click.command(
    cls=arguments.Command,
    examples=[
        "dpmean convert --rho 0.5 --delta 1e-6",
        "dpmean convert --epsilon 1 --delta 1e-6",
        "dpmean convert --rho 0.5 --epsilon 8",
        "dpmean convert --epsilon 1",
    ],
)
@arguments.budget
@arguments.as_json
def convert(*, rho: Number | None, epsilon: Number | None, delta: Number | None, as_json: bool) -> None:
    """Convert a budget between rho (zCDP) and epsilon.

    Give two of rho, epsilon and delta to get the third. Epsilon alone is pure
    differential privacy. Results are rounded to the safe side.
    """
    from dpmean.ledger.account import digits
    from dpmean.privacy.conversions import tight_delta, tight_epsilon, zcdp_implied_by, zcdp_that_implies

    if rho is not None and epsilon is None and delta is not None:
        name, found, up = "epsilon", tight_epsilon(Zcdp(rho), delta), True
        words = "rho = {rho:g} implies epsilon = {x} at delta = {delta:g}"
    elif rho is not None and epsilon is not None and delta is None:
        name, found, up = "delta", tight_delta(Zcdp(rho), epsilon), True
        words = "rho = {rho:g} implies epsilon = {epsilon:g} at delta = {x}"
    elif rho is None and epsilon is not None and delta is not None:
        name, found, up = "rho", zcdp_that_implies(ApproxDp(epsilon, delta)).rho, False
        words = "rho = {x} is the largest rho that implies epsilon = {epsilon:g} at delta = {delta:g}"
    elif rho is None and epsilon is not None:
        name, found, up = "rho", zcdp_implied_by(PureDp(epsilon)).rho, True
        words = "pure epsilon = {epsilon:g} implies rho = {x}"
    else:
        raise click.UsageError("give two of --rho, --epsilon and --delta, or --epsilon alone")
    given = {"rho": rho, "epsilon": epsilon, "delta": delta}
    floats = {key: None if value is None else float(value) for key, value in given.items()}
    if as_json:
        click.echo(json.dumps({**floats, name: _safe(found, up=up)}))
    else:
        click.echo(words.format(x=digits(found, up=up), **{key: value or 0.0 for key, value in floats.items()}))


@click.group(cls=arguments.Group, examples=["dpmean ledger show budget.json"])
def ledger() -> None:
    """Show the privacy budgets of datasets: spent and left."""


@ledger.command(
    "show",
    cls=arguments.Command,
    examples=["dpmean ledger show budget.json", "dpmean ledger show budget.json --dataset patients --json"],
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dataset", metavar="NAME", help="Show only this dataset.")
@arguments.as_json
def show_ledger(file: Path, dataset: str | None, *, as_json: bool) -> None:
    """Show the releases in a ledger, and the budget left."""
    from dpmean.cli.tables import ledger_table
    from dpmean.ledger.account import Account
    from dpmean.ledger.ledger import Ledger, datasets
    from dpmean.ledger.summary import remarks

    names = datasets(file)
    ledgers = [Ledger(file, dataset=name) for name in (names if dataset is None else [dataset])]
    if not as_json:
        for found in ledgers:
            account = Account(found.budget, found.entries, found.neighbours)
            show.table(f"{found.dataset}: {found.budget}", ledger_table(account))
            for words in remarks(account):
                show.sheet([("", words), ("", "")])
        return
    document = {
        found.dataset: {
            "budget": _budget(found.budget),
            "spent": _safe(found.spent, up=True),
            "left": _safe(found.left, up=False),
            "neighbours": found.neighbours,
            "entries": [
                {
                    "id": entry.id,
                    "when": entry.when,
                    "what": entry.what,
                    "n": entry.n,
                    "d": entry.d,
                    "columns": entry.columns,
                    "cost": _cost(entry.cost),
                    "neighbours": entry.neighbours,
                    "unit": entry.unit,
                }
                for entry in found.entries
            ],
        }
        for found in ledgers
    }
    click.echo(json.dumps({"ledger": str(file), "datasets": document}, indent=2))


def _cost(cost: Any) -> dict[str, Any]:
    """Return a cost for JSON, exactly; of a Rényi curve, the divergence at order 2 and the delta."""
    if hasattr(cost, "curve"):
        return {"renyi_at_order_2": cost.curve[0], "delta": str(cost.delta)}
    return {name: str(getattr(cost, name)) for name in cost.__slots__}


def _budget(budget: Zcdp | PureDp | ApproxDp) -> dict[str, float]:
    return {name: float(getattr(budget, name)) for name in budget.__slots__}


def _safe(value: Fraction, *, up: bool) -> float:
    """Return the nearest float on the safe side."""
    near = float(value)
    if up:
        return near if near >= value else math.nextafter(near, math.inf)
    return near if near <= value else math.nextafter(near, 0.0)

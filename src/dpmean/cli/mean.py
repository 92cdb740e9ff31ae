"""The command that releases a mean, or the means of groups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dpmean.cli import arguments, page_options, show
from dpmean.privacy.budgets import Number

_SECTIONS = {
    "Privacy budget": (
        "rho",
        "epsilon",
        "delta",
        "ledger",
        "dataset",
        "ledger_rho",
        "ledger_epsilon",
        "ledger_delta",
        "ledger_neighbours",
    ),
    "Bounds on the values (one of these)": ("norm_bound", "bounds", "lower", "upper"),
    "Rows and columns": (
        "columns",
        "vector_column",
        "privacy_unit",
        "nan",
        "count_values",
        "allow_few_rows",
    ),
    "Format of a CSV file (default: inferred from its first line)": arguments.DIALECT,
    "One mean per group": ("by", "groups", "sizes", "contributions"),
    "Method": ("shape", "population", "neighbours", "trust", "method", "passes", "rounds", "honest", "seed"),
    "Output": ("out", "format_", "explain", "report", "as_json"),
    "Text on the page (with --report)": page_options.NAMES,
}
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    cls=arguments.Command,
    sections=_SECTIONS,
    examples=[
        "dpmean mean data.npy --rho 0.5 --norm-bound 600",
        "dpmean mean patients.csv --bounds age=0:130 --bounds height=50:250 --rho 0.5",
        "dpmean mean patients.csv --bounds bounds.csv --rho 0.5 --out mean.json --report mean.html",
        "dpmean mean patients.parquet --columns age,height --lower 0 --upper 250 --epsilon 1 --delta 1e-6 --format csv",
        "dpmean mean embeddings.parquet --vector-column embedding --norm-bound 10 --rho 0.1 --ledger budget.json "
        "--ledger-rho 1 --dataset patients",
        "dpmean mean patients.csv --bounds bounds.csv --rho 0.5 --shape age=15,height=10",
        "dpmean mean patients.csv --bounds bounds.csv --rho 0.5 --population --format csv",
        "dpmean mean visits.csv --columns age,height --bounds bounds.csv --by clinic --groups A,B,C "
        "--privacy-unit patient --rho 0.5 --format csv",
        "dpmean mean visits.csv --columns age --lower 0 --upper 130 --by clinic --by sex --groups A:f,A:m,B:f,B:m "
        "--rho 0.5",
        "dpmean mean patients.csv --bounds bounds.csv --rho 0.5 --report mean.html --label 'age=Age at admission' "
        "--unit age=years --unit height=cm --about 'Patients of 2024.'",
        "dpmean mean german.csv --sep ';' --decimal , --bounds bounds.csv --rho 0.5",
    ],
)
@click.argument("data", metavar="DATA")
@arguments.budget
@click.option("--ledger", type=_FILE, metavar="FILE", help="Take the cost from the budget in this file.")
@click.option("--dataset", metavar="NAME", help='Name of these rows in the ledger (default: "data").')
@click.option(
    "--ledger-rho", type=arguments.NUMBER, metavar="R", help="Total budget of the dataset in zCDP (at first use)."
)
@click.option("--ledger-epsilon", type=arguments.NUMBER, metavar="E", help="Total budget as an epsilon (at first use).")
@click.option("--ledger-delta", type=arguments.NUMBER, metavar="D", help="Delta of --ledger-epsilon.")
@click.option(
    "--ledger-neighbours",
    metavar="WHICH",
    help="replace-one accepts both kinds of releases (default: the kind of the first).",
)
@click.option("--norm-bound", type=float, metavar="X", help="Upper bound on the l2 norm of every row; may be loose.")
@arguments.bounds
@click.option(
    "--columns", type=arguments.NAMES, metavar="A,B,C", help="Columns to average (default: all, or those in --bounds)."
)
@click.option("--vector-column", metavar="NAME", help="Column that holds vectors.")
@arguments.dialect
@click.option(
    "--nan",
    metavar="WHAT",
    help="Missing values: raise (default), drop or impute; or by column, as in income=impute,crp=10.",
)
@click.option("--count-values", is_flag=True, help="Release a noisy number of values for each column.")
@click.option("--allow-few-rows", is_flag=True, help="Continue with too few rows for a useful mean.")
@click.option("--privacy-unit", metavar="NAME", help="Column that identifies the person of each row.")
@arguments.by
@click.option(
    "--groups",
    metavar="A,B,C",
    help="Labels of all groups, or a file with one label per line; with --by twice, A:x,A:y,B:x.",
)
@click.option(
    "--sizes",
    type=click.Choice(["private", "public"]),
    metavar="WHAT",
    help="Sizes of groups: private (default) or public.",
)
@click.option("--contributions", type=int, metavar="K", help="Maximum number of groups per person (default: 1).")
@click.option(
    "--shape",
    type=arguments.SHAPE,
    metavar="WHAT",
    help="auto (default): find the scales of the columns, and let the noise follow them; round: do not; or scales that "
    "you know, as in 18,25000 or age=18,income=25000.",
)
@click.option(
    "--population", is_flag=True, help="Also release variances, for confidence intervals of the population mean."
)
@click.option(
    "--neighbours", metavar="WHICH", help="add-or-remove-one (default), or replace-one, which makes n public."
)
@click.option("--trust", metavar="MODEL", help="Trust model: central (default), local or shuffle.")
@click.option("--method", metavar="NAME", help="Estimator: refined (default), shifted or clipped.")
@click.option("--passes", type=int, metavar="1|2", help="Maximum number of passes over the rows (default: 2).")
@click.option("--rounds", metavar="WHAT", help="adaptive or few (local and shuffle model).")
@click.option("--honest", type=arguments.NUMBER, metavar="X", help="Share of honest users (shuffle model).")
@click.option("--seed", type=int, metavar="N", help="Reproducible noise, for experiments: PROTECTS NOBODY.")
@click.option("--out", type=_FILE, metavar="FILE", help="Write the release to this file.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "csv", "npy"]),
    metavar="KIND",
    help="Format of --out, or of the output: json, csv or npy.",
)
@click.option("--explain", is_flag=True, help="Also print scales, errors, and the steps with their costs.")
@click.option("--report", type=_FILE, metavar="HTML", help="Write a page about the release that may be published.")
@page_options.page
@arguments.as_json
def mean(
    *,
    data: str,
    ledger: Path | None,
    dataset: str | None,
    ledger_rho: Number | None,
    ledger_epsilon: Number | None,
    ledger_delta: Number | None,
    ledger_neighbours: str | None,
    bounds: tuple[str, ...],
    lower: float | None,
    upper: float | None,
    out: Path | None,
    format_: str | None,
    report: Path | None,
    as_json: bool,
    explain: bool,
    groups: str | None,
    **given: Any,
) -> None:
    """Release the private mean of the rows in DATA.

    DATA is a .npy, Parquet, Arrow or CSV file (also .csv.gz and .csv.zst), a folder of such files, or a pattern such as
    "data/*.csv". A privacy budget and bounds on the values are required; do not compute them from the rows. Without
    --out, the release is printed.

    Without --privacy-unit each row is protected by itself, and a person with several rows is protected less.
    """
    from dpmean.cli import outcome, page, release
    from dpmean.cli.bounds import read_bounds
    from dpmean.cli.destinations import Target
    from dpmean.cli.file_conflicts import check_apart
    from dpmean.release.grouped import GroupedRelease

    asked = {name: value for name, value in given.items() if value is not None and value is not False}
    if "=" in asked.get("nan", ""):
        asked["nan"] = release.read_nan(asked["nan"], data)
    if groups is not None:
        asked["groups"] = release.read_labels(groups, asked.get("by"))
    typed, labels = read_bounds(bounds, lower, upper), None if groups is None else Path(groups)
    check_apart(
        data,
        written={"--out": out, "--report": report},
        read={"--bounds": typed.file, "--groups": labels},
        ledger=ledger,
    )
    words = page.take_text(asked, report)
    target = Target(
        out, format_, report, as_json=as_json, grouped="by" in asked, seeded="seed" in asked, explain=explain
    )
    asked |= typed.arguments(data, asked.get("columns"), asked.get("vector_column"))
    terms = {"rho": ledger_rho, "epsilon": ledger_epsilon, "delta": ledger_delta, "neighbours": ledger_neighbours}
    request = release.read(asked)
    target = replace(target, words=page.check_text(words, data, request))
    account = release.open_ledger(ledger, dataset, terms, seeded="seed" in asked)
    with show.working("reading rows"):
        found = release.make(data, request, account)
    target.write(found)
    if account is not None:
        release.print_budget_left(account)
    if "seed" in asked:
        show.note("this release has a seed: anybody can remove its noise, and it PROTECTS NOBODY")
    if isinstance(found, GroupedRelease) and not found.released:
        raise click.exceptions.Exit(outcome.DATA)

"""The command that releases a mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dpmean.cli import arguments, page_options, show
from dpmean.privacy.budgets import Number

_SECTIONS = {
    "The budget": (
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
    "How large rows may be (one of these)": ("norm_bound", "bounds", "lower", "upper"),
    "Which rows and columns": (
        "columns",
        "vector_column",
        "privacy_unit",
        "nan",
        "count_values",
        "allow_few_rows",
    ),
    "How a CSV file is written (default: as its first line says)": arguments.DIALECT,
    "One mean per group": ("by", "groups", "sizes", "contributions"),
    "How": ("shape", "population", "neighbours", "trust", "method", "passes", "rounds", "honest", "seed"),
    "Where to": ("out", "format_", "report", "as_json"),
    "Your words on that page": page_options.NAMES,
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
@click.option("--ledger", type=_FILE, metavar="FILE", help="Take the cost from the budget kept in this file.")
@click.option("--dataset", metavar="NAME", help='Your name for these rows in it (default: "data").')
@click.option(
    "--ledger-rho", type=arguments.NUMBER, metavar="R", help="Total budget of the data set in zCDP (at first use)."
)
@click.option(
    "--ledger-epsilon", type=arguments.NUMBER, metavar="E", help="Total budget as an epsilon instead (at first use)."
)
@click.option("--ledger-delta", type=arguments.NUMBER, metavar="D", help="The delta that goes with --ledger-epsilon.")
@click.option(
    "--ledger-neighbours", metavar="WHICH", help="replace-one takes both (default: that of the first release)."
)
@click.option("--norm-bound", type=float, metavar="X", help="Upper bound on the l2 norm of every row; may be loose.")
@arguments.bounds
@click.option(
    "--columns", type=arguments.NAMES, metavar="A,B,C", help="Of a table (default: all, or those in --bounds)."
)
@click.option("--vector-column", metavar="NAME", help="The column that holds vectors.")
@arguments.dialect
@click.option("--nan", metavar="WHAT", help="raise (default), drop or impute; or income=impute,crp=10,...")
@click.option("--count-values", is_flag=True, help="Tell how many values each column has.")
@click.option("--allow-few-rows", is_flag=True, help="Go on where there are too few to expect much.")
@click.option("--privacy-unit", metavar="NAME", help="The column that says whose row it is.")
@arguments.by
@click.option(
    "--groups", metavar="A,B,C", help="All of them, or a file with one on a line; with --by twice, A:x,A:y,B:x."
)
@click.option("--sizes", type=click.Choice(["private", "public"]), metavar="WHAT", help="private (default) or public.")
@click.option("--contributions", type=int, metavar="K", help="A person counts in K groups at most (default: 1).")
@click.option(
    "--shape",
    type=arguments.SHAPE,
    metavar="WHAT",
    help="auto (default): find the scales of columns, and noise follows them; round: do not look for scales; noise is "
    "even, or with bounds in proportion to the ranges; or give scales: 18,25000 or age=18,income=25000",
)
@click.option(
    "--population", is_flag=True, help="Confidence intervals of a population, too: asks for the variances of columns."
)
@click.option("--neighbours", metavar="WHICH", help="add-or-remove-one (default) or replace-one: n is public.")
@click.option("--trust", metavar="MODEL", help="central (default), local or shuffle.")
@click.option("--method", metavar="NAME", help="refined (default), shifted or clipped.")
@click.option("--passes", type=int, metavar="1|2", help="How often all rows are read at most (default: 2).")
@click.option("--rounds", metavar="WHAT", help="adaptive or few, in the local and the shuffle model.")
@click.option(
    "--honest", type=arguments.NUMBER, metavar="X", help="Share of users assumed honest (shuffle model only)."
)
@click.option("--seed", type=int, metavar="N", help="Known noise: for experiments, PROTECTS NOBODY.")
@click.option("--out", type=_FILE, metavar="FILE", help="Write the release to this file.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "csv", "npy"]),
    metavar="KIND",
    help="json, csv or npy: of --out, or else of the output.",
)
@click.option("--report", type=_FILE, metavar="HTML", help="Write a page about it that may be published.")
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
    groups: str | None,
    **given: Any,
) -> None:
    """Release the private mean of the rows in DATA.

    DATA is a .npy, Parquet, Arrow or CSV file (also .csv.gz and .csv.zst), a folder of such files, or a pattern.
    Without --out the release is printed. Give a budget, and how large rows may be, neither of which may come from
    looking at the rows.

    Without --privacy-unit one row is protected: a person with several rows is protected less.
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
    words = page.take_words(asked, report)
    target = Target(out, format_, report, as_json=as_json, grouped="by" in asked, seeded="seed" in asked)
    asked |= typed.arguments(data, asked.get("columns"), asked.get("vector_column"))
    terms = {"rho": ledger_rho, "epsilon": ledger_epsilon, "delta": ledger_delta, "neighbours": ledger_neighbours}
    request = release.read(asked)
    target = replace(target, words=page.check_words(words, data, request))
    account = release.open_ledger(ledger, dataset, terms, seeded="seed" in asked)
    with show.working("reading rows"):
        found = release.make(data, request, account)
    target.write(found)
    if account is not None:
        release.say_what_is_left(account)
    if "seed" in asked:
        show.note("this release was made with a seed: everybody can remove its noise, and it PROTECTS NOBODY")
    if isinstance(found, GroupedRelease) and not found.released:
        raise click.exceptions.Exit(outcome.DATA)

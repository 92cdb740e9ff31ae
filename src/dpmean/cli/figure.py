"""Commands about the figures of the paper: run them, plot them, check its claims."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from dpmean.cli import arguments
from dpmean.experiments import figures

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group(
    cls=arguments.Group,
    examples=["dpmean figure list", "dpmean figure 1 --trials 1 --out results", "dpmean figure claims results"],
)
def figure() -> None:
    """Run the paper's experiments, plot them, check its claims."""


@figure.command("list")
def list_figures() -> None:
    """List all figures."""
    table = Table(box=None)
    for head in ("figure", "shows", "places", "methods", "trials"):
        table.add_column(head, justify="left" if head in ("figure", "shows") else "right")
    for name in figures.names():
        found = figures.read(name)
        size = len(found.panels) * len(found.places)
        table.add_row(name, found.caption, str(size), str(len(found.methods)), str(found.trials))
    Console().print(table)


def _running(command: Callable[..., None]) -> Callable[..., None]:
    options = [
        click.option("--trials", type=click.IntRange(min=1), help="Trials per cell (default: as the figure says)."),
        click.option("--out", type=_FOLDER, default=Path("results"), show_default=True, help="Where results go."),
        click.option("--quick", is_flag=True, help="Few trials: the shape of things in minutes."),
        click.option("--seed", type=int, default=2021, show_default=True, help="Of data and noise."),
        click.option("--mnist", metavar="FOLDER", help='Where MNIST is (default: $DPMEAN_MNIST), or "openml".'),
        click.option("--processes", type=click.IntRange(min=1), help="How many at once (default: all cores)."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _run(names: list[str], out: Path, *, quick: bool, mnist: str | None, **more: Any) -> None:
    from dpmean.experiments import mnist as images
    from dpmean.experiments import run
    from dpmean.experiments.results import write_parquet

    if mnist is not None:
        os.environ[images.VARIABLE] = mnist
    console, start = Console(stderr=True), time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console) as progress:
            task = progress.add_task("measuring", total=None)
            for done, total in run.run([figures.read(name, quick=quick) for name in names], out, **more):
                progress.update(task, completed=done if total else 1, total=total or 1)
    except KeyboardInterrupt:
        click.echo("results that were finished are kept, and the same command goes on from there", err=True)
        raise
    took = time.monotonic() - start
    kept = f"{out}, one CSV file per figure; all together in {write_parquet(out)}"
    click.echo(f"done in {took:.0f} s; results are in {kept}.\nNext: dpmean figure plot {out}", err=True)


def _add(name: str) -> None:
    @figure.command(name, help=figures.read(name).caption)
    @_running
    def run_one(**arguments: Any) -> None:
        _run([name], **arguments)


for _name in figures.names():
    _add(_name)


@figure.command("all")
@_running
def run_all(**arguments: Any) -> None:
    """Run every figure."""
    _run(figures.names(), **arguments)


@figure.command("plot")
@click.argument("results", type=_FOLDER)
@click.option("--out", type=_FOLDER, help="Where plots go (default: beside the results).")
def plot_figures(results: Path, out: Path | None) -> None:
    """Draw every figure in a folder of results, and one page with all of them."""
    from dpmean.experiments.page import figures_page
    from dpmean.experiments.results import read_folder

    page = figures_page(read_folder(results), out or results)
    click.echo(f"{page} has all figures; each is also there as PNG and SVG.")


@figure.command("condense")
@click.argument("results", type=_FOLDER)
@click.option("--out", type=_FOLDER, required=True, help="Where the small tables go.")
def condense_results(results: Path, out: Path) -> None:
    """Write results as small tables, which can be plotted and checked like the results themselves."""
    from dpmean.experiments.results import condense

    condense(results, out)
    click.echo(f"{out} has the tables. Next: dpmean figure plot {out} --out page, say")


@figure.command("claims")
@click.argument("results", type=_FOLDER)
def check_claims(results: Path) -> None:
    """Check the claims of the paper against a folder of results."""
    from dpmean.experiments.claims import check
    from dpmean.experiments.results import read_folder

    table = Table(show_lines=True)
    for head in ("", "claim", "verdict", "numbers"):
        table.add_column(head)
    for finding in check(read_folder(results)):
        table.add_row(finding.name, finding.claim, str(finding.verdict), finding.numbers)
    Console().print(table)

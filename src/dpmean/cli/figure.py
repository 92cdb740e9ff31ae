"""Commands for the figures of the paper: run, plot and check them."""

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
    """Run, plot and check the experiments of the paper.

    The full titles of the figures are in: dpmean figure list
    """


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
        click.option(
            "--trials", type=click.IntRange(min=1), metavar="N", help="Trials per point (default: by figure)."
        ),
        click.option("--out", type=_FOLDER, default=Path("results"), show_default=True, help="Folder for results."),
        click.option("--quick", is_flag=True, help="Few trials: rough results in minutes."),
        click.option("--seed", type=int, default=2021, show_default=True, metavar="N", help="Seed of data and noise."),
        click.option("--mnist", metavar="FOLDER", help='Folder of MNIST (default: $DPMEAN_MNIST), or "openml".'),
        click.option("--processes", type=click.IntRange(min=1), metavar="N", help="Processes (default: all cores)."),
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
        click.echo("the results so far are kept; run the same command again to continue", err=True)
        raise
    took = time.monotonic() - start
    kept = f"{out}, in one CSV file per figure, and all of them in {write_parquet(out)}"
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
@click.option("--out", type=_FOLDER, help="Folder for plots (default: the folder of results).")
def plot_figures(results: Path, out: Path | None) -> None:
    """Plot all figures of a folder of results."""
    from dpmean.experiments.page import figures_page
    from dpmean.experiments.results import read_folder

    page = figures_page(read_folder(results), out or results)
    click.echo(f"{page} shows all figures; the same folder has each of them as PNG and SVG.")


@figure.command("condense")
@click.argument("results", type=_FOLDER)
@click.option("--out", type=_FOLDER, required=True, help="Folder for the tables.")
def condense_results(results: Path, out: Path) -> None:
    """Condense results to small tables.

    The tables can be plotted and checked like the results.
    """
    from dpmean.experiments.results import condense

    condense(results, out)
    click.echo(f"{out} has the tables. Next: dpmean figure plot {out} --out page")


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

"""Kill processes that spend from a ledger, at random times, and check each time that nothing is lost or spent twice.

python -m bench.kills --kills 1000
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.support.kills import MOMENTS, Figures, campaign


def main() -> int:
    """Run the campaign; it stops with an error at the first fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=3, help="processes that spend from one file at the same time")
    parser.add_argument("--seed", type=int, default=7, help="the seed of the random times")
    arguments = parser.parse_args()
    console = Console(stderr=True)
    with Progress(console=console, transient=True) as progress, tempfile.TemporaryDirectory() as folder:
        task = progress.add_task("kills", total=arguments.kills)
        figures = campaign(
            Path(folder),
            arguments.kills,
            writers=arguments.writers,
            seed=arguments.seed,
            tick=lambda kills: progress.update(task, completed=kills),
        )
    Console().print(_table(figures))
    return 0


def _table(figures: Figures) -> Table:
    table = Table(title=f"{figures.kills} kills, {figures.files} files: nothing lost, nothing spent twice")
    table.add_column("a writer was killed")
    table.add_column("times", justify="right")
    for word, words in MOMENTS.items():
        table.add_row(words, str(figures.moments[word]))
    table.add_section()
    table.add_row("releases that were shown", str(figures.shown))
    table.add_row("releases that were recorded", str(figures.recorded))
    return table


if __name__ == "__main__":
    sys.exit(main())

"""Attack every mechanism, also with 0.7 of its noise, and some broken ones; compare findings with claims."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.audit.broken import broken_targets, weaker_targets

from dpmean.audit.attacks.catalogue import targets
from dpmean.audit.attacks.target import Target, attack, runs_of
from dpmean.audit.judge import Finding

RUNS = 24_000


def found(name: str, target: Target, runs: int) -> Finding:
    """Run one attack."""
    with Progress(transient=True, disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task(name, total=2 * runs_of(target, runs))
        return attack(target, runs, lambda: progress.advance(task))


def main() -> int:
    """Attack all mechanisms; exit with 1 if a correct one is caught or a broken one is not."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    console, wrong = Console(width=120), 0
    groups = {"as they are": targets(), "with 0.7 of the noise": weaker_targets(), "broken": broken_targets()}
    for kind, group in groups.items():
        table = Table(title=f"Mechanisms {kind}: lower bounds of the attacks")
        for column in ("mechanism", "runs", "separation", "allowed", "epsilon", "claimed", "verdict"):
            table.add_column(column, justify="left" if column in ("mechanism", "verdict") else "right")
        for name, target in group.items():
            finding = found(name, target, runs)
            wrong += finding.caught == (kind == "as they are")
            separation = f"{finding.separation_found:.3f}", f"{finding.separation_claimed:.3f}"
            epsilon = f"{finding.epsilon_found:.3f}", f"{finding.epsilon_claimed:.3f}"
            verdict = "REFUTED" if finding.caught else "not refuted"
            table.add_row(name, str(runs_of(target, runs)), *separation, *epsilon, verdict)
        console.print(table)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Attack every mechanism, and a few that are broken on purpose, and print what was found beside what is claimed."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.audit.broken import broken_targets

from dpmean.attacks.catalogue import targets
from dpmean.attacks.target import LONGER, Target, attack
from dpmean.audit import Finding

RUNS = 40_000


def found(name: str, target: Target, runs: int) -> Finding:
    """Run one attack."""
    with Progress(transient=True) as progress:
        task = progress.add_task(name, total=2 * (runs // LONGER if target.whole else runs))
        return attack(target, runs, lambda: progress.advance(task))


def main() -> int:
    """Attack everything; exit with 1 if an honest mechanism is caught or a broken one is not."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    title = f"Lower bounds on epsilon at delta = 0.01; {runs} runs each, {runs // LONGER} of whole estimators"
    table = Table(title=title)
    for column in ("mechanism", "found", "claimed", "found / claimed", "verdict"):
        table.add_column(column, justify="left" if column in ("mechanism", "verdict") else "right")
    wrong = 0
    for honest, group in ((True, targets()), (False, broken_targets())):
        for name, target in group.items():
            finding = found(name, target, runs)
            wrong += finding.caught == honest
            verdict = "not refuted" if not finding.caught else "BROKEN"
            numbers = (f"{finding.epsilon_found:.3f}", f"{finding.epsilon_claimed:.3f}", f"{finding.sharpness:.2f}")
            table.add_row(name, *numbers, verdict + ("" if honest else " (on purpose)"))
        table.add_section()
    Console().print(table)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

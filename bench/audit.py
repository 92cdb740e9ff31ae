"""Attack every mechanism, and a few that are broken on purpose, and print what was found beside what is claimed."""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tests.audit.broken import broken_targets

from dpmean.attacks import Target, targets
from dpmean.audit import Finding, judge

RUNS = 40_000
LONGER = 10  # a whole estimator takes as many times longer than one step of it, and gets so many fewer runs


def found(name: str, target: Target, runs: int) -> Finding:
    """Run one attack."""
    scores = [
        np.array(
            [target.score(run, neighbour) for run in track(range(runs), f"{name} {1 + neighbour}/2", transient=True)]
        )
        for neighbour in (False, True)
    ]
    return judge(scores[0], scores[1], target.claim)


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
            finding = found(name, target, runs // LONGER if target.whole else runs)
            wrong += finding.caught == honest
            verdict = "not refuted" if not finding.caught else "BROKEN"
            numbers = (f"{finding.epsilon_found:.3f}", f"{finding.epsilon_claimed:.3f}", f"{finding.sharpness:.2f}")
            table.add_row(name, *numbers, verdict + ("" if honest else " (on purpose)"))
        table.add_section()
    Console().print(table)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

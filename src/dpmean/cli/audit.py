"""The command that attacks the mechanisms of this installation."""

from __future__ import annotations

import json

import click

from dpmean.cli import arguments, show


@click.command(cls=arguments.Command, examples=["dpmean audit --runs 200", "dpmean audit --only sum --json"])
@click.option(
    "--runs", type=click.IntRange(min=20), default=2000, show_default=True, metavar="N", help="Of each mechanism."
)
@click.option("--only", metavar="WORDS", help='Only mechanisms with these words in their names: "sum", say.')
@arguments.as_json
@click.pass_context
def audit(ctx: click.Context, runs: int, only: str | None, *, as_json: bool) -> None:
    """Attack the mechanisms, to see whether they keep their word.

    Each mechanism runs many times on two data sets that differ in one row; how well
    the outputs tell them apart bounds their separation from below, and epsilon. A bound
    above the claim refutes it, and the exit code is 1. A separation is the distance of two
    Gaussians that are as hard to tell apart: rho allows sqrt(2 rho). More runs find more,
    and take longer. Whole estimators get a quarter of the runs.
    """
    from dpmean.audit.attacks.catalogue import targets
    from dpmean.audit.attacks.target import attack, runs_of
    from dpmean.cli.tables import table

    chosen = {name: target for name, target in targets().items() if only is None or only.lower() in name.lower()}
    if not chosen:
        raise click.UsageError(f"no mechanism has {only!r} in its name: leave --only out to see all")
    with show.bar() as progress:
        turns = sum(2 * runs_of(target, runs) for target in chosen.values())
        task = progress.add_task("attacking", total=turns)
        findings = {}
        for name, target in chosen.items():
            progress.update(task, description=f"attacking: {name}")
            findings[name] = attack(target, runs, lambda: progress.advance(task))
    if as_json:
        document = {
            name: {
                "found": finding.epsilon_found,
                "claimed": finding.epsilon_claimed,
                "delta": finding.delta,
                "separation_found": finding.separation_found,
                "separation_allowed": finding.separation_claimed,
                "refuted": finding.caught,
            }
            for name, finding in findings.items()
        }
        click.echo(json.dumps({"runs": runs, "mechanisms": document}, indent=2))
    else:
        heads = ("mechanism", "separation", "allowed", "epsilon", "claimed", "verdict")
        made = table(heads, right=heads[1:5])
        for name, finding in findings.items():
            separation = f"{finding.separation_found:.3f}", f"{finding.separation_claimed:.3f}"
            epsilon = f"{finding.epsilon_found:.3f}", f"{finding.epsilon_claimed:.3f}"
            made.add_row(name, *separation, *epsilon, "REFUTED" if finding.caught else "not refuted")
        show.table(f"Lower bounds, found by attack in {runs} runs", made)
        if not any(finding.sharpness for finding in findings.values()):
            show.note("so few runs find nothing: --runs 2000 does")
    if any(finding.caught for finding in findings.values()):
        ctx.exit(1)

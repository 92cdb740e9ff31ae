"""The command that attacks the mechanisms of this installation, to test their privacy."""

from __future__ import annotations

import json

import click

from dpmean.cli import arguments, show


@click.command(cls=arguments.Command, examples=["dpmean audit --runs 200", "dpmean audit --only sum --json"])
@click.option(
    "--runs", type=click.IntRange(min=20), default=2000, show_default=True, metavar="N", help="Runs of each mechanism."
)
@click.option("--only", metavar="TEXT", help="Only mechanisms with this text in their names.")
@arguments.as_json
@click.pass_context
def audit(ctx: click.Context, runs: int, only: str | None, *, as_json: bool) -> None:
    """Attack the mechanisms, to test their privacy claims.

    Each mechanism runs many times on two datasets that differ in one row. How well an
    attacker can distinguish the outputs gives lower bounds on epsilon and on the
    separation, which is the distance between the means of two standard Gaussians that are
    equally hard to distinguish. A budget of rho allows a separation of sqrt(2 rho). A lower bound above
    the claim refutes the claim, and the exit code is 1. More runs give better bounds and
    take longer. Whole estimators get a quarter of the runs.
    """
    from dpmean.audit.attacks.catalogue import targets
    from dpmean.audit.attacks.target import attack, runs_of
    from dpmean.cli.tables import table

    chosen = {name: target for name, target in targets().items() if only is None or only.lower() in name.lower()}
    if not chosen:
        raise click.UsageError(f"no mechanism has {only!r} in its name: leave out --only to list all")
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
        show.table(f"Lower bounds from attacks with {runs} runs", made)
        if not any(finding.sharpness for finding in findings.values()):
            show.note("too few runs to find anything: give --runs 2000")
    if any(finding.caught for finding in findings.values()):
        ctx.exit(1)

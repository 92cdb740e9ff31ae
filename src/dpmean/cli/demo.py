"""The command that shows what this is for."""

from __future__ import annotations

import click

from dpmean.cli import arguments, show


@click.command(cls=arguments.Command, examples=["dpmean demo", "dpmean demo --rho 0.01"])
@click.option("--rho", type=click.FloatRange(min=1e-4, max=100), default=0.1, show_default=True, help="The budget.")
def demo(rho: float) -> None:
    """Draw a private mean beside the true one.

    And beside that of the usual mechanism.

    The rows are made on the spot: pictures of a face, each a little different.
    """
    from dpmean.cli.pictures import draw, faces, usual
    from dpmean.outlook import plan

    rows, bound = faces()
    n, d = rows.shape
    console = show.out()
    console.print(f"{n} pictures of {d} pixels each, made on the spot; rho = {rho:g}.")
    console.print("No picture is longer than 20. Nobody knew, so the bound is a loose 1000:\n")
    import dpmean

    with show.working("finding the centre, clipping, adding noise"):
        release = dpmean.mean(rows, rho=rho, norm_bound=bound, allow_few_rows=True)
        other = usual(rows, rho, bound)
    draw(console, {"the true mean": rows.mean(axis=0), "dpmean": release.mean, "Gaussian mechanism": other.mean})
    near, far = (float(((found.mean - rows.mean(axis=0)) ** 2).sum() ** 0.5) for found in (release, other))
    console.print(f"\nErrors (l2): dpmean {near:.2g}, Gaussian mechanism {far:.2g}. ", end="")
    console.print(f"With these rows, epsilon = {release.epsilon(1e-6):.3g} at delta = 1e-06.")
    console.print(f"dpmean.plan promised {plan(n, d, rho=rho).error * _spread(rows):.2g}, before it saw any picture.")


def _spread(rows: object) -> float:
    import numpy as np

    array = np.asarray(rows)
    return float(np.sqrt(((array - array.mean(axis=0)) ** 2).sum(axis=1).mean()))

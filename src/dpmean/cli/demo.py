"""The command that shows a private mean in the terminal."""

from __future__ import annotations

import click

from dpmean.cli import arguments, show


@click.command(cls=arguments.Command, examples=["dpmean demo", "dpmean demo --rho 0.01"])
@click.option(
    "--rho",
    type=click.FloatRange(min=1e-4, max=100),
    default=0.1,
    show_default=True,
    metavar="R",
    help="Privacy budget in zCDP.",
)
def demo(rho: float) -> None:
    """Draw a private mean beside the true mean.

    And beside the mean of the plain Gaussian mechanism, with the same budget.

    The rows are generated: pictures of a face, each slightly different.
    """
    import numpy as np

    from dpmean import mean
    from dpmean.cli.pictures import LONGEST, draw, faces, usual

    rows, bound = faces()
    n, d = rows.shape
    console, truth = show.out(), rows.mean(axis=0)
    console.print(f"{n} generated pictures of {d} pixels, with l2 norms of at most {LONGEST:g}.")
    console.print(
        f"Suppose that this is not known, and give a loose bound of {bound:g}. Their mean with rho = {rho:g}:\n"
    )
    with show.working("finding the centre, clipping, adding noise"):
        release = mean(rows, rho=rho, norm_bound=bound, neighbours="replace-one", allow_few_rows=True)
        other = usual(rows, rho, bound)
    draw(console, {"the true mean": truth, "dpmean": release.mean, "Gaussian mechanism": other.mean})
    near, far = (float(np.linalg.norm(found.mean - truth)) for found in (release, other))
    console.print(f"\nl2 error: {near:.2g} with dpmean, {far:.2g} with the Gaussian mechanism at this bound.")
    console.print(f"Error bound of the release: {release.error_bound():.2g}, with 95 % confidence.")
    console.print(f"Privacy: rho = {rho:g}, that is epsilon = {release.epsilon(1e-6):.3g} at delta = 1e-06.")

"""The speed of exact noise, compared with OpenDP's."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from bench.clock import best_of
from bench.opendp_mean import gaussian_noise, version
from bench.problem import Sizes
from bench.report import Line
from dpmean.noise.source import secure

_EXPONENTS = (3, 9)


def rates(sizes: Sizes) -> list[Line]:
    """Measure variates per second; both samplers use one core."""
    lines = []
    for exponent in _EXPONENTS:
        std = 10**exponent
        jobs: dict[str, Callable[[], object]] = {
            "ours": partial(secure().gaussian, Fraction(std**2), sizes.variates),
            "opendp": partial(gaussian_noise(float(std)), [0] * sizes.peer_variates),
        }
        best = best_of(sizes.rounds, f"noise of std 1e{exponent}", jobs)
        theirs = sizes.peer_variates / best["opendp"]
        lines.append(
            Line(
                job=f"exact discrete Gaussian, std 1e{exponent}",
                method="secure noise",
                measured=sizes.variates / best["ours"],
                unit="/s",
                required=1e6,
                at_least=True,
                beside=f"OpenDP {version()}: {theirs:,.0f}/s",
            )
        )
    return lines

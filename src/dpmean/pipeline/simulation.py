"""Play a collection in which every row is a device: the local and the shuffle model, in one process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpmean.arguments.bounds import Bounds, read_domain
from dpmean.arguments.choices import read_randomness
from dpmean.arguments.rows import read_columns, read_rows
from dpmean.enums import Fidelity, Newlines, Trust
from dpmean.errors import ArgumentTypeError
from dpmean.estimators.feasibility import Need
from dpmean.pipeline.assemble import bound_of, check_rows, in_user_units, warn
from dpmean.privacy.budgets import ApproxDp, Number, PureDp, Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Floats
from dpmean.release.release import Release
from dpmean.release.settings import CollectionSettings, Settings
from dpmean.rows.opening import InMemory
from dpmean.trust.local.analyzer import LocalAnalyzer
from dpmean.trust.local.division import users_needed
from dpmean.trust.local.protocol import setup_for
from dpmean.trust.local.simulation import Fleet
from dpmean.trust.shuffle.analyzer import ShuffleAnalyzer, collection_for
from dpmean.trust.shuffle.design import clients_needed, design
from dpmean.trust.shuffle.simulation import Crowd


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """What both models are asked alike, read; ``dpmean.mean`` explains it."""

    trust: Trust
    delta: Number | None
    norm_bound: float | None
    bounds: Bounds | None
    few_rounds: bool
    columns: Sequence[str] | None
    vector_column: str | None
    newlines: Newlines
    seed: int | None
    allow_few_rows: bool


def run_local(X: Any, budget: Zcdp | PureDp, asked: Devices) -> Release:
    """Release the mean of the rows of ``X`` in the local model: every row a device that sends one message."""
    array, domain, names = _read_devices(X, asked)
    n, d = array.shape
    noise, coins = read_randomness(asked.seed)
    need = Need(*users_needed(d, budget, few_rounds=asked.few_rounds))
    setting = f"d={d}, {budget} and the local model"
    few_rows = check_rows(need, n, f"{n} rows", setting, allow_few_rows=asked.allow_few_rows)
    warn(few_rows, asked.delta, n)

    fleet = Fleet(_rows_of_devices(array, domain), noise)
    setup = setup_for(coins.digest(), n, d, domain.reach, budget, few_rounds=asked.few_rounds)
    analyzer = LocalAnalyzer(setup)
    estimate = fleet.play(analyzer)
    return in_user_units(
        estimate,
        domain,
        n=n,
        method="shifted",
        trust=asked.trust,
        neighbours=Neighbours.REPLACE_ONE,
        seeded=noise.seeded,
        settings=Settings(
            bound=bound_of(domain, asked.norm_bound),
            step=math.ldexp(1.0, analyzer.step),
            coins=coins.key,
            collection=CollectionSettings(
                rounds=len(analyzer.closed),
                messages_per_user=1,
                bytes_per_user=fleet.bytes / max(fleet.messages, 1),
                answered=int(analyzer.answered.sum()),
                played_in_one_process=True,
            ),
            columns=names,
            delta=None if asked.delta is None else float(asked.delta),
            few_rows=bool(few_rows),
        ),
    )


def run_shuffle(X: Any, budget: ApproxDp, asked: Devices, honest: Fraction, fidelity: Fidelity) -> Release:
    """Release the mean of the rows of ``X`` in the shuffle model: every row a client whose messages are mixed."""
    array, domain, names = _read_devices(X, asked)
    n, d = array.shape
    noise, coins = read_randomness(asked.seed)
    need = Need(*clients_needed(d, budget, honest))
    setting = f"d={d}, {budget} and the shuffle model"
    few_rows = check_rows(need, n, f"{n} rows", setting, allow_few_rows=asked.allow_few_rows)
    warn(few_rows, asked.delta, n)

    plan = design(n, d, budget, honest, few_rounds=asked.few_rounds)
    analyzer = ShuffleAnalyzer(collection_for(plan, coins.digest(), domain.reach))
    crowd = Crowd(_rows_of_devices(array, domain), noise, totals=fidelity is Fidelity.TOTALS)
    estimate = crowd.play(analyzer)
    return in_user_units(
        estimate,
        domain,
        n=n,
        method="shifted",
        trust=asked.trust,
        neighbours=Neighbours.REPLACE_ONE,
        seeded=noise.seeded,
        settings=Settings(
            bound=bound_of(domain, asked.norm_bound),
            step=math.ldexp(1.0, analyzer.collection.step),
            coins=coins.key,
            collection=replace(analyzer.traffic(), fidelity=fidelity, played_in_one_process=True),
            columns=names,
            delta=float(budget.delta),
            few_rows=bool(few_rows),
        ),
    )


def _read_devices(X: Any, asked: Devices) -> tuple[NDArray[Any], Domain, tuple[str, ...] | None]:
    """Read rows that are devices, and their bound; a device answers whatever it holds."""
    source = read_rows(X, asked.columns, asked.vector_column, newlines=asked.newlines)
    if not isinstance(source, InMemory):
        raise ArgumentTypeError(
            f"the {asked.trust} model plays devices in memory, got {type(X).__name__}: load the rows into an array "
            "first"
        )
    domain = read_domain(source.shape[1], asked.norm_bound, asked.bounds, impute=True, names=source.names)
    read_columns(source.shape[1], asked.trust)
    return source.array, domain, source.names


def _rows_of_devices(array: NDArray[Any], domain: Domain) -> Floats:
    """Return rows as devices hold them, in working units; a device knows the bounds of its columns."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows: Floats = (array.astype(np.float64) - domain.middle) / domain.scale
        return rows if domain.lower is None else np.clip(rows, -1.0, 1.0)

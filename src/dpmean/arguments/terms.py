"""The terms of a release: trust model, budget and neighbour relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dpmean.arguments.budgets import read_budget
from dpmean.arguments.choices import read_honest, read_neighbours, read_rounds
from dpmean.enums import Fidelity, Sizes, read_name
from dpmean.errors import ArgumentError
from dpmean.privacy.budgets import Number, Zcdp
from dpmean.privacy.neighbours import Neighbours
from dpmean.trust.registry import Budget, TrustModel, find_trust_model, models_with


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a release, all of them public."""

    model: TrustModel
    budget: Budget
    delta: Number | None
    neighbours: Neighbours
    few_rounds: bool
    honest: Fraction
    fidelity: Fidelity

    @property
    def zcdp(self) -> Zcdp:
        """The budget in zCDP; every release in the central model has one."""
        if not isinstance(self.budget, Zcdp):
            raise ArgumentError(f"the {self.model.name} model has no budget in rho, but {self.budget}")
        return self.budget

    @property
    def private_size(self) -> bool:
        """Whether the number of rows is private."""
        return self.neighbours is Neighbours.ADD_OR_REMOVE_ONE


def read_terms(
    *,
    trust: str = "central",
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    neighbours: str | None = None,
    rounds: str = "adaptive",
    honest: Number = 0.8,
    fidelity: str = "totals",
    sizes: Sizes | None = None,
) -> Terms:
    """Read the terms of a release, which ``dpmean.mean`` explains; ``sizes`` is for groups."""
    model = find_trust_model(trust)
    few_rounds, part = read_rounds(rounds), read_honest(honest)
    played = read_name(Fidelity, fidelity, "fidelity")
    check_options(
        model,
        {
            "rounds": rounds if few_rounds else None,
            "honest": honest if part != Fraction(4, 5) else None,
            "fidelity": fidelity if played is not Fidelity.TOTALS else None,
        },
    )
    return Terms(
        model=model,
        budget=read_budget(model, rho, epsilon, delta),
        delta=delta,
        neighbours=read_neighbours(neighbours, model, sizes),
        few_rounds=few_rounds,
        honest=part,
        fidelity=played,
    )


def check_options(model: TrustModel, given: Mapping[str, Any]) -> None:
    """Refuse arguments that the trust model does not take. None means that an argument was not given."""
    for name, value in given.items():
        if value is not None and name not in model.options:
            raise ArgumentError(f'{name} is for {models_with(name)}, got trust="{model.name}": leave {name} out')

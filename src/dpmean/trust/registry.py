"""The trust models: their names, descriptions, arguments, and the modules that run them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from dpmean.enums import Trust, read_name
from dpmean.privacy.budgets import ApproxDp, PureDp, Zcdp
from dpmean.privacy.neighbours import Neighbours

Budget = Zcdp | PureDp | ApproxDp
"""A budget in any notion of differential privacy."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TrustModel:
    """Who may see what, and which arguments are allowed."""

    name: Trust
    label: str
    """The name, and who has to be trusted, for tables."""
    seen: str
    """What an attacker sees, for the middle of a sentence."""
    statement: str
    """Who held the rows, for readers of a report."""
    condition: str = ""
    """The condition of the guarantee, to follow "as long as"."""
    notions: tuple[type[Budget], ...]
    """The notions of differential privacy in which a budget may be given."""
    neighbours: tuple[Neighbours, ...]
    """The neighbour relations; the first is the default."""
    methods: tuple[str, ...] = ()
    """The methods that it supports, the default first; empty if it supports all."""
    options: frozenset[str]
    """The arguments of ``dpmean.mean`` that this trust model takes and some others do not."""
    devices: bool
    """Whether every row is a device that answers for itself."""
    module: str
    """The module with its functions ``run`` and ``expect`` (the forecast), loaded on first use."""


_CENTRAL = TrustModel(
    name=Trust.CENTRAL,
    label="central, a trusted curator",
    seen="this page",
    statement="the author of this page held the rows and is trusted with them.",
    notions=(Zcdp,),
    neighbours=(Neighbours.ADD_OR_REMOVE_ONE, Neighbours.REPLACE_ONE),
    options=frozenset(
        {
            "privacy_unit",
            "passes",
            "sigma_min",
            "sigma_max",
            "step",
            "groups",
            "shape",
            "count_values",
            "population",
        }
    ),
    devices=False,
    module="dpmean.pipeline.central",
)
_LOCAL = TrustModel(
    name=Trust.LOCAL,
    label="local, nobody is trusted",
    seen="all that the device sent, and from this page",
    statement="nobody is trusted. Each device randomized its answer before sending it, and the guarantee also holds "
    "against the collector.",
    notions=(Zcdp, PureDp),
    neighbours=(Neighbours.REPLACE_ONE,),
    methods=("shifted",),
    options=frozenset({"rounds"}),
    devices=True,
    module="dpmean.pipeline.local",
)
_SHUFFLE = TrustModel(
    name=Trust.SHUFFLE,
    label="shuffle",
    seen="all that the analyzer received, and from this page",
    statement="clients encrypted their messages, a shuffler mixed them without reading them, and an analyzer added "
    "them up.",
    condition="the shuffler and the analyzer do not collude",
    notions=(ApproxDp,),
    neighbours=(Neighbours.REPLACE_ONE,),
    methods=("shifted",),
    options=frozenset({"rounds", "honest", "fidelity"}),
    devices=True,
    module="dpmean.pipeline.shuffle",
)
TRUST_MODELS: Mapping[Trust, TrustModel] = MappingProxyType({one.name: one for one in (_CENTRAL, _LOCAL, _SHUFFLE)})
"""Every trust model by its name."""


def find_trust_model(name: object) -> TrustModel:
    """Return the trust model with this name; an error lists the names."""
    return TRUST_MODELS[read_name(Trust, name, "trust")]


def models_with(option: str) -> str:
    """Return the trust models that take an argument, in words."""
    *others, last = [one.name for one in TRUST_MODELS.values() if option in one.options]
    return f"the {' and the '.join([*others, last])} model"

"""The trust models: for each its name, its words for people, what it takes, and the module that runs it."""

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
    """Who may see what, and what follows for a caller."""

    name: Trust
    label: str
    """The name, and whom one has to trust, for tables."""
    seen: str
    """From what somebody might learn about a row, in the middle of a sentence."""
    statement: str
    """What happened to the rows, in sentences for readers of a report."""
    condition: str = ""
    """What the promise depends on, to follow "as long as"."""
    notions: tuple[type[Budget], ...]
    """The notions of privacy that a budget may be given in."""
    neighbours: tuple[Neighbours, ...]
    """The neighbour relations; the first is the default."""
    methods: tuple[str, ...] = ()
    """The only methods, the first by default; none if every estimator of the registry can be used."""
    options: frozenset[str]
    """Arguments of ``dpmean.mean`` that not every trust model takes, and this one does."""
    devices: bool
    """Whether every row is a device, which answers by itself."""
    module: str
    """Where it is run (``run``) and forecast (``expect``); loaded when it is used."""


_CENTRAL = TrustModel(
    name=Trust.CENTRAL,
    label="central, a trusted curator",
    seen="this page",
    statement="whoever made this page held the rows, and is trusted with them.",
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
    statement="nobody is trusted. Each device randomized its answer before it sent it, and the promise holds against "
    "the collector too.",
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
    statement="clients sealed their messages, a shuffler mixed them without reading them, and an analyzer added them "
    "up.",
    condition="shuffler and analyzer do not work together",
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
    """Return the trust model of a name, or refuse the name and say which there are."""
    return TRUST_MODELS[read_name(Trust, name, "trust")]


def models_with(option: str) -> str:
    """Return which trust models take an argument, in words."""
    *others, last = [one.name for one in TRUST_MODELS.values() if option in one.options]
    return f"the {' and the '.join([*others, last])} model"

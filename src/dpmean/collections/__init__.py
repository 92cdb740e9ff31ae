"""Devices, shufflers and analyzers: the parts of a collection on separate machines.

A device uses only ``Client``, which needs neither NumPy nor a compiler. Each name is loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpmean.release.estimate import Estimate
    from dpmean.trust.client import Client
    from dpmean.trust.devices.ledger import DeviceAccount, DeviceLedger
    from dpmean.trust.devices.signatures import new_identity
    from dpmean.trust.local.analyzer import LocalAnalyzer
    from dpmean.trust.local.protocol import Setup, setup_for
    from dpmean.trust.local.schema import Outcome
    from dpmean.trust.shuffle.analyzer import ShuffleAnalyzer
    from dpmean.trust.shuffle.design import Design, design
    from dpmean.trust.shuffle.enrollment import Enrollment
    from dpmean.trust.shuffle.invitation import AnalyzerKeys, collection_for, invite
    from dpmean.trust.shuffle.schema import Collection
    from dpmean.trust.shuffle.shuffler import Shuffler

__all__ = [
    "AnalyzerKeys",
    "Client",
    "Collection",
    "Design",
    "DeviceAccount",
    "DeviceLedger",
    "Enrollment",
    "Estimate",
    "LocalAnalyzer",
    "Outcome",
    "Setup",
    "ShuffleAnalyzer",
    "Shuffler",
    "collection_for",
    "design",
    "invite",
    "new_identity",
    "setup_for",
]

_MODULES = {
    "AnalyzerKeys": "trust.shuffle.invitation",
    "Client": "trust.client",
    "Collection": "trust.shuffle.schema",
    "Design": "trust.shuffle.design",
    "DeviceAccount": "trust.devices.ledger",
    "DeviceLedger": "trust.devices.ledger",
    "Enrollment": "trust.shuffle.enrollment",
    "Estimate": "release.estimate",
    "LocalAnalyzer": "trust.local.analyzer",
    "Outcome": "trust.local.schema",
    "Setup": "trust.local.protocol",
    "ShuffleAnalyzer": "trust.shuffle.analyzer",
    "Shuffler": "trust.shuffle.shuffler",
    "collection_for": "trust.shuffle.invitation",
    "design": "trust.shuffle.design",
    "invite": "trust.shuffle.invitation",
    "new_identity": "trust.devices.signatures",
    "setup_for": "trust.local.protocol",
}
"""The module that defines each name."""


def __getattr__(name: str) -> object:
    """Load a name on first use (PEP 562)."""
    if name in _MODULES:
        value: object = getattr(importlib.import_module(f"dpmean.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'dpmean.collections' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return list(__all__)

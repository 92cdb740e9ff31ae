"""Figures as data: the entries of ``figures.toml``, expanded into cells."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, final

from dpmean.errors import ArgumentError

SIGMA_MIN = 0.1
_PRIVACY = ("rho", "epsilon", "delta", "bound", "u", "sigma_min")
"""Parameters that do not change the rows."""


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a figure: a panel, a place on the axis, and all parameters."""

    panel: float
    x: float
    parameters: Mapping[str, float]

    @property
    def rows(self) -> tuple[tuple[str, float], ...]:
        """The parameters on which the rows depend."""
        return tuple((name, value) for name, value in sorted(self.parameters.items()) if name not in _PRIVACY)

    def __getitem__(self, name: str) -> float:
        return self.parameters[name]

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self["n"])

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self["d"])

    @property
    def rho(self) -> float:
        """The budget."""
        return self["rho"]

    @property
    def norm_bound(self) -> float:
        """The bound R on the norm."""
        return self["bound"] * math.sqrt(self.d)


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """One figure."""

    name: str
    caption: str
    data: str
    statistical: bool
    measure: str
    measures: tuple[str, ...]
    """All measures that are taken in its runs, for this figure or another."""
    runs: str
    """The name of the figure whose runs are used: its own, or another one."""
    panel: str
    panels: tuple[float, ...]
    axis: str
    places: tuple[float, ...]
    fixed: Mapping[str, float]
    trials: int
    methods: tuple[str, ...]
    references: tuple[str, ...]

    def cells(self) -> Iterator[Cell]:
        """Yield all cells of the figure."""
        for panel in self.panels:
            for x in self.places:
                yield Cell(panel, x, {**self.fixed, self.panel: panel, self.axis: x})


_WORDS = {"caption", "data", "statistical", "measure", "same_as", "panel", "axis", "trials", "methods", "references"}


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(resources.files("dpmean.experiments").joinpath("figures.toml").read_text(encoding="utf-8"))


def names() -> list[str]:
    """Return the names of all figures, in order."""
    return list(_document()["figures"])


def methods() -> dict[str, dict[str, Any]]:
    """Return all methods by name: the function to call, and its options."""
    found: dict[str, dict[str, Any]] = _document()["methods"]
    return found


def read(name: str, *, quick: bool = False) -> Figure:
    """Return one figure, or its quick version."""
    entries = _document()["figures"]
    if name not in entries:
        raise ArgumentError(f"there is no figure {name!r}: the figures are {', '.join(entries)}")
    entry = dict(entries[name])
    runs = str(entry.pop("same_as", name))
    entry = {**entries[runs], **entry}
    entry.pop("same_as", None)
    shorter = entry.pop("quick", {})
    if quick:
        entry.update(shorter)
    alike = [other for key, other in entries.items() if runs in (key, other.get("same_as"))]
    [(panel, panels)], [(axis, places)] = entry["panel"].items(), entry["axis"].items()
    return Figure(
        name=name,
        caption=entry["caption"],
        data=entry["data"],
        statistical=entry.get("statistical", False),
        measure=entry.get("measure", "l2"),
        measures=tuple(dict.fromkeys(other.get("measure", "l2") for other in alike)),
        runs=runs,
        panel=panel,
        panels=tuple(panels),
        axis=axis,
        places=tuple(places),
        fixed={word: value for word, value in entry.items() if word not in _WORDS},
        trials=entry["trials"],
        methods=tuple(entry["methods"]),
        references=tuple(entry.get("references", ())),
    )

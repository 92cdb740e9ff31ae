"""The neighbours and persons that costs are about, and conversions between neighbour relations."""

from __future__ import annotations

from dpmean.enums import read_name
from dpmean.errors import ArgumentError
from dpmean.ledger.filter import Cost
from dpmean.privacy.conversions import two_steps
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.renyi import Renyi

WITHIN = " within its "
"""Joins the neighbours and the column of groups whose sizes are public."""
STEPS_RHO = 4
"""Replacing a row is two steps, a removal and an addition, and the rho of zCDP grows with the square of the steps."""
ADDED = str(Neighbours.ADD_OR_REMOVE_ONE)


def check_neighbours(neighbours: str) -> None:
    """Refuse an unknown neighbour relation."""
    name, within, _ = str(neighbours).partition(WITHIN)
    if read_name(Neighbours, name[:40], "neighbours") is not Neighbours.REPLACE_ONE and within:
        raise ArgumentError(f"public sizes of groups need neighbours 'replace-one', got {name!r}")


def has_private_size(words: str) -> bool:
    """Return whether the text of an entry names neighbours with a private, that is noisy, number of rows."""
    return ADDED in words


def is_convertible(neighbours: str, known: str) -> bool:
    """Return whether a cost for some neighbours can be converted to the known neighbours.

    Replacing a row, by any other or by one of its group, is a removal and an addition. The opposite conversion does not
    exist: replace-one publishes the number of rows, which reveals whether a row is in the dataset.
    """
    return neighbours == ADDED != known


def convert_to_replace_one(cost: Cost) -> tuple[Cost, str]:
    """Convert a cost for add-or-remove-one to replace-one (group privacy), and return it with a description."""
    if isinstance(cost, Renyi):
        raise ArgumentError(
            "a Rényi curve for add-or-remove-one cannot be recorded in a ledger of replace-one: use a separate "
            "dataset, or charge it as a rho, or as an epsilon and a delta"
        )
    paid = two_steps(cost)
    return paid, f"{ADDED} at {'4 rho' if hasattr(paid, 'rho') else '2 epsilon'}"


def refusal(what: str, asked: str, known: str, *, same_unit: bool, first: bool) -> str:
    """Return the error for two costs that cannot be added."""
    others = "this ledger protects" if first else "earlier releases of this dataset protect"
    words = (
        f"{'this release' if what == 'this' else what} protects {asked}; {others} {known}. Their costs cannot be added"
    )
    if same_unit and known.endswith(f"({ADDED})"):
        return (
            f"{words}, because replace-one publishes the number of rows, which add-or-remove-one keeps private. Leave "
            "neighbours out in the central model; or open the ledger of a dataset with "
            'neighbours="replace-one" before its first release: it accepts both kinds'
        )
    return (
        f"{words}. Give neighbours and privacy_unit as before; a new dataset name would be a second budget for the "
        "same people"
    )

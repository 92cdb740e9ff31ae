"""Whom costs are about: which neighbours, and whose rows; and what a cost is for neighbours of another kind."""

from __future__ import annotations

from dpmean.enums import read_name
from dpmean.errors import ArgumentError
from dpmean.ledger.filter import Cost
from dpmean.privacy.conversions import two_steps
from dpmean.privacy.neighbours import Neighbours
from dpmean.privacy.renyi import Renyi

WITHIN = " within its "
"""Follows the neighbours of groups whose sizes are public, before what groups are told apart by."""
STEPS_RHO = 4
"""A replaced row is two steps, one row less and one more, and the rho of zCDP grows with their square."""
ADDED = str(Neighbours.ADD_OR_REMOVE_ONE)


def check_neighbours(neighbours: str) -> None:
    """Refuse what is no kind of neighbours."""
    name, within, _ = str(neighbours).partition(WITHIN)
    if read_name(Neighbours, name[:40], "neighbours") is not Neighbours.REPLACE_ONE and within:
        raise ArgumentError(f"public sizes of groups go with neighbours that replace one, got {name!r}")


def says_added(words: str) -> bool:
    """Return whether words about an entry name neighbours with a private number of rows; it is told with noise then."""
    return ADDED in words


def converts(neighbours: str, known: str) -> bool:
    """Return whether a cost about some neighbours has a price where costs are about known ones.

    A row that is replaced, by any other or by one of its group, is a row less and a row more. The other way round there
    is no price: where rows are replaced their number is published, which tells whether a row is there.
    """
    return neighbours == ADDED != known


def replacing(cost: Cost) -> tuple[Cost, str]:
    """Return what a cost about one row more or less is where rows are replaced (group privacy), and that in words."""
    if isinstance(cost, Renyi):
        raise ArgumentError(
            "a Rényi curve about add-or-remove-one has no price in a ledger of replace-one: give it a data set of its "
            "own, or charge it as a rho, or as an epsilon and a delta"
        )
    paid = two_steps(cost)
    return paid, f"{ADDED} at {'4 rho' if hasattr(paid, 'rho') else '2 epsilon'}"


def refusal(what: str, asked: str, known: str, *, same_unit: bool, first: bool) -> str:
    """Return why costs of two kinds cannot be added, and what to do."""
    others = "this ledger protects" if first else "earlier releases of this data set protect"
    words = (
        f"{'this release' if what == 'this' else what} protects {asked}; {others} {known}. Their costs cannot be added"
    )
    if same_unit and known.endswith(f"({ADDED})"):
        return (
            f"{words}. Neighbours that replace one publish the number of rows, which add-or-remove-one keeps private, "
            "so there is no price. Leave neighbours out in the central model; or open the ledger of a data set with "
            'neighbours="replace-one" before its first release: it takes both kinds'
        )
    return (
        f"{words}. Give neighbours and privacy_unit as before; a new name would be a second budget for the same people"
    )

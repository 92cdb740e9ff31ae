"""How a collection in the shuffle model begins: its keys, its invitation, and its rounds for those who checked in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import msgspec

from dpmean.errors import ArgumentError, DataError
from dpmean.privacy.budgets import ApproxDp, Number, exact
from dpmean.trust.devices.signatures import (
    VERSION,
    check_identity,
    content_of,
    digest_of,
    identity_of,
    new_identity,
    publish,
    read_content,
    read_message,
    read_signed,
)
from dpmean.trust.shuffle.amounts import read_budget, read_share, write_budget
from dpmean.trust.shuffle.checks import check_invitation, is_counted
from dpmean.trust.shuffle.design import Design, design
from dpmean.trust.shuffle.messages import Roll
from dpmean.trust.shuffle.schema import Collection, Invitation
from dpmean.trust.shuffle.seal import new_key, public_of

_GRID_BITS = 28


@final
@dataclass(frozen=True, slots=True)
class AnalyzerKeys:
    """The private keys of an analyzer. Whoever has them and the shuffler's traffic can read what clients sent.

    Args:
        identity: The private key that signs documents (Ed25519), 32 bytes.
        opening: The private key that opens messages (X25519), 32 bytes.

    """

    identity: bytes = field(repr=False)
    opening: bytes = field(repr=False)

    @staticmethod
    def new() -> AnalyzerKeys:
        """Make keys."""
        return AnalyzerKeys(new_identity()[0], new_key()[0])

    @property
    def public(self) -> str:
        """The public key by which clients and the shuffler know the analyzer."""
        return identity_of(self.identity)

    @property
    def key(self) -> str:
        """The public key to which clients seal messages."""
        return public_of(self.opening)


def invite(
    keys: AnalyzerKeys,
    shuffler: str,
    *,
    name: str,
    d: int,
    reach: float,
    budget: ApproxDp,
    closes: int,
    expires: int,
    silent: Number = Fraction(1, 10),
    colluding: Number = Fraction(1, 10),
) -> bytes:
    """Return an invitation to a collection in the shuffle model, signed, as everybody reads it.

    Args:
        keys: The keys of the analyzer.
        shuffler: The public key of the shuffler, as ``new_identity`` returns it.
        name: The name of the collection: 16 hexadecimal digits, drawn at random, as ``secrets.token_hex(8)`` gives.
        d: The number of columns of a row.
        reach: A bound on the l2 norm of every row.
        budget: What all rounds together may cost a client.
        closes: Until when clients may check in, in seconds since 1970.
        expires: When the collection is over at the latest, in seconds since 1970. Clients hold their budget until then.
        silent: The share of users that may stay away from a round, of those who have checked in.
        colluding: The share of users that may tell others what they sent. At least 3/10 of the users must be left
            over; noise is calibrated to these.

    """
    check_identity(shuffler, "shuffler")
    step, farthest = unit_of(reach, d)
    invitation = Invitation(
        version=VERSION,
        name=name,
        d=d,
        step=step,
        reach=farthest,
        budget=write_budget(budget),
        silent=str(exact(silent, "silent")),
        colluding=str(exact(colluding, "colluding")),
        analyzer=keys.public,
        shuffler=shuffler,
        key=keys.key,
        closes=closes,
        expires=expires,
    )
    check_invitation(invitation)
    return publish(keys.identity, "invitation", msgspec.json.encode(invitation))


def unit_of(reach: float, d: int) -> tuple[int, int]:
    """Return the exponent of the unit of length, and a bound on norms in this unit."""
    if not 2.0**-500 <= reach <= 2.0**500:
        raise ArgumentError(f"reach must lie between 2^-500 and 2^500, got {reach}")
    step = math.frexp(reach)[1] - _GRID_BITS
    return step, math.ceil(math.ldexp(reach, -step)) + math.isqrt(d) + 1  # rounding is forgiven


def collection_for(invitation: bytes, roll: bytes, *, few_rounds: bool = False) -> Collection:
    """Return the collection of those who have checked in: how each round is hidden is known now.

    Args:
        invitation: The invitation, as ``invite`` returned it.
        roll: How many users have checked in, as ``Enrollment.close`` returned it.
        few_rounds: Whether to ask in 3 rounds. By default there are as many as serve best, 3 to 16.

    """
    content = content_of(invitation, "invitation")
    terms = read_content(content, Invitation, "invitation")
    read_signed(invitation, "invitation", terms.analyzer)
    check_invitation(terms)
    counted = read_message(roll, Roll, "roll")
    if counted.invitation != digest_of(content):
        raise DataError("this roll belongs to another invitation")
    if not 0 <= counted.users < 1 << 40 or not is_counted(counted, terms.shuffler):
        raise DataError("this roll was not signed by the shuffler of the invitation: have it closed by that shuffler")
    honest = 1 - read_share(terms.silent) - read_share(terms.colluding)
    plan = design(counted.users, terms.d, read_budget(terms.budget), honest, few_rounds=few_rounds)
    return designed(terms, counted, plan)


def designed(invitation: Invitation, roll: Roll, plan: Design) -> Collection:
    """Return the collection of an invitation, a roll and a design."""
    return Collection(
        **msgspec.structs.asdict(invitation),
        users=roll.users,
        variant=plan.variant,
        stages=plan.stages,
        invitation=roll.invitation.hex(),
        roll=roll.signature.hex(),
    )

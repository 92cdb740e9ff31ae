"""What the shuffler hands on: whether it is from the shuffler, and what so many clients may have sent."""

from __future__ import annotations

import msgspec

from dpmean.errors import DataError
from dpmean.trust.devices.signatures import VERSION, digest_of, is_signed, read_message, sign
from dpmean.trust.shuffle.messages import Delivery
from dpmean.trust.shuffle.schema import Collection, Stage
from dpmean.trust.shuffle.sizes import messages_of_all, unreadable_messages


def signed_delivery(identity: bytes, digest: bytes, users: int, clients: int, messages: list[bytes]) -> bytes:
    """Return a delivery of a round, as it travels.

    Args:
        identity: The private key of the shuffler.
        digest: The digest of the round.
        users: How many users have checked in.
        clients: How many of them have answered.
        messages: All their messages, in random order.

    """
    signature = sign(identity, "delivery", _signed(digest, users, clients, messages))
    return msgspec.msgpack.encode(Delivery(VERSION, digest, users, clients, signature, messages))


def read_delivery(delivery: bytes, collection: Collection, digest: bytes, stage: Stage) -> Delivery:
    """Read a delivery; refuse one that the shuffler has not signed for this round, or that cannot be what it says."""
    read = read_message(delivery, Delivery, "delivery")
    c = collection
    if read.round != digest:
        raise DataError("this is not a delivery of the open round")
    if not 0 <= read.users < 1 << 64 or not 0 <= read.clients < 1 << 64:
        raise DataError("this is not a delivery: its numbers cannot be right")
    content = _signed(digest, read.users, read.clients, read.messages)
    if not is_signed(c.shuffler, "delivery", content, read.signature):
        raise DataError(
            "this delivery was not signed by the shuffler of the collection: somebody else has made it, or changed it. "
            "Have the shuffler hand on the round again"
        )
    if read.users != c.users or not c.quorum <= read.clients <= c.users:
        raise DataError(
            f"this delivery is from {read.clients} of {read.users} clients, and {c.quorum} to {c.users} of {c.users} "
            "are expected: the shuffler works for another collection, or not as it should"
        )
    fewest, most = messages_of_all(c, stage, read.clients)
    if not fewest <= len(read.messages) <= most:
        raise DataError(
            f"this delivery has {len(read.messages)} messages, and {read.clients} clients send {fewest} to {most}: "
            "more clients cheat than may, or the shuffler does not work as it should"
        )
    return read


def check_readable(unreadable: int, collection: Collection, stage: Stage) -> None:
    """Refuse a delivery of which more cannot be read than those who may cheat can send."""
    most = unreadable_messages(collection, stage)
    if unreadable > most:
        raise DataError(
            f"{unreadable} messages of this delivery cannot be read, and those who may collude can send {most} such: "
            "more clients cheat than may, or messages were sealed for something else. End the collection, or have the "
            "shuffler hand on the round again"
        )


def _signed(digest: bytes, users: int, clients: int, messages: list[bytes]) -> bytes:
    """Return what a shuffler signs: the round, how many have checked in and answered, and the digest of all messages.

    Each message follows its length, in 4 bytes, so that one content has one meaning.
    """
    content = b"".join(part for message in messages for part in (len(message).to_bytes(4), message))
    return digest + users.to_bytes(8) + clients.to_bytes(8) + digest_of(content)

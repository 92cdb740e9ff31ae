"""Envelopes for the analyzer's eyes only: HPKE (RFC 9180) with X25519, HKDF-SHA256 and AES-256-GCM.

Every message has an envelope of its own, so that two of the same client have nothing in common. The shuffler sees
lengths and numbers of messages, and both are the same whatever the rows are. Needs the extra ``shuffle``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmean.errors import ArgumentError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import Suite

_PURPOSE = b"dpmean 2 envelope\n"
_MARK = 16
"""Bytes of a key that tell it from all others (its last bit, which X25519 ignores, is not among them), and of a tag."""


def _suite() -> Suite:
    try:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    except ImportError:
        raise ArgumentError("sealing needs cryptography with HPKE: pip install 'dpmean[shuffle]'") from None
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def check_seal() -> None:
    """Refuse to go on where nothing can be sealed."""
    _suite()


def new_key() -> tuple[bytes, str]:
    """Return a private key (keep it) and the public key that goes into a collection."""
    _suite()
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    private = X25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw().hex()


def public_of(private: bytes) -> str:
    """Return the public key of a private one; nothing if it is none."""
    _suite()
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return (
        X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw().hex() if len(private) == 32 else ""
    )


def seal(messages: list[bytes], key: str, digest: bytes) -> list[bytes]:
    """Seal messages to a public key, for the round with some digest."""
    suite = _suite()
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    public = X25519PublicKey.from_public_bytes(bytes.fromhex(key))
    return [suite.encrypt(message, public, info=_PURPOSE + digest) for message in messages]


def unseal(envelopes: list[bytes], private: bytes, digest: bytes) -> list[bytes | None]:
    """Open envelopes; None stands for one that was not made for this key and round."""
    suite = _suite()
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    key = X25519PrivateKey.from_private_bytes(private)
    found: list[bytes | None] = []
    for envelope in envelopes:
        try:
            found.append(suite.decrypt(envelope, key, info=_PURPOSE + digest))
        except (InvalidTag, ValueError):
            found.append(None)
    return found


def marks_of(envelopes: list[bytes]) -> set[bytes]:
    """Return the first bytes of keys, and the tags, of envelopes: both are fresh in every honest one."""
    return {mark for envelope in envelopes for mark in (envelope[:_MARK], b"t" + envelope[-_MARK:])}

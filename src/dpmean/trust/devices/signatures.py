"""Signed documents: who published what, and the digest by which messages refer to it. No array library.

A document is one line of JSON and a second line with its signature, 128 hexadecimal digits. Signed (Ed25519) are the
words ``dpmean 2 KIND``, a line break, and the first line; so the signature of one kind of document is none of another.
The digest of a document (SHA-256) is that of its first line. Needs the extra ``shuffle``.
"""

from __future__ import annotations

from hashlib import sha256
from types import ModuleType
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from dpmean.errors import ArgumentError, DataError

VERSION = 2
"""Of all documents and messages, in the local and the shuffle model."""
MOST_BYTES = 1 << 20
"""Of a document that a device or a shuffler reads; its work with any other grows with the number of these."""
Kind = Literal["setup", "task", "invitation", "roll", "collection", "round", "extension", "end", "delivery"]
"""What is signed."""
Document = TypeVar("Document")


class _Versioned(Protocol):
    @property
    def version(self) -> int: ...


Message = TypeVar("Message", bound=_Versioned)
_HEX = frozenset("0123456789abcdef")
_PRIME = (1 << 255) - 19
_ORDER_8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_LOW_ORDER = {0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8}
"""The points of Ed25519 whose order divides 8, without their sign: anybody can sign for them."""
_SIGNATURE = 64


def new_identity() -> tuple[bytes, str]:
    """Return a private key (keep it) and the public key by which others know who signs."""
    private = _ed25519().Ed25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw().hex()


def identity_of(private: bytes) -> str:
    """Return the public key of a private one."""
    if not isinstance(private, bytes) or len(private) != 32:
        raise ArgumentError("a private key to sign with has 32 bytes, as new_identity returns them")
    public = _ed25519().Ed25519PrivateKey.from_private_bytes(private).public_key()
    return str(public.public_bytes_raw().hex())


def check_identity(public: object, whose: str) -> str:
    """Refuse what cannot be a public key to verify with."""
    if not isinstance(public, str) or len(public) != 64 or set(public) - _HEX:
        raise ArgumentError(f"the public key of the {whose} must be 64 hexadecimal digits, as new_identity returns it")
    if not is_identity(public):
        raise ArgumentError(f"the public key of the {whose} is of low order: anybody could sign for it")
    return public


def is_identity(public: str) -> bool:
    """Return whether a text is a public key to verify with, for which not everybody can sign."""
    if len(public) != 64 or set(public) - _HEX:
        return False
    point = int.from_bytes(bytes.fromhex(public), "little") % (1 << 255)
    return point % _PRIME not in _LOW_ORDER


def bytes_of(text: str) -> bytes:
    """Return the bytes that a document writes in hexadecimal digits; none if they cannot be read."""
    return bytes.fromhex(text) if len(text) % 2 == 0 and not set(text) - _HEX else b""


def digest_of(content: bytes) -> bytes:
    """Return the digest by which messages refer to a document."""
    return sha256(content).digest()


def sign(private: bytes, kind: Kind, content: bytes) -> bytes:
    """Return the signature of what is of some kind."""
    key = _ed25519().Ed25519PrivateKey.from_private_bytes(private)
    return bytes(key.sign(_signed(kind, content)))


def is_signed(public: str, kind: Kind, content: bytes, signature: bytes) -> bool:
    """Return whether the owner of a public key has signed something of some kind."""
    library = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        key = library.Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(signature, _signed(kind, content))
    except (InvalidSignature, ValueError):
        return False
    return True


def publish(private: bytes, kind: Kind, content: bytes) -> bytes:
    """Return a document: its content, one line, and its signature."""
    return content + b"\n" + sign(private, kind, content).hex().encode()


def read_signed(document: bytes, kind: Kind, public: str) -> bytes:
    """Return the content of a document; refuse one that the owner of the public key has not signed."""
    content = content_of(document, kind)
    hexadecimal = document[len(content) + 1 :]
    try:
        signature = bytes.fromhex(hexadecimal.decode("ascii"))
    except ValueError:
        signature = b""
    if len(signature) != _SIGNATURE or signature.hex().encode() != hexadecimal:
        raise ArgumentError(f"this {kind} is not signed: take the bytes as the analyzer published them")
    if not is_signed(public, kind, content, signature):
        raise ArgumentError(
            f"this {kind} was not signed by the analyzer with the public key {public[:16]}...: "
            "somebody else has made it, or changed it"
        )
    return content


def content_of(document: bytes, kind: Kind) -> bytes:
    """Return the first line of a document, whoever has signed it; refuse what is too long, or of another version."""
    if not isinstance(document, bytes):
        raise ArgumentError(f"this is not a {kind}: it must be bytes as they were published, got {type(document)}")
    if len(document) > MOST_BYTES:
        raise ArgumentError(f"this is not a {kind}: it has {len(document)} bytes, and {MOST_BYTES} are the limit")
    content = document.partition(b"\n")[0]
    try:
        version = msgspec.json.decode(content, type=_AnyDocument).version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArgumentError(f"this is not a {kind}: {error}") from None
    if version != VERSION:
        raise ArgumentError(
            f"this {kind} is of version {version} of the wire format, and only version {VERSION} is read: "
            "have it made anew by a dpmean of this version"
        )
    return content


def read_content(content: bytes, model: type[Document], kind: Kind) -> Document:
    """Read the content of a document."""
    try:
        return msgspec.json.decode(content, type=model)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArgumentError(f"this is not a {kind}: {error}") from None


def read_message(message: bytes, model: type[Message], name: str) -> Message:
    """Read a message (a MessagePack array); refuse one that is malformed, or of another version."""
    version: int | None
    try:
        read = msgspec.msgpack.decode(message, type=model)
        version = read.version
        if version == VERSION:
            return read
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        version = _version_of(message)
    if version is None or version == VERSION:
        raise DataError(f"this is not a {name}: it is malformed")
    raise DataError(f"another version: this {name} is of version {version}, and only version {VERSION} is read")


def fault_of(message: bytes) -> str:
    """Return what is wrong with a message that cannot be read."""
    version = _version_of(message)
    return "malformed" if version is None or version == VERSION else "another version"


def _version_of(message: bytes) -> int | None:
    try:
        parts: Any = msgspec.msgpack.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    first = parts[0] if isinstance(parts, list) and parts else None
    return first if type(first) is int else None


def _signed(kind: Kind, content: bytes) -> bytes:
    return f"dpmean {VERSION} {kind}\n".encode() + content


def _ed25519() -> ModuleType:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ArgumentError("signing needs cryptography: pip install 'dpmean[shuffle]'") from None
    return ed25519


class _AnyDocument(msgspec.Struct, frozen=True):
    """What all documents have."""

    version: int

"""Signed documents: whose they are, of which kind and version, and that no byte of them can be changed."""

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmean import ArgumentError, DataError
from dpmean.trust.devices.signatures import (
    check_identity,
    fault_of,
    identity_of,
    is_signed,
    new_identity,
    publish,
    read_message,
    read_signed,
    sign,
)
from dpmean.trust.shuffle.checks import check_invitation
from dpmean.trust.shuffle.messages import Roll
from tests.support.shuffle_parts import invitation, terms_of

PRIVATE = bytes(range(32))
PUBLIC = identity_of(PRIVATE)
CONTENT = b'{"version":2,"name":"x"}'


def test_a_document_is_read_by_the_key_that_signed_it():
    document = publish(PRIVATE, "task", CONTENT)
    assert read_signed(document, "task", PUBLIC) == CONTENT
    assert document.count(b"\n") == 1
    assert publish(PRIVATE, "task", CONTENT) == document  # signatures are deterministic
    with pytest.raises(ArgumentError, match="this task was not signed by the analyzer with the public key"):
        read_signed(document, "task", new_identity()[1])


def test_a_signature_of_one_kind_is_none_of_another():
    kinds = ["setup", "task", "invitation", "roll", "collection", "round", "extension", "end", "delivery"]
    for one in kinds:
        document = publish(PRIVATE, one, CONTENT)
        for other in kinds:
            if other != one:
                with pytest.raises(ArgumentError, match=f"this {other} was not signed by the analyzer"):
                    read_signed(document, other, PUBLIC)


def test_no_flipped_bit_passes():
    good = publish(PRIVATE, "round", CONTENT)
    for at in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[at] ^= 1 << bit
            with pytest.raises(ArgumentError, match=r"this round|this is not a round"):
                read_signed(bytes(bad), "round", PUBLIC)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.partition(b"\n")[0],
        lambda document: document[:-1],
        lambda document: document[:-2],
        lambda document: document + b"\n",
        lambda document: document + b"00",
        lambda document: document.replace(b"\n", b"\r\n"),
        lambda document: document.replace(b"\n", b"\n\n"),
        lambda document: document[:-128] + document[-128:].upper(),
        lambda document: document[:-128] + b" " + document[-128:],
    ],
)
def test_a_document_has_one_form(change):
    document = publish(PRIVATE, "end", CONTENT)
    with pytest.raises(ArgumentError, match=r"this end is not signed|was not signed"):
        read_signed(change(document), "end", PUBLIC)


@pytest.mark.parametrize("version", [0, 1, 3, 99])
def test_documents_of_other_versions_are_refused_with_a_clear_word(version):
    """Also those of version 1, which were not signed."""
    content = f'{{"version":{version},"name":"00112233445566ff"}}'.encode()
    for document in (content, publish(PRIVATE, "collection", content)):
        with pytest.raises(
            ArgumentError,
            match=f"this collection is of version {version} of the wire format, and only version 2 is read: have it "
            "made anew",
        ):
            read_signed(document, "collection", PUBLIC)


@given(st.binary(max_size=200))
def test_what_is_no_document_is_refused(content):
    with pytest.raises(ArgumentError, match="this"):
        read_signed(content, "task", PUBLIC)


def test_keys_that_are_none_are_refused():
    for wrong in (b"", bytes(31), bytes(33), "00" * 32):
        with pytest.raises(ArgumentError, match="a private key to sign with has 32 bytes"):
            identity_of(wrong)
    signature = sign(PRIVATE, "task", CONTENT)
    assert is_signed(PUBLIC, "task", CONTENT, signature)
    for public in ("", "zz", "00" * 31, "ff" * 32):
        assert not is_signed(public, "task", CONTENT, signature)


def test_a_key_for_which_anybody_can_sign_is_refused():
    """With a point of low order as its key, a signature of zeros is right for every content."""
    forged = bytes([1]) + bytes(63)
    assert is_signed("01" + "00" * 31, "roll", b"any number of users", forged)
    order_8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
    orders = ("01" + "00" * 31, "00" * 32, "ec" + "ff" * 30 + "7f", "ee" + "ff" * 31, order_8, order_8[:-2] + "85")
    for public in orders:
        with pytest.raises(ArgumentError, match="low order: anybody could sign"):
            check_identity(public, "analyzer")
        with pytest.raises(ArgumentError, match="public key of its shuffler must be"):
            check_invitation(msgspec.structs.replace(terms_of(invitation()), shuffler=public))


def test_messages_of_other_versions_are_told_from_malformed_ones():
    assert fault_of(b"\x95\x01\xc0\xc0\xc0\xc0") == "another version"
    assert fault_of(b"\x93\x02\xc0\xc0") == "malformed"
    for message in (b"", b"\x80", b"\xc1", b"\x91\xa1x", b"\x91" * 2000):
        assert fault_of(message) == "malformed"
        with pytest.raises(DataError, match="this is not a roll: it is malformed"):
            read_message(message, Roll, "roll")
    with pytest.raises(DataError, match="another version: this roll is of version 1, and only version 2 is read"):
        read_message(b"\x91\x01", Roll, "roll")


def test_without_cryptography_nothing_is_signed_or_read():
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from dpmean.collections import new_identity\n"
        "try: new_identity()\n"
        "except ValueError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "signing needs cryptography: pip install 'dpmean[shuffle]'\n"

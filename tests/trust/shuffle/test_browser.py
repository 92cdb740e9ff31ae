"""A browser reads documents and seals messages of wire format 2, with the cryptography that it has built in."""

import json
from pathlib import Path

import pytest

from dpmean.trust.shuffle.seal import unseal
from tests.trust.shuffle.test_vectors import KEYS, VECTORS

SCRIPT = Path(__file__).parents[2] / "support" / "browser_client.js"


@pytest.fixture
def page(browser, tmp_path):
    """A page with the script of a client."""
    file = tmp_path / "client.html"
    file.write_text(f"<!doctype html><title>client</title><script>{SCRIPT.read_text()}</script>")
    browser.open(file)
    return browser


def call(page, name, *arguments):
    return page.ask(f"{name}({', '.join(map(json.dumps, arguments))})")


def test_a_browser_reads_documents(page):
    for kind, entry in VECTORS["documents"].items():
        assert call(page, "isSigned", entry["document"], kind, KEYS.public) is True
        assert call(page, "digest", entry["document"]) == entry["digest"]
    bad = [entry for entry in VECTORS["bad documents"] if "version 1" not in entry["why"]]
    assert len(bad) == 21
    for entry in bad:
        assert call(page, "isSigned", entry["document"], entry["kind"], KEYS.public) is False
    assert not page.errors


def test_a_browser_seals_messages(page):
    sealed = VECTORS["sealed"]
    envelopes = [
        bytes.fromhex(call(page, "seal", message, KEYS.key, sealed["digest"])) for message in ("00000007", "ff" * 100)
    ]
    digest = bytes.fromhex(sealed["digest"])
    assert unseal(envelopes, KEYS.opening, digest) == [bytes([0, 0, 0, 7]), b"\xff" * 100]
    assert unseal(envelopes, KEYS.opening, bytes(32)) == [None, None]
    assert [len(envelope) for envelope in envelopes] == [4 + 48, 100 + 48]

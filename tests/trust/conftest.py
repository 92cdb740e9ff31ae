"""What tests of clients share: a folder whose files need not reach a disk."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_MEMORY = Path("/dev/shm")  # noqa: S108  a disk in memory, where there is one


@pytest.fixture
def fast_folder():
    """A folder in memory, where there is one: ledgers of hundreds of clients write often."""
    with TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def shared_folder():
    """The same, for a whole module."""
    with TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as name:
        yield Path(name)

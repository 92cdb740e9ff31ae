"""What is said while loops are compiled: once, on a terminal, and only where they really are compiled."""

import io
import os
import subprocess
import sys
from contextlib import contextmanager

import numba
import numpy as np
import pytest
from numba.core import event

from dpmean.noise.compile_notice import CompileNotice, is_watched, notice

pty = pytest.importorskip("pty")
MEAN = """
import numpy as np, dpmean
rows = np.random.default_rng(0).normal(5, 1, (3000, 3))
print(round(dpmean.mean(rows, rho=0.5, norm_bound=99.0, method="shifted", seed=1).mean[0]))
"""
SAID = "dpmean: compiling for the first time"


def run(folder, *, terminal):
    """Release a mean in a new process, all warnings being errors; return what its error output has."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-W", "error", "-c", MEAN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True) as process:
        os.close(theirs)
        text = b""
        while piece := _read(ours):
            text += piece
        os.close(ours)
        assert process.stdout.read() == "5\n"
    assert process.returncode == 0
    return text.decode()


def _read(end):
    try:
        return os.read(end, 4096)
    except OSError:  # how a terminal on Linux says that nobody writes any more
        return b""


def test_it_is_said_once_on_a_terminal_and_never_again(tmp_path):
    first, second = run(tmp_path, terminal=True), run(tmp_path, terminal=True)
    assert first.count(SAID) == 1
    assert first.count("\n") == 1
    assert second == ""


def test_nothing_is_said_where_nobody_looks(tmp_path):
    assert run(tmp_path, terminal=False) == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def make_loop(module):
    """Return a loop that takes a while to compile, of some module."""

    def loop(rows):
        total = 0.0
        for row in rows:
            total += row.sum() + row.max()
        return total

    loop.__module__ = module
    return numba.njit(loop)


@contextmanager
def listening(patience):
    ours = CompileNotice(patience)
    event.unregister("numba:compile", notice)
    event.register("numba:compile", ours)
    yield ours
    event.unregister("numba:compile", ours)
    event.register("numba:compile", notice)


def compile_with(patience, module, monkeypatch, *, kept=True):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with listening(patience) as ours:
        ours.kept = kept
        for _ in range(2):
            make_loop(module)(np.ones((3, 3)))
    return stream.getvalue()


def test_what_is_quick_or_not_ours_or_for_each_process(monkeypatch):
    assert compile_with(3600, "dpmean.rows.somewhere", monkeypatch) == ""
    assert compile_with(0, "somebody.else", monkeypatch) == ""
    assert compile_with(0, "dpmean.rows.somewhere", monkeypatch).count(SAID) == 1
    assert "set NUMBA_CACHE_DIR" in compile_with(0, "dpmean.rows.somewhere", monkeypatch, kept=False)


def test_who_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert is_watched()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not is_watched()
    monkeypatch.setattr(sys, "stderr", None)
    assert not is_watched()
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert not is_watched()


def test_a_notebook_is_looked_at():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    cell = nbformat.v4.new_code_cell("from dpmean.noise.compile_notice import is_watched\nassert is_watched()")
    nbclient.NotebookClient(nbformat.v4.new_notebook(cells=[cell]), timeout=60).execute()

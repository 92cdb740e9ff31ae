"""Other systems, imitated: Windows without fcntl, other encodings, no system call that only some have."""

import ast
import errno
import fcntl
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import dpmean
from dpmean.cli import pictures
from dpmean.ledger import atomic_file
from dpmean.rows import threads

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "dpmean").rglob("*.py"))
# fmt: off
ONLY_ON_SOME = {
    "fork", "forkpty", "getuid", "geteuid", "getgid", "killpg", "mkfifo", "nice", "pread", "pwrite",
    "sched_getaffinity", "setsid", "sysconf", "uname", "wait", "waitpid", "register_at_fork", "chown", "getloadavg",
    "SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGPIPE", "MAP_POPULATE", "MAP_SHARED", "PROT_READ",
}
# fmt: on
"""Attributes of os, signal and mmap that Windows, and in part macOS, do not have."""
MODULES_OF_POSIX = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


def calls(tree):
    """Return the calls of a module, each with the name of what is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def without_an_encoding(text):
    """Return the lines on which text is read or written in whatever encoding the system prefers."""
    found = []
    for call, name in calls(ast.parse(text)):
        if "encoding" in {word.arg for word in call.keywords}:
            continue
        modes = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        owner = getattr(getattr(call.func, "value", None), "id", "")
        opens = isinstance(call.func, ast.Name) or (bool(modes) and owner != "os")
        as_text = not any("b" in mode for mode in modes)
        if name in ("read_text", "write_text") or (name == "open" and opens and as_text):
            found.append(call.lineno)
    return found


def test_text_is_read_and_written_in_a_named_encoding():
    found = {path.name: without_an_encoding(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("line", ["open(name)", "path.open('w')", "path.read_text()", "path.write_text(text)"])
def test_a_missing_encoding_is_found(line):
    assert without_an_encoding(line) == [1]
    assert without_an_encoding(line.replace(")", ", encoding='utf-8')").replace("(,", "(")) == []


def not_asked_for(text):
    """Return what only some systems have, where it stands below no hasattr, sys.platform or try."""
    tree, asked = ast.parse(text), set()
    for outer in ast.walk(tree):
        asks = isinstance(outer, ast.If | ast.IfExp | ast.FunctionDef)
        if asks and re.search(r"hasattr|sys\.platform", ast.unparse(outer)):
            asked |= {id(inner) for inner in ast.walk(outer)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("os", "signal", "mmap"):
            found += [node.attr] if node.attr in ONLY_ON_SOME and id(node) not in asked else []
        if isinstance(node, ast.Import) and id(node) not in asked:
            found += {name.name for name in node.names} & MODULES_OF_POSIX
    return found


def test_what_only_some_systems_have_is_asked_for_first():
    found = {path.name: not_asked_for(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("line", ["os.fork()", "import fcntl", "mmap.MAP_POPULATE", "signal.SIGKILL"])
def test_what_is_not_asked_for_is_found(line):
    assert not_asked_for(line)
    assert not not_asked_for(f"if sys.platform != 'win32':\n    {line}")


# --- a ledger on Windows ---------------------------------------------------------------------------------------------


class Msvcrt:
    """The locks of Windows, by those of this system: a lock that is taken is refused with EACCES."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def locking(self, handle, mode, length):
        assert length == 1
        assert os.lseek(handle, 0, os.SEEK_CUR) == 0
        if mode == self.LK_UNLCK:
            return fcntl.flock(handle, fcntl.LOCK_UN)
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(errno.EACCES, "Permission denied") from None


@pytest.fixture
def on_windows(monkeypatch):
    """Return the module of a ledger's file as Windows would load it."""
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("atomic_file_of_windows", atomic_file.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_on_windows_no_change_of_a_file_is_lost(on_windows, tmp_path):
    def add(content):
        return str(int(content or b"0") + 1).encode()

    def work():
        for _ in range(25):
            on_windows.AtomicFile(tmp_path / "count").change(add)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (tmp_path / "count").read_bytes() == b"100"


def test_on_windows_a_file_that_is_open_elsewhere_is_tried_again(on_windows, tmp_path, monkeypatch):
    file = on_windows.AtomicFile(tmp_path / "count")
    file.change(lambda _: b"1")
    refused = []

    def while_open(step):
        def refuse_twice(*arguments):
            if len(refused) % 3 < 2:
                refused.append(step)
                raise PermissionError(errno.EACCES, "the file is open elsewhere")
            refused.append(step)
            return step(*arguments)

        return refuse_twice

    monkeypatch.setattr(os, "replace", while_open(os.replace))
    file.change(lambda content: content + b"2")
    monkeypatch.setattr(Path, "read_bytes", while_open(Path.read_bytes))
    assert file.read() == b"12"
    assert len(refused) == 6


def test_on_windows_what_stays_refused_is_an_error(on_windows, tmp_path, monkeypatch):
    file = on_windows.AtomicFile(tmp_path / "count")
    file.change(lambda _: b"1")
    monkeypatch.setattr(on_windows, "_PAUSE", 0)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(PermissionError(errno.EACCES, "Access denied")))
    with pytest.raises(dpmean.LedgerError, match="cannot write"):
        file.change(lambda _: b"2")
    assert file.read() == b"1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["count", "count.lock"]


# --- a ledger on macOS ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_on_macos_the_drive_is_asked_to_write_what_it_holds(known, tmp_path, monkeypatch):
    asked, synced, real = [], [], os.fsync

    def control(_handle, command):
        asked.append(command)
        if not known:
            raise OSError(errno.ENOTSUP, "Operation not supported")
        return 0

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(handle) or real(handle))
    atomic_file.AtomicFile(tmp_path / "count").change(lambda _: b"1")
    assert asked == [51, 51], "the file and its folder"
    assert len(synced) == (0 if known else 2)


# --- encodings, consoles, cores --------------------------------------------------------------------------------------

NAMES = ("Größe", "身長")
PROGRAM = f"""
import json
from pathlib import Path
import numpy as np, dpmean
names = {NAMES!a}
rows = np.random.default_rng(0).normal(5, 1, (2000, 2))
text = "\\n".join([",".join(names), *(f"{{a}},{{b}}" for a, b in rows)])
Path("rows.csv").write_text(text, encoding="utf-8")
release = dpmean.mean("rows.csv", bounds=dict.fromkeys(names, (0, 20)), rho=1.0)
dpmean.Ledger("budget.json", rho=2.0, dataset=names[1]).record(release)
dpmean.report(release, "page.html", title=names[1])
print(json.dumps(dpmean.Release.from_json(release.to_json()).columns))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "language", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "C.UTF-8"}]
)
def test_files_are_utf_8_whatever_the_system_prefers(language, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, **language, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert tuple(json.loads(done.stdout)) == NAMES
    for file in ("budget.json", "page.html"):
        assert NAMES[1] in (tmp_path / file).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
@pytest.mark.parametrize("command", ["demo", "--help", "mean --help", "plan --n 4000 --d 8 --rho 0.5", "mean rows.csv"])
def test_commands_print_in_any_encoding(command, encoding, tmp_path):
    rows = np.random.default_rng(0).normal(5, 1, (2000, 1))
    lines = "\n".join(map(str, rows[:, 0]))
    (tmp_path / "rows.csv").write_text(f"\u8eab \u2500 \u2588\n{lines}\n", encoding="utf-8")
    arguments = command.split() + (["--lower", "0", "--upper", "20", "--rho", "1"] if "rows.csv" in command else [])
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT / "src"), "FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "dpmean", *arguments], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout.decode(encoding).count("?") < 5, "signs were replaced one by one"


def test_a_picture_is_drawn_in_signs_where_half_blocks_cannot_be_written(tmp_path):
    picture = {"mean": np.linspace(0, 1, pictures.HEIGHT * pictures.WIDTH)}
    for encoding, block in (("utf-8", True), ("cp1252", False)):
        with (tmp_path / encoding).open("w", encoding=encoding) as file:
            pictures.draw(Console(file=file, force_terminal=True, color_system="truecolor", no_color=False), picture)
        assert ("\u2580" in (tmp_path / encoding).read_text(encoding=encoding)) == block


def test_what_a_release_prints_is_ascii():
    rows = np.random.default_rng(0).normal(5, 1, (8000, 4))
    for more in ({"rho": 0.5}, {"trust": "shuffle", "epsilon": 1.0, "delta": 1e-9, "fidelity": "totals"}):
        assert str(dpmean.mean(rows, norm_bound=60.0, **more)).isascii()


def test_cores_are_counted_without_affinity(monkeypatch):
    monkeypatch.delenv("DPMEAN_THREADS", raising=False)
    monkeypatch.setattr(threads, "os", SimpleNamespace(environ=os.environ, cpu_count=lambda: 3))
    assert threads.threads_to_use() == 3

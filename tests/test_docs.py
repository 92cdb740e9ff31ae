"""The pages: their code runs and prints what they show, their links arrive, and their lists are complete."""

import contextlib
import doctest
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbclient
import nbformat
import pytest

import dpmean
from dpmean.estimators.registry import ESTIMATORS
from dpmean.release.statistics import STATISTICS

pytestmark = pytest.mark.filterwarnings("error::dpmean.LargeEpsilonWarning")
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = "../README.md"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
TRUE_OF = {  # what must hold after a page was run, where it does not say so itself
    "protocol.md": lambda names: abs(names["analyzer"].estimate.mean - 5).max() < 1,
    "shuffle.md": lambda names: abs(names["release"].mean - 5).max() < 0.1,
    "scale.md": lambda names: abs(names["release"].mean - 5).max() < 0.1,
}
VARYING_TEXT, VARYING_CONSOLE = "text numbers vary", "console numbers vary"  # outputs with noise of no seed, or a date
NUMBER = re.compile(r"(?<![A-Za-z])-?\d+(?:[.,:-]\d+)*(?:\.(?!\.))?(?:e[+-]?\d+)?")
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# --- the pages -------------------------------------------------------------------------------------------------------


def blocks(page):
    """Return the fenced blocks of a page, as (language, text, line)."""
    text = (DOCS / page).read_text()
    return [(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


def steps(page):
    """Return what a page does, as (language, code or command, what it says comes out, line)."""
    found = blocks(page)
    for (language, code, line), (after, said, next_line) in pairwise([*found, ("", "", 0)]):
        if language == "python":
            below = after in ("text", VARYING_TEXT) and next_line == line + code.count("\n") + 2
            yield language, code, said if below else None, line, after == VARYING_TEXT
        if language in ("console", VARYING_CONSOLE):
            for command, said in re.findall(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", code, re.MULTILINE):
                yield "console", command, said, line, language == VARYING_CONSOLE


def agrees(said, printed, varying=False):
    """Tell whether a page shows what was printed; ``...`` stands for anything, a varying number for any number."""
    if varying:
        said, printed = (NUMBER.sub("0", text) for text in (said, printed))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(said, printed, flags)


def run_python(code, names, where):
    """Run a block, and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, where, "exec"), names)  # noqa: S102  our own text
    return out.getvalue()


def run_command(command, folder):
    """Run a command of ours as a user would, and return what it prints."""
    program, *arguments = shlex.split(command.replace("\\\n", " "), comments=True)
    assert program == "dpmean", f"pages run dpmean alone, not {program}"
    done = subprocess.run(
        [sys.executable, "-c", "from dpmean.cli import entry; entry()", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


@contextlib.contextmanager
def restored(registry):
    """Take out of a list or dictionary again what a page adds to it."""
    before = registry.copy()
    try:
        yield
    finally:
        registry.clear()
        registry.extend(before) if isinstance(registry, list) else registry.update(before)


def run_page(page, folder):
    """Run a page from top to bottom, and return what it shows that is not so, and the names it made."""
    names, wrong = {"__name__": "__page__"}, []
    for language, code, said, line, varying in steps(page):
        with contextlib.chdir(folder):
            where = f"{page} (block at line {line})"
            printed = run_command(code, folder) if language == "console" else run_python(code, names, where)
        if said is not None and not agrees(said, printed, varying):
            wrong.append((line, said, printed))
    return wrong, names


@pytest.mark.parametrize("page", [page for page in [README, *PAGES] if any(steps(page))])
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page, tmp_path):
    with restored(ESTIMATORS), restored(STATISTICS):
        wrong, names = run_page(page, tmp_path)
    for line, said, printed in wrong:
        raise AssertionError(f"{page}, block at line {line}: it says\n{said}\nand prints\n{printed}")
    assert TRUE_OF.get(page, lambda _: True)(names)


@pytest.mark.parametrize("said", ["1.5 ... 3", "1.50 2 3\n"])
def test_a_page_that_shows_what_is_not_printed_is_caught(said, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(f"```python\nprint(1.5, 2, 3)\n```\n```text\n{said}\n```\n")
    assert bool(run_page("page.md", tmp_path)[0]) == ("1.50" in said)
    (tmp_path / "page.md").write_text("```console\n$ dpmean --version\ndpmean, version 9\n```\n")
    assert run_page("page.md", tmp_path)[0]
    (tmp_path / "page.md").write_text("```python\nprint(1.25, 'rows')\n```\n```text numbers vary\n-3e-05 rows\n```\n")
    assert not run_page("page.md", tmp_path)[0]
    (tmp_path / "page.md").write_text("```python\nprint(1.25, 'rows')\n```\n```text numbers vary\n1.25 errors\n```\n")
    assert run_page("page.md", tmp_path)[0]
    (tmp_path / "page.md").write_text("```{note}\nText.\n```\n\n```python\nassert 1 > 2\n```\n")
    with pytest.raises(AssertionError):
        run_page("page.md", tmp_path)


def targets(text):
    """Return where the links and pictures of a page go, without its code."""
    prose = re.sub(r"`[^`]*`", "", BLOCK.sub("", text))
    return re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r"^\[[^\]]+\]: (\S+)$", prose, re.MULTILINE)


def anchors(text):
    """Return the anchors that code hosts give to the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [*PAGES, README, "../CONTRIBUTING.md", "../SECURITY.md"])
def test_links_work_on_a_code_host_too(page):
    here = (DOCS / page).parent
    for target in targets((DOCS / page).read_text()):
        parts = urlsplit(target)
        if parts.scheme in ("http", "https"):
            continue
        there = here / unquote(parts.path) if parts.path else DOCS / page
        assert there.exists(), f"{page} links to {target}, which is not there"
        if parts.fragment:
            assert parts.fragment in anchors(there.read_text()), f"{page} links to {target}, which has no such heading"


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_a_page_names_are_there(page):
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (DOCS / page).read_text()):
        assert f"def {name}" in (ROOT / path).read_text() or not name, f"{page} names {path}::{name}"


def test_the_readme_is_short_and_every_reference_of_it_is_used():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert len(lines) < 130
    prose, _, references = text.partition("\n[picture]: ")
    defined = re.findall(r"^\[([^\]]+)\]: ", f"[picture]: {references}", re.MULTILINE)
    assert set(re.findall(r"\]\[([^\]]+)\]", prose)) == set(defined)


# --- the map ---------------------------------------------------------------------------------------------------------


def test_the_list_of_modules_is_what_its_command_writes():
    path = DOCS / "modules.py"
    made = runpy.run_path(str(path))["page"]()
    assert (DOCS / "modules.md").read_text() == made, "run python docs/modules.py"
    assert "|  |" not in made, "a module has no docstring"


def test_the_map_has_the_layers_that_are_checked():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    drawn = next(text for language, text, _ in blocks("architecture.md") if language == "text")
    assert drawn.split("\n")[:-1] == [layer.replace("dpmean.", "") for layer in contract["layers"]]


def test_the_reference_has_every_public_name_and_every_decision_is_listed():
    text = (DOCS / "api.md").read_text()
    assert not [name for name in dpmean.__all__ if f":: dpmean.{name}\n" not in text]
    listed = (DOCS / "decisions" / "README.md").read_text()
    assert not [path.name for path in (DOCS / "decisions").glob("0*.md") if f"({path.name})" not in listed]


# --- notebooks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs(path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)


def test_a_notebook_that_cannot_run_fails():
    broken = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import dpmean\nassert dpmean.nothing")])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="no attribute 'nothing'"):
        nbclient.NotebookClient(broken, timeout=60).execute()

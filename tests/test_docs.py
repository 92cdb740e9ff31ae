"""The site: it builds without a warning and without a network, and what its pages say happens."""

import ast
import contextlib
import doctest
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# --- the pages -------------------------------------------------------------------------------------------------------


def blocks(page):
    """Return the fenced blocks of a page, as (language, text, line)."""
    text = (DOCS / page).read_text()
    return [(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


def steps(page):
    """Return what a page does, as (language, code, what it says comes out, line)."""
    found = blocks(page)
    for (language, code, line), (after, said, next_line) in pairwise([*found, ("", "", 0)]):
        if language == "python":
            below = after == "text" and next_line == line + code.count("\n") + 2
            yield language, code, said if below else None, line


def agrees(said, printed):
    """Tell whether a page shows what was printed; ``...`` stands for anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(said, printed, flags)


def run_page(page, folder):
    """Run a page from top to bottom, and return what it shows that is not so."""
    names, wrong = {"__name__": "__page__"}, []
    for _, code, said, line in steps(page):
        out = io.StringIO()
        tree = compile(code, f"{page} (block at line {line})", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with contextlib.redirect_stdout(out), contextlib.chdir(folder):
            exec(tree, names)  # noqa: S102  our own text
        if said is not None and not agrees(said, out.getvalue()):
            wrong.append((line, said, out.getvalue()))
    return wrong


@pytest.mark.parametrize("page", [page for page in PAGES if any(steps(page))])
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page, tmp_path):
    for line, said, printed in run_page(page, tmp_path):
        raise AssertionError(f"{page}, block at line {line}: it says\n{said}\nand prints\n{printed}")

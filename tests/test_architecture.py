"""The architecture: what imports what, how long modules and functions are, what documents say about files."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dpmean

pytestmark = pytest.mark.filterwarnings("error::dpmean.LargeEpsilonWarning")
ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "src" / "dpmean").rglob("*.py"))
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 250, 50
MOST_TOP_MODULES, MOST_LAYERS = 8, 16
TESTED_ELSEWHERE = {
    "audit/attacks": "tests/audit runs every attack, on what is correct and on what is broken",
    "collections": "public names only: tests/test_public.py, and the roles behind them in tests/trust",
    "engines": "public names only: tests/test_public.py, and docs/guide/extending.md, which is run",
    "rows/clusters": "tests/rows/conformance has one suite for all engines",
    "rows/torch": "tests/rows/conformance has one suite for all engines",
}
"""Folders of the package without a folder of tests, and why."""
TESTS_OF_NO_FOLDER = {
    "bench": "tests of bench/, which is not part of the package",
    "rows/conformance": "every engine, compared with memory to the bit",
    "support": "helpers",
    "vectors": "data that other programs can replay",
}
"""Folders of tests without a folder of the package, and why."""


def test_importing_the_package_loads_neither_numpy_nor_numba():
    code = "import sys, dpmean; print(any(name in sys.modules for name in ('numpy', 'numba', 'dpmean.api')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_report_is_a_function_and_loads_no_compiler():
    code = "import sys, dpmean, dpmean.reports.document; print(callable(dpmean.report), 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True False"


def test_the_version_is_the_projects():
    assert importlib.metadata.version("dpmean") == dpmean.__version__
    assert f"## [{dpmean.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
HISTORY = {"decisions", "results"}
"""They say what was, and where it was then."""


@pytest.mark.parametrize("page", [p for p in DOCUMENTS if p.parent.name not in HISTORY], ids=lambda p: p.name)
def test_files_and_tests_that_documents_name_exist(page):
    """Every `path::test` and every `folder/file.py` in backquotes is there."""
    for path, test in re.findall(r"`((?:\w+/)*\w+\.py)(?:::(\w+))?`", page.read_text()):
        found = [one for one in (ROOT / path, ROOT / "src" / "dpmean" / path) if one.exists()]
        assert found, f"{page.name} names {path}, which is not there"
        assert not test or f"def {test}(" in found[0].read_text(), f"{page.name}: {path}::{test} is not there"


@pytest.mark.parametrize("file", sorted((ROOT / "src" / "dpmean" / "estimators").rglob("*.py")), ids=lambda p: p.name)
def test_estimators_use_nothing_that_is_private_to_a_curator(file):
    """They hold handles, which tell nothing. That they import neither rows nor totals is a contract of imports."""
    nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)]
    inside = [node for node in nodes if node.attr.startswith("_") and getattr(node.value, "id", "") != "self"]
    assert not [node.attr for node in inside]


def test_a_module_is_short_or_says_why_not():
    long = {path for path in MODULES if path.read_text().count("\n") > MOST_LINES}
    unexplained = {path for path in long if "one file because" not in ast.get_docstring(ast.parse(path.read_text()))}
    assert not {path.relative_to(ROOT / "src" / "dpmean").as_posix() for path in unexplained}


def test_modules_at_the_top_and_layers_are_few():
    modules = [path for path in MODULES if path.parent == ROOT / "src" / "dpmean"]
    assert len(modules) <= MOST_TOP_MODULES, sorted(path.name for path in modules)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert len(layers) <= MOST_LAYERS
    parts = {part.strip().removeprefix("dpmean.") for layer in layers for part in layer.split("|")}
    names = {path.relative_to(ROOT / "src" / "dpmean").with_suffix("").parts[0] for path in MODULES}
    assert parts == {name for name in names if not name.startswith("__")}, "every module and folder is in a layer"


def folders(root, pattern):
    """Return the folders below a root that have such a file in them."""
    return {path.parent.relative_to(root).as_posix() for path in root.rglob(pattern)} - {"."}


def test_tests_have_the_folders_of_the_package():
    package, tests = folders(ROOT / "src" / "dpmean", "*.py"), folders(ROOT / "tests", "test_*.py")
    assert package - tests == set(TESTED_ELSEWHERE), "add tests, or say where they are"
    files = {path.parent for path in (ROOT / "tests").rglob("*") if path.suffix in (".py", ".json")}
    assert {path.relative_to(ROOT / "tests").as_posix() for path in files} - package - {"."} == set(TESTS_OF_NO_FOLDER)
    for reason in [*TESTED_ELSEWHERE.values(), *TESTS_OF_NO_FOLDER.values()]:
        for path in re.findall(r"(?:tests|docs|bench)/[\w/.]*\w", reason):
            assert (ROOT / path).exists(), f"{path} is not there"


def test_folders_that_the_picture_of_the_architecture_names_exist():
    picture = (ROOT / "docs" / "architecture.svg").read_text()
    named = set(re.findall(r"(?<![\w/.])((?:[a-z]+/)+(?:\w+\.py)?)", re.sub(r"http\S+|<[^<>]*>", " ", picture)))
    assert {"estimators/", "rows/", "trust/central/", "trust/client.py"} <= named
    assert not [path for path in named if not (ROOT / "src" / "dpmean" / path).exists()]


def test_a_function_fits_on_a_screen():
    """Signatures and docstrings do not count: they are there to be looked up."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                code = node.body[1:] if ast.get_docstring(node) else node.body
                lines = code[-1].end_lineno - code[0].lineno + 1 if code else 0
                assert lines <= MOST_LINES_OF_A_FUNCTION, f"{node.name} of {path.name} has {lines} lines"


@pytest.mark.parametrize("module", ["api.py", "engines/__init__.py"])
def test_the_examples_in_docstrings_run(module):
    done = subprocess.run(
        [sys.executable, "-m", "doctest", str(ROOT / "src" / "dpmean" / module)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_refusal_after_a_look_at_the_rows_is_listed():
    """Each message of a DataError in the modules that see rows is named in the table of docs/known_limits.md."""
    table = (ROOT / "docs" / "known_limits.md").read_text().split("## What a refusal reveals")[1].split("\n## ")[0]
    phrases = [word for line in table.splitlines() for word in line.split("|")[3:4] for word in word.split("`")[1::2]]
    package = ROOT / "src" / "dpmean"
    seen = set()
    for path in [
        *(package / "rows").rglob("*.py"),
        *(package / "arguments").glob("*.py"),
        *(package / "sklearn").glob("*.py"),
    ]:
        tree = ast.parse(path.read_text())
        named = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "DataError"
        ]
        for call in calls:
            words = {node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)} & set(named)
            for said in [call.args[0], *(named[word] for word in words)]:
                for text in texts(said):
                    known = [phrase for phrase in phrases if phrase in text]
                    assert known, f"{path.name}: {text!r} is not in the table"
                    seen.update(known)
    assert seen
    elsewhere = {"are too few for", "as keys", "Input X contains", "as many keys as X has rows"}
    unused = set(phrases) - seen - elsewhere
    assert not unused, f"nothing says {unused} any more"


def texts(said):
    """Return the texts that a message is made of: a dictionary has several."""
    parts = said.values if isinstance(said, ast.Dict) else [said]
    whole = ["".join(str(node.value) for node in ast.walk(part) if isinstance(node, ast.Constant)) for part in parts]
    return [text for text in whole if len(text) > 20]


ALIKE = {("figure", "figures"), ("scale", "scales"), ("shuffle", "shuffler")}
"""The command is called figure, and what it draws is in figures.toml; a shuffler is a party of the shuffle model.

A release has the scales of its columns; the scale of a drawing, and that of all rows, are others.
"""


def differ_by_a_letter(one, other):
    short, long = sorted((one, other), key=len)
    if len(short) == len(long):
        return sum(a != b for a, b in zip(short, long, strict=True)) == 1
    return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


def test_no_two_modules_differ_by_a_letter():
    names = sorted({path.stem for path in MODULES if not path.stem.startswith("__")})
    alike = {(one, other) for i, one in enumerate(names) for other in names[i + 1 :] if differ_by_a_letter(one, other)}
    assert alike == ALIKE

"""Write docs/modules.md: every module with the first line of its docstring. ``python docs/modules.py``."""

from __future__ import annotations

import ast
from pathlib import Path

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "src" / "dpmean"
HEAD = """# Modules

Every module of the package, with the first line of its docstring. [Architecture](architecture.md) says how they work
together. `python docs/modules.py` writes this page.
"""


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0]


def table(folder: Path) -> list[str]:
    """Return the table of the modules in one folder."""
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    lines = [f"| `{path.relative_to(PACKAGE).as_posix()}` | {first_line(path)} |" for path in files]
    return ["", "| module | what it is |", "|---|---|", *lines] if lines else []


def page() -> str:
    """Return the page."""
    lines = [HEAD, "## The package itself", first_line(PACKAGE / "__init__.py"), *table(PACKAGE)]
    for path in sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE):
        name = path.relative_to(PACKAGE).as_posix()
        lines += ["", f"## `{name}/`", first_line(path / "__init__.py"), *table(path)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (DOCS / "modules.md").write_text(page())

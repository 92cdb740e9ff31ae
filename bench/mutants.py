"""Mutation testing of the privacy path: change one place at a time, and check that a test fails.

python -m bench.mutants                       every mutant of every module of mutants.toml (hours)
python -m bench.mutants trust/central/costs.py --most 50
                                              fifty mutants of one module, chosen by a fixed seed
python -m bench.mutants --survivors           only those that survived last time without an explanation

Cosmic Ray makes the mutants. No file is changed: each mutant is imported in its own process in place of the module, and
the tests that ``mutants.toml`` names for the module are run. Mutants of annotations, decorators, messages and
``__str__`` are left out, as they do not change a computation; each operator is replaced only by its nearest relatives.
Results are stored in ``build/mutants.jsonl``. The exit code is 1 if a mutant survives that ``mutants.toml`` does not
explain.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

from bench.clock import track

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dpmean"
FOUND = ROOT / "build" / "mutants.jsonl"
_SEED = 1
_REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"  # hypothesis is imported first
_RELATIVES = {
    "Binary": {
        "Add": ("Sub",),
        "Sub": ("Add",),
        "Mul": ("Add", "Div"),
        "Div": ("Mul", "FloorDiv"),
        "FloorDiv": ("Mul", "Div"),
        "Mod": ("FloorDiv",),
        "Pow": ("Mul",),
        "LShift": ("RShift",),
        "RShift": ("LShift",),
        "BitAnd": ("BitOr",),
        "BitOr": ("BitAnd",),
    },
    "Comparison": {
        "Lt": ("LtE", "GtE"),
        "LtE": ("Lt", "Gt"),
        "Gt": ("GtE", "LtE"),
        "GtE": ("Gt", "Lt"),
        "Eq": ("NotEq",),
        "NotEq": ("Eq",),
        "Is": ("IsNot",),
        "IsNot": ("Is",),
    },
}
OPERATORS = (
    *(
        f"core/Replace{kind}Operator_{old}_{new}"
        for kind, relatives in _RELATIVES.items()
        for old, several in relatives.items()
        for new in several
    ),
    "core/ReplaceUnaryOperator_Delete_USub",
    "core/ReplaceUnaryOperator_Delete_Not",
    "core/AddNot",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
    "core/ReplaceAndWithOr",
    "core/ReplaceOrWithAnd",
    "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak",
    "core/ExceptionReplacer",
    "core/NumberReplacer",
    "core/ZeroIterationForLoop",
)

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module."""

    module: str
    operator: str
    occurrence: int
    where: str
    line: int
    old: str
    new: str


# --- making them ---------------------------------------------------------------------------------------------


def mutants(module: str, most: int | None = None) -> tuple[list[Mutant], int]:
    """Return the relevant mutants of a module, or some of them, and their total number."""
    import cosmic_ray.plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    source = (SOURCE / module).read_text()
    tree, left_out, functions = get_ast(source), list(_left_out(source)), _functions(source)
    places = [
        (start, name, occurrence)
        for name in OPERATORS
        for operator in [cosmic_ray.plugins.get_operator(name)()]
        for occurrence, (start, _) in enumerate(
            place for node in ast_nodes(tree) for place in operator.mutation_positions(node)
        )
        if not any(low <= start < high for low, high in left_out)
    ]
    some = places if most is None or most >= len(places) else _some(places, most)
    found = []
    for (line, _), name, occurrence in sorted(some):
        changed = mutated(module, name, occurrence)
        try:
            ast.parse(changed)
        except SyntaxError:  # such as the star in a signature, mutated like a product
            continue
        old, new = _difference(source, changed)
        where = max((one for one in functions if one[0] <= line <= one[1]), default=(0, 0, ""))[2]
        found.append(Mutant(module, name, occurrence, where, line, old, new))
    return [mutant for mutant in found if mutant.old != mutant.new], len(places)


def mutated(module: str, operator: str, occurrence: int) -> str:
    """Return the source of a module with one change."""
    import cosmic_ray.mutating
    import cosmic_ray.plugins

    source = (SOURCE / module).read_text()
    found = cosmic_ray.mutating.mutate_code(source, cosmic_ray.plugins.get_operator(operator)(), occurrence)
    return source if found is None else str(found)


def _difference(source: str, changed: str) -> tuple[str, str]:
    lines = list(difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm=""))[3:]
    old = " ".join(line[1:].strip() for line in lines if line.startswith("-"))
    new = " ".join(line[1:].strip() for line in lines if line.startswith("+"))
    return old, new


def _some(places: list[Any], most: int) -> list[Any]:
    return random.Random(_SEED).sample(places, most)  # noqa: S311  the same ones every time


def _functions(source: str) -> list[tuple[int, int, str]]:
    """Return the lines of all functions."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return [(node.lineno, node.end_lineno or 0, node.name) for node in nodes]


def _left_out(source: str) -> Iterator[tuple[Place, Place]]:
    """Yield the places of code that does not compute: annotations, decorators, messages."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name="__str__" | "__repr__"):
                yield _span(node)
            case ast.FunctionDef() | ast.ClassDef():
                for decorator in node.decorator_list:
                    yield _span(decorator)
                if isinstance(node, ast.FunctionDef) and node.returns:
                    yield _span(node.returns)
            case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
                yield _span(annotation)
            case ast.Raise() | ast.JoinedStr() | ast.ImportFrom():
                yield _span(node)
            case _:
                pass
            # A union of types in isinstance is not arithmetic.
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield _span(node.args[1])
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr):
            yield _span(node.value)  # the name of a union


def _span(node: Any) -> tuple[Place, Place]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


# --- running them --------------------------------------------------------------------------------------------


class _Instead(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """An importer that loads one module from another source."""

    def __init__(self, module: str, source: str) -> None:
        self._name = ".".join(("dpmean", *Path(module).with_suffix("").parts))
        self._path, self._source = str(SOURCE / module), source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of that module."""
        del path, target
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def get_source(self, fullname: str) -> str:
        """Return the other source."""
        del fullname
        return self._source

    def get_code(self, fullname: str) -> CodeType:
        """Compile it under the name of the file."""
        del fullname
        return compile(self._source, self._path, "exec", dont_inherit=True)


def _compile_anew(module: str, *, keep: bool) -> None:
    """Do not cache compiled loops of the module on disk, so that a mutant is not confused with the original.

    Loops of other modules may contain its constants: they are cached only if there is no mutant.
    """
    import numba
    from numba.core.caching import FunctionCache

    from dpmean.noise import jit

    if not keep:
        FunctionCache.save_overload = lambda *_: None  # type: ignore[method-assign]  # there is no switch for it
    usual = jit.compiled
    name = ".".join(("dpmean", *Path(module).with_suffix("").parts))

    def compiled(function: Any) -> Any:
        return numba.njit(nogil=True)(function) if function.__module__ == name else usual(function)

    jit.compiled = compiled


class _Quick:
    """A pytest plugin that disables the search for smaller examples in hypothesis."""

    def pytest_sessionstart(self) -> None:
        """Change the default settings of hypothesis."""
        from hypothesis import Phase, settings

        settings.register_profile("quick", settings(), phases=(Phase.explicit, Phase.generate), database=None)
        settings.load_profile("quick")


def _child(module: str, source: str, tests: Sequence[str], log: str) -> NoReturn:
    code = 99
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.dont_write_bytecode = True
        _compile_anew(module, keep=source == (SOURCE / module).read_text())
        sys.meta_path.insert(0, _Instead(module, source))
        import pytest

        words = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line", "-W", _REWRITTEN, *tests]
        code = int(pytest.main(words, plugins=[_Quick()]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run(module: str, source: str, tests: Sequence[str], limit: float) -> tuple[str, float, str]:
    """Run tests on a source in a new process; return the outcome, the seconds, and the test that failed."""
    with tempfile.TemporaryDirectory() as folder:
        log, start = f"{folder}/log", time.perf_counter()
        child = os.fork()
        if child == 0:
            os.setsid()
            _child(module, source, tests, log)
        status = None
        while status is None and time.perf_counter() - start < limit:
            time.sleep(0.02)
            done, raw = os.waitpid(child, os.WNOHANG)
            status = os.waitstatus_to_exitcode(raw) if done else None
        if status is None:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        seconds = time.perf_counter() - start
        said = Path(log).read_text(errors="replace") if Path(log).exists() else ""
    if status == 5:
        raise SystemExit(f"{module}: no tests in {tests}\n{said}")
    by = next((line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    if status == 0:
        return "survived", seconds, ""
    return ("killed" if status is not None else "without end"), seconds, by.partition(" - ")[0] or said[-200:]


def _preload() -> None:
    """Import large libraries once for all processes."""
    for name in (
        "numpy",
        "numba",
        "numba.core.registry",
        "pytest",
        "hypothesis",
        "scipy.stats",
        "pandas",
        "pyarrow",
        "dp_accounting",
        "msgspec",
        "hypothesis.extra.numpy",
    ):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def explanation(mutant: Mutant, explained: Sequence[dict[str, str]]) -> str:
    """Return the explanation why a mutant may survive, if there is one."""
    for entry in explained:
        if all(entry[name] == getattr(mutant, name) for name in ("module", "where", "old", "new")):
            return entry["why"]
    return ""


def _key(mutant: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(mutant[name] for name in ("module", "operator", "occurrence", "old", "new"))


def main() -> int:
    """Run mutants and print their outcomes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="such as trust/central/costs.py (default: all)")
    parser.add_argument("--most", type=int, help="the largest number of mutants per module")
    parser.add_argument("--all", action="store_true", help="every mutant, also of modules that mutants.toml limits")
    parser.add_argument(
        "--survivors", action="store_true", help="only those that survived last time without an explanation"
    )
    parser.add_argument("--more", action="store_true", help="only those that have not been run")
    parser.add_argument("--list", action="store_true", help="only count the mutants")
    arguments = parser.parse_args()
    config = tomllib.loads((ROOT / "bench" / "mutants.toml").read_text())
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
    _preload()
    FOUND.parent.mkdir(exist_ok=True)
    lines = FOUND.read_text().splitlines() if FOUND.exists() else []
    before = {_key(found): found["outcome"] for found in map(json.loads, lines)}
    unexplained, explained = 0, config.get("explained", [])
    for module, tests in config["tests"].items():
        if arguments.modules and module not in arguments.modules:
            continue
        most = arguments.most or config["most"].get(module)
        several, all_of_them = mutants(module, None if arguments.survivors or arguments.all else most)
        if arguments.survivors:
            several = [
                mutant
                for mutant in several
                if before.get(_key(asdict(mutant))) == "survived" and not explanation(mutant, explained)
            ]
        if arguments.more:
            several = [mutant for mutant in several if _key(asdict(mutant)) not in before]
        print(f"{module}: {len(several)} of {all_of_them} mutants", flush=True)
        if arguments.list or not several:
            continue
        outcome, usual, by = run(module, (SOURCE / module).read_text(), tests, 300)
        if outcome != "survived":
            raise SystemExit(f"\n{module}: the tests fail without a mutant: {by}")
        print(f"  {usual:.1f} s without a mutant", flush=True)
        killed, excused = 0, 0
        for mutant in track(several, module):
            source = mutated(module, mutant.operator, mutant.occurrence)
            outcome, seconds, by = run(module, source, tests, 2 * usual + 10)
            with FOUND.open("a") as file:
                line = {**asdict(mutant), "outcome": outcome, "seconds": round(seconds, 2), "by": by}
                file.write(json.dumps(line) + "\n")
            if outcome != "survived":
                killed += 1
            elif explanation(mutant, explained):
                excused += 1
            else:
                unexplained += 1
                print(f"  line {mutant.line}: {mutant.old}\n   became  {mutant.new}", flush=True)
        left = len(several) - killed - excused
        print(f"  {killed} killed, {excused} survived and explained, {left} survived", flush=True)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

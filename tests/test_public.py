"""The public names: listed, documented parameter by parameter, and the only ones that pages and examples import."""

import ast
import dataclasses
import enum
import importlib
import inspect
import json
import re
import subprocess
import sys
import typing
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).parent.parent
MODULES = ("dpmean", "dpmean.baselines", "dpmean.sklearn", "dpmean.engines", "dpmean.collections")
NAMES = [(module, name) for module in MODULES for name in importlib.import_module(module).__all__]
REFERENCE = (ROOT / "docs" / "api.md").read_text()
SHOW_INTERNALS = {"docs/guide/extending.md", "docs/guide/reproduce.md", "docs/conf.py"}
"""They may import from other modules: how to add a part, how to run a figure, how this site is built."""
SPECIAL = {"Release": {"__getitem__", "__array__"}, "GroupedRelease": {"__getitem__"}}
"""Special methods that the reference shows."""

# --- docstrings ----------------------------------------------------------------------------------------------------


def described(text, head):
    """Return what a section of a docstring says of each name, in its order."""
    found, inside, name = {}, False, None
    for line in inspect.cleandoc(text).splitlines():
        if not line.startswith(" ") and line:
            inside = line == head
        elif inside and (start := re.match(r" {4}(\*{0,2}\w+): (.*)", line)):
            name = start[1]
            found[name] = start[2]
        elif inside and line:
            found[name] += " " + line.strip()
    return found


def parameters(call):
    """Return the parameters of a function, as a docstring names them."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    given = inspect.signature(call).parameters.values()
    return [stars.get(one.kind, "") + one.name for one in given if one.name != "self"]


def is_record(found):
    """Tell whether the parameters of a class are its attributes."""
    return inspect.isclass(found) and (dataclasses.is_dataclass(found) or issubclass(found, msgspec.Struct))


def is_made_by_users(found):
    """Tell whether a class has a constructor of its own: enums, protocols and most errors have none."""
    if issubclass(found, enum.Enum) or getattr(found, "_is_protocol", False):
        return False
    return is_record(found) or "__init__" in vars(found)


def calls(name, found):
    """Return what can be called: a function; or a class, if users make one, and its public methods."""
    if not inspect.isclass(found):
        return [(name, found, found.__doc__)]
    all_of = [(name, found, found.__doc__)] if is_made_by_users(found) else []
    for member, value in vars(found).items():
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if inspect.isfunction(function) and (member in SPECIAL.get(name, ()) or not member.startswith("_")):
            all_of.append((f"{name}.{member}", function, function.__doc__))
        if isinstance(value, property) and not member.startswith("_"):
            assert value.__doc__, f"{name}.{member} has no docstring"
    return all_of


def faults(name, call, text):
    """Return what is wrong with the description of the parameters of one function or class."""
    if not text:
        return [f"{name} has no docstring"]
    wanted = parameters(call)
    told = described(text, "Args:")
    if not told and is_record(call):
        told = described(text, "Attributes:")
    wrong = [f"{name} describes {list(told)}, and takes {wanted}"] * (list(told) != wanted)
    for one, words in told.items():
        if not words[0].isupper() or not words.endswith("."):
            wrong.append(f"{name}: what it says of {one} is no sentence: {words}")
        if re.search(r"\b(or else|together with|, and|, or)\.?$", words, re.IGNORECASE):
            wrong.append(f"{name}: what it says of {one} goes on in the next parameter")
    for extra in [one for one in wanted if one.startswith("**") and one in told]:
        keys = typing.get_type_hints(call).get(extra[2:])
        known = typing.get_args(keys)[0].__annotations__ if typing.get_args(keys) else {}
        wrong += [f"{name}: {extra} says nothing of {key}" for key in known if f"``{key}``" not in told[extra]]
    return wrong


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_exists_and_says_what_each_parameter_is(module, name):
    found = getattr(importlib.import_module(module), name)
    assert found.__doc__, f"{name} has no docstring"
    assert [fault for call in calls(name, found) for fault in faults(*call)] == []


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_is_on_the_page_of_its_module(module, name):
    section = REFERENCE.split(f"## `{module}`\n")[1].split("\n## ")[0]
    assert re.search(rf"^\.\. auto(function|class|exception):: {module}\.{name}$", section, re.MULTILINE)


def test_the_reference_shows_public_names_and_what_is_in_their_attributes():
    public, values = REFERENCE.split("\n## Values of attributes\n")
    shown = re.findall(r"^\.\. auto\w+:: (\S+)$", public, re.MULTILINE)
    assert sorted(shown) == sorted(f"{module}.{name}" for module, name in NAMES)
    assert "internal" in public.split("\n## ")[0]
    assert "internal" in values


def test_the_lists_of_names_are_sorted_and_complete():
    for module in MODULES:
        names = importlib.import_module(module).__all__
        assert list(names) == sorted(set(names)), module
        assert set(names) <= set(dir(importlib.import_module(module)))


def lacking(count, told):
    """Return a function whose docstring lacks something."""

    def call(rows, rho): ...

    call.__doc__ = "Do something.\n\nArgs:\n" + "\n".join(told[:count])
    return call


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (["    rows: The rows."], "takes"),
        (["    rows: The rows.", "    rho: the budget."], "no sentence"),
        (["    rows: The rows. Or else", "    rho: The budget."], "no sentence"),
        (["    rows: The rows.", "    rho: The budget, together with"], "next parameter"),
        (["    rows: The rows.", "    rho: The budget."], None),
    ],
)
def test_a_description_that_lacks_something_is_found(told, fault):
    call = lacking(len(told), told)
    found = faults("call", call, call.__doc__)
    assert bool(found) == bool(fault)
    assert fault is None or any(fault in one for one in found)


# --- who imports what ----------------------------------------------------------------------------------------------


def texts():
    """Return every text that shows users how to import something, by its path."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("*.py")]
    found = {path: path.read_text() for path in [*pages, ROOT / "docs" / "conf.py"]}
    for path in (ROOT / "docs").rglob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        found[path] = "\n".join("".join(cell["source"]) for cell in cells)
    return {path.relative_to(ROOT).as_posix(): text for path, text in found.items()}


def imported(text):
    """Return the modules of this package that a text imports."""
    found = re.findall(r"\b(?:from (dpmean[\w.]*) import|import (dpmean[\w.]*))", text)
    return {one or other for one, other in found}


def not_public(text):
    """Return what a text imports that is not public: modules, or names."""
    wrong = imported(text) - set(MODULES)
    for module, block, line in re.findall(r"\bfrom (dpmean[\w.]*) import (?:\(([^)]*)\)|([\w, ]+))", text):
        if module in MODULES:
            here = importlib.import_module(module)
            public = {*here.__all__, "__version__", *(one.removeprefix(f"{module}.") for one in MODULES)}
            wrong |= {f"{module}.{one}" for one in re.findall(r"\w+", block or line) if one not in public}
    return wrong


@pytest.mark.parametrize(("path", "text"), texts().items(), ids=lambda value: value if len(value) < 60 else "")
def test_pages_and_examples_import_public_names_only(path, text):
    if path in SHOW_INTERNALS:
        assert not path.endswith(".md") or "internal" in text, f"{path} does not say that what it imports is internal"
        return
    assert not not_public(text)


def test_an_internal_import_is_found():
    assert not_public("from dpmean.trust.client import Client") == {"dpmean.trust.client"}
    assert not_public("import dpmean.rows.engine") == {"dpmean.rows.engine"}
    assert not_public("from dpmean import mean, median\nx") == {"dpmean.median"}
    assert not not_public("import dpmean\nfrom dpmean import baselines, Zcdp\nfrom dpmean.engines import Streamed")


# --- what is loaded ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Client", "Shuffler", "new_identity", "Outcome"])
def test_a_device_and_a_shuffler_need_no_array_library(name):
    code = f"import sys; from dpmean.collections import {name}; print({{'numpy', 'numba'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_types_and_the_list_of_collections_agree():
    here = importlib.import_module("dpmean.collections")
    tree = ast.parse(Path(here.__file__).read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    shown = {alias.name: line.module for line in typed.body for alias in line.names}
    assert shown == {name: f"dpmean.{module}" for name, module in here._MODULES.items()}
    assert list(here._MODULES) == here.__all__
    with pytest.raises(AttributeError, match=r"module 'dpmean\.collections' has no attribute 'Analyzer'"):
        _ = here.Analyzer

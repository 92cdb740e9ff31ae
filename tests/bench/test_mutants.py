"""A slice of the campaign of mutants: changes of one module by hand, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

_CODE = """
import json, os, sys
from bench import mutants
source = (mutants.SOURCE / "privacy/budgets.py").read_text()
changes = json.loads(sys.argv[1])
assert all(source.count(old) == 1 for old, _ in changes)
sources = [source, *(source.replace(old, new) for old, new in changes)]
ran = [mutants.run("privacy/budgets.py", one, ["tests/privacy/test_budgets.py"], 120)[0] for one in sources]
print(json.dumps(ran))
"""
_CHANGES = [("if number <= 0:", "if number < 0:"), ("if number >= 1:", "if number > 1:")]


def test_the_tests_notice_mutants_and_pass_without_one():
    words = [sys.executable, "-c", _CODE, json.dumps(_CHANGES)]
    done = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == ["survived", "killed", "killed"]

"""How the tests run: the same examples every time, none of them against a clock, and one browser for all pages."""

from pathlib import Path

import pytest
from hypothesis import settings

from tests.rows.conformance.problems import missing
from tests.support.browser import find_browser, running

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


TESTS = Path(__file__).parent
SLOW = (
    "arguments/test_arguments",
    "audit",
    "bench/test_mutants",
    "cli",
    "estimators/test_accuracy",
    "estimators/refined/test_refined",
    "experiments",
    "noise/test_choice",
    "noise/test_compile_notice",
    "noise/test_discrete_gaussian",
    "noise/test_poisson",
    "privacy/test_renyi",
    "reports",
    "rows/conformance",
    "rows/tables/test_keys",
    "rows/test_neighbours",
    "rows/test_types_sensitivity",
    "test_docs",
    "test_site",
    "trust/central/test_private_number",
    "trust/local",
    "trust/shuffle",
)
"""What takes more than five seconds: folders and modules."""


def pytest_collection_modifyitems(items):
    for item in items:
        where = item.path.relative_to(TESTS).with_suffix("").as_posix()
        if any(where == slow or where.startswith(f"{slow}/") for slow in SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        missing("Chromium is needed: make browser")
    with running(program, tmp_path_factory.mktemp("profile")) as page:
        yield page

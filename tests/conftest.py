"""How the tests run: the same examples every time, none of them against a clock, and one browser for all pages."""

import pytest
from hypothesis import settings

from tests.rows.conformance.problems import missing
from tests.support.browser import find_browser, running

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


SLOW = [
    "audit",
    "conformance",
    "fit",
    "test_accuracy",
    "test_arguments",
    "test_cli",
    "test_docs",
    "test_experiments",
    "test_keys",
    "test_local",
    "test_mutants",
    "test_neighbours",
    "test_private_number",
    "test_refined",
    "test_renyi",
    "test_report",
    "test_shuffle",
    "test_shuffle_journal",
    "test_shuffle_roles",
    "test_types_sensitivity",
]
"""What takes more than five seconds: folders and modules."""


def pytest_collection_modifyitems(items):
    for item in items:
        if {item.path.stem, item.path.parent.name} & set(SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        missing("Chromium is needed: make browser")
    with running(program, tmp_path_factory.mktemp("profile")) as page:
        yield page

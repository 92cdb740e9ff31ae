"""How the tests run: the same examples every time, none of them against a clock, and one browser for all pages."""

import pytest
from hypothesis import settings

from tests.browser import find_browser, running
from tests.conformance.problems import missing

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        missing("Chromium is needed: make browser")
    with running(program, tmp_path_factory.mktemp("profile")) as page:
        yield page

"""What is published with the package: its description, its citation, the pictures and numbers of the README."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dpmean

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def describe(source):
    """Return the description that a package index shows, as the build writes it."""
    pytest.importorskip("hatchling")
    sys.path.insert(0, str(ROOT))
    try:
        from hatch_build import describe as written
    finally:
        sys.path.remove(str(ROOT))
    return written(README, source, "1.2.3")


def test_the_description_has_no_links_to_files_that_are_not_beside_it():
    text = describe(None)
    assert "docs/" not in text
    assert not re.search(r"\]\[|\]\(|^\[", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    assert len(text.splitlines()) > 0.5 * len(README.splitlines())
    assert "Getting started explains it." in " ".join(text.split())


def test_with_an_address_every_link_goes_to_the_files_of_this_version():
    text = describe("https://host.example/group/dpmean/")
    targets = re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)
    assert len(targets) == len(re.findall(r"^\[[^\]]+\]: ", README, re.MULTILINE))
    for target in targets:
        kind, version, path = target.removeprefix("https://host.example/group/dpmean/").split("/", 2)
        assert kind == ("raw" if path.endswith(".png") else "blob")
        assert version == "v1.2.3"
        assert (ROOT / path.partition("#")[0]).exists()


def test_the_citation_is_of_this_version_and_of_its_authors():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {dpmean.__version__}\n" in text
    assert f"\nlicense: {PROJECT['license']}\n" in text
    assert re.findall(r"^  - name: (.+)$", text, re.MULTILINE) == [author["name"] for author in PROJECT["authors"]]


def test_extras_of_the_readme_and_the_guide_exist():
    known = set(PROJECT["optional-dependencies"])
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for extras in re.findall(r"(?:dpmean|\.)\[([\w,]+)\]['\"]", page.read_text(encoding="utf-8")):
            assert set(extras.split(",")) <= known, page


@pytest.mark.slow
def test_the_examples_print_the_numbers_that_pages_show(tmp_path):
    picture = run_example("picture.py", str(tmp_path / "digits.png"))
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")
    assert (ROOT / "docs" / "_static" / "digits.png").stat().st_size < 200_000
    ours, usual, length = (float(number) for number in re.findall(r" ([\d.]+)(?: on average|$)", picture, re.MULTILINE))
    assert f"The l2 errors are {ours} and {usual}; a mean image has length {length} " in " ".join(README.split())
    printed = run_example("no_gain.py")
    assert printed in (ROOT / "docs" / "guide" / "which_bound.md").read_text(encoding="utf-8")
    assert all(number in README for number in re.findall(r"[\d.]+", printed.splitlines()[1]))


def run_example(name, *arguments):
    """Run an example, and return what it prints."""
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

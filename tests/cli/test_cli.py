"""The command line: what it prints, how it ends, and what it never shows."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import dpmean
from dpmean.cli import main, release
from dpmean.estimators.registry import DEFAULT, ESTIMATORS
from dpmean.ledger.account import digits
from dpmean.release.digits import between
from dpmean.trust.registry import TRUST_MODELS
from tests.support.spender import release as made

pa = pytest.importorskip("pyarrow")
N = 3000


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Make a folder with the files that examples name."""
    from pyarrow import parquet

    folder = tmp_path_factory.mktemp("home")
    chance = np.random.default_rng(8)
    np.save(folder / "data.npy", chance.normal(5, 1, (N, 4)))
    age, height = chance.normal(40, 10, N), chance.normal(170, 10, N)
    parquet.write_table(pa.table({"age": age, "height": height}), folder / "patients.parquet")
    vectors = pa.FixedSizeListArray.from_arrays(chance.normal(0, 0.3, 4 * N), 4)
    parquet.write_table(pa.table({"embedding": vectors}), folder / "embeddings.parquet")
    lines = [f"{a},{h}" for a, h in zip(age, height, strict=True)]
    (folder / "patients.csv").write_text("\n".join(["age,height", *lines, ""]))
    german = [f"{a:.3f};{h:.3f}".replace(".", ",") for a, h in zip(age, height, strict=True)]
    (folder / "german.csv").write_text("\n".join(["age;height", *german, ""]))
    visits = [f"p{i // 2},{'ABC'[i // 2 % 3]},{'fm'[i // 6 % 2]},{line}" for i, line in enumerate(lines)]
    (folder / "visits.csv").write_text("\n".join(["patient,clinic,sex,age,height", *visits, ""]))
    (folder / "bounds.csv").write_text("column,lower,upper\nage,0,130\nheight,50,250\n")
    given = {"columns": ["age"], "bounds": (0, 130), "rho": 0.5, "seed": 1, "population": True}
    clinics = dpmean.mean_by(folder / "visits.csv", by="clinic", groups=["A", "B", "Z"], **given)
    (folder / "clinics.json").write_text(clinics.to_json())
    pairs = [("A", "f"), ("B", "f")]
    by_sex = dpmean.mean_by(folder / "visits.csv", by=["clinic", "sex"], groups=pairs, **given)
    (folder / "by_sex.json").write_text(by_sex.to_json())
    return folder


@pytest.fixture
def run(home, monkeypatch):
    """Return a way to call the command, in the folder."""
    monkeypatch.chdir(home)

    def call(line, code=0):
        done = CliRunner().invoke(main, shlex.split(line), prog_name="dpmean", terminal_width=80)
        assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
        return done

    return call


def commands(group=main, path=()):
    """Yield all commands and their names."""
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = dict(commands())
OURS = [path for path in ALL if path[0] != "figure" or len(path) == 1]


# --- help ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [(), *ALL], ids=" ".join)
def test_help_fits_into_80_columns(path, run):
    for word in ("--help", "-h"):
        text = run(" ".join([*path, word])).stdout
        assert text.startswith("Usage: dpmean")
        assert max(map(len, text.splitlines())) <= 80


def examples(text):
    """Return the examples of a help text, as they would be typed."""
    _, _, found = text.partition("\nExamples:\n")
    return [line.strip() for line in found.replace("\\\n", " ").splitlines() if line.strip()]


@pytest.mark.parametrize("path", [(), *OURS], ids=" ".join)
def test_examples_run_as_they_stand(path, run, home, request):
    if path in ((), ("ledger",), ("ledger", "show")):
        request.getfixturevalue("ledger_of_patients")
    found = examples(run(" ".join([*path, "--help"])).stdout)
    assert found
    for line in found:
        assert line.startswith("dpmean ")
        if line.startswith("dpmean figure"):  # starts processes of its own
            done = subprocess.run(
                [sys.executable, "-m", *shlex.split(line)], cwd=home, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        else:
            run(line.removeprefix("dpmean "))


def test_the_guide_lists_every_command(run):
    page = Path(__file__).parents[2] / "docs" / "guide" / "command_line.md"
    section = page.read_text(encoding="utf-8").partition("\n## Commands\n")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `dpmean (\w+)", section, re.MULTILINE))
    assert listed == {path[0] for path in ALL} - {"completion"}
    for name in sorted(listed):
        assert run(f"{name} --help").stdout.startswith(f"Usage: dpmean {name}")


@pytest.fixture
def ledger_of_patients(home):
    ledger = dpmean.Ledger(home / "budget.json", rho=1, dataset="patients")
    if not ledger.entries:
        ledger.record(made())
    return ledger


# --- how it ends ---------------------------------------------------------------------------------------------

WRONG = {
    "mean data.npy --norm-bound 9": (2, "a privacy budget is missing: give --rho 0.5, for example"),
    "mean data.npy --rho 0.5": (2, "give --lower 0 --upper 130 or --norm-bound 600.0, for example"),
    "mean data.npy --rho -1 --norm-bound 9": (2, "rho must be positive, got -1"),
    "mean data.npy --rho 1e99 --norm-bound 9": (2, "rho must lie between"),
    "mean data.npy --rho x --norm-bound 9": (2, "'x' is not a number"),
    "mean data.npy --rho 1/0 --norm-bound 9": (2, "'1/0' is not a number"),
    "mean data.npy --rho 1e-999999999 --norm-bound 9": (
        2,
        "'1e-999999999' is too large or too small: give a number between 1e-300 and 1e300",
    ),
    "mean data.npy --rho 1 --norm-bound 9 --bounds bounds.csv": (2, "exactly one of --norm-bound and --bounds (or"),
    "mean holed.npy --rho 1 --norm-bound 9": (
        3,
        "clean them, or give --nan. --nan drop leaves",
    ),
    "mean data.npy --rho 1 --norm-bound 9 --seed 1 --out seeded.npy": (2, "npy cannot record that --seed"),
    "mean visits.csv --rho 1 --bounds bounds.csv --by clinic --groups clinic.txt": (2, "there is no file clinic.txt"),
    "mean": (2, "Missing argument 'DATA' (see dpmean mean --help)"),
    "means": (2, "No such command 'means'"),
    "mean data.npy --rho 0.5 --norm-bound 9 --format xml": (2, "'xml' is not one of"),
    "mean data.npy --rho 0.5 --norm-bound 9 --out x.txt": (2, "must end in .json, .csv or .npy"),
    "mean data.npy --rho 0.5 --lower 0": (2, "--lower and --upper need each other"),
    "mean data.npy --rho 0.5 --lower 0 --upper 1 --bounds bounds.csv": (2, "--bounds excludes --lower and --upper"),
    "mean data.npy --rho 0.5 --norm-bound 9 --dataset x": (2, "need a ledger: add --ledger FILE"),
    "mean data.npy --rho 0.5 --norm-bound 9 --ledger new.json": (2, "give --ledger-rho 1, for example"),
    "mean data.npy --rho 0.5 --norm-bound 9 --ledger new.json --ledger-rho 1 --seed 1": (2, "protects nobody"),
    "mean data.npy --rho 0.5 --norm-bound 9 --ledger spent.json --dataset Data": (
        2,
        "dataset 'Data' has no budget in spent.json, which has 'data': name one of these with --dataset, or, for a new",
    ),
    "mean data.npy --rho 0.5 --norm-bound 9 --method magic": (2, "method must be one of"),
    "mean data.npy --rho 0.5 --norm-bound 9 --groups A": (2, "--groups is for one mean per group"),
    "mean visits.csv --rho 0.5 --bounds bounds.csv --by clinic": (2, "--by needs --groups"),
    "mean visits.csv --rho 0.5 --bounds bounds.csv --by clinic --groups A --passes 1": (
        2,
        "--passes cannot be used with --by",
    ),
    "mean visits.csv --rho 0.5 --bounds bounds.csv --by clinic --groups A --format npy": (2, "npy holds one mean only"),
    "mean patients.csv --columns age,,height --rho 1 --norm-bound 9": (
        2,
        "is not a list of names: separate names by commas",
    ),
    "mean patients.csv --columns weight --rho 1 --norm-bound 9": (
        2,
        "there is no column 'weight': the columns are age, h",
    ),
    "mean patients.csv --columns weight --rho 1 --bounds bounds.csv": (2, "bounds.csv has no bounds for column 'w"),
    "mean nothing.npy --rho 1 --norm-bound 9": (3, "there is no file nothing.npy: give a file, a folder, or a pattern"),
    "mean patients.csv --rho 1 --bounds nothing.csv": (3, "nothing.csv: no such file or directory"),
    "mean data.npy --rho 1 --norm-bound 9 --out none/mean.json": (3, "the folder none does not exist"),
    "mean data.npy --rho 1e-5 --norm-bound 9": (3, "at your own risk with --allow-few-rows"),
    "mean data.npy --rho 2 --norm-bound 9 --ledger spent.json": (
        4,
        "'data' in spent.json: this costs rho = 2, and only rho = 1 is left: ask for at most --rho 1",
    ),
    "mean data.npy --rho 2 --norm-bound 9 --ledger spent.json --ledger-rho 3": (2, "is rho = 1, got rho = 3"),
    "mean data.npy --rho 1 --norm-bound 9 --ledger bounds.csv": (3, "bounds.csv is damaged"),
    "plan --n 0 --d 3 --rho 1": (2, "n must be at least 1, got 0"),
    "plan --n 10 --d 3": (2, "a privacy budget is missing"),
    "plan --d 3 --rho 1": (
        2,
        "n is missing: give the number of rows, or --error 0.01, for example, to find the number for this error",
    ),
    "plan --n 10 --d 3 --rho 1 --error 0.1": (2, "got n=10, rho=1.0 and error=0.1: leave out the one"),
    "plan --groups 600,x --d 3 --rho 1": (
        2,
        "'600,x' is not a list of numbers: separate them by commas, as in 600,400",
    ),
    "plan --groups 600 --n 3 --d 3 --rho 1": (2, "got n=3 and also groups"),
    "plan --n 10 --d 3 --error 0": (2, "error must be positive, got 0"),
    "plan --n 10 --d 3 --error x": (2, "'x' is not a number"),
    "plan --n 10 --d 3 --rho 1 --rows odd": (2, 'rows must be "normal", "uniform", "binary"'),
    "plan --n 4000 --d 3 --rho 1 --shape 1,2": (2, "shape has fewer scales than there are columns (3): give one"),
    "plan --n 4000 --d 3 --rho 1 --shape flat": (2, 'shape must be "auto", "round" or the scale of each column'),
    "plan --n 4000 --d 3 --rho 1 --trust local --shape round": (2, "shape is for the central model"),
    "mean patients.csv --rho 1 --norm-bound 9 --shape 1,x": (2, "'1,x' is not a list of scales: write them as 1.5,20"),
    "mean patients.csv --rho 1 --norm-bound 9 --shape age=1,age=2": (2, "names column 'age' more than once: leave one"),
    "mean patients.csv --rho 1 --norm-bound 9 --shape age=1,2": (
        2,
        "'age=1,2' does not name every column: name each, as",
    ),
    "mean patients.csv --rho 1 --norm-bound 9 --shape age=1": (2, "no scale for column 'height'"),
    "mean patients.csv --rho 1 --norm-bound 9 --shape 1,2,3": (
        2,
        "shape has more scales than there are columns (2): give one",
    ),
    "mean patients.csv --rho 1 --norm-bound 9 --shape 1,-2": (2, "scales in shape must be positive"),
    "mean patients.csv --rho 1 --norm-bound 9 --shape 1,nan": (2, "scales in shape must be positive"),
    "mean patients.csv --rho 1 --norm-bound 9 --shape 1,2 --method shifted": (2, 'shape is for method "refined"'),
    "convert --rho 1": (2, "give two of --rho, --epsilon and --delta"),
    "convert --rho 1 --epsilon 1 --delta 1e-6": (2, "give two of --rho, --epsilon and --delta"),
    "convert --rho 1 --delta 2": (2, "delta must be below 1"),
    "ledger show nothing.json": (3, "there is no ledger nothing.json"),
    "ledger show spent.json --dataset other": (2, "there is no dataset 'other' in spent.json, which has 'data'"),
    "audit --only nonsense": (2, "no mechanism has 'nonsense' in its name"),
    "audit --runs 1": (2, "1 is not in the range"),
    "completion tcsh": (2, "'tcsh' is not one of"),
    "figure claims nothing": (2, ""),
}
KINDS = {2: "usage", 3: "data", 4: "budget"}


@pytest.mark.parametrize("line", WRONG)
def test_mistakes_are_told_in_one_line_and_by_the_exit_code(line, run, home):
    code, words = WRONG[line]
    dpmean.Ledger(home / "spent.json", rho=1)
    np.save(home / "holed.npy", np.full((3000, 2), np.nan))
    done = run(line, code)
    assert done.stdout == ""
    assert done.stderr.startswith("dpmean: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (home / "new.json").exists()
    if line.partition(" ")[0] not in ("completion", "figure", "means"):
        error = json.loads(run(f"{line} --json", code).stdout)["error"]
        assert error["kind"] == KINDS[code]
        assert words.partition(" (")[0] in error["message"]


def test_json_is_not_asked_for_beside_another_format(run):
    error = json.loads(run("mean data.npy --rho 0.5 --norm-bound 9 --format csv --json", 2).stdout)["error"]
    assert error["message"].startswith("--json and --format csv are two formats for one output: add --out FILE")


def test_a_bug_is_told_without_what_others_say_about_it(run, monkeypatch):
    def broken(*_arguments, **_more):
        raise RuntimeError("row 17 is 31415.9265")

    monkeypatch.setattr(release, "run", broken)
    done = run("mean data.npy --rho 1 --norm-bound 9", 1)
    assert "internal error (RuntimeError)" in done.stderr
    assert "31415" not in done.stderr + done.stdout
    assert json.loads(run("mean data.npy --rho 1 --norm-bound 9 --json", 1).stdout)["error"]["kind"] == "internal"


def test_a_missing_package_is_named_with_its_cure(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    results = Path(__file__).parents[2] / "docs" / "results"
    assert "pip install 'dpmean[figures]'" in run(f"figure plot {results}", 2).stderr


# --- what it prints ------------------------------------------------------------------------------------------


def test_a_release_is_printed_for_people_and_written_for_machines(run, home):
    done = run("mean patients.csv --bounds bounds.csv --rho 0.5 --neighbours replace-one")
    assert "Private mean of 3000 rows in 2 dimensions" in done.stdout
    done = run("mean patients.csv --bounds bounds.csv --rho 0.5 --out out.json")
    assert re.search(r"^Private mean of about (29|30)\d\d rows in 2 dimensions", done.stdout)
    assert re.search(r"age +\d\d\.\d+ +\d", done.stdout)
    assert "rho = 0.5 zCDP" in done.stdout
    assert done.stderr == "written to out.json\n"
    assert max(map(len, done.stdout.splitlines())) <= 80
    found = dpmean.Release.from_json((home / "out.json").read_text())
    assert found.columns == ("age", "height")
    assert abs(found["age"] - 40) < 2
    assert not found.seeded


def test_formats(run, home):
    command = "mean patients.parquet --bounds bounds.csv --rho 0.5 --seed 1"
    document = run(f"{command} --json")
    found = dpmean.Release.from_json(document.stdout)
    assert run(f"{command} --format json").stdout == document.stdout
    assert "PROTECTS NOBODY" in document.stderr
    table = run(f"{command} --format csv").stdout.splitlines()
    assert table[0] == f"{HEAD},seeded"
    interval = found.interval()
    known = [found.mean, interval.lower, interval.upper, None, None, found.noise_std, found.scales.values]
    numbers = ["" if values is None else float(values[0]) for values in [*known, None, None, None]]
    assert table[1] == ",".join(["age", *map(str, numbers), "protects nobody"])
    unseeded = command.removesuffix(" --seed 1")
    run(f"{unseeded} --out mean.npy")
    assert np.abs(np.load(home / "mean.npy") - found.mean).max() < 5
    printed = CliRunner().invoke(main, [*unseeded.split(), "--format", "npy"]).stdout_bytes
    assert np.abs(np.load(io.BytesIO(printed)) - found.mean).max() < 5
    assert run(f"{unseeded} --format csv").stdout.startswith(f"{HEAD}\n")
    both = run(f"{command} --out both.csv --json")
    assert both.stdout == document.stdout
    assert (home / "both.csv").read_text().splitlines() == table
    assert run(f"{command} --out odd.name --format csv")
    assert (home / "odd.name").read_text().splitlines() == table


def test_a_page_is_written_beside(run, home):
    done = run("mean patients.csv --bounds bounds.csv --rho 0.5 --report page.html --json")
    assert done.stderr == ""
    page = (home / "page.html").read_text()
    assert "<html" in page
    assert "height" in page
    run("mean visits.csv --bounds bounds.csv --by clinic --groups A,B --rho 0.5 --report page.html --out g.json")
    assert "clinic" in (home / "page.html").read_text()
    refused = run("mean data.npy --rho 1 --norm-bound 9 --report none/page.html", 3)
    assert "the folder none does not exist" in refused.stderr


def test_the_command_does_what_the_library_does(run, home):
    rows = np.load(home / "data.npy")
    for options, arguments in (
        ("--norm-bound 600 --method shifted", {"norm_bound": 600.0, "method": "shifted"}),
        ("--norm-bound 600 --passes 1", {"norm_bound": 600.0, "passes": 1}),
        ("--lower -100 --upper 100 --nan impute", {"bounds": (-100, 100), "nan": "impute"}),
        ("--norm-bound 600 --neighbours add-or-remove-one", {"norm_bound": 600.0, "neighbours": "add-or-remove-one"}),
    ):
        found = json.loads(run(f"mean data.npy --rho 1/3 --seed 5 {options} --json").stdout)
        expected = json.loads(dpmean.mean(rows, rho=dpmean.Zcdp(0.5).rho * 2 / 3, seed=5, **arguments).to_json())
        assert found == expected


def test_a_command_without_arguments_explains_itself(run):
    done = run("", 2)
    assert done.stderr.startswith("Usage: dpmean")


def test_nothing_is_padded(run):
    for line in (
        "mean patients.csv --bounds bounds.csv --rho 0.5",
        "mean visits.csv --bounds bounds.csv --by clinic --groups A,Z --rho 0.5",
        "plan --n 4000 --d 128 --rho 0.5",
        "audit --only 'local bit' --runs 20",
    ):
        assert not re.search(r" +$", run(line).stdout, re.MULTILINE)


def test_a_plan_is_wrapped_as_one_sentence(run):
    text = run("plan --n 4000 --d 128 --rho 0.5").stdout
    assert not re.search(r"^ +normal\),$", text, re.MULTILINE)
    assert "205 rows are recommended" in run("plan --n 10 --d 1 --rho 1").stdout
    few = run("plan --n 10 --d 1 --rho 1 --neighbours replace-one").stdout
    assert "240 rows are recommended" in few
    assert "privacy adds no more than sampling" not in few


def test_few_rows_are_the_first_thing_that_is_said(run, home):
    np.save(home / "few.npy", np.random.default_rng(0).normal(5, 1, (300, 3)))
    text = run("mean few.npy --rho 0.01 --norm-bound 60 --allow-few-rows").stdout
    assert text.splitlines()[1] == "FEW ROWS: do not rely on this mean, since its error is not known"
    text = run("mean few.npy --rho 0.01 --norm-bound 60 --allow-few-rows --explain").stdout
    assert "95 %" not in text
    assert "confidence" not in text
    assert "not covered" not in text
    assert "error      not known, since there are too few rows" in text
    assert "rho = 0.01" in text
    assert text.count("FEW ROWS") == 1
    lines = run("mean few.npy --rho 0.01 --norm-bound 60 --allow-few-rows --format csv").stdout.splitlines()
    assert all(line.endswith(",") for line in lines[1:])


def test_warnings_of_the_library_are_told_on_the_error_output(run, home):
    np.save(home / "few.npy", np.random.default_rng(0).normal(5, 1, (300, 3)))
    text = run(
        "mean few.npy --epsilon 0.1 --delta 0.1 --norm-bound 60 --allow-few-rows --neighbours replace-one"
    ).stderr
    assert text.count("dpmean: ") == 2
    assert "300 rows are " in text
    assert "delta=0.1 is not below 1/n" in text


def test_the_help_names_every_method_and_trust_model(run):
    """Help may not load the registries, which load the compiler: so this compares both."""
    words = " ".join(run("mean --help").stdout.split())
    *first, last = [f"{name}{' (default)' * (name == DEFAULT)}" for name in ESTIMATORS]
    assert f"--method NAME Estimator: {', '.join(first)} or {last}." in words
    *first, last = [f"{name}{' (default)' * (name == 'central')}" for name in TRUST_MODELS]
    assert f"--trust MODEL Trust model: {', '.join(first)} or {last}." in words


def test_a_ledger_of_other_people_is_told_in_options(run):
    command = "mean visits.csv --columns age --lower 0 --upper 130 --rho 0.1 --ledger people.json"
    run(f"{command} --ledger-rho 1 --privacy-unit patient")
    words = run(command, 2).stderr
    assert "this release protects rows (add-or-remove-one); earlier releases of this dataset protect patient" in words
    assert "Give --neighbours and --privacy-unit as before" in words
    words = run(f"{command} --privacy-unit patient --neighbours replace-one", 2).stderr
    assert "Leave --neighbours out in the central model; or open the ledger of a dataset with" in words
    assert "with --ledger-neighbours replace-one at its first use" in words


def test_a_release_is_not_lost_when_the_folder_of_its_page_vanishes(run, home, monkeypatch):
    def vanish(*given):
        (home / "gone").rmdir()
        return page(*given)

    page = dpmean.report
    (home / "gone").mkdir()
    monkeypatch.setattr(dpmean, "report", vanish)
    done = run("mean data.npy --rho 0.5 --norm-bound 60 --report gone/page.html", 3)
    assert "cannot write gone/page.html: there is no folder gone: make it first" in done.stderr
    assert "Private mean of about" in done.stdout


def test_one_row_is_protected_unless_whose_it_is_was_said(run):
    words = "\npersons    protected less if they have several rows; --privacy-unit NAME\n"
    assert words in run("mean visits.csv --bounds bounds.csv --rho 0.5").stdout
    assert words not in run("mean visits.csv --bounds bounds.csv --rho 0.5 --privacy-unit patient").stdout
    assert words in run("mean visits.csv --bounds bounds.csv --rho 0.5 --by clinic --groups A").stdout
    assert "a person with several rows is protected less" in " ".join(run("mean --help").stdout.split())


def test_no_name_reaches_a_terminal_as_a_command(run, home):
    from pyarrow import parquet

    bad = "a\x1b[2J\x1b]0;x\x07"
    rows = np.random.default_rng(0).normal(5, 1, N)
    parquet.write_table(pa.table({bad: rows, "b": rows, "g": ["\x1b[31m"] * N}), home / "bad.parquet")
    budget = "--rho 0.5 --lower 0 --upper 10"
    found = [
        run(f"mean bad.parquet {budget} --columns '{bad},b'"),
        run(f"mean bad.parquet {budget} --columns c", 2),
        run(f"mean bad.parquet {budget} --columns b --by g --groups '\x1b[31m,\x1b[1m'"),
        run(f"mean bad.parquet {budget} --columns b --by '{bad}' --groups x", 3),
    ]
    dpmean.Ledger(home / "bad.json", rho=1).record(made())
    document = json.loads((home / "bad.json").read_text())
    document["datasets"]["data"]["entries"][0].update(what=bad, when=bad)
    (home / "bad.json").write_text(json.dumps(document))
    found.append(run("ledger show bad.json"))
    for done in found:
        assert not {sign for sign in done.stdout + done.stderr if sign != "\n" and not sign.isprintable()}


def test_missing_values_column_by_column(run, home):
    lines = (home / "patients.csv").read_text().splitlines()
    (home / "holes.csv").write_text("\n".join([*lines, ",170.5"]))
    run("mean holes.csv --rho 0.5 --bounds bounds.csv", 3)
    run("mean holes.csv --rho 0.5 --bounds bounds.csv --nan height=impute", 3)
    run("mean holes.csv --rho 0.5 --bounds bounds.csv --nan age=impute")


def test_ranges_for_arrays_are_in_the_order_of_the_file(run, home):
    (home / "four.csv").write_text("upper,column,lower\n10,a,0\n20,b,0\n30,c,0\n40,d,-1\n")
    found = json.loads(run("mean data.npy --rho 1 --bounds four.csv --json").stdout)
    assert found["public"]["bound"] == {"lower": [0, 0, 0, -1], "upper": [10, 20, 30, 40]}


HEAD = "column,mean,lower,upper,population_lower,population_upper,noise_std,scale,std,values,values_std"
ODD_NAMES = ["body mass (kg)", "a=b:c", "=1:2", "x, y", "Größe", "-v", " lead", "b.csv"]


def test_ranges_by_name_are_those_of_a_file(run):
    typed = run("mean patients.csv --bounds age=0:130 --bounds height=50:250 --rho 0.5 --seed 1 --json").stdout
    assert typed == run("mean patients.csv --bounds bounds.csv --rho 0.5 --seed 1 --json").stdout
    other = run("mean patients.csv --bounds height=5e1:2.5e2 --bounds age=-1e-3:130 --rho 0.5 --seed 1 --json").stdout
    found = dpmean.Release.from_json(other)
    assert found.columns == ("height", "age")
    assert json.loads(other)["public"]["bound"] == {"lower": [50, -0.001], "upper": [250, 130]}
    some = run("mean patients.csv --bounds height=50:250 --columns height --rho 0.5 --seed 1 --json").stdout
    assert some == run("mean patients.csv --bounds height=50:250 --rho 0.5 --seed 1 --json").stdout
    groups = run("mean visits.csv --bounds age=0:130 --by clinic --groups A,B --rho 0.5 --json").stdout
    assert dpmean.GroupedRelease.from_json(groups)["A"].columns == ("age",)


def test_ranges_by_name_take_any_name(run, home):
    from pyarrow import parquet

    chance = np.random.default_rng(2)
    parquet.write_table(pa.table({name: chance.normal(0, 1, N) for name in ODD_NAMES}), home / "odd.parquet")
    ranges = " ".join(f"--bounds {shlex.quote(f'{name}=-9:9')}" for name in ODD_NAMES)
    found = run(f"mean odd.parquet {ranges} --rho 0.5 --json").stdout
    assert dpmean.Release.from_json(found).columns == tuple(ODD_NAMES)


def test_ranges_of_arrays_are_counted(run):
    ranges = " ".join(f"--bounds {j}={-j}:{10 * j + 10}" for j in (1, 0, 3, 2))
    found = json.loads(run(f"mean data.npy --rho 1 {ranges} --json").stdout)
    assert found["public"]["bound"] == {"lower": [0, -1, -2, -3], "upper": [10, 20, 30, 40]}


def test_a_folder_with_an_equals_sign_holds_files(run, home):
    (home / "year=2024").mkdir(exist_ok=True)
    (home / "year=2024" / "b.csv").write_bytes((home / "bounds.csv").read_bytes())
    run("mean patients.csv --bounds year=2024/b.csv --rho 0.5")


WRONG_RANGES = {
    "--bounds age=0-130": "--bounds age=0-130 is neither a file, nor column=lower:upper, as in age=0:130",
    "--bounds age:0:130": "is neither a file, nor column=lower:upper",
    "--bounds age=0:1:2": "is neither a file, nor column=lower:upper",
    "--bounds age=0,5:1,5": "is neither a file, nor column=lower:upper",
    "--bounds age=a:b": "is neither a file, nor column=lower:upper",
    "--bounds 0:130": "--bounds 0:130 has no column: write --bounds age=0:130, for example",
    "--bounds age=130:0": "bounds must have lower < upper in every column, got (130, 0) in column 'age': swap them",
    "--bounds age=0:inf": "must be finite and between",
    "--bounds age=nan:1": "must be finite and between",
    "--bounds weight=0:1": "there is no column 'weight': the columns are age, height",
    "--bounds =0:1": "there is no column '': the columns are age, height",
    "--bounds age=0:1 --bounds age=0:2": "has two ranges for column 'age': keep one",
    "--bounds age=0:1 --bounds bounds.csv": "bounds.csv is a file: name one file and no ranges, or a range",
    "--bounds bounds.csv --bounds bounds.csv": "bounds.csv is a file: name one file and no ranges",
    "--bounds age=0:1 --columns age,height": "no range for column 'height': add --bounds height=lower:upper",
    "--bounds age=0:1 --bounds height=0:1 --columns age": "a range for 'height', which is not in --columns: add it",
    "--bounds age=0:1 --lower 0 --upper 1": "--bounds excludes --lower and --upper: give one or the other",
    "--bounds age=0:1 --norm-bound 3": "exactly one of --norm-bound and --bounds",
}


@pytest.mark.parametrize("typed", WRONG_RANGES)
def test_ranges_that_cannot_be_used_cost_nothing(typed, run, home):
    ledger = home / "unspent.json"
    done = run(f"mean patients.csv {typed} --rho 0.5 --ledger unspent.json --ledger-rho 1", 2)
    assert WRONG_RANGES[typed] in done.stderr
    assert not ledger.exists() or not dpmean.Ledger(ledger).entries


def test_ranges_by_name_are_for_columns_with_names(run):
    vectors = run("mean embeddings.parquet --vector-column embedding --bounds a=0:1 --rho 0.5", 2).stderr
    assert "--bounds names columns, and --vector-column has none" in vectors
    for typed in ("--bounds age=0:1", "--bounds 1=0:1 --bounds 2=0:1"):
        assert "give each a range by its number from 0" in run(f"mean data.npy {typed} --rho 0.5", 2).stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,0,130\n", "must begin with the header column,lower,upper"),
        ("column,lower,upper\n", "has no lines below its header"),
        ("column,lower,upper\nage,0\n", "line 2 of .* must be the name of a column and two numbers"),
        ("column,lower,upper\nage,0,x\n", "line 2 of .* must be the name of a column and two numbers"),
        ("column,lower,upper\nage,0,1\nage,0,2\n", "two lines for column 'age'"),
        ("column,lower,upper\nage,2,1\nheight,1,2\n", "lower < upper"),
        ("column,lower,upper\nweight,0,1\n", "no column 'weight'"),
    ],
)
def test_a_file_of_ranges_that_cannot_be_used(run, home, text, words):
    (home / "wrong.csv").write_text(text)
    assert re.search(words, run("mean patients.csv --rho 1 --bounds wrong.csv", 2).stderr)


@pytest.mark.parametrize("trust", ["local", "shuffle"])
def test_other_trust_models_play_devices_in_memory(run, trust):
    budget = "--epsilon 8" if trust == "local" else "--epsilon 2 --delta 1e-6"
    found = run(f"mean patients.csv --bounds bounds.csv {budget} --trust {trust} --json")
    assert dpmean.Release.from_json(found.stdout).columns == ("age", "height")
    assert dpmean.Release.from_json(found.stdout).trust == trust
    assert run(f"mean data.npy --norm-bound 60 {budget} --trust {trust} --format csv").stdout.count("\n") == 5


def test_groups_and_persons(run, home):
    command = "mean visits.csv --bounds bounds.csv --by clinic --privacy-unit patient --rho 0.5"
    found = dpmean.GroupedRelease.from_json(run(f"{command} --groups A,B,C,Z --json").stdout)
    assert set(found.released) == {"A", "B", "C"}
    assert set(found.refused) == {"Z"}
    (home / "clinics.txt").write_text("A\nZ\n\n")
    table = run(f"{command} --groups clinics.txt --format csv").stdout.splitlines()
    assert table[0].startswith("clinic,column,mean,lower,upper,")
    assert table[0].endswith(",values,values_std,n,refused")
    names = ("age", "height")
    assert [line.split(",")[:2] for line in table[1:]] == [[label, name] for label in "AZ" for name in names]
    assert '"it has no rows' not in table[1]
    assert table[3].split(",")[2:13] == [""] * 11
    text = run(f"{command} --groups A,B --population --count-values").stdout
    assert re.search(r"^ +persons +95 % interval, +95 % interval,$", text, re.MULTILINE)
    assert re.search(r"^clinic +\(noisy\) .* population( +values)?$", text, re.MULTILINE)
    text = run(f"{command} --groups A,B --population --count-values --explain").stdout
    assert re.search(r"values +persons with a value, each with noise of std", text)
    assert "\nSteps, " in text
    text = run(f"{command} --groups A,Z --sizes public").stdout
    assert "Private means of 2 groups by clinic" in text
    assert re.search(r"\nclinic +persons +column +mean +95 % confidence interval\n", text)
    assert "refused    1 of 2 groups was refused (Z): it has no persons; check the labels" in text
    assert "several rows" not in text
    text = " ".join(run(f"{command} --groups X,Z --sizes public --out refused.json", 3).stdout.split())
    assert set(dpmean.GroupedRelease.from_json((home / "refused.json").read_text()).refused) == {"X", "Z"}
    assert "2 groups by clinic: all were refused" in text
    assert "both groups were refused: each has no persons; check the labels" in text


def test_words_on_a_page_are_checked_before_anything_is_spent(run, home):
    command = "mean patients.csv --lower 0 --upper 250 --columns age,height --rho 0.4 --report words.html"
    words = "--label 'age=Age at <admission>' --unit age=years --about 'All of 2024.' --contact me --title Patients"
    run(f"{command} {words}")
    page = (home / "words.html").read_text()
    for part in ("Age at &lt;admission&gt;", "0 to 250", "All of 2024.", "Contact: ", "<title>Patients</title>"):
        assert part in page
    run("mean data.npy --norm-bound 60 --rho 0.4 --report words.html --label 1=second")
    assert "second" in (home / "words.html").read_text()
    by = "--columns age,height --by clinic --groups A,B --privacy-unit patient --lower 0 --upper 250"
    run(f"mean visits.csv {by} --rho 0.4 --report words.html --unit height=cm")
    assert 'height</bdi><span class="soft"> (cm)' in (home / "words.html").read_text()
    ledger = "--ledger words.json --ledger-rho 1"
    for more, code, said in (
        ("--label agee=x", 2, "labels: there is no column 'agee': the columns are age, height"),
        ("--label age", 2, "'age' must be a column and text, as in age=years"),
        ("--unit age=x --unit age=y", 2, "--unit names the column 'age' more than once"),
        ("--about ' '", 2, "about is empty"),
    ):
        assert said in run(f"{command} {ledger} {more}", code).stderr
    for file in ("patients.csv", "visits.csv"):
        assert (
            "there is no column 'agee'"
            in run(f"mean {file} --norm-bound 9 --rho 0.4 {ledger} --report words.html --label agee=x", 2).stderr
        )
    assert (
        "labels: there is no column 4: the columns have no names"
        in run(f"mean data.npy --norm-bound 9 --rho 0.4 {ledger} --report words.html --label 4=x", 2).stderr
    )
    assert (
        "--about is for the page: add --report FILE.html"
        in run(f"{command.partition(' --rep')[0]} --about x", 2).stderr
    )
    assert not (home / "words.json").exists()


def test_words_about_columns_ask_no_row_of_a_group_that_is_not_listed(run, home):
    import pyarrow as pa
    from pyarrow import parquet

    listed = np.random.default_rng(0).normal(size=(N, 2)).tolist()
    command = "mean vectors.parquet --vector-column v --by g --groups A --norm-bound 4 --rho 1 --report words.html"
    for other in ([1.0], [1.0] * 7):
        parquet.write_table(pa.table({"g": ["B", *["A"] * N], "v": [other, *listed]}), home / "vectors.parquet")
        run(f"{command} --label 1=second")
        assert "second" in (home / "words.html").read_text()
        refused = run(f"{command} --label 5=x", 2).stderr
        assert "labels: there is no column 5: the columns have no names, so count them, from 0 to 1" in refused


def test_groups_by_several_columns(run, home):
    command = "mean visits.csv --columns age --lower 0 --upper 130 --by clinic --by sex --rho 0.5"
    found = dpmean.GroupedRelease.from_json(run(f"{command} --groups A:f,B:m,Z:f --json").stdout)
    assert found.by == ("clinic", "sex")
    assert set(found.released) == {("A", "f"), ("B", "m")}
    (home / "pairs.txt").write_text('A,f\n"B", m\n\nZ,"x,y"\n')
    table = run(f"{command} --groups pairs.txt --format csv").stdout.splitlines()
    assert table[0] == f"clinic,sex,{HEAD},n,refused"
    assert [line.split(",")[:3] for line in table[1:3]] == [["A", "f", "age"], ["B", "m", "age"]]
    assert table[3].startswith('Z,"x,y",age,,,')
    text = run(f"{command} --groups A:f,Z:m").stdout
    assert "Private means of age in 2 groups by clinic and sex" in text
    assert re.search(r"\nclinic and sex +rows \(noisy\) +mean", text)
    assert re.search(r"\nA, f +\d+ ", text)
    assert "1 of 2 groups was refused (Z, m): " in text
    for groups, words in (
        ("A:f,B", "--groups B must have 2 values, one for each --by, separated by colons"),
        ("A:f:x", "--groups A:f:x must have 2 values"),
    ):
        assert words in " ".join(run(f"{command} --groups {groups}", 2).stderr.split())
    (home / "odd.txt").write_text("A,f\nB\n")
    assert "'B' must have 2 values, one for each --by" in run(f"{command} --groups odd.txt", 2).stderr
    (home / "open.txt").write_text('A,"f\n')
    assert "must be a CSV file with one line per group" in run(f"{command} --groups open.txt", 2).stderr
    checked = " ".join(run("check visits.csv --by clinic --by sex --groups A:f").stdout.split())
    assert "--by clinic --by sex --groups A:f" in checked


def test_a_ledger_is_charged_before_anything_is_shown(run):
    command = "mean data.npy --rho 0.4 --norm-bound 60 --ledger charged.json --dataset rows --neighbours replace-one"
    assert "rho = 0.6 is left for rows" in run(f"{command} --ledger-rho 1").stderr
    run(command)
    done = run(f"{command} --dataset ' rows '", 4)
    assert done.stdout == ""
    assert "costs rho = 0.4, and only rho = 0.2 is left: ask for at most --rho 0.2" in done.stderr
    shown = run("ledger show charged.json").stdout
    assert "rows: rho = 1" in shown
    assert shown.count("refined, 3000 rows, 4 columns") == 2
    document = json.loads(run("ledger show charged.json --json").stdout)["datasets"]["rows"]
    assert (document["budget"], document["neighbours"]) == ({"rho": 1.0}, "replace-one")
    assert document["left"] <= 0.2 <= document["left"] + 1e-15
    assert [entry["n"] for entry in document["entries"]] == [N, N]
    first = document["entries"][0]
    assert (first["cost"], first["neighbours"], first["unit"]) == ({"rho": "2/5"}, "replace-one", None)
    run("mean data.npy --rho 0.01 --norm-bound 60 --ledger charged.json --dataset rows")
    document = json.loads(run("ledger show charged.json --json").stdout)["datasets"]["rows"]
    last = document["entries"][-1]
    assert (last["cost"], last["neighbours"]) == ({"rho": "1/25"}, "replace-one")
    assert last["what"] == "refined, add-or-remove-one at 4 rho"
    run("mean data.npy --epsilon 1 --delta 1e-6 --norm-bound 60 --trust shuffle --ledger charged.json", 2)
    run(
        "mean data.npy --epsilon 1 --delta 1e-6 --norm-bound 60 --trust shuffle --ledger charged.json "
        "--dataset s --ledger-epsilon 2 --ledger-delta 1e-6"
    )
    assert "s: epsilon = 2, delta = 1e-06" in run("ledger show charged.json --dataset s").stdout
    shown = run("ledger show charged.json --dataset s").stdout
    document = json.loads(run("ledger show charged.json --dataset s --json").stdout)["datasets"]["s"]
    spent = dpmean.Ledger("charged.json", dataset="s").spent
    assert spent <= Fraction(document["spent"]) < spent + Fraction(1, 10**9)
    assert re.search(rf"spent, at delta = 1e-06, at any time +{digits(spent, up=True)}", shown)


def test_a_ledger_may_be_begun_for_both_kinds_of_neighbours(run):
    command = "mean data.npy --rho 0.1 --norm-bound 60 --ledger both.json"
    done = run(f"{command} --ledger-rho 1 --ledger-neighbours replace-one")
    assert "rho = 0.6 is left for data" in done.stderr
    assert "rho = 0.5 is left for data" in run(f"{command} --neighbours replace-one").stderr
    done = run(f"{command} --rho 0.3", 4)
    assert "costs rho = 1.2 in a ledger of replace-one (4 rho, because it is about add-or-remove-one)" in done.stderr
    run("mean data.npy --rho 0.1 --norm-bound 60 --ledger one.json --ledger-rho 1")
    done = run("mean data.npy --rho 0.1 --norm-bound 60 --ledger one.json --neighbours replace-one", 2)
    assert "replace-one publishes the number of rows" in done.stderr
    run("mean data.npy --rho 0.1 --norm-bound 60 --ledger-neighbours replace-one", 2)


def test_a_release_that_was_paid_for_is_not_lost_with_its_file(run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    done = run("mean data.npy --rho 0.5 --norm-bound 60 --neighbours replace-one --out lost.json", 3)
    assert "cannot write lost.json: no space left on device; the release is printed instead" in done.stderr
    assert dpmean.Release.from_json(done.stdout).n == N
    done = run("mean data.npy --rho 0.5 --norm-bound 60 --neighbours replace-one --out lost.json --json", 3)
    assert json.loads(done.stdout)["error"]["kind"] == "data"
    assert dpmean.Release.from_json(done.stderr).n == N


CLASHES = {
    "mean data.npy --ledger mine.json --out mine.json": "--out and --ledger are the same file",
    "mean data.npy --ledger mine.json --out ./mine.json": "--out and --ledger are the same file",
    "mean data.npy --ledger mine.json --report mine.json": "--report and --ledger are the same file",
    "mean data.npy --ledger mine.json --out link.json": "--out and --ledger are the same file",
    "mean data.npy --ledger mine.json --out mine.json.lock --format json": "--out and --ledger are the same file",
    "mean data.npy --ledger mine.json --out mine.json.tmp --format json": "--out and --ledger are the same file",
    "mean data.npy --out same.json --report same.json": "--out and --report are the same file",
    "mean data.npy --out data.npy": "--out data.npy is one of the files in DATA",
    "mean 'dat?.npy' --out data.npy": "--out data.npy is one of the files in DATA",
    "mean data.npy --out hard.npy": "--out hard.npy is one of the files in DATA",
    "mean . --out new.csv": "--out new.csv is one of the files in DATA",
    "mean patients.csv --bounds bounds.csv --out bounds.csv": "--out and --bounds are the same file",
    "mean visits.csv --by clinic --groups labels.txt --report labels.txt": "--report and --groups are the same file",
}


@pytest.mark.parametrize("line", CLASHES)
def test_nothing_is_written_over_what_is_read_or_kept(line, run, home):
    ledger = dpmean.Ledger(home / "mine.json", rho=1)
    (home / "labels.txt").write_text("A\nB\n")
    for name, real in (("link.json", "mine.json"), ("hard.npy", "data.npy")):
        (home / name).unlink(missing_ok=True)
        (Path.symlink_to if name == "link.json" else Path.hardlink_to)(home / name, home / real)
    before = {file.name: file.read_bytes() for file in home.iterdir() if file.is_file()}
    bound = "" if "--bounds" in line else "--norm-bound 60"
    assert CLASHES[line] in run(f"{line} --rho 0.5 {bound}", 2).stderr
    assert {file.name: file.read_bytes() for file in home.iterdir() if file.is_file()} == before
    assert ledger.left == 1
    (home / "hard.npy").unlink()


def test_a_page_that_cannot_be_written_is_a_matter_of_files(run, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(dpmean, "report", full, raising=False)
    done = run("mean data.npy --rho 0.5 --norm-bound 60 --neighbours replace-one --report full.html", 3)
    assert "cannot write full.html: no space left on device" in done.stderr
    assert "Private mean of 3000 rows" in done.stdout
    done = run("mean data.npy --rho 0.5 --norm-bound 60 --neighbours replace-one --report full.html --json", 3)
    assert json.loads(done.stdout)["error"]["kind"] == "data"
    assert dpmean.Release.from_json(done.stderr).n == N


def test_plans_and_conversions(run):
    assert "0.00612 spreads" in run("plan --n 4000 --d 128 --rho 0.5 --neighbours replace-one").stdout
    assert "0.00319 spreads" in run("plan --n 4000 --d 128 --rho 0.5").stdout
    found = json.loads(run("plan --n 4000 --d 128 --rho 0.5 --json").stdout)
    assert (found["verdict"], found["budget"], found["traffic"]) == ("fine", {"rho": 0.5}, None)
    assert found["neighbours"] == "add-or-remove-one"
    assert found["error"] == dpmean.plan(4000, 128, rho=0.5).error
    assert json.loads(run("plan --n 5 --d 9999 --rho 0.5 --json").stdout)["verdict"] == "hopeless"
    shuffled = json.loads(run("plan --n 20000 --d 8 --epsilon 1 --delta 1e-9 --trust shuffle --json").stdout)
    assert shuffled["traffic"]["messages"] > 1
    assert run("convert --rho 0.5 --delta 1e-6").stdout == "rho = 0.5 implies epsilon = 5.22154 at delta = 1e-06\n"
    assert "rho = 0.0243559 is the largest rho" in run("convert --epsilon 1 --delta 1e-6").stdout
    assert json.loads(run("convert --epsilon 1 --json").stdout) == {"rho": 0.5, "epsilon": 1.0, "delta": None}
    there = json.loads(run("convert --rho 0.5 --delta 1e-6 --json").stdout)
    assert there["epsilon"] >= dpmean.tight_epsilon(dpmean.Zcdp(0.5), 1e-6)
    back = json.loads(run(f"convert --epsilon {there['epsilon']} --delta 1e-6 --json").stdout)
    assert 0.4999999 < back["rho"] < 0.5000001
    assert "at delta = 2.78623e-14" in run("convert --rho 0.5 --epsilon 8").stdout


def test_a_page_has_readable_names_of_groups_and_a_date(run, home):
    shared = "mean visits.csv --columns age --lower 0 --upper 130 --rho 0.5 --report words.html --date 'May 2025'"
    run(f"{shared} --by clinic --groups A,B --group-label 'A=Surgery'")
    page = (home / "words.html").read_text()
    assert "Surgery" in page
    assert "May 2025" in page
    run(f"{shared} --by clinic --by sex --groups A:f,B:m --group-label f=women --group-label 'B:m=Men of B'")
    page = (home / "words.html").read_text()
    assert "A, women" in page
    assert "Men of B" in page
    for line, words in (
        ("--group-label C=x", "group_labels: there is no group 'C': the groups are A, B"),
        ("--group-label A=x --group-label A=y", "--group-label names the group 'A' more than once"),
        ("--label A=x", "labels is for columns, and 'A' is a group: name groups with --group-label"),
        ("--group-label A", "'A' must be a group and text, as in m=Men"),
    ):
        assert words in run(f"{shared} --by clinic --groups A,B {line}", 2).stderr
    assert "this is a release of one mean" in run(f"{shared} --group-label A=x", 2).stderr
    assert "--date is for the page" in run("mean data.npy --norm-bound 60 --rho 0.4 --date 2025", 2).stderr


def test_the_difference_of_two_groups_is_that_of_the_library(run, home):
    groups = dpmean.GroupedRelease.from_json((home / "clinics.json").read_text())
    for option, arguments in (
        ("", {}),
        ("--confidence 0.9", {"confidence": 0.9}),
        ("--population", {"of": "population"}),
    ):
        found = groups.difference("B", "A", **arguments)
        document = json.loads(run(f"difference clinics.json B A --json {option}").stdout)
        assert (document["groups"], document["of"]) == (["B", "A"], found.of)
        assert document["confidence"] == found.confidence
        assert document["columns"] == found.to_frame().to_dict("records")
        done = run(f"difference clinics.json B A {option}")
        assert "B minus A" in done.stdout
        margin = (found.upper[0] - found.lower[0]) / 2
        assert set(between(found.lower[0], found.upper[0], margin).split(" to ")) <= set(done.stdout.split())
        assert "PROTECTS NOBODY" in done.stderr
    assert json.loads(run("difference by_sex.json A:f B:f --json").stdout)["groups"] == ["A, f", "B, f"]


@pytest.mark.parametrize(
    ("line", "words", "code"),
    [
        ("clinics.json A C", "there is no group C: the groups are A, B, Z", 2),
        ("by_sex.json A B", "there is no group A: the groups are A:f, B:f", 2),
        ("clinics.json A A", "FIRST and SECOND are both A: name two different groups", 2),
        ("clinics.json A Z", "there is no difference, as the group Z has no mean: ", 2),
        ("clinics.json A B --confidence 95", "confidence must lie between 0 and 1", 2),
        ("nothing.json A B", "nothing.json: no such file", 3),
        ("data.npy A B", "data.npy must be the JSON of a release of groups", 3),
    ],
)
def test_a_difference_that_there_is_not_is_refused(run, line, words, code):
    assert words in run(f"difference {line}", code).stderr


def test_noise_follows_scales_unless_asked_otherwise(run, home):
    command = "mean patients.csv --bounds bounds.csv --rho 0.5 --seed 1"
    settings = {"columns": ["age", "height"], "bounds": {"age": (0, 130), "height": (50, 250)}, "rho": 0.5, "seed": 1}
    file, given = str(home / "patients.csv"), {"age": 12.0, "height": 8.5}
    for option, shape in (
        *(("", "auto"), ("--shape auto", "auto"), ("--shape round", "round")),
        *(("--shape 12,8.5", [12, 8.5]), ("--shape age=12,height=8.5", given), ("--shape 'height=8.5, age=12'", given)),
    ):
        found = run(f"{command} --json {option}").stdout
        assert found == dpmean.mean(file, shape=shape, **settings).to_json() + "\n"
    assert json.loads(found)["scales"]["values"] == [12.0, 8.5]
    assert json.loads(found)["scales"]["kind"] == "given"
    assert "scales" not in json.loads(run(f"{command} --json --shape round").stdout)
    shown = run(f"{command} --explain").stdout
    assert "rough scale" in shown
    assert re.search(r"scales +standard deviations of columns: \S+ \(", shown)
    shown = run(f"{command} --shape round --explain").stdout
    assert "rough scale" not in shown
    assert re.search(r"scales +not asked for: noise is in proportion to the ranges", shown)
    groups = "mean visits.csv --columns age,height --bounds bounds.csv --by clinic --groups A,B --rho 0.5 --json"
    found = json.loads(run(f"{groups} --shape 12,8.5").stdout)
    assert all(group["release"]["scales"]["values"] == [12.0, 8.5] for group in found["groups"])
    found = run(f"{command} --shape 12,8.5 --format csv").stdout.splitlines()
    assert [line["scale"] for line in csv.DictReader(found)] == ["12.0", "8.5"]
    found = run(f"{command} --shape round --format csv").stdout.splitlines()
    assert [line["scale"] for line in csv.DictReader(found)] == ["", ""]


def test_help_says_what_a_shape_is(run):
    words = " ".join(run("mean --help").stdout.split())
    assert "find the scales of the columns, and let the noise follow them; round: do not;" in words
    assert "or scales that you know, as in 18,25000 or age=18,income=25000" in words
    assert "as in 1.5,20,3; names are ignored." in " ".join(run("plan --help").stdout.split())
    given = {run(f"plan --n 4000 --d 2 --rho 1 --shape {shape}").stdout for shape in ("1,40", "age=1,pay=40")}
    assert len(given) == 1


def test_a_plan_says_what_scales_cost_and_gain(run):
    found = run("plan --n 4000 --d 8 --rho 1").stdout
    words = r"finding the scales of columns takes up to \S+ % of the budget with norm_bound,\s+about \S+ % with bounds"
    assert re.search(words, found)
    assert "scale" not in run("plan --n 4000 --d 8 --rho 1 --shape round").stdout
    given = json.loads(run("plan --n 4000 --d 2 --rho 1 --shape 1,100 --json").stdout)
    plain = json.loads(run("plan --n 4000 --d 2 --rho 1 --json").stdout)
    assert given["scales"]["gain"] == pytest.approx(101 / 20002**0.5)
    assert [given["scales"][name] for name in ("norm_bound", "bounds")] == [None, None]
    assert given["error"] < plain["error"]
    assert set(plain["scales"]) == {"norm_bound", "bounds", "gain", "rows_norm_bound", "rows_bounds"}
    assert json.loads(run("plan --n 4000 --d 2 --rho 1 --shape round --json").stdout)["scales"] is None


def test_an_audit_says_what_it_found(run, monkeypatch):
    found = json.loads(run("audit --only 'local bit' --runs 2000 --json").stdout)
    assert found["mechanisms"]["local bit"]["claimed"] == 1
    assert 0 < found["mechanisms"]["local bit"]["found"] <= 1
    assert not found["mechanisms"]["local bit"]["refuted"]
    assert "not refuted" in run("audit --only 'local bit' --runs 200").stdout
    from dpmean.audit.attacks import catalogue
    from tests.audit.broken import broken_targets

    monkeypatch.setattr(catalogue, "targets", broken_targets)
    name = next(iter(broken_targets()))
    assert "REFUTED" in run(f"audit --only '{name}' --runs 20000", 1).stdout


def test_the_demonstration_draws(run):
    text = run("demo").stdout
    assert "the true mean" in text
    assert "l2 error" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_produced(run, shell):
    assert "_DPMEAN_COMPLETE" in run(f"completion {shell}").stdout


def test_a_plan_finds_what_an_error_takes(run):
    printed = run("plan --n 4000 --d 128 --error 0.01").stdout
    assert "rho = 0.05241 is the smallest that promises an error of 0.01" in printed
    found = json.loads(run("plan --d 8 --rho 1/10 --error 0.5 --scale 18 --rows skewed --json").stdout)
    outlook = dpmean.plan(d=8, rho=0.1, error=0.5, scale=18, rows="skewed")
    assert found["goal"] == {"error": 0.5, "name": "n", "amount": outlook.n, "delta": None}
    assert (found["n"], found["scale"], found["rows"], found["error"]) == (outlook.n, 18, "skewed", outlook.error)
    assert json.loads(run("plan --n 4000 --d 128 --rho 0.5 --json").stdout)["goal"] is None


def test_kinds_of_rows_are_completed():
    words = {"COMP_WORDS": "dpmean plan --rows sk", "COMP_CWORD": "3"}
    asked = {**os.environ, "_DPMEAN_COMPLETE": "bash_complete", **words}
    done = subprocess.run([sys.executable, "-m", "dpmean"], env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "plain,skewed"


def test_what_is_completed():
    asked = {**os.environ, "_DPMEAN_COMPLETE": "bash_complete", "COMP_WORDS": "dpmean pl", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "dpmean"], env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "plain,plan"


# --- real processes ------------------------------------------------------------------------------------------


def process(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "dpmean", *arguments], capture_output=True, text=True, check=False, **more
    )


def test_the_module_is_the_command(home):
    assert process("--version").stdout.startswith("dpmean, version")
    done = process(*MEAN, "--json", cwd=home)
    assert done.returncode == 0
    assert done.stderr == ""
    assert dpmean.Release.from_json(done.stdout).n == N
    done = process("mean", "nothing.npy", "--rho", "0.5", "--norm-bound", "60", cwd=home)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1


def into_a_closed_pipe(home, *arguments):
    """Return how a command ends that nobody reads, and what it says besides."""
    with subprocess.Popen(
        [sys.executable, "-m", "dpmean", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=home
    ) as done:
        done.stdout.close()
        said = done.stderr.read().decode()
    return done.returncode, said


MEAN = ("mean", "data.npy", "--rho", "0.5", "--norm-bound", "60", "--neighbours", "replace-one")


@pytest.mark.parametrize(
    "line", ["--help", "figure list", "plan --n 4000 --d 9 --rho 1", "convert --rho 1 --delta 1e-6"]
)
def test_a_closed_pipe_is_no_error(home, line):
    assert into_a_closed_pipe(home, *line.split()) == (0, "")


@pytest.mark.parametrize("options", [(), ("--json",), ("--format", "csv")], ids=" ".join)
def test_a_release_that_nobody_reads_is_not_lost(home, options):
    code, said = into_a_closed_pipe(home, *MEAN, "--report", "unread.html", *options)
    assert (code, said) == (0, "" if "--json" in options else "written to unread.html\n")
    assert "<html" in (home / "unread.html").read_text()
    (home / "unread.html").unlink()
    code, said = into_a_closed_pipe(home, *MEAN, *options)
    release, *trouble = said.splitlines()
    assert code == 3
    assert dpmean.Release.from_json(release).n == N
    assert "--json" in options or trouble[0].startswith("dpmean: cannot print: broken pipe")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
@pytest.mark.parametrize("options", [(), ("--json",), ("--format", "csv")], ids=" ".join)
def test_a_release_that_cannot_be_printed_goes_to_the_error_output(home, options):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpmean", *MEAN, *options],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home,
            check=False,
        )
    release, *trouble = done.stderr.splitlines()
    assert done.returncode == 3
    assert dpmean.Release.from_json(release).n == N
    assert "--json" in options or "cannot print: no space left on device" in trouble[0]


def test_signs_that_an_output_does_not_have_are_written_otherwise(home):
    lines = ["é", *map(str, np.linspace(0.0, 1.0, 4000).tolist())]
    (home / "accents.csv").write_text("\n".join(lines), encoding="utf-8")
    command = ("mean", "accents.csv", "--rho", "0.5", "--lower", "0", "--upper", "1", "--columns", "é")
    done = process(*command, cwd=home, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^e +0\.", done.stdout, re.MULTILINE)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_a_stopped_command_says_so(home):
    command = [sys.executable, "-u", "-m", "dpmean", "audit", "--runs", "1000000", "--only", "noisy sum"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=home) as worker:
        while worker.poll() is None and not _has_begun(worker.pid):
            time.sleep(0.1)
        worker.send_signal(signal.SIGINT)
        out, err = worker.communicate(timeout=60)
    assert worker.returncode == 130
    assert (out, err.strip()) == ("", "dpmean: interrupted")


def _has_begun(pid):
    """Whether a process has used two seconds of a processor: it is past its imports."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 2


def test_help_loads_no_arrays():
    code = "import sys; from dpmean.cli import main; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# --- what it never shows -------------------------------------------------------------------------------------

ODD = "73519.25"


@pytest.mark.parametrize("value", [ODD, f"x{ODD}", f"{ODD}x", f'"{ODD}', f"{ODD},{ODD}", f"nan({ODD})"])
@pytest.mark.parametrize("place", ["first", "last", "key"])
@pytest.mark.usefixtures("run")
def test_no_output_has_a_value_of_a_row(home, value, place):
    lines = (home / "visits.csv").read_text().splitlines()
    at = 1 if place == "first" else -1
    fields = lines[at].split(",")
    fields[0 if place == "key" else 3] = value
    lines[at] = ",".join(fields)
    (home / "odd.csv").write_text("\n".join(lines))
    shared = "--rho 0.5 --bounds bounds.csv"
    for options in (
        f"{shared}",
        f"{shared} --json",
        f"{shared} --nan impute --format csv",
        f"{shared} --columns age,weight",
        f"{shared} --by clinic --groups A,B --privacy-unit patient",
        f"{shared} --by patient --groups p1,p2",
        f"{shared} --by nothing --groups A",
        f"{shared} --privacy-unit patient --ledger odd.json --ledger-rho 100",
        "--rho 0.5 --norm-bound 500",
        "--epsilon 2 --delta 1e-6 --norm-bound 500 --columns age,height --trust shuffle",
    ):
        done = CliRunner().invoke(main, ["mean", "odd.csv", *options.split()])
        assert done.exit_code in (0, 2, 3)
        assert "73519" not in done.stdout + done.stderr
    if (home / "odd.json").exists():
        assert "73519" not in (home / "odd.json").read_text()
        (home / "odd.json").unlink()


def test_a_first_row_that_is_taken_for_names_is_not_shown(home, run):
    (home / "bare.csv").write_text("\n".join(f"p{i},{ODD}" for i in range(50)))
    for options in ("--columns age", "--by clinic --groups A", "--privacy-unit patient", ""):
        done = run(f"mean bare.csv --rho 0.5 --norm-bound 9 {options}", 3)
        assert "73519" not in done.stdout + done.stderr

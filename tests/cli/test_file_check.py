"""dpmean check: what it says to the holder of the data, and that the command it prints works."""

import json
import re
import shlex

import numpy as np
import pytest
from click.testing import CliRunner

import dpmean
from dpmean.cli import main
from dpmean.cli.file_check_page import BANNER

N = 3000
WRITTEN = "83714"


def call(*words, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(main, [*words], prog_name="dpmean", terminal_width=80)


@pytest.fixture
def people():
    """Return the lines of a file."""
    chance = np.random.default_rng(3)
    return ["who;age;einkommen;note;day"] + [
        f"p{chance.integers(900)};{chance.integers(18, 90)};{chance.normal(30, 9):.2f};fine;2024-01-{i % 28 + 1:02d}"
        for i in range(N)
    ]


def suggested(text):
    """Return the command that a page prints, with what its placeholders stand for."""
    line = re.search(r"^  (dpmean mean .*)$", text, re.MULTILINE)[1]
    groups = "fine:2024-01-01" if line.count("--by ") > 1 else "fine"
    for word, value in (("LOWER", "0"), ("UPPER", "200"), ("GROUPS", groups), ("LONGEST", "9")):
        line = line.replace(word, value)
    return shlex.split(line)[1:]


OPTIONS = [
    "",
    "--columns age",
    "--columns einkommen,age --privacy-unit who",
    "--lower 0 --upper 130 --columns age",
    "--by note --columns age",
    "--by note --groups fine,bad --columns age --privacy-unit who",
    "--by note --by day --columns age",
    "--sep ; --encoding utf-8",
    "--bounds bounds.csv",
    "--bounds age=0:130.25 --bounds einkommen=-1e3:1234567.5",
    "--columns age --bounds bounds.csv",
]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_command_that_is_printed_works(options, people, tmp_path):
    (tmp_path / "a file.csv").write_text("\n".join(people))
    (tmp_path / "bounds.csv").write_text("column,lower,upper\nage,0,130\neinkommen,0,200\n")
    done = call("check", "a file.csv", *shlex.split(options), folder=tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(BANNER)
    words = suggested(done.stdout)
    assert words[:2] == ["mean", "a file.csv"]
    found = call(*words, folder=tmp_path)
    assert found.exit_code == (3 if "--by day" in options else 0), found.output  # few rows are of one day
    assert "judging" not in found.stderr


@pytest.mark.parametrize(
    ("change", "said", "options"),
    [
        ("p1;<83714;3;fine;2024-01-01", "column 'age' has a number with a sign such as < before it: line 8", ""),
        ("p1;83714 kg;3;fine;2024-01-01", "column 'age' has a number with a unit or a currency: line 8", ""),
        ("p1;31.12.2024;3;fine;x", "column 'age' has a date: line 8", ""),
        ("p1;3;3;fine", "more or fewer fields than the first line: line 8", ""),
        ('p1;3;3;"fine;x', "a quoted field that does not end on its line", ""),
        (
            ";3;3;fine;x",
            "column 'who' is empty, but every row needs the key of its person: line 8",
            "--privacy-unit who",
        ),
        ("p1;83,71;4;fine;x", "decimal comma (then give --decimal ,): line 8", "--columns age"),
    ],
)
def test_what_stands_in_the_way_is_said_without_a_value(change, said, options, people, tmp_path):
    people[7] = change
    (tmp_path / "t.csv").write_text("\n".join(people))
    done = call("check", "t.csv", *options.split(), folder=tmp_path)
    assert done.exit_code == 1
    assert said in " ".join(done.stdout.split())
    assert WRITTEN not in done.output
    asked = options or "--columns age,einkommen"
    mean = f"mean t.csv {asked} --rho 0.5 --lower 0 --upper 200 --columns age".split()
    assert call(*mean, folder=tmp_path).exit_code == 3


def test_missing_values_and_values_outside_of_bounds_are_said(people, tmp_path):
    people[7], people[9] = "p1;;300;fine;x", "p1;inf;-3;fine;x"
    (tmp_path / "t.csv").write_text("\n".join(people))
    done = call("check", "t.csv", "--columns", "age,einkommen", "--lower", "0", "--upper", "200", folder=tmp_path)
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    for words in ("missing: line 8", "infinite: line 10", "above the bounds: line 8", "below the bounds: line 10"):
        assert words in text
    words = suggested(done.stdout)
    assert words[words.index("--nan") + 1] == "drop"
    assert call(*words, folder=tmp_path).exit_code == 0


def test_an_empty_last_line_of_one_column_is_told_with_the_cure(people, tmp_path):
    ages = [line.split(";")[1] for line in people]
    (tmp_path / "t.csv").write_text("\n".join(ages) + "\n\n")
    mean = ["mean", "t.csv", "--columns", "age", "--lower", "0", "--upper", "130", "--rho", "0.5"]
    refused = call(*mean, folder=tmp_path)
    assert refused.exit_code == 3
    assert "An empty last line of a CSV file with one column is a missing value: remove it" in refused.stderr
    done = call("check", "t.csv", folder=tmp_path)
    assert "empty lines at the end: line 3002; in a file of one column, an empty line is a row" in " ".join(
        done.stdout.split()
    )
    assert json.loads(call("check", "t.csv", "--json", folder=tmp_path).stdout)["empty_end"]["lines"] == [3002]
    assert call(*suggested(done.stdout), folder=tmp_path).exit_code == 0
    (tmp_path / "t.csv").write_text("\n".join(ages) + "\n")
    assert "at the end" not in call("check", "t.csv", folder=tmp_path).stdout
    assert call(*mean, folder=tmp_path).exit_code == 0


def test_one_document_has_everything(people, tmp_path):
    people[7] = ";;3;fine;x"
    (tmp_path / "t.csv").write_text("\n".join(people))
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    done = call("check", "t.csv", "--privacy-unit", "who", "--json", folder=tmp_path)
    found = json.loads(done.stdout)
    assert done.exit_code == 1
    assert (found["warning"], found["works"], found["rows"]) == (BANNER, False, N)
    assert found["keys"][0]["missing"] == {"count": 1, "lines": [8]}
    assert {column["name"]: column["holds"] for column in found["columns"]}["day"] == "text"
    assert shlex.split(found["command"])[:3] == ["dpmean", "mean", "t.csv"]
    done = call("check", "twice.csv", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["obstacles"] == ["two columns of twice.csv have the same name: rename one"]


def test_bounds_are_never_made_of_the_rows(people, tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(people))
    done = call("check", "t.csv", folder=tmp_path)
    assert "--bounds age=LOWER:UPPER --bounds einkommen=LOWER:UPPER" in done.stdout
    assert "must not come from these rows" in " ".join(done.stdout.split())


@pytest.mark.parametrize("text", ["", "age\n", "age,weight\r\n"])
def test_a_file_without_rows_is_said(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    done = call("check", "t.csv", folder=tmp_path)
    assert done.exit_code == 1
    assert "Problems there are no rows" in " ".join(done.stdout.split())


def test_bounds_are_printed_as_they_were_typed(people, tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(people))
    typed = "--bounds age=0:130.25 --bounds einkommen=-1e3:1234567.5"
    assert typed in call("check", "t.csv", *typed.split(), folder=tmp_path).stdout
    typed = "--columns age --lower 0 --upper 1234567.5"
    assert typed in call("check", "t.csv", *typed.split(), folder=tmp_path).stdout


def test_many_columns_share_a_range_or_have_a_file(tmp_path):
    lines = [",".join(f"c{j}" for j in range(20))] + [",".join(["1"] * 20)] * N
    (tmp_path / "t.csv").write_text("\n".join(lines))
    text = " ".join(call("check", "t.csv", folder=tmp_path).stdout.split())
    assert "c19 --lower LOWER --upper UPPER" in text
    assert "list them in a file with the header column,lower,upper: --bounds FILE" in text


@pytest.mark.parametrize("typed", ["", "--lower 0 --upper 200"])
def test_names_with_a_comma_can_be_typed(typed, tmp_path):
    chance = np.random.default_rng(0)
    lines = ['"x, y",a=b:c', *(f"{x:.3f},{y:.3f}" for x, y in chance.normal(50, 9, (N, 2)))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    done = call("check", "t.csv", *typed.split(), folder=tmp_path)
    words = suggested(done.stdout)
    assert "x, y=0:200" in words
    found = call(*words, "--json", folder=tmp_path)
    assert dpmean.Release.from_json(found.stdout).columns == ("x, y", "a=b:c")


def test_few_rows_are_said(people, tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(people[:20]))
    done = call("check", "t.csv", folder=tmp_path)
    assert done.exit_code == 1
    assert re.search(
        r"19 rows are too few for 2 columns and rho = 0.5: at least \d+ are", " ".join(done.stdout.split())
    )


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("check t.csv --columns height", 2, "there is no column 'height': the columns are who, age"),
        ("check t.csv --sep ;;", 2, "sep must be one ASCII character"),
        ("check t.csv --lower 0", 2, "--lower and --upper need each other"),
        ("check t.csv --by note --privacy-unit note", 2, "are the same column"),
        ("check none.csv", 3, "there is no file none.csv"),
        ("check rows.npy", 2, "check is for CSV, Parquet and Arrow files"),
        ("check t.parquet --sep ;", 2, "sep is for CSV files, got a .parquet file"),
        ("check *.csv", 2, "check takes one CSV file"),
        ("check twice.csv", 1, "two columns of twice.csv have the same name"),
    ],
)
def test_wrong_usage_is_told_as_everywhere(line, code, said, people, tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(people))
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    np.save(tmp_path / "rows.npy", np.ones((3, 3)))
    (tmp_path / "t.parquet").write_bytes(b"")
    done = call(*line.split(), folder=tmp_path)
    assert done.exit_code == code
    assert said in " ".join(done.output.split())


def test_persons_without_a_value_are_counted(tmp_path):
    lines = ["who,crp,age", *(f"p{i % 900},{i % 50},{20 + i % 60}" for i in range(N))]
    lines[1], lines[2] = "p0,,20", "p1,NA,20"
    lines[902], lines[1802], lines[2702] = "p1,,20", "p1,inf,20", "p1,n/a,20"
    (tmp_path / "t.csv").write_text("\n".join(lines))
    command = ["check", "t.csv", "--privacy-unit", "who", "--bounds", "crp=0:60", "--bounds", "age=0:130"]
    done = call(*command, folder=tmp_path)
    text = " ".join(done.stdout.split())
    assert "1 of 900 persons has no value in crp" in text
    assert "leaves out persons who have no value at all in one of these columns (1 here);" in text
    assert "value of age" not in text
    document = json.loads(call(*command, "--json", folder=tmp_path).stdout)
    assert [column["persons_without"] for column in document["columns"]] == [None, 1, 0]
    released = call(*suggested(done.stdout), "--neighbours", "add-or-remove-one", folder=tmp_path)
    assert released.exit_code == 0, released.output


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_groups_are_counted_and_small_ones_are_named(kind, tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"who": np.arange(N) // 2, "ward": np.repeat([1, 2, 3], [2000, 900, 100]), "age": 50.0})
    frame["sex"] = np.where(frame.index % 4 < 2, "f", "m")
    getattr(frame, f"to_{kind}")(tmp_path / f"t.{kind}", index=False)
    command = ["check", f"t.{kind}", "--columns", "age", "--lower", "0", "--upper", "130", "--by", "ward"]
    done = call(*command, "--groups", "1,2,7", "--privacy-unit", "who", folder=tmp_path)
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert "1 2000 1000 2 900 450 7 0 0 empty: labels must match exactly" in text
    place = {"csv": "lines 2902, 2903, 2904", "parquet": "rows 2901, 2902, 2903"}[kind]
    assert f"2900 rows are in listed groups, 100 are not; other labels: {place} and 97 more" in text
    done = call(*command, "--by", "sex", "--groups", "1:f,1:m,3:f,3:m", folder=tmp_path)
    text = " ".join(done.stdout.split())
    assert "1, f 1000 1, m 1000 3, f 50 too few 3, m 50 too few" in text
    found = re.search(r"the smallest group has 50 rows and needs rho = ([\d.]+) \(epsilon = [\d.]+ at ", text)
    words = suggested(done.stdout)
    words[words.index("--rho") + 1] = found[1]
    released = call(*words, "--seed", "1", "--json", folder=tmp_path)
    assert not dpmean.GroupedRelease.from_json(released.stdout).refused
    done = call(*command, "--groups", "3", folder=tmp_path)
    assert done.exit_code == 1
    assert "all groups have too few rows for 1 column and rho = 0.5" in " ".join(done.stdout.split())
    done = call(*command, "--groups", "one", folder=tmp_path)
    assert "no row is in a listed group" in " ".join(done.stdout.split())


def test_tables_and_vectors_are_checked_too(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    chance = np.random.default_rng(0)
    parquet.write_table(pa.table({"x": chance.normal(0, 1, N), "name": ["a"] * N}), tmp_path / "t.parquet")
    parquet.write_table(pa.table({"v": list(chance.normal(0, 1, (N, 3)))}), tmp_path / "v.parquet")
    for name in ("t.parquet", "v.parquet"):
        done = call("check", name, folder=tmp_path)
        assert done.exit_code == 0, done.output
        assert call(*suggested(done.stdout), folder=tmp_path).exit_code == 0
    assert "read with" not in done.stdout

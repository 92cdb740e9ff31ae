"""What is found in files: what is no number, what cannot be read, and that a mean stumbles over nothing else."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from dpmean.arguments.dialect import read_dialect
from dpmean.errors import ArgumentError, DataError
from dpmean.rows.files.csv import TextReader
from dpmean.rows.files.csv_records import MISSING
from dpmean.rows.files.dialect import USUAL, Dialect
from dpmean.rows.inspection import findings, text
from dpmean.rows.inspection.findings import Asked, Places
from dpmean.rows.inspection.judgement import judge, where
from dpmean.rows.inspection.tables import inspect_tables
from dpmean.rows.inspection.text import inspect_text
from tests.support.dialects import CORPUS
from tests.support.saved import saved


def nothing(_):
    return None


def look(path, asked=None, dialect=USUAL):
    return inspect_text(path, dialect, asked or Asked(), nothing)


def lines_of(found, name):
    """Return what of a column is no number, with the lines."""
    return {kind: places.lines for kind, places in found.columns[name].others.items()}


@pytest.mark.parametrize("drawn", CORPUS, ids=lambda drawn: str(drawn.number))
def test_what_stands_in_the_way_is_what_a_mean_stumbles_over(drawn, tmp_path):
    """In 200 dialects: nothing stands in the way of exactly those files of which a mean would be released."""
    path = saved(tmp_path / f"t{drawn.suffix}", drawn.write(drawn.lines()))
    asked = Asked(columns=drawn.names[1:3], unit="who", by="note")
    said = drawn.codec.removesuffix("-sig")
    for dialect in (
        read_dialect(drawn.sep, drawn.decimal, said, drawn.quote, "records"),
        read_dialect(drawn.sep, drawn.decimal, said, drawn.quote, "quoted"),
        read_dialect(None, drawn.decimal, None, drawn.quote, "records"),
    ):
        try:
            obstacles = judge(look(path, asked, dialect), asked).obstacles
        except (DataError, ArgumentError):
            obstacles = ["the first line"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reader = TextReader.open(path, asked.columns, asked.keys, dialect)
                for part in range(len(reader.parts)):
                    list(reader.blocks(part))
                for name in asked.keys:
                    reader.keys(name)
                is_read = True
            except (DataError, ArgumentError):
                is_read = False
        assert is_read == (not obstacles), obstacles


ODD = {
    "2024-01-31": "a date",
    "31.12.2024": "a date",
    "1/2/24": "a date",
    "2024-01-31T12:00:00": "a date",
    "12:30": "a time of day",
    "12 %": "a percentage",
    "12.5%": "a percentage",
    "<0.5": "a number with a sign such as < before it",
    "≤ 3": "a number with a sign such as < before it",
    "1,234.5": "a number with a thousands separator",
    "1 234": "a number with a thousands separator",
    "1'234": "a number with a thousands separator",
    "1\u00a0234": "a number with a thousands separator",
    "1,234,567": "a number with a thousands separator",
    "1.234.567,5": "a number with a thousands separator",
    "1,5": "a number with a thousands separator, or with a decimal comma (then give --decimal ,)",
    "$ 12": "a number with a unit or a currency",
    "12€": "a number with a unit or a currency",
    "12 kg": "a number with a unit or a currency",
    "?": "a code for a missing value that is not recognized (write NA)",
    "none": "a code for a missing value that is not recognized (write NA)",
    "yes": "a word for yes or no",
    "fine": "text",
    "1e": "text",
    "0x1p3": "text",
    "1_0": "text",
}


@pytest.mark.parametrize(("word", "kind"), ODD.items())
def test_what_is_no_number_is_named_with_its_line(word, kind, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f'x,y\n1,2\n\n"{word}",3\n4,5\n')
    found = look(path)
    assert lines_of(found, "x") == {kind: [4]}
    assert found.columns["x"].is_mixed
    assert found.columns["y"].is_number
    assert found.columns["y"].whole


@pytest.mark.parametrize(
    "word", ["1", "-2.5", "+3", "1e5", "1E-400", "inf", "-Infinity", "  7 ", "nAn", ".5", "5.", *sorted(MISSING)]
)
def test_what_a_mean_reads_is_a_number_or_missing(word, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"x,y\n1,fine\n{word},fine\ntext,fine\n")
    found = look(path).columns["x"]
    path.write_text(f"x,y\n1,fine\n{word},fine\n")
    try:
        value = next(TextReader.open(path, ["x"]).blocks(0))[1, 0]
    except DataError:
        assert found.others["text"].count == 2
        return
    assert found.others["text"].lines == [4]
    assert found.missing.lines == [3] * bool(np.isnan(value))
    assert found.infinite.lines == [3] * bool(np.isinf(value))


def test_the_words_for_missing_values_are_listed():
    page = (Path(__file__).parents[3] / "docs" / "guide" / "csv_files.md").read_text()
    listed = page.split("and so are these words")[1].split(", and `nan` in any other case")[0]
    assert set(re.findall("`(.+?)`", listed)) | {""} == set(MISSING)


def test_decimal_commas_are_numbers_if_that_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n1,5;1.5\n2,5;2,5\n;x\n")
    found = look(path, dialect=Dialect(decimal=","))
    assert found.columns["x"].is_number
    assert not found.columns["x"].whole
    assert found.columns["x"].missing.lines == [4]
    assert lines_of(found, "y") == {"a number with a thousands separator, or with a decimal point": [2], "text": [4]}


@pytest.mark.parametrize("kind", [".csv", ".csv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_cannot_be_divided_are_told_by_number(kind, end, tmp_path, monkeypatch):
    lines = ["x,note", *(f"{i},fine" for i in range(3000))]
    lines[10], lines[20], lines[30], lines[2000] = "1,2,3", '1,"open', '1,"a"b', "1"
    lines[40] = ""
    path = saved(tmp_path / f"t{kind}", end.join(lines).encode())
    monkeypatch.setattr(text, "_CHUNK_BYTES", 999)
    found = look(path)
    assert {words[:12]: places.lines for words, places in found.faults.items()} == {
        "more or fewe": [11, 2001],
        "a quoted fie": [21],
        "a quote in t": [31],
    }
    assert found.rows == 2999
    assert found.columns["x"].numbers == 2995


@pytest.mark.parametrize("kind", [".csv", ".csv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("last", "told", "missing"),
    [
        ([], [], 1),
        ([""], [], 1),
        (["", ""], [3002], 2),
        (["", "", ""], [3002, 3003], 3),
        (["", "5", ""], [], 2),
        (["", "5", "", "\r"], [3004, 3005], 4),
        (["", '""', ""], [], 3),
    ],
)
def test_empty_lines_at_the_end_of_one_column_are_told_by_number(kind, end, last, told, missing, tmp_path, monkeypatch):
    lines = ["x", *map(str, range(3000)), *last]
    lines[20] = ""
    monkeypatch.setattr(text, "_CHUNK_BYTES", 999)
    found = look(saved(tmp_path / f"t{kind}", end.join(lines).encode()))
    assert found.empty_end.lines == told
    assert found.columns["x"].missing.count == missing
    assert not look(saved(tmp_path / f"w{kind}", end.join(["x,y", "1,2", *[""] * 3]).encode())).empty_end.count


def test_line_breaks_in_quotes_are_counted_as_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,note\n1,"two\nlines"\n?,fine\n2,"three\n\nlines"\n%,fine\n')
    found = look(path, dialect=read_dialect(None, ".", None, '"', "quoted"))
    assert not found.faults
    assert found.rows == 4
    assert {place for lines in lines_of(found, "x").values() for place in lines} == {4, 8}
    path.write_text('x,note\n1,"two\nlines\n2,fine\n')
    found = look(path, dialect=read_dialect(None, ".", None, '"', "quoted"))
    assert {words[:20]: places.lines for words, places in found.faults.items()} == {
        "a quote that is neve": [],
        "a quoted field that ": [2],
        "more or fewer fields": [3],
    }


def test_values_outside_of_bounds_and_missing_ones_are_counted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,-1\n,200\ninf,5\n9,NA\n")
    found = look(path, Asked(bounds={"x": (2, 8), "y": (0, 130)}))
    x, y = found.columns["x"], found.columns["y"]
    assert (x.below.lines, x.above.lines, x.missing.lines, x.infinite.lines) == ([2], [4, 5], [3], [4])
    assert (y.below.lines, y.above.lines, y.missing.lines) == ([2], [3], [5])
    judged = judge(found, Asked(bounds={"x": (2, 8), "y": (0, 130)}))
    assert (judged.columns, judged.lacking, judged.obstacles) == (("x", "y"), True, [])


def test_persons_and_labels_are_counted_and_not_kept(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("who,ward,x\n" + "ann,A,1\n" * 30 + "bob,B,1\n,A,2\n,C,2\neve,A,1\n")
    found = look(path, Asked(unit="who", by="ward", groups=("A", "B")))
    who, ward = found.keys["who"], found.keys["ward"]
    assert sorted(who.counts.values()) == [1, 1, 30]
    assert who.missing.lines == [33]  # a row of a group that is not listed may lack a person
    assert sorted(ward.counts.values()) == [1, 1, 32]
    assert found.listed == 33
    assert "ann" not in repr(found)
    assert any("'who' is empty" in words for words in judge(found, Asked(unit="who")).obstacles)
    monkeypatch.setattr(findings, "MOST_KEYS", 2)
    found = look(path, Asked(unit="who"))
    assert found.keys["who"].full
    assert len(found.keys["who"].counts) == 2


def test_keys_that_are_no_text_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"who,x\na,1\n\xff,2\n")
    found = look(path, Asked(unit="who"))
    assert {words: places.lines for words, places in found.faults.items()} == {
        "column 'who' has text that is not utf-8 (give --encoding)": [3]
    }
    with pytest.raises(ArgumentError, match="there is no column 'whom': the columns are who, x"):
        look(path, Asked(unit="whom"))


def test_columns_that_nobody_asked_for_stand_in_the_way_if_they_seem_to_be_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y,note,id,day\n1,2,fine,p1,2024-01-01\n2,<3,12,p2,2024-01-02\n3,5,ok,7,2024-01-03\n")
    judged = judge(look(path), Asked())
    assert judged.columns == ("x",)
    assert judged.left_out == ["y", "note", "id", "day"]
    assert judged.obstacles == ["column 'y' has a number with a sign such as < before it: line 3"]
    assert judge(look(path, Asked(columns=("x",))), Asked(columns=("x",))).obstacles == []
    assert judge(look(path), Asked(columns=("x", "day"))).obstacles == ["column 'day' has a date: lines 2, 3, 4"]


def test_a_long_column_of_text_is_looked_at_for_a_while(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("x,note\n" + "1,fine\n" * 300 + "1,2\n")
    monkeypatch.setattr(text, "_SURELY_TEXT", 100)
    monkeypatch.setattr(text, "_BLOCK_ROWS", 64)
    column = look(path).columns["note"]
    assert (column.numbers, column.others["text"].count) == (0, 301)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables_say_what_they_hold(kind, tmp_path):
    frame = pd.DataFrame(
        {
            "who": ["a", "b", None, "a"],
            "x": [1.5, np.nan, 3.0, np.inf],
            "n": [1, 2, 3, 400],
            "day": pd.to_datetime(["2024-01-01"] * 4),
        }
    )
    table = pa.Table.from_pandas(frame).append_column("v", pa.array([[1.0], None, [2.0], [3.0]]))
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    asked = Asked(bounds={"x": (0, 2), "n": (0, 130)}, unit="who", by="who", groups=("a",))
    found = inspect_tables([path], asked, nothing)
    assert {name: column.words for name, column in found.columns.items()} == {
        "who": "text",
        "x": "numbers",
        "n": "integers",
        "day": "dates",
        "v": "vectors",
    }
    x, n = found.columns["x"], found.columns["n"]
    assert (x.missing.lines, x.infinite.lines, x.above.lines, n.above.lines) == ([2], [4], [3, 4], [4])
    assert (found.rows, found.listed, found.keys["who"].missing.lines) == (4, 2, [3])
    assert judge(found, Asked(columns=("day",))).obstacles == ["column 'day' holds dates"]
    vectors = judge(inspect_tables([path], Asked(columns=("v",)), nothing), Asked(columns=("v",)))
    assert (vectors.columns, vectors.obstacles) == (("v",), [])


def test_files_that_differ_and_keys_that_cannot_be_ones_stand_in_the_way(tmp_path):
    parquet.write_table(pa.table({"x": [1.0], "y": [2.0], "who": [["a"]]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"x": [1.0], "who": [["a"]]}), tmp_path / "b.parquet")
    asked = Asked(unit="who")
    found = inspect_tables([tmp_path / "a.parquet", tmp_path / "b.parquet"], asked, nothing)
    assert {words[:30]: places.lines for words, places in found.faults.items()} == {
        "column 'who' cannot hold keys:": [1, 2],
        "column 'y' is not in every fil": [2],
    }
    assert len(judge(found, asked).obstacles) == 2
    with pytest.raises(ArgumentError, match="there is no column 'y'"):
        inspect_tables([tmp_path / "b.parquet"], Asked(columns=("y",)), nothing)


def test_places_are_few_and_in_words():
    places = Places()
    places.add(np.arange(2, 4))
    assert where(places, "line") == "lines 2, 3"
    places.add(np.arange(9, 20))
    assert where(places, "line") == "lines 2, 3, 9 and 10 more"

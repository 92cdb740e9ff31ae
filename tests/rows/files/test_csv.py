"""One record, one row: nothing in one record of a CSV file changes how another is read."""

import csv
import io
import random

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv

import dpmean
from dpmean.cli import main
from dpmean.enums import Newlines
from dpmean.errors import ArgumentError, DataError
from dpmean.rows.files.csv import TextReader
from dpmean.rows.files.csv_records import MISSING
from dpmean.rows.files.dialect import Dialect
from tests.support.public import REPLACED
from tests.support.saved import saved

SETTINGS = {"rho": 0.5, "norm_bound": 60.0, "columns": ["x"], "allow_few_rows": True, "seed": 1}
OPEN = "does not end on its line"


def write(path, notes, number=float, head="who,group,x,note"):
    lines = [f"p{i},{'ab'[i % 2]},{number(i)},{note}" for i, note in enumerate(notes)]
    path.write_bytes("\n".join([head, *lines, ""]).encode())
    return path


def rows(reader):
    return np.concatenate([block for part in range(len(reader.parts)) for block in reader.blocks(part)])


def records(reader):
    """Yield the bytes of every record, as they are read part by part."""
    for part, positions in enumerate(reader.parts):
        found = [text[start:stop].tobytes() for text, spans in reader._records(part) for start, stop in spans]
        assert len(found) == len(positions)
        yield from found


WAYS = {
    "mean": lambda path, **more: dpmean.mean(path, **SETTINGS, **more),
    "persons": lambda path, **more: dpmean.mean(path, privacy_unit="who", **SETTINGS, **more),
    "groups": lambda path, **more: dpmean.mean_by(path, by="group", groups=["a", "b"], **SETTINGS, **more),
}


@pytest.mark.parametrize("kind", [".csv", ".csv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_threads_do_not_show(kind, end, tmp_path, monkeypatch):
    """Of many parts, of one column with empty lines at boundaries and at the end, of persons and of groups."""
    numbers = [("" if i % 2048 in (0, 2047) else f"{i % 97}") for i in range(30_000)] + [""]
    lines = [f"p{i % 900},{'ab'[i % 2]},{number},fine" for i, number in enumerate(numbers)]
    one = saved(tmp_path / f"one{kind}", (end.join(["x", *numbers]) + end).encode())
    several = saved(tmp_path / f"several{kind}", end.join(["who,group,x,note", "", *lines, "", "\r"]).encode())
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv("DPMEAN_THREADS", threads)
        releases = [dpmean.mean(one, nan="impute", **REPLACED, **SETTINGS)]
        releases += [WAYS[way](several, nan="impute") for way in WAYS]
        found.append([release.to_json() for release in releases])
        assert releases[0].n == len(numbers)
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("quoted", [False, True])
def test_an_open_quote_swallows_no_other_row(way, quoted, tmp_path):
    notes = ["fine"] * 2000
    notes[5] = '"and so on'
    path = write(tmp_path / "t.csv", notes)
    more = {"newlines": "quoted"} if quoted else {}
    with pytest.raises(DataError, match="never closed" if quoted else OPEN) as caught:
        WAYS[way](path, **more)
    assert ("--newlines quoted" in str(caught.value)) != quoted


@pytest.mark.parametrize("way", WAYS)
def test_a_line_that_swallows_rows_and_injects_others_is_refused(way, tmp_path):
    """An injected row ends in a lone return, which other readers take for the end of a line."""
    notes = ["fine"] * 2000
    notes[1099] = "fine\r" + "\r".join(["q,a,49,fine"] * 900) + '\rq,a,49,"fine'
    with pytest.raises(DataError, match="more or fewer fields"):
        WAYS[way](write(tmp_path / "t.csv", notes))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("note", ["a\rb", "\r", 'a"b', 'a""', '"a\r"', '"a, b"', '"say ""a"""', "\0", "é"])
def test_what_a_note_holds_changes_no_number(note, way, tmp_path):
    plain, other = ["fine"] * 600, ["fine"] * 600
    other[17] = note
    wanted = WAYS[way](write(tmp_path / "a.csv", plain, lambda i: i % 7))
    assert WAYS[way](write(tmp_path / "b.csv", other, lambda i: i % 7)).to_json() == wanted.to_json()


LINES = [f"{i},{i * 2}.5,note {i}".encode() for i in range(9)]


@settings(max_examples=300)
@given(
    line=st.binary(max_size=30).map(lambda line: line.replace(b"\n", b""))
    | st.text('",\r1a', max_size=12).map(str.encode),
    place=st.integers(0, 8),
    last=st.booleans(),
)
def test_any_bytes_of_one_line_leave_all_other_rows_as_they_are(line, place, last, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "line.csv"
    path.write_bytes(b"\n".join([b"a,b,note", *LINES[:place], line, *LINES[place + 1 :]]) + b"\n" * last)
    blank = line in (b"", b"\r")
    try:
        reader = TextReader.open(path, ["b", "a"])
        found = rows(reader)
        picked = np.concatenate([reader.pick(0, np.array([i])) for i in range(reader.shape[0])])
        labels = reader.keys("note").codes
    except DataError:
        return
    wanted = np.array([[2 * i + 0.5, i] for i in range(9) if i != place])
    others = found if blank else np.delete(found, place, axis=0)
    assert np.array_equal(others, wanted)
    assert np.array_equal(picked, found, equal_nan=True)
    assert len(labels) == len(found) == 9 - blank


LINE_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\n") | st.sampled_from('"\r,; 1'), max_size=4)


@settings(max_examples=400)
@given(
    lines=st.lists(LINE_TEXTS, min_size=1, max_size=9),
    ends=st.lists(st.sampled_from(["\n", "\r\n"]), min_size=10, max_size=10),
    text=LINE_TEXTS | st.sampled_from(["", "\r"]),
    place=st.integers(0, 8) | st.just(8),
    ended=st.booleans(),
    head=st.sampled_from(["x", "x,y"]),
    chunk=st.integers(1, 30),
    block=st.integers(1, 4),
    written=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-8 .gz", "utf-8 .zst", "utf-8 quoted"]),
)
def test_whether_a_line_is_a_record_is_decided_by_that_line_alone(
    lines, ends, text, place, ended, head, chunk, block, written, tmp_path_factory
):
    """One column: every line that ends is a record, an empty one too, wherever it is. Several: unless it is empty."""
    place, (encoding, *more) = min(place, len(lines) - 1), written.split()
    if "quoted" in more:
        text, *lines = (line.replace('"', "'") for line in (text, *lines))
    if not ended:
        assume(lines[-1] and (text or place < len(lines) - 1))
        ends[len(lines)] = ""
    path = tmp_path_factory.getbasetemp() / f"t.csv{''.join(kind for kind in more if '.' in kind)}"
    dialect = Dialect(newlines=Newlines.QUOTED if "quoted" in more else Newlines.RECORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpmean.rows.files.csv._CHUNK_BYTES", chunk)
        patch.setattr("dpmean.rows.files.csv.BLOCK_ROWS", block)
        for there in (lines, [*lines[:place], text, *lines[place + 1 :]]):
            ended_lines = [line + end for line, end in zip(there, ends[1:], strict=False)]
            saved(path, "".join([head, ends[0], *ended_lines]).encode(encoding))
            found = list(records(TextReader.open(path, None, dialect=dialect)))
            bare = [line.removesuffix("\n") for line in ended_lines]
            assert found == [line.encode() for line in bare if head == "x" or line not in ("", "\r")]


FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r") | st.sampled_from('",\n'), max_size=8)


@settings(max_examples=200)
@given(notes=st.lists(FIELDS, min_size=1, max_size=30), chunk=st.integers(1, 50), end=st.sampled_from(["\n", "\r\n"]))
def test_quoted_line_breaks_are_read_as_a_conforming_writer_wrote_them(notes, chunk, end, tmp_path_factory):
    path, text = tmp_path_factory.getbasetemp() / "quoted.csv", io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(["note", "x"])
    writer.writerows([note, i] for i, note in enumerate(notes))
    path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpmean.rows.files.csv._CHUNK_BYTES", max(chunk, 12))
        patch.setattr("dpmean.rows.files.csv.BLOCK_ROWS", 4)
        reader = TextReader.open(path, ["x"], dialect=Dialect(newlines=Newlines.QUOTED))
        assert rows(reader)[:, 0].tolist() == list(range(len(notes)))
        assert reader.pick(len(reader.parts) - 1, np.array([0])).tolist() == [[reader.parts[-1].start]]
        keys = reader.keys("note")
    assert [bool(code >= 0) for code in keys.codes] == [bool(note) for note in notes]
    numbers = {note: code for note, code in zip(notes, keys.codes.tolist(), strict=True) if note}
    assert keys.codes.tolist() == [numbers.get(note, -1) for note in notes]
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("note", ['a"b', '"a"b', '"a" ', ' "a"', '""a""'])
def test_a_quote_out_of_place_is_refused_where_quotes_decide(note, tmp_path):
    notes = ["fine"] * 600
    notes[17] = note
    with pytest.raises(DataError, match="in the middle of a field"):
        WAYS["mean"](write(tmp_path / "t.csv", notes), newlines="quoted")


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("way", WAYS)
def test_line_breaks_in_notes_are_read_on_request(way, tmp_path):
    notes = ["fine", '"two\nlines"', '"three\r\n\nlines, and ""quotes"""'] * 1000
    path = write(tmp_path / "t.csv", notes, lambda i: i % 7)
    frame = pd.read_csv(path)
    assert WAYS[way](path, newlines="quoted").to_json() == WAYS[way](frame).to_json()
    with pytest.raises(DataError, match=OPEN):
        WAYS[way](path)


def test_the_command_knows_line_breaks(tmp_path):
    path = write(tmp_path / "t.csv", ['"two\nlines"'] * 600, lambda i: i % 7)
    asked = ["mean", str(path), "--columns", "x", "--rho", "0.5", "--norm-bound", "60"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 3
    assert "--newlines quoted" in done.stderr
    assert CliRunner().invoke(main, [*asked, "--newlines", "quoted"]).exit_code == 0
    assert CliRunner().invoke(main, [*asked, "--newlines", "maybe"]).exit_code == 2
    local = [*asked[:4], "--trust", "local", "--epsilon", "4", "--norm-bound", "60", "--newlines", "quoted"]
    assert CliRunner().invoke(main, [*local, "--allow-few-rows"]).exit_code == 0


def test_line_breaks_are_for_text_files(tmp_path):
    array = np.ones((600, 1))
    np.save(tmp_path / "rows.npy", array)
    with pytest.raises(ArgumentError, match=r'newlines must be "records" or "quoted", got \'maybe\''):
        dpmean.mean(array, rho=0.5, norm_bound=9.0, newlines="maybe")
    for X, words in ((array, "got ndarray"), (tmp_path / "rows.npy", "got a .npy file")):
        for way in ({}, {"privacy_unit": np.arange(600)}):
            with pytest.raises(ArgumentError, match=f"newlines is for CSV files, {words}"):
                dpmean.mean(X, rho=0.5, norm_bound=9.0, newlines="quoted", **way)


def test_numbers_are_written_as_they_were_before(tmp_path):
    """Every value that Arrow's own reader takes for a number is the same number, and nothing else is one."""
    words = [
        "1",
        "-2.5",
        "+3",
        "1e5",
        "1E-400",
        "1e400",
        "inf",
        "-Infinity",
        "  7 ",
        "\t8",
        '"9"',
        "0x1p3",
        "1_0",
        "1,5",
    ]
    words += ["12345678901234567890", ".5", "5.", "-", "e5", "--1", "1e", "nAn", "TRUE", "2024-01-02", "5 %", *MISSING]
    path = tmp_path / "t.csv"
    for word in words:
        path.write_text(f"x,y\n1,1\n{word},1\n")
        try:
            table = arrow_csv.read_csv(path, convert_options=arrow_csv.ConvertOptions(column_types={"x": "float64"}))
            wanted = table.column("x").to_numpy()
        except ValueError:
            with pytest.raises(DataError, match=r"non-numeric|more or fewer"):
                rows(TextReader.open(path, ["x"]))
        else:
            assert np.array_equal(rows(TextReader.open(path, ["x"]))[:, 0], wanted, equal_nan=True)
    assert set(arrow_csv.ConvertOptions().null_values) == MISSING


def test_a_number_is_what_python_takes_for_one(tmp_path):
    """But for underscores, digits of other alphabets and other blanks, which no other reader takes either."""
    chance, path = random.Random(0), tmp_path / "t.csv"
    signs = [
        *"0123456789+-.eEnaifINAFtyx() ",
        "nan",
        "inf",
        "infinity",
        "1e",
        "nan(",
        "e5",
        "0x",
        "1_",
        "\u0661",
        "\x0b",
    ]
    words = ["".join(chance.choice(signs) for _ in range(chance.randint(1, 5))) for _ in range(3000)]
    for word in ["nan(1)", "NaN()", "-nan(x)", *words]:
        path.write_text(f"x\n{word}\n")
        try:
            wanted = np.nan if word.strip(" ") in MISSING else float(word)
            other = any(sign in word for sign in ("_", "\u0661", "\x0b"))
        except ValueError:
            other = True
        if other:
            with pytest.raises(DataError, match="non-numeric"):
                rows(TextReader.open(path, ["x"]))
        else:
            assert np.array_equal(rows(TextReader.open(path, ["x"])), [[wanted]], equal_nan=True)


def test_line_ends_of_old_are_refused_with_the_cure(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    with pytest.raises(DataError, match=r"contains a carriage return: save the file with line feeds \(\\n\)"):
        TextReader.open(tmp_path / "t.csv", None)


def test_text_that_is_not_utf_8_is_refused_as_a_key_and_no_matter_elsewhere(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"who,x,note\n" + b"p,1,fine\n" * 300 + b"p,2,\xff\n" + b"p\xff,3,fine\n")
    assert rows(TextReader.open(path, ["x"])).sum() == 305
    reader = TextReader.open(path, ["x"], ["who"])
    with pytest.raises(DataError, match="not UTF-8"):
        reader.keys("who")


def test_a_first_line_may_be_long_but_must_end(tmp_path, monkeypatch):
    names = [f"c{j}" for j in range(300)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ",".join("1" * 300) + "\n")
    monkeypatch.setattr("dpmean.rows.files.csv._CHUNK_BYTES", 99)
    assert TextReader.open(tmp_path / "t.csv", None).names == tuple(names)
    monkeypatch.setattr("dpmean.rows.files.text.LONGEST_LINE", 999)
    monkeypatch.setattr("dpmean.rows.files.csv_header.LONGEST_LINE", 999)
    with pytest.raises(DataError, match=r"the first line of t\.csv does not end within 64 MB"):
        TextReader.open(tmp_path / "t.csv", None)


def test_semicolons_without_names_are_told(tmp_path):
    (tmp_path / "t.csv").write_text("1;2\n3;4\n")
    with pytest.raises(DataError, match='seems to have semicolons between its columns: give sep=";"'):
        TextReader.open(tmp_path / "t.csv", None)
    assert rows(TextReader.open(tmp_path / "t.csv", None, dialect=Dialect(sep=";"))).tolist() == [[1, 2], [3, 4]]


def test_semicolons_beside_commas_are_no_delimiters(tmp_path):
    (tmp_path / "t.csv").write_text("age;height,x\n1,2\n")
    with pytest.raises(DataError, match=r"rename columns that begin with a digit or contain ; or \|"):
        TextReader.open(tmp_path / "t.csv", None)


def test_names_may_be_quoted_and_hold_delimiters(tmp_path):
    (tmp_path / "t.csv").write_text('"age, in years","height, ""bare""", x ,"y"\n1,2,3,4\n')
    reader = TextReader.open(tmp_path / "t.csv", None)
    assert reader.names == ("age, in years", 'height, "bare', "x", "y")
    assert rows(reader).tolist() == [[1, 2, 3, 4]]


def test_rows_that_are_no_longer_there_are_not_picked(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n3,4\n")
    reader = TextReader.open(tmp_path / "t.csv", None)
    assert reader.pick(0, np.array([0, 1])).tolist() == [[1, 2], [3, 4]]
    assert reader.pick(0, np.array([1, 2, 3])).tolist() == [[3, 4]]

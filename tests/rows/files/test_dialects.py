"""CSV as it comes: 200 dialects, read as pandas and Python's csv read them, or refused; and never otherwise."""

import contextlib
import csv
import encodings.aliases
import gzip
import io
import json
import random
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import dpmean
from dpmean.arguments.dialect import read_dialect
from dpmean.cli import main
from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.files.csv import TextReader
from dpmean.rows.files.csv_records import MISSING
from dpmean.rows.files.dialect import Dialect
from dpmean.rows.files.text import Text
from tests.support.dialects import CORPUS
from tests.support.saved import saved

REFUSED = (DataError, ArgumentError)


def told(drawn):
    """Return what a caller says of such a file."""
    encoding = drawn.codec.removesuffix("-sig")
    return read_dialect(drawn.sep, drawn.decimal, encoding, drawn.quote, "records")


def rows_of(reader):
    """Return all rows."""
    blocks = [block.copy() for part in range(len(reader.parts)) for block in reader.blocks(part)]
    return np.concatenate(blocks) if blocks else np.empty((0, reader.shape[1]))


def read(path, drawn, dialect):
    """Return the numbers of two columns, and the keys of two others; None if the file is refused."""
    columns, keys = list(drawn.names[1:3]), [drawn.names[0], drawn.names[3]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reader = TextReader.open(path, columns, keys, dialect)
            numbers = rows_of(reader)
            labels = [reader.keys(name) for name in keys]
        except REFUSED:
            return None
    words = [[None if code < 0 else str(one.values[int(code)]) for code in one.codes] for one in labels]
    return numbers, words


def text_of(data, drawn):
    """Return the text of a file as Python decodes it."""
    return data.decode("utf-16" if "utf-16" in drawn.codec else drawn.codec).removeprefix("\ufeff")


def by_pandas(data, drawn):
    """Return what pandas reads, or None."""
    given = {"sep": drawn.sep, "decimal": drawn.decimal, "quotechar": drawn.quote, "index_col": False}
    try:
        frame = pd.read_csv(
            io.StringIO(text_of(data, drawn), newline=""),
            **given,
            float_precision="round_trip",
            keep_default_na=False,
            na_values={name: sorted(MISSING) for name in drawn.names[1:3]},
            dtype=dict.fromkeys((drawn.names[0], drawn.names[3]), str),
        )
        numbers = frame[list(drawn.names[1:3])].astype(float).to_numpy()
    except (ValueError, KeyError):
        return None
    return numbers, [[word or None for word in frame[name]] for name in (drawn.names[0], drawn.names[3])]


def by_python(data, drawn):
    """Return what Python's csv reads, or None."""
    lines = io.StringIO(text_of(data, drawn), newline="")
    head, *found = [line for line in csv.reader(lines, delimiter=drawn.sep, quotechar=drawn.quote) if line]
    places = [next((i for i, word in enumerate(head) if word.strip() == name), None) for name in drawn.names]
    if None in places or any(len(line) != len(head) for line in found):
        return None
    try:
        numbers = [[_number(line[place], drawn) for place in places[1:3]] for line in found]
    except ValueError:
        return None
    return np.array(numbers), [[line[place] or None for line in found] for place in (places[0], places[3])]


def _number(word, drawn):
    word = word.strip()
    return np.nan if word in MISSING else float(word.replace(drawn.decimal, "."))


def same(one, other):
    return np.array_equal(one[0], other[0], equal_nan=True) and one[1] == other[1]


@pytest.mark.parametrize("drawn", CORPUS, ids=lambda drawn: str(drawn.number))
def test_a_file_is_read_as_others_read_it_or_refused(drawn, tmp_path):
    data = drawn.write(drawn.lines())
    path = saved(tmp_path / f"t{drawn.suffix}", data)
    for dialect in (told(drawn), read_dialect(None, drawn.decimal, None, drawn.quote, "records")):
        found = read(path, drawn, dialect)
        if found is None:
            continue
        others = [one for one in (by_pandas(data, drawn), by_python(data, drawn)) if one is not None]
        assert others, "both of them refuse it"
        assert any(same(found, one) for one in others)


def test_one_column_is_read_as_others_read_it_that_skip_no_empty_line(tmp_path):
    """Rows of one column of the corpus, in every dialect, with empty lines within and at the end."""
    compared = 0
    for drawn in CORPUS:
        name, plain = drawn.names[1], replace(drawn, trouble="")
        lines = [plain.line((name,)), *(plain.line((record[1],)) for record in drawn.records)]
        for some in (lines, [*lines, ""], [*lines[:4], "", *lines[4:], "", ""]):
            data = plain.write(some)
            path = saved(tmp_path / f"t{drawn.number}{drawn.suffix}", data)
            try:
                found = rows_of(TextReader.open(path, [name], dialect=told(drawn)))[:, 0]
            except REFUSED:
                assert drawn.end == "\r" or drawn.missing not in MISSING
                continue
            frame = pd.read_csv(
                io.StringIO(text_of(data, drawn), newline=""),
                sep=drawn.sep,
                decimal=drawn.decimal,
                quotechar=drawn.quote,
                index_col=False,
                float_precision="round_trip",
                keep_default_na=False,
                na_values=sorted(MISSING),
                skip_blank_lines=False,
            )
            _, *by_csv = csv.reader(
                io.StringIO(text_of(data, drawn), newline=""), delimiter=drawn.sep, quotechar=drawn.quote
            )
            assert len(found) == len(some) - 1
            assert np.array_equal(found, frame[name].to_numpy(float), equal_nan=True)
            assert np.array_equal(found, [_number("".join(line), drawn) for line in by_csv], equal_nan=True)
            compared += 1
    assert compared > 300


def test_most_of_the_corpus_is_read(tmp_path):
    """And what is refused is refused for a reason: a corpus of which nothing can be read would show nothing."""
    refused = set()
    for drawn in CORPUS:
        path = saved(tmp_path / f"t{drawn.number}{drawn.suffix}", drawn.write(drawn.lines()))
        if read(path, drawn, told(drawn)) is None:
            refused.add(drawn.number)
    reasons = {
        drawn.number
        for drawn in CORPUS
        if drawn.end == "\r"
        or drawn.trouble in ("comment", "ragged", "thousands", "odd quotes")
        or drawn.missing not in MISSING
    }
    assert len(CORPUS) - len(refused) >= 90
    assert refused <= reasons | {drawn.number for drawn in CORPUS if drawn.spaces}


def test_the_comparison_finds_a_reader_that_takes_one_code_page_for_another(tmp_path, monkeypatch):
    monkeypatch.setattr(Text, "as_utf8", lambda _, text: text.decode("cp437").encode())
    wrong = 0
    for drawn in CORPUS:
        if drawn.codec not in ("latin-1", "cp1252"):
            continue
        data = drawn.write(drawn.lines())
        found = read(saved(tmp_path / f"t{drawn.number}{drawn.suffix}", data), drawn, told(drawn))
        wrong += found is not None and not same(found, by_python(data, drawn))
    assert wrong > 5


def test_the_first_line_tells_what_nobody_says(tmp_path):
    """In a file whose separator and mark are plain, the same is read as if all had been said."""
    guessed = 0
    for drawn in CORPUS:
        path = saved(tmp_path / f"t{drawn.number}{drawn.suffix}", drawn.write(drawn.lines()))
        one = read(path, drawn, told(drawn))
        other = read(path, drawn, read_dialect(None, drawn.decimal, None, drawn.quote, "records"))
        if one is not None and other is not None:
            assert same(one, other)
            guessed += 1
    assert guessed > 60


def saying(path, columns, **given):
    """Return the numbers of a file, and what was assumed of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader = TextReader.open(path, columns, (), Dialect(**given))
    return rows_of(reader).tolist(), [str(one.message) for one in caught]


SAID = "t.csv is read with {}, judging by its first line only: give {} to confirm it"


def test_what_the_first_line_decided_is_said_and_can_be_confirmed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;age\n1;2\n".encode("cp1252"))
    words = SAID.format("semicolons between columns and cp1252", 'sep=";" and encoding="cp1252"')
    assert saying(path, ["größe"]) == ([[1.0]], [words])
    assert saying(path, ["größe"], sep=";", encoding="cp1252") == ([[1.0]], [])
    with pytest.raises(DataError, match="is not UTF-8: give the encoding"):
        saying(path, ["age"])
    path.write_bytes(b"a|b\n1|2\n")
    assert saying(path, None) == ([[1.0, 2.0]], [SAID.format("vertical bars between columns", 'sep="|"')])
    path.write_bytes("a\tb\n1\t2\n".encode("utf-16"))
    assert saying(path, ["b"]) == ([[2.0]], [SAID.format("tabs between columns", 'sep="\\t"')])


def test_tabs_are_assumed_only_if_columns_are_named(tmp_path):
    """Beside a value a tab is a blank: a first record must not make columns of such blanks."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"x\ty\n\t5\n\t6\n")
    with pytest.raises(DataError, match=r'seems to have tabs between its columns: give sep="\\t", or the names'):
        saying(path, None)
    assert saying(path, ["y"])[0] == [[5.0], [6.0]]


NO_TABLES = [
    (b"sep=;\nx;y\n1;2\n", 'declares the separator, and names no columns: remove it, and give sep=";"'),
    (b'"sep=,"\r\nx,y\r\n1,2\r\n', 'names no columns: remove it, and give sep=","'),
    ("sep=\t\nx\ty\n1\t2\n".encode("utf-16"), r'names no columns: remove it, and give sep="\\t"'),
    (b"", "is empty, and names no columns"),
    (b"\nx,y\n1,2\n", "is empty, and names no columns"),
    (b" \r\nx,y\n1,2\n", "is empty, and names no columns"),
    (gzip.compress(b"x\n1\n", mtime=0), r"seems to be a gzip archive: let its name end in \.csv\.gz"),
    (pa.compress(b"x\n1\n", "zstd", asbytes=True), r"seems to be a zstd archive: let its name end in \.csv\.zst"),
    (b"PK\x03\x04\x14\x00x\n1\n", "seems to be a workbook or a zip archive: save it as CSV"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1", "seems to be a workbook: save it as CSV"),
]


@pytest.mark.parametrize(("data", "words"), NO_TABLES)
def test_what_has_no_names_where_names_are_given_is_refused_with_the_cure(data, words, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(DataError, match=f"the first line of t.csv .*{words}"):
        saying(path, ["x"])


def test_names_decide_where_the_first_line_leaves_it_open(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x;y\tx\n1;2\n")
    with pytest.raises(DataError, match="may have semicolons or tabs between its columns: give the separator"):
        saying(path, ["x"])
    assert saying(path, ["x"], sep=";")[0] == [[1.0]]
    path.write_bytes(b"x,y;z\n1;2\n")
    assert saying(path, ["z"])[0] == [[2.0]]


@pytest.mark.parametrize("first", ["x;y", "column 0;column 1", "x|y", "a\tb", "\ufeffx;y"])
@pytest.mark.parametrize("columns", [None, ["column 1"]])
def test_a_first_record_without_names_decides_nothing_about_others(first, columns, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\n7|8;1,5\n9|8;2,5\n")
    for given in ({"decimal": ","}, {}):
        try:
            found, _ = saying(path, columns, **given)
        except REFUSED:
            continue
        assert found == [[1.5], [2.5]]  # as if there had been no such record, and as whoever says "column 1" means it
        assert (given, columns, first) == ({"decimal": ","}, ["column 1"], "column 0;column 1")


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_a_first_record_with_a_mark_of_another_encoding_swallows_no_others(mark, tmp_path):
    path = tmp_path / "t.csv"
    for name in ("a", "a\n"):
        path.write_bytes(("\ufeff" + name).encode(mark).rstrip(b"\n") + b"\n" + b"12,3\n" * 6)
        with pytest.raises(REFUSED):
            saying(path, None)


WRONG = [
    ({"sep": ";;"}, "sep must be one ASCII character"),
    ({"sep": "§"}, "sep must be one ASCII character"),
    ({"sep": "1"}, "sep must be one ASCII character"),
    ({"sep": "\n"}, "sep must be one ASCII character"),
    ({"sep": "."}, "sep must be one ASCII character"),
    ({"sep": 3}, "sep must be text, got 3"),
    ({"sep": ",", "decimal": ","}, "sep and decimal must be different"),
    ({"decimal": "'"}, 'decimal must be "." or ","'),
    ({"decimal": None}, "decimal must be text, got None"),
    ({"encoding": "klingon"}, "encoding must be one that Python knows, got 'klingon'"),
    ({"encoding": "shift_jis"}, "one record could change how the next one is read"),
    ({"encoding": "gb18030"}, "one record could change how the next one is read"),
    ({"encoding": "utf-7"}, "one record could change how the next one is read"),
    ({"encoding": "utf-8\0"}, "encoding must be one that Python knows"),
    ({"encoding": 8}, "encoding must be text"),
    ({"quotechar": "''"}, "quotechar must be"),
    ({"quotechar": ""}, "quotechar must be"),
    ({"sep": "'", "quotechar": "'"}, "quotechar must differ from sep and decimal"),
]


@pytest.mark.parametrize(("wrong", "words"), WRONG)
def test_what_cannot_be_true_of_any_file_is_refused_before_it_is_opened(wrong, words, tmp_path):
    ledger = dpmean.Ledger(rho=1)
    for ask in (dpmean.mean, lambda X, **given: dpmean.mean_by(X, by="a", groups=["b"], **given)):
        with pytest.raises((ArgumentError, ArgumentTypeError), match=words):
            ask(tmp_path / "not there.csv", rho=0.5, norm_bound=1.0, ledger=ledger, **wrong)
    assert not ledger.entries


@pytest.mark.parametrize(
    ("name", "value"), [("sep", ";"), ("decimal", ","), ("encoding", "latin-1"), ("quotechar", "'")]
)
def test_how_text_is_written_is_for_text(name, value, tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", frame.to_numpy())
    for X, words in (
        (frame, "DataFrame"),
        (frame.to_numpy(), "ndarray"),
        (tmp_path / "t.parquet", "a .parquet file"),
        (tmp_path / "t.npy", "a .npy file"),
    ):
        with pytest.raises(ArgumentError, match=f"{name} is for CSV files, got {words}: leave it out"):
            dpmean.mean(X, rho=0.5, norm_bound=1.0, **{name: value})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("kind", [".csv.gz", ".csv.zst"])
def test_an_archive_is_read_as_often_as_it_takes_or_refused(kind, encoding, tmp_path):
    chance = np.random.default_rng(0)
    text = "é,b\n" + "".join(f"{a:.3f},{b:.3f}\n" for a, b in chance.normal(3, 1, (20_000, 2)))
    settings = {"rho": 4.0, "norm_bound": 64.0, "seed": 3, "columns": ["é", "b"]}
    (tmp_path / "t.csv").write_text(text)
    path = saved(tmp_path / f"t{kind}", text.encode(encoding))
    found = dpmean.mean(path, **settings, encoding=encoding)
    assert found.settings.passes == 2
    assert found.to_json() == dpmean.mean(tmp_path / "t.csv", **settings).to_json()
    whole = path.read_bytes()
    worse = [whole[:500] + b"x" * 40 + whole[540:]] * (kind == ".csv.gz")  # zstd has a checksum only if asked for one
    for damaged in (b"", whole[:-1], whole[: len(whole) // 2], whole + b"x" * 9, b"a,b\n1,2\n", *worse):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="check that they are complete"):
            dpmean.mean(path, **settings, encoding=encoding)


def test_archives_of_several_members_are_read_whole(tmp_path):
    one, two = b"a\n1\n2", b"3\n4\n"
    for kind, pack in ((".csv.gz", gzip.compress), (".csv.zst", lambda text: pa.compress(text, "zstd", asbytes=True))):
        path = tmp_path / f"t{kind}"
        path.write_bytes(pack(one) + pack(two))
        assert saying(path, ["a"])[0] == [[1.0], [23.0], [4.0]]


def test_marks_that_contradict_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a\n1\n".encode("utf-8-sig"))
    assert saying(path, ["a"], encoding="utf-8") == ([[1.0]], [])
    with pytest.raises(ArgumentError, match="begins with the byte order mark of UTF-8, got encoding='iso8859-1'"):
        saying(path, ["a"], encoding="iso8859-1")
    path.write_bytes("a\n1\n".encode("utf-16-le"))
    with pytest.raises(ArgumentError, match='does not begin with a byte order mark, which encoding="utf-16" needs'):
        saying(path, ["a"], encoding="utf-16")
    with pytest.raises(DataError, match='seems to be UTF-16: give encoding="utf-16-le"'):
        saying(path, ["a"])
    assert saying(path, ["a"], encoding="utf-16-le") == ([[1.0]], [])
    path.write_bytes(b"\xff\xfea\0\n\x001\0\n\0x")
    with pytest.raises(DataError, match="check that they are complete"):
        saying(path, ["a"])


def test_a_byte_that_is_no_character_is_a_matter_of_its_own_record(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"who,x\na,1\n\x81,2\nb,3\n")
    reader = TextReader.open(path, ["x"], ["who"], Dialect(encoding="cp1252"))
    assert next(reader.blocks(0)).tolist() == [[1.0], [2.0], [3.0]]
    with pytest.raises(DataError, match="holds text that is not cp1252"):
        reader.keys("who")


def test_text_in_a_folder_is_no_table_unless_it_is_named(tmp_path):
    (tmp_path / "readme.txt").write_text("a\n1\n")
    with pytest.raises(DataError, match="there is no file"):
        dpmean.mean(tmp_path, rho=0.5, norm_bound=1.0)
    assert saying(tmp_path / "readme.txt", ["a"]) == ([[1.0]], [])


def test_the_command_reads_dialects_and_says_what_it_assumed(tmp_path):
    text = "größe;age\n" + "".join(f"{i % 9},5;{i % 7}\n" for i in range(3000))
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    asked = ["mean", str(tmp_path / "t.csv"), "--columns", "größe", "--rho", "4", "--norm-bound", "60", "--json"]
    assert CliRunner().invoke(main, asked).exit_code == 3
    found = CliRunner().invoke(main, [*asked, "--decimal", ",", "--seed", "1"])
    assert found.exit_code == 0
    assert "--encoding cp1252" in found.stderr
    more = ["--decimal", ",", "--sep", ";", "--encoding", "latin-1", "--quotechar", "'", "--seed", "1"]
    other = CliRunner().invoke(main, [*asked, *more])
    assert "judging" not in other.stderr
    assert other.stdout == found.stdout
    (tmp_path / "t.csv").write_bytes(text.replace(";", "\t").encode("latin-1"))
    asked += ["--decimal", ",", "--encoding", "latin-1", "--seed", "1"]
    for tab in ("tab", "\\t", "\t"):
        assert CliRunner().invoke(main, [*asked, "--sep", tab]).stdout == found.stdout


ODD = [
    '"',
    "'",
    "\r",
    ",",
    ";",
    "|",
    "\t",
    "\0",
    "\x1a",
    "\x85",
    "\u2028",
    "\ufeff",
    "#",
    "1",
    "-",
    "e",
    "nan",
    '""',
    "",
    "é",
    " ",
]


@pytest.mark.parametrize("drawn", CORPUS, ids=lambda drawn: str(drawn.number))
def test_any_change_of_one_record_leaves_all_others_as_they_are(drawn, tmp_path):
    chance = random.Random(drawn.number)
    lines = [drawn.line(drawn.names), *map(drawn.line, drawn.records)]
    path = tmp_path / f"t{drawn.suffix}"
    for dialect in (told(drawn), read_dialect(None, drawn.decimal, None, drawn.quote, "records")):
        before = read(saved(path, drawn.write(lines)), drawn, dialect)
        for _ in range(12):
            place = chance.randrange(1, len(lines))
            line = list(lines[place])
            for _ in range(chance.randrange(1, 4)):
                at = chance.randrange(len(line) + 1)
                line[at : at + chance.choice((0, 0, 1, 9))] = chance.choice(ODD)
            changed = "".join(line) if chance.random() < 0.9 else ""
            after = read(saved(path, drawn.write([*lines[:place], changed, *lines[place + 1 :]])), drawn, dialect)
            if before is None or after is None:
                continue
            assert same(without(before, place - 1), without(after, place - 1) if changed.strip("\r") else after)


def without(found, place):
    """Return what was read without one record."""
    return np.delete(found[0], place, axis=0), [keys[:place] + keys[place + 1 :] for keys in found[1]]


def test_names_that_may_be_a_row_are_not_told_with_an_assumed_separator_either(tmp_path):
    path = tmp_path / "t.csv"
    for lines, told_so in (("Meyer|Ulm\nSmith|York\n", False), ("weight|town\n61.5|York\n", True)):
        path.write_text(lines)
        with pytest.raises(ArgumentError, match="there is no column 'age'") as caught:
            saying(path, ["age"])
        assert ("weight, town" in str(caught.value)) == told_so
        assert "Meyer" not in str(caught.value)


def accepted():
    """Return the encodings of Python that are accepted, of one byte for a character."""
    for name in sorted(set(encodings.aliases.aliases.values())):
        with contextlib.suppress(ArgumentError):
            found = read_dialect(None, ".", name, '"', "records").encoding
            if not found.startswith("utf"):
                yield found


@pytest.mark.parametrize("encoding", [*accepted()])
def test_no_byte_of_an_encoding_reaches_into_the_next(encoding):
    """Every byte is a character of its own, the first 128 are ASCII, and no other one is."""
    text = Text(Path("t.csv"), encoding, 0, False)
    assert text.as_utf8(bytes(range(128))) == bytes(range(128))
    for byte in range(128, 256):
        found = text.as_utf8(bytes([byte]))
        assert min(found) >= 128
        assert text.as_utf8(bytes([byte, 34, byte])) == found + b'"' + found


def test_many_encodings_are_accepted_and_those_of_several_bytes_are_not():
    found = set(accepted())
    assert {"iso8859-1", "iso8859-15", "cp1252", "cp437", "koi8-r", "mac-roman"} <= found
    assert not found & {"shift_jis", "gbk", "gb18030", "big5", "euc_jp", "utf-7", "cp932", "iso2022_jp", "hz"}


SPECTRUM = json.loads((Path(__file__).parents[2] / "vectors" / "csv_spectrum.json").read_text())["files"]


@pytest.mark.parametrize("newlines", ["records", "quoted"])
@pytest.mark.parametrize("name", SPECTRUM)
def test_the_files_of_csv_spectrum_are_read_as_they_should_be_or_refused(name, newlines, tmp_path):
    path, wanted = tmp_path / "t.csv", SPECTRUM[name]["rows"]
    path.write_bytes(SPECTRUM[name]["csv"].encode())
    dialect = read_dialect(None, ".", None, '"', newlines)
    names = list(wanted[0])

    def labels():
        reader = TextReader.open(path, names[:1], names[1:], dialect)
        columns = [reader.keys(one) for one in names]
        return [[str(one.values[code]) if code >= 0 else "" for code in one.codes.tolist()] for one in columns]

    if newlines == "records" and "newlines" in name:
        with pytest.raises(DataError, match=r"does not end on its line|more or fewer fields"):
            labels()
        return
    rows = [
        {key: value.replace("\r\n", "\n") for key, value in zip(names, row, strict=True)}
        for row in zip(*labels(), strict=True)
    ]
    assert rows == [{key: value.replace("\r\n", "\n") for key, value in row.items()} for row in wanted]

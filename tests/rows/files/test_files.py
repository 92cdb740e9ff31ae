"""Rows in files: read as often as a release says, in constant memory, and refused when they change or make no sense."""

import doctest
import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from pyarrow import csv

import dpmean
import dpmean.engines
from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.numerics.grid import Grid
from dpmean.queries.domain import Domain
from dpmean.rows.files import reader as parted
from dpmean.rows.files.csv import TextReader
from dpmean.rows.files.formats import open_source
from dpmean.rows.files.parquet import TableReader
from dpmean.rows.registry import Selection
from tests.rows.conformance.problems import assert_same
from tests.support.public import REPLACED
from tests.support.saved import saved

ROOT = Path(__file__).parents[3]
SECRET = str(123456.789)
SETTINGS = {"rho": 4.0, "norm_bound": 64.0, "seed": 3, **REPLACED}


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(1).normal(3, 1, (40_000, 3))


@pytest.fixture
def npy(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    return tmp_path / "rows.npy"


@pytest.fixture
def table(rows, tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(list(rows.T), names=["a", "b", "c"]), path, row_group_size=7000)
    return path


# --- how often -----------------------------------------------------------------------------------------------


@dataclass
class Watched:
    """A reader that writes down which parts are read, in full and by position."""

    reader: object
    read: list = field(default_factory=list)
    picked: list = field(default_factory=list)

    def __getattr__(self, name):
        return getattr(self.reader, name)

    def blocks(self, part):
        self.read.append(part)
        return self.reader.blocks(part)

    def pick(self, part, places):
        self.picked += (self.reader.parts[part].start + places).tolist()
        return self.reader.pick(part, places)


@pytest.mark.parametrize("method", ["refined", "shifted", "clipped"])
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("kind", ["npy", "table"])
def test_a_release_tells_how_often_all_rows_were_read(method, passes, kind, request):
    source = open_source(request.getfixturevalue(kind), Selection())
    watched = source.engine.reader = Watched(source.engine.reader)
    release = dpmean.mean(source, method=method, passes=passes, **SETTINGS)
    parts = len(watched.parts)
    assert release.settings.passes == passes
    assert sorted(watched.read) == sorted(list(range(parts)) * passes)
    assert len(watched.picked) == len(set(watched.picked)) == release.settings.sample
    assert (release.settings.sample > 0) == (method != "clipped")


@pytest.mark.parametrize("method", ["refined", "shifted"])
def test_few_rows_are_read_once_and_held(method, rows, tmp_path):
    np.save(tmp_path / "few.npy", rows[:1500])
    source = open_source(tmp_path / "few.npy", Selection())
    watched = source.engine.reader = Watched(source.engine.reader)
    release = dpmean.mean(source, method=method, **SETTINGS)
    assert not watched.read
    assert sorted(watched.picked) == list(range(1500))
    assert release.settings.passes == 1


@pytest.mark.parametrize("d", [1, 2, 24])
@pytest.mark.parametrize("shape", ["normal", "lumps", "clusters"])
def test_two_passes_are_enough_whatever_the_rows(d, shape):
    generator = np.random.default_rng(d)
    data = generator.normal(3, 1, (20_000, d))
    if shape == "lumps":
        data[generator.random(20_000) < 0.9] = 3.0
    elif shape == "clusters":
        data[:400] += 30
    for passes in (1, 2):
        found = dpmean.mean(data, rho=4.0, norm_bound=200.0, seed=1, passes=passes)
        assert found.settings.passes <= passes
        assert found.settings.sample == 8192


# --- how much memory -----------------------------------------------------------------------------------------

CAPPED = """
import resource, sys
import numpy as np
import dpmean
import dpmean.engines
from pathlib import Path

def data():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmData")).split()[1])

settings = {"rho": 4.0, "norm_bound": 1000.0, "seed": 1}
dpmean.mean(sys.argv[1], **settings), dpmean.mean(sys.argv[1], passes=1, **settings)  # loads and starts all there is
limit = data() + 100 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
for path in sys.argv[2:]:
    for passes in (1, 2):
        dpmean.mean(path, passes=passes, **settings)
try:
    np.load(sys.argv[2])
except MemoryError:
    print("the rows do not fit")
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_DATA") or sys.platform != "linux", reason="Linux knows the limit")
def test_rows_that_do_not_fit_are_not_collected(tmp_path):
    n, d = 320_000, 100  # 256 MB, and 100 MB to work with
    some = np.random.default_rng(2).normal(3, 1, (20_000, d))
    names = [f"c{j}" for j in range(d)]
    small = pa.table(list(some.T), names=names)
    parquet.write_table(small, tmp_path / "small.parquet")
    large = np.lib.format.open_memmap(tmp_path / "large.npy", mode="w+", dtype=np.float64, shape=(n, d))
    with parquet.ParquetWriter(tmp_path / "large.parquet", small.schema) as writer:
        for start in range(0, n, 20_000):
            large[start : start + 20_000] = some
            writer.write_table(small)
    del large
    files = [str(tmp_path / name) for name in ("small.parquet", "large.npy", "large.parquet")]
    done = subprocess.run([sys.executable, "-c", CAPPED, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "the rows do not fit"


# --- when they change ----------------------------------------------------------------------------------------


def view(source):
    rows = source.rows(Domain.within_norm(3, 64.0, impute=False))
    return rows, Grid(2.0**-20, 64.0, 3).distances(np.zeros(3))


@pytest.mark.parametrize("change", ["touched", "longer", "gone", "rewritten"])
@pytest.mark.parametrize("kind", ["npy", "table"])
def test_files_that_change_between_passes_are_noticed(change, kind, request):
    path = request.getfixturevalue(kind)
    rows, asked = view(open_source(path, Selection()))
    rows.answer(asked)
    before = path.stat()
    if change == "touched":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    elif change == "longer":
        with path.open("ab") as file:
            file.write(b"0")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "gone":
        path.unlink()
    else:
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)
    for again in (lambda: rows.answer(asked), lambda: rows.take(np.arange(3))):
        with pytest.raises(DataError, match="changed while they were read"):
            again()


def test_a_footer_that_changes_is_noticed_even_if_nothing_else_does(table):
    rows, asked = view(open_source(table, Selection()))
    before, content = table.stat(), bytearray(table.read_bytes())
    content[-9] ^= 1
    with table.open("r+b") as file:
        file.write(content)
    os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match="changed while they were read"):
        rows.answer(asked)


def test_a_file_that_is_cut_off_while_it_is_read_is_noticed(npy, monkeypatch):
    rows, asked = view(open_source(npy, Selection()))
    monkeypatch.setattr(parted.FileEngine, "_check_unchanged", lambda _: None)
    os.truncate(npy, 1000)
    for again in (lambda: rows.answer(asked), lambda: rows.take(np.arange(30_000, 30_010))):
        with pytest.raises(DataError, match="changed while they were read"):
            again()


# --- what is refused, and what is said -----------------------------------------------------------------------


def silent(caught):
    error = caught.value
    return SECRET not in str(error) and error.__cause__ is None and error.__context__ is None


def test_text_that_is_no_number_is_refused_without_quoting_it(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,2\n" * 100 + f"3,{SECRET}x\n")
    with pytest.raises(DataError, match="holds a non-numeric value") as caught:
        dpmean.mean(tmp_path / "rows.csv", method="clipped", **SETTINGS)
    assert silent(caught)


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_first_line_that_may_be_a_row_is_not_told(unit, tmp_path):
    path, wanted = tmp_path / "rows.csv", {"columns": ["height"]} if unit is None else {"privacy_unit": unit}
    for lines, told in (
        ("Meyer83714,Ulm\nSmith,York\n", False),
        ("Meyer83714,Ulm\n1.5,2.5,York\n", False),
        ("weight,town\n61.5,York\n", True),
    ):
        path.write_text(lines)
        with pytest.raises(ArgumentError, match="there is no column") as caught:
            dpmean.mean(path, rho=0.5, norm_bound=9.0, **wanted)
        assert ("weight, town" in str(caught.value)) == told
        assert "Meyer" not in str(caught.value)


@pytest.mark.parametrize("more", [{}, {"privacy_unit": "town"}])
@pytest.mark.parametrize("asked", [{"nan": {"x": "impute"}, "norm_bound": 9.0}, {"bounds": {"x": (0, 1)}}])
def test_a_first_line_that_may_be_a_row_is_not_told_by_other_arguments(asked, more, tmp_path):
    for lines, told in (("Meyer,town\n,York\n", False), ("Meyer,town\nnan,7\n", True)):
        (tmp_path / "rows.csv").write_text(lines)
        with pytest.raises(ArgumentError, match=r"there is no column 'x'") as caught:
            dpmean.mean(tmp_path / "rows.csv", rho=0.5, **asked, **more)
        assert ("Meyer" in str(caught.value)) == told


def test_a_broken_file_is_refused_without_quoting_it(table):
    content = bytearray(table.read_bytes())
    content[200:90_000] = (SECRET.encode() * 9000)[: 90_000 - 200]
    table.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read") as caught:
        dpmean.mean(table, **SETTINGS)
    assert silent(caught)
    table.write_bytes(b"nonsense")
    with pytest.raises(DataError, match="cannot be read"):
        dpmean.mean(table, **SETTINGS)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_names_that_are_not_text_are_refused(ending, tmp_path):
    path, columns = tmp_path / f"rows{ending}", pa.table({"height": [1.0] * 50})
    (parquet.write_table if ending == ".parquet" else feather.write_feather)(columns, path)
    path.write_bytes(path.read_bytes().replace(b"height", b"h\xa1ight"))
    with pytest.raises(DataError, match="cannot be read"):
        dpmean.mean(path, rho=0.5, norm_bound=9.0)


@pytest.mark.parametrize("vectors", [[[1.0, 2.0], [3.0]], [[1.0, 2.0], []], [[1.0], [1.0, 2.0, 3.0]]])
def test_ragged_vectors_are_refused(vectors, tmp_path):
    parquet.write_table(pa.table({"v": pa.array(vectors, pa.list_(pa.float64()))}), tmp_path / "v.parquet")
    with pytest.raises(DataError, match="differ in length"):
        dpmean.mean(tmp_path / "v.parquet", allow_few_rows=True, method="clipped", **SETTINGS)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.large_list(pa.int64()), pa.list_(pa.float32(), 2)])
def test_a_vector_that_is_missing_is_missing_in_all_coordinates(kind, tmp_path):
    vectors = [[1, 2], None, [3, 4]] * 50
    table = pa.table({"v": pa.array(vectors, kind)})
    parquet.write_table(table, tmp_path / "v.parquet")
    feather.write_feather(table, tmp_path / "v.arrow")
    wanted = np.array([[np.nan, np.nan] if vector is None else vector for vector in vectors])
    settings = SETTINGS | {"allow_few_rows": True, "vector_column": "v"}
    expected = dpmean.mean(wanted, nan="impute", **{**settings, "vector_column": None})
    for X in (tmp_path / "v.parquet", tmp_path / "v.arrow", table, table.to_pandas()):
        assert_same(dpmean.mean(X, nan="impute", **settings), expected)
        with pytest.raises(DataError, match="NaN or infinity"):
            dpmean.mean(X, **settings)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.large_list(pa.int64()), pa.list_(pa.float32(), 2)])
@pytest.mark.parametrize("method", ["clipped", "refined"])
def test_a_missing_vector_may_be_alone_in_its_part_of_a_table(kind, method, tmp_path):
    vectors = [None, None, [1, 2], None, [3, 4]] * 40
    table = pa.table({"v": pa.array(vectors, kind)})
    parquet.write_table(table, tmp_path / "v.parquet", row_group_size=1)
    feather.write_feather(table, tmp_path / "v.arrow", chunksize=1)
    chunks = pa.concat_tables([table.slice(start, 1) for start in range(len(vectors))])
    wanted = np.array([[np.nan, np.nan] if vector is None else vector for vector in vectors])
    settings = SETTINGS | {"allow_few_rows": True, "method": method, "nan": "impute"}
    expected = dpmean.mean(wanted, **settings)
    for X in (tmp_path / "v.parquet", tmp_path / "v.arrow", chunks):
        assert_same(dpmean.mean(X, vector_column="v", **settings), expected)


@pytest.mark.parametrize("first", [None, [1.0]])
def test_vectors_of_another_length_in_another_row_group_are_refused(first, tmp_path):
    table = pa.table({"v": pa.array([first, *[[1.0, 2.0], [3.0, 4.0]] * 40, [5.0]])})
    parquet.write_table(table, tmp_path / "v.parquet", row_group_size=1)
    for X in (tmp_path / "v.parquet", pa.concat_tables([table.slice(start, 1) for start in range(82)])):
        with pytest.raises(DataError, match="differ in length"):
            dpmean.mean(X, vector_column="v", allow_few_rows=True, nan="impute", **SETTINGS)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
def test_what_is_missing_is_imputed_or_refused(tmp_path):
    values = [1.0, None, 3.0] * 50
    parquet.write_table(pa.table({"a": values, "b": pa.array([1, None, 2] * 50)}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("a,b\n" + "1.0,1\n,\n3.0,2\n" * 50)
    wanted = np.array([[1.0, 1], [np.nan, np.nan], [3.0, 2]] * 50)
    settings = SETTINGS | {"allow_few_rows": True, "method": "clipped"}
    expected = dpmean.mean(wanted, nan="impute", **settings)
    for name in ("a.parquet", "a.csv"):
        assert_same(dpmean.mean(tmp_path / name, nan="impute", **settings), expected)
        with pytest.raises(DataError, match="NaN or infinity"):
            dpmean.mean(tmp_path / name, **settings)


def test_columns_are_chosen_by_name(rows, table, tmp_path):
    mixed = tmp_path / "mixed.parquet"
    columns = {"id": ["x"] * 40_000, "v": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3)}
    parquet.write_table(pa.table(columns), mixed)
    wanted = dpmean.mean(rows, **SETTINGS)
    for chosen in ({"vector_column": "v"}, {"columns": "v"}):
        assert dpmean.mean(mixed, **chosen, **SETTINGS).to_json() == wanted.to_json()
    some = dpmean.mean(table, columns=["c", "a"], **SETTINGS)
    assert_same(some, dpmean.mean(rows[:, [2, 0]], **SETTINGS))
    assert some.columns == ("c", "a")
    for arguments, words in (
        ({}, "column 'id' must hold real numbers, got text:"),
        ({"columns": ["w"]}, "there is no column 'w'"),
        ({"columns": ["v"], "vector_column": "v"}, "exclude each other"),
    ):
        with pytest.raises((ArgumentError, ArgumentTypeError), match=words):
            dpmean.mean(mixed, **arguments, **SETTINGS)


def test_hidden_and_temporary_folders_hold_no_rows(rows, tmp_path):
    nest = tmp_path / "_nest"  # named by the caller, so it counts
    for folder in (".", "one", "_temporary/0", ".ipynb_checkpoints", "one/_temporary"):
        (nest / folder).mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(list(rows.T), names=["a", "b", "c"]), nest / folder / "part.parquet")
    for name, copies in ((nest, 2), (nest / "**" / "*.parquet", 2), (nest / "_temporary" / "*" / "*", 1)):
        assert dpmean.mean(name, **SETTINGS).n == copies * len(rows)


def test_what_is_not_there_or_not_known_is_told(npy, tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"")
    (tmp_path / "rows.xlsx").write_text("1")
    (tmp_path / "empty").mkdir()
    np.save(tmp_path / "text.npy", np.array(["a", "b"]))
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    (tmp_path / "head.csv").write_text("a,b\n")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    for name, words in (
        ("nothing.npy", "there is no file .*: give a file, a folder, or a pattern"),
        ("*.nothing", "there is no file .*: give a file, a folder, or a pattern"),
        ("empty", "there is no file .*: give a file, a folder, or a pattern"),
        ("rows.xlsx", "give a file whose name ends in .npy"),
        ("text.npy", "one array of real numbers"),
        ("cube.npy", "got 3 dimensions"),
        ("*.npy", "give one .npy file, got 3"),
        ("rows.*", "files of several types"),
        ("head.csv", "X is empty: give at least one row"),
        ("twice.csv", "have the same name"),
    ):
        with pytest.raises((ArgumentError, ArgumentTypeError, DataError), match=words):
            dpmean.mean(str(tmp_path / name), **SETTINGS)
    for names in ([npy, npy], ["a.parquet", "b.parquet"], ("a.csv",)):
        for more in ({}, {"privacy_unit": "a"}):
            with pytest.raises(ArgumentTypeError, match="a list of files: give a folder or a pattern"):
                dpmean.mean(names, **SETTINGS, **more)
    with pytest.raises(ArgumentTypeError, match="got text"):
        dpmean.mean(["a", "b"], **SETTINGS)
    with pytest.raises(ArgumentError, match="columns is for tables"):
        dpmean.mean(npy, columns=["a"], **SETTINGS)
    with pytest.raises(ArgumentError, match="columns is for tables, got ndarray"):
        dpmean.mean(np.zeros((3, 3)), columns=["a"], **SETTINGS)


@pytest.mark.parametrize("text", [f"a,b\n{SECRET},2\n", f"a\n{SECRET}\n" * 1000, f"{SECRET}," * 1000, "a\0.csv"])
def test_rows_in_place_of_the_name_of_a_file_are_not_repeated(text):
    for way in ({}, {"privacy_unit": "a"}):
        with pytest.raises(ArgumentError, match="text must be the name of a file") as caught:
            dpmean.mean(text, **SETTINGS, **way)
        assert SECRET not in str(caught.value)


def test_what_cannot_be_read_twice_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "device.csv"):
        with pytest.raises(ArgumentError, match="is a pipe or a device, which cannot be read twice: save it as a file"):
            dpmean.mean(tmp_path / name, **SETTINGS)
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(DataError, match="there is no file"):
        dpmean.mean(tmp_path / "loop.csv", **SETTINGS)
    (tmp_path / "rows.csv").write_text("a\n" + "1\n" * 2000)
    (tmp_path / "link.csv").symlink_to("rows.csv")
    assert dpmean.mean(tmp_path / "link.csv", **SETTINGS).n == 2000


def written(folder, *columns, names=None):
    """Write a folder of files, each with a column of its own type."""
    folder.mkdir()
    for number, column in enumerate(columns):
        table = pa.table({"v" if names is None else names[number]: column})
        parquet.write_table(table, folder / f"patient-{number:03}.parquet")
    return folder


LISTS = [[1.0, 2.0]] * 50


@pytest.mark.parametrize(
    "columns",
    [
        (pa.array([1.0]), pa.array(["a"])),
        (pa.array([1.0]), pa.array([[1.0]])),
        (pa.array(LISTS), pa.array(LISTS, pa.list_(pa.float64(), 2))),
        (pa.array(LISTS, pa.list_(pa.float64(), 2)), pa.array([[1.0] * 3], pa.list_(pa.float64(), 3))),
        (pa.array(LISTS), pa.array([["a", "b"]])),
    ],
)
def test_files_with_other_columns_are_refused_and_no_file_is_named(columns, tmp_path):
    folder = written(tmp_path / "people", *columns)
    with pytest.raises(DataError, match="column 'v' is not in all files, or has different types in them") as caught:
        dpmean.mean(folder, **SETTINGS)
    assert "patient" not in str(caught.value)
    folder = written(tmp_path / "others", columns[0], columns[0], names=["v", "w"])
    with pytest.raises(DataError, match="column 'v' is not in all files") as caught:
        dpmean.mean(folder, **SETTINGS)
    assert "patient" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("method", ["clipped", "refined"])
@pytest.mark.parametrize("first", range(4))
def test_a_missing_value_may_change_the_type_of_a_column_in_its_file(method, first, tmp_path):
    """As pandas writes them: whole numbers, as floats where one is missing, and as nothing where all are."""
    large = 2**53 + 1
    columns = [
        pa.array(list(range(500)) + [large] * 500),
        pa.array([1.0, np.nan, 3.0, *range(497)]),
        pa.nulls(3),
        pa.array([7, None, 2**63 + 5], pa.uint64()),
    ]
    columns = columns[first:] + columns[:first]
    rows = np.concatenate([np.array(column.cast(pa.float64(), safe=False).to_numpy(False)) for column in columns])
    folder = written(tmp_path / "people", *columns)
    settings = {"rho": 4.0, "norm_bound": 2.0**64, "seed": 3, "allow_few_rows": True, "method": method}
    assert_same(dpmean.mean(folder, nan="impute", **settings), dpmean.mean(rows, nan="impute", **settings))
    with pytest.raises(DataError, match="NaN or infinity") as caught:
        dpmean.mean(folder, **settings)
    assert silent(caught)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
def test_vectors_may_hold_other_numbers_in_other_files(tmp_path):
    columns = [pa.array(LISTS), pa.array([[1, None]] * 50), pa.array([[None, None]])]
    rows = np.array([*LISTS, *[[1, np.nan]] * 50, [np.nan, np.nan]])
    settings = {**SETTINGS, "nan": "impute", "allow_few_rows": True}
    for kind in (pa.list_, lambda inner: pa.list_(inner, 2)):
        folder = tmp_path / f"{kind(pa.null())}"
        written(folder, *(pa.array(column.to_pylist(), kind(column.type.value_type)) for column in columns))
        assert_same(dpmean.mean(folder, **settings), dpmean.mean(rows, **settings))


@pytest.mark.parametrize("method", ["clipped", "refined"])
def test_vectors_that_differ_between_files_are_refused(method, tmp_path):
    folder = written(tmp_path / "people", pa.array(LISTS), pa.array([[1.0] * 3] * 50))
    with pytest.raises(DataError, match="differ in length") as caught:
        dpmean.mean(folder, allow_few_rows=True, method=method, **SETTINGS)
    assert silent(caught)


@pytest.mark.parametrize(
    "vectors", [pa.nulls(9), pa.nulls(9, pa.list_(pa.float64())), pa.array([], pa.list_(pa.int8()))]
)
def test_vectors_that_are_all_missing_are_refused_like_none_at_all(vectors, tmp_path):
    with pytest.raises(DataError, match="no row has a vector, and the number of columns is not declared"):
        dpmean.mean(written(tmp_path / "people", vectors), vector_column="v", **SETTINGS)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\r\n\r\n"])
@pytest.mark.parametrize("head", ["", "a,b\n"])
@pytest.mark.parametrize("last", ["", "end"])
def test_lines_of_text_are_counted_as_they_are_parsed(end, head, last, tmp_path, monkeypatch):
    numbers = np.arange(9000.0).reshape(-1, 2)
    path = tmp_path / "rows.csv"
    path.write_bytes((head + end.join(f"{a:g},{b:g}" for a, b in numbers) + (end if last else "")).encode())
    monkeypatch.setattr("dpmean.rows.files.csv._CHUNK_BYTES", 1013)
    reader = TextReader.open(path, None)
    assert reader.shape == numbers.shape
    found = np.concatenate([block for part in range(len(reader.parts)) for block in reader.blocks(part)])
    assert np.array_equal(found, numbers)
    places = np.array([0, 5, len(reader.parts[1]) - 1])
    assert np.array_equal(reader.pick(1, places), numbers[reader.parts[1].start + places])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("head", ["", "a\n", "\ufeff", '"a"\r\n'])
@pytest.mark.parametrize("last", ["", "end", "empty line", "lone return"])
@pytest.mark.parametrize("empty", ["first", "last", "runs", "all"])
def test_empty_lines_of_one_column_are_missing_values(end, head, last, empty, tmp_path, monkeypatch):
    numbers = np.arange(5000.0)
    if empty == "all":
        numbers[:] = np.nan
    else:
        numbers[{"first": [0, 1], "last": [-1], "runs": [7, 2047, 2048, 2049, 4095, 4096, 4097, 4998]}[empty]] = np.nan
    text = end.join("" if np.isnan(number) else f"{number:g}" for number in numbers)
    text += {"": "", "end": end, "empty line": end + end, "lone return": end + "\r"}[last]
    lines = text.removesuffix("\n").split("\n")
    numbers = np.array([float(line.strip() or "nan") for line in lines])
    path = tmp_path / "rows.csv"
    path.write_bytes((head + text).encode())
    monkeypatch.setattr("dpmean.rows.files.csv._CHUNK_BYTES", 1013)
    reader = TextReader.open(path, None)
    assert reader.names == (("a",) if "a" in head else None)
    assert reader.shape == (len(numbers), 1)
    found = np.concatenate([block for part in range(len(reader.parts)) for block in reader.blocks(part)])
    assert np.array_equal(found[:, 0], numbers, equal_nan=True)
    for part, rows in enumerate(reader.parts):
        for places in (np.arange(len(rows)), np.array([0]), np.array([0, 1, len(rows) - 1])):
            picked = reader.pick(part, places)
            assert np.array_equal(picked[:, 0], numbers[rows.start + places], equal_nan=True)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *[
            ("", 0),
            ("a", 0),
            ("a\n", 0),
            ("a\r\n", 0),
            ("\ufeff", 0),
            ("\n", 1),
            ("\r\n", 1),
            ("\r", 1),
            ("\ufeff\n", 1),
        ],
        *[("a\n\n", 1), ("a\r\n\r\n", 1), ("a\n\r", 1), ("\n\n", 2), ("a\n\n\n", 2), ("1\n2", 2), ("1\n2\n", 2)],
        *[("1\n2\n\n", 3), ("1\n2\n\r", 3), ("1\n\n2", 3)],
    ],
)
@pytest.mark.parametrize("kind", [".csv", ".csv.gz"])
def test_every_line_that_ends_is_a_row_of_one_column(text, count, kind, tmp_path):
    reader = TextReader.open(saved(tmp_path / f"rows{kind}", text.encode()), None)
    assert reader.shape == (count, 1)
    assert sum(len(block) for part in range(len(reader.parts)) for block in reader.blocks(part)) == count


@pytest.mark.parametrize("empty", ["", "\r"])
@pytest.mark.parametrize("kind", [".csv", ".csv.gz"])
def test_empty_lines_beside_several_columns_are_no_rows(empty, kind, tmp_path):
    text = f"a,b\n{empty}\n1,2\n{empty}\n{empty}\n3,4\n{empty}\n{empty}"
    reader = TextReader.open(saved(tmp_path / f"rows{kind}", text.encode()), None)
    assert reader.shape == (2, 2)
    assert np.concatenate(list(reader.blocks(0))).tolist() == reader.pick(0, np.arange(2)).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("word", csv.ConvertOptions().null_values)
def test_a_first_row_of_missing_values_is_a_row(word, tmp_path):
    path = tmp_path / "rows.csv"
    for line, d in ((word, 1), (f'"{word}"', 1), (f"{word},{word}", 2), (f"{word},1", 2), (f"1,{word}", 2)):
        path.write_text(f"{line}\n" + ",".join(["2"] * d) + "\n")
        reader = TextReader.open(path, None)
        assert (reader.shape, reader.names) == ((2, d), None)
        wanted = np.array([[1.0 if field == "1" else np.nan for field in line.split(",")], [2.0] * d])
        assert np.array_equal(next(reader.blocks(0)), wanted, equal_nan=True)
        assert np.array_equal(reader.pick(0, np.arange(2)), wanted, equal_nan=True)
    if not any(sign.isdigit() for sign in word):
        path.write_text(f"age,{word}\n1,2\n")
        assert TextReader.open(path, None).names == ("age", word)


def test_a_release_from_a_file_is_json_like_any_other(npy, rows):
    found = json.loads(dpmean.mean(npy, **SETTINGS).to_json())
    assert found["public"]["passes"] == 2
    assert found == json.loads(dpmean.mean(rows, **SETTINGS).to_json())


def test_the_engine_in_the_documents_is_one():
    example = doctest.DocTestParser().get_doctest(dpmean.engines.__doc__ or "", {}, "engines", None, 0)
    assert doctest.DocTestRunner().run(example, clear_globs=False) == (0, len(example.examples))
    names = example.globs
    release = names["release"]
    assert (release.d, release.settings.passes) == (4, 2)
    assert abs(release.n - 27_000) < 100  # told with noise of std 5
    assert np.allclose(release.mean, np.concatenate(names["blocks"]).mean(axis=0), atol=0.01)


def test_passes_are_for_the_central_model(npy):
    with pytest.raises(ArgumentError, match='passes is for the central model, got trust="local"'):
        dpmean.mean(npy, trust="local", epsilon=1.0, norm_bound=9.0, passes=1)


def test_a_damaged_column_of_keys_is_told_as_such(tmp_path):
    """Offsets of text in an Arrow file may point anywhere."""
    path = tmp_path / "rows.arrow"
    feather.write_feather(pa.table({"x": [1.0, 2.0] * 30, "who": ["a", "b"] * 30}), path, compression="uncompressed")
    whole = path.read_bytes()
    at = whole.index(np.arange(61, dtype="<i4").tobytes())
    for place in (at + 3, at + 4 * 30 + 3, at + 4 * 60 + 3):
        path.write_bytes(whole[:place] + b"\x7f" + whole[place + 1 :])
        with pytest.raises(DataError, match="check that they are complete"):
            dpmean.mean(path, columns=["x"], privacy_unit="who", **SETTINGS)


@pytest.mark.parametrize("asked_before", [False, True])
def test_how_long_vectors_of_some_rows_are_no_other_row_tells_whatever_was_asked_before(asked_before, tmp_path):
    table = pa.table({"v": [[1.0], [1.0, 2.0], [3.0, 4.0]]})
    parquet.write_table(table, tmp_path / "v.parquet")
    reader = TableReader.open([tmp_path / "v.parquet"], None, "v")
    if asked_before:
        assert reader.shape == (3, 1)
    assert reader.select(np.array([False, True, True])).shape == (2, 2)

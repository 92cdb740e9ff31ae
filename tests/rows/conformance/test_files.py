"""Files and sparse matrices give what memory gives, bit for bit."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import scipy.sparse

from dpmean.arguments.rows import read_rows
from dpmean.rows.registry import Selection
from tests.rows.conformance.problems import (
    DTYPES,
    FEW,
    METHODS,
    D,
    answers,
    assert_leaves_out,
    assert_same,
    domains,
    expected,
    expected_of_uneven,
    release,
    rows,
    uneven,
    wanted_answers,
)

SIZES = {"rows_per_group": 3000, "rows_per_batch": 1700}


def table(array, kind):
    columns = [pa.array(np.ascontiguousarray(column)) for column in array.T]
    flat = pa.array(array.ravel())
    if kind == "wide":
        return pa.table(columns, names=[f"c{j}" for j in range(D)])
    if kind == "fixed":
        return pa.table({"v": pa.FixedSizeListArray.from_arrays(flat, D)})
    return pa.table({"v": pa.ListArray.from_arrays(np.arange(0, array.size + 1, D, dtype=np.int32), flat)})


def npy(array, folder):
    np.save(folder / "rows.npy", array)
    return folder / "rows.npy"


def npy_by_column(array, folder):
    np.save(folder / "rows.npy", np.asfortranarray(array))
    return folder / "rows.npy"


def one_parquet(kind):
    def write(array, folder):
        parquet.write_table(table(array, kind), folder / "rows.parquet", row_group_size=SIZES["rows_per_group"])
        return folder / "rows.parquet"

    return write


def parquet_folder(array, folder):
    for number, piece in enumerate(np.array_split(array, 3)):
        parquet.write_table(table(piece, "wide"), folder / f"{number}.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def parquet_pattern(array, folder):
    return str(parquet_folder(array, folder) / "*.parquet")


def arrow(kind):
    def write(array, folder):
        found = table(array, kind)
        with pa.OSFile(str(folder / "rows.arrow"), "wb") as sink, pa.ipc.new_file(sink, found.schema) as writer:
            writer.write_table(found, max_chunksize=SIZES["rows_per_batch"])
        return folder / "rows.arrow"

    return write


def csv(array, folder):
    np.savetxt(folder / "rows.csv", array, fmt="%d" if array.dtype.kind == "i" else "%.17g", delimiter=",")
    return folder / "rows.csv"


def csv_with_names(array, folder):
    lines = ["a,b,c,d,e", *(",".join(repr(float(x)) for x in row) for row in array)]
    (folder / "rows.csv").write_bytes("\r\n".join(lines).encode())  # and no end after the last line
    return folder / "rows.csv"


ENGINES = {
    "npy": npy,
    "npy by column": npy_by_column,
    "parquet wide": one_parquet("wide"),
    "parquet list": one_parquet("list"),
    "parquet fixed": one_parquet("fixed"),
    "parquet folder": parquet_folder,
    "parquet pattern": parquet_pattern,
    "arrow wide": arrow("wide"),
    "arrow fixed": arrow("fixed"),
    "csv": csv,
    "csv with names": csv_with_names,
    "sparse by row": lambda array, _: scipy.sparse.csr_array(array),
    "sparse by column": lambda array, _: scipy.sparse.csc_matrix(array),
    "memory by column": lambda array, _: np.asfortranarray(array),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_method_gives_the_same_bits(engine, dtype, tmp_path):
    X = ENGINES[engine](rows(dtype), tmp_path)
    for method, passes in METHODS:
        assert_same(release(X, method, passes), expected(dtype, method, passes))


@pytest.mark.parametrize("engine", ENGINES)
def test_few_rows_and_boxes_too(engine, tmp_path):
    X = ENGINES[engine](rows("float64", FEW), tmp_path)
    for method in ("refined", "shifted", "clipped"):
        assert_same(release(X, method, 2, box=True), expected("float64", method, 2, FEW, box=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_noise_that_follows_columns_is_the_same(engine, tmp_path):
    assert_same(release(ENGINES[engine](uneven(), tmp_path), "refined", 2), expected_of_uneven())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_private_number_of_rows_gives_the_same_bits(engine, tmp_path):
    X, private = ENGINES[engine](rows("float64"), tmp_path), {"neighbours": "add-or-remove-one"}
    for method, passes in (("refined", 2), ("shifted", 1)):
        assert_same(release(X, method, passes, **private), release(rows("float64"), method, passes, **private))


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_lack_a_value_are_left_out_alike(engine, tmp_path):
    assert_leaves_out(lambda array: ENGINES[engine](array, tmp_path))


@pytest.mark.parametrize("engine", ENGINES)
def test_domains_of_every_kind(engine, tmp_path):
    array = rows("float64", FEW)
    source = read_rows(ENGINES[engine](array, tmp_path), Selection(vector_column=_vectors(engine)))
    for domain in domains(D).values():
        assert answers(source.rows(domain), domain) == wanted_answers(array, domain)


def _vectors(engine):
    """Return the name of the column of vectors, if there is one."""
    return "v" if engine.endswith(("list", "fixed")) else None

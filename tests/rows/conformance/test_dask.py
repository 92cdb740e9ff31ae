"""A Dask cluster gives what memory gives, bit for bit, however rows are cut and whoever dies on the way."""

import logging
import os
import signal

import numpy as np
import pytest
from fuzz import clusters
from fuzz.seen import vectors, watch

import dpmean
from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.opening import open_source
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
    needed,
    release,
    rows,
    uneven,
    wanted_answers,
)

pd = needed("pandas", "dask")

pytestmark = pytest.mark.usefixtures("dask_client")

NAMES = [f"c{j}" for j in range(D)]


def chunked(array, rows_each=3000, columns_each=2):
    from dask import array as da

    return da.from_array(array, chunks=(rows_each, columns_each))


def framed(array, parts=5):
    from dask import dataframe as dd

    return dd.from_pandas(pd.DataFrame(array, columns=NAMES), npartitions=parts, sort=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_give_the_same_bits(dtype):
    X = chunked(rows(dtype))
    for method, passes in METHODS:
        assert_same(release(X, method, passes), expected(dtype, method, passes))


@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_frames_give_the_same_bits(dtype):
    X = framed(rows(dtype))
    for method, passes in METHODS:
        assert_same(release(X, method, passes), expected(dtype, method, passes))


@pytest.mark.parametrize("make", [lambda X: chunked(X, 700), framed], ids=["array", "frame"])
def test_noise_that_follows_columns_is_the_same(make):
    assert_same(release(make(uneven()), "refined", 2), expected_of_uneven())


@pytest.mark.parametrize("kind", ["box", "norm, reshaped", "norm, moved", "norm, beyond", "box, reshaped"])
def test_domains_of_every_kind(kind):
    array, domain = np.array(rows("float64", FEW)), domains(D)[kind]
    array[3, 1] = array[-1] = np.nan
    for X in (chunked(array, 300), framed(array)):
        assert answers(open_source(X, Selection()).rows(domain), domain) == wanted_answers(array, domain)


def test_frames_of_vectors_and_some_columns():
    array = rows("float64", FEW)
    frame = pd.DataFrame(array, columns=NAMES).assign(name="x")
    from dask import dataframe as dd

    X = dd.from_pandas(frame, npartitions=3, sort=False)
    assert_same(release(X, "clipped", 2, columns=NAMES), expected("float64", "clipped", 2, FEW))
    assert_same(release(X, "clipped", 2, columns="c1"), release(array[:, [1]], "clipped", 2))
    vectors = X.map_partitions(as_vectors, meta={"v": object})
    assert_same(release(vectors, "refined", 2, vector_column="v"), expected("float64", "refined", 2, FEW))
    with pytest.raises(ArgumentTypeError, match="column 'name' must hold real numbers"):
        release(X, "clipped", 2)
    with pytest.raises(ArgumentError, match="there is no column 'w'"):
        release(X, "clipped", 2, columns=["w"])


def test_vectors_that_became_text_and_single_columns_are_told(monkeypatch):
    from dask import dataframe as dd

    from dpmean.rows.clusters import dask as engine

    frame = pd.DataFrame(rows("float64", FEW), columns=NAMES)
    some = dd.from_pandas(as_text(frame).astype("string"), npartitions=3, sort=False)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_compute", lambda _: pytest.fail("told before anything is read"))
        with pytest.raises(ArgumentTypeError, match=r"column 'v' holds text, .*set dataframe.convert-string to False"):
            release(some, "clipped", 2, vector_column="v")
        with pytest.raises(ArgumentTypeError, match=r'X is one column: give the data frame, with columns=\["c0"\]'):
            release(dd.from_pandas(frame, npartitions=3, sort=False)["c0"], "clipped", 2)
    hidden = framed(rows("float64", FEW)).map_partitions(as_text, meta={"v": object})
    with pytest.raises(DataError, match="column 'v' must hold vectors of real numbers") as caught:
        release(hidden, "clipped", 2, vector_column="v")
    assert "1.0 2.0" not in str(caught.value)


def test_people_and_groups_are_not_told_apart_here():
    import dpmean

    frame = framed(rows("float64", FEW))
    with pytest.raises(ArgumentTypeError, match="average each person's rows there first"):
        dpmean.mean(frame, rho=0.5, norm_bound=1.0, privacy_unit="c0")


def as_text(frame):
    return pd.DataFrame({"v": ["1.0 2.0"] * len(frame)}, dtype=object, index=frame.index)


def as_vectors(frame):
    return pd.DataFrame({"v": list(frame[NAMES].to_numpy())}, index=frame.index)


def test_a_private_number_of_rows_gives_the_same_bits():
    private = {"neighbours": "add-or-remove-one"}
    for X in (chunked(rows("float64")), framed(rows("float64"))):
        assert_same(release(X, "refined", 2, **private), release(rows("float64"), "refined", 2, **private))


def test_rows_that_lack_a_value_are_left_out_alike():
    for make in (lambda array: chunked(array, 700), framed):
        assert_leaves_out(make)


@pytest.mark.parametrize("cut", [(17_000, 5), (500, 1)])
def test_without_a_cluster_and_in_any_chunks(cut):
    import dask

    with dask.config.set(scheduler="threads"):
        assert_same(release(chunked(rows("float32"), *cut), "refined", 2), expected("float32", "refined", 2))


def test_a_killed_worker_changes_nothing(dask_client, tmp_path):
    before = set(dask_client.scheduler_info()["workers"])
    X = chunked(rows("float64")).rechunk((3000, D)).map_blocks(die_once, str(tmp_path), meta=np.empty((0, D)))
    assert_same(release(X, "refined", 2), expected("float64", "refined", 2))
    assert (tmp_path / "died").exists()
    dask_client.wait_for_workers(2)
    assert set(dask_client.scheduler_info()["workers"]) != before


def die_once(block, folder):
    """Kill the process that does this, the first time."""
    try:
        os.close(os.open(os.path.join(folder, "died"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    return block


SECRET = 123456.789


def test_errors_and_logs_of_workers_never_carry_a_row(dask_client, caplog):
    array = np.array(rows("float64", FEW))
    array[17] = [SECRET, np.nan, SECRET, SECRET, SECRET]
    with caplog.at_level(logging.DEBUG), pytest.raises(DataError, match="NaN or infinity") as caught:
        release(chunked(array, 100), "refined", 2)
    assert_silent(caught, caplog, dask_client)
    with caplog.at_level(logging.DEBUG), pytest.raises(DataError, match=r"failed \(ValueError\)") as caught:
        release(chunked(array, 100).rechunk((100, D)).map_blocks(blurt_out, meta=np.empty((0, D))), "clipped", 2)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert str(SECRET) not in str(caught.value)


def blurt_out(block):
    raise ValueError(f"cannot handle {block[0, 0]}")


def assert_silent(caught, caplog, client):
    said = [str(caught.value), caplog.text, *(str(lines) for lines in client.get_worker_logs().values())]
    assert not any(str(SECRET) in text for text in said)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_rows_that_come_and_go_are_noticed(tmp_path):
    from dask import array as da

    def grown(block, block_info=None):
        """Give one row more from the second reading on."""
        flag = tmp_path / f"read-{block_info[0]['chunk-location'][0]}"
        if flag.exists():
            return np.concatenate((block, block[:1]))
        flag.touch()
        return block

    X = da.map_blocks(grown, chunked(rows("float64")).rechunk((6000, D)), meta=np.empty((0, D)))
    with pytest.raises(DataError, match="changed while they were read"):
        release(X, "clipped", 2)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("method", ["refined", "shifted", "clipped"])
def test_no_rows_at_all_are_a_private_number_of_them(method):
    from dask import array as da

    private = {"neighbours": "add-or-remove-one", "allow_few_rows": True}
    assert_same(release(da.zeros((0, D)), method, 1, **private), release(np.empty((0, D)), method, 1, **private))
    with pytest.raises(DataError, match="X is empty"):
        release(da.zeros((0, D)), method, 1)


def test_what_is_no_array_of_numbers_is_refused():
    from dask import array as da
    from dask import bag

    with pytest.raises(ArgumentTypeError, match="must hold real numbers"):
        release(da.from_array(np.array([["a"], ["b"]])), "clipped", 2)
    with pytest.raises(DataError, match="3 dimensions"):
        release(da.zeros((2, 2, 2)), "clipped", 2)
    with pytest.raises(ArgumentTypeError, match="Dask array or data frame"):
        release(bag.from_sequence([1, 2]), "clipped", 2)
    with pytest.raises(ArgumentError, match="for data frames"):
        release(da.zeros((2, 2)), "clipped", 2, columns=["a"])


def test_one_record_changes_no_other():
    done, compared, found = clusters.run(clusters.dask_frame, 8 * len(clusters.KINDS), seed=1, at_once=8)
    assert compared > done // 2
    assert not found, found[0]


def test_vectors_are_read_one_by_one_and_text_is_refused():
    short = np.array([0.1, 2.5], dtype="f4")
    for last in ([1, 2], (0.5, 2), np.array([1, 2], dtype="i1"), [True, None]):
        X, named = clusters.dask_frame([[short, last]], "vectors")
        assert seen(X, **named)[0] == vectors([short])[0]
    for odd in (["1", "2"], np.array(["1", "2"]), [1j, 2]):
        X, named = clusters.dask_frame([[short, odd]], "vectors")
        with pytest.raises(DataError, match="a worker failed"):
            seen(X, **named)


def seen(X, **named):
    """Return the rows that reach the mechanisms."""
    return watch(lambda: release(X, "refined", 2, nan="impute", allow_few_rows=True, **named)).releases[0]


def test_a_partition_that_holds_something_else_than_it_says_is_refused_without_quoting_it():
    from dask import dataframe as dd

    def part(last):
        return pd.DataFrame({"x": [*[1.0] * 49, last]})

    meta = pd.DataFrame({"x": pd.Series(dtype=float)})
    for method in ("refined", "clipped"):
        frame = dd.from_map(part, [1.0, "Jane Doe"], meta=meta)
        with pytest.raises(DataError, match="must hold real numbers") as caught:
            dpmean.mean(frame, rho=1, norm_bound=10.0, allow_few_rows=True, method=method)
        assert caught.value.__context__ is None


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
def test_vectors_may_be_missing_and_must_be_of_one_length():
    import dask
    from dask import dataframe as dd

    def part(last):
        return pd.DataFrame({"v": [*[np.array([1.0, 2.0])] * 49, last]})

    settings = {"vector_column": "v", "rho": 1, "norm_bound": 10.0, "allow_few_rows": True, "seed": 1}
    with dask.config.set({"dataframe.convert-string": False}):
        missing = dd.from_map(part, [np.array([3.0, 4.0]), None], meta=pd.DataFrame({"v": pd.Series(dtype=object)}))
        longer = dd.from_map(part, [np.array([3.0, 4.0]), np.ones(3)], meta=missing._meta)
        rows = np.array([[1.0, 2.0]] * 49 + [[3.0, 4.0]] + [[1.0, 2.0]] * 49 + [[np.nan, np.nan]])
        wanted = dpmean.mean(rows, nan="impute", **{**settings, "vector_column": None})
        assert_same(dpmean.mean(missing, nan="impute", **settings), wanted)
        with pytest.raises(DataError, match="NaN or infinity"):
            dpmean.mean(missing, **settings)
        with pytest.raises(DataError, match="differ in length"):
            dpmean.mean(longer, **settings)
        alone = missing.repartition(divisions=None, npartitions=2).map_partitions(lambda one: one.tail(1))
        rows = np.array([[3.0, 4.0], [np.nan, np.nan]])
        wanted = dpmean.mean(rows, nan="impute", **{**settings, "vector_column": None})
        assert_same(dpmean.mean(alone, nan="impute", **settings), wanted)

"""A dataset of Hugging Face gives what memory gives, bit for bit, in the order of its indices."""

import numpy as np
import pyarrow as pa
import pytest
from fuzz.seen import vectors, watch

import dpmean
from dpmean.errors import ArgumentError, ArgumentTypeError, DataError
from dpmean.rows.huggingface import open_source
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
from tests.rows.conformance.test_files import table

datasets = needed("datasets", "datasets")

NAMES = [f"c{j}" for j in range(D)]
PERSON = "Jane Doe"


@pytest.fixture(autouse=True, scope="module")
def _quiet():
    datasets.disable_progress_bars()


def stored(array, kind="wide"):
    """Return rows as a dataset, in an order of its own, which its indices undo."""
    order = np.random.default_rng(4).permutation(len(array))
    return datasets.Dataset(table(array[order], kind)).select(np.argsort(order))


@pytest.mark.parametrize("kind", ["wide", "list", "fixed"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_method_gives_the_same_bits(dtype, kind):
    X = stored(rows(dtype), kind)
    for method, passes in METHODS:
        assert_same(release(X, method, passes), expected(dtype, method, passes))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_without_indices_and_in_any_number_of_pieces(threads, tmp_path, monkeypatch):
    monkeypatch.setenv("DPMEAN_THREADS", threads)
    pieces = [datasets.Dataset(table(piece, "wide")) for piece in np.array_split(rows("float64"), 3)]
    whole = datasets.concatenate_datasets(pieces)
    assert_same(release(whole, "refined", 2), expected("float64", "refined", 2))
    whole.save_to_disk(tmp_path / "saved")
    mapped = datasets.load_from_disk(str(tmp_path / "saved"))
    assert mapped.cache_files
    assert_same(release(mapped, "refined", 2), expected("float64", "refined", 2))


def test_noise_that_follows_columns_is_the_same():
    assert_same(release(stored(uneven()), "refined", 2), expected_of_uneven())


def test_few_rows_and_boxes_too():
    X = stored(rows("float64", FEW))
    for method in ("refined", "shifted", "clipped"):
        assert_same(release(X, method, 2, box=True), expected("float64", method, 2, FEW, box=True))


@pytest.mark.parametrize("kind", ["box", "norm, moved", "norm, beyond", "box, reshaped"])
def test_domains_of_every_kind(kind):
    array, domain = np.array(rows("float64", FEW)), domains(D)[kind]
    array[3, 1] = array[-1] = np.nan
    found = open_source(stored(array), Selection()).rows(domain)
    assert answers(found, domain) == wanted_answers(array, domain)


def test_rows_that_lack_a_value_are_left_out_alike():
    assert_leaves_out(stored)


@pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")
def test_no_rows_at_all_are_a_private_number_of_them():
    X, private = stored(rows("float64", FEW)).select([]), {"allow_few_rows": True, "neighbours": "add-or-remove-one"}
    assert_same(release(X, "clipped", 1, **private), release(np.empty((0, D)), "clipped", 1, **private))
    with pytest.raises(DataError, match="X is empty"):
        release(X, "clipped", 1)


def test_rows_are_those_that_the_dataset_shows():
    source = datasets.Dataset.from_dict({"x": np.arange(100.0).tolist(), "t": ["a"] * 100})
    chosen = source.filter(lambda row: row["x"] % 2 == 0).shuffle(seed=3).select(range(5, 40))
    for X in (chosen, chosen.rename_column("x", "y"), chosen.with_format("numpy"), chosen.with_format("torch")):
        name = X.column_names[0]
        wanted = vectors([[row[name]] for row in X.with_format(None)])
        settings = {"rho": 1.0, "norm_bound": 1e3, "seed": 1, "columns": name, "allow_few_rows": True}
        assert watch(lambda X=X, settings=settings: dpmean.mean(X, **settings)).releases[0] == wanted


def test_embeddings_of_a_fixed_length():
    embeddings = rows("float32", FEW)
    features = datasets.Features(
        {"text": datasets.Value("string"), "embedding": datasets.List(datasets.Value("float32"), D)}
    )
    X = datasets.Dataset.from_dict({"text": ["x"] * FEW, "embedding": embeddings.tolist()}, features=features)
    wanted = expected("float32", "clipped", 2, FEW)
    for chosen in ({"columns": "embedding"}, {"vector_column": "embedding"}):
        assert_same(release(X, "clipped", 2, **chosen), wanted)
        assert_same(release(X.remove_columns("text"), "clipped", 2), wanted)


def test_persons_and_groups_are_those_of_a_frame():
    draw = np.random.default_rng(8)
    frame = pa.table(
        {
            "who": draw.integers(0, 900, 6000),
            "place": draw.choice(["a", "b", "c"], 6000),
            "age": draw.normal(50, 10, 6000),
            "bmi": draw.normal(25, 3, 6000),
        }
    )
    X = datasets.Dataset(frame.take(np.arange(6000)[::-1])).select(range(5999, -1, -1))
    settings = {"rho": 2.0, "bounds": {"age": (0, 120), "bmi": (10, 70)}, "seed": 5}
    for keys in ({"privacy_unit": "who"}, {"privacy_unit": frame.column("who")}):
        one, other = (dpmean.mean(given, **settings, **keys) for given in (X, frame))
        assert one.to_json() == other.to_json()
    for keys in ({}, {"privacy_unit": "who"}):
        asked = {"by": "place", "groups": ["a", "c"], **settings, **keys}
        assert dpmean.mean_by(X, **asked).to_json() == dpmean.mean_by(frame, **asked).to_json()
    with pytest.raises(ArgumentError, match="there is no column 'whom': the columns are who, place"):
        dpmean.mean(X, **settings, privacy_unit="whom")


def test_what_is_no_dataset_of_numbers_is_refused():
    source = datasets.Dataset.from_dict({"x": [1.0, 2.0], "t": ["a", PERSON]})
    settings = {"rho": 1.0, "norm_bound": 1.0}
    with pytest.raises(ArgumentTypeError, match="column 't' must hold real numbers, got text"):
        dpmean.mean(source, **settings)
    with pytest.raises(ArgumentError, match="there is no column 'y': the columns are x, t"):
        dpmean.mean(source, columns="y", **settings)
    with pytest.raises(ArgumentTypeError, match=r"several datasets, 'train', 'test': give one, such as X\['train'\]"):
        dpmean.mean(datasets.DatasetDict({"train": source, "test": source}), columns="x", **settings)
    with pytest.raises(ArgumentTypeError, match="got IterableDataset: load it without streaming=True"):
        dpmean.mean(source.to_iterable_dataset(), columns="x", **settings)


def test_files_that_change_while_they_are_read_are_refused(tmp_path):
    datasets.Dataset(table(rows("float64"), "wide")).save_to_disk(tmp_path / "saved")
    engine = open_source(datasets.load_from_disk(str(tmp_path / "saved")), Selection()).engine
    some = np.array([0, 5, 16_999])
    assert np.array_equal(engine.gather(some), rows("float64")[some])
    (file,) = (tmp_path / "saved").glob("*.arrow")
    content = bytearray(file.read_bytes())
    place = content.index(rows("float64")[100:200, 0].tobytes())
    with open(file, "r+b") as writer:
        writer.seek(place)
        writer.write(np.float64(1.0).tobytes())
    with pytest.raises(DataError, match=r"the rows changed, or changed their order, .* files of the dataset"):
        engine.gather(some)

"""Missing values: rows that are left out act like rows that are not there, public values like values of the row."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmean
from dpmean import ArgumentError, ArgumentTypeError, DataError
from dpmean.cli import main
from dpmean.noise.source import seeded
from dpmean.queries.domain import Domain
from dpmean.queries.queries import Present
from dpmean.rows.engine import Streamed
from dpmean.rows.memory import MemoryRows
from dpmean.rows.private_size import PrivateSizeRows
from tests.rows.conformance.problems import D, _numbers, domains, questions, with_gaps
from tests.rows.conformance.test_domains import InPieces

BOUNDS = {"age": (0.0, 120.0), "crp": (0.0, 500.0)}
N = 1100
SOME = (1, 3)
ALL = tuple(range(D))


def there(array, dropped):
    """Return which rows have a value in some columns, as numpy says."""
    with np.errstate(over="ignore"):
        return np.isfinite(array.astype(np.float64)[:, list(dropped)]).all(axis=1)


def told(rows, domain, n):
    """Return what rows answer, to questions that do not depend on how many these are."""
    return [_numbers(rows.answer(question)) for question in questions(domain, n)]


# --- rows that are left out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dropped", [ALL, SOME])
@pytest.mark.parametrize("kind", domains(D))
def test_a_row_that_is_left_out_is_as_good_as_none(kind, dropped):
    """Every question has the answer that it has if the rows were never there, whatever else is in them."""
    array, domain = with_gaps(N), replace(domains(D)[kind], dropped=dropped)
    kept = array[there(array, dropped)]
    assert 0.6 * N < len(kept) < 0.95 * N
    wanted = told(MemoryRows(kept, replace(domain, dropped=())), domain, N)
    places = np.random.default_rng(0).permutation(N)
    back = np.argsort(places)
    for rows in (
        MemoryRows(array, domain),
        MemoryRows(np.asfortranarray(array), domain, span_rows=64),
        MemoryRows(array, domain).take(np.arange(N)),
        MemoryRows(array[places], domain).take(back),
        MemoryRows(array[places], domain, back),
        Streamed(InPieces(array)).rows(domain),
        Streamed(InPieces(array)).rows(domain).collect(),
        Streamed(InPieces(array)).rows(Domain.within_norm(D, 1.0, impute=False)).through(domain),
        MemoryRows(array, replace(domain, strict=dropped)),
    ):
        assert told(rows, domain, N) == wanted


def test_rows_that_were_taken_are_those_that_count():
    array, domain = with_gaps(N), replace(domains(D)["box"], dropped=ALL)
    places = np.random.default_rng(1).permutation(N)[:300]
    wanted = array[places][there(array[places], ALL)]
    for rows in (MemoryRows(array, domain), Streamed(InPieces(array)).rows(domain)):
        taken = rows.take(places)
        assert taken.n == len(wanted)
        assert np.array_equal(np.concatenate([block.copy() for _, block in taken._blocks(range(taken.n))]), wanted)
        assert rows.n == rows.collect().n == N


def test_what_is_in_a_row_that_is_left_out_does_not_matter():
    """A value that would end the call in another column, too."""
    array, strict = np.array(with_gaps(N)), tuple(j for j in ALL if j not in SOME)
    gone = ~there(array, SOME)
    array[~gone] = np.nan_to_num(array[~gone], posinf=5.0, neginf=5.0)
    assert not np.isfinite(array[gone][:, list(strict)]).all()
    for domain in domains(D).values():
        for asked in (replace(domain, dropped=SOME, strict=strict), replace(domain, dropped=SOME, impute=False)):
            wanted = told(MemoryRows(array[~gone], domain), domain, N)
            for rows in (MemoryRows(array, asked), Streamed(InPieces(array)).rows(asked)):
                assert told(rows, domain, N) == wanted
            array[np.flatnonzero(~gone)[3], 0] = np.nan
            for rows in (MemoryRows(array, asked), Streamed(InPieces(array)).rows(asked)):
                for question in questions(domain, N):
                    with pytest.raises(DataError, match="NaN or infinity"):
                        rows.answer(question)
            array[np.flatnonzero(~gone)[3], 0] = 5.0


def test_values_and_rows_are_counted():
    array = with_gaps(N)
    wanted = np.isfinite(array).sum(axis=0).tolist()
    for dropped, kept in ((ALL, there(array, ALL)), (SOME, there(array, SOME)), ((), np.ones(N, dtype=bool))):
        domain = replace(domains(D)["box"], dropped=dropped)
        for rows in (MemoryRows(array, domain), MemoryRows(np.asfortranarray(array), domain, span_rows=64)):
            assert rows.answer(Present()).tolist() == [*wanted, kept.sum()]
        assert Streamed(InPieces(array)).rows(domain).answer(Present()).tolist() == [*wanted, kept.sum()]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_one_row_changes_counts_of_values_by_what_is_paid_for(data):
    """In l2 norm by the root of the number of columns, whether a row comes, goes or is replaced; that is reached."""
    d, n = data.draw(st.integers(1, 5)), 12
    table = np.random.default_rng(data.draw(st.integers(0, 999))).normal(0, 1, (n, d))
    table[np.random.default_rng(data.draw(st.integers(0, 999))).random((n, d)) < 0.4] = np.nan
    other, place = table.copy(), data.draw(st.integers(0, n - 1))
    other[place] = data.draw(st.sampled_from([np.full(d, np.nan), np.ones(d), np.where(np.arange(d) % 2, np.nan, 1.0)]))
    dropped = tuple(range(data.draw(st.integers(0, d))))
    domain = replace(Domain.within_norm(d, 9.0, impute=True), dropped=dropped)

    def counts(array):
        return MemoryRows(array, domain).answer(Present())

    for one, two in (
        (table, other),
        (table, np.delete(table, place, axis=0)),
        (other, np.delete(other, place, axis=0)),
    ):
        change = counts(one) - counts(two)
        assert (change[:-1] ** 2).sum() <= d
        assert abs(change[-1]) <= 1
    full, none = np.ones((n, d)), np.ones((n, d))
    none[place] = np.nan
    assert ((counts(full) - counts(none))[:-1] ** 2).sum() == d


def test_samples_hold_rows_that_count_by_the_coins_of_all():
    """A row is taken by a coin of its own; one that is left out is taken in vain, and others keep their coins."""
    array = np.arange(4000.0)[:, np.newaxis]
    array[::7] = np.nan
    domain = replace(Domain.within_norm(1, 1e9, impute=False), dropped=(0,))
    rows = PrivateSizeRows(MemoryRows(array, domain), 3400, seeded(4))
    sample = rows.take(np.arange(850))
    found = np.sort(sample.rows.array[sample.rows.positions][:, 0])
    without = np.arange(4000.0)[:, np.newaxis]
    every = PrivateSizeRows(MemoryRows(without, replace(domain, dropped=())), 3400, seeded(4)).take(np.arange(850))
    drawn = np.sort(every.rows.array[every.rows.positions][:, 0])
    assert np.array_equal(found, drawn[drawn % 7 != 0])
    assert sample.n == every.n == 850


# --- releases --------------------------------------------------------------------------------------------------------


def table(n=6000, seed=0, gaps=0.2):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"patient": rng.integers(0, n // 4, n), "clinic": rng.choice(["A", "B"], n)})
    frame["age"], frame["crp"] = rng.normal(50, 10, n), rng.gamma(2, 6, n)
    frame.loc[rng.random(n) < gaps, "crp"] = np.nan
    frame.loc[rng.random(n) < gaps / 4, "age"] = np.inf
    return frame


def finite(frame, names=("age", "crp")):
    return frame[np.isfinite(frame[list(names)]).all(axis=1)]


def mean(frame, **more):
    return dpmean.mean(frame, **{"rho": 0.5, "bounds": BOUNDS, "seed": 1, **more})


def same(found, wanted, *but):
    """Whether two releases are the same but for what they say of missing values, and how often rows were read."""
    one, two = (json.loads(release.to_json()) for release in (found, wanted))
    for document in (one, two):
        for name in ("dropped", "filled", "imputed", "passes", *but):
            document["public"].pop(name, None)
    return one == two


def test_the_mean_of_rows_that_have_all_values():
    frame = table()
    found, wanted = mean(frame, nan="drop", method="clipped"), mean(finite(frame), method="clipped")
    assert same(found, wanted)
    assert (found.settings.dropped, wanted.settings.dropped) == (("age", "crp"), False)
    assert found.settings.passes == wanted.settings.passes + 1
    refined = mean(frame, nan="drop")  # which takes a sample, by coins for all rows
    assert np.all(np.abs(refined.mean - finite(frame)[["age", "crp"]].mean()) < 5 * refined.noise_std + 0.1)
    assert abs(refined.n - len(finite(frame))) < 40
    assert abs(refined.n - len(frame)) > 500


def test_some_columns_leave_rows_out_and_others_do_something_else():
    frame = table()
    with_age = finite(frame, ["age"])
    ways = {"age": "drop", "crp": 10.0}
    found = mean(frame, nan=ways, method="clipped")
    assert same(found, mean(with_age.fillna({"crp": 10.0}), method="clipped"))
    assert (found.settings.dropped, found.settings.filled) == (("age",), (("crp", 10.0),))
    found = mean(frame, nan={"age": "drop", "crp": "impute"}, method="clipped")
    assert same(found, mean(with_age, nan="impute", method="clipped"))
    with pytest.raises(DataError, match="NaN or infinity"):
        mean(frame, nan={"age": "drop"}, method="clipped")
    assert same(
        mean(finite(frame, ["crp"]), nan={"age": "drop"}, method="clipped"), mean(finite(frame), method="clipped")
    )


@pytest.mark.parametrize("method", ["refined", "shifted", "clipped"])
def test_a_public_value_counts_as_if_it_were_in_the_row(method, tmp_path):
    frame = table().replace(np.inf, 50.0)
    filled = frame.fillna({"crp": 10.0})
    wanted = mean(filled, method=method)
    frame.to_parquet(tmp_path / "t.parquet")
    for X in (frame, pl.from_pandas(frame), tmp_path / "t.parquet"):
        found = mean(X, nan={"crp": 10.0}, method=method)
        assert same(found, wanted)
        assert found.settings.filled == (("crp", 10.0),)
        assert not found.settings.imputed
    array, bounds = frame[["age", "crp"]].to_numpy(), ([0.0, 0.0], [120.0, 500.0])
    found = mean(array, bounds=bounds, nan={1: 10}, method=method)
    assert same(found, mean(filled[["age", "crp"]].to_numpy(), bounds=bounds, method=method))
    assert found.settings.filled == (("column 1", 10.0),)
    norm = {"bounds": None, "norm_bound": 700.0, "columns": ["age", "crp"], "method": method}
    assert same(mean(frame, nan={"crp": 10.0}, **norm), mean(filled, **norm))
    if method != "clipped":
        sigmas = {**norm, "sigma_min": 1.0, "sigma_max": 100.0}
        assert same(mean(frame, nan={"crp": 10.0}, **sigmas), mean(filled, **sigmas))


def test_of_a_persons_rows_missing_values_are_left_out_one_by_one():
    frame = table(gaps=0.6)
    values = frame[["age", "crp"]].where(np.isfinite(frame[["age", "crp"]]))
    persons = values.groupby(frame["patient"]).mean()
    assert persons.isna().any().any()
    given = {"privacy_unit": "patient", "method": "clipped"}
    found = mean(frame, nan="drop", **given)
    assert abs(found.n - len(persons.dropna())) < 40
    assert np.all(np.abs(found.mean - persons.dropna().mean()) < 5 * found.noise_std + 0.5)
    keep = frame["patient"].isin(persons.dropna().index)
    assert abs(found.n - mean(frame[keep], nan="impute", **given).n) == 0
    filled = mean(frame, nan={"age": "drop", "crp": 10.0}, **given)
    wanted = persons[persons["age"].notna()].fillna(10.0)
    assert np.all(np.abs(filled.mean - wanted.mean()) < 5 * filled.noise_std + 0.5)


def test_rows_are_left_out_of_groups_too():
    frame = table()
    asked = {"by": "clinic", "groups": ["A", "B"], "rho": 0.5, "bounds": BOUNDS, "seed": 1, "method": "clipped"}
    found, wanted = dpmean.mean_by(frame, nan="drop", **asked), dpmean.mean_by(finite(frame), **asked)
    assert all(same(found[label], wanted[label]) for label in "AB")
    moved = dpmean.mean_by(frame, nan="drop", neighbours="replace-one", **asked)
    assert moved.rho == found.rho
    one = dpmean.mean_by(frame, nan={"age": "drop", "crp": 10.0}, count_values=True, privacy_unit="patient", **asked)
    assert all(release.value_counts is not None for release in one.values())
    assert one.rho == found.rho


def test_no_rows_may_be_left():
    frame = table(500)
    frame["age"] = np.nan
    with pytest.raises(dpmean.TooFewRowsError, match=r"^about .* too few"):
        mean(frame, nan="drop")


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (
            {"nan": "drop", "neighbours": "replace-one"},
            ArgumentError,
            'give neighbours="add-or-remove-one", or nan="impute"',
        ),
        (
            {"nan": {"crp": "drop"}, "neighbours": "replace-one"},
            ArgumentError,
            "makes the number of rows depend on their values",
        ),
        (
            {"nan": "drop", "trust": "local"},
            ArgumentError,
            'every device has to answer: give nan="impute", not nan="drop"',
        ),
        ({"nan": {"crp": 10.0}, "trust": "local"}, ArgumentError, "every device has to answer"),
        ({"nan": "skip"}, ArgumentError, 'nan must be "raise", "impute" or "drop", got \'skip\''),
        ({"nan": 10.0}, ArgumentError, 'got 10.0 .or one choice or public value for each column: {"crp": 10.0}'),
        ({"nan": {"crp": 501.0}}, ArgumentError, r"501 for column 'crp' is outside bounds, \(0, 500\)"),
        ({"nan": {"crp": -1}}, ArgumentError, "give a public value between these"),
        ({"nan": {"crp": np.nan}}, ArgumentError, "must be finite and between"),
        ({"nan": {"crp": 10**400}}, ArgumentError, "must be finite and between"),
        ({"nan": {"crp": True}}, ArgumentError, "nan of column 'crp' must be"),
        ({"nan": {"crp": "10"}}, ArgumentError, "or a public value, such as 10.0"),
        ({"nan": {"bmi": 10.0}}, ArgumentError, "there is no column 'bmi'"),
        ({"nan": {0: 10.0}}, ArgumentError, "there is no column 0"),
        ({"nan": {1.5: 10.0}}, ArgumentTypeError, "keys must be names or numbers of columns"),
        ({"count_values": "yes"}, ArgumentTypeError, "count_values must be True or False"),
        ({"count_values": True, "trust": "local"}, ArgumentError, "count_values is for the central model"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_cure_and_costs_nothing(wrong, error, words, tmp_path):
    ledger = dpmean.Ledger(tmp_path / "budget.json", rho=1.0)
    with pytest.raises(error, match=words):
        mean(table(100), ledger=ledger, **{"seed": None, **wrong})
    assert not ledger.entries


def test_columns_without_names_are_counted():
    array = table()[["age", "crp"]].to_numpy()
    given = {"bounds": ([0.0, 0.0], [120.0, 500.0])}
    for wrong, words in (
        ({"crp": 10.0}, "the numbers of columns from 0"),
        ({2: 10.0}, "from 0 to 1"),
        ({-1: 1.0}, "from 0 to 1"),
    ):
        with pytest.raises(ArgumentError, match=words):
            mean(array, nan=wrong, **given)
    found = mean(array, nan={0: "drop", 1: "impute"}, **given)
    assert (found.settings.dropped, found.settings.imputed) == (("column 0",), ("column 1",))
    assert dpmean.Release.from_json(found.to_json()).to_json() == found.to_json()
    assert mean(array, nan="drop", **given).settings.dropped is True


def test_public_sizes_of_groups_cannot_depend_on_missing_values():
    asked = {"by": "clinic", "groups": ["A", "B"], "rho": 0.5, "bounds": BOUNDS, "sizes": "public"}
    with pytest.raises(ArgumentError, match='give sizes="private", or nan="impute"'):
        dpmean.mean_by(table(), nan="drop", **asked)


def test_the_command_has_the_same_choices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = table()
    frame.to_csv("t.csv", index=False)
    np.save("t.npy", frame[["age", "crp"]].to_numpy())
    (tmp_path / "b.csv").write_text("column,lower,upper\nage,0,120\ncrp,0,500\n")

    def run(command):
        done = CliRunner().invoke(main, f"mean {command} --rho 0.5 --bounds b.csv --seed 1 --json".split())
        assert done.exit_code == 0, done.output
        return dpmean.Release.from_json(done.stdout)

    assert run("t.csv --nan drop --count-values").to_json() == mean(frame, nan="drop", count_values=True).to_json()
    assert run("t.csv --nan age=drop,crp=10").settings.filled == (("crp", 10.0),)
    assert run("t.npy --nan 0=drop,1=10").settings.filled == (("column 1", 10.0),)
    wrong = ["--nan", "drop", "--neighbours", "replace-one"]
    done = CliRunner().invoke(main, ["mean", "t.csv", "--rho", "0.5", "--bounds", "b.csv", *wrong])
    assert done.exit_code == 2
    assert "give --neighbours add-or-remove-one, or --nan impute" in done.output


# --- what a release says ---------------------------------------------------------------------------------------------


def test_a_release_says_what_became_of_missing_values(tmp_path):
    frame = table()
    words = " ".join(str(mean(frame, nan="drop")).split())
    assert "LEFT OUT rows with a missing value of age, crp; the mean is that of the others, which may differ" in words
    found = mean(frame, nan={"age": "drop", "crp": 10.0})
    words, page = " ".join(str(found).split()), dpmean.report(found, tmp_path / "p.html").read_text()
    assert "IMPUTED missing values of crp counted as public values: crp as 10;" in words
    assert "LEFT OUT rows with a missing value of age; the mean" in words
    assert "each 1 % of missing values may have moved the mean by up to 4.9 (crp)" in words
    assert "public values: crp as 10, which moves the mean there: each 1 % of missing values" in page
    assert "rows with a missing value of age were left out, and the mean is that of the others" in page
    person = mean(frame, nan="drop", privacy_unit="patient")
    assert "persons (patient) without a value in at least one column (age, crp); the mean is" in " ".join(
        str(person).split()
    )
    for release in (found, person):
        assert dpmean.Release.from_json(release.to_json()).to_json() == release.to_json()
    document = json.loads(found.to_json())
    document["neighbours"] = "replace-one"
    with pytest.raises(ArgumentError, match="rows may be left out only where their number is private"):
        dpmean.Release.from_json(json.dumps(document))

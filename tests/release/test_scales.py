"""The scales of columns in a release: their words, their JSON, and bounds on errors where noise differs."""

import json
import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpmean
from dpmean import ArgumentError, Release
from dpmean.enums import ScaleKind
from dpmean.privacy.budgets import Zcdp
from dpmean.privacy.receipts import Receipt
from dpmean.release.scales import FINE_MEDIANS, Scales, receipts_of_scales
from dpmean.release.scales_text import scales_in_words
from dpmean.release.statistics import scale

N, RUNS = 4000, 60
HARMONIC = 1 / np.arange(1, 33)
NAMES = ["age", "income", "smoker", "constant"]
BOUNDS = {"age": (0, 130), "income": (0, 1e8), "smoker": (0, 1), "constant": (0, 10)}


def vectors(scales=HARMONIC, seed=0):
    return np.random.default_rng(seed).normal(5, scales, (N, len(scales)))


def table(seed=0):
    rng = np.random.default_rng(seed)
    columns = [rng.normal(45, 18, N), rng.gamma(2, 2e4, N), rng.random(N) < 0.2, np.full(N, 3.0)]
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True)), dtype=float)


SETTINGS = {"rho": 0.5, "neighbours": "replace-one"}
BALL, BOX = {"norm_bound": 300.0}, {"bounds": BOUNDS}
MAKE = {
    "followed": lambda seed: dpmean.mean(vectors(), **BALL, **SETTINGS, seed=seed),
    "even": lambda seed: dpmean.mean(vectors(np.ones(32)), **BALL, **SETTINGS, seed=seed),
    "given": lambda seed: dpmean.mean(vectors(), shape=HARMONIC, **BALL, **SETTINGS, seed=seed),
    "table": lambda seed: dpmean.mean(table(), **BOX, **SETTINGS, seed=seed),
    "given table": lambda seed: dpmean.mean(
        table(), shape={"constant": 1.0, "smoker": 0.4, "income": 3e4, "age": 18.0}, **BOX, **SETTINGS, seed=seed
    ),
    "round": lambda seed: dpmean.mean(table(), shape="round", **BOX, **SETTINGS, seed=seed),
}


@pytest.fixture(scope="module")
def made():
    return {name: make(1) for name, make in MAKE.items()}


# --- what is found ---------------------------------------------------------------------------------------------------


def test_scales_are_found_given_or_left_out(made):
    kinds = {name: release.scales and (str(release.scales.kind), release.scales.used) for name, release in made.items()}
    assert kinds == {
        "followed": ("found", True),
        "even": ("found", False),
        "given": ("given", True),
        "table": ("found", True),
        "given table": ("given", True),
        "round": None,
    }
    found = made["followed"].scales
    known = np.array(found.known)
    assert known[:8].all()
    assert np.asarray(found)[:8] == pytest.approx(HARMONIC[:8], rel=0.4)
    assert made["given"].scales.values == tuple(HARMONIC)
    assert made["table"].scales.known == (True, True, True, False)
    assert made["table"].scales.values[:3] == pytest.approx([18, 2**0.5 * 2e4, 0.4], rel=0.4)
    assert np.isnan(scale(made["table"])).tolist() == [False, False, False, True]
    assert scale(made["round"]) is None
    assert made["even"].scales.ratio < 2
    assert 5 < found.ratio < 200


def test_spreads_are_in_the_unit_of_the_user(made):
    """Rows are measured in units of their own where noise follows the scales."""
    length = np.linalg.norm(HARMONIC)
    for name in ("followed", "given"):
        assert made[name].found.spread == pytest.approx(length, rel=0.25)
    assert made["followed"].scales.length == pytest.approx(length, rel=0.25)
    assert made["even"].found.spread == pytest.approx(np.sqrt(32), rel=0.1)


def test_given_scales_matter_up_to_a_common_factor_only(made):
    other = dpmean.mean(vectors(), shape=1024 * HARMONIC, **BALL, **SETTINGS, seed=1)
    assert np.array_equal(other.mean, made["given"].mean)
    assert other.found.spread == pytest.approx(made["given"].found.spread)
    for of in ("rows", "population"):
        assert other.error_bound(of=of) == pytest.approx(made["given"].error_bound(of=of))


def test_a_column_without_scale_has_none_in_a_ratio():
    found = Scales((4.0, 1.0, 0.0, 100.0), (0.1, 0.2, 1.0, 1.0), (1.0,) * 4, ScaleKind.FOUND, per_column=True)
    assert (found.ratio, found.known, found.used) == (4.0, (True, True, False, False), False)
    assert found.length == pytest.approx(np.sqrt(10017))
    assert replace(found, errors=(1.0,) * 4).ratio == 1.0
    with pytest.raises(ValueError, match="copy=False"):
        np.array(found, copy=False)


@pytest.mark.parametrize("name", ["followed", "even", "table", "given table", "given", "round"])
def test_every_receipt_of_a_step_that_finds_scales_is_counted(made, name):
    """All that is asked before the spread, but the number of rows, is about scales, and nothing else is."""
    steps = [receipt.step for receipt in made[name].receipts]
    before = steps[: steps.index("spread")]
    assert [receipt.step for receipt in receipts_of_scales(made[name].receipts)] == before
    assert bool(before) == (name not in ("given", "given table", "round"))


EVEN = r"scales of columns differ little \(less than 2-fold, as far as they were found\), and noise is the same for all"

# --- words -----------------------------------------------------------------------------------------------------------


def words_of(release):
    """Return what is printed of a release in one line, from its first label on."""
    return " ".join(release.explain().split())


def test_what_was_found_and_what_it_cost_is_printed(made):
    words = {name: words_of(release) for name, release in made.items()}
    assert re.search(
        r"scales scales of columns differ \d+-fold, and noise follows them: it is 0\.\d+ to 0\.\d+ times the scale of "
        r"each column; finding this cost \d.\d %",
        words["followed"],
    )
    assert re.search(EVEN + "; finding", words["even"])
    assert re.search(
        r"scales given scales of columns differ 32-fold, and noise follows them: it is \S+ to \S+ times the scale of "
        r"each column spread",
        words["given"],
    )
    assert re.search(
        r"scales standard deviations of columns: 0\.\d+ \(smoker\) to \d{5} \(income\); noise is 0\.00\d+ to 0\.00\d+ "
        r"times these; finding this cost \d.\d % of the budget; 1 column hardly varies: constant; where noise cannot "
        r"tell its mean from its private median, that median is reported spread",
        words["table"],
    )
    assert re.search(
        r"scales given standard deviations of columns: 0\.4 \(smoker\) to 30000 \(income\); noise is \S+ "
        r"(to \S+ )?times these",
        words["given table"],
    )
    assert "scales not asked for: noise is in proportion to the ranges spread" in words["round"]
    same = dpmean.mean(vectors(), bounds=(-60, 60), shape="round", **SETTINGS, seed=1)
    other = dpmean.mean(table(), method="shifted", **BOX, **SETTINGS, seed=1)
    assert "scales" not in words_of(same) + words_of(other)


def test_noise_is_told_in_scales_of_columns(made):
    """The smallest and the largest share, of the columns whose scale is known."""
    for name in ("followed", "given", "table", "given table"):
        release, known = made[name], np.array(made[name].scales.known)
        shares = (release.noise_std / np.where(known, release.scales.values, 1))[known]
        ends = f"{shares.min():.2g} to {shares.max():.2g}" if name != "given table" else f"{shares.max():.2g}"
        assert f" is {ends} times the" in words_of(release)


def test_lengths_are_told_in_their_unit(made):
    words = {name: words_of(release) for name, release in made.items()}
    for name in ("table", "given table"):
        assert re.search(r"spread \S+ standard deviations \(each column in its own\): the typical", words[name])
        assert re.search(r"radius \S+ standard deviations \(each column in its own\): rows farther", words[name])
        assert re.search(r"at most \S+ \(l2 norm over all columns, each in its own standard deviations\)", words[name])
    assert re.search(r"radius \S+, more along columns that vary more: rows farther", words["followed"])
    assert re.search(r"radius \S+: rows farther", words["even"])
    assert re.search(r"radius \S+ % of the range \(each column in its own\): rows farther", words["round"])
    assert re.search(r"at most \S+ % of the range \(l2 norm over all columns, each column in its own\)", words["round"])
    assert "half-width" not in words["round"]


def test_what_each_step_cost_stands_below_each_other(made):
    """Whatever steps are called, and in 80 columns."""
    receipts = (replace(made["table"].receipts[0], step="a step with a very long name " * 4), *made["table"].receipts)
    for release in [*made.values(), replace(made["table"], receipts=receipts)]:
        text = release.explain().partition("\nSteps, ")[2]
        places = {line.index("%") for line in text.splitlines() if "%" in line}
        assert len(places) == 1
        assert max(map(len, release.explain().splitlines())) <= 80


CASES = [
    ((1.0, 3.0, 3.0), {}, "scales of columns differ 3-fold, but noise is the same for all, as too little would"),
    ((1.0, 1.0, 1.0), {"kind": ScaleKind.GIVEN}, "all given scales are the same, and so is the noise"),
    (
        (1.0, 1.5, 1.9),
        {},
        "scales of columns differ little (less than 2-fold, as far as they were found), and noise is the same for",
    ),
    ((1.0, 1.0, 0.0), {"errors": (0.1, 0.1, 1.0)}, "the scale of 1 column could not be found: column 2"),
    ((1.0, 0.0, 0.0), {"errors": (0.1, 1.0, 1.0)}, "the scales of 2 columns could not be found: column 1, column 2"),
    ((0.0, 0.0, 0.0), {"errors": (1.0, 1.0, 1.0)}, "no column varies enough for its scale to be found"),
    (
        (5.0, 0.0, 0.0),
        {"errors": (0.1, 1.0, 1.0), "per_column": True},
        "standard deviation of column 0: 5; noise is 0.02 times that",
    ),
    (
        (2.0, 8.0, 5.0),
        {"per_column": True},
        "standard deviations of columns: 2 (column 0) to 8 (column 1); noise is 0.013 to 0.05 times these",
    ),
    (
        (0.0, 0.0, 2.0),
        {"errors": (1.0, 1.0, 0.1), "per_column": True},
        "2 columns hardly vary: column 0, column 1",
    ),
    (
        (0.0, 1.0, 2.0),
        {"errors": (1.0, 1.0, 0.1), "per_column": True},
        "clipped by more than stated margins cover); 1 column hardly varies: column 0",
    ),
    (
        (0.0, 1.0, 2.0),
        {"errors": (1.0,) * 3, "per_column": True},
        "the scales of 2 columns could not be found: column 1, column 2 (",
    ),
    ((0.0,) * 3, {"errors": (1.0,) * 3, "per_column": True}, "no column varies enough for its scale to be found"),
    ((1e-9, 1e9, 1.0), {"units": (1.0, 2.0, 3.0)}, "columns differ 1e+18-fold, and noise follows them: it is 1e-10 to"),
]


@pytest.mark.parametrize(("values", "more", "wanted"), CASES)
def test_words_for_every_case(values, more, wanted):
    given = {"errors": (0.1,) * 3, "units": (1.0,) * 3, "kind": ScaleKind.FOUND, "per_column": False, **more}
    assert wanted in "; ".join(scales_in_words(Scales(values, **given), None, (), np.full(3, 0.1)))


def test_only_some_of_many_columns_are_named():
    """And where their means are reported, only if that was asked."""
    scales = Scales((1.0, *[0.0] * 9), (0.1, *[1.0] * 9), (1.0,) * 10, ScaleKind.FOUND, per_column=True)
    names, asked = [f"c{j}" for j in range(9)] + [" "], (Receipt(FINE_MEDIANS, "asked", "noise", Zcdp(1), exact=True),)
    told, untold = (scales_in_words(scales, names, receipts, np.ones(10))[-1] for receipts in (asked, ()))
    assert told.endswith(
        "9 columns hardly vary: c1, c2, c3, ...; where noise cannot tell a mean from the private median of its column, "
        "that median is reported"
    )
    assert untold.endswith("9 columns hardly vary: c1, c2, c3, ...")


def test_scales_are_printed_column_by_column():
    scales = Scales((18.234, 0.0, 2.5e4), (0.104, 1.0, 0.1), (1.0,) * 3, ScaleKind.FOUND, per_column=True)
    assert str(scales) == "column 0: 18.2 ± 10 %\ncolumn 1: could not be found\ncolumn 2: 2.5e+04 ± 10 %"
    given = replace(scales, errors=(0.0,) * 3, values=(1.0, 2.0, 3.0), kind=ScaleKind.GIVEN)
    assert str(given) == "column 0: 1 (given)\ncolumn 1: 2 (given)\ncolumn 2: 3 (given)"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_scales_have_the_names_of_the_columns(library):
    frame = pd.DataFrame(vectors([1.0, 50.0, 0.0]), columns=["age", " ", "x"])
    release = dpmean.mean(frame, rho=0.5, bounds=(-1000, 1000), seed=1)
    assert release.scales.columns == ("age", " ", "x")
    assert re.fullmatch(r"age: \S+ ± \d+ %\n' ': \S+ ± \d+ %\nx: could not be found", str(release.scales))
    found = release.scales.to_frame(library)
    columns = {name: [*map(_plain, found[name])] for name in ("column", "scale", "error")}
    assert columns["column"] == ["age", " ", "x"]
    assert columns["scale"][:2] == list(release.scales.values[:2])
    assert columns["error"][:2] == list(release.scales.errors[:2])
    assert math.isnan(columns["scale"][2])
    assert math.isnan(columns["error"][2])
    assert Release.from_json(release.to_json()).scales == release.scales
    without = dpmean.mean(frame.to_numpy(), rho=0.5, bounds=(-1000, 1000), seed=1)
    assert without.scales.columns is None
    assert str(without.scales).startswith("column 0: ")
    assert _plain(without.scales.to_frame(library)["column"][1]) == "column 1"
    groups = dpmean.mean_by(frame, by=np.zeros(len(frame)), groups=[0], rho=0.5, bounds=(-1000, 1000))
    assert groups[0].scales.columns == ("age", " ", "x")


def _plain(value):
    return value.as_py() if hasattr(value, "as_py") else value


def test_names_of_steps_are_compared_exactly():
    """A step whose name only begins like one of these is about something else."""
    ours = ["squares 1", "squares 12", "far pairs", "far pairs 2", "octaves", "medians", "medians, fine"]
    ours += ["tails 1", "tails 4", "tails 1, by column"]
    others = ["far", "far 2", "squares of differences", "medians after", "mediansmaller", "octave", "mean", "spread"]
    others += ["tail", "tails by column", "extremes"]
    receipts = [Receipt(step, "asked", "noise", Zcdp(1), exact=True) for step in ours + others]
    assert [receipt.step for receipt in receipts_of_scales(receipts)] == ours


# --- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKE)
def test_scales_are_the_same_there_and_back(made, name):
    release = made[name]
    for back in (Release.from_json(release.to_json()), pickle.loads(pickle.dumps(release))):  # noqa: S301  our own
        assert back.scales == release.scales
        assert back.to_json() == release.to_json()
        assert str(back) == str(release)
        assert np.array_equal(back.column_bounds(), release.column_bounds())
    assert ("scales" in json.loads(release.to_json())) == (name != "round")


WRONG = {
    "values": [[1.0] * 31, [1.0] * 33, [], [-1.0] * 32, None, 1.0, ["1"] * 32, [[1.0]] * 32, {"a": 1.0}],
    "errors": [[0.1] * 31, [-0.1] * 32, [1.5] * 32, [None] * 32, 0.1],
    "units": [[1.0] * 31, [0.0] * 32, [-1.0] * 32, [2.0] * 32, [1e200] * 32, [1e-300] * 32, None],
    "kind": ["guessed", "", None, 3, "x" * 500],
    "per_column": [None, 1, "no", True],
    "more": [1],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in WRONG.items() for value in values])
def test_scales_that_cannot_be_are_refused(made, field, value):
    document = json.loads(made["followed"].to_json())
    document["scales"][field] = value
    with pytest.raises(ArgumentError, match="this is not a release in the format") as caught:
        Release.from_json(json.dumps(document))
    assert "x" * 41 not in str(caught.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("field", ["values", "errors", "units"])
def test_numbers_that_are_none_are_refused(made, field, number):
    document = json.loads(made["table"].to_json())
    document["scales"][field][1] = "here"
    with pytest.raises(ArgumentError, match=r"is not a number|is too large"):
        Release.from_json(json.dumps(document).replace('"here"', number))


@pytest.mark.parametrize("scales", [None, [], "found", 3, {}])
def test_what_is_no_record_of_scales_is_refused(made, scales):
    with pytest.raises(ArgumentError, match="this is not a release in the format"):
        Release.from_json(json.dumps({**json.loads(made["even"].to_json()), "scales": scales}))


def test_what_a_document_says_of_scales_fits_its_bound(made):
    """Bounds on errors read scales and bound together."""
    for name, words in (("table", "per column where columns have bounds"), ("followed", "per column where columns")):
        document = json.loads(made[name].to_json())
        document["scales"]["per_column"] = not document["scales"]["per_column"]
        with pytest.raises(ArgumentError, match=words):
            Release.from_json(json.dumps(document))
    document = json.loads(made["given"].to_json())
    document["scales"]["units"] = [3.0 * unit for unit in document["scales"]["units"]]
    with pytest.raises(ArgumentError, match="must have mean square one"):
        Release.from_json(json.dumps(document))


# --- errors ----------------------------------------------------------------------------------------------------------

TRUTH = {"followed": vectors, "given": vectors, "table": table, "given table": table}


@pytest.mark.parametrize("name", TRUTH)
def test_bounds_hold_for_uneven_noise(name):
    """Of 60 runs, 3 are expected beyond a bound at 95 %; ten or more happen once in a thousand times."""
    truth = np.asarray(TRUTH[name]()).mean(axis=0)
    beyond, apart = 0, np.zeros(len(truth))
    for seed in range(RUNS):
        release = MAKE[name](seed)
        units = np.array(release.scales.units) if release.scales.per_column else np.ones(release.d)
        beyond += np.linalg.norm((release.mean - truth) / units) > release.error_bound()
        apart += np.abs(release.mean - truth) > release.column_bounds()
    assert beyond < 10
    assert apart.max() < 10


def test_a_bound_is_not_much_larger_than_the_noise():
    """Bounds that are twice as large as need be would pass the test above."""
    releases = [MAKE["followed"](seed) for seed in range(20)]
    truth = vectors().mean(axis=0)
    errors = [np.linalg.norm(release.mean - truth) for release in releases]
    assert np.median([release.error_bound() for release in releases]) < 2 * np.quantile(errors, 0.95)


def test_a_population_is_covered_by_the_spread_in_the_unit_of_the_user(made):
    for name in ("followed", "given"):
        release = made[name]
        sampling = 1.96 * release.found.spread / np.sqrt(release.n)
        assert release.error_bound(of="population") == pytest.approx(
            np.hypot(release.error_bound(), sampling), rel=1e-3
        )


def test_columns_are_as_accurate_as_their_own_values_allow_however_loose_their_range():
    """Each in its own standard deviations; a range that is a million times looser costs its column next to nothing."""
    loose = {**BOUNDS, "age": (-1e8, 1e8)}
    errors = {}
    for name, bounds in (("tight", BOUNDS), ("loose", loose)):
        runs = [dpmean.mean(table(), rho=0.5, bounds=bounds, seed=seed, neighbours="replace-one") for seed in range(9)]
        errors[name] = np.mean([run.noise_std for run in runs], axis=0)[:3] / table().std().to_numpy()[:3]
    assert errors["tight"].max() / errors["tight"].min() < 3
    assert (errors["loose"] < 2 * errors["tight"]).all()

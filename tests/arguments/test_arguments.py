"""Arguments: whatever is wrong with one is found before anything is drawn or charged, and blank names are names."""

import contextlib
import inspect
import json
import math
import warnings
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import dpmean
from dpmean import ArgumentError, baselines
from dpmean.arguments.request import Job
from dpmean.cli import main
from dpmean.enums import Trust, read_name
from dpmean.noise import source
from dpmean.noise.public import PublicCoins
from dpmean.noise.source import seeded
from dpmean.pipeline import central as front
from dpmean.sklearn import PrivateMean, PrivateNearestCentroid
from tests.support.recorder import RecordingNoise

RELATIONS = ("replace-one", "add-or-remove-one")
BOUNDS = {"age": (0, 120), "bmi": (10, 70)}


def visits(unit, n=3000):
    """Return two visits of each person; what tells persons apart is in a column of any name."""
    rng = np.random.default_rng(0)
    persons = rng.permutation(n) // 2
    columns = {unit: persons, "clinic": persons % 2, "age": rng.normal(50, 10, n), "bmi": rng.normal(25, 3, n)}
    return pd.DataFrame(columns)


# --- wrong arguments -------------------------------------------------------------------------------------------------

GARBAGE = [
    *("", "no such", b"raise", "\0", -1, 0, 3, 0.3, math.nan, math.inf, -math.inf, 10**400, 1j, True, False),
    *([], (), {}, {"": ""}, {"age": 5}, [math.nan], [[]], object(), np.array([0.5, 2.0]), np.float64("nan"), pd.NA),
]
"""What is wrong nearly everywhere: of another type, of no size, negative, not finite, empty."""
FITTING = {
    "rho": [0.3],
    "epsilon": [0.3, 3],
    "delta": [0.3],
    "bounds": [np.array([0.5, 2.0])],
    "columns": [{"age": 5}],
    "norm_bound": [3, 0.3],
    "sigma_min": [3, 0.3],
    "sigma_max": [3, 0.3],
    "nan": [{}, {"age": 5}],
    "count_values": [True, False],
    "groups": [np.array([0.5, 2.0])],
    "contributions": [1],
    "allow_few_rows": [True, False],
    "population": [True, False],
    "shape": [np.array([0.5, 2.0])],
    "standardize": [True, False],
}
"""What is right of it."""
ALSO_WRONG = {
    "step": [2.0**-60, 2.0**40, Fraction(1, 3), "0.5"],
    "sigma_min": [100.0],
    "sigma_max": [1e200, 1e-9],
    "bounds": [(0, 0), (120, 0), (0, math.nan), ([0], [1]), (0, 1, 2), {**BOUNDS, "bmi": (70, 10)}, {"bmi": (10, 70)}],
    "nan": [
        *(None, "Drop", {"no such": "impute"}, {"age": None}, ["impute"], {"age": 121}, {"age": -0.5}, {"age": "10"}),
        *({"age": math.nan}, {"age": math.inf}, {"age": True}, {"bmi": 10**400}, {9: "impute"}, {b"age": 10.0}),
    ],
    "count_values": ["yes", None, 1],
    "allow_few_rows": ["yes", None, 1, np.array([True])],
    "population": ["yes", None, 1, np.array([True])],
    "neighbours": ["replace_one", "add-or-remove-two", ["replace-one"]],
    "rho": [1e-13, 1e13, 2.0, "0.5"],
    "epsilon": [None],
    "delta": [1.0, 2, None],
    "norm_bound": [1e300, 1e-300, "600"],
    "seed": [1, "1", 1.0],
    "trust": [None, "Central"],
    "rounds": [None, "many"],
    "honest": [None, 2],
    "passes": [None, "2"],
    "method": ["Refined", "mean"],
    "columns": [["age", "no such"], ["age", "age"], "no such"],
    "vector_column": ["age"],
    "groups": [None, [0, 0], [[0]], "01"],
    "by": ["no such"],
    "sizes": [None, "secret", ["private"]],
    "contributions": [2, 2.0, "2", None, np.array([1])],
    "ledger": ["budget.json", 1.0],
    "shape": [
        *(None, "Round", [1.0], [1.0, 2.0, 3.0], [1.0, 0.0], [1.0, -2.0], [1.0, math.nan], [1.0, math.inf], ["a", "b"]),
        *({"age": 10.0}, {"age": 10.0, "no such": 1.0}, {"age": 10.0, "bmi": 3.0, "x": 1.0}, {"age": 10.0, "bmi": 0.0}),
        *([1e-300, 1.0], [1e300, 1.0], [1e-12, 1e12], [[1.0, 2.0]], [True, True], {"age": "wide", "bmi": 1.0}),
    ],
    "standardize": [None, "yes", 1],
}
WITHOUT = {
    "epsilon": {"rho": None, "delta": 1e-6},
    "delta": {"rho": None, "epsilon": 1.0},
    "norm_bound": {"bounds": None},
    "sigma_min": {"bounds": None, "norm_bound": 60.0, "sigma_max": 10.0},
    "sigma_max": {"bounds": None, "norm_bound": 60.0, "sigma_min": 0.1},
    "step": {"bounds": None, "norm_bound": 60.0},
}
"""With what else an argument may be right."""


@pytest.fixture
def drawn(monkeypatch):
    """Return a list that grows whenever private randomness is drawn, or noise that somebody knows."""
    draws, secret, known = [], source._system_words, source.SeededNoise.at
    monkeypatch.setattr(source, "_system_words", lambda count: draws.append(count) or secret(count))
    monkeypatch.setattr(source.SeededNoise, "at", lambda *given: draws.append(given) or known(*given))
    return draws


def is_same(one, other):
    return type(one) is type(other) and repr(one) == repr(other)


def wrong_values(name):
    fitting = FITTING.get(name, [])
    garbage = [value for value in GARBAGE if not any(is_same(value, right) for right in fitting)]
    return [*garbage, *ALSO_WRONG.get(name, [])]


def assert_costs_nothing(call, name, value, ledger, drawn):
    """Let a call with one wrong argument fail, by a documented error, without a trace in the ledger."""
    try:
        call(value)
    except (ValueError, TypeError):
        pass
    else:
        pytest.fail(f"{name}={value!r} is not refused")
    assert ledger.entries == (), f"{name}={value!r} was charged"
    assert drawn == [], f"{name}={value!r}: noise was drawn"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:delta=", "ignore::dpmean.TooFewRowsWarning")
@pytest.mark.parametrize("name", inspect.signature(dpmean.mean).parameters)
def test_a_wrong_argument_of_a_mean_costs_nothing(name, drawn):
    """With a private number of rows, which would be drawn and charged first of all."""
    ledger = dpmean.Ledger(rho=1.0)
    right = {"X": visits("patient"), "rho": 0.5, "bounds": BOUNDS, "columns": list(BOUNDS), "ledger": ledger}
    right |= {"neighbours": "add-or-remove-one", **WITHOUT.get(name, {})}
    for value in wrong_values(name):
        assert_costs_nothing(lambda value: dpmean.mean(**{**right, name: value}), name, value, ledger, drawn)
    if name in ("sigma_min", "sigma_max"):
        alone = {**right, "sigma_min": None, "sigma_max": None, name: 1.0}
        assert_costs_nothing(lambda _: dpmean.mean(**alone), name, "alone", ledger, drawn)
    for value in FITTING.get(name, []):
        drawn.clear()
        dpmean.mean(**{**right, "allow_few_rows": True, name: value, "ledger": None})
        assert drawn  # what is refused above is refused for that value alone


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("sizes", ["private", "public"])
@pytest.mark.parametrize("name", inspect.signature(dpmean.mean_by).parameters)
def test_a_wrong_argument_of_means_of_groups_costs_nothing(name, sizes, drawn):
    ledger = dpmean.Ledger(rho=1.0)
    right = {"X": visits("patient"), "by": "clinic", "groups": [0, 1], "rho": 0.5, "bounds": BOUNDS}
    right |= {"columns": list(BOUNDS), "ledger": ledger, "sizes": sizes, **WITHOUT.get(name, {})}
    for value in wrong_values(name):
        assert_costs_nothing(lambda value: dpmean.mean_by(**{**right, name: value}), name, value, ledger, drawn)
    if sizes == "private":
        assert_costs_nothing(lambda rho: dpmean.mean_by(**{**right, "rho": rho}), "rho", 1e-7, ledger, drawn)


@pytest.mark.parametrize("trust", ["local", "shuffle"])
@pytest.mark.parametrize("name", inspect.signature(dpmean.mean).parameters)
def test_a_wrong_argument_of_a_collection_costs_nothing(name, trust, drawn):
    ledger, rows = dpmean.Ledger(epsilon=4.0, delta=1e-6), visits("patient")
    right = {"X": rows, "trust": trust, "epsilon": 2.0, "bounds": BOUNDS, "columns": list(BOUNDS), "ledger": ledger}
    right |= {"allow_few_rows": True, **({"delta": 1e-9} if trust == "shuffle" else {})}
    right |= {"bounds": None} if name == "norm_bound" else {}
    for value in wrong_values(name):
        fits = {("delta", "local"): None, ("honest", "shuffle"): 0.3}  # here, and not in the central model
        if (name, trust) not in fits or not is_same(value, fits[name, trust]):
            assert_costs_nothing(lambda value: dpmean.mean(**{**right, name: value}), name, value, ledger, drawn)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::dpmean.sklearn.SeededWarning")
@pytest.mark.parametrize("name", inspect.signature(PrivateMean).parameters)
def test_a_wrong_argument_of_an_estimator_costs_nothing(name, drawn):
    ledger, frame = dpmean.Ledger(rho=1.0), visits("patient")
    right = {"rho": 0.5, "bounds": BOUNDS, "ledger": ledger, "neighbours": "add-or-remove-one", **WITHOUT.get(name, {})}
    for value in [value for value in wrong_values(name) if not is_same(value, np.array([0.5, 2.0]))]:
        call = {**right, name: value}
        assert_costs_nothing(lambda _, c=call: PrivateMean(**c).fit(frame[list(BOUNDS)]), name, value, ledger, drawn)
        call = {"classes": [0, 1], **call}
        assert_costs_nothing(
            lambda _, c=call: PrivateNearestCentroid(**c).fit(frame[list(BOUNDS)], frame["clinic"]),
            name,
            value,
            ledger,
            drawn,
        )
    for classes in (None, [], "01", 5, [0, 0], [[0, 1]], math.nan):
        estimator = PrivateNearestCentroid(**{**right, "classes": classes})
        with pytest.raises((ValueError, TypeError)):
            estimator.fit(frame[list(BOUNDS)], frame["clinic"])
        assert ledger.entries == ()


PEERS = [
    *(baselines.gaussian_mechanism, baselines.quantile_clipping, baselines.adaptive_clipping, baselines.plan_mean),
    *(baselines.coinpress_mean, baselines.coinpress_covariance_mean, baselines.known_variance),
    baselines.unknown_variance,
]
OF_PEERS = {"quantile", "rounds", "covariance_rounds", "learning_rate", "sigma", "sigma_min", "sigma_max", "norm_bound"}


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.__name__)
def test_a_wrong_argument_of_a_peer_costs_nothing(peer, drawn):
    rows, ledger = visits("patient")[["age", "bmi"]].to_numpy(), dpmean.Ledger(rho=1.0)
    no_numbers = [value for value in GARBAGE if type(value) not in (int, float) or not 0 < value < 10]
    own = OF_PEERS & set(inspect.signature(peer).parameters)
    values = dict.fromkeys((*own, "rho", "epsilon"), no_numbers)
    values |= {name: wrong_values(name) for name in ("step", "nan")}
    values |= {"seed": [value for value in GARBAGE if not isinstance(value, int)], "no such argument": [1]}
    for name, wrong in values.items():
        for value in wrong:
            more = {"rho": 0.5, "norm_bound": 600.0, **WITHOUT.get(name, {}), name: value}
            more = {key: given for key, given in more.items() if key == name or given is not None}
            assert_costs_nothing(lambda _, more=more: peer(rows, **more), name, value, ledger, drawn)


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            "--nan skip",
            "--nan age=skip",
            "--nan age=impute,bmi",
            "--nan age=121",
            "--nan drop --neighbours replace-one",
        ),
        *(
            "--contributions 2",
            "--by clinic --groups 0,1 --contributions 2",
            "--by clinic --groups 0,1 --contributions 0",
        ),
        *("--neighbours two", "--trust none", "--passes 3"),
        *("--method x", "--rounds few", "--honest 0.7", "--seed 1", "--columns age,no", "--vector-column age"),
        *("--privacy-unit no", "--norm-bound 9", "--lower 0 --upper 9", "--by clinic --groups 0 --sizes secret"),
        *("--by clinic", "--groups 0,1", "--by no --groups 0,1", "--delta 1e-6", "--epsilon 1", "--rho -1"),
    ],
)
def test_a_wrong_option_of_the_command_costs_nothing(wrong, drawn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits("patient").to_csv("visits.csv", index=False)
    (tmp_path / "bounds.csv").write_text("column,lower,upper\nage,0,120\nbmi,10,70\n")
    dpmean.Ledger("budget.json", rho=1.0)
    before = (tmp_path / "budget.json").read_bytes()
    command = "mean visits.csv --rho 0.5 --bounds bounds.csv --neighbours add-or-remove-one --ledger budget.json"
    assert CliRunner().invoke(main, [*command.split(), *wrong.split()]).exit_code != 0
    assert (tmp_path / "budget.json").read_bytes() == before
    assert drawn == []
    if wrong == "--method x":  # without it all is well
        assert CliRunner().invoke(main, command.split()).exit_code == 0
        assert drawn


def test_whoever_draws_noise_is_given_no_argument_as_it_came():
    given = inspect.get_annotations(front.run_job)
    assert {name: given[name] for name in given if name not in ("counted", "return")} == {
        "job": "Job",
        "curate": "Curate",
    }
    with pytest.raises(FrozenInstanceError):
        Job(None, None, None, ()).request = None


def test_steps_that_are_accepted_do_for_every_number_of_rows():
    """They are checked for the smallest and the largest number that there can be, before one is drawn."""
    shared = {"rho": 0.5, "norm_bound": 60.0, "sigma_min": 0.1, "sigma_max": 9.0, "allow_few_rows": True, "seed": 1}

    def accepted(n):
        rows = np.random.default_rng(0).normal(5, 1, (n, 3))
        for power in range(-60, 20):
            with warnings.catch_warnings(), contextlib.suppress(ArgumentError):
                warnings.simplefilter("ignore")
                dpmean.mean(rows, step=2.0**power, neighbours="add-or-remove-one", **shared)
                yield power

    assert list(accepted(3)) == list(accepted(3000)) == list(range(-43, 6))


# --- a column whose name is blank ------------------------------------------------------------------------------------


def in_every_form(frame, folder):
    frame.to_csv(folder / "r.csv", index=False)
    frame.to_parquet(folder / "r.parquet")
    return [frame, pl.from_pandas(frame), folder / "r.csv", folder / "r.parquet"]


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_persons_by_a_column_without_a_name_are_persons(neighbours, tmp_path):
    """R's ``write.csv`` calls its first column ""; a release is the same as by a column of any other name."""
    shared = {"rho": 0.5, "bounds": BOUNDS, "columns": list(BOUNDS), "neighbours": neighbours, "seed": 1}
    wanted = dpmean.mean(visits("patient"), privacy_unit="patient", **shared)
    groups = {"by": "clinic", "groups": [0, 1], **shared}
    wanted_by = dpmean.mean_by(visits("patient"), privacy_unit="patient", **groups)
    for X in in_every_form(visits(""), tmp_path):
        found = dpmean.mean(X, privacy_unit="", **shared)
        assert found.to_json() == wanted.to_json().replace('"patient"', '""')
        found_by = dpmean.mean_by(X, privacy_unit="", **groups)
        assert found_by.to_json() == wanted_by.to_json().replace('"patient"', '""')


@pytest.mark.parametrize("unit", ["", " ", "0", "patient"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_persons_stand_in_a_secret_order_whatever_their_column_is_called(unit, neighbours, monkeypatch):
    """Were none drawn, one person more among the keys would shift all others, and with them all pairs."""
    shared = {"rho": 0.5, "bounds": BOUNDS, "columns": list(BOUNDS), "privacy_unit": unit, "neighbours": neighbours}
    noise = RecordingNoise(seeded(3))
    monkeypatch.setattr(front, "read_randomness", lambda _: (noise, PublicCoins("known")))
    dpmean.mean(visits(unit), **shared)
    assert noise.secrets[0] == ("persons", 1500)
    noise.secrets.clear()
    dpmean.mean_by(visits(unit), by="clinic", groups=[0, 1], seed=3, **shared)
    assert [count for step, count in noise.secrets if step == "persons"] == [750, 750]


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_ledger_and_a_page_tell_persons_without_a_name_from_rows(neighbours, tmp_path):
    shared = {"rho": 0.5, "bounds": BOUNDS, "columns": list(BOUNDS), "neighbours": neighbours}
    by = {"by": "clinic", "groups": [0, 1]}
    ledger = dpmean.Ledger(tmp_path / "budget.json", rho=2.0)
    one = dpmean.mean(visits(""), privacy_unit="", ledger=ledger, **shared)
    many = dpmean.mean_by(visits(""), privacy_unit="", ledger=ledger, **by, **shared)
    again = dpmean.Ledger(tmp_path / "budget.json")
    assert [entry.relation for entry in again.entries] == [(neighbours, "")] * 2
    assert "1500 persons" in str(again) or neighbours == "add-or-remove-one"
    for release in (dpmean.mean(visits(""), **shared), dpmean.mean_by(visits(""), **by, **shared)):
        with pytest.raises(
            ArgumentError, match=r"protects rows \(.*\); earlier releases of this dataset protect '' \("
        ):
            again.record(release)
    words = " ".join(one.explain().split())
    assert "protects all rows of one '', " in words
    assert f"({neighbours}); the number of persons" in words
    for release in (one, many):
        page = dpmean.report(release, tmp_path / "page.html").read_text()
        assert "all that have the same value of &#x27;&#x27;, are protected together" in page
        assert "persons ('')" in str(release) or "each '' counts in one group" in str(release)
        assert type(release).from_json(release.to_json()).to_json() == release.to_json()


# --- names that nobody knows -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def releases():
    rows = np.random.default_rng(0).normal(5, 1, (3000, 2))
    shared = {"norm_bound": 60.0, "seed": 1, "allow_few_rows": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "central": dpmean.mean(rows, rho=0.5, **shared),
            "local": dpmean.mean(rows, trust="local", epsilon=2.0, **shared),
            "shuffle": dpmean.mean(rows, trust="shuffle", epsilon=2.0, delta=1e-9, **shared),
        }


@pytest.mark.parametrize(
    ("trust", "change", "words"),
    [
        *(
            (trust, {"trust": name}, 'trust must be "central", "local" or "shuffle", got')
            for trust in ("central", "local", "shuffle")
            for name in ("federated", "Central", "")
        ),
        *(("local", {"trust": name}, r"trust") for name in (None, 5, ["central"])),
        ("central", {"neighbours": "replace-two"}, 'neighbours must be "replace-one" or "add-or-remove-one", got'),
        ("shuffle", {"public": {"fidelity": "rumours"}}, 'fidelity must be "totals" or "messages", got'),
        ("shuffle", {"public": {"variant": "best"}}, "variant must be one of mean, twice, two, tree, binary"),
        ("central", {"trust": "shuffle"}, "variant must be one of"),
    ],
)
def test_a_release_with_an_unknown_name_is_refused(releases, trust, change, words):
    document = json.loads(releases[trust].to_json())
    assert dpmean.Release.from_json(json.dumps(document)).trust == trust
    public = {**document["public"], **change.get("public", {})}
    with pytest.raises(ArgumentError, match=words):
        dpmean.Release.from_json(json.dumps({**document, **change, "public": public}))
    if "public" not in change and change["trust" if "trust" in change else "neighbours"] != "shuffle":
        with pytest.raises(ArgumentError, match=words):
            replace(releases[trust], **change)


@pytest.mark.parametrize("price", [{"rho": "1/2", "epsilon": "1"}, {"f_dp": "1/2"}, {"rho": 0.5}, {}, {"rho": "x"}])
def test_a_cost_in_an_unknown_notion_is_refused(releases, price):
    document = json.loads(releases["central"].to_json())
    del document["receipts"][0]["rho"]
    document["receipts"][0] |= price
    with pytest.raises(ArgumentError, match="this is not a release"):
        dpmean.Release.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sizes": "secret"}, 'sizes must be "private" or "public", got'),
        ({"neighbours": "replace-two"}, 'neighbours must be "replace-one" or "add-or-remove-one", got'),
        ({"sizes": "public"}, "public sizes only where neighbours replace one"),
    ],
)
def test_groups_with_an_unknown_name_are_refused(change, words):
    found = dpmean.mean_by(visits("who"), by="clinic", groups=[0, 1], rho=0.5, bounds=BOUNDS, seed=1)
    with pytest.raises(ArgumentError, match=words):
        dpmean.GroupedRelease.from_json(json.dumps({**json.loads(found.to_json()), **change}))
    with pytest.raises(ArgumentError, match=words):
        replace(found, **change)
    in_another_model = {label: replace(one, trust="local") for label, one in found.items()}
    with pytest.raises(ArgumentError, match="groups have the central model"):
        replace(found, groups=in_another_model)


@pytest.mark.parametrize("name", ["replace-two", "", "add-or-remove-one within its clinic", "within its clinic"])
def test_a_ledger_with_unknown_neighbours_is_refused(name, tmp_path):
    file = tmp_path / "budget.json"
    ledger = dpmean.Ledger(file, rho=1.0)
    with pytest.raises(ArgumentError, match="neighbours"):
        ledger.charge(dpmean.Zcdp(0.1), "a count", neighbours=name)
    ledger.charge(dpmean.Zcdp(0.1), "a count", neighbours="replace-one within its clinic")
    file.write_text(file.read_text().replace("replace-one within its clinic", name))
    with pytest.raises(dpmean.LedgerError, match="is damaged"):
        dpmean.Ledger(file)


def test_every_known_name_is_described_by_words_of_its_own(releases, tmp_path):
    """A page has a sentence for each trust model, and none that serves for all others."""
    firsts = {
        "central": "Central model: the author",
        "local": "Local model: nobody",
        "shuffle": "Shuffle model: clients",
    }
    for trust, release in releases.items():
        page = dpmean.report(release, tmp_path / "page.html").read_text()
        assert [other for other, words in firsts.items() if words in page] == [trust]
        assert f"{trust} model" in release.explain()
    assert [read_name(Trust, trust, "trust") for trust in releases] == list(Trust)

"""One request: all ways in read the same arguments, with the same defaults, before they look at a row."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpmean
from dpmean import ArgumentError, ArgumentTypeError
from dpmean.arguments.groups import read_groups
from dpmean.arguments.request import read_request
from dpmean.arguments.terms import read_terms
from dpmean.cli import main
from dpmean.enums import Trust
from dpmean.pipeline import dispatch, grouped
from dpmean.sklearn import PrivateMean, PrivateNearestCentroid

ENOUGH = {"rho": 0.5, "norm_bound": 60.0}


class Untouchable:
    """An input that may not be looked at yet."""

    def __getattribute__(self, name):
        if name == "__class__":  # isinstance looks at it
            return object.__getattribute__(self, name)
        raise AssertionError(f"{name} was looked at")


def defaults(call):
    return {one.name: one.default for one in inspect.signature(call).parameters.values()}


@pytest.mark.parametrize("way", [dpmean.mean, dpmean.mean_by, dpmean.plan, PrivateMean, PrivateNearestCentroid])
def test_every_way_in_has_the_defaults_of_a_request(way):
    own = {"X", "by", "groups", "contributions", "sizes", "n", "d", "classes", "random_state", "standardize"}
    own |= {"error", "scale", "rows", "metric"}
    request, given = defaults(read_request), defaults(way)
    if way in (PrivateMean, PrivateNearestCentroid):
        assert given.pop("method") == "refined"  # which None stands for
    assert {name: given[name] for name in given if name not in own} == {
        name: request[name] for name in given if name not in own
    }


def test_terms_have_the_defaults_of_a_request():
    request, terms = defaults(read_request), defaults(read_terms)
    assert terms.pop("sizes") is None
    assert terms == {name: request[name] for name in terms}


WRONG = [
    {"rho": -1.0},
    {"norm_bound": None},
    {"bounds": (0, 1)},
    {"method": "no such"},
    {"neighbours": "no such"},
    {"allow_few_rows": "yes"},
    {"ledger": "budget.json"},
    {"nan": {"age": "skip"}},
    {"nan": {"age": math.nan}},
    {"count_values": "yes"},
    {"shape": "flat"},
    {"shape": [1.0, 0.0]},
    {"shape": {"age": -1.0}},
    {"shape": [1.0, 2.0], "method": "shifted"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: next(iter(wrong)))
def test_a_wrong_argument_is_found_before_anybody_looks_at_the_rows(wrong):
    given = {**ENOUGH, **wrong}
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        dpmean.mean(Untouchable(), **given)
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        dpmean.mean_by(Untouchable(), by="clinic", groups=[0, 1], **given)
    if "nan" in wrong or "count_values" in wrong:
        return  # scikit-learn's way with missing values is its own
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        PrivateMean(**given).fit(Untouchable())
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        PrivateNearestCentroid(classes=[0, 1], **given).fit(Untouchable(), Untouchable())


def test_what_is_right_is_looked_at():
    with pytest.raises(AssertionError, match="was looked at"):
        dpmean.mean(Untouchable(), **ENOUGH)


@pytest.mark.parametrize(
    "options", ["--rho -1", "--rho 0.5 --method x", "--rho 0.5 --nan skip", "--rho 0.5 --passes 3"]
)
def test_the_command_finds_a_wrong_option_before_it_opens_the_file(options):
    done = CliRunner().invoke(main, f"mean no-such-file.csv --norm-bound 60 {options}".split())
    assert done.exit_code != 0
    assert "no-such-file" not in done.output


def test_a_request_gives_what_the_function_gives():
    rows = np.random.default_rng(0).normal(5, 1, (4000, 3))
    for given in (ENOUGH, {**ENOUGH, "trust": "local"}, {**ENOUGH, "passes": 1, "neighbours": "replace-one"}):
        request = read_request(**given, seed=1)
        assert dispatch.run(rows, request).to_json() == dpmean.mean(rows, **given, seed=1).to_json()
    request = read_request(**ENOUGH, seed=1, groups=read_groups(rows[:, 0] > 5, [True, False]))
    by = dpmean.mean_by(rows, by=rows[:, 0] > 5, groups=[True, False], **ENOUGH, seed=1)
    assert grouped.run_groups(rows, request).to_json() == by.to_json()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"passes": 1, "trust": "local"}, "passes is for the central model"),
        ({"privacy_unit": "p", "trust": "local"}, "privacy_unit is for the central model"),
        ({"step": 0.5, "trust": "local"}, "step is for the central model"),
        ({"shape": "round", "trust": "local"}, "shape is for the central model"),
        ({"shape": [1.0, 2.0], "trust": "local"}, "shape is for the central model"),
        ({"rounds": "few"}, "rounds is for the local and the shuffle model"),
        ({"honest": 0.9}, "honest is for the shuffle model"),
        ({"fidelity": "messages"}, "fidelity is for the shuffle model"),
    ],
)
def test_an_argument_of_another_trust_model_is_refused_by_its_name(option, words):
    with pytest.raises(ArgumentError, match=f'{words}, got trust="{option.get("trust", "central")}": leave'):
        read_request(**ENOUGH, **option)


def test_groups_are_for_the_central_model():
    groups = read_groups("clinic", ["A"])
    for trust in set(Trust) - {Trust.CENTRAL}:
        budget = {"epsilon": 1.0, "delta": 1e-9} if trust is Trust.SHUFFLE else {"rho": 0.5}
        with pytest.raises(ArgumentError, match="groups is for the central model"):
            read_request(**budget, norm_bound=60.0, trust=trust, groups=groups)


def test_a_local_release_that_the_ledger_cannot_pay_is_refused_before_rows_are_read():
    ledger = dpmean.Ledger(rho=0.1)
    with pytest.raises(dpmean.OverspendError):
        dpmean.mean(Untouchable(), **ENOUGH, trust="local", ledger=ledger)


MALFORMED = [
    {"columns": 5},
    {"columns": []},
    {"columns": ["age", "age"]},
    {"columns": ["age", 3]},
    {"columns": ["age"], "vector_column": "v"},
    {"vector_column": 3},
    {"newlines": "no such"},
    {"privacy_unit": 3.5},
    {"privacy_unit": {"who": 1}},
    {"privacy_unit": np.array(3)},
    *(
        {"norm_bound": None, "bounds": wrong}
        for wrong in (5, "ab", (1, 0), (0, np.nan), (0, 1, 2), ([0, 0], [1, 1, 1]))
    ),
    *({"norm_bound": None, "bounds": wrong} for wrong in ({}, {"a": 3}, {"a": (1, 0)}, {3: (0, 1)}, {"a": (0, "x")})),
    {"passes": 1.0},
    {"seed": True},
    *({"shape": wrong} for wrong in (None, 5, 1.0, "flat", [], {}, [[1.0]], [1.0, "x"], ["1", "2"], [True, False])),
    *({"shape": wrong} for wrong in ([0.0], [-1.0], [np.nan], [np.inf], [1e-200], [1e200], [1e-12, 1e12], {3: 1.0})),
    *({"shape": wrong} for wrong in ({"a": "x"}, {"a": None}, {"a": np.nan}, [[1.0], [1.0, 2.0]], b"auto", [1j])),
    *({"shape": "round", "method": method} for method in ("shifted", "clipped")),
]


@pytest.mark.parametrize("wrong", MALFORMED, ids=str)
def test_what_cannot_be_right_for_any_rows_is_refused_before_they_are_looked_at(wrong):
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        dpmean.mean(Untouchable(), **{**ENOUGH, **wrong})
    if "passes" not in wrong:
        with pytest.raises((ArgumentError, ArgumentTypeError)):
            dpmean.mean_by(Untouchable(), by="clinic", groups=[0, 1], **{**ENOUGH, **wrong})


@pytest.mark.parametrize("by", [None, 3, {"clinic": 1}, b"clinic"])
def test_what_tells_groups_apart_is_a_name_or_keys(by):
    with pytest.raises(ArgumentTypeError, match="by must be the name of a column, or hold one key per row"):
        dpmean.mean_by(Untouchable(), by=by, groups=[0, 1], **ENOUGH)


def test_a_wrong_option_of_the_command_begins_no_ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", np.random.default_rng(0).normal(5, 1, (900, 2)), delimiter=",", header="a,b", comments="")
    command = "mean t.csv --rho 0.5 --norm-bound 60 --ledger new.json --ledger-rho 1"
    assert CliRunner().invoke(main, [*command.split(), "--method", "x"]).exit_code == 2
    assert not (tmp_path / "new.json").exists()
    assert CliRunner().invoke(main, command.split()).exit_code == 0
    assert (tmp_path / "new.json").exists()


@pytest.mark.parametrize("trust", ["local", "shuffle"])
def test_a_ledger_about_others_refuses_before_rows_are_read(trust):
    budget = {"rho": 0.1} if trust == "local" else {"epsilon": 1.0, "delta": 1e-9}
    terms = {"rho": 9.0} if trust == "local" else {"epsilon": 9.0, "delta": 1e-6}
    ledger = dpmean.Ledger(**terms, neighbours="add-or-remove-one")
    with pytest.raises(ArgumentError, match="Their costs cannot be added"):
        dpmean.mean(Untouchable(), norm_bound=60.0, trust=trust, ledger=ledger, **budget)
    persons = dpmean.Ledger(rho=9.0)
    persons.charge(dpmean.Zcdp(0.1), "before", neighbours="add-or-remove-one", unit="patient")
    with pytest.raises(ArgumentError, match="Their costs cannot be added"):
        dpmean.mean(Untouchable(), **ENOUGH, ledger=persons)


def test_a_ledger_of_rho_refuses_the_shuffle_model_before_rows_are_read():
    asked = {"norm_bound": 60.0, "trust": "shuffle", "epsilon": 1.0, "delta": 1e-9}
    with pytest.raises(ArgumentError, match="has no rho"):
        dpmean.mean(Untouchable(), ledger=dpmean.Ledger(rho=9.0), **asked)
    with pytest.raises(AssertionError, match="was looked at"):
        dpmean.mean(Untouchable(), ledger=dpmean.Ledger(epsilon=9.0, delta=1e-6), **asked)


@pytest.mark.parametrize("key", ["who", np.arange(4000) % 40])
def test_groups_and_persons_by_the_same_column_are_refused_before_anything_is_spent(key):
    """Every group would be one person, whose noisy count was released and charged."""
    frame = pd.DataFrame({"who": np.arange(4000) % 40, "x": np.ones(4000)})
    ledger = dpmean.Ledger(rho=1)
    asked = {"columns": ["x"], "norm_bound": 9.0, "rho": 0.5, "groups": [1, 2], "ledger": ledger}
    with pytest.raises(
        ArgumentError, match=r"by and privacy_unit are the same column.*: give the column that identifies"
    ):
        dpmean.mean_by(frame, by=key, privacy_unit=key, **asked)
    assert not ledger.entries
    assert dpmean.mean_by(frame, by=np.arange(4000) % 4, privacy_unit="who", **asked | {"ledger": None}).unit == "who"

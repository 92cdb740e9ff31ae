"""The trust models: each brings its words, its capabilities and its module, and no other name is one."""

import importlib
import inspect

import pytest

import dpmean
from dpmean import ArgumentError
from dpmean.arguments.request import read_request
from dpmean.enums import Trust
from dpmean.trust.registry import TRUST_MODELS, find_trust_model, models_with

EVERYWHERE = {"rho", "epsilon", "delta", "norm_bound", "bounds", "method", "trust", "columns", "vector_column"}
EVERYWHERE |= {
    "sep",
    "decimal",
    "encoding",
    "quotechar",
    "newlines",
    "neighbours",
    "nan",
    "ledger",
    "seed",
    "allow_few_rows",
}
"""Arguments that every trust model takes."""


def test_every_name_has_an_entry_and_every_entry_its_words():
    assert set(TRUST_MODELS) == set(Trust)
    for name, model in TRUST_MODELS.items():
        assert model.name is name
        assert model.label.startswith(name)
        assert all((model.seen, model.statement, model.notions, model.neighbours, model.options))


@pytest.mark.parametrize("model", TRUST_MODELS.values(), ids=lambda model: model.name)
def test_the_module_of_a_trust_model_runs_and_forecasts(model):
    module = importlib.import_module(model.module)
    assert list(inspect.signature(module.run).parameters) == ["X", "request"]
    assert list(inspect.signature(module.expect).parameters) == ["n", "d", "terms", "rows"]
    assert list(inspect.signature(module.promise).parameters) == ["n", "d", "terms", "rows"]


def test_every_argument_belongs_to_all_trust_models_or_is_an_option_of_some():
    special = set().union(*(model.options for model in TRUST_MODELS.values()))
    assert special == set(inspect.signature(read_request).parameters) - EVERYWHERE


@pytest.mark.parametrize("name", ["Central", "", None, "curator", ["central"], 3])
def test_an_unknown_name_is_refused(name):
    with pytest.raises(ArgumentError, match='trust must be "central", "local" or "shuffle", got'):
        find_trust_model(name)
    with pytest.raises(ArgumentError, match="trust must be"):
        dpmean.plan(1000, 3, rho=0.5, trust=name)


def test_who_takes_an_argument_is_said_in_words():
    assert models_with("rounds") == "the local and the shuffle model"
    assert models_with("honest") == "the shuffle model"

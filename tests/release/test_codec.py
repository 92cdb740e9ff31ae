"""Releases and ledgers as JSON: there and back, documents of version 0.1.0, and documents that are refused."""

import json
import pickle
import re
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpmean
from dpmean import ArgumentError, GroupedRelease, Ledger, LedgerError, Release, baselines
from dpmean.ledger.ledger import datasets
from dpmean.privacy.codec import CostDocument, decode_cost, encode_cost
from dpmean.privacy.renyi import ORDERS, Renyi
from dpmean.release.settings import BoxBounds, CollectionSettings, NormBound, Settings
from dpmean.release.settings_codec import encode_settings

pytestmark = pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")

OLD = json.loads((Path(__file__).parents[1] / "vectors" / "documents.json").read_text())
"""What version 0.1.0 wrote: releases as text, and ledgers with the names of the releases in them."""
ROWS = np.random.default_rng(0).normal([5.0, -1.0], 1.0, (3000, 2))
TABLE = pd.DataFrame({"a": ROWS[:, 0], "ß": ROWS[:, 1], "who": np.arange(3000) // 2, "team": np.arange(3000) % 2 == 0})
BALL, BOX = {"norm_bound": 60.0}, {"bounds": ([0.0, -20.0], [20.0, 5.0])}
FEW = {"allow_few_rows": True}
COLUMNS = {"columns": ["a", "ß"]}
MAKE = {
    "refined": lambda: dpmean.mean(ROWS, rho=0.5, **BALL),
    "shifted": lambda: dpmean.mean(ROWS, rho=1.0, method="shifted", neighbours="replace-one", **BALL),
    "clipped": lambda: dpmean.mean(ROWS, epsilon=1.0, delta=1e-6, method="clipped", **BOX),
    "few rows": lambda: dpmean.mean(ROWS[:60], rho=0.05, neighbours="replace-one", **BALL, **FEW),
    "persons": lambda: dpmean.mean(TABLE, privacy_unit="who", rho=0.5, nan="impute", **COLUMNS, **BALL),
    "seeded": lambda: dpmean.mean(ROWS, rho=0.5, seed=1, **BOX),
    "local": lambda: dpmean.mean(ROWS, epsilon=4.0, trust="local", **BALL, **FEW),
    "shuffle": lambda: dpmean.mean(ROWS, epsilon=4.0, delta=1e-6, trust="shuffle", **BALL),
    "peer": lambda: baselines.unknown_variance(
        ROWS, epsilon=3.0, delta=1e-6, norm_bound=60.0, sigma_min=0.1, sigma_max=9.0
    ),
    "floats": lambda: baselines.coinpress_covariance_mean(ROWS, rho=0.5, norm_bound=60.0),
    "groups": lambda: dpmean.mean_by(TABLE, by="team", groups=[True, False, 7], rho=0.5, **COLUMNS, **BALL),
    "left out": lambda: dpmean.mean(ROWS, rho=0.5, nan={0: "drop", 1: -1.5}, count_values=True, **BOX),
    "counted": lambda: dpmean.mean(TABLE, rho=0.5, nan="impute", count_values=True, **COLUMNS, **BALL),
}


@pytest.fixture(scope="module")
def made():
    return {name: make() for name, make in MAKE.items()}


def read(text):
    """Read a release, or the releases of groups."""
    kind = GroupedRelease if json.loads(text)["format"] == "dpmean.grouped/1" else Release
    return kind.from_json(text)


# --- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKE)
def test_a_release_is_the_same_there_and_back(made, name):
    release = made[name]
    text = release.to_json()
    back = read(text)
    assert back.to_json() == text
    assert back.identity == release.identity
    assert str(back) == str(release)
    assert repr(back) == repr(release)
    assert back.receipts == release.receipts
    if name == "groups":
        assert list(back) == [True, False, 7]
        assert back.refused == release.refused
        assert all(back[label].settings == one.settings for label, one in release.released.items())
        return
    assert back.settings == release.settings
    assert back.found == release.found
    for array in ("mean", "noise_std", "centre"):
        assert np.array_equal(getattr(back, array), getattr(release, array))


def test_settings_have_types(made):
    persons = made["persons"].settings
    assert persons.columns == persons.imputed == ("a", "ß")
    assert (persons.privacy_unit, persons.bound) == ("who", NormBound(60.0, 60.0))
    assert made["persons"].unit == "who"
    assert made["clipped"].settings.bound == BoxBounds((0.0, -20.0), (20.0, 5.0))
    assert made["clipped"].settings.delta == 1e-6
    assert made["few rows"].settings.few_rows
    assert not made["refined"].settings.few_rows
    assert made["refined"].settings.collection is None
    local, shuffle = made["local"].settings.collection, made["shuffle"].settings.collection
    assert (local.messages_per_user, local.variant, local.played_in_one_process) == (1, None, True)
    assert (shuffle.fidelity, shuffle.answered) == ("totals", 3000)
    assert shuffle.sealed_bytes_per_user > shuffle.bytes_per_user
    for release in made.values():
        assert release.identity is None or re.fullmatch("[0-9a-f]{32}", release.identity)
    assert all(one.settings.version == dpmean.__version__ for one in made.values() if isinstance(one, Release))


def test_settings_are_frozen_and_compared_by_value(made):
    settings = made["refined"].settings
    for name in [field.name for field in fields(settings)]:
        with pytest.raises(AttributeError):
            setattr(settings, name, None)
    assert replace(settings) == settings
    assert hash(replace(settings)) == hash(settings)
    assert replace(settings, note="x") != settings
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301  our own bytes


def test_the_former_mapping_says_the_same_and_warns(made):
    for name in ("refined", "persons", "local", "shuffle"):
        with pytest.warns(DeprecationWarning, match=r"Release.public has moved to Release.settings") as caught:
            public = made[name].public
        assert caught[0].filename == __file__
        assert dict(public) == json.loads(made[name].to_json())["public"]
        with pytest.raises(TypeError):
            public["coins"] = ""
    with pytest.warns(DeprecationWarning, match="goes with the next version"):
        assert made["shuffle"].public["rounds"] == made["shuffle"].settings.collection.rounds


@pytest.mark.parametrize(
    "cost",
    [
        dpmean.Zcdp(Fraction(1, 3)),
        dpmean.PureDp(2),
        dpmean.ApproxDp(1, Fraction(1, 10**9)),
        Renyi(tuple(0.1 * order for order in ORDERS), Fraction(1, 7), 1e-12),
    ],
)
def test_a_cost_is_the_same_there_and_back(cost):
    assert decode_cost(encode_cost(cost)) == cost


@pytest.mark.parametrize(
    "document",
    [
        CostDocument(),
        CostDocument(rho="1", epsilon="1"),
        CostDocument(rho="1", delta="1/2"),
        CostDocument(rho="1", distance=0.0),
        CostDocument(renyi=(0.0,) * len(ORDERS), delta="0"),
        CostDocument(renyi=(0.0,) * len(ORDERS), orders=(*ORDERS[:-1], 7), delta="0"),
        CostDocument(renyi=(0.0,) * len(ORDERS), orders=ORDERS, delta="9" * 100),
        CostDocument(rho="1e-99999999"),
        CostDocument(rho="-1/2"),
        CostDocument(rho="0"),
    ],
)
def test_a_cost_that_is_none_is_refused(document):
    with pytest.raises(ValueError, match=r"must|is") as caught:
        decode_cost(document)
    assert "9" * 41 not in str(caught.value)


# --- documents of version 0.1.0 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OLD["releases"])
def test_a_release_of_the_first_version_is_read_and_written_again_to_the_byte(name):
    text = OLD["releases"][name]
    release = read(text)
    assert release.to_json() == text
    assert pickle.loads(pickle.dumps(release)).to_json() == text  # noqa: S301  our own bytes
    assert str(release)
    assert release.method in release.explain() or isinstance(release, GroupedRelease)


def test_the_documents_of_the_first_version_are_of_all_kinds():
    releases = [read(text) for text in OLD["releases"].values()]
    single = [release for release in releases if isinstance(release, Release)]
    assert {"refined", "shifted", "clipped"} < {release.method for release in single}
    assert {str(release.trust) for release in single} == {"central", "local", "shuffle"}
    assert {release.exact for release in single} == {release.seeded for release in single} == {True, False}
    assert {type(release.settings.bound) for release in single} == {NormBound, BoxBounds}
    assert {release.settings.imputed for release in single} == {False, True, ("age",)}
    assert any(release.settings.few_rows for release in single)
    assert any(release.settings.radius_unit for release in single)
    assert {str(release.sizes) for release in releases if release not in single} == {"private", "public"}


@pytest.mark.parametrize("name", OLD["ledgers"])
def test_a_ledger_of_the_first_version_knows_the_releases_that_it_recorded(name, tmp_path):
    file, old = tmp_path / "budget.json", OLD["ledgers"][name]
    file.write_text(old["text"], encoding="utf-8")
    for dataset in datasets(file):
        ledger = Ledger(file, dataset=dataset)
        spent, known = ledger.spent, {entry.id for entry in ledger.entries}
        for recorded in old["recorded"]:
            release = read(OLD["releases"][recorded])
            if name != "epsilon" or recorded == dataset:
                assert release.identity in known
                ledger.record(release)
        assert ledger.spent == spent > 0
    assert file.read_text(encoding="utf-8") == old["text"]


def test_an_old_release_that_was_altered_is_another_one(tmp_path):
    file = tmp_path / "budget.json"
    file.write_text(OLD["ledgers"]["rho, replaced"]["text"], encoding="utf-8")
    ledger, release = Ledger(file), read(OLD["releases"]["refined"])
    before = ledger.spent
    ledger.record(replace(release, radius=release.radius * 2))
    assert ledger.spent == before + release.rho


def test_without_coins_nothing_tells_a_release_from_others():
    assert read(OLD["releases"]["collected"]).identity is None
    assert read(OLD["releases"]["seeded"]).identity is None  # its coins are the seed
    assert read(OLD["releases"]["collected, with coins"]).identity


# --- documents that are refused --------------------------------------------------------------------------------------


def document(name="refined"):
    return json.loads(OLD["releases"][name])


LONG = "x" * 500
WRONG = {
    "format": ["dpmean.release/2", 1, None],
    "mean": [[1.0], [1.0, "2"], [1.0, None], [10**400, 1], {"0": 1.0}, None, [[1.0], [2.0]]],
    "noise_std": [[-1.0, 1.0]],
    "radius": [-1.0, "1", True, None],
    "receipts": [[], [{}], None, {}, [1]],
    "n": [0, 2.5, "3", True, 10**30],
    "d": [0, 3, 10**30],
    "method": [3, None, "", "refined\nleft rho = 9"],
    "trust": ["federated", LONG, 3],
    "neighbours": ["replace-two", LONG, None],
    "seeded": ["no", 1, None],
    "found": [{}, {"spread": 1.0}, [], 3],
    "public": [None, [], 3],
}
WRONG_SETTINGS = {
    "bound": [
        *(3, {}, {"reach": "far"}, {"lower": [0.0, 0.0]}, {"norm_bound": 1.0}, {"reach": 1.0, "lower": [0.0, 0.0]}),
        *({"reach": -1.0}, {"lower": [5.0, 0.0], "upper": [1.0, 1.0]}),
    ],
    "step": ["x", -1.0],
    "coins": [7],
    "passes": [1.5, -1],
    "columns": [["a"], "ab", [1, 2], ["a", "a"]],
    "privacy_unit": [3],
    "imputed": ["a", [3]],
    "delta": [0.0, 1.0, "x", True],
    "few_rows": [1, "yes"],
    "dpmean": [1],
    "note": [None],
    "rounds": [3],
    "played_in_one_process": [True],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field in WRONG for value in WRONG[field]])
def test_a_field_of_the_wrong_kind_is_refused(field, value):
    with pytest.raises(ArgumentError, match=r"this is not a release in the format dpmean.release/1: ") as caught:
        Release.from_json(json.dumps({**document(), field: value}))
    assert "x" * 41 not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"), [(field, one) for field in WRONG_SETTINGS for one in WRONG_SETTINGS[field]]
)
def test_a_setting_of_the_wrong_kind_is_refused(field, value):
    old = document()
    with pytest.raises(ArgumentError, match="this is not a release in the format"):
        Release.from_json(json.dumps({**old, "public": {**old["public"], field: value}}))


@pytest.mark.parametrize("name", ["more", LONG, "a`b", "", "mean "])
@pytest.mark.parametrize("place", ["$", "public", "found", "receipts", "bound"])
def test_an_unknown_field_is_named(name, place):
    old = document()
    {"$": old, "bound": old["public"]["bound"], "receipts": old["receipts"][0]}.get(place, old.get(place))[name] = 1
    with pytest.raises(ArgumentError, match=re.escape(f"it has an unknown field {name[:40]!r}")) as caught:
        Release.from_json(json.dumps(old))
    assert place == "$" or f".{place}" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_field_that_is_missing_is_named():
    for field in set(document()) - {"format", "public", "found"}:
        rest = {name: value for name, value in document().items() if name != field}
        with pytest.raises(ArgumentError, match=f"missing required field `{field}`"):
            Release.from_json(json.dumps(rest))


TEXTS = {
    "twice": ('{"format": "dpmean.release/1", "n": 1, "n": 2}', "the field 'n' occurs twice"),
    "not a number": ('{"format": NaN}', "NaN is not a number"),
    "infinite": ('{"format": -Infinity}', "-Infinity is not a number"),
    "too large": ('{"format": 1e999}', "1e999 is too large"),
    "digits without end": ('{"format": ' + "9" * 5000 + "}", "Exceeds the limit"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "cut off": ('{"format": "dpmean', "Unterminated string"),
    "a list": ("[]", "does not name this format"),
    "a later format": ('{"format": "dpmean.release/2"}', "does not name this format"),
    "nothing": ("", "Expecting value"),
    "not text": (None, "it is not text"),
    "not UTF-8": (b"\xff", "it is not text in UTF-8"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_damaged_text_is_refused_wherever_it_is_read(kind, tmp_path):
    text, words = TEXTS[kind]
    for read_it in (Release.from_json, GroupedRelease.from_json):
        with pytest.raises(ArgumentError, match="this is not a release in the format") as caught:
            read_it(text)
        assert words in str(caught.value)
        assert "9" * 41 not in str(caught.value)
    if text:
        (tmp_path / "l.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(LedgerError, match=r"is damaged|is not a ledger"):
            Ledger(tmp_path / "l.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"more": 1}, "it has an unknown field 'more'"),
        ({"groups": []}, "groups"),
        ({"rho": "1"}, "do not cost what it says"),
        ({"delta": 2}, "delta"),
        ({"seeded": None}, "seeded"),
        ({"privacy_unit": 3}, "privacy_unit"),
        ({"sizes": LONG}, 'sizes must be "private" or "public", got'),
        ({"groups": [{"label": "a"}]}, 'a group has a "release"'),
        ({"groups": [{"label": "a", "refused": "x"}]}, 'a group has a "release"'),
        ({"groups": [{"label": ["a"], "refused": "x", "receipts": []}]}, "label"),
        ({"groups": [{"label": 1, "refused": "x", "receipts": []}] * 2}, "a group is there twice"),
        ({"groups": [{"label": 1, "refused": "x", "receipts": [], "why": 1}]}, "unknown field 'why'"),
    ],
)
def test_groups_that_are_wrong_are_refused(change, words):
    with pytest.raises(ArgumentError, match=re.escape(words)) as caught:
        GroupedRelease.from_json(json.dumps({**document("groups"), **change}))
    assert "x" * 41 not in str(caught.value)


@pytest.mark.parametrize(("field", "value"), [("seeded", True), ("neighbours", "replace-one"), ("d", 1)])
def test_groups_say_the_same_as_all_together(field, value):
    """A seeded group within a release that says it has no seed would be taken by a ledger."""
    old = document("groups")
    inner = next(group["release"] for group in old["groups"] if "release" in group)
    change = {field: value}
    if field == "d":
        change |= {name: inner[name][:1] for name in ("mean", "noise_std", "centre")}
        change["public"] = {name: one for name, one in inner["public"].items() if name not in ("columns", "bound")}
    if field == "seeded":
        change = {field: not inner[field]}
    inner.update(change)
    with pytest.raises(ArgumentError, match=r"the same seed, neighbours and unit|the same number of columns"):
        GroupedRelease.from_json(json.dumps(old))


def test_devices_do_not_hide_who_takes_part():
    old = document("local")
    with pytest.raises(ArgumentError, match="neighbours must be replace-one in the local model"):
        Release.from_json(json.dumps({**old, "neighbours": "add-or-remove-one"}))


@pytest.mark.parametrize("number", ["1/0", "1/00", "9" * 5000, "1/" + "9" * 5000])
def test_numbers_that_are_none_are_refused_in_our_words(number):
    old = document()
    receipts = [{**old["receipts"][0], "rho": number}]
    with pytest.raises(ArgumentError, match="is not a fraction such as 1/2"):
        Release.from_json(json.dumps({**old, "receipts": receipts}))


@pytest.mark.parametrize("name", ["refined", "groups"])
def test_coins_of_a_seed_are_those_of_a_seeded_release(name):
    old = document(name)
    place = old if "coins" in old else old["public"]
    place["coins"] = "seed 1"
    with pytest.raises(ArgumentError, match="its coins come from a seed"):
        (Release if name == "refined" else GroupedRelease).from_json(json.dumps({**old, "seeded": False}))


def test_costs_that_would_take_minutes_to_add_up_are_refused():
    old = document()
    receipts = [{**old["receipts"][0], "step": str(i), "rho": f"1/{10**690 + 2 * i + 1}"} for i in range(300)]
    with pytest.raises(ArgumentError, match="too many digits to add up"):
        Release.from_json(json.dumps({**old, "receipts": receipts}))


def test_half_a_character_is_no_method_and_nothing_that_a_ledger_keeps(tmp_path):
    """Nothing could print the one, or write the other again; in the name of a column it is shown in another way."""
    with pytest.raises(ArgumentError, match="method must be words"):
        Release.from_json(json.dumps({**document(), "method": "refined\ud800"}))
    with pytest.raises(ArgumentError, match="not text in UTF-8"):
        Release.from_json(bytearray(json.dumps(document()).encode("utf-16")))
    file = tmp_path / "l.json"
    Ledger(file, rho=1).charge(dpmean.Zcdp(0.5), "a count")
    file.write_text(file.read_text().replace('"a count"', '"\\ud800"'))
    with pytest.raises(LedgerError, match="not UTF-8 text"):
        Ledger(file)
    fine = Release.from_json(json.dumps({**document(), "method": "refined \U0001f600"}))
    assert fine.method == "refined \U0001f600"


@pytest.mark.parametrize(
    "others", [{"neighbours": "replace-one"}, {"neighbours": "add-or-remove-one", "unit": "patient"}]
)
def test_a_file_whose_costs_do_not_add_up_is_no_ledger(others, tmp_path):
    file = tmp_path / "l.json"
    ledger = Ledger(file, rho=1)
    for _ in range(2):
        ledger.charge(dpmean.Zcdp(0.1), "a count", neighbours="add-or-remove-one")
    found = json.loads(file.read_text())
    found["datasets"]["data"]["entries"][1].update(others)
    file.write_text(json.dumps(found))
    with pytest.raises(LedgerError, match="have different neighbours or units"):
        Ledger(file)


def test_no_entry_of_a_ledger_looks_like_another_line(tmp_path):
    """Whoever may write to the file could have it printed as anything."""
    file = tmp_path / "l.json"
    Ledger(file, rho=1).charge(dpmean.Zcdp(0.5), "a count")
    file.write_text(file.read_text().replace('"a count"', '"a count\\u001b[2K\\n  left    rho = 100"'))
    lines = str(Ledger(file)).splitlines()
    assert len(lines) == len(str(Ledger(rho=1)).splitlines()) + 1
    assert "\x1b" not in "".join(lines)


def test_a_release_within_groups_is_read_as_strictly():
    old = document("groups")
    old["groups"][0]["release"]["format"] = "dpmean.release/2"
    with pytest.raises(ArgumentError, match="a group does not name the format of its release"):
        GroupedRelease.from_json(json.dumps(old))


def test_a_field_that_a_ledger_does_not_have_is_named(tmp_path):
    file = tmp_path / "budget.json"
    Ledger(file, rho=1).charge(dpmean.Zcdp(0.1), "a count")
    old = json.loads(file.read_text())
    for name in ("more", LONG):
        file.write_text(json.dumps({**old, name: 1}))
        with pytest.raises(LedgerError, match=f"it has an unknown field '{name[:40]}'") as caught:
            Ledger(file)
        assert "x" * 41 not in str(caught.value)
    old["datasets"]["data"]["entries"][0]["neighbours"] = LONG
    file.write_text(json.dumps(old))
    with pytest.raises(LedgerError, match="neighbours must be") as caught:
        Ledger(file)
    assert "x" * 41 not in str(caught.value)


# --- settings as a document has them ---------------------------------------------------------------------------------


def test_settings_are_written_in_one_order_unless_a_document_had_another():
    collection = CollectionSettings(rounds=3, messages_per_user=1, bytes_per_user=2.5, answered=0)
    settings = Settings(note="n", coins="c", collection=collection, version="1")
    assert list(encode_settings(settings)) == [
        *("coins", "rounds", "messages_per_user", "bytes_per_user", "answered", "dpmean", "note"),
    ]
    old = document()
    for order in (1, -1):
        shuffled = {**old, "public": dict(list(old["public"].items())[::order])}
        text = json.dumps(shuffled)
        assert Release.from_json(text).to_json() == text

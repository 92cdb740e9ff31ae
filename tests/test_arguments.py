"""Arguments: whatever is wrong with one is found before anything is drawn or charged, and blank names are names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpmean
from dpmean import ArgumentError, front
from dpmean.coins import PublicCoins
from dpmean.noise.source import seeded
from tests.recorder import RecordingNoise

RELATIONS = ("replace-one", "add-or-remove-one")
BOUNDS = {"age": (0, 120), "bmi": (10, 70)}


def visits(unit, n=3000):
    """Return two visits of each person; what tells persons apart is in a column of any name."""
    rng = np.random.default_rng(0)
    persons = rng.permutation(n) // 2
    columns = {unit: persons, "clinic": persons % 2, "age": rng.normal(50, 10, n), "bmi": rng.normal(25, 3, n)}
    return pd.DataFrame(columns)


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
    dpmean.mean_by(visits(unit), by="clinic", groups=[0, 1], **shared)
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
        with pytest.raises(ArgumentError, match=r"of rows, and earlier ones on this data set are about .* of ''"):
            again.record(release)
    facts = [words for _, words in one.told()[0]]
    assert any(
        words.startswith(f"neighbours: {neighbours}, that is, all rows of one ''; the number") for words in facts
    )
    assert not any("the number of rows" in words for words in facts)
    for release in (one, many):
        page = dpmean.report(release, tmp_path / "page.html").read_text()
        assert "all that have the same value of &#x27;&#x27;, are protected together" in page
        assert "persons ('')" in str(release)
        assert type(release).from_json(release.to_json()).to_json() == release.to_json()

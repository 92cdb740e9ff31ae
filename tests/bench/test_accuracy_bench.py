"""The accuracy bench: its settings are well formed, its kinds of rows are what they say, its ratios are right."""

import warnings

import numpy as np
import pytest
from bench.accuracy import Line, Setting, _ratios, measured, read_settings, summary, table

from dpmean.experiments.data import draw

SETTINGS = [*read_settings("tuning"), *read_settings("held")]


def test_settings_are_many_and_all_different():
    assert len(SETTINGS) == len(set(SETTINGS)) > 90
    assert len({setting.label for setting in SETTINGS}) == len(SETTINGS)
    assert not {s.label for s in read_settings("tuning")} & {s.label for s in read_settings("held")}


@pytest.mark.parametrize(
    "setting", [s for s in SETTINGS if s.data != "mnist" and s.n * s.d < 10**6], ids=lambda s: s.label
)
def test_rows_have_the_shape_and_stay_within_the_bound(setting):
    rows = draw(setting.data, np.random.default_rng(0), setting.n, setting.d, **dict(setting.options)).rows
    assert rows.shape == (setting.n, setting.d)
    assert np.all(np.isfinite(rows))
    lengths = np.linalg.norm(rows, axis=1)
    assert np.mean(lengths > setting.bound * np.sqrt(setting.d)) < 0.01


@pytest.fixture(autouse=True)
def _warnings_as_before():
    with warnings.catch_warnings():
        yield


def test_a_setting_is_measured_and_tabled():
    line = measured((Setting("x", "gaussian", 1000, 8, 2.0, 50, ()), 0.02, 1))
    assert list(line.ratios) == ["refined", "round", "shifted", "clipped", "COINPRESS, best t"]
    assert 1 < line.ratios["shifted"][0] < 3
    assert line.ratios["shifted"][1] <= line.ratios["shifted"][0] <= line.ratios["shifted"][3]
    assert "gaussian, n=1000" in "\n".join(table("tuning", [line]))


def test_the_summary_has_geometric_means_and_the_largest_of_all_settings():
    names = ("refined", "round", "shifted", "clipped", "COINPRESS, best t")
    one, two, none = (
        Line(Setting("x", "gaussian", 1000, d, 2.0, 50, ()), dict.fromkeys(names, (value, 0, 0, 0)) if value else {})
        for d, value in ((1, 1.0), (2, 4.0), (3, 0.0))
    )
    found = summary({"tuning": [one, none], "held": [two]})
    assert [line.split(" | ")[:2] for line in found[2:5]] == [
        ["| 1 tuning settings", "1.00 (1.00)"],
        ["| 1 held settings", "4.00 (4.00)"],
        ["| 2 settings", "2.00 (4.00)"],
    ]


def test_missing_images_are_said_to_be_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("DPMEAN_MNIST", str(tmp_path))
    line = measured((Setting("x", "mnist", 100, 784, 1.0, 50, (("digit", 9),)), 0.1, 1))
    assert "there is no train-images-idx3-ubyte" in line.problem
    assert isinstance(line, Line)


def test_ratios_compare_with_the_oracle_and_take_coinpress_at_its_best():
    errors = {
        name: np.full(50, value)
        for name, value in {
            "oracle": 2.0,
            "refined": 2.2,
            "round": 2.4,
            "shifted": 3.0,
            "clipped": 8.0,
            "COINPRESS 1": 9.0,
            "COINPRESS 2": 2.5,
        }.items()
    }
    ratios = _ratios(errors)
    assert ratios["shifted"] == (1.5, 1.5, 1.5, 1.5)
    assert ratios["round"][0] == pytest.approx(1.2)
    assert ratios["COINPRESS, best t"][0] == 1.25

"""The bench of forecasts: every setting has a kind of rows, constants are fitted and written, a report is amended."""

import math

import pytest
from bench.accuracy import PROMISES, Line, Setting, read_settings, summarise_forecasts, table

import dpmean
from bench import forecast
from dpmean.enums import RowKind
from dpmean.pipeline.forecast_constants import COLUMNS, REACHED
from dpmean.pipeline.row_kinds import KINDS

SETTINGS = [setting for kind in forecast.KINDS_OF_SETTINGS for setting in read_settings(kind)]


def test_every_setting_has_a_kind_of_rows():
    assert {RowKind(setting.rows) for setting in SETTINGS} == set(RowKind)
    named = {setting.label.split(", n=")[0]: setting.rows for setting in SETTINGS}
    assert (named["sparse, share 0.05"], named["sparse, share 0.5"]) == ("mostly zero", "binary")
    assert (named["clusters, share 0.1"], named["clusters, share 0.3, gap 5"]) == ("small cluster", "clusters")


def test_every_constant_that_matters_is_fitted_to_some_setting():
    places = {(ends, place) for ends in REACHED for place in range(len(COLUMNS) + 1)}
    assert {ends for ends, _ in places} == {one.ends for one in KINDS.values()}
    assert places - {forecast.class_of(setting) for setting in SETTINGS} == {("correlated", 0)}  # one column is normal


@pytest.mark.parametrize(
    "setting",
    [
        Setting("x", "gaussian", 4000, 64, 0.5, 50, ()),
        Setting("x", "laplace", 4000, 4, 0.5, 50, ()),
        Setting("x", "student", 4000, 16, 0.5, 100, ()),
        Setting("x", "two points", 4000, 2, 0.5, 50, ()),
        Setting("x", "exponential", 4000, 64, 0.5, 100, ()),
    ],
    ids=lambda one: one.label,
)
def test_promises_are_kept_on_some_settings(setting):
    errors = forecast.reached((setting, max(0.1, min(1, setting.d * 15 / 4000)), 11))
    assert setting.promised == pytest.approx(errors, rel=0.2)


def test_constants_keep_most_promises_and_an_odd_setting_moves_nothing():
    one, two, three, odd = (Setting("x", "gaussian", n, 64, 0.5, 50, ()) for n in (1000, 2000, 3000, 4000))
    now = REACHED["thin"][5]
    found = forecast.fit_constants({one: 0.5, two: 0.52, three: 0.48, odd: 0.1})
    assert found == {("thin", 5): pytest.approx(2 * now, rel=0.03)}


def test_constants_are_written_where_they_are_read(tmp_path, monkeypatch):
    module = tmp_path / "constants.py"
    with open(forecast.forecast_constants.__file__) as file:
        module.write_text(file.read())
    monkeypatch.setattr(forecast.forecast_constants, "__file__", str(module))
    forecast.write({("thin", 5): 1.2345, ("sharp", 0): 0.5})
    names = {}
    exec(module.read_text(), names)  # noqa: S102  our own text
    assert names["REACHED"]["thin"] == pytest.approx((*REACHED["thin"][:5], 1.23))
    assert names["REACHED"]["sharp"][0] == 0.5
    assert names["REACHED"]["heavy"] == pytest.approx(REACHED["heavy"])


def test_a_report_is_amended_once():
    setting = Setting("x", "gaussian", 1000, 8, 2.0, 50, ())
    ratios = dict.fromkeys(["refined", "round", "shifted", "clipped", "COINPRESS, best t"], (1.0, 0.9, 1.1, 2.0))
    lines = ["## Tuning settings", "- refined is above COINPRESS on 0 of 1", summarise_forecasts([1.5])]
    lines += table("tuning", [Line(setting, ratios, promise=1.5)])[:-1]
    old = "\n".join(line for line in lines if PROMISES not in line).replace(" promised/reached |", "")
    old = old.replace("|---" * 8 + "|", "|---" * 7 + "|").replace(" 1.50 |", "").replace("| |\n", "|\n")
    new = forecast.update_report(old, {setting.label: 1.5}, {"tuning": summarise_forecasts([1.5])})
    assert new == "\n".join(lines)
    assert forecast.update_report(new, {setting.label: 1.5}, {"tuning": summarise_forecasts([1.5])}) == new


def test_promises_within_fifteen_percent_are_counted():
    assert summarise_forecasts([0.86, 1.14, 0.84, 1.16, 1.0]).endswith("in 3 of 5")


def test_images_that_are_missing_are_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("DPMEAN_MNIST", str(tmp_path))
    assert math.isnan(forecast.reached((Setting("x", "mnist", 100, 784, 1.0, 50, (("digit", 9),)), 0.1, 1)))
    assert dpmean.plan(100, 784, rho=1.0, rows="correlated").error > 0

"""The shape bench: its settings are well formed, errors and ratios are right, what is asked is judged."""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from bench.shape_trials import PLAN, REFINED, ROUND, WITHOUT, Line, Setting, measured, read_settings, refined, summary

import dpmean
from bench import shape, shape_trials
from dpmean.experiments.data import FIXED, KINDS, draw
from dpmean.experiments.tables import TABLES, columns_of

TUNING, HELD = [*read_settings("shape")], [*read_settings("shape_held")]
VECTOR = Setting("x", "skewed", 500, 4, 1.0, 50, (("skew", 1),))
TABLE = Setting("x", "table of eight", 1000, 8, 0.5, None, limit=5)
ROUGH = Setting("x", "rough table", 1000, 12, 0.5, None)
NINTH = Setting("x", "ninth column", 1000, 9, 0.5, None, (("ninth", 1),), asked=2, asked_of="others")


@pytest.fixture(autouse=True)
def _warnings_as_before():
    with warnings.catch_warnings():
        yield


def test_settings_are_many_and_all_different():
    assert len({setting.label for setting in TUNING + HELD}) == len(TUNING + HELD) > 110
    assert len([*read_settings("tuning"), *read_settings("held")]) == 112
    settings = [*TUNING, *HELD, *read_settings("tuning"), *read_settings("held")]
    assert all(setting.data in {**KINDS, **FIXED} for setting in settings)
    assert all((setting.bound is None) == (setting.data in TABLES) for setting in settings)
    assert {setting.asked_of for setting in settings} == {"error", "ratio", "others"}
    tables = [s for s in settings if s.data in TABLES]
    assert all(s.d == len(columns_of(s.data, **dict(s.options))) for s in tables)


def test_what_was_asked_is_there():
    asked = {(s.data, s.n, s.d, s.rho, s.options): s.asked for s in TUNING if s.asked is not None}
    plan = [asked["plan gaussian", 10000, 512, 1 / 16, (("alpha", alpha),)] for alpha in (0, 1, 1.5, 2)]
    assert plan == [0.31, 0.63, 1.1, 2.4]
    eight = [
        asked["table of eight", n, 8, rho, ()] for n, rho in ((1000, 0.5), (5000, 0.05), (5000, 0.5), (50000, 0.1))
    ]
    assert eight == [0.04, 0.035, 0.013, 0.004]
    assert [asked["rough table", n, 12, rho, ()] for n, rho in ((5000, 0.5), (50000, 0.1))] == [0.2, 0.08]
    assert {s.options for s in TUNING if s.beside_a_ninth} == {(("ninth", ninth),) for ninth in range(7)}
    assert sum(s.name == "many runs" and s.runs == 500 and s.limit == 3 for s in TUNING) == 4


@pytest.mark.parametrize(
    "setting", [s for s in TUNING + HELD if s.bound and s.data != "mnist" and s.n * s.d < 10**6], ids=lambda s: s.label
)
def test_rows_have_the_shape_and_stay_within_the_bound(setting):
    rows = draw(setting.data, np.random.default_rng(0), setting.n, setting.d, **dict(setting.options)).rows
    assert rows.shape == (setting.n, setting.d)
    assert np.mean(np.linalg.norm(rows, axis=1) > setting.bound * np.sqrt(setting.d)) < 0.01


def test_methods_see_the_same_rows_and_the_same_seed():
    line = measured((VECTOR, 0.01, 1))
    assert set(line.methods) == {ROUND, REFINED}
    assert line.ratio[1] <= line.ratio[0] <= line.ratio[2]
    again = measured((VECTOR, 0.01, 1))
    assert (again.methods[ROUND], again.ratio) == (line.methods[ROUND], line.ratio)


def test_plan_is_a_third_method():
    assert set(measured((replace(VECTOR, plan=True), 0.001, 1)).methods) == {ROUND, REFINED, PLAN}


def test_without_a_shape_is_what_it_says():
    rows = draw("gaussian", np.random.default_rng(0), 1000, 4).rows
    told = {"norm_bound": 100.0, "rho": 1.0, "seed": 3, "neighbours": "replace-one"}
    round_ = refined(rows, shape="round", **told)
    assert np.array_equal(round_, dpmean.mean(rows, method="refined", shape="round", **told).mean)


def test_errors_of_a_table_are_in_standard_deviations_of_the_worst_column():
    noise = np.zeros((40, 8))
    noise[:, 2] = 0.3
    noise[::2, 5] = 0.5
    line = summary(TABLE, {ROUND: 2 * noise, REFINED: noise})
    assert line.ratio == (0.5, 0.5, 0.5)
    assert line.methods[REFINED].typical == pytest.approx(0.4)
    assert line.methods[REFINED].columns[2:6] == pytest.approx([0.3, 0, 0, 0.25])
    assert line.methods[REFINED].largest == 0.5


def test_units_are_the_standard_deviations_of_the_rows():
    rows = draw("rough table", np.random.default_rng(0), 1000, 12).rows
    units = shape_trials._units(ROUGH, rows)
    assert units[0] == 1e6  # a constant column has its range
    assert np.allclose(units[1:], rows.std(axis=0)[1:])
    none = rows.copy()
    none[:, 1] = 0
    assert shape_trials._units(ROUGH, none)[1] == pytest.approx(0.1, rel=0.05)


def test_a_constant_column_is_left_out_and_reported_in_its_range():
    errors = np.full((20, 12), 0.1)
    errors[:, 0] = 0.9
    line = summary(ROUGH, {ROUND: errors, REFINED: errors})
    assert line.constant == pytest.approx(0.9)
    assert line.methods[REFINED].largest == 0.1
    assert "constant: 0.9 of its range" in "\n".join(shape.section("shape", [line]))


def test_the_others_are_compared_with_themselves_without_the_ninth():
    beside, alone = np.full((20, 9), 0.1), np.full((20, 8), 0.1)
    beside[:, 8] = 100
    beside[:, 3] = 0.3
    line = summary(NINTH, {REFINED: beside, WITHOUT: alone})
    assert line.ratio == pytest.approx((3, 3, 3))
    assert line.broken() == ["3 > 2"]
    line = measured((NINTH, 0.01, 1))
    assert set(line.methods) == {REFINED, WITHOUT}


def test_promises_can_be_broken():
    errors = np.ones((40, 1))
    assert not summary(VECTOR, {ROUND: errors, REFINED: 1.02 * errors}).broken()
    assert summary(VECTOR, {ROUND: errors, REFINED: 1.04 * errors}).broken() == ["above 1.03"]
    asked = replace(VECTOR, asked=0.5)
    assert summary(asked, {ROUND: errors, REFINED: 0.6 * errors}).broken() == ["0.6 > 0.5"]
    asked = replace(VECTOR, asked=0.5, asked_of="error")
    assert not summary(asked, {ROUND: 0.3 * errors, REFINED: 0.4 * errors}).broken()
    errors[7] = 4
    found = summary(replace(VECTOR, limit=3), {ROUND: errors, REFINED: errors})
    assert found.broken() == ["astray: 4.0 > 3"]
    assert not summary(replace(VECTOR, limit=5), {ROUND: errors, REFINED: errors}).broken()


def test_one_column_that_goes_astray_is_seen_behind_a_larger_one():
    errors = np.full((40, 8), 0.01)
    errors[:, 3] = 1.0
    errors[5, 6] = 0.9
    line = summary(TABLE, {ROUND: errors, REFINED: errors})
    assert line.methods[REFINED].largest == line.methods[REFINED].typical == 1
    assert line.broken() == ["astray: 90.0 > 5"]


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("DPMEAN_MNIST", str(tmp_path))
    line = measured((Setting("x", "mnist", 100, 784, 1.0, 50, (("digit", 9),)), 0.1, 1))
    assert "there is no train-images-idx3-ubyte" in line.problem
    assert line.broken() == [line.problem]
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    line = measured((Setting("x", "breast cancer", 20, 3, 1.0, 50), 0.1, 1))
    assert "sklearn" in line.problem
    assert "sklearn" in "\n".join(shape.section("shape", [line]))


def test_the_command_prints_keeps_and_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shape, "REPORT", tmp_path / "shape.md")
    monkeypatch.setenv("DPMEAN_THREADS", "1")
    kept = tmp_path / "kept.json"
    few = ["--part", "0.002", "--jobs", "1"]
    shape.main([*few, "--only", "table of eight, n=1000", "--json", str(kept), "--plot", str(tmp_path)])
    first = capsys.readouterr().out
    assert "| table of eight, n=1000, d=8, rho=0.5, 500 runs | 4 |" in first
    assert "over many runs" in first
    assert (tmp_path / "shape-table.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "shape-table.png").stat().st_size < 200_000
    shape.main([*few, "--read", str(kept)])
    assert capsys.readouterr().out == first
    assert not (tmp_path / "shape.md").exists()


def test_plans_benchmark_is_drawn(tmp_path):
    from bench.shape_plots import write

    errors = np.random.default_rng(0).lognormal(0, 0.1, (20, 1))
    lines = [
        summary(
            replace(VECTOR, name="PLAN's benchmark", options=(("alpha", alpha),)),
            dict.fromkeys((ROUND, REFINED, PLAN), errors),
        )
        for alpha in (0, 1, 2)
    ]
    (path,) = write([*lines, Line(VECTOR, 0, {}, problem="missing")], tmp_path)
    assert path.name == "shape-plan.png"
    assert path.stat().st_size < 200_000

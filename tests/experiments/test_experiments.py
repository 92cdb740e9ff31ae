"""Figures as data, the runner that can be killed, results, plots, claims, and the command around them."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from dpmean import ArgumentError
from dpmean.cli import main
from dpmean.experiments import claims, figures, mnist, plot, run
from dpmean.experiments.data import FIXED, KINDS, draw
from dpmean.experiments.figures import Cell
from dpmean.experiments.methods import CALLS, Answer, Problem, clip_at_rank, diameter, rank_error
from dpmean.experiments.references import REFERENCES
from dpmean.experiments.results import (
    Journal,
    Row,
    Table,
    condense,
    ratio,
    read_folder,
    read_rows,
    trimmed_mean,
    write_parquet,
)
from dpmean.experiments.verdicts import Results, Verdict

PAPER = [str(number) for number in range(1, 10)]
DPMEAN = [sys.executable, "-c", "from dpmean.cli import entry; entry()"]


# --- figures as data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", figures.names())
@pytest.mark.parametrize("quick", [False, True])
def test_every_figure_names_what_exists(name, quick):
    figure = figures.read(name, quick=quick)
    assert figure.data in {**KINDS, **FIXED}
    assert set(figure.methods) <= set(figures.methods())
    assert figure.measure in plot.MEASURES
    assert figure.axis in plot.AXES
    assert set(figure.references) <= set(REFERENCES)
    assert len(list(figure.cells())) == len(figure.panels) * len(figure.places)
    for cell in figure.cells():
        assert cell.n > 0
        assert cell.d > 0


def test_every_method_can_be_called():
    assert {how["call"] for how in figures.methods().values()} == set(CALLS)


def test_the_papers_figures_are_there_with_the_papers_settings_and_refined_is_in_all():
    assert set(PAPER) <= set(figures.names())
    assert all("Refined" in figures.read(name).methods for name in PAPER)
    one = figures.read("1")
    assert (one.panels, one.places, one.trials) == ((0, 5, 10), (16, 64, 256, 1024), 100)
    assert next(one.cells()).norm_bound == 50 * 4
    assert figures.read("5").runs == "4"
    assert figures.read("4").measures == figures.read("5").measures == ("l2", "mahalanobis")


def test_an_unknown_figure_is_told_the_names():
    with pytest.raises(ArgumentError, match="there is no figure '99': the figures are 1, 2"):
        figures.read("99")


# --- methods and measures ----------------------------------------------------------------------------------------


def small(name, **parameters):
    """Return a figure cut down to one small cell, with all its methods."""
    figure = figures.read(name)
    fixed = {**figure.fixed, **parameters}
    panels, places = (fixed.get(figure.panel, figure.panels[0]),), (fixed.get(figure.axis, figure.places[0]),)
    return figures.Figure(
        **{
            field: getattr(figure, field)
            for field in figures.Figure.__slots__
            if field not in ("panels", "places", "fixed")
        },
        panels=panels,
        places=places,
        fixed=fixed,
    )


@pytest.mark.parametrize("name", [name for name in figures.names() if figures.read(name).data != "mnist"])
def test_every_method_of_every_figure_gives_an_answer(name):
    figure = small(name, **({"n": 400, "d": 8} if name != "rank" else {"n": 2000, "d": 1}))
    (job,) = run.jobs(figure, set(), 1, seed=3)
    rows = run.run_job(job)
    assert {row.method for row in rows} == set(figure.methods)
    assert {row.measure for row in rows} == set(figure.measures)
    assert all(np.isfinite(row.value) and row.value >= 0 for row in rows)


def test_rows_are_shared_by_methods_budgets_and_translations():
    """Trial k of figure 2 draws the same rows, up to the translation, for every mean and every budget."""
    figure = small("2", n=50, d=4)
    seen = []
    for mu in (0, 10):
        cell = Cell(mu, 0.5, {"n": 50, "d": 4, "mu": mu, "rho": 0.5, "bound": 50})
        job = run.Job(figure, (cell,), ((7, ((0, "non-private"),)),), seed=3)
        (row,) = run.run_job(job)
        seen.append(row.value)
    assert seen[0] == pytest.approx(seen[1], rel=1e-9)


def test_a_fixed_kind_of_rows_is_made_once():
    generator = np.random.default_rng(0)
    assert draw("steps", generator, 5, 2).rows is draw("steps", generator, 5, 2).rows
    assert np.array_equal(draw("steps", generator, 3, 2).rows, [[1, 1], [2, 2], [3, 3]])


def test_mahalanobis_is_the_l2_error_of_whitened_rows():
    sample = draw("stretched", np.random.default_rng(1), 200000, 3, kappa=50.0, mu=0.0)
    assert np.allclose(np.cov(sample.rows @ sample.whitening, rowvar=False), np.eye(3), atol=0.02)
    problem = Problem(figures.read("4"), sample, Cell(50, 3, {"n": 1, "d": 3, "rho": 1, "bound": 1}))
    found = problem.measure(Answer(np.array([1.0, -2.0, 0.5])))
    covariance = np.linalg.inv(sample.whitening @ sample.whitening.T)
    assert found["mahalanobis"] ** 2 == pytest.approx(np.array([1, -2, 0.5]) @ np.linalg.inv(covariance) @ [1, -2, 0.5])
    assert found["l2"] == pytest.approx(np.sqrt(1 + 4 + 0.25))


def test_the_diameter_is_the_largest_distance():
    rows = np.random.default_rng(2).normal(100, 1, (2300, 3))
    far = max(np.linalg.norm(rows - row, axis=1).max() for row in rows)
    assert diameter(rows) == pytest.approx(far, rel=1e-9)


def test_rank_errors_count_what_lies_between():
    numbers = np.array([1.0, 2, 3, 3, 3, 4, 5, 6])
    assert rank_error(numbers, 3.0) == 0  # ranks 3 to 5, and the median has rank 4
    assert rank_error(numbers, 2.0) == 2
    assert rank_error(numbers, 5.5) == 3


def test_the_private_median_is_the_median_when_privacy_is_no_concern():
    figure = small("rank", n=1001)
    cell = Cell(1e9, 2**20, {"n": 1001, "d": 1, "rho": 1e9, "u": 2**20})
    problem = Problem(figure, draw("numbers", np.random.default_rng(3), 1001, 1), cell)
    answer = CALLS["private_median"](problem, 1).mean
    assert answer[0] == pytest.approx(np.median(problem.rows), abs=2 / 2**20)


def test_clipping_at_a_rank_clips_there():
    rows = np.arange(1.0, 101)[:, np.newaxis]
    answer = clip_at_rank(rows, np.zeros(1), 50, 1e12, np.random.default_rng(0))
    assert answer[0] == pytest.approx(np.minimum(rows, 50).mean(), abs=1e-3)
    around = clip_at_rank(rows, np.array([50.0]), 100, 1e12, np.random.default_rng(0))
    assert around[0] == pytest.approx(rows.mean(), abs=1e-3)


def test_places_with_too_few_rows_are_measured_and_marked():
    figure = small("9", n=50, d=64, rho=0.01)
    (job,) = run.jobs(figure, set(), 1, seed=3)
    notes = {row.method: row.note for row in run.run_job(job)}
    assert notes["Refined"] == "too few rows"
    assert notes["50 %"] == ""


# --- the runner --------------------------------------------------------------------------------------------------


def values(path):
    return {(row.panel, row.x, row.method, row.trial): row.value for row in read_rows(path)}


FIGURE_2 = [*DPMEAN, "figure", "2", "--trials", "3", "--processes"]


@pytest.fixture
def undisturbed(tmp_path):
    """Start a run that nobody kills, in one process."""
    command = [*FIGURE_2, "1", "--out", str(tmp_path / "undisturbed")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def test_a_killed_run_goes_on_where_it_was_and_ends_in_the_same_results(undisturbed, tmp_path):
    command = [*FIGURE_2, "2", "--out", str(tmp_path / "killed")]
    path = tmp_path / "killed" / "figure-2.csv"
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while not (path.exists() and path.read_text().count("\n") > 20):
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with path.open("a") as file:
        file.write("2,0,0.0")  # a line that a crash cut off
    before = values_of_whole_lines(path)
    assert 0 < len(before) < 15 * 9 * 3

    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    after = values(path)
    assert len(after) == len(list(read_rows(path))) == 15 * 9 * 3
    assert all(after[key] == value for key, value in before.items())

    assert undisturbed.wait() == 0
    assert values(tmp_path / "undisturbed" / "figure-2.csv") == after
    assert write_parquet(tmp_path / "undisturbed").stat().st_size > 0


def values_of_whole_lines(path):
    whole = path.read_text().rpartition("\n")[0] + "\n"
    copy = path.with_name("figure-copy.csv")
    copy.write_text(whole)
    found = values(copy)
    copy.unlink()
    return found


def test_figures_with_the_same_runs_are_measured_once(tmp_path, monkeypatch):
    cut = {name: figures.read(name, quick=True) for name in ("4", "5")}
    assert cut["4"].runs == cut["5"].runs
    seen = []
    monkeypatch.setattr(run, "jobs", lambda figure, *_: seen.append(figure.name) or [])
    assert list(run.run([cut["4"], cut["5"]], tmp_path, trials=1, seed=1, processes=1)) == [(0, 0)]
    assert seen == ["4"]


def test_more_trials_are_added_to_those_that_are_there(tmp_path):
    figure = small("rank", n=500, d=1)
    for trials in (2, 5):
        list(run.run([figure], tmp_path, trials=trials, seed=1, processes=1))
        assert {row.trial for row in read_rows(tmp_path / "figure-rank.csv")} == set(range(trials))
    with pytest.raises(ArgumentError, match="results of another seed or other settings"):
        list(run.run([figure], tmp_path, trials=6, seed=2, processes=1))


# --- results -----------------------------------------------------------------------------------------------------


def row(method, trial, value, panel=0, x=16, figure="1", measure="l2", note=""):
    return Row(figure, panel, x, method, trial, measure, value, 0.1, 1, note, "dpmean")


def test_a_journal_reads_back_what_it_wrote(tmp_path):
    journal = Journal(tmp_path, "1")
    journal.append([row("CM, or so", 0, 1.25, x=268435456, note='a "note", with commas')])
    journal.append([row("CM, or so", 1, 2.5)])
    assert Journal(tmp_path, "1").rows == journal.rows
    assert read_folder(tmp_path) == {"1": journal.rows}


def test_a_journal_that_was_cut_off_in_its_first_line_starts_anew(tmp_path):
    (tmp_path / "figure-1.csv").write_text("figure,pan")
    journal = Journal(tmp_path, "1")
    journal.append([row("CM", 0, 1.0)])
    assert Journal(tmp_path, "1").rows == [row("CM", 0, 1.0)]


def test_condensed_results_say_the_same(results, tmp_path):
    condense(results, tmp_path)
    for name, rows in read_folder(results).items():
        assert (tmp_path / f"figure-{name}.csv").stat().st_size < 200_000
        measure = figures.read(name).measure
        whole, small = Table(rows, measure), Table(read_folder(tmp_path)[name], measure)
        assert whole.cells.keys() == small.cells.keys()
        for key, trials in whole.cells.items():
            assert small.cells[key] == pytest.approx(trials, rel=1e-3)
    verdicts = [[finding.verdict for finding in claims.check(read_folder(folder))] for folder in (results, tmp_path)]
    assert verdicts[0] == verdicts[1]
    with pytest.raises(ArgumentError, match="is the folder of the results"):
        condense(results, results)


def test_condensing_keeps_the_numbers_of_trials(tmp_path):
    Journal(tmp_path / "raw", "1").append([row("CM", trial, float(trial)) for trial in (1, 3)])
    condense(tmp_path / "raw", tmp_path / "small")
    assert Table(read_folder(tmp_path / "small")["1"], "l2").trials(0, 16, "CM") == {1: 1.0, 3: 3.0}


def test_a_cut_off_line_is_left_out_and_a_broken_one_named(tmp_path):
    Journal(tmp_path, "1").append([row("CM", trial, 1.0) for trial in range(3)])
    path = tmp_path / "figure-1.csv"
    path.write_text(path.read_text() + "1,0,16,CM,3,l")
    assert len(read_folder(tmp_path)["1"]) == 3
    path.write_text(path.read_text() + "2,1.0\n")
    with pytest.raises(ArgumentError, match=r"figure-1.csv, line 5: this is not a result"):
        read_folder(tmp_path)


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "figure-1.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ArgumentError, match="does not hold results of figures"):
        read_folder(tmp_path)


def test_the_trimmed_mean_leaves_out_a_tenth_at_either_end():
    assert trimmed_mean(np.array([1000.0, *range(1, 9), -1000])) == 4.5
    assert trimmed_mean(np.array([1.0, 2.0])) == 1.5


def by_trial(values):
    return dict(enumerate(values))


@pytest.mark.parametrize("trials", [20, 60])
def test_intervals_of_ratios_are_honest_and_narrow_for_paired_trials(trials):
    """Level with the best of five rivals, chosen afterwards: hardly ever called worse."""
    generator = np.random.default_rng(1)
    false_alarms, narrow = 0, 0
    for _ in range(400):
        shared = generator.lognormal(0, 1, trials)
        mine, *rivals = (by_trial(shared * generator.lognormal(0, 0.1, trials)) for _ in range(6))
        found = ratio(mine, {str(k): rival for k, rival in enumerate(rivals)})
        false_alarms += found.low > 1
        narrow += found.high / found.low < 1.5
    assert false_alarms <= 6  # 2 are expected
    assert narrow >= 380


def test_an_interval_covers_the_true_ratio():
    generator = np.random.default_rng(2)
    missed = 0
    for _ in range(400):
        shared = generator.lognormal(0, 1, 40)
        found = ratio(by_trial(1.1 * shared * generator.lognormal(0, 0.1, 40)), {"other": by_trial(shared)})
        missed += not found.low < 1.1 < found.high
    assert missed <= 12  # 4 are expected


def test_more_comparisons_make_wider_intervals_and_few_trials_none():
    shared = by_trial(np.random.default_rng(3).lognormal(0, 1, 40))
    other = by_trial(np.random.default_rng(4).lognormal(0, 1, 40))
    assert ratio(shared, {"other": other}, 100).high > ratio(shared, {"other": other}).high
    few = ratio(by_trial(np.ones(19)), {"other": by_trial(np.ones(19))})
    assert (few.middle, few.low, few.high) == (1, 0, np.inf)


def test_trials_are_paired_by_their_number():
    shared = np.random.default_rng(5).lognormal(0, 1, 60)
    mine = {trial: 1.1 * value for trial, value in enumerate(shared) if trial not in (0, 7, 30)}
    found = ratio(mine, {"other": by_trial(shared)})
    assert (found.low, found.high) == pytest.approx((1.1, 1.1))


def test_nothing_in_common_is_no_ratio():
    assert np.isnan(ratio({0: 1.0}, {"other": {1: 1.0}}).middle)
    assert np.isnan(ratio({0: 1.0}, {"other": {0: 0.0}}).middle)


# --- claims ------------------------------------------------------------------------------------------------------


def made_up(figure, level):
    """Make 40 trials of every method at every place of a figure; ``level`` says how large its errors are."""
    found = figures.read(figure)
    generator = np.random.default_rng(int(found.runs) if found.runs.isdecimal() else 0)
    rows = []
    for cell in found.cells():
        shared = generator.lognormal(0, 0.1, 40)
        for method in found.methods:
            size = level(cell, method)
            noise = generator.lognormal(0, 0.03, 40)
            rows += [
                row(method, trial, size * shared[trial] * noise[trial], cell.panel, cell.x, found.runs, measure)
                for trial in range(40)
                for measure in found.measures
            ]
    return {found.runs: rows}


def coinpress(method):
    return method.startswith("COINPRESS")


def test_without_results_nothing_is_claimed():
    assert {finding.verdict for finding in claims.check({})} == {Verdict.UNKNOWN}


@pytest.mark.parametrize(("factor", "verdict"), [(0.8, Verdict.HOLDS), (1.0, Verdict.OPEN), (1.2, Verdict.FAILS)])
def test_never_worse_holds_is_too_close_or_fails(factor, verdict):
    rows = {}
    for name in ("1", "2", "3", "6", "7"):
        rows |= made_up(name, lambda _, method: factor if method == "Shifted-CM" else 1.0)
    finding = claims.shifted_not_worse(Results(rows))
    assert finding.verdict == verdict
    assert float(finding.numbers.split()[0]) == pytest.approx(factor, rel=0.05)


def test_worse_at_one_place_is_worse():
    rows = made_up("7", lambda cell, method: 1.3 if method == "Refined" and cell.x == 0.4 and not cell.panel else 1.0)
    finding = claims.refined_not_worse(Results(rows))
    assert finding.verdict == Verdict.FAILS
    assert "worse at 1 of 15 places" in finding.numbers
    assert "(figure 7, digit = 0, rho = 0.4)" in finding.numbers


def test_the_papers_claims_are_judged_at_places_where_we_refuse_too():
    rows = [
        row(r.method, r.trial, r.value, r.panel, r.x, "2", note="too few rows" if r.method == "Shifted-CM" else "")
        for r in made_up("2", lambda _, method: 80.0 if method == "Shifted-CM" else 1.0)["2"]
        if r.x < 0.01
    ]
    calm = made_up("2", lambda _, method: 0.5 if method == "Shifted-CM" else 1.0)["2"]
    finding = claims.shifted_not_worse(Results({"2": rows + [r for r in calm if r.x > 0.01]}))
    assert finding.verdict == Verdict.FAILS
    assert "At 3 places dpmean refuses" in finding.numbers


def test_places_where_we_refuse_are_left_out_and_said_to_be():
    rows = made_up("9", lambda _, method: 2.0 if method == "Refined" else 1.0)
    marked = [
        row(r.method, r.trial, r.value, r.panel, r.x, "9", note="too few rows" if r.method == "Refined" else "")
        for r in rows["9"]
        if r.x > 200
    ]
    calm = [r for r in made_up("9", lambda _, method: 0.5 if method == "Refined" else 1.0)["9"] if r.x < 200]
    finding = claims.refined_not_worse(Results({"9": marked + calm}))
    assert finding.verdict == Verdict.HOLDS
    assert (
        "Left out: 12 places where dpmean refuses because there are too few rows; largest ratio 2." in finding.numbers
    )


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.9, Verdict.HOLDS), (1.03, Verdict.OPEN), (1.2, Verdict.FAILS)], ids=str
)
def test_refined_is_compared_with_plan_alone_on_the_skew_figure(factor, verdict):
    def level(cell, method):
        return {"PLAN": 1.0, "Refined": factor if cell.x == 1 and cell.panel == 64 else 0.9}.get(method, 0.1)

    finding = claims.refined_not_above_plan(Results(made_up("skew", level)))
    assert finding.verdict == verdict
    assert "never above PLAN by 3%" in finding.claim
    assert "of 15 places" in finding.numbers


def test_slightly_above_plan_is_allowed_even_if_it_is_certain():
    rows = [
        row(method, trial, (0.95 + 0.001 * trial) * {"PLAN": 1.0}.get(method, 1.01), 64, 1, "skew", measure="rows")
        for trial in range(40)
        for method in ("PLAN", "Refined")
    ]
    assert claims.refined_not_above_plan(Results({"skew": rows})).verdict == Verdict.HOLDS


def test_the_best_t_depends_or_does_not():
    def depends(cell, method):
        return 1.0 if method == ("COINPRESS t=1" if cell.panel > 100 else "COINPRESS t=10") else 3.0

    finding = claims.best_t_depends(Results(made_up("3", depends)))
    assert finding.verdict == Verdict.HOLDS
    assert "kappa = 1000: t=1, t=1, t=1, t=1" in finding.numbers
    same = made_up("3", lambda _, method: 1.0 if method == "COINPRESS t=4" else 3.0)
    assert claims.best_t_depends(Results(same)).verdict == Verdict.FAILS
    by_d = made_up("3", lambda cell, method: 1.0 if method == f"COINPRESS t={1 if cell.x > 64 else 4}" else 3.0)
    assert claims.best_t_depends(Results(by_d)).verdict == Verdict.FAILS
    torn = [row("non-private", 0, 1.0, 10, 16, "3")]
    assert claims.best_t_depends(Results({"3": torn})).verdict == Verdict.UNKNOWN


@pytest.mark.parametrize(("size", "verdict"), [(1.1, Verdict.HOLDS), (1.25, Verdict.OPEN), (1.7, Verdict.FAILS)])
def test_close_to_non_private(size, verdict):
    rows = made_up("3", lambda _, method: 1.0 if method == "non-private" else size)
    assert claims.close_to_non_private(Results(rows)).verdict == verdict


def test_the_covariance_helps_for_small_d_only():
    def level(at_16, at_1024):
        def of(cell, method):
            if not method.startswith("COINPRESS+cov"):
                return 1.0
            return at_16 if cell.x == 16 else at_1024

        return of

    def verdict(at_16, at_1024):
        rows = made_up("3", lambda *_: 1.0) | made_up("4", level(at_16, at_1024))
        return claims.covariance_helps_in_low_dimensions(Results(rows)).verdict

    assert verdict(0.5, 100.0) == Verdict.HOLDS
    assert verdict(1.0, 100.0) == Verdict.OPEN
    assert verdict(0.5, 0.5) == Verdict.FAILS
    assert verdict(100.0, 100.0) == Verdict.FAILS


def test_mahalanobis_errors_are_read_from_the_runs_of_figure_4():
    rows = made_up("4", lambda _, method: 2.0 if method.startswith("COINPRESS+cov") else 1.0)
    assert claims.covariance_does_not_help_mahalanobis(Results(rows)).verdict == Verdict.HOLDS


def test_a_translation_matters_to_cm_alone_or_not():
    def verdict(of_cm, of_shifted, of_refined=1.0, where=10):
        def level(panel, method):
            moved = {"CM": of_cm, "Shifted-CM": of_shifted, "Refined": of_refined}.get(method, 1.0)
            return moved if panel == where else 1.0

        drawn = {(r.x, r.method, r.trial): r.value for r in made_up("1", lambda *_: 1.0)["1"]}  # the same in all panels
        rows = [
            row(method, trial, value * level(panel, method), panel, x)
            for (x, method, trial), value in drawn.items()
            for panel in (0, 5, 10)
        ]
        return claims.translation_invariant(Results({"1": rows})).verdict

    assert verdict(3.0, 1.0) == Verdict.HOLDS
    assert verdict(3.0, 1.0, of_refined=2.0) == Verdict.HOLDS
    assert verdict(3.0, 2.0) == Verdict.FAILS
    assert verdict(3.0, 2.0, where=5) == Verdict.FAILS
    assert verdict(1.0, 1.0) == Verdict.OPEN


def test_the_chosen_quantile_is_best_or_not():
    rows = made_up("9", lambda _, method: 0.9 if method == "n - sqrt(2d/rho)" else 1.0)
    assert claims.chosen_quantile_is_best(Results(rows)).verdict == Verdict.HOLDS


# --- plots, the page and the command -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a folder with results of a few figures."""
    folder = tmp_path_factory.mktemp("results")
    for name in ("1", "4", "9"):
        for runs, rows in made_up(name, lambda cell, method: 1 + len(method) + cell.x).items():
            Journal(folder, runs).append(rows)
    return folder


def test_styles_can_be_told_apart_in_grey():
    for name in figures.names():
        methods = figures.read(name).methods
        looks = [plot.style(method, methods) for method in methods]
        assert len({(look["marker"], str(look["linestyle"])) for look in looks}) == len(methods)


def test_the_page_holds_everything(results, tmp_path):
    done = CliRunner().invoke(main, ["figure", "plot", str(results), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "index.html").read_text()
    for name in ("1", "4", "5", "9"):
        assert f'id="figure-{name}"' in page
        assert (tmp_path / f"figure-{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert "<svg" in (tmp_path / f"figure-{name}.svg").read_text()
    assert 'id="figure-2"' not in page
    assert page.count("data:image/svg+xml;base64,") == 4
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert "The best t of COINPRESS depends" in page
    assert "not measured" in page


def test_a_plot_has_the_panels_and_lines_of_the_figure(results):
    figure = figures.read("1")
    picture = plot.draw(figure, Table(read_folder(results)["1"], "l2"))
    assert [axes.get_title() for axes in picture.axes] == ["mu = 0", "mu = 5", "mu = 10"]
    assert all(len(axes.get_lines()) == len(figure.methods) for axes in picture.axes)
    assert {axes.get_yscale() for axes in picture.axes} == {"log"}


def test_the_command_lists_checks_and_explains():
    shown = CliRunner().invoke(main, ["figure", "list"])
    assert shown.exit_code == 0
    assert "optimality" in shown.output
    helped = CliRunner().invoke(main, ["figure", "--help"])
    assert "Error against rho; identity" in helped.output


def test_claims_are_printed(results):
    shown = CliRunner().invoke(main, ["figure", "claims", str(results)])
    assert shown.exit_code == 0
    assert "does not hold" in shown.output


def test_missing_results_and_images_get_a_sentence(tmp_path):
    def said(*arguments):
        environment = {name: value for name, value in os.environ.items() if name != mnist.VARIABLE}
        done = subprocess.run([*DPMEAN, *arguments], capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "there are no results in" in said("figure", "plot", str(tmp_path))
    out = str(tmp_path / "out")
    assert "MNIST is needed: give the folder of train-images-idx3-ubyte" in said("figure", "7", "--out", out)
    assert f"there is no train-images-idx3-ubyte or train-images-idx3-ubyte.gz in {tmp_path}" in said(
        "figure", "7", "--out", out, "--mnist", str(tmp_path)
    )
    assert "No such command '99'" in said("figure", "99")


def test_images_are_read_from_the_original_files(tmp_path, monkeypatch):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 784), dtype=np.uint8)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(bytes(16) + pixels.tobytes())
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(bytes(8) + bytes([0, 1, 0, 2, 1, 0]))
    monkeypatch.setenv(mnist.VARIABLE, str(tmp_path))
    assert np.array_equal(draw("mnist", np.random.default_rng(0), 2, 784, digit=0).rows, pixels[[0, 2]] / 255)
    assert len(mnist.images(1)) == 2


def test_images_that_cannot_be_read_get_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv(mnist.VARIABLE, str(tmp_path))
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"not gzip")
    with pytest.raises(mnist.MissingDataError, match=r"train-images-idx3-ubyte.gz cannot be read"):
        mnist.check()
    (tmp_path / "train-images-idx3-ubyte").write_bytes(bytes(16 + 784))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(bytes(8 + 2))
    with pytest.raises(mnist.MissingDataError, match="holds 1 images but 2 labels"):
        mnist.check()


def test_a_run_leaves_the_environment_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setenv("DPMEAN_THREADS", "2")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    list(run.run([small("rank", n=500, d=1)], tmp_path, trials=1, seed=1, processes=1))
    assert os.environ["DPMEAN_THREADS"] == "2"
    assert "OMP_NUM_THREADS" not in os.environ

"""What ``print`` and ``explain()`` show: twenty lines of 80 characters, with aligned numbers."""

import html
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import dpmean
from dpmean.release.digits import between, with_error
from dpmean.release.statistics import STATISTICS, Statistic
from dpmean.release.summary import MOST_LINES
from dpmean.release.text_table import TextColumn, align, draw, fits, shorten, skip_middle

pytestmark = pytest.mark.filterwarnings(
    "ignore::dpmean.TooFewRowsWarning", "ignore::dpmean.LargeEpsilonWarning", "ignore::UserWarning"
)
N = 4000
LONG = ["a", "height_in_centimetres_at_noon", "x" * 200, "income after taxes and transfers " * 4, "line\nbreak"]


def frame(columns, n=N, scale=1.0):
    rows = np.random.default_rng(0).normal(5, 1, (n, len(columns))) * scale
    table = pd.DataFrame(rows, columns=columns)
    table.iloc[::40, 0] = np.nan
    return table.assign(who=np.arange(n) // 2, team=np.arange(n) % 5)


def lines_of(release):
    return str(release).splitlines()


# --- twenty lines ----------------------------------------------------------------------------------------------------

OPTIONS = {
    "unit": [None, "who", "w" * 150],
    "seed": [None, 1],
    "nan": ["impute", "drop"],
    "counted": [False, True],
    "population": [False, True],
    "neighbours": ["add-or-remove-one", "replace-one"],
    "rho": [0.5, 50.0],
    "scale": [1.0, -1e9, 1e-9],
    "box": [False, True],
}
NAMES = [["a"], ["a", "b"], LONG, [f"{'wide ' * 30}{j}" for j in range(9)], [f"column {j}" for j in range(60)]]
NOTE = "the noise was larger than expected, and this note is long: " * 6


@cache
def made(names, *choice):
    """Return the same choices as one mean, as means of groups, and as those of so many groups that most are refused."""
    unit, seed, nan, counted, population, neighbours, rho, scale, box = choice
    if nan == "drop":
        counted, neighbours = False, "add-or-remove-one"
    table = frame(NAMES[names], scale=scale).rename(columns={"who": unit or "who"})
    bound = {"bounds": (-20 * abs(scale), 20 * abs(scale))} if box else {"norm_bound": 1e4 * abs(scale)}
    options = {"columns": NAMES[names], "rho": rho, "seed": seed, "privacy_unit": unit, "nan": nan, **bound}
    options |= {"count_values": counted, "population": population, "neighbours": neighbours, "allow_few_rows": True}
    few = {"by": "team", "groups": [*range(5), "z" * 100]}
    many = {"by": "team", "groups": [*range(40)]}
    sizes = {"sizes": "public" if neighbours == "replace-one" else "private"}
    del options["allow_few_rows"]
    return (
        dpmean.mean(table, **options),
        dpmean.mean_by(table, **options, **few, **sizes),
        dpmean.mean_by(table, **options, **many, **sizes, **({} if unit is None else {"contributions": 3})),
    )


@settings(max_examples=20, deadline=None, derandomize=True, phases=[Phase.generate])
@given(st.sampled_from(range(len(NAMES))), st.tuples(*(st.sampled_from(values) for values in OPTIONS.values())))
def test_every_release_has_twenty_lines_of_80_characters(names, choice):
    one, groups, many = made(names, *choice)
    noted = replace(one, settings=replace(one.settings, note=NOTE, few_rows=True))
    floats = replace(one, receipts=(replace(one.receipts[0], exact=False), *one.receipts[1:]))
    for release in (one, groups, many, noted, floats):
        assert len(lines_of(release)) <= MOST_LINES == 20
        assert max(map(len, lines_of(release))) <= 80
        assert max(map(len, release.explain().splitlines())) <= 80
        assert not re.search(r" $", str(release) + release.explain(), re.MULTILINE)
    for release in (one, groups):
        assert "privacy    rho = " in str(release)
        assert choice[5] in str(release) or choice[2] == "drop"
        assert ("SEEDED" in str(release)) == (choice[1] is not None)
        assert ("EPSILON    above 10" in str(release)) == (choice[1] is None and choice[6] == 50.0)
        assert ("IMPUTED" in str(release), "LEFT OUT" in str(release)) == (choice[2] == "impute", choice[2] == "drop")
    assert "FEW ROWS" in str(noted)
    assert "FLOATS" in str(floats)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("trust", ["local", "shuffle"])
def test_collections_have_twenty_lines(trust, d):
    budget = {"epsilon": 8.0} if trust == "local" else {"epsilon": 2.0, "delta": 1e-6}
    rows = np.random.default_rng(0).normal(5, 1, (20_000, d))
    release = dpmean.mean(rows, trust=trust, norm_bound=60.0 * d, seed=1, **budget)
    assert len(lines_of(release)) <= 20
    assert max(map(len, lines_of(release))) <= 80
    assert "noise (std)" in str(release)
    assert "the noise alone; clipping may add a bias" in str(release)
    assert f"model      {trust}, played in one process" in str(release)


@pytest.mark.parametrize("method", ["shifted", "clipped"])
def test_methods_without_a_measured_bias_say_so(method):
    release = dpmean.mean(frame(["a", "b"])[["b"]], rho=0.5, norm_bound=60.0, method=method, seed=1)
    assert "clipping may add a bias, which was not measured" in str(release)
    assert "95 %" not in str(release) + release.explain()


def test_numbers_of_any_size_fit():
    rows = np.random.default_rng(0).normal(-1.23456789e10, 1.23e10, (N, 30))
    for bound in ({"norm_bound": 1e12}, {"bounds": (-1e12, 1e12)}, {"bounds": (np.arange(-59, -29) * 1e10, 1e12)}):
        for d in (1, 5, 30):
            if not isinstance(bound.get("bounds", (0,))[0], np.ndarray) or d == 30:
                release = dpmean.mean(rows[:, :d], rho=0.5, seed=1, population=True, **bound)
                assert max(map(len, [*lines_of(release), *release.explain().splitlines()])) <= 80


# --- what the lines say ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("d", [1, 3, 11])
def test_a_line_has_the_mean_of_a_column_and_its_intervals(d, population):
    names = [f"measurement {j}" for j in range(d)]
    release = dpmean.mean(frame(names)[names[:d]].fillna(5.0), norm_bound=60.0, rho=0.5, seed=1, population=population)
    for j, name in enumerate(names):
        (line,) = (line for line in lines_of(release) if line.startswith(f"{name} "))
        found = release.interval()
        margin = (found.upper[j] - found.lower[j]) / 2
        assert with_error(release.mean[j], margin)[0] in line.split()
        assert between(found.lower[j], found.upper[j], margin) in line
        if population:
            found = release.interval(of="population")
            assert between(found.lower[j], found.upper[j], (found.upper[j] - found.lower[j]) / 2) in line
    assert bool(re.search(r"^ +mean +these rows +population$", str(release), re.MULTILINE)) == population
    assert ("95 % confidence interval" in str(release)) == (not population)


def test_of_many_columns_the_first_and_the_last_are_shown_and_the_error_of_all():
    release = dpmean.mean(np.random.default_rng(0).normal(5, 1, (N, 784)), norm_bound=600.0, rho=0.5, seed=1)
    shown = [line.split("   ")[0] for line in lines_of(release) if line.startswith("column ")]
    assert shown == [f"column {j}" for j in (*range(5), *range(779, 784))]
    assert sum(line.startswith("...") for line in lines_of(release)) == 1
    assert f"error      at most {release.error_bound():.3g} in l2 norm over all columns, at 95 %" in str(release)


def test_columns_with_bounds_of_their_own_have_no_common_error():
    given = {"bounds": {"a": (0, 10), "b": (0, 1000)}, "rho": 0.5, "seed": 1}
    release = dpmean.mean(frame(["a", "b"])[["a", "b"]].fillna(5.0), **given)
    assert "l2 norm" not in str(release)
    assert "each in its own standard deviations" in " ".join(release.explain().split())


@pytest.mark.parametrize(("groups", "d"), [(2, 1), (2, 3), (5, 1), (12, 3), (12, 8), (60, 1), (60, 3), (2, 100)])
def test_groups_are_shown_column_by_column_or_group_by_group(groups, d):
    n = 300 * groups
    rows, keys = np.random.default_rng(0).normal(5, 1, (n, d)), np.arange(n) % groups
    found = dpmean.mean_by(rows, by=keys, groups=list(range(groups)), norm_bound=60.0, rho=5.0, seed=1)
    text = str(found)
    assert len(text.splitlines()) <= 20
    assert max(map(len, text.splitlines())) <= 80
    by_group = "mean ± margin of error at 95 % confidence" in text
    assert by_group == (d > 1 and groups * d > 12 and d < 100)
    j, last = 0, groups - 1
    interval = found[0].interval()
    margin = max(found[0].mean[j] - interval.lower[j], interval.upper[j] - found[0].mean[j])
    mean, around = with_error(found[0].mean[j], margin)
    assert re.search(rf"^0 .*\b{re.escape(mean)}\b", text, re.MULTILINE)
    assert re.search(rf"^{last} .*\d", text, re.MULTILINE)
    assert not by_group or re.search(rf"{re.escape(mean)} *± {re.escape(around)}", text)


def test_a_group_with_few_rows_has_no_interval_and_one_that_was_refused_has_a_reason():
    rows = np.random.default_rng(0).normal(5, 1, (3060, 2))
    options = {"by": np.arange(3060) >= 3000, "norm_bound": 60.0, "seed": 1, "rho": 0.05, "sizes": "public"}
    groups = dpmean.mean_by(rows, groups=[False, True, "East"], allow_few_rows=True, **options)
    assert groups[True].settings.few_rows
    fine, few = (next(line for line in lines_of(groups) if line.startswith(label)) for label in ("False", "True"))
    assert re.search(r"\S+ to \S+$", fine)
    assert few.endswith("not known")
    words = " ".join(str(groups).split())
    assert "FEW ROWS do not rely on this mean, since the error is not known: True" in words
    assert "refused 1 of 3 groups was refused (East): it has no rows; check the labels" in words
    assert "East: it has no rows" in groups.explain()


def test_that_persons_were_left_out_is_said_in_whole_sentences_beside_many_groups():
    frame = pd.DataFrame(
        {"who": np.arange(6000), "where": np.arange(6000) % 3, "age": 50.0, "crp": 9.0, "weight": 70.0}
    )
    bounds = {"age": (0, 110), "crp": (0, 500), "weight": (20, 250)}
    words = str(
        dpmean.mean_by(
            frame,
            by="where",
            groups=[0, 1, 2],
            bounds=bounds,
            rho=0.5,
            privacy_unit="who",
            nan="drop",
            population=True,
            seed=1,
        )
    )
    assert "(age, crp, weight); the mean is that of the others, which may differ" in " ".join(words.split())
    assert len(words.splitlines()) <= MOST_LINES


def test_a_person_reads_whose_rows_are_protected():
    release = dpmean.mean(frame(["a"]), columns=["a"], norm_bound=60.0, rho=0.5, seed=1, privacy_unit="who", nan="drop")
    assert "protects   all rows of one who, present or absent (add-or-remove-one)\n" in str(release)
    assert f"about {release.n} persons (who)" in str(release)


# --- explain() -------------------------------------------------------------------------------------------------------


def test_explain_has_every_step_and_every_statistic():
    release = made(1, "who", 1, "impute", True, True, "add-or-remove-one", 0.5, 1.0, True)[0]
    text = release.explain()
    steps = text.partition("\nSteps, ")[2]
    assert all(re.search(rf"^  {re.escape(one.step)} +\d+\.\d %  ", steps, re.MULTILINE) for one in release.receipts)
    for one in STATISTICS:
        shown = one.shown and one.name not in ("lower", "upper", "population_lower", "population_upper")
        assert not shown or one.words in text
    for label in ("bound", "values", "scales", "std", "spread", "radius", "bias", "error", "privacy", "method"):
        assert re.search(rf"^{label} ", text, re.MULTILINE)
    assert "\nSteps, " not in str(release)
    for label in ("bound", "scales", "spread", "radius", "bias", "method"):
        assert not re.search(rf"^{label} ", str(release), re.MULTILINE)


def test_explain_of_groups_has_every_group_and_every_step():
    groups = made(1, None, 1, "impute", True, False, "add-or-remove-one", 0.5, 1.0, False)[1]
    text = groups.explain()
    for label, release in groups.released.items():
        assert len(re.findall(rf"^{label}  +", text, re.MULTILINE)) >= 2
        assert all(f"\n{one.step}  " in text for one in release.receipts)
    assert all(reason.split(" are too")[0] in " ".join(text.split()) for reason in groups.refused.values())


@pytest.mark.parametrize("d", [2, 20])
def test_a_statistic_that_is_added_is_printed(d, monkeypatch):
    release = dpmean.mean(np.random.default_rng(0).normal(5, 1, (N, d)), norm_bound=60.0, rho=0.5, seed=1)
    assert "mean / noise" not in str(release) + release.explain()
    signal = Statistic("signal", "mean / noise", lambda found: abs(found.mean) / found.noise_std, digits=2)
    monkeypatch.setattr("dpmean.release.column_numbers.STATISTICS", [*STATISTICS, signal])
    assert "mean / noise" in str(release)
    assert "mean / noise" in release.explain()


def test_notebooks_show_what_print_shows():
    for release in made(1, None, 1, "impute", True, False, "add-or-remove-one", 0.5, 1.0, False):
        assert html.unescape(release._repr_html_()) == f"<pre>{release}</pre>"
    named = dpmean.mean(pd.DataFrame({"<script>": np.ones(N)}), norm_bound=60.0, rho=0.5, seed=1)
    assert "<script>" not in named._repr_html_()


# --- tables of text --------------------------------------------------------------------------------------------------


def test_numbers_are_aligned_on_the_point_if_their_digits_are_alike():
    assert align(["1.5", "10.25"]) == [" 1.5 ", "10.25"]
    assert align(["1.125", "36100"]) == ["1.125", "36100"]
    assert align(["1.5e9", "3"]) == ["1.5e9", "    3"]


def test_names_are_shortened_in_the_middle_and_cannot_break_a_line():
    assert shorten("income before taxes", 11) == "inco...axes"
    assert shorten("a\nb\x1b[1m", 20) == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[1m"
    assert len(shorten("x" * 99, 8)) == 8


@given(st.integers(1, 100), st.integers(1, 30))
def test_the_first_and_the_last_lines_are_shown(count, room):
    shown, some = skip_middle(count, room)
    assert len(shown) + some <= max(room, 3)
    assert shown == sorted(set(shown))
    assert (shown[0], shown[-1]) == (0, count - 1)
    assert some == (len(shown) < count)


def test_lines_of_a_table_are_of_one_width_before_they_are_stripped():
    table = draw([TextColumn("", ["a", "b" * 90], is_name=True), TextColumn("mean", ["1", "2"])], dots_after=1)
    assert [len(line) for line in table] == [80] * 4
    assert table[2].split() == ["...", "..."]


def test_dots_are_below_the_names_of_a_narrow_column():
    narrow, wide = TextColumn("g", ["a", "b"], is_name=True), TextColumn("mean", ["1" * 76, "2"])
    table = draw([narrow, wide], dots_after=1)
    assert [len(line) for line in table] == [3 + 2 + 76] * 4
    assert table[2].endswith("  " + "...".rjust(76))
    assert not fits([narrow, wide])  # though without dots they would be narrow enough

"""The statistics of every column: what is shown where, and that one more is shown everywhere."""

import csv
import datetime
import io
import re

import numpy as np
import pandas as pd
import pytest

import dpmean
from dpmean.cli.destinations import _document
from dpmean.release.statistics import STATISTICS, Statistic

pytestmark = pytest.mark.filterwarnings("ignore::dpmean.TooFewRowsWarning")

ROWS = np.random.default_rng(0).normal([5.0, -1.0], 1.0, (3000, 2))
BALL = {"norm_bound": 60.0, "rho": 0.5, "seed": 1}


@pytest.fixture(scope="module")
def releases():
    few = {**BALL, "rho": 0.05, "neighbours": "replace-one", "allow_few_rows": True}
    return {
        "refined": dpmean.mean(ROWS, **BALL),
        "clipped": dpmean.mean(ROWS, method="clipped", **BALL),
        "few rows": dpmean.mean(ROWS[:60], **few),
        "groups": dpmean.mean_by(ROWS, by=np.arange(3000) % 2, groups=[0, 1, 2], **BALL),
    }


def lines_of(release):
    return list(csv.DictReader(io.StringIO(_document(release, "csv").decode())))


NAMES = ["column", *(statistic.name for statistic in STATISTICS)]


def test_what_is_shown_of_each_release(releases):
    known = {"refined": True, "clipped": False, "few rows": False}
    for name, intervals in known.items():
        release = releases[name]
        frame = release.to_frame()
        assert list(frame) == NAMES
        assert list(lines_of(release)[0]) == [*NAMES, "seeded"]
        for end in ("lower", "upper"):
            assert frame[end].notna().tolist() == [intervals] * 2
            assert [bool(line[end]) for line in lines_of(release)] == [intervals] * 2
        for unknown in ("std", "values", "values_std", "population_lower"):
            assert frame[unknown].isna().all()
        assert [float(line["mean"]) for line in lines_of(release)] == release.mean.tolist()
        assert ("95 % confidence interval" in str(release)) == intervals
    frame = releases["groups"].to_frame()
    assert list(frame) == ["group", *NAMES, "n", "refused"]
    assert len(frame) == 6
    assert frame.pivot(index="group", columns="column", values="mean").isna().sum(axis=1).tolist() == [0, 0, 2]
    text = str(releases["groups"])
    assert "95 % confidence interval" in text
    assert "noise (std)" not in text
    assert "values" not in text


def test_files_and_frames_have_the_same_lines(releases):
    for release in releases.values():
        head, *lines = csv.reader(io.StringIO(_document(release, "csv").decode()))
        frame = release.to_frame()
        assert head == [*frame, "seeded"]
        for name, cells in zip(head[:-1], zip(*lines, strict=True), strict=False):
            wanted = ["" if isinstance(cell, float) and np.isnan(cell) else str(cell) for cell in frame[name].tolist()]
            assert list(cells) == wanted


def test_numbers_of_values_are_shown_where_they_were_asked_for(tmp_path):
    rows = ROWS.copy()
    rows[::5, 0] = np.nan
    given = {**BALL, "nan": "impute", "count_values": True}
    groups = dpmean.mean_by(rows, by=np.arange(3000) % 2, groups=[0, 1, 2], **given)
    for release in (dpmean.mean(rows, **given), groups):
        found = [release] if release is not groups else list(groups.released.values())
        counts = [count for one in found for count in one.value_counts.counts]
        frame = release.to_frame()
        assert frame["values"].dropna().tolist() == counts
        assert set(frame["values_std"].dropna()) == {found[0].value_counts.std}
        assert [float(line["values"]) for line in lines_of(release) if line["values"]] == counts
        table = str(release)
        page = dpmean.report(release, tmp_path / "page.html").read_text()
        assert all(f"{count}" in table and f"<td>{count}</td>" in page for count in counts)
        assert '<th scope="col">values</th>' in page
    noise = f"ows with a value, each with noise of std {groups[0].value_counts.std:.3g}"
    assert noise in page
    assert noise in " ".join(groups.explain().split())


def test_one_more_statistic_is_shown_everywhere(releases, tmp_path):
    """A new function and a new line are enough: each output has the column, its words and its numbers."""

    def twice(release):
        return None if release.method == "clipped" else release.mean * 2 + 1000

    STATISTICS.append(Statistic("twice", "two times", twice, digits=6, needs_rows=True))
    try:
        refined, wanted = releases["refined"], releases["refined"].mean * 2 + 1000
        assert refined.to_frame()["twice"].tolist() == wanted.tolist()
        assert releases["clipped"].to_frame()["twice"].isna().all()
        assert releases["few rows"].to_frame()["twice"].isna().all()
        assert [float(line["twice"]) for line in lines_of(refined)] == wanted.tolist()
        assert [line["twice"] for line in lines_of(releases["few rows"])] == ["", ""]
        for text in (str(refined), refined.explain()):
            assert f"{wanted[0]:.6g}" in text
            assert "two times" in text
        assert "two times" not in str(releases["clipped"]) + releases["clipped"].explain()

        groups = releases["groups"]
        assert groups.to_frame()["twice"].dropna().tolist() == [
            x * 2 + 1000 for one in groups.released.values() for x in one.mean
        ]
        assert [bool(line["twice"]) for line in lines_of(groups)] == [True] * 4 + [False] * 2
        assert "two times" in str(groups)
        assert "two times" in groups.explain()

        for release, cells in ((refined, 6), (releases["few rows"], 5), (groups, 6)):
            page = dpmean.report(release, tmp_path / "page.html").read_text()
            table = re.search(r'<table class="numbers[^"]*">.*?</table>', page, re.DOTALL)[0]
            assert table.count("two times") == 1
            assert all(
                len(re.findall("<t[hd]", line)) in (1, cells) for line in re.findall("<tr>.*?</tr>", table, re.DOTALL)
            )
        page = dpmean.report(refined, tmp_path / "page.html").read_text()
        assert all(f"<td>{value:.6g}</td>" in page for value in wanted)
        assert "<td>not known</td></tr>" in dpmean.report(releases["few rows"], tmp_path / "page.html").read_text()
    finally:
        STATISTICS.pop()
    assert "twice" not in releases["refined"].to_frame()


def test_groups_by_a_column_that_is_called_as_a_statistic():
    table = pd.DataFrame({"x": ROWS[:, 0], "lower": np.arange(3000) % 2})
    found = dpmean.mean_by(table, by="lower", groups=[0, 1], columns=["x"], **BALL).to_frame()
    assert next(iter(found)) == "lower (group)"
    assert found["lower (group)"].tolist() == [0, 1]
    assert (found["lower"] > 4).all()


def test_groups_by_several_columns_with_names_like_those_of_the_table_keep_all_of_them():
    keys = np.arange(3000) % 2
    table = pd.DataFrame({"x": ROWS[:, 0], "lower": keys, "lower (group)": 1 - keys})
    asked = {"by": ["lower", "lower (group)"], "groups": [(0, 1), (1, 0)], "columns": ["x"]}
    found = dpmean.mean_by(table, **asked, **BALL).to_frame()
    assert list(found)[:3] == ["lower (group)", "lower (group) (group)", "column"]
    assert found.iloc[:, :2].to_numpy().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["a", 1], ["a", "1"]),
        ([1, 2.5], [1.0, 2.5]),
        ([np.datetime64("2020-01-01"), "b"], ["2020-01-01", "b"]),
        ([2**70], [str(2**70)]),
        ([datetime.date(2020, 1, 2)], [datetime.date(2020, 1, 2)]),
    ],
)
def test_labels_of_any_type_stand_in_frames_of_every_library(labels, shown, library):
    frame = dpmean.mean_by(ROWS[:100], by=[0] * 100, groups=labels, **BALL).to_frame(library)
    column = frame["group"].to_pylist() if library == "pyarrow" else list(frame["group"])
    assert column == shown


def test_a_name_stands_for_one_statistic():
    assert (
        len({statistic.name for statistic in STATISTICS}) == len({one.words for one in STATISTICS}) == len(STATISTICS)
    )

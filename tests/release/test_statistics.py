"""The statistics of every column: what is shown where, and that one more is shown everywhere."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import dpmean
from dpmean.cli.destinations import _document
from dpmean.cli.tables import grouped_table, release_table
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


def shown(table):
    console = Console(width=200, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


def lines_of(release):
    return list(csv.DictReader(io.StringIO(_document(release, "csv").decode())))


def test_what_is_shown_of_each_release(releases):
    known = {"refined": True, "clipped": False, "few rows": False}
    for name, within in known.items():
        release = releases[name]
        ends = ["lower", "upper"] * within
        names = ["column", "mean", *ends, "noise_std", *["within"] * (name != "clipped"), *["scale"] * within]
        assert list(release.to_frame()) == names
        assert [bool(line["within"]) for line in lines_of(release)] == [within] * 2
        assert [float(line["mean"]) for line in lines_of(release)] == release.mean.tolist()
        assert ("lower (95 %)   upper (95 %)" in shown(release_table(release))) == within
        assert [bool(line["lower"]) for line in lines_of(release)] == [within] * 2
    frame = releases["groups"].to_frame()
    assert list(frame) == ["group", "column", "mean", "lower", "upper", "noise_std", "within", "scale", "n"]
    assert len(frame) == 4
    text = shown(grouped_table(releases["groups"]))
    assert "lower (95 %)   upper (95 %)" in text
    assert "noise" not in text


def test_one_more_statistic_is_shown_everywhere(releases, tmp_path):
    """A new function and a new line are enough: each output has the column, its words and its numbers."""

    def twice(release):
        return None if release.method == "clipped" else release.mean * 2 + 1000

    STATISTICS.append(Statistic("twice", "two times", twice, digits=6, needs_rows=True))
    try:
        refined, wanted = releases["refined"], releases["refined"].mean * 2 + 1000
        assert refined.to_frame()["twice"].tolist() == wanted.tolist()
        assert "twice" not in releases["clipped"].to_frame()
        assert [float(line["twice"]) for line in lines_of(refined)] == wanted.tolist()
        assert [line["twice"] for line in lines_of(releases["few rows"])] == ["", ""]
        assert f"{wanted[0]:.6g}" in shown(release_table(refined))
        assert "two times" not in shown(release_table(releases["clipped"]))

        groups = releases["groups"]
        assert groups.to_frame()["twice"].tolist() == [
            x * 2 + 1000 for one in groups.released.values() for x in one.mean
        ]
        assert [bool(line["twice"]) for line in lines_of(groups)] == [True] * 4 + [False]
        assert "two times" in shown(grouped_table(groups))

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
    table = pd.DataFrame({"x": ROWS[:, 0], "within": np.arange(3000) % 2})
    found = dpmean.mean_by(table, by="within", groups=[0, 1], columns=["x"], **BALL).to_frame()
    assert next(iter(found)) == "within (group)"
    assert found["within (group)"].tolist() == [0, 1]
    assert (found["within"] > 0).all()


def test_a_name_stands_for_one_statistic():
    assert (
        len({statistic.name for statistic in STATISTICS}) == len({one.words for one in STATISTICS}) == len(STATISTICS)
    )

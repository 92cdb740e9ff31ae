"""The page of a release: what it says, that it does no harm, and how it looks in a real browser."""

import base64
import hashlib
import html
import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmean
from dpmean import GroupedRelease, Neighbours, PureDp, Refusal, Release, Zcdp, baselines
from dpmean.privacy.renyi import renyi_of
from dpmean.release.digits import between, fraction, percent_up, plain, small, with_error
from dpmean.release.refusals import in_plain_words
from dpmean.release.settings import NormBound, Settings
from dpmean.release.statistics import scale
from dpmean.reports.columns import columns_of
from dpmean.reports.many_groups import in_order
from dpmean.reports.markup import Html, escaped, raw, tag
from dpmean.reports.promise import best_guess, promise_of
from dpmean.reports.scale import Scale
from tests.support import public

HOSTILE = [
    "</script><img src=x onerror=\"document.title='broken'\">",
    '" onmouseover="document.title=\'broken\'" x="',
    "<!--<script>",
    "a & b &lt; c",
    "\ud800 lone, \x00 nothing, \u202e backwards",
]
ADD = "add-or-remove-one"
WIDTHS = (360, 760, 1000, 1400)


def _set(release, **settings):
    return replace(release, settings=replace(release.settings, **settings))


def _named(release, names):
    return _set(release, columns=tuple(names))


_TABLE = ["Age", "Income", "Constant"]
_LIMITS = ([0, 0, 0], [130, 10_000_000, 10])


def _table():
    return np.random.default_rng(2).normal([41, 33000, 3], [12, 9000, 0], (5000, 3))


def as_if_real(release):
    """Return a seeded release that says it is not, to look like a real one."""
    if isinstance(release, GroupedRelease):
        groups = {label: as_if_real(one) if label in release.released else one for label, one in release.groups.items()}
        return replace(release, seeded=False, coins=COINS, groups=groups)
    return replace(release, seeded=False, settings=replace(release.settings, coins=COINS))


@pytest.fixture(scope="session")
def releases():
    """One of each kind; those without "seeded" in the name say that they were not, to look like real ones."""
    rows = np.random.default_rng(0).normal(5 + np.sin(np.arange(64) / 6), 1, (4000, 64))
    people = np.random.default_rng(1).normal([41, 33000, 170, 32, 1.4], [12, 9000, 10, 16, 1], (8000, 5))
    bounds = ([0, 0, 50, 0, 0], [120, 250000, 250, 240, 15])
    seeded = public.mean(rows[:, :6], rho=0.5, norm_bound=600.0, seed=3)
    columns = public.mean(people, epsilon=1.0, delta=1e-6, bounds=bounds, seed=1)
    with pytest.warns(dpmean.TooFewRowsWarning):
        few = public.mean(rows[:200], rho=0.5, norm_bound=600.0, method="shifted", allow_few_rows=True, seed=1)
    real = {
        "columns": _named(columns, ["Age (years)", "Income (€)", "Height (cm)", "Commute (minutes)", "Children"]),
        "vector": public.mean(rows, rho=0.5, norm_bound=600.0, seed=2),
        "table": _named(public.mean(_table(), rho=0.5, bounds=_LIMITS, seed=9), _TABLE),
        "one": public.mean(rows[:, 0], rho=0.1, bounds=(0, 20), seed=4),
        "local": dpmean.mean(rows[:, :3], trust="local", epsilon=2.0, norm_bound=60.0, seed=5),
        "shuffle": dpmean.mean(rows[:, :3], trust="shuffle", epsilon=2.0, delta=1e-9, norm_bound=60.0, seed=6),
        "few": few,
        "persons": dpmean.mean(
            rows[:, :2], rho=0.5, norm_bound=60.0, privacy_unit=np.arange(4000) // 2, neighbours=ADD, seed=8
        ),
        "floats": baselines.plan_mean(rows[:, :4], rho=0.5, norm_bound=600.0, seed=7),
    }
    return {"seeded": seeded, **{name: as_if_real(release) for name, release in real.items()}}


COINS = "0123456789abcdef" * 2
KINDS = ["seeded", "columns", "table", "vector", "one", "local", "shuffle", "few", "floats", "persons"]


@pytest.fixture(scope="session")
def grouped():
    """Four groups, one of them too small, in two columns; and three with many columns."""
    random = np.random.default_rng(8)
    labels = np.array(["North", "South", "<East>", "West"])[random.choice(4, 6000, p=[0.4, 0.3, 0.299, 0.001])]
    rows = random.normal([40, 33000], [12, 9000], (6000, 2))
    bounds, groups = ([0, 0], [120, 250000]), ["South", "North", "<East>", "West"]
    few = dpmean.mean_by(rows, by=labels, groups=groups, rho=0.1, bounds=bounds, seed=1)
    wide = random.normal(5, 1, (6000, 16))
    many = dpmean.mean_by(wide, by=labels, groups=groups[:3], rho=0.5, norm_bound=60.0, sizes="public", seed=1)
    return {"few": as_if_real(few), "many": as_if_real(many), "seeded": few}


def _words(path):
    """Return the text of a page that people read."""
    text = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", path.read_text(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def _held(path):
    return re.search(r'<script type="application/json" id="release">(.*?)</script>', path.read_text(), re.DOTALL)[1]


# --- the page as a file --------------------------------------------------------------------------------------


class _Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], [], []

    def handle_starttag(self, name, attributes):
        assert len(dict(attributes)) == len(attributes)
        self.seen.append(name)
        self.links += [value for key, value in attributes if key in ("href", "src", "srcset", "xlink:href", "action")]
        assert not [key for key, _ in attributes if key.startswith("on") or key == "style"]
        if name not in ("meta", "br"):
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_is_closed_and_nothing_points_elsewhere(releases, kind, tmp_path):
    parser = _Balance()
    parser.feed(dpmean.report(releases[kind], tmp_path / "page.html").read_text())
    assert parser.open == []
    assert all(link.startswith("data:application/json;base64,") for link in parser.links)
    assert parser.seen.count("h1") == 1
    assert not {"img", "iframe", "object", "link", "form", "image", "use"} & set(parser.seen)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_release_gives_the_same_bytes(releases, kind, tmp_path):
    first = dpmean.report(releases[kind], tmp_path / "one.html").read_bytes()
    again = dpmean.report(Release.from_json(releases[kind].to_json()), str(tmp_path / "other.html"))
    assert again == tmp_path / "other.html"
    assert again.read_bytes() == first
    assert dpmean.report(releases[kind], again, date="2025-01-31").read_bytes() != first


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_holds_the_whole_release(releases, kind, tmp_path):
    path = dpmean.report(releases[kind], tmp_path / "page.html")
    assert Release.from_json(_held(path)).to_json() == releases[kind].to_json()
    link = re.search(r'href="data:application/json;base64,([^"]*)"', path.read_text())[1]
    assert base64.b64decode(link).decode() == releases[kind].to_json()


@pytest.mark.parametrize("kind", KINDS)
def test_every_receipt_is_listed_with_its_cost(releases, kind, tmp_path):
    words = _words(dpmean.report(releases[kind], tmp_path / "page.html"))
    for receipt in releases[kind].receipts:
        assert receipt.step in words
        assert receipt.asked[1:] in words
        assert receipt.mechanism[1:] in words
        if isinstance(receipt.cost, Zcdp):
            assert fraction(receipt.cost.rho) in words
    shares = [
        float(share)
        for share in re.findall(r'aria-label="([0-9.]+) % of what', Path(tmp_path / "page.html").read_text())
    ]
    assert len(shares) == len(releases[kind].receipts)
    assert abs(sum(shares) - 100) < 0.06 * len(shares)


# --- what it says --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_protects_nobody_says_so(releases, kind, tmp_path):
    path = dpmean.report(releases[kind], tmp_path / "page.html")
    assert ('role="alert"' in path.read_text()) == (kind in ("seeded", "floats"))
    assert ("This protects nobody" in _words(path)) == (kind in ("seeded", "floats"))
    assert ("may be published" in _words(path)) == (kind not in ("seeded", "floats"))


def test_error_bars_say_what_they_cover(releases, tmp_path):
    refined = _words(dpmean.report(releases["columns"], tmp_path / "page.html"))
    assert "it covers the noise, and the bias of clipping" in refined
    assert f"Up to {releases['columns'].found.unseen} rows much farther out" in refined
    assert "1.96" not in refined
    for kind in ("local", "shuffle"):
        words = _words(dpmean.report(releases[kind], tmp_path / "page.html"))
        assert "1.96 standard deviations of the noise" in words
        assert "clipping may add a bias, which they do not cover" in words


def test_a_page_shows_intervals_of_a_population_where_they_are_known(tmp_path):
    given = {"rho": 0.5, "bounds": _LIMITS, "seed": 1}
    for release in (
        public.mean(_table(), population=True, **given),
        dpmean.mean_by(_table(), by=np.arange(5000) % 2, groups=[0, 1], population=True, **given),
    ):
        text = dpmean.report(release, tmp_path / "page.html", columns=_TABLE).read_text()
        words = _words(tmp_path / "page.html")
        assert "bars their 95 % confidence intervals, thin lines those of the population" in words
        assert "variances the variance of each column, for intervals of a population" in words
        one = release if isinstance(release, Release) else release[0]
        ends, table = one.interval(of="population"), html.unescape(text).partition("<tbody")[2]
        assert between(ends.lower[0], ends.upper[0], (ends.upper[0] - ends.lower[0]) / 2) in table
        assert text.count('class="wider"') == 3 * 3 * (1 if one is release else 2)
        assert "95 % interval, population" in words
    text = dpmean.report(public.mean(_table(), **given), tmp_path / "page.html", columns=_TABLE).read_text()
    assert 'class="wider"' not in text
    assert "population</th>" not in text


def test_remarks_are_shown(releases, tmp_path):
    words = _words(dpmean.report(releases["few"], tmp_path / "page.html"))
    assert "Few rows: do not rely on this estimate." in words
    assert words.index("do not rely") < words.index("How accurate")
    noted = _set(releases["one"], note="something <odd> happened")
    text = dpmean.report(noted, tmp_path / "page.html", date="31 January <2025>").read_text()
    assert "something &lt;odd&gt; happened" in text
    assert "31 January &lt;2025&gt;" in text


def test_where_rows_are_too_few_no_error_is_told(releases, grouped, tmp_path):
    refined = _set(releases["one"], few_rows=True)
    for release in (releases["few"], refined):
        text = dpmean.report(release, tmp_path / "page.html").read_text()
        assert "too few rows to know the error" in text
        assert not re.search(r"± ?[0-9]|, between|confidence", re.sub(r"<(style|script).*?</\1>", "", text, flags=re.S))
    few = {"South": _set(grouped["few"]["South"], few_rows=True)}
    some = replace(grouped["few"], groups={**grouped["few"].groups, **few})
    words = _words(dpmean.report(some, tmp_path / "page.html"))
    assert "Few rows: do not rely on all estimates." in words
    assert "so the errors of their estimates are not known: South." in words
    assert "South not known: too few rows" in words


def test_a_page_says_how_columns_differ_and_what_it_cost_to_know(releases, tmp_path):
    words = html.unescape(_words(dpmean.report(releases["table"], tmp_path / "page.html")))
    assert re.search(
        r"Standard deviations of columns: \S+ \(Age\) to \S+ \(Income\); noise is \S+( to \S+)? times these\. Finding",
        words,
    )
    assert re.search(
        r"Finding this cost \d\.\d % of the budget\. 1 column hardly varies: Constant; where noise cannot tell its",
        words,
    )
    assert "A column whose scale could not be found is measured in a part of its range" in words
    assert re.search(r"at most \S+ standard deviations, at 95 % confidence", words)
    assert "octaves how widely each column varies" in words
    assert "half-width" not in words
    even = _words(dpmean.report(releases["vector"], tmp_path / "page.html"))
    assert re.search(
        r"Scales of columns differ little \(less than 2-fold.*\), and noise is the same for all\. Finding this cost",
        even,
    )
    assert "more along columns" not in even
    uneven = public.mean(np.random.default_rng(0).normal(5, 1 / np.arange(1, 33), (4000, 32)), rho=1, norm_bound=300)
    words = _words(dpmean.report(uneven, tmp_path / "page.html"))
    assert re.search(r"Scales of columns differ \d+-fold, and noise follows them", words)
    assert re.search(r"Clipped at \S+ from the centre, more along columns that vary more: rows farther out", words)
    assert "far pairs whether noise in proportion to the scales is smaller" in words
    given = public.mean(_table(), rho=0.5, bounds=_LIMITS, shape=[10.0, 9000.0, 1.0], seed=1)
    words = _words(dpmean.report(given, tmp_path / "page.html", columns=_TABLE))
    assert "Given standard deviations of columns: 1 (Constant) to 9000 (Income); noise is " in html.unescape(words)
    assert "as the author of this page gave it" in words


@pytest.mark.parametrize("name", ["refined", "box", "groups"])
def test_a_page_of_an_old_release_says_nothing_of_scales(name, tmp_path):
    old = json.loads((Path(__file__).parents[1] / "vectors" / "documents.json").read_text())["releases"]
    even = public.mean(_table(), rho=0.5, bounds=_LIMITS, shape="round", seed=1)
    text = even.to_json() if name == "box" else old[name]
    kind = GroupedRelease if name == "groups" else Release
    words = _words(dpmean.report(kind.from_json(text), tmp_path / "page.html"))
    assert "rough scale" not in words
    assert "standard deviations" not in words.partition("Who is protected")[0]
    assert "How columns differ" not in words
    assert ("% of the range" in words) == (name == "box")
    assert "half-width" not in words


def test_groups_that_are_measured_in_different_units_say_which(tmp_path):
    """One may have enough rows to find scales, and another not."""
    labels = np.where(np.arange(5000) < 1000, "few", "many")
    shared = {"by": labels, "groups": ["few", "many"], "rho": 0.5, "bounds": _LIMITS, "seed": 1}
    groups, even = dpmean.mean_by(_table(), **shared), dpmean.mean_by(_table(), shape="round", **shared)
    groups = replace(groups, groups={"few": even["few"], "many": groups["many"]})
    assert [one.scales is None for one in groups.released.values()] == [True, False]
    words = _words(dpmean.report(groups, tmp_path / "page.html", columns=_TABLE))
    assert re.search(r"few at most \S+ % of the range \(", words)
    assert re.search(r"many at most \S+ standard deviations \(", words)
    assert "How columns differ, group by group" in words
    one = dpmean.mean_by(_table(), **{**shared, "groups": ["many"]})
    words = _words(dpmean.report(one, tmp_path / "page.html"))
    assert "many at most" in words
    assert "half-width" not in words


def test_the_page_of_a_release_as_usual_protects_who_took_part(tmp_path):
    release = dpmean.mean(np.random.default_rng(0).normal(5, 1, (4000, 3)), rho=0.5, norm_bound=60.0)
    words = _words(dpmean.report(release, tmp_path / "page.html"))
    assert "guess whether any one row is in the data" in words
    assert "The number of rows is also protected, and published with noise" in words
    assert f"over about {release.n} rows" in words
    assert "number how many there are" in words


def test_the_promise_names_the_unit_and_who_is_trusted(releases, tmp_path):
    words = {kind: _words(dpmean.report(releases[kind], tmp_path / "page.html")) for kind in KINDS}
    for kind in set(KINDS) - {"persons"}:
        assert "can only guess whether any one row has its true values or others." in words[kind]
        assert "is public and not protected" in words[kind]
    assert (
        "From this page, even someone who knows all other data can only guess whether any one person is in the data"
        in words["persons"]
    )
    assert "The number of persons is also protected" in words["persons"]
    assert "Every person counts once" in words["persons"]
    assert f"over about {releases['persons'].n} persons" in words["persons"]
    assert "if that person were added or left out" in words["persons"]
    assert "The bet below says how often" in words["vector"]
    assert "All others see only noisy numbers, and the exact number of rows." in words["vector"]
    assert "All others see only noisy numbers." in words["persons"]
    assert "is trusted with them" in words["vector"]
    assert "nobody is trusted" in words["local"]
    assert "pure differential privacy" in words["local"]
    assert "the shuffler and the analyzer do not collude" in words["shuffle"]
    assert f"at least {releases['shuffle'].settings.collection.honest} clients are honest" in words["shuffle"]
    assert all("was played in one process, which saw all rows" in words[kind] for kind in ("local", "shuffle"))
    apart = replace(releases["local"].settings.collection, played_in_one_process=False)
    page = dpmean.report(_set(releases["local"], collection=apart), tmp_path / "page.html")
    assert "played in one process" not in _words(page)


def test_epsilon_is_that_of_the_release(releases, tmp_path):
    words = _words(dpmean.report(releases["vector"], tmp_path / "page.html"))
    assert releases["vector"].epsilon(1e-6) < 5.223
    assert "epsilon 5.222 at delta 10⁻⁶" in words
    assert "rho = 0.5" in words
    factor = float(re.search(r"at most ([0-9.]+) times as likely as it would be", words)[1])
    assert math.exp(releases["vector"].epsilon(1e-6)) <= factor < 1.01 * math.exp(releases["vector"].epsilon(1e-6))


def test_a_page_in_a_folder_that_does_not_exist_is_refused(releases, grouped, tmp_path):
    for release in (releases["vector"], grouped["few"]):
        with pytest.raises(dpmean.DpMeanError, match=r"there is no folder .*nodir: make it first"):
            dpmean.report(release, tmp_path / "nodir" / "page.html")


def test_a_page_about_persons_speaks_of_persons(releases, tmp_path):
    for kind, one, other in (("persons", "person", "row"), ("vector", "row", "person")):
        words = _words(dpmean.report(releases[kind], tmp_path / "page.html"))
        for part in ("the mean of these {}s lies", "far a {} typically lies", "Errors refer to the mean of these {}s"):
            assert part.format(one) in words
            assert part.format(other) not in words
    assert releases["persons"].receipts[0].asked == "number of persons"


def test_an_epsilon_that_promises_nothing_says_so(releases, tmp_path):
    loose = _costing(releases["one"], Zcdp(1000))
    words = _words(dpmean.report(loose, tmp_path / "page.html"))
    assert "so large that it rules out almost nothing" in words
    assert "At this cost, almost nothing is hidden: from this page, someone" in words
    assert "can only guess" not in words
    assert "in at most 100.0 % of cases" in words


def _costing(release, *costs):
    return replace(release, receipts=tuple(replace(release.receipts[0], cost=cost) for cost in costs))


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.02, 0.1, 0.5, 2.0, 10.0, 100.0])
def test_no_bet_on_a_gaussian_is_won_more_often_than_said(releases, rho):
    """The noisy sum of cost rho is a Gaussian whose mean moves by sqrt(2 rho) standard deviations."""
    truth = NormalDist().cdf(math.sqrt(2 * rho) / 2)
    for cost, slack in ((Zcdp(rho), 1.4), (renyi_of(Zcdp(rho)), 4.0)):
        said = best_guess(promise_of(_costing(releases["one"], cost)))
        assert truth <= said <= 1
        assert said - 0.5 < slack * (truth - 0.5) + 0.01  # and not much less often either
        assert float(percent_up(said).rstrip(" %")) >= 100 * truth


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 12.0])
def test_no_bet_on_randomized_response_is_won_more_often_than_said(releases, epsilon):
    """A bit that is told truly with odds e^epsilon is pure, and guessed with the same odds."""
    said = best_guess(promise_of(_costing(releases["local"], PureDp(epsilon))))
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert truth - 1e-12 <= said <= truth + 1e-12


def test_pure_costs_add_up(releases, tmp_path):
    """Two hundred of 0.05 are 10: at a delta they would be less, but then they are not pure."""
    many = _costing(releases["local"], *[PureDp(0.05)] * 200)
    assert many.epsilon(1e-6) < 6
    words = _words(dpmean.report(many, tmp_path / "page.html"))
    assert "This is epsilon 10, pure differential privacy" in words
    assert "together epsilon 10." in words


# --- groups --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["few", "many", "seeded"])
def test_the_page_of_groups_is_whole_and_reproducible(grouped, kind, tmp_path):
    path = dpmean.report(grouped[kind], tmp_path / "page.html")
    parser = _Balance()
    parser.feed(path.read_text())
    assert parser.open == []
    read = GroupedRelease.from_json(_held(path))
    assert read.to_json() == grouped[kind].to_json()
    assert dpmean.report(read, tmp_path / "other.html").read_bytes() == path.read_bytes()
    assert ("This protects nobody" in _words(path)) == (kind == "seeded")
    assert ("may be published" in _words(path)) == (kind != "seeded")


def test_groups_without_a_number_say_why(grouped, tmp_path):
    release = grouped["few"]
    assert list(release.refused) == ["West"]
    path = dpmean.report(release, tmp_path / "page.html")
    words = _words(path)
    assert "4, 1 without a number" in words
    assert html.escape(release.refused["West"], quote=True) in path.read_text()
    assert words.count("no number") == 2  # once in each column
    for name, found in release.released.items():
        assert f"{html.escape(name)} about {found.n} rows" in words


def test_the_promise_of_groups_is_theirs(grouped, tmp_path):
    few = _words(dpmean.report(grouped["few"], tmp_path / "page.html"))
    assert "can only guess whether any one row is in the data." in few
    assert "The group of a row is hidden as well, but less well: as if the release had cost twice the rho." in few
    assert "The number of rows in a group is also protected" in few
    assert "the total is the cost of the most expensive group." in few
    assert "rho = 0.1." in few
    assert "All others see only noisy numbers." in few
    many = _words(dpmean.report(grouped["many"], tmp_path / "page.html"))
    assert "with that row replaced by any other of its group" in many
    assert (
        "guesses which of two candidates, both of its group, that row is, at even odds, and is right in at most" in many
    )
    assert "All others see only noisy numbers, and the exact number of rows in each group." in many
    assert "see only noisy numbers." not in many
    assert "who is in which group, are public and not protected" in many
    moved = replace(grouped["few"], neighbours=Neighbours.REPLACE_ONE)
    words = _words(dpmean.report(moved, tmp_path / "page.html"))
    assert "rho = 0.4." in words
    assert "the total is four times the cost of the most expensive group" in words
    assert "has its true values or others, in this group or in another." in words
    assert "twice the rho" not in words


def test_persons_in_groups_count_with_their_rows_in_one(grouped, tmp_path):
    named = {label: _set(found, privacy_unit="who") for label, found in grouped["few"].released.items()}
    words = _words(dpmean.report(replace(grouped["few"], groups=named, unit="who"), tmp_path / "page.html"))
    assert "Every person counts once, in one group, with the mean of their rows in it" in words
    assert "other listed groups were left out" in words


def test_a_page_without_any_number_is_a_page(grouped, tmp_path):
    alone = replace(grouped["few"], groups={"West": grouped["few"]["West"], 5: Refusal("it has no rows")})
    words = _words(dpmean.report(alone, tmp_path / "page.html", image=True, columns=["a"]))
    assert "No group has a number" in words
    assert "5 it has no rows." in words


# --- names and arguments -------------------------------------------------------------------------------------


def test_names_do_no_harm_as_text(releases, tmp_path):
    path = dpmean.report(_named(releases["columns"], HOSTILE), tmp_path / "page.html", title="</title><b>", date="<i>")
    parser = _Balance()
    parser.feed(path.read_text())
    assert parser.open == []
    assert not {"img", "b", "i"} & set(parser.seen)
    assert parser.seen.count("script") == 2
    assert Release.from_json(_held(path)).settings.columns == tuple(HOSTILE)


def test_no_name_turns_a_sentence_around(releases, grouped, tmp_path):
    odd = replace(grouped["few"], by="\u202eby", groups={"\u2067a": grouped["few"]["North"], "b": Refusal("c")})
    for release in (odd, _set(releases["persons"], privacy_unit="\u202ewho")):
        text = dpmean.report(release, tmp_path / "page.html", title="\u202etitle", date="\u202dnow").read_text()
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", text.replace(_held(tmp_path / "page.html"), ""))
        assert "<h1><bdi>" in text
        assert not re.search(r"<d[td]>(?!<bdi>)", text)


def test_names_can_be_given_later(releases, tmp_path):
    path = dpmean.report(releases["seeded"], tmp_path / "page.html", columns=(f"<{letter}>" for letter in "abcdef"))
    assert path.read_text().count("<bdi>&lt;f&gt;</bdi>") == 2
    assert "column 0" not in _words(path)
    assert _held(path) == releases["seeded"].to_json()


def test_one_name_is_that_of_the_only_column(tmp_path):
    rows = np.random.default_rng(0).normal(45, 12, (5000, 1))
    release = dpmean.mean(rows, rho=0.5, bounds=(0, 130), seed=1)
    assert "<bdi>age</bdi>" in dpmean.report(release, tmp_path / "page.html", columns="age").read_text()


def test_names_that_do_not_fit_are_left_out(releases, tmp_path):
    for names in (("a", "b"), (), None):
        odd = _set(releases["columns"], columns=names)
        assert "column 4" in _words(dpmean.report(odd, tmp_path / "page.html"))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"image": (8, 9)}, ValueError, "has 72 pixels, but there are 64 columns"),
        ({"image": (-8, -8)}, ValueError, "64 columns"),
        ({"image": (8.0, 8.0)}, TypeError, "of integers"),
        ({"image": "square"}, TypeError, "of integers"),
        ({"columns": ["a", "b"]}, ValueError, "columns must be 64 names, one for each column, got 2"),
        ({"columns": "ab"}, ValueError, "columns must be 64 names, one for each column, got 1"),
        ({"columns": 5}, TypeError, "columns must be a list of names, got 5"),
        ({"title": 5}, TypeError, "title must be text"),
        ({"date": 2025}, TypeError, "date must be text"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_written(releases, tmp_path, arguments, error, words):
    with pytest.raises(error, match=re.escape(words)):
        dpmean.report(releases["vector"], tmp_path / "page.html", **arguments)
    assert not (tmp_path / "page.html").exists()


def test_a_square_is_needed_for_a_square(releases, tmp_path):
    with pytest.raises(dpmean.ArgumentError, match=r"needs a square number of columns, got 5: give image="):
        dpmean.report(releases["columns"], tmp_path / "page.html", image=True)
    with pytest.raises(dpmean.ArgumentTypeError, match="got ndarray"):
        dpmean.report(releases["columns"].mean, tmp_path / "page.html")


def test_an_image_has_a_pixel_for_each_column(releases, tmp_path):
    text = dpmean.report(releases["vector"], tmp_path / "page.html", image=True).read_text()
    assert dpmean.report(releases["vector"], tmp_path / "page.html", image=(8, 8)).read_text() == text
    picture = re.search(r'<svg class="image".*?</svg>', text)[0]
    greys = {}
    for pixels, grey in re.findall(r'<path d="([^"]*)" fill="#([0-9a-f]{2})', picture):
        greys |= {8 * int(y) + int(x): int(grey, 16) for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", pixels)}
    mean = releases["vector"].mean
    wanted = 255 * (mean - mean.min()) / np.ptp(mean)
    assert np.all(np.abs([greys[j] for j in range(64)] - wanted) <= 0.5)
    assert "standard deviation of" in _words(tmp_path / "page.html")


def test_thousands_of_columns_make_a_page_of_bearable_size(releases, tmp_path):
    d, one = 20_000, releases["one"]
    wide = {name: np.resize(np.sin(np.arange(d)), d) for name in ("mean", "centre")}
    long = replace(one, d=d, noise_std=np.full(d, 0.1), settings=Settings(bound=NormBound(60.0)), **wide)
    path = dpmean.report(long, tmp_path / "page.html")
    assert path.stat().st_size < 2.5 * len(long.to_json()) + 1_000_000
    assert "the first 2000 of 20000" in _words(path)


# --- words of the author -------------------------------------------------------------------------------------

_WORDS = {
    "labels": {"Age": "Age at <admission>", "Income": "Income of the household"},
    "units": {"Age": "years", "Income": "€ per year"},
    "about": "All patients of 2024.\n\nWhich wards need <b>staff</b>?",
    "contact": "Office <office@example.org>",
}


def test_a_page_shows_what_its_author_says(releases, tmp_path):
    release = releases["table"]
    path = dpmean.report(release, tmp_path / "page.html", **_WORDS)
    parser = _Balance()
    parser.feed(path.read_text())
    assert parser.open == []
    assert "b" not in parser.seen
    assert path.read_text().count("<bdi>Age at &lt;admission&gt;</bdi>") == 2  # drawn, and in the table
    words = html.unescape(_words(path))
    assert "About the data All patients of 2024. Which wards need <b>staff</b>? Contact: Office <office" in words
    assert "Age: 0 to 130 years" in words
    assert "Income: 0 to 10⁷ € per year" in words
    assert "to 9" in words.partition("Standard deviations of columns: ")[2].partition("(Income of the household)")[0]
    said = "not part of the release: readable names, units, text about the data and contact."
    assert said in words
    assert _held(path) == release.to_json()
    assert "not part of the release" not in _words(dpmean.report(release, path))


def test_labels_are_for_some_columns_for_each_or_for_those_without_names(releases, grouped, tmp_path):
    path = tmp_path / "page.html"
    assert "Years of age" in _words(dpmean.report(releases["table"], path, labels={"Age": "Years of age"}))
    assert "Income" in _words(path)
    assert "one two" not in _words(dpmean.report(releases["table"], path, labels=["one", "two", "three"]))
    assert path.read_text().count("<bdi>three</bdi>") == 2
    assert "The seventh" in _words(dpmean.report(releases["vector"], path, labels={7: "The seventh"}))
    named = {"columns": ["a", "b"], "labels": {"a": "The first"}, "units": {"b": "€"}}
    words = _words(dpmean.report(grouped["few"], path, **named))
    assert "The first" in words
    assert "b (€)" in words
    assert "a: 0 to 120" in words
    alone = replace(grouped["few"], groups={"West": grouped["few"]["West"]})
    assert "Hello" in _words(dpmean.report(alone, path, about="Hello", labels={"a": "any"}))
    same = _words(dpmean.report(releases["vector"], path, units=["mg"] * 64))
    assert "The unit is mg." in same


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            {"labels": {"age": "x"}},
            ValueError,
            "labels: there is no column 'age': the columns are Age, Income, Constant",
        ),
        ({"units": {0: "x"}}, ValueError, "units: there is no column 0: the columns are Age, Income, Constant"),
        ({"labels": {"Age": "Income"}}, ValueError, "labels: two columns would be called 'Income'"),
        ({"labels": ["a", "b"]}, ValueError, "labels must be 3 texts, one for each column, got 2"),
        ({"labels": "Age"}, TypeError, "labels must be a dictionary, such as"),
        ({"units": {"Age": 5}}, TypeError, "units must be text, got 5"),
        ({"units": {"Age": " "}}, ValueError, "units is empty"),
        ({"about": ""}, ValueError, "about is empty: write something, or leave it out"),
        ({"about": ["x"]}, TypeError, "about must be text, got an object of type list"),
        ({"contact": 5}, TypeError, "contact must be text, got 5"),
    ],
)
def test_words_that_cannot_be_used_are_refused_and_nothing_written(releases, tmp_path, arguments, error, words):
    with pytest.raises(error, match=re.escape(words)):
        dpmean.report(releases["table"], tmp_path / "page.html", **arguments)
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(ValueError, match="have no names, so count them, from 0 to 63"):
        dpmean.report(releases["vector"], tmp_path / "page.html", labels={"Age": "x"})


def test_groups_have_readable_names(grouped, tmp_path):
    path, few = tmp_path / "page.html", grouped["few"]
    first = next(iter(few))
    words = _words(dpmean.report(few, path, group_labels={first: "The first of all"}))
    assert "The first of all" in words
    assert f"<bdi>{first}</bdi>" not in path.read_text()
    assert "not part of the release: readable names." in words
    both = replace(few, by=("a", "b"), groups={(label, "m"): found for label, found in few.groups.items()})
    words = _words(dpmean.report(both, path, group_labels={"m": "men"}))
    assert f"{first}, men" in words
    words = _words(dpmean.report(both, path, group_labels={"m": "men", (first, "m"): "One"}))
    assert f"{first}, men" not in words
    for arguments, why in (
        ({"group_labels": {"nobody": "x"}}, "group_labels: there is no group 'nobody': the groups are "),
        ({"group_labels": dict.fromkeys(few, "x")}, "group_labels: two groups would be called 'x'"),
        ({"group_labels": {first: ""}}, "group_labels is empty"),
        ({"columns": ["a", "b"], "labels": {first: "x"}}, "is a group: name groups in group_labels"),
    ):
        with pytest.raises(ValueError, match=why):
            dpmean.report(few, path, **arguments)
    with pytest.raises(TypeError, match="group_labels must be a dictionary"):
        dpmean.report(few, path, group_labels=["x"])
    with pytest.raises(ValueError, match="this is a release of one mean"):
        dpmean.report(next(iter(few.released.values())), path, group_labels={"m": "x"})


def test_a_page_of_few_groups_has_their_differences(grouped, tmp_path):
    few = grouped["few"]
    first, second, *_ = few.labels
    words = _words(dpmean.report(few, tmp_path / "page.html"))
    assert f"Differences from {first}" in words
    found = few.difference(second, first)
    error = float(found.upper[0] - found.lower[0]) / 2
    assert between(float(found.lower[0]), float(found.upper[0]), error) in words.partition("Differences from")[2]
    alone = replace(few, groups={first: few[first]})
    assert "Differences from" not in _words(dpmean.report(alone, tmp_path / "page.html"))


def test_a_page_gives_no_advice_to_the_holder_of_the_data(grouped, tmp_path):
    words = _words(dpmean.report(grouped["few"], tmp_path / "page.html"))
    assert "too few rows for this budget" in words or "are too few for this budget" in words
    for advice in ("allow_few_rows", "check the label", "What helps", "d=2", "and method refined"):
        assert advice not in words.partition("How it was made")[0]


@pytest.mark.parametrize("width", WIDTHS)
def test_long_words_of_an_author_stay_on_the_screen(browser, releases, grouped, width, tmp_path):
    long = {"labels": ["a" * 90, "a label of many words " * 9], "units": ["u" * 60, "units " * 20], "about": "x" * 300}
    pages = [dpmean.report(grouped["few"], tmp_path / "groups.html", **long)]
    names = {"labels": [*long["labels"], *HOSTILE[:3]], "units": [*long["units"], *HOSTILE[:3]], "about": HOSTILE[0]}
    pages.append(dpmean.report(releases["columns"], tmp_path / "page.html", contact=HOSTILE[1], **names))
    for path in pages:
        browser.open(path, width=width)
        assert browser.errors == []
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.ask("document.querySelectorAll('img').length") == 0


# --- loose bounds --------------------------------------------------------------------------------------------


def _drawn(path):
    """Return from where to where each estimate is drawn, and whether its bounds are told beside it."""
    text = html.unescape(path.read_text())
    found = re.findall(r'aria-label="([^"]*); drawn from (\S+) to (\S+)"', text)
    return [(float(low), float(high)) for _, low, high in found], re.findall(r'"soft">bounds: ([^<]*)<', text)


def test_a_drawing_is_close_to_the_estimate_where_bounds_are_loose(tmp_path):
    rows = np.random.default_rng(0).normal([45, 40, 0.3, 97], [12, 9, 2, 1], (5000, 4))
    bounds = ([0, 0, -1e4, 0], [130, 1e6, 1e4, 100])
    release = public.mean(rows, rho=0.5, bounds=bounds, seed=1)
    drawn, told = _drawn(dpmean.report(release, tmp_path / "page.html"))
    intervals, widths = release.interval(), [high - low for low, high in drawn]
    assert drawn[0] == (0, 130)
    assert told == ["0 to 1000000", "-10000 to 10000", "0 to 100"]
    for j in (1, 2, 3):
        low, high = intervals.lower[j], intervals.upper[j]
        assert drawn[j][0] <= low < high <= drawn[j][1]
        assert widths[j] < 4 * (high - low)
    one = public.mean(rows[:, 1], rho=0.5, bounds=(0, 1e6), seed=1)
    words = _words(dpmean.report(one, tmp_path / "page.html"))
    assert "The public bounds are loose, so only the part around the estimate is drawn." in words
    assert "bounds: 0 to 1000000" in words
    tight = public.mean(rows[:, 1], rho=0.5, bounds=(0, 100), seed=1)
    assert "It is drawn between its public bounds." in _words(dpmean.report(tight, tmp_path / "page.html"))
    few = _set(replace(one, found=None), few_rows=True)
    drawn, _ = _drawn(dpmean.report(few, tmp_path / "page.html"))
    assert drawn[0][0] < one.mean[0] < drawn[0][1] < 1000
    beyond = replace(one, mean=np.array([-30.0]), found=None)
    drawn, _ = _drawn(dpmean.report(beyond, tmp_path / "page.html"))
    assert drawn[0][0] < -30 < drawn[0][1]


def test_only_columns_that_share_a_unit_share_an_axis_and_their_bounds_are_told(tmp_path):
    rows = np.random.default_rng(0).normal([45, 40], 9, (5000, 2))
    words = _words(dpmean.report(public.mean(rows, rho=0.5, bounds=(0, 1e6), seed=1), tmp_path / "page.html"))
    assert "The public bounds are 0 to 1000000." in words


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ((1.0, 5.0), (0, 5)),
        ((39.0, 41.0), (39, 41)),
        ((-5.0, -1.0), (-5, 0)),
        ((-1.0, 5.0), (-1, 5)),
        ((3, 3), (2.7, 3.3)),
    ],
)
def test_zero_is_on_a_scale_if_it_is_near(values, ends):
    scale = Scale.around(values)
    assert (scale.low, scale.high) == ends


def test_ends_of_a_scale_are_told_apart():
    assert Scale(123456.78, 123456.9).ends() == ("123456.78", "123456.9")
    assert Scale(0, 130).ends() == ("0", "130")


# --- many groups ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def crowd(grouped):
    """3000 groups: all with numbers in two columns, one in seven refused, and all refused."""
    random, some, refused = np.random.default_rng(1), grouped["few"]["North"], grouped["few"]["West"]
    one = {label: replace(some, mean=some.mean + random.normal(0, [2, 900])) for label in range(3000)}
    return {
        "all": replace(grouped["few"], groups=one),
        "some": replace(grouped["few"], groups={label: one[label] if label % 7 else refused for label in one}),
        "none": replace(grouped["few"], groups=dict.fromkeys(one, refused)),
    }


@pytest.mark.parametrize("kind", ["all", "some", "none"])
def test_thousands_of_groups_make_a_short_page(browser, crowd, kind, tmp_path):
    release = crowd[kind]
    path = dpmean.report(release, tmp_path / "page.html", labels=["Age", "Income"] if kind != "none" else None)
    assert path.stat().st_size < 1_500_000
    parser = _Balance()
    parser.feed(path.read_text())
    assert parser.open == []
    assert hashlib.sha256(release.to_json().encode()).hexdigest() in path.read_text()
    assert "is too long for this page" in _words(path)
    assert 'id="release"' not in path.read_text()
    for width in WIDTHS:
        browser.open(path, width=width, script=False)
        assert browser.errors == []
        assert browser.ask("document.documentElement.scrollHeight") < (7000 if width < 700 else 4500)
        browser.ask("document.querySelectorAll('details').forEach(e => { e.open = true })")
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.ask("document.documentElement.scrollHeight") < (9000 if width < 700 else 6000)
    lines = browser.ask(
        "[...document.querySelectorAll('.tall tbody tr')].map(e => [...e.cells].map(c => c.textContent))"
    )
    listed = {cells[0]: cells for cells in lines if cells[0].isdecimal()}
    assert len(listed) == 3000
    if kind != "none":
        found = release[8]
        assert listed["8"][1] == f"about {found.n}"
        assert abs(float(listed["8"][3]) - found.mean[0]) < 0.1 * found.column_bounds()[0]
        assert [line[0] for line in lines[:2]] == ["public bounds", "Income"]
    if kind != "all":
        assert listed["7"][1] == in_plain_words(release.refused[7])
    browser.open(path, media="print")
    browser.ask("document.querySelectorAll('details').forEach(e => { e.open = true })")
    assert browser.ask("document.documentElement.scrollHeight") > 50_000  # on paper, a table that is open is whole


def test_the_drawing_of_many_groups_goes_from_the_lowest_to_the_highest(crowd, tmp_path):
    text = dpmean.report(crowd["all"], tmp_path / "page.html").read_text()
    means = crowd["all"].means
    assert text.count('class="curve"') == 2
    for j in range(2):
        ends = f"from {plain(means[:, j].min())} to {plain(means[:, j].max())}"
        assert f"Estimates of 3000 groups in ascending order, {ends}" in text
    for strokes in re.findall(r'<polyline points="([^"]*)"', text):
        heights = [float(point.partition(",")[2]) for point in strokes.split()]
        assert len(heights) == 600
        assert all(later <= earlier for earlier, later in pairwise(heights))


def test_one_very_wide_interval_does_not_hide_the_others(crowd):
    """Its band is cut off at the edge of the drawing, whose scale is that of the others."""
    columns = {label: columns_of(release) for label, release in list(crowd["all"].released.items())[:200]}
    some = next(iter(columns))
    wide = replace(columns[some], low=columns[some].low - 1e6, high=columns[some].high + 1e6)
    ticks, all_ticks = (
        re.findall(r"<text[^>]*>([^<]*)</text>", str(in_order(groups)[0]))
        for groups in (columns, columns | {some: wide})
    )
    assert ticks == all_ticks
    half = {label: wide if j % 2 else one for j, (label, one) in enumerate(columns.items())}
    assert ticks != re.findall(r"<text[^>]*>([^<]*)</text>", str(in_order(half)[0]))


def test_the_costs_of_many_groups_are_told_step_by_step(crowd, tmp_path):
    words = _words(dpmean.report(crowd["some"], tmp_path / "page.html"))
    assert "All groups together cost rho 0.1." in words
    assert re.search(r"number how many there are 3000 0\.004", words)
    assert re.search(r"mean the mean itself 2571 0\.0\d+", words)


def test_sixty_groups_have_a_line_each_and_one_more_has_not(grouped, tmp_path):
    one = grouped["few"]["North"]
    for count, many in ((60, False), (61, True)):
        crowded = replace(grouped["few"], groups=dict.fromkeys(range(count), one))
        text = dpmean.report(crowded, tmp_path / "page.html").read_text()
        assert ('class="wide tall"' in text) == many
        assert text.count('class="dot"') == (0 if many else 120)
        assert GroupedRelease.from_json(_held(tmp_path / "page.html")).to_json() == crowded.to_json()


@pytest.mark.parametrize("many", [False, True])
def test_a_first_group_with_few_rows_moves_no_cell(many, tmp_path):
    given = {"rho": 0.5, "bounds": _LIMITS, "seed": 1, "population": True, "allow_few_rows": True}
    groups = dpmean.mean_by(_table(), by=np.arange(5000) >= 50, groups=[False, True], **given)
    assert groups[False].settings.few_rows
    if many:
        groups = replace(groups, groups={j: groups[j > 0] for j in range(61)})
    text = dpmean.report(groups, tmp_path / "page.html").read_text()
    table = re.search(r'<table class="numbers[^"]*">.*?</table>', text, re.DOTALL)[0]
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", table.partition("</thead>")[0])
    place = heads.index("95 % interval, population") - len(heads)
    lines = [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in table.partition("<tbody")[2].split("</tr>")]
    cells = [line[place] for line in lines if len(line) >= -place]
    assert cells[-1].count(" to ") == 1
    assert set(cells[3 * many :][:3]) == {"not known"}  # of many groups, the public bounds stand first


@pytest.mark.parametrize("image", [None, True])
def test_many_groups_of_many_columns_are_drawn_in_part(browser, grouped, image, tmp_path):
    one = grouped["many"]["North"]
    crowded = replace(grouped["many"], groups=dict.fromkeys(range(3000), one))
    path = dpmean.report(crowded, tmp_path / "page.html", image=image)
    assert path.stat().st_size < 1_500_000
    words = _words(path)
    assert "Drawn are the first 12 of 3000." in words
    assert "The first 375 of 3000 groups; all are in the release." in words
    browser.open(path)
    assert browser.errors == []


# --- numbers -------------------------------------------------------------------------------------------------

_NUMBERS = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(_NUMBERS, st.floats(1e-12, 1e12))
def test_numbers_are_rounded_to_what_the_error_supports(value, error):
    written, around = (float(text) for text in with_error(value, error))
    assert error * (1 - 1e-12) <= around <= 1.1001 * error
    assert abs(written - value) <= 0.0501 * error + 1e-12 * abs(value)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (40.8486, 0.229, ("40.85", "0.23")),
        (33447.3, 476.0, ("33450", "480")),
        (0.0999, 0.0999, ("0.10", "0.10")),
        (-0.0001, 0.02, ("0.000", "0.020")),
        (-3.21, 0.5, ("-3.21", "0.50")),
        (1.5, 0.0, ("1.5", "0")),
        (1.23456e-9, 2.3e-11, ("1.235e-9", "2.3e-11")),
        (5.0, 99.6, ("0", "100")),
    ],
)
def test_numbers_with_errors(value, error, words):
    assert with_error(value, error) == words


def test_numbers_without_errors():
    assert [plain(x) for x in (0.0, 1.0, 120.0, 0.00012345, 123456.0)] == ["0", "1", "120", "0.0001234", "123500"]
    assert plain(250000.0, 6) == "250000"
    assert plain(1.5e-9) == "1.5·10⁻⁹"
    assert [small(x) for x in (1e-6, 1.2349e-6, 9.999e-7, 0.12341)] == ["10⁻⁶", "1.24·10⁻⁶", "10⁻⁶", "0.124"]
    assert fraction(Fraction(1, 8)) == "0.125"
    assert fraction(Fraction(1, 3)) == "1/3"


@given(_NUMBERS, st.floats(1e-9, 1e9))
def test_scales_hold_their_values_and_have_round_ticks(low, width):
    scale = Scale.around([low, low + width])
    assert scale.low <= low + 1e-6 * width + 1e-9 * abs(low)
    assert scale.high >= low + width - 1e-6 * width - 1e-9 * abs(low)
    assert 0 <= scale.at(low) <= scale.at(low + width) <= 100
    assert len(scale.labels()) <= 12


# --- markup --------------------------------------------------------------------------------------------------


@given(st.text())
def test_text_stays_text(text):
    assert re.search(r"[<>\"']|&(?!(amp|lt|gt|quot|#x27);)", escaped(text)) is None
    assert tag("p", text, title=text) == f'<p title="{escaped(text)}">{escaped(text)}</p>'
    escaped(text).encode()


def test_markup_is_refused_where_it_could_break_out():
    for text in ("</script>", "a < b <!-- c", "<b>"):
        with pytest.raises(ValueError, match="must not hold tags"):
            raw("script", text)
    with pytest.raises(ValueError, match="is no name"):
        tag("p", **{"x onload": "1"})
    assert tag("p", Html("<b>"), None, hidden=True, title=None) == "<p hidden><b></p>"


# --- colours -------------------------------------------------------------------------------------------------


def _themes():
    """Return the colours of each theme, by name."""
    style = files("dpmean.reports").joinpath("page.css").read_text()
    themes = [
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{([^}]*)\}", style)
    ]
    assert len(themes) == 3
    assert len({tuple(theme) for theme in themes}) == 1
    return themes


def _contrast(one, other):
    """Return the contrast ratio of WCAG 2."""

    def light(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_words_stand_out_from_what_is_behind_them():
    assert abs(_contrast("#000000", "#ffffff") - 21) < 1e-9
    for theme in _themes():
        for front, back in (
            *(("ink", "page"), ("soft", "page"), ("mark", "page"), ("ink", "panel"), ("soft", "panel")),
            *(("on-alarm", "alarm"), ("on-remark", "remark"), ("page", "ink")),
        ):
            assert _contrast(theme[front], theme[back]) >= 4.5, (front, back)
        assert _contrast(theme["mark"], theme["band"]) >= 3  # a line on its band: what WCAG asks of drawings


# --- in a browser --------------------------------------------------------------------------------------------

_TOO_WIDE = """[...document.querySelectorAll("body *")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && !e.closest("thead") && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map(e => e.outerHTML.slice(0, 120))"""
_OVERLAPPING = """[...document.querySelectorAll("svg")].flatMap(svg => {
    const texts = [...svg.querySelectorAll(":scope > text")].map(e => [e.textContent, e.getBoundingClientRect()]);
    const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return texts.flatMap(([words, box], j) => texts.slice(0, j).filter(other => touch(box, other[1])).map(() => words));
})"""
_CELLS = """[...document.querySelectorAll("#numbers tr")].map(row => [...row.cells].map(
    cell => (cell.querySelector("bdi") || cell).textContent))"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_browser_shows_it_without_errors_or_requests(browser, releases, kind, tmp_path):
    path = dpmean.report(releases[kind], tmp_path / "page.html")
    for dark in (False, True):
        browser.open(path, dark=dark)
        assert browser.errors == []
        assert browser.requests == [path.as_uri()]
        page = next(theme for theme in _themes()[dark:])["page"]
        shown = browser.ask("getComputedStyle(document.body).backgroundColor")
        assert tuple(map(int, re.findall(r"\d+", shown))) == tuple(int(page[i : i + 2], 16) for i in (1, 3, 5))


def test_the_policy_is_obeyed(browser, releases, tmp_path):
    """Whatever got into the page would find the network closed, and no script but ours is run."""
    path = dpmean.report(releases["one"], tmp_path / "page.html")
    intruder = '<img src="http://127.0.0.1:9/x.png"><script>document.title = "broken"</script></main>'
    path.write_text(path.read_text().replace("</main>", intruder))
    browser.open(path)
    assert browser.ask("document.title") == "A private mean"
    assert len(browser.errors) == 2
    assert all("Content Security Policy" in error for error in browser.errors)
    assert browser.ask("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_in_the_browser_are_those_of_the_release(browser, releases, kind, tmp_path):
    release = releases[kind]
    browser.open(dpmean.report(release, tmp_path / "page.html"), script=False)
    cells = browser.ask(_CELLS)
    assert len(cells) == release.d
    error = release.column_bounds() if release.found else 1.96 * release.noise_std
    ends = release.mean - 1.95996 * release.noise_std, release.mean + 1.95996 * release.noise_std
    if release.found and kind != "few":
        ends = release.interval().lower, release.interval().upper
    names = release.columns or [f"column {j}" for j in range(release.d)]
    stds = [None] * release.d if release.scales is None else scale(release).tolist()
    for j, (name, mean, bound, noise, *others) in enumerate(cells):
        assert name == names[j]
        assert abs(float(mean) - release.mean[j]) <= 0.0501 * error[j]
        if kind == "few":
            assert bound == "not known"
        else:
            low, high = map(float, bound.split(" to "))
            assert low <= ends[0][j] <= ends[1][j] <= high
            assert max(ends[0][j] - low, high - ends[1][j]) <= 0.1001 * error[j]
        assert abs(float(noise) - release.noise_std[j]) <= 0.051 * release.noise_std[j]
        assert len(others) == (stds[j] is not None)
        if others:
            assert others == ["not known"] if math.isnan(stds[j]) else float(others[0]) == float(f"{stds[j]:.3g}")
    held = json.loads(browser.ask("document.getElementById('release').textContent"))
    assert held["mean"] == release.mean.tolist()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_wider_than_the_screen(browser, releases, kind, width, tmp_path):
    image = True if kind == "vector" else None
    for path in (
        dpmean.report(releases[kind], tmp_path / "page.html"),
        dpmean.report(releases[kind], tmp_path / "image.html", image=image),
    ):
        browser.open(path, width=width)
        browser.ask("document.querySelectorAll('details').forEach(e => { e.open = true })")
        assert browser.ask("innerWidth") == width
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.ask(_TOO_WIDE) == []
        assert browser.ask(_OVERLAPPING) == []


@pytest.mark.parametrize("width", [360, 500, 700, 1000])
def test_intervals_of_a_population_are_not_wider_than_the_screen(browser, width, tmp_path):
    release = public.mean(_table(), population=True, rho=0.5, bounds=_LIMITS, seed=1)
    browser.open(dpmean.report(release, tmp_path / "page.html", columns=_TABLE), width=width)
    assert browser.ask("document.documentElement.scrollWidth") == width
    names = browser.ask("[...document.querySelectorAll('#numbers th bdi')].map(e => e.getBoundingClientRect().height)")
    assert max(names) < 40  # a name is not broken into letters
    if width in (360, 1000):
        assert browser.ask(_TOO_WIDE) == []


def test_long_names_and_numbers_stay_on_the_screen(browser, releases, tmp_path):
    names = ["n" * 300, "a name of many words " * 20, "ﷺ" * 50, "x", "y"]
    huge = _named(releases["columns"], names)
    huge = replace(huge, mean=np.array([-1.23456789e-12, 1e300, -1e-300, 0.0, 5.0]))
    browser.open(dpmean.report(huge, tmp_path / "page.html", title="t" * 200), width=360)
    assert browser.ask("document.documentElement.scrollWidth") == 360


def test_dots_are_where_the_numbers_are(browser, releases, tmp_path):
    release = releases["columns"]
    browser.open(dpmean.report(release, tmp_path / "page.html"), width=1000)
    found = browser.ask("""[...document.querySelectorAll(".dots .dot")].map(dot => {
        const [box, line] = [dot, dot.closest("svg").querySelector(".whole")].map(e => e.getBoundingClientRect());
        return [(box.left + box.right) / 2 - line.left, line.width];
    })""")
    lower, upper = (np.array(getattr(release.settings.bound, side)) for side in ("lower", "upper"))
    wanted = (release.mean - lower) / (upper - lower)
    assert np.allclose([place / width for place, width in found], wanted, atol=0.003)


def _told(release, j):
    """Return how a page tells the estimate of one column, and its interval."""
    error, ends = release.column_bounds()[j], release.interval()
    return f"{with_error(release.mean[j], error)[0]} ({between(ends.lower[j], ends.upper[j], error)})"


def test_hovering_shows_the_number_below(browser, releases, tmp_path):
    for image, place in ((None, (40.5 / 64, 0.5)), (True, (0.5 / 8, 5.5 / 8))):
        browser.open(dpmean.report(releases["vector"], tmp_path / "page.html", image=image))
        shown = browser.ask(f"""(() => {{
            const drawing = document.querySelector("svg[data-table]"), box = drawing.getBoundingClientRect();
            const at = {{clientX: box.left + {place[0]} * box.width, clientY: box.top + {place[1]} * box.height}};
            drawing.dispatchEvent(new PointerEvent("pointermove", at));
            return document.querySelector(".hover").textContent;
        }})()""")
        assert shown == f"column 40: {_told(releases['vector'], 40)}"


def test_names_do_no_harm_in_a_browser(browser, releases, tmp_path):
    for width in WIDTHS:
        browser.open(dpmean.report(_named(releases["columns"], HOSTILE), tmp_path / "page.html"), width=width)
        assert browser.errors == []
        assert browser.ask("document.title") == "A private mean"
        assert browser.ask("document.querySelectorAll('img').length") == 0
        assert [cells[0] for cells in browser.ask(_CELLS)][:4] == HOSTILE[:4]
        assert browser.ask("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("kind", KINDS)
def test_readers_who_cannot_see_are_told(browser, releases, kind, tmp_path):
    browser.open(dpmean.report(releases[kind], tmp_path / "page.html"))
    assert browser.ask("document.documentElement.lang") == "en"
    silent = 'svg:not([role="img"][aria-label]):not([aria-hidden] svg, [aria-hidden], svg svg)'
    assert browser.ask(f"document.querySelectorAll('{silent}').length") == 0
    assert browser.ask("[...document.querySelectorAll('table')].every(table => table.caption !== null)")
    levels = browser.ask("[...document.querySelectorAll('h1, h2, h3')].map(e => Number(e.tagName[1]))")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


@pytest.mark.parametrize("width", WIDTHS)
def test_groups_in_a_browser(browser, grouped, width, tmp_path):
    few = dpmean.report(grouped["few"], tmp_path / "few.html", columns=["Age", "</script><b>"])
    many = dpmean.report(grouped["many"], tmp_path / "many.html")
    images = dpmean.report(grouped["many"], tmp_path / "images.html", image=True)
    for path in (few, many, images):
        browser.open(path, width=width, dark=True)
        assert browser.errors == []
        assert browser.requests == [path.as_uri()]
        browser.ask("document.querySelectorAll('details').forEach(e => { e.open = true })")
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.ask(_TOO_WIDE) == []
        lines = browser.ask("[...document.querySelectorAll('[id^=numbers-]')].map(e => e.rows.length - 1)")
        release = grouped["few" if path == few else "many"]
        assert lines == [found.d for found in release.released.values()]
        assert browser.ask(_OVERLAPPING) == []


def test_hovering_over_a_group_shows_its_number(browser, grouped, tmp_path):
    browser.open(dpmean.report(grouped["many"], tmp_path / "page.html"))
    shown = browser.ask("""[...document.querySelectorAll("svg[data-table]")].map(drawing => {
        const box = drawing.getBoundingClientRect();
        const at = {clientX: box.left + 7.5 / 16 * box.width, clientY: box.top + 9};
        drawing.dispatchEvent(new PointerEvent("pointermove", at));
        return drawing.closest("figure").querySelector(".hover").textContent;
    })""")
    assert shown == [f"column 7: {_told(found, 7)}" for found in grouped["many"].released.values()]


def test_on_paper_it_is_dark_on_white(browser, releases, tmp_path):
    browser.open(dpmean.report(releases["seeded"], tmp_path / "page.html"), dark=True, media="print")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.ask("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"

"""The site as it is built: without a warning and without a network, readable on every screen, and found by search."""

import json
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from docutils.utils.math import MathError

from dpmean.experiments import figures

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
NAMES = sorted(
    page.relative_to(DOCS).with_suffix("").as_posix()
    for ending in ("md", "ipynb")
    for page in DOCS.rglob(f"*.{ending}")
)
PHONE, DESK = 390, 1280


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as ``make docs`` does; notebooks are run on the way, and one that fails fails the build."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-d", str(out / "trees"), str(DOCS)]
    done = subprocess.run([*command, str(out / "html")], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


# --- what it loads and links to --------------------------------------------------------------------------------------


class Loaded(HTMLParser):
    """What a page loads by itself, and what it links to."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.pictures, self.ids = [], [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found["id"]} if "id" in found else set()
        if tag == "img":
            self.pictures.append(found.get("alt"))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and found.get("rel") not in ("canonical", "next", "prev", "index", "search"):
            self.loads.append(found["href"])
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed", "object"):
            self.loads += [found[name] for name in ("src", "data", "srcset") if found.get(name)]


def test_the_site_loads_nothing_from_the_network(site):
    pages = {path: Loaded(path.read_text()) for path in site.rglob("*.html")}
    assert len(pages) > len(NAMES)
    for path, page in pages.items():
        for target in page.loads:
            parts = urlsplit(target)
            assert parts.scheme in ("", "data"), f"{path.name} loads {target}"
            assert not parts.netloc, f"{path.name} loads {target}"
            if not parts.scheme:
                assert (path.parent / unquote(parts.path)).exists(), f"{path.name} loads {target}, which is not there"
    for path in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        remote = re.findall(r"(?:url\(|@import|href=)\s*[\"']?(?:https?:)?//[^)\"']*", path.read_text())
        assert not remote, f"{path.name} loads {remote}"


def test_every_link_of_the_site_arrives(site):
    pages = {path.resolve(): Loaded(path.read_text()) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for target in page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert there.exists(), f"{path.name} links to {target}"
            if parts.fragment and there in pages:
                assert unquote(parts.fragment) in pages[there].ids, f"{path.name} links to {target}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_site_shows_what_notebooks_print(site, path):
    html = (site / "notebooks" / f"{path.stem}.html").read_text()
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert html.count('class="cell_input') == len(cells)
    assert html.count('class="cell_output') > len(cells) / 2


def test_every_picture_has_words_for_those_who_do_not_see_it(site):
    pictures = [image for path in site.rglob("*.html") for image in Loaded(path.read_text()).pictures]
    assert len(pictures) > 30
    assert not [words for words in pictures if not words or "/" in words]


# --- how it looks ----------------------------------------------------------------------------------------------------

# What lies outside of the screen, or is cut off, and cannot be scrolled to within a box of its own.
OUTSIDE = """
(() => {
  const width = document.documentElement.clientWidth;
  const scrolls = element => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const boxed = element => {
    for (let box = element; box && box.tagName != "BODY"; box = box.parentElement)
      if (scrolls(box) && box.getBoundingClientRect().right <= width + 1) return true;
    return false;
  };
  return [...document.querySelectorAll("article *")]
    .filter(element => element.getClientRects().length && element.getBoundingClientRect().right > width + 1)
    .filter(element => !boxed(element))
    .map(element => element.outerHTML.slice(0, 150))
    .slice(0, 3);
})()
"""
# Text whose contrast with what is behind it is below 4.5, the least that WCAG 2 asks for.
FAINT = """
(() => {
  const numbers = colour => (colour.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([red, green, blue]) => [red, green, blue]
    .map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = element => {
    for (let box = element; box; box = box.parentElement) {
      const found = numbers(getComputedStyle(box).backgroundColor);
      if (found.length == 3 || found[3] == 1) return found;
    }
    return [255, 255, 255];
  };
  const seen = new Set();
  for (const element of document.querySelectorAll("article *")) {
    if (element.matches(".headerlink, .headerlink *, .copybtn") || !element.getClientRects().length) continue;
    if (![...element.childNodes].some(node => node.nodeType == 3 && node.data.trim())) continue;
    const [one, other] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
    if ((Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5) seen.add(element.outerHTML.slice(0, 150));
  }
  return [...seen].slice(0, 3);
})()
"""


@pytest.mark.parametrize("name", NAMES)
def test_pages_fit_every_screen_in_light_and_dark_and_load_files_alone(site, browser, name):
    for width in (PHONE, DESK):
        for dark in (False, True):
            browser.open(site / f"{name}.html", width=width, dark=dark)
            assert browser.errors == []
            assert {urlsplit(url).scheme for url in browser.requests} <= {"file", "data"}
            assert browser.ask("document.documentElement.scrollWidth") <= width
            assert browser.ask(OUTSIDE) == []
            assert browser.ask(FAINT) == []
            shown = browser.ask("getComputedStyle(document.body).backgroundColor")
            assert (shown == "rgb(255, 255, 255)") != dark
            pictures = browser.ask(
                "[...document.querySelectorAll('article img')].map(i => getComputedStyle(i).background)"
            )
            assert all("rgb(255, 255, 255)" in picture for picture in pictures)


@pytest.mark.parametrize(
    ("style", "found"),
    [("width: 2000px", "OUTSIDE"), ("width: 2000px; overflow-x: clip", "OUTSIDE"), ("color: #999", "FAINT")],
)
def test_what_does_not_fit_or_is_faint_is_noticed(browser, tmp_path, style, found):
    page = tmp_path / "page.html"
    asked = {"OUTSIDE": OUTSIDE, "FAINT": FAINT}
    for change, boxed in (("", False), (style, False), (style, True)):
        outer = "overflow-x: auto" if boxed else ""
        page.write_text(f"<article><div style='{outer}'><p style='{change}'>Some text.</p></div></article>")
        browser.open(page, width=PHONE)
        assert bool(browser.ask(asked[found])) == (bool(change) and not (boxed and found == "OUTSIDE"))


# --- what search finds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("confidence interval", "guide/confidence_intervals"),
        ("margin of error", "guide/confidence_intervals"),
        ("standard error", "guide/confidence_intervals"),
        ("missing values", "guide/tables"),
        ("outliers", "guide/which_bound"),
        ("sensitive data", "guide/sharp_edges"),
        ("membership inference", "guide/attacks"),
        ("side channel", "guide/attacks"),
        ("epsilon", "guide/which_rho"),
        ("ledger", "guide/which_rho"),
        ("OpenDP", "guide/comparison"),
        ("telemetry", "recipes/telemetry"),
        ("local differential privacy", "local"),
        ("scikit-learn", "sklearn"),
    ],
)
def test_search_finds_what_readers_ask_for(site, browser, words, page):
    assert page in search(browser, site, words)[:2]


def test_search_finds_nothing_where_there_is_nothing(site, browser):
    assert search(browser, site, "zyzzyva") == []


# The addresses that were found, best first, once the page says how many there are.
FOUND = """
new Promise(resolve => {
  const look = () => document.querySelector("#search-results .search-summary")?.innerText
    ? resolve([...document.querySelectorAll("#search-results ul.search li > a")].map(link => link.href))
    : setTimeout(look, 50);
  look();
})
"""


def search(browser, site, words):
    """Type words into the box of the site, and return the pages it finds, best first."""
    browser.open(site / "index.html")
    browser.ask(f"document.querySelector('.sidebar-search').value = {json.dumps(words)}")
    browser.ask("document.querySelector('.sidebar-search').form.submit()")
    browser.wait_for_load()
    paths = [Path(unquote(urlsplit(link).path)) for link in browser.ask(FOUND)]
    return list(dict.fromkeys(path.relative_to(site).with_suffix("").as_posix() for path in paths))


def test_every_page_that_search_prefers_is_there():
    terms = runpy.run_path(str(DOCS / "extensions" / "search_terms.py"))["TERMS"]
    assert set(terms) <= set(NAMES)
    every = [term for found in terms.values() for term in found]
    assert len(every) == len(set(every))
    assert every == [term.lower() for term in every]


# --- figures and formulas --------------------------------------------------------------------------------------------


def test_every_figure_is_shown_with_its_caption_and_command(site):
    text = (DOCS / "results" / "figures.md").read_text(encoding="utf-8")
    html = (site / "results" / "figures.html").read_text(encoding="utf-8")
    for name in figures.names():
        figure = figures.read(name)
        assert f"<!-- figure: {name} -->\n\n{figure.caption}. {figure.trials} trials.\n" in text
        assert f"`dpmean figure {name}" in text
        assert f"(figure-{figure.runs}.csv)" in text
        assert f'src="../figures/figure-{name}.svg"' in html
        assert (site / "figures" / f"figure-{name}-narrow.svg").read_text(encoding="utf-8").endswith("</svg>\n")


def test_formulas_are_mathml(site):
    html = (site / "privacy_guarantee.html").read_text(encoding="utf-8")
    assert html.count("<math ") + html.count("<math>") > 500
    shown = re.sub(r"<(pre|code|script).*?</\1>", "", html, flags=re.DOTALL)
    assert not re.findall(r"\$[^$<>]*\$|\\[a-z]+", shown)
    assert not re.search(r'src="[^"]*mathjax', html, re.IGNORECASE)


@pytest.mark.parametrize(
    ("latex", "mathml"),
    [
        (r"D'_g", "<math><mrow><msub><mi>D</mi><mi>g</mi></msub><mi>\u2032</mi></mrow></math>"),
        (
            r"a \ln \frac{f}{g}",
            "<math><mi>a</mi>_<mi>ln</mi><mo>\u2061</mo>_<mfrac><mi>f</mi><mi>g</mi></mfrac></math>",
        ),
        (
            r"\ln(x)",
            '<math><mi>ln</mi><mo>\u2061</mo><mo stretchy="false">(</mo><mi>x</mi><mo stretchy="false">)</mo></math>',
        ),
    ],
)
def test_formulas_have_the_primes_and_spaces_of_tex(latex, mathml):
    to_mathml = runpy.run_path(str(DOCS / "extensions" / "mathml.py"))["to_mathml"]
    assert to_mathml(latex, block=False) == mathml.replace("_", '<mspace width="0.17em" />')


def test_a_formula_that_cannot_be_shown_is_an_error():
    to_mathml = runpy.run_path(str(DOCS / "extensions" / "mathml.py"))["to_mathml"]
    with pytest.raises(MathError, match="nosuchcommand"):
        to_mathml(r"\nosuchcommand", block=False)

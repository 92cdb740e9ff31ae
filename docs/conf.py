"""The site: every page of this folder, the docstrings of the public names, and nothing from the network."""

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs" / "extensions")]

from dpmean.version import __version__  # noqa: E402  the version of this checkout, not of one that is installed

project = "dpmean"
author = copyright = "The dpmean authors"  # noqa: A001  Sphinx calls it so
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "figures", "search_terms"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

# Pages read the same on a code host: plain links between files, and headings as anchors.
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Formulas are between dollars, or in a fence ``math``, as code hosts read them; the site shows MathML.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
html_math_renderer = "mathml"

# Notebooks are stored without outputs and run while the site is built; one that fails fails the build.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove"  # a notebook that runs first in a new checkout says that loops are compiled

html_theme = "furo"
html_title = f"dpmean {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_search_scorer = str(ROOT / "docs" / "extensions" / "scorer.js")
html_theme_options = {"navigation_with_keys": True}
templates_path = []
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Bounds", "Key", "NanArgument", "Number", "ShapeArgument")}
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# What is not ours has no page here: the site is built without a network, and so without other projects' indices.
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|np|fractions|decimal|collections|os|pathlib|typing|types)\..*"),
    ("py:.*", r"(ArrayLike|Bounds|Key|NanArgument|Number|ShapeArgument)"),  # said in words where they are used
    ("py:.*", r"(dpmean\.baselines\.peer\.)?(Basics|Common)"),  # the arguments of dpmean.mean, as a type
    ("py:.*", r"dpmean\.queries\.(queries|domain)\..*"),  # internal: what a kernel holds, which engines only pass on
    ("py:.*", r"dpmean\.trust\.devices\.randomness\.Coins"),  # internal: for tests only
    ("py:.*", r"dpmean\.trust\.shuffle\.schema\.(Counters|Sums|Round)"),  # internal: the rounds of a document
    ("py:.*", r"dpmean\.trust\.devices\.spending\.(Part|Spending)"),  # internal: lines of a ledger, said in words
    ("py:.*", r"(Fraction|Decimal|NDArray|Any|Path|Mapping|Sequence|Iterable|optional)"),
]


def plain_aliases(_app: Any, _what: str, _name: str, _object: Any, _options: Any, signature: str, returns: str) -> Any:
    """Write ``Number | None`` where Sphinx 9.0 writes the inner name of its stand-in for an alias."""
    return tuple(text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, returns))


def sentences_are_no_types(_app: Any, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Keep the first words of a property from being taken for its type: napoleon reads them up to a colon."""
    if what == "property":
        lines[:0] = ["..", ""]  # an empty comment comes first, and shows nothing


OUTSIDE = {"README": "/index.md", "CONTRIBUTING": "/contributing.md", "CHANGELOG": "/changes.md"}


def links_out_of_the_folder(_app: Any, docname: str, source: list[str]) -> None:
    """Send links to the files beside this folder, which code hosts show, to the pages that include them."""
    up = "../" * (docname.count("/") + 1)
    for name, page in OUTSIDE.items():
        source[0] = source[0].replace(f"]({up}{name}.md", f"]({page}")


def setup(app: Any) -> None:
    """Add what is ours to Sphinx."""
    app.connect("autodoc-process-signature", plain_aliases)
    app.connect("autodoc-process-docstring", sentences_are_no_types, priority=400)  # before napoleon, at 500
    app.connect("source-read", links_out_of_the_folder)

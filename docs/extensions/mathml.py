"""Formulas as MathML, written while the site is built: a reader's browser needs no script and no network."""

import re
from typing import Any
from xml.etree import ElementTree as Xml

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger

APPLY, PRIME, THIN = "\u2061", "\u2032", "0.17em"
FUNCTIONS = ("ln", "log", "exp", "cosh", "tanh")


def to_mathml(latex: str, *, block: bool) -> str:
    """Return the MathML of a formula, with primes and spaces as TeX has them."""
    primes = re.sub("'+", lambda found: "^{" + r"\prime" * len(found[0]) + "}", latex)
    made = tex2mathml(primes, as_block=block).replace("&ApplyFunction;", APPLY).replace(' xmlns="', ' data-from="')
    formula = Xml.fromstring(re.sub(r">\s+<", "><", made))  # noqa: S314  made of our own text
    del formula.attrib["data-from"]
    _mend(formula)
    return Xml.tostring(formula, encoding="unicode")


def _mend(element: Xml.Element) -> None:
    """Mend what browsers show badly: bars of the wrong size, primes that are too small, functions without spaces."""
    for child in element:
        _mend(child)
    text = "".join(element.itertext()).strip()
    if element.tag == "mo" and text == "|" and "maxsize" not in element.attrib:
        element.attrib.update(form="prefix" if element.get("class") == "mathopen" else "postfix", stretchy="false")
    elif element.tag == "mo" and text == "\u2016" and "maxsize" not in element.attrib:
        element.set("stretchy", "false")
    elif element.tag in ("msup", "msubsup") and not "".join(element[-1].itertext()).strip(PRIME):
        prime = element[-1]
        element.remove(prime)
        base = element[0] if element.tag == "msup" else Xml.Element("msub")
        base.extend(list(element) if element.tag == "msubsup" else [])
        element[:] = [base, prime]
        element.tag = "mrow"
    elif element.tag not in ("msub", "msup", "msubsup", "mfrac", "munder", "munderover"):
        _space(element)


def _space(row: Xml.Element) -> None:
    """Put thin spaces around the names of functions."""
    placed: list[Xml.Element] = []
    after = False
    for child in row:
        is_function = child.tag in ("mi", "msub") and next(child.itertext(), "") in FUNCTIONS
        before = is_function and bool(placed) and (placed[-1].tag not in ("mo", "mspace") or placed[-1].text == ")")
        if before or (after and child.tag != "mo"):
            placed.append(Xml.Element("mspace", width=THIN))
        placed.append(child)
        after = is_function or (after and child.text == APPLY)
    row[:] = placed


def _write(node: nodes.Element, *, block: bool) -> str:
    try:
        return to_mathml(node.astext(), block=block)
    except MathError as error:
        getLogger(__name__).warning("%s in the formula %s", error, node.astext(), location=node)
        return ""


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(f'<span class="math">{_write(node, block=False)}</span>')
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f"{writer.starttag(node, 'div', CLASS='math')}{_write(node, block=True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Add the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Formulas as MathML, written while the site is built: a reader's browser needs no script and no network."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _mathml(latex: str, *, block: bool) -> str:
    """Return the MathML of a formula; a prime is an exponent, as in TeX."""
    return str(tex2mathml(latex.replace("'", r"^{\prime}"), as_block=block))


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(f'<span class="math">{_mathml(node.astext(), block=False)}</span>')
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    formula = _mathml(node.astext(), block=True)
    writer.body.append(f"{writer.starttag(node, 'div', CLASS='math')}{formula}</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Add the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

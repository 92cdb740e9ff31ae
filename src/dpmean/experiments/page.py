"""One self-contained page with all figures, the claims, and facts about the machine."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpmean.experiments import figures, plot
from dpmean.experiments.claims import check
from dpmean.experiments.figures import Figure
from dpmean.experiments.results import Row, Table
from dpmean.experiments.verdicts import RULES


def figures_page(rows: Mapping[str, Sequence[Row]], folder: Path) -> Path:
    """Draw every figure that has results into ``folder``, and all of them on one page; return the path of the page."""
    from jinja2 import Environment, PackageLoader
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for name in figures.names():
        figure = figures.read(name)
        if figure.runs not in rows:
            continue
        table = Table(rows[figure.runs], figure.measure)
        picture = plot.draw(figure, table)
        drawn = io.BytesIO()
        picture.savefig(drawn, format="svg", metadata={"Date": None})
        picture.savefig(folder / f"figure-{name}.png", dpi=160)
        (folder / f"figure-{name}.svg").write_bytes(drawn.getvalue())
        plt.close(picture)
        sections.append(
            {
                "name": name,
                "caption": figure.caption,
                "measure": plot.MEASURES[figure.measure],
                "picture": base64.b64encode(drawn.getvalue()).decode(),
                "trials": _trials(table),
                "refused": bool(table.notes),
                "head": [f"{figure.panel}, {figure.axis}", *figure.methods],
                "lines": _lines(figure, table),
            }
        )
    runs = {(name, row.panel, row.x, row.method, row.trial): row.seconds for name in rows for row in rows[name]}
    page = Environment(loader=PackageLoader("dpmean.experiments", "."), autoescape=True).get_template("page.html")
    path = folder / "index.html"
    path.write_text(
        page.render(
            sections=sections,
            findings=check(rows),
            rules=RULES,
            made_with=sorted({row.versions for found in rows.values() for row in found}),
            minutes=sum(runs.values()) / 60,
        ),
        encoding="utf-8",
    )
    return path


def _trials(table: Table) -> str:
    counts = sorted({len(trials) for trials in table.cells.values()})
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    few = any(method.startswith("COINPRESS+cov") for method in table.methods)
    return f"{number} trials" + (", fewer than elsewhere because matrices of this size take long" if few else "")


def _lines(figure: Figure, table: Table) -> list[list[str]]:
    lines = []
    for panel, x in table.places:
        found = [table.summary(panel, x, method) for method in figure.methods]
        cells = ["" if summary is None else f"{summary[0]:.4g}" for summary in found]
        lines.append([f"{panel:g}, {x:g}", *cells])
    return lines

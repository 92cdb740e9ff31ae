"""Pictures of the figures, drawn while the site is built from the tables in ``docs/results``.

A page asks for one with ``<!-- figure: NAME -->``, which a code host does not show. Each picture is drawn twice: with
its panels side by side, and for narrow screens with one panel below another.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

ASKED = re.compile(r"^<!-- figure: (\w+) -->$", re.MULTILINE)
FOLDER = "figures"
NARROW = "46em"


def _draw(app: Any) -> None:
    """Draw all figures there are tables of into the site; a picture that is newer than what it is made of stays."""
    if app.builder.format != "html":
        return
    from matplotlib import pyplot as plt

    from dpmean.experiments import figures, plot
    from dpmean.experiments.results import Table, read_rows

    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    code = Path(plot.__file__)
    for name in figures.names():
        figure = figures.read(name)
        results = Path(app.srcdir) / "results" / f"figure-{figure.runs}.csv"
        made = folder / f"figure-{name}-narrow.svg"
        if made.exists() and made.stat().st_mtime > max(path.stat().st_mtime for path in (results, code)):
            continue
        table = Table(list(read_rows(results)), figure.measure)
        for stacked, end in ((False, ""), (True, "-narrow")):
            picture = plot.draw(figure, table, stacked=stacked)
            picture.savefig(folder / f"figure-{name}{end}.svg", metadata={"Date": None})
            plt.close(picture)


def _show(app: Any, docname: str, source: list[str]) -> None:
    """Put pictures where a page asks for them."""
    if app.builder.format != "html":
        return
    from dpmean.experiments import figures

    up = "../" * docname.count("/")

    def shown(asked: re.Match[str]) -> str:
        name = asked[1]
        words = escape(f"Figure {name}. {figures.read(name).caption}")
        at = f"{up}{FOLDER}/figure-{name}"
        return (
            f'<figure class="drawn">\n<a href="{at}.svg"><picture>\n'
            f'<source media="(max-width: {NARROW})" srcset="{at}-narrow.svg">\n'
            f'<img src="{at}.svg" alt="{words}">\n</picture></a>\n</figure>'
        )

    source[0] = ASKED.sub(shown, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Draw before pages are read."""
    app.connect("builder-inited", _draw)
    app.connect("source-read", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

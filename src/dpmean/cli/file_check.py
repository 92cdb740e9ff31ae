"""The command that checks a file for the holder of the data: what it contains, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpmean.cli import arguments, show

if TYPE_CHECKING:
    from dpmean.arguments.request import Request
    from dpmean.pipeline.outlook import Outlook
    from dpmean.rows.inspection.findings import Asked, Findings
    from dpmean.rows.inspection.judgement import Judgement

_SECTIONS = {
    "The mean that you plan to release": ("columns", "bounds", "lower", "upper", "privacy_unit", "by", "groups"),
    "Format of a CSV file (default: inferred from its first line)": arguments.DIALECT,
}
_RHO = 0.5


@click.command(
    cls=arguments.Command,
    sections=_SECTIONS,
    examples=[
        "dpmean check patients.csv",
        "dpmean check patients.csv --bounds age=0:130 --bounds height=50:250",
        "dpmean check german.csv --sep ';' --decimal , --bounds bounds.csv",
        "dpmean check visits.csv --columns age,height --privacy-unit patient",
        "dpmean check visits.csv --columns age --by clinic --groups A,B,C",
    ],
)
@click.argument("data", metavar="FILE")
@click.option("--columns", type=arguments.NAMES, metavar="A,B,C", help="Columns to average.")
@arguments.bounds
@click.option("--privacy-unit", metavar="NAME", help="Column that identifies the person of each row.")
@arguments.by
@click.option("--groups", metavar="A,B,C", help="Labels of all groups, or a file with one label per line.")
@arguments.dialect
@arguments.as_json
def check(
    *,
    data: str,
    bounds: tuple[str, ...],
    lower: float | None,
    upper: float | None,
    groups: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Check a file before a mean of it is released.

    FILE is a CSV, Parquet or Arrow file. The output is for the holder of the data only: it is exact, and not protected
    by differential privacy. It says where values cannot be read, and never shows a value. It ends with the command that
    releases the mean.

    The exit code is 0 if "dpmean mean" would work, and 1 if not.
    """
    from dpmean.cli import release
    from dpmean.cli.bounds import read_bounds

    asked = {name: value for name, value in given.items() if value is not None}
    options = {"bounds": bounds or None, "lower": lower, "upper": upper, "groups": groups}
    typed = asked | {name: value for name, value in options.items() if value is not None}
    if groups is not None:
        asked["groups"] = release.read_labels(groups, asked.get("by"))
    elif "by" in asked:
        several = isinstance(asked["by"], list)
        asked["groups"] = [tuple("any" for _ in asked["by"])] if several else ["any"]  # a placeholder
    asked |= read_bounds(bounds, lower, upper).arguments(data, asked.get("columns"), None)
    known = {"rho": _RHO} if "bounds" in asked else {"rho": _RHO, "norm_bound": 1.0}
    wanted = _read_question(asked, listed=groups is not None)
    if not _check(data, release.read(asked | known), wanted, typed, as_json=as_json):
        raise click.exceptions.Exit(1)


def _read_question(asked: dict[str, Any], *, listed: bool) -> Asked:
    """Return what to look for in the file."""
    from dpmean.rows.inspection.findings import Asked

    columns, by = asked.get("columns"), asked.get("by")
    return Asked(
        None if columns is None else tuple(columns),
        asked.get("bounds"),
        asked.get("privacy_unit"),
        tuple(by) if isinstance(by, list) else by,
        tuple(asked["groups"]) if listed else None,
    )


def _check(data: str, request: Request, wanted: Asked, typed: dict[str, Any], *, as_json: bool) -> bool:
    """Check the file, print the findings, and return whether a mean would be released."""
    from dpmean.cli import file_check_page as page
    from dpmean.errors import DataError
    from dpmean.rows.files.formats import find_files
    from dpmean.rows.inspection.judgement import judge

    paths = find_files(data)
    if not as_json:
        page.print_banner()
    try:
        found = _inspect(paths, request, wanted)
    except DataError as error:
        if as_json:
            click.echo(json.dumps({"warning": page.BANNER, "works": False, "obstacles": [str(error)]}, indent=2))
        else:
            page.print_refusal(str(error))
        return False
    judged = judge(found, wanted)
    outlook = _plan_rows(found, wanted, judged)
    command = page.make_command(data, found, judged, typed, rho=_RHO)
    if as_json:
        click.echo(json.dumps(page.document(found, wanted, judged, command), indent=2))
    else:
        page.print_findings(Path(data).name, found, wanted, judged, outlook)
        page.print_command(command, judged, rho=_RHO)
    return not judged.obstacles


def _inspect(paths: list[Path], request: Request, wanted: Asked) -> Findings:
    """Read every row, with a progress bar."""
    from dpmean.errors import ArgumentError
    from dpmean.rows.files.formats import find_kind, is_table
    from dpmean.rows.inspection.tables import inspect_tables
    from dpmean.rows.inspection.text import inspect_text

    kind, tables = find_kind(paths[0]), is_table(paths[0])
    if kind == ".npy":
        raise ArgumentError(
            "check is for CSV, Parquet and Arrow files, got a .npy file: run dpmean mean on it directly"
        )
    if tables and request.selection.dialect.given:
        raise ArgumentError(f"{request.selection.dialect.given[0]} is for CSV files, got a {kind} file: leave it out")
    if len({find_kind(path) for path in paths}) > 1 or (len(paths) > 1 and not tables):
        raise ArgumentError(
            f"check takes one CSV file, or several Parquet or Arrow files of one kind, got {len(paths)} files: name one"
        )
    with show.bar() as progress:
        task = progress.add_task("reading rows", total=_size(paths[0], kind))
        if tables:
            return inspect_tables(paths, wanted, lambda rows: progress.advance(task, rows))
        dialect = request.selection.dialect
        return inspect_text(paths[0], dialect, wanted, lambda size: progress.advance(task, size))


def _size(path: Path, kind: str) -> int | None:
    """Return the number of bytes of a text file, otherwise None."""
    return path.stat().st_size if kind in (".csv", ".tsv", ".tab", ".txt") else None


def _plan_rows(found: Findings, wanted: Asked, judged: Judgement) -> Outlook | None:
    """Check whether there are enough rows; return a plan for groups, if they are listed and have rows."""
    from dpmean.api import plan
    from dpmean.enums import Verdict
    from dpmean.errors import plural

    one = "row" if wanted.unit is None else "person"
    if judged.vectors or not judged.columns or (wanted.by is not None and wanted.groups is None):
        return None
    columns = plural(len(judged.columns), "column")
    if wanted.groups is not None:
        sizes = (found.groups.rows if wanted.unit is None else found.groups.persons).tolist()
        if not any(sizes):
            judged.obstacles.append(f"no {one} is in a listed group: labels must match exactly")
            return None
        outlook = plan(groups=[size for size in sizes if size], d=len(judged.columns), rho=_RHO)
        if all(group.verdict is Verdict.HOPELESS for group in outlook.groups):
            judged.obstacles.append(
                f"all groups have too few {one}s for {columns} and rho = {_RHO}: a group needs at least "
                f"{outlook.rows_least}"
            )
        return outlook
    rows = found.rows if wanted.unit is None else len(found.keys[wanted.unit].counts)
    outlook = plan(max(rows, 1), len(judged.columns), rho=_RHO)
    if outlook.verdict is Verdict.HOPELESS:
        few = f"{plural(rows, one)} {'is' if rows == 1 else 'are'} too few for {columns}"
        judged.obstacles.append(f"{few} and rho = {_RHO}: at least {outlook.rows_needed} are needed, or a larger rho")
    return None

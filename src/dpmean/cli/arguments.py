"""Types of arguments and options that several commands share, and help in sections."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from dpmean.privacy.budgets import Number

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # takes no parameters before click 8.2


_FAR = re.compile(r"e[+-]?_?0*[1-9]\d{3,}$", re.IGNORECASE)
"""An exponent of four digits or more."""


class _Exact(_ParamType):
    """A number, read exactly: 0.5, 1e-6 or 1/3."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Number:
        """Read the number, as a float if that is exact."""
        if not isinstance(value, str):
            number: Number = value
            return number
        if _FAR.search(value.strip()):  # would take too long
            self.fail(f"{value!r} is too large or too small: give a number between 1e-300 and 1e300", param, ctx)
        try:
            exact = Fraction(value.strip())
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is not a number: write it as 0.5, 1e-6 or 1/3", param, ctx)
        try:
            return float(exact) if Fraction(str(float(exact))) == exact else exact
        except OverflowError:
            return exact


class _Names(_ParamType):
    """Several names, separated by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Read the names."""
        if isinstance(value, list):
            return value
        names = [name.strip() for name in str(value).split(",")]
        if not all(names):
            self.fail(f"{value!r} is not a list of names: separate names by commas, as in age,height", param, ctx)
        return names


class _Sizes(_ParamType):
    """Several numbers of rows, separated by commas."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Read the numbers; their range is checked later."""
        if isinstance(value, list):
            return value
        try:
            return [int(size) for size in str(value).split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers: separate them by commas, as in 600,400", param, ctx)


class _Shape(_ParamType):
    """A choice, or the scales of the columns, in order or by name: 1.5,20,3 or age=18,income=25000."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the choice or the scales; both are checked later."""
        if not isinstance(value, str):
            return value
        pairs = [piece.rpartition("=") for piece in value.split(",")]
        if len(pairs) == 1 and not any(sign for sign in value if sign in "=0123456789"):
            return value.strip()
        names = [name.strip() for name, _, _ in pairs]
        try:
            scales = [float(number) for _, _, number in pairs]
        except ValueError:
            self.fail(
                f"{value!r} is not a list of scales: write them as 1.5,20 or age=18,income=25000",
                param,
                ctx,
            )
        if not any(sign for _, sign, _ in pairs):
            return scales
        if not all(names):
            cure = "name each, as in age=18,income=25000, or none, as in 18,25000"
            self.fail(f"{value!r} does not name every column: {cure}", param, ctx)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            self.fail(f"{value!r} names column {twice[0]!r} more than once: leave one out", param, ctx)
        return dict(zip(names, scales, strict=True))


class _Separator(_ParamType):
    """One character; a tab may be written as the word tab."""

    name = "separator"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002  click's signature
        """Read the separator; it is checked later."""
        return "\t" if value in ("tab", "\\t") else value


_VALUE, _NO_BREAK = re.compile(r"--\S+ (?:'[^']*'|[^-\s]\S*)"), "\0"
"""An option and its value stay on one line of an example."""
NUMBER, NAMES, SIZES, SHAPE, SEPARATOR = _Exact(), _Names(), _Sizes(), _Shape(), _Separator()
DIALECT = ("sep", "decimal", "encoding", "quotechar", "newlines")
"""The options for the format of a CSV file."""


class Command(click.Command):
    """A command with examples, and options in sections."""

    def __init__(
        self,
        *arguments: Any,
        examples: Sequence[str],
        sections: Mapping[str, Sequence[str]] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*arguments, **more)
        self.examples = tuple(examples)
        self.sections = sections or {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by section; those without a section come last."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {option.name or "": record for option in options if (record := option.get_help_record(ctx))}
        named = {name for names in self.sections.values() for name in names}
        rest = [name for name in records if name not in named]
        title = "Other options" if self.sections else "Options"
        for head, names in [*self.sections.items(), (title, rest)]:
            if found := [records[name] for name in names if name in records]:
                with formatter.section(head):
                    formatter.write_dl(found, col_max=22)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        """Print the examples."""
        write_examples(formatter, self.examples)


class Group(click.Group):
    """Commands in the order in which they were added, with examples."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.examples = tuple(examples)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the names of all commands."""
        return list(self.commands)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        """Print the examples."""
        write_examples(formatter, self.examples)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Print examples as they are typed; a long one continues on the next line after a backslash."""
    with formatter.section("Examples"):
        for example in examples:
            pieces = textwrap.wrap(
                _VALUE.sub(lambda found: found[0].replace(" ", _NO_BREAK), example),
                width=max(formatter.width, 60) - formatter.current_indent - 2,
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            blanks = " " * formatter.current_indent
            formatter.write(" \\\n".join(blanks + piece for piece in pieces).replace(_NO_BREAK, " ") + "\n")


def budget(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a privacy budget."""
    for option in (
        click.option("--delta", type=NUMBER, metavar="D", help="Delta of --epsilon, well below 1/n."),
        click.option("--epsilon", type=NUMBER, metavar="E", help="Privacy budget as an epsilon, with --delta."),
        click.option("--rho", type=NUMBER, metavar="R", help="Privacy budget in zCDP, for example 0.5."),
    ):
        command = option(command)
    return command


def bounds(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for bounds on columns."""
    for option in (
        click.option("--upper", type=float, metavar="X", help="Upper bound of every column, with --lower."),
        click.option("--lower", type=float, metavar="X", help="Lower bound of every column, with --upper."),
        click.option(
            "--bounds",
            type=click.Path(dir_okay=False),
            multiple=True,
            metavar="RANGE",
            help="column=lower:upper, once for each column, as in age=0:130; or a CSV file with the header "
            "column,lower,upper.",
        ),
    ):
        command = option(command)
    return command


def dialect(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the format of a CSV file."""
    breaks = "records (default): one line per record; quoted: quoted fields may contain line breaks."
    for option in (
        click.option("--newlines", type=click.Choice(["records", "quoted"]), metavar="WHAT", help=breaks),
        click.option("--quotechar", metavar="C", help="Quote character (default: a double quote)."),
        click.option("--encoding", metavar="NAME", help="utf-8 (default), utf-16, latin-1, cp1252, ..."),
        click.option("--decimal", metavar="C", help="Decimal mark: a point (default) or a comma."),
        click.option("--sep", type=SEPARATOR, metavar="C", help="Separator of columns: ',' or ';' or '|' or tab."),
    ):
        command = option(command)
    return command


def _as_one(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> str | list[str] | None:  # noqa: ARG001  click's signature
    """Return one name, a list of several, or None."""
    return list(names) if len(names) > 1 else next(iter(names), None)


by = click.option(
    "--by",
    multiple=True,
    metavar="NAME",
    callback=_as_one,
    help="Column with the group of each row; repeat it for groups by several columns.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document, also for errors.")

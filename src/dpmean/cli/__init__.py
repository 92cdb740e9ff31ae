"""The command ``dpmean``: arguments only, no logic. Each group of commands is a module that is imported on use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from dpmean.cli import outcome
from dpmean.cli.arguments import Group
from dpmean.version import __version__

_COMMANDS = {
    "mean": "dpmean.cli.mean:mean",
    "check": "dpmean.cli.file_check:check",
    "difference": "dpmean.cli.difference:difference",
    "plan": "dpmean.cli.budgets:plan",
    "convert": "dpmean.cli.budgets:convert",
    "ledger": "dpmean.cli.budgets:ledger",
    "audit": "dpmean.cli.audit:audit",
    "demo": "dpmean.cli.demo:demo",
    "figure": "dpmean.cli.figure:figure",
    "completion": "dpmean.cli.completion:completion",
}


class _Commands(Group):
    """The commands in this order; every error is one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import a command."""
        if name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Read the arguments; this also prints the help."""
        with outcome.exit_if_output_is_closed():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command."""
        with outcome.exit_if_output_is_closed():
            return super().invoke(ctx)

    def main(self, args: Sequence[str] | None = None, *_: Any, **more: Any) -> Any:
        """Run a command, and exit with its exit code."""
        given = list(sys.argv[1:] if args is None else args)
        more = {**more, "standalone_mode": False, "prog_name": "dpmean"}
        sys.exit(outcome.run(lambda: super(_Commands, self).main(given, **more), as_json="--json" in given))


@click.group(
    cls=_Commands,
    examples=[
        "dpmean demo",
        "dpmean plan --n 4000 --d 128 --rho 0.5",
        "dpmean mean data.npy --rho 0.5 --norm-bound 600 --out mean.json",
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__, prog_name="dpmean")
def main() -> None:
    """Release the mean of high-dimensional data under differential privacy.

    Exit codes: 0 for success; 1 if check or audit finds a problem, or for an internal error; 2 for wrong usage; 3 for
    data or files that cannot be used; 4 if the ledger has too little budget left; 130 if interrupted.
    """


def entry() -> None:
    """Run the command."""
    main()

"""The command that completes commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dpmean.cli import arguments


@click.command(cls=arguments.Command, examples=["dpmean completion bash"])
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what a shell needs to complete dpmean's commands.

    For bash, put eval "$(dpmean completion bash)" into ~/.bashrc; for zsh, the same with zsh into ~/.zshrc; for
    fish, dpmean completion fish | source into ~/.config/fish/config.fish.
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"{shell} is not known to this version of click")
    click.echo(found(ctx.find_root().command, {}, "dpmean", "_DPMEAN_COMPLETE").source())

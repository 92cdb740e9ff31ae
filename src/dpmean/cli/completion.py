"""The command that prints a shell completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dpmean.cli import arguments


@click.command(cls=arguments.Command, examples=["dpmean completion bash"])
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script for shell completion.

    For bash, add this line to ~/.bashrc: eval "$(dpmean completion bash)". For zsh, add the same line with zsh to
    ~/.zshrc. For fish, add this line to ~/.config/fish/config.fish: dpmean completion fish | source
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"the installed version of click does not support {shell}: upgrade click")
    click.echo(found(ctx.find_root().command, {}, "dpmean", "_DPMEAN_COMPLETE").source())

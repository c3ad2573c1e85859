"""`completion`: the completion scripts of shells, and of kubectl for the plug-in."""

import click
from click.shell_completion import get_completion_class

KUBECTL = """\
#!/bin/sh
# Completes `kubectl stateward`: put this file on the PATH as kubectl_complete-stateward, executable.
COMP_WORDS="stateward $*" COMP_CWORD=$# _STATEWARD_COMPLETE=bash_complete stateward | sed 's/^[^,]*,//'
echo ":4"
"""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "kubectl"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    r"""Print the completion script of a shell.

    It completes commands, options, and the names of clusters, members and pools.

    \b
    bash:    source <(stateward completion bash)
    zsh:     source <(stateward completion zsh)
    fish:    stateward completion fish | source
    kubectl: stateward completion kubectl > ~/bin/kubectl_complete-stateward; chmod +x ~/bin/kubectl_complete-stateward
    """
    if shell == "kubectl":
        click.echo(KUBECTL, nl=False)
        return
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the choices above are those that click has
    click.echo(found(ctx.find_root().command, {}, "stateward", "_STATEWARD_COMPLETE").source())

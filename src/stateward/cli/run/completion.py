"""`completion`: the completion scripts of shells, and of kubectl for the plug-in."""

import sys
from pathlib import Path
from typing import ClassVar

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, get_completion_class

from stateward.cli.main import COMPLETE
from stateward.cli.shared.echo import echo


@add_completion_class
class KubectlComplete(ShellComplete):
    """Completion of `kubectl stateward`: kubectl runs `kubectl_complete-stateward` with the words after the name.

    It reads one value a line, with a tab before the description, and at last `:` with a sum of directives.
    """

    name: ClassVar[str] = "kubectl"
    # krew installs no `stateward`, and each way to install has `kubectl-stateward`.
    source_template: ClassVar[str] = f"""\
#!/bin/sh
exec env {COMPLETE}=kubectl_complete kubectl-stateward "$@"
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the finished words and the one that is being typed."""
        words = sys.argv[1:]
        return (words[:-1], words[-1]) if words else ([], "")

    def format_completion(self, item: CompletionItem) -> str:
        """Return an item as a line."""
        return f"{item.value}\t{item.help}" if item.help else str(item.value)

    def complete(self) -> str:
        """Return the lines: values, or the request to complete files or folders."""
        items = self.get_completions(*self.get_completion_args())
        kinds = {item.type for item in items}
        # The directives of cobra: 0 lets the shell complete files, 16 only folders, and 4 nothing more.
        directive = 16 if "dir" in kinds else 0 if "file" in kinds else 4
        lines = [self.format_completion(item) for item in items if item.type == "plain"]
        return "\n".join((*lines, f":{directive}"))


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "kubectl"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell, or that of kubectl for the plug-in.

    It completes commands, options, and the names of clusters, members, pools, namespaces and contexts.

    \b
    source <(stateward completion bash)       # or zsh
    stateward completion fish | source

    For `kubectl stateward`, save the script of kubectl in a folder of the PATH:

    \b
    kubectl stateward completion kubectl > ~/.krew/bin/kubectl_complete-stateward
    chmod +x ~/.krew/bin/kubectl_complete-stateward
    """  # noqa: D301 - click reads the character
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the choices above are those that exist
    called = "kubectl-stateward" if Path(sys.argv[0]).name == "kubectl-stateward" else "stateward"
    echo(found(ctx.find_root().command, {}, called, COMPLETE).source().rstrip("\n"))

"""`sandbox`: the command line of the throw-away Kubernetes."""

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from sandbox.api import Sandbox
from sandbox.errors import SandboxError
from sandbox.layout import DEFAULT_NAME

_Command = Callable[..., Any]


def _named(command: _Command) -> _Command:
    option = click.option("--name", default=DEFAULT_NAME, show_default=True, help="Which sandbox, of several.")
    return option(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Run a throw-away, real Kubernetes on this machine, in network namespaces of its own."""


@cli.command()
@click.option("--nodes", default=3, show_default=True, help="How many nodes; 0 is the control plane alone.")
@click.option("--port", default=0, help="The API server's port on 127.0.0.1; a free one is chosen if left out.")
@click.option("--sync-frequency", default=10, show_default=True, help="Seconds between a kubelet's looks at a Secret.")
@_named
def up(name: str, nodes: int, port: int, sync_frequency: int) -> None:
    """Bring it up, or repair it; what runs already is left alone."""
    Sandbox(name).up(nodes, port=port, sync_frequency=sync_frequency)


@cli.command()
@_named
def down(name: str) -> None:
    """End it and leave nothing."""
    existed = Sandbox(name).down()
    click.echo(f"sandbox {name} is gone" if existed else f"there was no sandbox {name}", err=True)


@cli.command()
@_named
def kubeconfig(name: str) -> None:
    """Print the path of the kubeconfig: export KUBECONFIG=$(bin/sandbox kubeconfig)."""
    sandbox = Sandbox(name)
    assert sandbox.settings  # noqa: S101 - raises when there is no sandbox
    click.echo(str(sandbox.kubeconfig_path))


@cli.command("load-image")
@click.argument("references", nargs=-1, required=True)
@_named
def load_image(name: str, references: tuple[str, ...]) -> None:
    """Make images and import them into the nodes: opensearch:2.19.5, elasticsearch:8.19.4, stateward."""
    sandbox = Sandbox(name)
    for reference in references:
        click.echo(sandbox.load_image(reference))


@cli.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@_named
def execute(name: str, command: tuple[str, ...]) -> None:
    """Run COMMAND inside: in the control plane's network, with KUBECONFIG set."""
    words = Sandbox(name).command(command)
    os.execvp(words[0], words)  # noqa: S606 - no shell is wanted


def main() -> None:
    """Run the command line; a failure is one line on standard error and exit code 1."""
    try:
        cli()
    except SandboxError as error:
        sys.stderr.write(f"sandbox: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("sandbox: interrupted; run the same again to go on\n")
        sys.exit(130)

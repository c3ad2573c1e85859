"""`sandbox`: the command line of the throw-away Kubernetes."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import click

from sandbox import report
from sandbox.api import Sandbox
from sandbox.errors import SandboxError
from sandbox.images.catalog import known
from sandbox.layout import DEFAULT_NAME

_Command = Callable[..., Any]


def _named(command: _Command) -> _Command:
    option = click.option("--name", default=DEFAULT_NAME, show_default=True, help="Which sandbox, of several.")
    return option(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Run a disposable, real Kubernetes on this machine, in network namespaces of its own."""


@cli.command()
@click.option("--nodes", default=3, show_default=True, help="Number of nodes; 0 is the control plane alone.")
@click.option("--port", default=0, help="The API server's port on 127.0.0.1; a free one is chosen if left out.")
@click.option(
    "--sync-frequency",
    default=10,
    show_default=True,
    help="Seconds between two checks of a mounted Secret by a kubelet.",
)
@click.option(
    "--kwok", "pretend_nodes", default=0, help="Number of fake nodes to add, which kwok simulates, for benchmarks."
)
@click.option("--image", "images", multiple=True, help="Also load this image; may be given several times.")
@_named
def up(name: str, images: tuple[str, ...], **choices: Any) -> None:
    """Start the sandbox, repair it, or add nodes; running parts stay as they are."""
    sandbox = Sandbox(name).up(**choices, images=images)
    for reference in images:
        sandbox.load_image(reference)


@cli.command()
@_named
def down(name: str) -> None:
    """End the sandbox, and remove everything of it."""
    existed = Sandbox(name).down()
    click.echo(f"sandbox {name} is gone" if existed else f"there was no sandbox {name}", err=True)


@cli.command()
@_named
def status(name: str) -> None:
    """Show the nodes and processes of the sandbox."""
    sandbox = Sandbox(name)
    settings = sandbox.settings
    click.echo(f"sandbox {name}: API server on 127.0.0.1:{settings.port}, kubeconfig {sandbox.kubeconfig_path}")
    found = report.components(sandbox.layout)
    for each in found:
        state = f"{each.memory / 2**20:6.0f} MB" if each.running else "ENDED"
        click.echo(f"  {each.key:42} pid {each.pid:<8} {state}")
    click.echo(f"  {'memory of all':42} {'':12} {sum(each.memory for each in found) / 2**20:6.0f} MB")
    for node in report.node_states(sandbox.layout, sandbox.api):
        words = [
            "Ready" if node.ready else "NotReady",
            *([] if node.schedulable else ["cordoned"]),
            *(["cut"] if node.cut else []),
        ]
        click.echo(f"  node {node.name:6} {node.zone:8} {', '.join(words)}")


@cli.command()
@_named
def kubeconfig(name: str) -> None:
    """Print the path of the kubeconfig: export KUBECONFIG=$(bin/sandbox kubeconfig)."""
    sandbox = Sandbox(name)
    sandbox.require()
    click.echo(str(sandbox.kubeconfig_path))


@cli.command()
def images() -> None:
    """List the images that can be loaded."""
    for name in known():
        click.echo(name)


@cli.command("load-image")
@click.argument("references", nargs=-1, required=True)
@_named
def load_image(name: str, references: tuple[str, ...]) -> None:
    """Make images and import them into the nodes: opensearch:2.19.5, elasticsearch:8.19.4, stateward."""
    sandbox = Sandbox(name)
    for reference in references:
        click.echo(sandbox.load_image(reference))


@cli.command("limit-volumes")
@_named
def limit_volumes(name: str) -> None:
    """Create a StorageClass whose volumes are as large as their claims, and print its name."""
    click.echo(Sandbox(name).limit_volumes())


@cli.command()
@click.argument("component")
@_named
def logs(name: str, component: str) -> None:
    """Print the log of a component: n1.kubelet, control-plane.kube-apiserver, ..."""
    click.echo(Sandbox(name).logs(component), nl=False)


@cli.command()
@click.argument("target")
@click.option("--local-port", default=0, help="The port on 127.0.0.1; a free one is chosen if left out.")
@_named
def relay(name: str, target: str, local_port: int) -> None:
    """Open a port on 127.0.0.1 to TARGET (host:port) inside the sandbox, until `down`."""
    host, _, port = target.rpartition(":")
    if not host or not port.isdigit():
        raise SandboxError(f"target {target!r} is not host:port, such as my-service.default.svc:9200")
    key = Sandbox(name).open_relay(host, int(port), local_port=local_port)
    click.echo(f"127.0.0.1:{key.rpartition('.')[2]}")


@cli.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@_named
def execute(name: str, command: tuple[str, ...]) -> None:
    """Run COMMAND inside the sandbox, with its DNS and Services, and kubectl in the PATH."""
    words = Sandbox(name).command(command)
    os.execvp(words[0], words)  # noqa: S606 - no shell is wanted


@cli.command()
@click.option("--cold", is_flag=True, help="Build Kubernetes again from nothing, in a cache of its own (minutes).")
def bench(*, cold: bool) -> None:
    """Measure: time to come up, memory when idle."""
    from sandbox.bench import measure  # noqa: PLC0415 - needed by this verb alone

    measure(cold=cold)


@cli.group()
def node() -> None:
    """Do something to one node."""


_with_containers = click.option("--with-containers", is_flag=True, help="Stop the whole node, as in a power cut.")
_seconds = click.option("--timeout", "seconds", default=300.0, show_default=True, help="Seconds until it gives up.")


@node.command("stop")
@click.argument("node_name", metavar="NODE")
@_with_containers
@_named
def node_stop(name: str, node_name: str, *, with_containers: bool) -> None:
    """Stop the kubelet of the node; its containers keep running."""
    Sandbox(name).node_stop(node_name, with_containers=with_containers)


@node.command("drain")
@click.argument("node_name", metavar="NODE")
@_seconds
@_named
def node_drain(name: str, node_name: str, seconds: float) -> None:
    """Cordon the node and evict its pods, as far as their disruption budgets allow."""
    Sandbox(name).node_drain(node_name, seconds=seconds)


def _simple(verb: str, text: str) -> None:
    @node.command(verb, help=text)
    @click.argument("node_name", metavar="NODE")
    @_named
    def run(name: str, node_name: str) -> None:
        getattr(Sandbox(name), f"node_{verb}")(node_name)


_simple("start", "Start the stopped parts of the node.")
_simple("cut", "Take the node's link down: a partition.")
_simple("join", "Take the node's link up again.")
_simple("cordon", "Keep new pods away from the node.")
_simple("uncordon", "Let new pods come to the node again.")


def main() -> None:
    """Run the command line; a failure is one line on standard error and exit code 1."""
    # Being ended is being interrupted: what was half made is removed, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cli(standalone_mode=False)
    except SandboxError as error:
        sys.stderr.write(f"sandbox: {error}\n")
        sys.exit(1)
    except OSError as error:  # no permission, no space, ...
        sys.stderr.write(f"sandbox: {error}\n")
        sys.exit(1)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("sandbox: interrupted; run the same again to go on\n")
        sys.exit(130)

"""The options that many commands have, and the bounds of the numbers that options take.

Each number has bounds: nothing waits without a limit, and every number fits into a record.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from stateward.api.pod_policy import Level
from stateward.cli.shared.completion import context_names, namespace_names
from stateward.cli.shared.session import OPERATOR_NAMESPACE
from stateward.operator.objects.kinds import CLUSTER_KINDS

Command = TypeVar("Command", bound=Callable[..., Any])


class Number(click.FloatRange):
    """A number within bounds. NaN is refused here, because a comparison with bounds lets it through."""

    def __init__(self, least: float, most: float, *, above: bool = False) -> None:
        """Take the smallest number, which `above` excludes, and the largest one."""
        super().__init__(least, most, min_open=above)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; fails for one that is out of bounds, and for what is no number."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


PORT = click.IntRange(0, 65535)
SEED = click.IntRange(0, 1_000_000_000)
JOBS = click.IntRange(1, 1000)
"""Processes at once."""


def target_options(command: Command) -> Command:
    """Add the options for the place (`kubeconfig`, `context`, `namespace`) and the engine (`kind`) of clusters."""
    option = click.option(
        "--kind",
        type=click.Choice([kind.engine for kind in CLUSTER_KINDS]),
        help="Only clusters of this engine; needed if two have the same name.",
    )
    return _place_options(option(command), "cluster")


def operator_option(command: Command) -> Command:
    """Add the option for the namespace of the operator (`operator_namespace`)."""
    option = click.option(
        "--operator-namespace",
        envvar="STATEWARD_OPERATOR_NAMESPACE",
        default=OPERATOR_NAMESPACE,
        show_default=True,
        help="Where the operator runs.",
    )
    return option(command)


def view_options(command: Command) -> Command:
    """Add the options for what the operator is asked about databases (`operator_namespace`, `send_token`)."""
    option = click.option(
        "--send-token",
        is_flag=True,
        help="Send the operator your own token if you may request none for it: its process could act with your rights.",
    )
    return operator_option(option(command))


def installation_options(command: Command) -> Command:
    """Add the options for the place (`kubeconfig`, `context`, `namespace`) of an installation."""
    return _place_options(command, "installation")


def place_options(command: Command) -> Command:
    """Add the options for the place (`kubeconfig`, `context`, `namespace`) of lookups."""
    return _place_options(command, "clusters without a namespace in their file")


def policy_option(command: Command) -> Command:
    """Add the option for the operator's pod policy (`pod_policy`)."""
    option = click.option(
        "--pod-policy",
        envvar="STATEWARD_POD_POLICY",
        type=click.Choice([level.value for level in Level]),
        default=Level.BASELINE.value,
        show_default=True,
        help="The most that the operator lets pods of clusters do.",
    )
    return option(command)


def _place_options(command: Command, what: str) -> Command:
    place = f"Namespace of the {what}; default: the context's."
    for option in (
        click.option("-n", "--namespace", default="", shell_complete=namespace_names, help=place),
        click.option("--context", default="", shell_complete=context_names, help="Context of the kubeconfig."),
        click.option("--kubeconfig", default="", type=click.Path(), help="Path of a kubeconfig; default: as kubectl."),
    ):
        command = option(command)
    return command

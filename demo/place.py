"""Where the demo happens: in the sandbox, or, with KUBECONFIG and STATEWARD_IMAGE set, in a cluster of one's own."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from demo.duration import expectation

VERSIONS = ("2.17.1", "2.19.5")
"""What is deployed first, and what it becomes."""


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster to work in. An empty `kubeconfig` is the one that kubectl finds; `image` is the operator's."""

    kubeconfig: str
    image: str
    kubectl: str
    """What to put before `kubectl` to reach it."""
    ending: str
    """How to end everything."""


class NoPlaceError(Exception):
    """There is no place to work in; the message says what is missing."""


def place(
    sandbox: str, environment: Mapping[str, str] | None = None, say: Callable[[str], object] = lambda _: None
) -> Place:
    """Return one's own cluster if the environment names it, else the sandbox of this name, brought up.

    Before anything is begun, `say` gets how long all takes.
    """
    variables = os.environ if environment is None else environment
    kubeconfig, image = variables.get("KUBECONFIG", ""), variables.get("STATEWARD_IMAGE", "")
    if kubeconfig and image:
        say(expectation(None))
        return Place("", image, "", OWN_ENDING)
    if image:
        raise NoPlaceError("STATEWARD_IMAGE is set and KUBECONFIG is not: set both to use a cluster of your own")
    return brought_up(sandbox, say)


NAMESPACE = "stateward-demo"
"""Where the demo's cluster is made."""

OWN_ENDING = (
    f"kubectl delete namespace {NAMESPACE}; then, if nobody else uses Stateward there:"
    " stateward manifests --webhook | kubectl delete --ignore-not-found -f -"
)
"""Definitions and cluster roles are in no namespace, and with the definitions go the clusters of everybody."""


def brought_up(name: str, say: Callable[[str], object]) -> Place:
    """Bring the sandbox up with all images; raises SandboxError."""
    from sandbox.api import Sandbox  # noqa: PLC0415 - one's own cluster needs none of it
    from sandbox.missing import missing  # noqa: PLC0415

    databases = [f"opensearch:{version}" for version in VERSIONS]
    say(expectation(missing(["stateward", *databases])))
    sandbox = Sandbox(name).up(nodes=3, images=["stateward", *databases])
    image = sandbox.load_image("stateward")
    for database in databases:
        sandbox.load_image(database)
    option = "" if name == "stateward" else f" --name {name}"
    ending = "make sandbox-down" if not option else f"bin/sandbox down{option}"
    return Place(str(sandbox.kubeconfig_path), image, f"bin/sandbox exec{option} -- ", ending)

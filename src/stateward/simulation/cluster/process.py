"""The interface between a node and its processes: `Container` for the process, `Process` for the node."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from stateward.kube.objects.metadata import Key


@dataclass(slots=True, eq=False)
class Container:
    """The environment of a process; files are read through functions, because they change with a delay."""

    name: str
    pod: Key
    uid: str
    node: str
    zone: str
    address: str
    version: str
    """The version of the image."""
    beside: str
    """Another version whose programs an init container has added; empty if none has."""
    config: Callable[[], dict[str, str]]
    """The files of the configuration, in base64, that a pod receives when it starts now."""
    shown: Callable[[], dict[str, str]]
    """The same files in the volume of the running pod: delayed, and never older than before."""
    managed: bool
    """Whether an agent is process 1."""
    environment: dict[str, str]
    seeds: Callable[[], dict[str, str]]
    """The files of the seeds volume as they are now."""
    mounted: Callable[[str], dict[str, str]]
    """The files of the ConfigMap behind a volume, as they are now."""
    annotation: Callable[[str], str]
    """The current value of an annotation in the downward volume."""
    disk: str
    """UID of the claim of the data directory, or of the pod if data is ephemeral."""
    exited: Callable[[int, str], None]
    """Called when the process exits, with its code and its message."""
    probe: Callable[[], None]
    """Called when readiness may have changed: the readiness probe runs shortly afterwards."""


class Process(Protocol):
    """One run of a container."""

    @property
    def answers(self) -> bool:
        """Whether the database answers requests."""
        ...

    @property
    def serves(self) -> bool:
        """Whether the database is in its cluster."""
        ...

    def stop(self) -> None:
        """Stop gracefully, as after SIGTERM; `exited` is called at the end."""
        ...

    def kill(self) -> None:
        """Kill the process; `exited` is not called."""
        ...


class Launcher(Protocol):
    """Starts processes, and discards the data of deleted pods."""

    def start(self, container: Container) -> Process:
        """Start the process of a container."""
        ...

    def discard(self, disk: str) -> None:
        """Discard the data of a deleted disk."""
        ...


@dataclass(frozen=True, slots=True)
class Launchers:
    """Starts each container with the launcher of its engine: `others` by the container's name, `first` for the rest."""

    first: Launcher
    others: Mapping[str, Launcher]

    def start(self, container: Container) -> Process:
        """Start the process of a container."""
        return self.others.get(container.name, self.first).start(container)

    def discard(self, disk: str) -> None:
        """Let all launchers discard the data of a deleted disk."""
        for launcher in (self.first, *self.others.values()):
            launcher.discard(disk)

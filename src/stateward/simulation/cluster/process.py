"""The border between a node and what runs on it: a container as its process sees it, and a process as its node does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from stateward.kube.objects.metadata import Key


@dataclass(slots=True, eq=False)
class Container:
    """What a process knows of the world around it; files are read through functions, because they change late."""

    name: str
    pod: Key
    uid: str
    node: str
    zone: str
    address: str
    version: str
    """The version of the image."""
    beside: str
    """Another version whose programs an init container has brought; empty where none has."""
    config: Callable[[], dict[str, str]]
    """The files of the configuration, in base64, as a pod that starts now is given them."""
    shown: Callable[[], dict[str, str]]
    """The same, as the volume of the running pod shows them: late, and never going back."""
    managed: bool
    """Whether an agent is process 1."""
    environment: dict[str, str]
    seeds: Callable[[], dict[str, str]]
    """The files of the seeds volume as they are now."""
    mounted: Callable[[str], dict[str, str]]
    """The files of the ConfigMap behind a volume, as they are now."""
    annotation: Callable[[str], str]
    """An annotation of the pod as the downward volume shows it now."""
    disk: str
    """UID of the claim behind the data directory, or of the pod where data is ephemeral."""
    exited: Callable[[int, str], None]
    """To call when the process ends, with its code and its last words."""
    probe: Callable[[], None]
    """To call when the readiness probe may change its mind: it looks a moment later."""


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
        """Ask to end, as SIGTERM does; `exited` is called when it has."""
        ...

    def kill(self) -> None:
        """End at once, without a word."""
        ...


class Launcher(Protocol):
    """Starts processes, and hears of data that goes with a pod."""

    def start(self, container: Container) -> Process:
        """Start the process of a container."""
        ...

    def discard(self, disk: str) -> None:
        """Forget the data of a disk that is gone."""
        ...


@dataclass(frozen=True, slots=True)
class Launchers:
    """Starts each container with who knows its engine: `others` by the container's name, and `first` for the rest."""

    first: Launcher
    others: Mapping[str, Launcher]

    def start(self, container: Container) -> Process:
        """Start the process of a container."""
        return self.others.get(container.name, self.first).start(container)

    def discard(self, disk: str) -> None:
        """Let all forget the data of a disk that is gone."""
        for launcher in (self.first, *self.others.values()):
            launcher.discard(disk)

"""The requests of one client at the moment when the server performs them; the invariants are checked here."""

from dataclasses import dataclass
from typing import Protocol

from stateward.kube.client.client import DeleteOptions
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.simulation.apiserver.documents import Doc


@dataclass(frozen=True, slots=True)
class Write:
    """One write: its verb, its object and its body."""

    verb: str
    kind: str
    key: Key
    body: Doc
    subresource: str = ""
    options: DeleteOptions | None = None


class Audit(Protocol):
    """Receives the requests of one client at the moment when the server performs them."""

    def read(self, kind: str, key: Key) -> None:
        """Note a live read of one object."""
        ...

    def listed(self, kind: str, selection: Selection) -> None:
        """Note a live read of several objects."""
        ...

    def writing(self, write: Write) -> None:
        """Check a write right before the server performs it."""
        ...

    def wrote(self, write: Write) -> None:
        """Note a write that changed something."""
        ...


class Unaudited:
    """An audit log that records nothing."""

    def read(self, kind: str, key: Key) -> None:
        """Do nothing."""

    def listed(self, kind: str, selection: Selection) -> None:
        """Do nothing."""

    def writing(self, write: Write) -> None:
        """Do nothing."""

    def wrote(self, write: Write) -> None:
        """Do nothing."""


class Audits:
    """Several audits of the same client, in order."""

    def __init__(self, *audits: Audit) -> None:
        self._audits = audits

    def read(self, kind: str, key: Key) -> None:
        """Note a live read of one object."""
        for audit in self._audits:
            audit.read(kind, key)

    def listed(self, kind: str, selection: Selection) -> None:
        """Note a live read of several objects."""
        for audit in self._audits:
            audit.listed(kind, selection)

    def writing(self, write: Write) -> None:
        """Check a write right before the server performs it."""
        for audit in self._audits:
            audit.writing(write)

    def wrote(self, write: Write) -> None:
        """Note a write that changed something."""
        for audit in self._audits:
            audit.wrote(write)

"""What one client does, as it happens at the server: the place from which invariants are checked."""

from dataclasses import dataclass
from typing import Protocol

from stateward.kube.client.client import DeleteOptions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc


@dataclass(frozen=True, slots=True)
class Write:
    """One write: its verb, its object and what is sent."""

    verb: str
    kind: str
    key: Key
    body: Doc
    subresource: str = ""
    options: DeleteOptions | None = None


class Audit(Protocol):
    """Hears of the requests of one client in the instant in which the server carries them out."""

    def read(self, kind: str, key: Key) -> None:
        """Note a live read of one object."""
        ...

    def writing(self, write: Write) -> None:
        """Look at a write right before it is carried out."""
        ...

    def wrote(self, write: Write) -> None:
        """Note a write that changed something."""
        ...


class Unaudited:
    """An audit log that records nothing."""

    def read(self, kind: str, key: Key) -> None:
        """Do nothing."""

    def writing(self, write: Write) -> None:
        """Do nothing."""

    def wrote(self, write: Write) -> None:
        """Do nothing."""

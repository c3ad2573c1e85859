"""The digests in the status of declared resources: made with the key of their namespace, whose name they begin with.

A digest without a name is of a version with one key for all namespaces. It is compared under that key, and replaced
once the database is known to be as declared. So an upgrade of the operator writes nothing into a database.
"""

from dataclasses import dataclass

from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.packages.restarts.digests import Key, RootKey


@dataclass(frozen=True, slots=True)
class RecordKey:
    """Makes the digests of one resource."""

    key: Key
    earlier: Key
    subject: bytes
    """Kind and name of the resource: no digest can be compared with one of another resource, with a guessed content."""

    @classmethod
    def of(cls, root: RootKey, kind: str, place: ObjectKey) -> "RecordKey":
        """Return that of one resource."""
        return cls(root.of(place.namespace), root.earlier, f"{kind}/{place.name}".encode())

    def digest(self, content: bytes, like: str = "") -> str:
        """Return the digest of a content, comparable with `like`, a recorded one if there is any."""
        if is_earlier(like):
            return self.earlier.digest(content)
        return f"{self.key.name}/{self.key.digest(self.subject, content)}"


def is_earlier(recorded: str) -> bool:
    """Return whether a recorded digest is of a version with one key for all namespaces."""
    return recorded != "" and "/" not in recorded


def renewed(recorded: str, now: str) -> str:
    """Return what is recorded of an object that was not written: the digest `now`, if the recorded one is earlier."""
    return now if now and is_earlier(recorded) else recorded

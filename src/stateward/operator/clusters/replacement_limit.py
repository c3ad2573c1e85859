"""Limits automatic replacements in progress, over all clusters of all kinds.

The failure of a zone affects members of every cluster. If all of them were replaced at once, their new members would
wait for the same machines and the same quota, each holding what another one needs, and none would start
(fdb-kubernetes-operator#1639). A replacement without room takes no slot here: it blocks no other.

The lists in the clusters' statuses count, so no memory is needed: an operator that starts finds them there. Between a
decision and the status that records it, a claim holds the slot, so that two clusters that are reconciled at the same
time never both take the last one.

The last place is not for a namespace that has all others, as long as there are clusters elsewhere. The disaster this
prevents: the database of one tenant never lets its data move, five of its members are replaced forever, and a lost
member of another tenant is not replaced.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.model.observation import Removal
from stateward.planning.report.pending_removals import AUTOMATIC, IN_FLIGHT


class Identified(Protocol):
    """Metadata that distinguishes clusters."""

    @property
    def uid(self) -> str:
        """The UID."""
        ...

    @property
    def namespace(self) -> str:
        """The namespace."""
        ...


class Listed(Protocol):
    """A cluster of any kind, as far as its list of replacements goes."""

    @property
    def metadata(self) -> Identified:
        """What it is called."""
        ...

    @property
    def status(self) -> ClusterStatus:
        """The status."""
        ...


class Clusters(Protocol):
    """The store of all clusters of one kind."""

    def all(self) -> Iterable[Listed]:
        """Return all clusters."""
        ...


class ReplacementLimit:
    """The places for automatic replacements, shared by all clusters of one operator."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._stores: list[Clusters] = []
        self._claims: dict[str, frozenset[str]] = {}

    def count(self, clusters: Clusters) -> None:
        """Count the replacements of these clusters from now on."""
        self._stores.append(clusters)

    def slots(self, uid: str) -> int:
        """Return how many places are left to the cluster of this UID, besides those that its status lists."""
        homes, listed = dict[str, str](), dict[str, frozenset[str]]()
        for cluster in (c for store in self._stores for c in store.all()):
            homes[cluster.metadata.uid] = cluster.metadata.namespace
            if cluster.status.pending_removals:
                listed[cluster.metadata.uid] = in_flight(cluster.status)
        claims = {other: names for other, names in self._claims.items() if other != uid}
        taken = Counter[str]()
        for each in {*listed, *claims}:
            taken[homes.get(each, "")] += len(listed.get(each, frozenset()) | claims.get(each, frozenset()))
        home = homes.get(uid, "")
        left = self._most - taken.total()
        if self._most > 1 and any(other != home for other in homes.values()):
            left = min(left, self._most - 1 - taken[home])
        return max(0, left)

    def claim(self, uid: str, names: frozenset[str]) -> None:
        """Hold places for members that a plan has put on the list, until `release`."""
        if names:
            self._claims[uid] = names
        else:
            self.release(uid)

    def release(self, uid: str) -> None:
        """Release the held slots: the status now lists the replacements, if any."""
        self._claims.pop(uid, None)


def in_flight(status: ClusterStatus) -> frozenset[str]:
    """Return the members with an automatic replacement in progress that uses room."""
    listed = status.pending_removals
    return frozenset(entry.name for entry in listed if entry.origin == AUTOMATIC and entry.phase in IN_FLIGHT)


def newly_listed(before: Mapping[str, Removal], after: Mapping[str, Removal]) -> frozenset[str]:
    """Return the members that a plan has put on the list by itself."""
    return frozenset(name for name, removal in after.items() if removal.automatic and name not in before)

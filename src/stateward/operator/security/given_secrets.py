"""Reads the Secrets that users give a cluster for its security: a CA, a certificate for clients, an administrator.

Nothing is known of a Secret that is not allowed for the cluster. The right to write a cluster is not a right to read
Secrets, and their content goes into pods whose image and commands the cluster's author chooses.
"""

from collections.abc import Collection

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.security import Security
from stateward.kube.client.client import Api
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.secret_content import text_content
from stateward.kube.timing.clock import Clock
from stateward.operator.objects.permission import allowed, requirement
from stateward.operator.security.material import Files

RAW_SECRETS = kinds.SECRETS.raw()
LOOK_AGAIN = 30.0
"""Seconds after which a Secret given by a user is read again."""

Place = tuple[Key, str]
"""A Secret, and the cluster that names it: it may be allowed for one and not for another."""


class GivenSecrets:
    """What was given to the clusters of one kind."""

    def __init__(self, api: Api, clock: Clock, *, labelled: bool) -> None:
        self._api = api
        self._clock = clock
        self._labelled = labelled
        self._known: dict[Place, tuple[float, Files]] = {}
        self._barred: set[Place] = set()

    async def read(self, key: Key, cluster: Cluster) -> Files:
        """Return the content of a Secret, empty if none is allowed; the previous content if it is unreadable.

        Raises ApiError if it was never read.
        """
        place, now = (key, cluster.metadata.name), self._clock.now().timestamp()
        known = self._known.get(place)
        # A time in the future is from before the clock was set back.
        if known is not None and 0 <= now - known[0] < LOOK_AGAIN:
            return known[1]
        try:
            files = await self._read(place, cluster)
        except ApiError:
            if known is None:
                raise
            files = known[1]
        self._known[place] = (now, files)
        return files

    async def _read(self, place: Place, cluster: Cluster) -> Files:
        try:
            found = await self._api.get(RAW_SECRETS, place[0])
        except NotFound:
            self._barred.discard(place)
            return {}
        if self._labelled and not allowed(found["metadata"].get("labels") or {}, cluster.metadata.name):
            self._barred.add(place)
            return {}
        self._barred.discard(place)
        return text_content(found)

    def denied(self, name: str, cluster: Cluster) -> bool:
        """Return whether the Secret existed at the last read, and was not allowed for the cluster."""
        return (Key(cluster.metadata.namespace, name), cluster.metadata.name) in self._barred

    def missing(self, name: str, cluster: Cluster) -> str:
        """Return why nothing was read of a Secret."""
        lacks = f"it {requirement(cluster.metadata.name)}, which allows the cluster to use it"
        return lacks if self.denied(name, cluster) else "there is no such Secret"

    def barred(self, cluster: SearchCluster, fields: Collection[str]) -> dict[str, str]:
        """Return why certificates may not be used, for the fields whose Secret is not allowed."""
        named = {field: name for field, name in certificates(cluster).items() if field in fields}
        found = {field: name for field, name in named.items() if self.denied(name, cluster)}
        return {field: self.missing(name, cluster) for field, name in found.items()}

    def forget(self, cluster: Key) -> None:
        """Drop what was read for a cluster that is gone."""
        for place in [place for place in self._known if (place[0].namespace, place[1]) == cluster]:
            del self._known[place]
            self._barred.discard(place)


def certificates(cluster: SearchCluster) -> dict[str, str]:
    """Return the names of the Secrets with certificates that the spec names, by field."""
    asked = cluster.spec.security or Security()
    found = {
        "spec.security.caSecretName": asked.ca_secret_name,
        "spec.security.http.secretName": asked.http.secret_name if asked.http is not None else None,
    }
    return {field: name for field, name in found.items() if name}

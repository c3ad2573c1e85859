"""The desired state of a cluster; an invalid spec has no desired state, only its refusals.

A cluster is reconciled every few seconds and its spec changes a few times a week, so the desired state is cached. The
cache key is exactly the bytes from which it is computed, without the parts of the status for users and without versions
of the object: so it can never be outdated.
"""

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import ClusterStatus
from stateward.api.pod_policy import Level
from stateward.api.validation import Severity, validate
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.turns import Turns
from stateward.operator.databases.engine import Family
from stateward.operator.pod_rights import policy
from stateward.planning.model.desired import Desired, refusals_of


def desired_or_refused(family: Family, cluster: Cluster, level: Level = Level.PRIVILEGED) -> Desired:
    """Return the desired state, or, for an invalid spec, only its refusals.

    A cluster whose spec asks for pods that the level does not allow continues as it is; all new steps are refused.
    """
    errors = [p for p in validate(cluster) if p.severity is Severity.ERROR]
    if errors:
        return Desired(version=cluster.status.version, pools=(), refusals=refusals_of(errors, "InvalidSpec"))
    desired = family.desired(cluster)
    barred = policy.refusals(family, cluster, level)
    return msgspec.structs.replace(desired, refusals=(*desired.refusals, *barred)) if barred else desired


class DesiredStates:
    """What should be of each cluster of one family, remembered while nothing of it changes."""

    def __init__(self, family: Family, level: Level = Level.PRIVILEGED, turns: Turns | None = None) -> None:
        self._family = family
        self._turns = turns or Turns()
        self._level = level
        self._known: dict[Key, tuple[bytes, Desired]] = {}

    async def desired(self, cluster: Cluster) -> Desired:
        """Return the desired state, or, for an invalid spec, only its refusals."""
        key = Key(cluster.metadata.namespace, cluster.metadata.name)
        asked = desired_state_key(cluster)
        # Compared as bytes: 1, 1.0 and true are equal in Python, and not the same setting.
        written = msgspec.json.encode(asked)
        known = self._known.get(key)
        if known is None or known[0] != written:
            async with self._turns.one():
                found = desired_or_refused(self._family, asked, self._level)
            known = self._known[key] = (written, found)
        return known[1]

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a cluster that is gone."""
        self._known.pop(key, None)


def desired_state_key(cluster: Cluster) -> Cluster:
    """Return what determines the desired state of a cluster: its spec, its identity, and that of its database."""
    status = ClusterStatus(
        version=cluster.status.version,
        cluster_uuid=cluster.status.cluster_uuid,
        bootstrap=cluster.status.bootstrap,
        security=cluster.status.security,
        data_digests=cluster.status.data_digests,
    )
    metadata = msgspec.structs.replace(cluster.metadata, resource_version="")
    return msgspec.structs.replace(cluster, metadata=metadata, status=status)

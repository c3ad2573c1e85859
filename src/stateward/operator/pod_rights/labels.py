"""Reads whether what a cluster names is allowed for its pods; live, and by labels that only its owner can set.

The right to write a cluster is no right to read Secrets, to use service accounts or to mount volumes. A pod could do
all three for the cluster's author, who chooses its image and its commands. So to allow an object for pods takes the
right to write that very object.
"""

from collections.abc import Mapping

import msgspec

from stateward.api import names
from stateward.api.cluster import Cluster
from stateward.api.validation import errors, validate
from stateward.kube import resources as kinds
from stateward.kube.client import Api
from stateward.kube.errors import ApiError, NotFound
from stateward.kube.metadata import Key, ObjectMeta, PartialObject
from stateward.kube.resource import Resource
from stateward.operator.engine import Family
from stateward.operator.holdings import Holdings
from stateward.operator.pod_rights.named import SERVICE_ACCOUNT, Named, allowed, named
from stateward.operator.pod_rights.policy import NOT_ALLOWED
from stateward.operator.restarts.views import PROVIDER_CLASSES
from stateward.operator.unowned import belongs
from stateward.planning.observation import Refusal

UNKNOWN = "PodRightsUnknown"
"""Reason to wait: it could not be read whether something is allowed."""

RESOURCES: Mapping[str, Resource[PartialObject]] = {
    kind.kind: kind.metadata_only() for kind in (kinds.SERVICE_ACCOUNTS, kinds.SECRETS, kinds.CLAIMS, PROVIDER_CLASSES)
}


class PodRights:
    """Knows what the clusters of one family name, and asks whether they may."""

    def __init__(self, api: Api, family: Family, *, labelled: bool) -> None:
        self._api = api
        self._family = family
        self._labelled = labelled
        self._known: dict[Key, tuple[bytes, tuple[Named, ...]]] = {}

    async def refusals(self, holdings: Holdings) -> tuple[Refusal, ...]:
        """Return what is refused of what a cluster names; nothing of a spec that makes no sense anyway."""
        found = [await self._refusal(each, holdings) for each in self._named(holdings.cluster)]
        return tuple(refusal for refusal in found if refusal is not None)

    async def of_spec(self, cluster: Cluster) -> tuple[Refusal, ...]:
        """Return the same of a cluster that is about to be written."""
        return await self.refusals(Holdings(cluster, (), (), (), (), {}, {}))

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a cluster that is gone."""
        self._known.pop(key, None)

    def _named(self, cluster: Cluster) -> tuple[Named, ...]:
        key = Key(cluster.metadata.namespace, cluster.metadata.name)
        written = msgspec.json.encode(cluster.spec)
        known = self._known.get(key)
        if known is None or known[0] != written:
            asked = () if errors(validate(cluster)) else named(self._family, cluster)
            chosen = tuple(each for each in asked if self._labelled or each.kind == SERVICE_ACCOUNT)
            known = self._known[key] = (written, chosen)
        return known[1]

    async def _refusal(self, asked: Named, holdings: Holdings) -> Refusal | None:
        cluster = holdings.cluster
        if asked.made_here and any(secret.metadata.name == asked.name for secret in holdings.secrets):
            return None
        kind, reason = RESOURCES.get(asked.kind), NOT_ALLOWED
        if kind is None:
            why: str | None = "cannot be used by pods of a cluster"
        else:
            try:
                found = (await self._api.get(kind, Key(cluster.metadata.namespace, asked.name))).metadata
                why = against(asked, found, cluster)
            except NotFound:
                why = None if asked.waited_for else f"is not there; it {labelled(cluster)}"
            except ApiError as error:
                reason, why = UNKNOWN, f"could not be read, so whether pods may use it is not known: {error.message}"
        return Refusal(asked.field, reason, f"{asked.field}: {asked.kind} {asked.name} {why}") if why else None


def against(asked: Named, found: ObjectMeta, cluster: Cluster) -> str | None:
    """Return why pods of a cluster may not use an object that is there; None where they may."""
    if asked.made_here:
        mine = belongs(found, cluster)
        return None if mine else f"belongs to another owner, and pods of {cluster.metadata.name} would be shown it"
    return None if allowed(found.labels, cluster) else f"{labelled(cluster)}: {command(asked, cluster)}"


def labelled(cluster: Cluster) -> str:
    """Return what has to be of an object that pods of a cluster use."""
    return f"must have the label {names.LABEL_ALLOWED}: true (or {cluster.metadata.name})"


def command(asked: Named, cluster: Cluster) -> str:
    """Return the command that allows an object for a cluster."""
    meta = cluster.metadata
    return f"kubectl label {asked.kind.lower()} {asked.name} -n {meta.namespace} {names.LABEL_ALLOWED}={meta.name}"

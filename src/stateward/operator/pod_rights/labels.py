"""Reads whether objects that a cluster names are allowed for its pods: live, from labels that only their owner sets.

The right to write a cluster is not a right to read Secrets, to use service accounts or to mount volumes. A pod could do
all three for the cluster's author, who chooses its image and its commands. So allowing an object for pods takes the
right to write that very object.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy.references import STORAGE
from stateward.api.validation import errors, validate
from stateward.api.values import names
from stateward.api.values.problem import MOST_PROBLEMS, short
from stateward.kube.client.client import Api
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta, PartialObject
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.timing.turns import Turns
from stateward.operator.databases.engine import Family
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.copied_secrets import belongs
from stateward.operator.objects.live import everything
from stateward.operator.objects.permission import allowed, requirement
from stateward.operator.pod_rights.clients import LabelledPods, labelled_pods, labelled_template, selected_by_services
from stateward.operator.pod_rights.finished import FinalTemplate
from stateward.operator.pod_rights.named import SERVICE_ACCOUNT, NamedReference, named, of_template
from stateward.operator.pod_rights.policy import NOT_ALLOWED
from stateward.operator.pod_rights.server_validation import ServerValidation
from stateward.operator.restarts.views import PROVIDER_CLASSES
from stateward.planning.model.observation import Refusal

UNKNOWN = "PodRightsUnknown"
"""Reason of a wait: it could not be read whether an object is allowed."""

RESOURCES: Mapping[str, Resource[PartialObject]] = {
    kind.kind: kind.metadata_only() for kind in (kinds.SERVICE_ACCOUNTS, kinds.SECRETS, kinds.CLAIMS, PROVIDER_CLASSES)
}


@dataclass(frozen=True, slots=True)
class NamedObject:
    """The objects that a cluster names and another owner has to allow, and its pods, which Services may select."""

    named: tuple[NamedReference, ...] = ()
    pods: tuple[LabelledPods, ...] = ()


class PodRights:
    """Collects the objects that the clusters of one family name, and reads whether they are allowed."""

    def __init__(self, api: Api, family: Family, *, labelled: bool, turns: Turns | None = None) -> None:
        self._api = api
        self._turns = turns or Turns()
        self._family = family
        self._labelled = labelled
        self._known: dict[Key, tuple[bytes, NamedObject]] = {}
        self._server = ServerValidation(api, family)

    async def refusals(self, existing: ClusterObjects) -> tuple[Refusal, ...]:
        """Return the refusals of a cluster's pods: by what they name, and by the server; empty for an invalid spec."""
        return (*await self._named(existing), *await self._server.refusals(existing.cluster))

    async def _named(self, existing: ClusterObjects) -> tuple[Refusal, ...]:
        asked = await self._asked(existing.cluster)
        found = await self._refusals(asked.named, existing)
        pods = [replace(each, new=is_new(existing)) for each in asked.pods]
        return (*found, *await self._clients(pods, existing.cluster))

    async def of_spec(self, cluster: Cluster, existing: ClusterObjects | None = None) -> tuple[Refusal, ...]:
        """Return the refusals of what a cluster names that is about to be written; `existing` is what is there."""
        known = existing or ClusterObjects(cluster, (), (), (), (), {}, {})
        return await self._named(replace(known, cluster=cluster))

    async def of_template(self, made: FinalTemplate, cluster: Cluster, *, new: bool) -> tuple[Refusal, ...]:
        """Return the refusals of what other pods of a cluster name, and of their labels: pods that are no members.

        `new` is whether there are none of them yet.
        """
        named_there = list(of_template(made))
        asked = [each for each in named_there if self._labelled or each.kind == SERVICE_ACCOUNT]
        existing = ClusterObjects(cluster, (), (), (), (), {}, {})
        found = await self._refusals(asked, existing)
        return (*found, *await self._clients([labelled_template(made, new=new)] if self._labelled else [], cluster))

    async def of_objects(self, asked: Iterable[NamedReference], cluster: Cluster) -> tuple[Refusal, ...]:
        """Return the refusals of what other objects of a cluster than its pods name."""
        existing = ClusterObjects(cluster, (), (), (), (), {}, {})
        return tuple(await self._refusals(asked, existing)) if self._labelled else ()

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a cluster that is gone."""
        self._known.pop(key, None)
        self._server.forget(key)

    async def _asked(self, cluster: Cluster) -> NamedObject:
        key = Key(cluster.metadata.namespace, cluster.metadata.name)
        written = msgspec.json.encode(cluster.spec)
        known = self._known.get(key)
        if known is None or known[0] != written:
            async with self._turns.one():
                found = NamedObject() if errors(validate(cluster)) else self._asked_by(cluster)
            known = self._known[key] = (written, found)
        return known[1]

    def _asked_by(self, cluster: Cluster) -> NamedObject:
        found = named(self._family, cluster)
        if self._labelled:
            return NamedObject(found, labelled_pods(self._family, cluster))
        return NamedObject(tuple(each for each in found if each.kind == SERVICE_ACCOUNT))

    async def _clients(self, offered: Iterable[LabelledPods], cluster: Cluster) -> tuple[Refusal, ...]:
        """Return the refusals of the labels of pods; Services are read only if one could be made for other pods."""
        pods = [each for each in offered if each.matters]
        if not pods:
            return ()
        try:
            services = await everything(self._api, kinds.SERVICES, Selection(cluster.metadata.namespace))
        except ApiError as error:
            field = pods[0].place
            why = (
                "Services could not be read, so the operator does not know which Services select the"
                f" pods: {error.message}"
            )
            return (Refusal(field, UNKNOWN, f"{field}: {why}"),)
        found = islice(selected_by_services(cluster, pods, services), MOST_PROBLEMS)
        return tuple(_lured(field, name, cluster) for field, name in found)

    async def _refusals(self, asked: Iterable[NamedReference], existing: ClusterObjects) -> list[Refusal]:
        """Return the first refusals: no pod is created while there is one, and a status holds no thousands."""
        found = list[Refusal]()
        for each in asked:
            refusal = await self._refusal(each, existing)
            found += [] if refusal is None else [refusal]
            if len(found) == MOST_PROBLEMS:
                break
        return found

    async def _refusal(self, asked: NamedReference, existing: ClusterObjects) -> Refusal | None:
        cluster = existing.cluster
        if asked.made_here and any(secret.metadata.name == asked.name for secret in existing.secrets):
            return None
        kind, reason = RESOURCES.get(asked.kind), NOT_ALLOWED
        if kind is None:
            why: str | None = f"cannot be used by pods of a cluster{alternative(asked, cluster)}"
        else:
            try:
                found = (await self._api.get(kind, Key(cluster.metadata.namespace, asked.name))).metadata
                why = refusal_of(asked, found, cluster)
            except NotFound:
                why = None if asked.waited_for else f"does not exist; it {requirement(cluster.metadata.name)}"
            except ApiError as error:
                reason, why = (
                    UNKNOWN,
                    f"could not be read, so the operator does not know whether pods may use it: {error.message}",
                )
        field = short(asked.field)
        return Refusal(field, reason, short(f"{field}: {asked.kind} {asked.name} {why}")) if why else None


def is_new(existing: ClusterObjects) -> bool:
    """Return whether a cluster has never had a member: what is asked of it only then cannot hold back a repair."""
    status = existing.cluster.status
    return not (existing.sets or existing.pods or existing.claims or status.version or status.cluster_uuid)


def _lured(field: str, name: str, cluster: Cluster) -> Refusal:
    why = f"with it the pods would receive the traffic of Service {name}, which {requirement(cluster.metadata.name)}"
    return Refusal(field, NOT_ALLOWED, f"{field}: {why}: {command('Service', name, cluster)}")


def alternative(asked: NamedReference, cluster: Cluster) -> str:
    """Return what to use in place of storage that is named by its address."""
    return (
        f"; a PersistentVolumeClaim of it can: it {requirement(cluster.metadata.name)}" if asked.kind == STORAGE else ""
    )


def refusal_of(asked: NamedReference, found: ObjectMeta, cluster: Cluster) -> str | None:
    """Return why pods of a cluster may not use an existing object; None if they may."""
    if asked.made_here:
        mine = belongs(found, cluster)
        return None if mine else f"belongs to another owner, and pods of {cluster.metadata.name} would see its content"
    return (
        None
        if allowed(found.labels, cluster.metadata.name)
        else f"{requirement(cluster.metadata.name)}: {command(asked.kind, asked.name, cluster)}"
    )


def command(kind: str, name: str, cluster: Cluster) -> str:
    """Return the command that allows an object for a cluster."""
    meta = cluster.metadata
    return f"kubectl label {kind.lower()} {name} -n {meta.namespace} {names.LABEL_ALLOWED}={meta.name}"

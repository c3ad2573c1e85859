"""What was read from the API server about one cluster, from the caches or live, before it is frozen for planning."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stateward.api.kinds.cluster import Cluster
from stateward.engines.connection.access import Access
from stateward.kube.objects.metadata import PartialObject
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.storage import PersistentVolumeClaim, StorageClass
from stateward.kube.objects.workloads import StatefulSet
from stateward.planning.model.observation import Asked, Refusal, Restore, Saved, Unknown
from stateward.planning.model.security import Protection


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """The objects of one cluster.

    StatefulSets and Secrets are those that this very cluster resource controls, by UID: a dead cluster of the same name
    leaves objects behind for a while, and they are not ours. Pods and claims come by label, because kept claims belong
    to no one and pods to their StatefulSets.
    """

    cluster: Cluster
    sets: tuple[StatefulSet, ...]
    pods: tuple[Pod, ...]
    claims: tuple[PersistentVolumeClaim, ...]
    secrets: tuple[PartialObject, ...]
    nodes: Mapping[str, Node]
    classes: Mapping[str, StorageClass]
    caught_up: bool = True
    """Whether every cache behind it has observed the operator's own writes."""
    live: bool = False
    barred: tuple[Refusal, ...] = ()
    """Objects that it names and may not use: while there are any, none of its pod templates is written."""
    access: Access | None = None
    """The access to the database if it is secured."""
    protection: Protection | None = None
    connection: str | None = field(default="", repr=False)
    """What clients need to find a database without a Service; empty if the first one is right, None if it is lost."""
    keystore: Mapping[str, str] | None = field(default_factory=dict[str, str], repr=False)
    """Files of the members' configuration with their keystore settings; None if some are unknown."""
    restore: Restore | Unknown | None = None
    """The restore with which the cluster begins; None if there is none, or if none is due."""
    asked: Mapping[str, Asked] | None = None
    """By pool: the number of members that a PoolScale asks for; None if that was not read."""
    saved: Saved | Unknown | None = None
    """The snapshot before an upgrade; None if nothing asks for it."""

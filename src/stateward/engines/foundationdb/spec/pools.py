"""A pool of processes with all defaults filled in."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from stateward.api.kinds.cluster import InPlace, Storage, UpdatePolicy
from stateward.api.kinds.foundationdb import FoundationDBCluster, ProcessClass, ProcessPool, replicas
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods.merge import compose

TIERS = {ProcessClass.STORAGE: 0, ProcessClass.LOG: 1, ProcessClass.STATELESS: 2}
"""The order in which pools change: those that others wait for come last."""


@dataclass(frozen=True)
class ResolvedPool:
    """A pool of a cluster; `agent_image` is Stateward's own image. Without it the pods get no agent."""

    cluster: FoundationDBCluster
    spec: ProcessPool
    agent_image: str = ""

    @property
    def name(self) -> str:
        """Name of the pool."""
        return self.spec.name

    @property
    def replicas(self) -> int:
        """Number of its members."""
        return replicas(self.cluster.spec, self.spec)

    @property
    def keeps(self) -> bool:
        """Whether its processes keep data on their volumes."""
        return self.spec.process_class is not ProcessClass.STATELESS

    @cached_property
    def storage(self) -> Storage:
        """Storage of its members; processes without data get no volume unless the spec asks for one."""
        return self.spec.storage or Storage(ephemeral=not self.keeps)

    @cached_property
    def knobs(self) -> Mapping[str, str]:
        """Knobs of its processes, sorted: the pool's override the cluster's."""
        return dict(sorted({**(self.cluster.spec.knobs or {}), **(self.spec.knobs or {})}.items()))

    @cached_property
    def template(self) -> Json:
        """Overrides of the pod: the cluster's and then the pool's, as one patch."""
        return compose(self.cluster.spec.pod_template or {}, self.spec.pod_template or {})

    @property
    def managed(self) -> bool:
        """Whether its new pods get an agent."""
        update = self.cluster.spec.update or UpdatePolicy()
        return bool(self.agent_image) and update.in_place is InPlace.PREFERRED

    @property
    def role_label(self) -> str:
        """The value of the roles label. Members without data count too: others must take over their work."""
        return names.roles(data=True, voting=False)

    def member(self, ordinal: int) -> str:
        """Return the name of a member."""
        return names.member(self.cluster.metadata.name, self.name, ordinal)


def resolve(cluster: FoundationDBCluster, agent_image: str = "") -> tuple[ResolvedPool, ...]:
    """Return the pools of a cluster in spec order."""
    return tuple(ResolvedPool(cluster, spec, agent_image) for spec in cluster.spec.pools)


def find(cluster: FoundationDBCluster, name: str, agent_image: str = "") -> ResolvedPool:
    """Return a pool by name; raise KeyError when the spec has no such pool."""
    for pool in resolve(cluster, agent_image):
        if pool.name == name:
            return pool
    raise KeyError(f"{cluster.metadata.name} has no pool {name!r}")

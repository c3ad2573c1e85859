"""A pool with all defaults filled in, and the properties that follow from its roles."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct, structs

from stateward.api.kinds.cluster import InPlace, Storage, UpdatePolicy
from stateward.api.kinds.search import Pool
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.api.values.roles import VOTING_ONLY
from stateward.api.values.settings import flatten
from stateward.engines.pods.digests import digest
from stateward.engines.pods.merge import compose
from stateward.engines.search.spec.flavor import Flavor, SearchCluster
from stateward.engines.search.spec.versions import MANAGER_ROLES
from stateward.planning.model.observation import Inputs

_NOT_SERVING = MANAGER_ROLES | {"remote_cluster_client", VOTING_ONLY}
"""A node with no other roles is a dedicated manager, which serves no clients."""
HOLDS, EPHEMERAL = "storage/holds", "storage/ephemeral"
"""Names of inputs: what the volume may hold, and that there is none."""
VOTES_ONLY = "votingOnly"
"""Name of the input that a member votes and is never elected."""
RETAINED = frozenset({HOLDS, EPHEMERAL, VOTES_ONLY})
"""Inputs that a member keeps for its life.

A node refuses to start with data that its roles do not allow. And while managers that can be elected become nodes that
only vote, or these managers, a crash may leave none that can be elected; new members join before the others leave.
"""
_ALL = (True, True)
_HELD = {
    digest(HOLDS, names.roles(data=data, voting=voting)): (data, voting)
    for data, voting in ((True, False), (False, True), (False, False))
}
_MANAGER = {HOLDS: digest(HOLDS, names.roles(data=False, voting=True))}
_VOTES_ONLY = {VOTES_ONLY: digest(VOTES_ONLY, True)}
KINDS: Mapping[frozenset[str], Inputs] = {
    frozenset({"data", "voting"}): {},
    frozenset({"data"}): {HOLDS: digest(HOLDS, names.roles(data=True, voting=False))},
    frozenset({"voting"}): _MANAGER,
    frozenset({"data", "voting", "voting_only"}): _VOTES_ONLY,
    frozenset({"voting", "voting_only"}): {**_MANAGER, **_VOTES_ONLY},
}
"""The retained inputs of a member with a volume, by the roles that the volume was made for."""


class ResolvedPool(Struct, frozen=True, dict=True):
    """A pool of a cluster, for one flavor."""

    flavor: Flavor
    cluster: SearchCluster
    spec: Pool
    extra_files: Mapping[str, str] = {}
    """Configuration files of its members with content that is not in the resource."""
    keeps: Inputs | None = None
    """The retained inputs of an existing member, for its objects; None for those of a new one."""

    @property
    def name(self) -> str:
        """Name of the pool."""
        return self.spec.name

    @cached_property
    def roles(self) -> frozenset[str]:
        """Roles of its nodes, with the defaults if the spec names none, and those that an existing member keeps."""
        asked = self.flavor.default_roles if self.spec.roles is None else frozenset(self.spec.roles)
        if self.keeps is None:
            return asked
        data, voting = bool(asked & self.flavor.data_roles), bool(asked & MANAGER_ROLES)
        held = _HELD.get(self.keeps[HOLDS], (data, voting)) if HOLDS in self.keeps else _ALL
        if held[0] is not data:
            asked = asked | {"data"} if held[0] else asked - self.flavor.data_roles
        if held[1] is not voting:  # Either name of the role will do: each version gets its own one.
            asked = asked | {"cluster_manager"} if held[1] else asked - MANAGER_ROLES
        if not (voting or held[1]):  # Of what does not vote it is a role of some plug-in, in OpenSearch.
            return asked
        return asked | {VOTING_ONLY} if VOTES_ONLY in self.keeps else asked - {VOTING_ONLY}

    @property
    def voting(self) -> bool:
        """Whether its members vote."""
        return bool(self.roles & MANAGER_ROLES)

    @property
    def electable(self) -> bool:
        """Whether its members can be elected."""
        return self.voting and VOTING_ONLY not in self.roles

    @property
    def votes_only(self) -> bool:
        """Whether its members vote and are never elected."""
        return self.voting and VOTING_ONLY in self.roles

    @property
    def data(self) -> bool:
        """Whether its members may hold shards."""
        return bool(self.roles & self.flavor.data_roles)

    @property
    def serves(self) -> bool:
        """Whether clients may send requests to its members: true for all but dedicated managers."""
        return not self.roles or bool(self.roles - _NOT_SERVING)

    @property
    def tier(self) -> int:
        """Rank among the tiers; pools without data come last."""
        last = max(self.flavor.tiers.values(), default=0)
        return max((self.flavor.tiers[role] for role in self.roles & self.flavor.tiers.keys()), default=last)

    @cached_property
    def storage(self) -> Storage:
        """Storage of its members. Nodes without data and vote get no volume unless the spec asks for one."""
        implied = not (self.data or self.voting)
        asked = self.spec.storage or Storage(ephemeral=implied)
        ephemeral = self.explicitly_ephemeral or (self.spec.storage is None and implied)
        return asked if asked.ephemeral is ephemeral else structs.replace(asked, ephemeral=ephemeral)

    @property
    def explicitly_ephemeral(self) -> bool:
        """Whether its members have no volumes because the spec says so, or said so when an existing one was made."""
        if self.keeps is not None:
            return EPHEMERAL in self.keeps
        return self.spec.storage is not None and self.spec.storage.ephemeral

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the user by dotted key: the pool's override the cluster's; `null` unsets a setting."""
        chosen: dict[str, Any] = {}
        for config in (self.cluster.spec.config, self.spec.config):
            # Sorted, so that a key written both nested and dotted has one meaning, regardless of its position.
            chosen.update(sorted(flatten(config or {}), key=_by_key))
        return {key: value for key, value in chosen.items() if value is not None and value != {}}

    @cached_property
    def template(self) -> Json:
        """Overrides of the pod: the cluster's and then the pool's, as one patch."""
        return compose(self.cluster.spec.pod_template or {}, self.spec.pod_template or {})

    @property
    def managed(self) -> bool:
        """Whether its new pods get an agent."""
        update = self.cluster.spec.update or UpdatePolicy()
        return bool(self.flavor.agent_image) and update.in_place is InPlace.PREFERRED

    @property
    def role_label(self) -> str:
        """The value of the roles label: what the cluster may lose with a member."""
        return names.roles(data=self.data, voting=self.voting)


def resolve(flavor: Flavor, cluster: SearchCluster) -> tuple[ResolvedPool, ...]:
    """Return the pools of a cluster in spec order."""
    return tuple(ResolvedPool(flavor, cluster, spec) for spec in cluster.spec.pools)


def find(
    flavor: Flavor,
    cluster: SearchCluster,
    name: str,
    extra_files: Mapping[str, str] | None = None,
    keeps: Inputs | None = None,
) -> ResolvedPool:
    """Return a pool by name; raise KeyError when the spec has no such pool."""
    for spec in cluster.spec.pools:
        if spec.name == name:
            return ResolvedPool(flavor, cluster, spec, extra_files or {}, keeps)
    raise KeyError(f"{cluster.metadata.name} has no pool {name!r}")


def bootstrap_member(flavor: Flavor, cluster: SearchCluster) -> str:
    """Return the only member that may form the cluster: the first electable one; empty if there is none."""
    able = (pool for pool in resolve(flavor, cluster) if pool.electable and pool.spec.replicas > 0)
    first = next(able, None)
    return names.member(cluster.metadata.name, first.name, 0) if first else ""


def _by_key(item: tuple[str, Any]) -> str:
    return item[0]

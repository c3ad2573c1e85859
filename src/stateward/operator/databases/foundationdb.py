"""FoundationDB clusters as the operator handles them."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FaultDomain, FoundationDBCluster
from stateward.api.kinds.replacement import RemovalStatus
from stateward.api.kinds.status import MemberStatus
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.connection.answer_limits import Rooms
from stateward.engines.connection.base import Engine, Target
from stateward.engines.foundationdb.database.driver import ASKED, FoundationEngine
from stateward.engines.foundationdb.database.target import FoundationTarget, Shell
from stateward.engines.foundationdb.objects.labels import ENGINE
from stateward.engines.foundationdb.objects.member import member_objects
from stateward.engines.foundationdb.objects.shared import cluster_objects
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.connection import Address, ConnectionStringError, parse_connection_string
from stateward.engines.foundationdb.spec.desired import desired
from stateward.engines.foundationdb.spec.identity import PORT, cluster_file, description
from stateward.engines.foundationdb.spec.identity import member_of as coordinator_of
from stateward.engines.foundationdb.spec.inputs import processes as processes_of
from stateward.engines.pods.agent import VERSION
from stateward.engines.pods.objects import MemberObjects
from stateward.kube.objects.pods import Pod, mounts
from stateward.operator.databases.agents import Agents
from stateward.operator.databases.prospects import prospects
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import FOUNDATIONDB
from stateward.operator.objects.recorded_status import maintenance_end
from stateward.operator.objects.translate import inputs
from stateward.planning.model.intent import State
from stateward.planning.model.observation import Desired, Inputs, ProtocolSwitch
from stateward.planning.model.phase import BEGUN, COORDINATED, parse_phase
from stateward.planning.model.times import parse_time
from stateward.planning.safety.disruption_budget import Budget

TOGETHER = BEGUN & COORDINATED
"""Phases of a restart in which no process of the cluster runs."""


class FoundationDBFamily:
    """FoundationDB clusters; pods get an agent from `agent_image`, Stateward's own image, if it is set."""

    def __init__(
        self, shell: Shell, agent_image: str = "", agents: Agents | None = None, rooms: Rooms | None = None
    ) -> None:
        self.kind = FOUNDATIONDB
        self.container = ENGINE
        self.engine: Engine = FoundationEngine(shell, rooms)
        self.agents = agents
        self._agent_image = agent_image

    def desired(self, cluster: Cluster) -> Desired:
        """Return what should be, with every default filled in."""
        found = desired(foundationdb_cluster(cluster))
        return replace(found, agent=VERSION if self._agent_image and found.in_place else "")

    def member_objects(  # noqa: PLR0913 - the last three are for few members, and by name
        self,
        cluster: Cluster,
        pool: str,
        ordinal: int,
        version: str,
        *,
        crossing: ProtocolSwitch = ProtocolSwitch.NONE,
        extra_files: Mapping[str, str] | None = None,  # noqa: ARG002 - it has no keystore
        keeps: Inputs | None = None,
    ) -> MemberObjects:
        """Return the objects of one member; raises KeyError when the spec has no such pool."""
        build = Build(version, crossing)
        return member_objects(
            foundationdb_cluster(cluster), pool, ordinal, build, agent_image=self._agent_image, keeps=keeps
        )

    def cluster_objects(self, existing: ClusterObjects, budgets: tuple[Budget, ...]) -> list[Json]:
        """Return the objects that all members share."""
        cluster = foundationdb_cluster(existing.cluster)
        mapped, left = uses_config_map(cluster, existing), left_members(cluster, existing)
        return cluster_objects(cluster, budgets, existing.connection, mapped=mapped, left=left)

    def target(self, existing: ClusterObjects) -> Target:
        """Return the pods in which the database's command line may run, those that serve first, and its members."""
        cluster = foundationdb_cluster(existing.cluster)
        pods = [pod for pod in existing.pods if pod.status.pod_ip and not pod.metadata.terminating]
        first = asked_first(cluster, existing)
        pods.sort(key=lambda pod: (not pod.ready, pod.metadata.name not in first, pod.metadata.name))
        counts = processes(existing)
        states = cluster.status.member_states
        away = {m.name: since for m in states if (since := parse_time(missing_since(m))) is not None}
        silent = {m.name: since for m in states if (since := parse_time(m.not_serving_since_time)) is not None}
        return FoundationTarget(
            endpoints=tuple(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods),
            name=cluster.metadata.name,
            identity=description(cluster),
            cluster=cluster,
            known=addresses(cluster, existing.pods, counts),
            earlier=earlier_addresses(cluster, existing.pods, counts),
            domains=domains(cluster, existing.pods),
            processes={s.metadata.name: counts[s.metadata.name] for s in existing.sets if s.spec.replicas > 0},
            lasting=frozenset(
                member_of(pod) for pod in existing.pods if names.claim(member_of(pod)) in pod.claim_names
            ),
            fresh=frozenset(s.metadata.name for s in existing.sets) - {m.name for m in states if m.version},
            all_down=all_restart(pods),
            missing=away,
            silent=silent,
            maintenance_end=maintenance_end(cluster.status),
            prospects=prospects(cluster, existing),
        )


def left_members(cluster: FoundationDBCluster, existing: ClusterObjects) -> frozenset[str]:
    """Return the members that are not created again: those that have left their volumes, and are not kept."""
    keep = cluster.spec.members.keep or () if cluster.spec.members else ()
    marked = (c.metadata for c in existing.claims if names.ANNOTATION_RETIRED in c.metadata.annotations)
    return frozenset(meta.labels.get(names.LABEL_MEMBER, "") for meta in marked) - {*keep}


def uses_config_map(cluster: FoundationDBCluster, existing: ClusterObjects) -> bool:
    """Return whether a pod, or the next pod of a member, mounts the cluster file from a ConfigMap."""
    name = cluster_file(cluster)
    templates = (each.spec.template.spec for each in existing.sets)
    return any(mounts(spec.volumes, name) for spec in (*templates, *(pod.spec for pod in existing.pods)))


def foundationdb_cluster(cluster: Cluster) -> FoundationDBCluster:
    """Return a cluster of this family as what it is."""
    if not isinstance(cluster, FoundationDBCluster):
        raise TypeError(f"{cluster.kind} is not a FoundationDB cluster")
    return cluster


def missing_since(member: MemberStatus) -> str:
    """Return since when a member is missing from the database, or is kept stopped; empty if it is neither.

    The disaster this prevents: a user keeps one member stopped, which counts as missing for 0 seconds, and no other
    member ever leaves.
    """
    return member.last_transition_time if member.state == State.STOPPED else member.missing_since_time


def asked_first(cluster: FoundationDBCluster, existing: ClusterObjects) -> list[str]:
    """Return the ready pods to ask first: all but one of those that are asked are coordinators by the operator's file.

    Others may have an older file, which leads to the database only while the coordinators of before live. The disaster
    this prevents: the coordinators have moved and their pods are replaced, the first pods by name have the older file,
    and a database that serves counts as unavailable. The last one is any other: the operator's file may be the older.
    """
    try:
        addresses = parse_connection_string(existing.connection or "").coordinators
    except ConnectionStringError:
        return []
    named = {coordinator_of(cluster, address) for address in addresses}
    ready = (pod for pod in existing.pods if pod.ready and not pod.metadata.terminating)
    return sorted(pod.metadata.name for pod in ready if member_of(pod) in named)[: ASKED - 1]


def all_restart(pods: Iterable[Pod]) -> bool:
    """Return whether the processes of all pods stop or start together now."""
    phases = [parse_phase(pod.metadata.annotations.get(names.ANNOTATION_PHASE, "")) for pod in pods]
    return bool(phases) and all(phase in TOGETHER for phase in phases)


def member_of(pod: Pod) -> str:
    """Return the member that a pod belongs to."""
    return pod.metadata.labels.get(names.LABEL_MEMBER, "")


def processes(existing: ClusterObjects) -> dict[str, int]:
    """Return how many processes each member has, from what its pod, or else its next pod, is created with.

    The disaster this prevents: the pool asks for more processes, all its serving members count as missing, and are
    replaced.
    """
    made = {s.metadata.name: s.spec.template.metadata.annotations for s in existing.sets}
    made |= {member_of(pod): pod.metadata.annotations for pod in existing.pods}
    return {name: processes_of(inputs(annotations)) for name, annotations in made.items()}


def addresses(cluster: FoundationDBCluster, pods: tuple[Pod, ...], counts: dict[str, int]) -> dict[str, frozenset[str]]:
    """Return the last known addresses of each member: those of its pod, or else what the status remembers of one."""
    remembered: list[RemovalStatus | MemberStatus] = [*cluster.status.member_states, *cluster.status.pending_removals]
    # Addresses are reused: a pod's current address says nothing about its previous user.
    taken = {pod.status.pod_ip for pod in pods} | {""}
    most = max(counts.values(), default=1)
    hosts = {one.name: (one.address, counts.get(one.name, most)) for one in remembered if one.address not in taken}
    hosts |= {member_of(pod): (pod.status.pod_ip, counts.get(member_of(pod), 1)) for pod in pods if pod.status.pod_ip}
    return {name: endpoints(host, count) for name, (host, count) in hosts.items()}


def earlier_addresses(
    cluster: FoundationDBCluster, pods: tuple[Pod, ...], counts: dict[str, int]
) -> dict[str, frozenset[str]]:
    """Return where members that have not joined from their pod were last in the database; empty if that is not known.

    The disaster this prevents: a node is drained, a leaving member with data gets another pod, and the database is
    asked about the address of this pod before a process runs there. It knows of no data at that address, and the member
    is removed with all its data.
    """
    hosts = {member_of(pod): pod.status.pod_ip for pod in pods if pod.status.pod_ip}
    joined = (m for m in cluster.status.member_states if m.version and m.name in hosts and m.address != hosts[m.name])
    last = {m.name: "" if m.address in hosts.values() else m.address for m in joined}
    return {name: endpoints(host, counts.get(name, 1)) if host else frozenset() for name, host in last.items()}


def endpoints(host: str, count: int) -> frozenset[str]:
    """Return the addresses of a member's processes."""
    return frozenset(Address(host, PORT + i).endpoint for i in range(count))


def domains(cluster: FoundationDBCluster, pods: tuple[Pod, ...]) -> dict[str, str]:
    """Return the fault domain of each member: the node of its pod, or else the one that it ran on last."""
    nodes = {state.name: state.node for state in cluster.status.member_states if state.node}
    nodes |= {member_of(pod): pod.spec.node_name for pod in pods if pod.spec.node_name}
    return nodes if cluster.spec.fault_domain is FaultDomain.NODE else {name: name for name in nodes}

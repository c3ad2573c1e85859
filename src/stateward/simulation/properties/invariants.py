"""The invariants: properties that are checked at each of the operator's writes.

The letters are those of docs/properties.md. A write is judged by the operator's knowledge: the API server
at its last live read, and the database at its last read. Later events do not count.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from msgspec import Struct, structs

from stateward.api.values import names
from stateward.api.values.quantity import parse_bytes
from stateward.engines.search.objects.desired import max_unavailable
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.simulation.apiserver.audit import Write
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.cluster.agents import Agent
from stateward.simulation.cluster.budgets import ready
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.properties.departures import Departure, departure_problems
from stateward.simulation.properties.evictions import open_budgets
from stateward.simulation.properties.operator_knowledge import (
    DatabaseKnowledge,
    known_database,
    known_processes,
    restarts_together,
    stop_requested,
)
from stateward.simulation.properties.pool_sizes import POOL_SCALES, with_sizes
from stateward.simulation.properties.volume_growth import GrowthRequest, growth_problems
from stateward.simulation.timing.loop import EPOCH
from stateward.simulation.world.declared_objects import DECLARED
from stateward.simulation.world.world import NAME, NAMESPACE, World

PODS, SETS, CLAIMS = "/pods", "apps/statefulsets", "/persistentvolumeclaims"
OWN_RECORDS = frozenset({"events.k8s.io/events", "coordination.k8s.io/leases"})


class Violation(Struct, frozen=True):
    """A violated property: its letter, the time, and a message."""

    property: str
    at: float
    message: str

    def __str__(self) -> str:
        """Return one line."""
        return f"[{self.property}] at {self.at:.1f} s: {self.message}"


@dataclass(slots=True)
class Round:
    """One live read of a cluster, and the members that the operator stopped since."""

    read_at: float = -1.0
    pods_at: float = -1.0
    """When the same task read the pods last: it reads them again if the database answers late."""
    task: object = None
    taken: set[str] = field(default_factory=set[str])
    uid: str = ""
    """The UID of the cluster resource as it was read; empty if there was none."""


class Watchdog:
    """Checks the writes of one operator process (an `Audit`), and records violations."""

    def __init__(self, world: World, violations: list[Violation]) -> None:
        self.violations = violations
        self.writes = 0
        """Writes that changed something, without leases and events."""
        self.latest: deque[str] = deque(maxlen=5)
        """The latest of these writes, as text."""
        self.disruptions: list[tuple[float, str]] = []
        self._world = world
        self._store = world.store
        self._knowledge: dict[str, DatabaseKnowledge] = {}
        self._rounds: dict[Key, Round] = {}
        self._answer_lost = -1.0
        """The time of the last lost response of a database."""
        self._served: dict[str, float] = {}
        """The time at which each StatefulSet's member first served, by UID."""
        self._recorded: dict[str, set[str]] = {}
        """The members that each cluster resource ever recorded as joined, by its UID."""
        self._store.subscribers.append(self._on_event)

    # The operator's reads.

    def cluster_observed(self, cluster: Cluster) -> None:
        """Record that the operator has read the state of a database."""
        last = self._knowledge.get(cluster.name)
        now = self._world.now
        if last is not None and last.version == cluster.version:
            self._knowledge[cluster.name] = structs.replace(last, at=now)
            return
        self._knowledge[cluster.name] = known_database(cluster, now)

    def ensemble_observed(self, ensemble: Ensemble, serves: bool) -> None:
        """Record that the operator has read the status of a FoundationDB database, which says whether it serves."""
        name = f"{NAMESPACE}.{NAME}"
        last = self._knowledge.get(name)
        found = known_processes(ensemble, self._world.now, last.seen if last is not None else frozenset(), serves)
        if found is not None:
            self._knowledge[name] = found

    def answer_lost(self) -> None:
        """Record that a response of a database was lost: the operator may not know it."""
        self._answer_lost = self._world.now

    def read(self, kind: str, key: Key) -> None:
        """Record a live read."""
        if kind == self._world.clusters:
            there = self._store.get(kind, key)
            uid = there.uid if there is not None else ""
            self._rounds[key] = Round(self._world.now, self._world.now, asyncio.current_task(), uid=uid)

    def listed(self, kind: str, selection: Selection) -> None:
        """Record that the pods of a cluster were read live."""
        task = asyncio.current_task()
        for key, current in self._rounds.items():
            selected = selection.namespace == key.namespace and f"{names.LABEL_CLUSTER}={key.name}," in selection.labels
            if kind == PODS and selected and current.task is task:
                current.pods_at = self._world.now

    # The operator's writes.

    def writing(self, write: Write) -> None:
        """Check a write right before the server performs it."""
        live = self._store.get(write.kind, write.key)
        if write.kind in OWN_RECORDS | DECLARED:
            return
        if write.verb in {"delete", "evict"}:
            self._check_preconditions(write)
        # Objects of people, of which the operator writes the status only.
        reported = write.kind == POOL_SCALES and write.subresource == "status"
        # A delete that names an object that is there no more changes nothing.
        outdated = live is not None and write.verb == "delete" and not self._current(write, live)
        if live is not None and write.kind != self._world.clusters and not reported and not outdated:
            self._check_owner(write, live)
        if live is None or not self._current(write, live):
            return
        if write.verb == "delete" and write.kind == PODS:
            self._check_disruption(live, in_place=False)
        elif write.kind == SETS and part(write.body, "spec").get("replicas") == 0:
            self._check_release(live)
        elif write.verb == "delete" and write.kind == CLAIMS:
            self._check_volume(live)
        elif write.kind == CLAIMS and part(write.body, "metadata", "annotations").get(names.ANNOTATION_GROWN):
            self._check_growth(live, write)

    def wrote(self, write: Write) -> None:
        """Count a write that changed something."""
        if write.kind not in OWN_RECORDS:
            self.writes += 1
            self.latest.append(f"{write.verb} {write.kind} {write.key.name} {write.subresource}".strip())

    def _current(self, write: Write, live: Stored) -> bool:
        """Return whether the preconditions of a write hold, so that it will be performed."""
        wanted = write.options.preconditions if write.options else None
        if wanted is None:
            given = part(write.body, "metadata")
            version = given.get("resourceVersion")
            return given.get("uid", live.uid) == live.uid and (not version or version == live.meta["resourceVersion"])
        version = wanted.resource_version
        return wanted.uid == live.uid and (not version or version == live.meta["resourceVersion"])

    def _check_preconditions(self, write: Write) -> None:
        wanted = write.options.preconditions if write.options else None
        if wanted is None or not wanted.uid or not wanted.resource_version:
            self._violated("a", f"{write.kind} {write.key} is deleted without UID and resourceVersion")

    def _check_owner(self, write: Write, live: Stored) -> None:
        cluster = live.labels.get(names.LABEL_CLUSTER, "")
        resource = self._store.get(self._world.clusters, Key(live.key.namespace, cluster)) if cluster else None
        owner = next((o["uid"] for o in items(live.doc, "metadata", "ownerReferences") if o.get("controller")), "")
        stop_requested = next(
            (o["uid"] for o in items(write.body, "metadata", "ownerReferences") if o.get("controller")), ""
        )
        if owner and owner == stop_requested:
            return
        marked, _, place = live.meta.get("annotations", {}).get(names.ANNOTATION_CREATED_FOR, "").partition(" ")
        if not owner and place == str(live.key):
            gone = resource is None or resource.uid != marked
            if gone is not (write.verb == "delete"):
                state = "gone" if gone else "there"
                self._violated("f", f"{write.verb} of {write.kind} {write.key}, whose cluster is {state}")
            return
        # A round that read the cluster just before its deletion may still write to what is garbage from then on.
        begun = self._rounds.get(Key(live.key.namespace, cluster))
        deleted = resource is None and begun is not None and owner == begun.uid
        loose = write.kind in {PODS, CLAIMS} or deleted
        if not cluster or (not loose and owner and (resource is None or owner != resource.uid)):
            self._violated("f", f"{write.verb} of {write.kind} {write.key}, which has another owner")
        elif not loose and not owner:
            self._violated("f", f"{write.verb} of {write.kind} {write.key}, which has no owner")

    def _check_disruption(self, pod: Stored, *, in_place: bool) -> None:
        member = pod.labels.get(names.LABEL_MEMBER, "")
        cluster = pod.labels.get(names.LABEL_CLUSTER, "")
        key = Key(pod.key.namespace, cluster)
        current = self._rounds.get(key)
        if current is None:
            self._violated("d", f"pod {pod.key.name} is deleted without a live read")
            return
        before = self._store.past(PODS, pod.key, current.pods_at)
        if restarts_together(pod) or (before is not None and before.uid == pod.uid and restarts_together(before)):
            self._record_disruption(pod, "")
            return  # A coordinated restart was requested.
        knowledge = self._knowledge.get(f"{key.namespace}.{key.name}")
        spec = self._spec(key, current.read_at)
        if knowledge is None or spec is None:
            return
        # A node whose answer is lost is not the last one that is asked; what counts is a state without a loss after it.
        unanswered = knowledge.at < current.read_at or self._answer_lost >= knowledge.at
        without_database = (
            unanswered and in_place and stop_requested(member, self._resource(key, current.read_at), before)
        )
        if not without_database:
            self._check_records(member, key, knowledge, current.read_at)
        down = self._down(key, knowledge, current.pods_at)
        unseen = knowledge.at < current.read_at or member not in knowledge.nodes
        if member in down or (unseen and (before is None or not ready(before))):
            self._record_disruption(pod, "which is stopped, was broken already")
            return
        self._record_disruption(pod, "")
        # A member that served only in a lost cluster serves nothing in the one in its place, though its pod is ready.
        counts = member in knowledge.seen or knowledge.at < current.pods_at
        for why in open_budgets(self._store, key, current.read_at) if counts else ():
            self._violated("t", f"{member} is stopped although {why}")
        if without_database:
            # If the database does not respond, only one member may be stopped at a time.
            if down or current.taken:
                others = ", ".join(sorted(down | current.taken))
                self._violated("c", f"{member} is stopped without a database response while {others} are down")
            current.taken.add(member)
            return
        if knowledge.at < current.read_at:
            self._violated("c", f"{member} is stopped by a database state older than the live read")
        # And it is not missing there.
        served = self._has_served(pod, current.read_at) and member in knowledge.seen
        self._check_unavailable(member, down | frozenset(current.taken), knowledge, spec, served=served)
        current.taken.add(member)

    def _check_records(self, member: str, key: Key, knowledge: DatabaseKnowledge, at: float) -> None:
        """Check that every member in the database is recorded: without a record it will not count when it is lost.

        A database that is not available does not tell the operator its members.
        """
        cluster = self._store.get(self._world.clusters, key)
        if cluster is None or knowledge.at < at or not knowledge.serves:
            return
        states = items(cluster.doc, "status", "memberStates")
        recorded = {state["name"] for state in states if state.get("version")}
        own = {s.key.name for s in self._store.all(SETS) if s.labels.get(names.LABEL_CLUSTER) == key.name}
        missing = sorted((knowledge.nodes & own) - recorded)
        if missing:
            self._violated("c", f"{member} is stopped before it is recorded that {', '.join(missing)} joined")

    def _has_served(self, pod: Stored, at: float) -> bool:
        owners = (owner["uid"] for owner in items(pod.doc, "metadata", "ownerReferences"))
        return any(self._served.get(uid, at + 1) <= at for uid in owners)

    def stopping(self, agent: Agent) -> None:
        """Check the stop of a process in its pod like the deletion of a pod."""
        pod = self._store.get(PODS, agent.container.pod)
        if pod is not None:
            self._check_disruption(pod, in_place=True)

    def _record_disruption(self, pod: Stored, suffix: str) -> None:
        self.disruptions.append((self._world.now, pod.labels.get(names.LABEL_MEMBER, "")))
        if suffix:
            self._world.context.trace(f"  pod {pod.key.name}, {suffix}")

    def _check_unavailable(
        self, member: str, down: frozenset[str], knowledge: DatabaseKnowledge, spec: Doc, *, served: bool
    ) -> None:
        total = sum(pool["replicas"] for pool in spec["pools"])
        update = part(spec, "update")
        budget = max_unavailable(update.get("maxUnavailable", 1), total)
        if served and len(down) + 1 > budget:  # A member that never served is not missing.
            text = f"{member} is stopped while {', '.join(sorted(down))} are down, and only {budget} may be"
            self._violated("c", text)
        remaining = (knowledge.voters & knowledge.nodes) - down - {member}
        # The only manager that can be elected may stop: there is no other way to change it.
        alone = len(knowledge.voting) == 1 or knowledge.electable == frozenset({member})
        if member in knowledge.voters and not alone and len(remaining) * 2 <= len(knowledge.voters):
            self._violated("c", f"{member} is stopped, and the managers lose their quorum")
        if update.get("singleCopy") == "Interrupt" or knowledge.data <= {member}:
            return
        for shard, holders in knowledge.holders.items():
            if member in holders and not holders - down - {member}:
                self._violated("c", f"{member} is stopped with the last started copy of {shard}")

    def _check_release(self, workload: Stored) -> None:
        member = workload.labels.get(names.LABEL_MEMBER, "")
        key = Key(workload.key.namespace, workload.labels.get(names.LABEL_CLUSTER, ""))
        current, knowledge = self._rounds.get(key), self._knowledge.get(f"{key.namespace}.{key.name}")
        if current is None:
            self._violated("d", f"{member} is released without a live read")
            return
        if knowledge is not None and any(member in holders for holders in knowledge.holders.values()):
            for why in open_budgets(self._store, key, current.read_at):
                self._violated("t", f"{member} is released with copies although {why}")
        spec = self._spec(key, current.read_at) or {}
        for letter, why in departure_problems(
            Departure(self._world, workload, key, current.read_at, knowledge, spec, self._served)
        ):
            self._violated(letter, f"{member} is released{why}")

    def _check_volume(self, claim: Stored) -> None:
        key = Key(claim.key.namespace, claim.labels.get(names.LABEL_CLUSTER, ""))
        current = self._rounds.get(key)
        spec = self._spec(key, current.read_at) if current is not None else None
        if current is None or spec is None:
            self._violated("d", f"volume {claim.key.name} is deleted without a live read")
            return
        disk = self._world.databases.disks.get(claim.uid)
        # A volume without any process run holds no data.
        if disk is not None and part(spec, "volumes").get("whenScaled", "Retain") != "Delete":
            self._violated("b", f"volume {claim.key.name} is deleted although volumes are retained")
        database = self._world.databases.clusters.get(disk.identity) if disk is not None else None
        for shard in database.shards if database is not None and disk is not None else ():
            own = disk.copies.get(shard.name) if disk is not None else None
            elsewhere = any(c.active and c.allocation in shard.in_sync - {own} for c in shard.copies)
            if own in shard.in_sync and not elsewhere:
                self._violated("b", f"volume {claim.key.name} is deleted with the last copy of {shard.name}")

    def _check_growth(self, claim: Stored, write: Write) -> None:
        key = Key(claim.key.namespace, claim.labels.get(names.LABEL_CLUSTER, ""))
        current = self._rounds.get(key)
        spec = self._spec(key, current.read_at) if current is not None else None
        if spec is None:
            self._violated("d", f"volume {claim.key.name} grows without a live read")
            return
        pool, members = claim.labels.get(names.LABEL_POOL, ""), {s.key for s in self._store.all(SETS)}
        mine = [c for c in self._store.all(CLAIMS) if c.labels.get(names.LABEL_POOL) == pool]
        mine = [c for c in mine if Key(c.key.namespace, c.labels.get(names.LABEL_MEMBER, "")) in members]
        none: Doc = {}
        wanted = next((p for p in items(spec, "pools") if p["name"] == pool), none)
        size = parse_bytes(part(write.body, "spec", "resources", "requests")["storage"])
        now = EPOCH.timestamp() + self._world.now
        for why in growth_problems(GrowthRequest(size, mine, wanted, now)):
            self._violated("j", f"volume {claim.key.name} grows by itself{why}")

    def _spec(self, key: Key, at: float) -> Doc | None:
        found = self._resource(key, at)
        return with_sizes(found.doc) if found is not None else None

    def _resource(self, key: Key, at: float) -> Stored | None:
        return self._store.past(self._world.clusters, key, at) or self._store.get(self._world.clusters, key)

    def _down(self, key: Key, knowledge: DatabaseKnowledge, at: float) -> frozenset[str]:
        """Return the members that are known to have joined, should run, and are known not to serve."""
        found: set[str] = set()
        resource = self._resource(key, at)
        joined = knowledge.nodes | self._recorded.get(resource.uid if resource is not None else "", set())
        for workload in self._store.all(SETS):
            if workload.labels.get(names.LABEL_CLUSTER) != key.name or workload.key.namespace != key.namespace:
                continue
            member = workload.key.name
            if member not in knowledge.seen or member not in joined:
                continue  # It belonged to an earlier, lost database, or was there while no answer could be read.
            if self._served.get(workload.uid, at + 1) > at or not workload.doc["spec"].get("replicas", 1):
                continue
            pod = self._store.past(PODS, Key(key.namespace, names.pod(member)), at)
            if pod is None or pod.terminating or not ready(pod) or member not in knowledge.nodes:
                found.add(member)
        return frozenset(found)

    def _on_event(self, kind: str, event: Event) -> None:
        if kind == PODS and event.new is not None and ready(event.new):
            for owner in items(event.new.doc, "metadata", "ownerReferences"):
                self._served.setdefault(owner["uid"], self._world.now)
        if kind == self._world.clusters and event.new is not None:
            joined = {state["name"] for state in items(event.new.doc, "status", "memberStates") if state.get("version")}
            self._recorded.setdefault(event.new.uid, set()).update(joined)

    def _violated(self, letter: str, message: str) -> None:
        self._world.context.trace(f"VIOLATION [{letter}] {message}")
        self.violations.append(Violation(letter, self._world.now, message))

"""A world with disks that know their database, votes that are known by ids, claims that end late, and old caches.

A process refuses to start without a role that its disk needs, and joins no other database than that of its disk. A
second database beside one that could still elect ends the search.
"""

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import Plan, plan
from tests.unit.planning.kubernetes import checksum
from tests.unit.planning.search.pools import KEPT_INPUTS, VOTES_ONLY, RolePool, roles_kept
from tests.unit.planning.world import World
from tests.unit.planning.world_objects import Body, Index, Pod, Workload

ID = "id-"
"""How the id of an absent voter begins, by which the database then knows it."""
MEMORY = 4
"""Rounds that a cache lags behind at most."""


@dataclass
class Disk:
    """What a process has written."""

    identity: str = ""
    """The database that it belongs to."""
    voted: bool = False
    only: bool = False
    """Whether it votes and is never elected."""
    data: bool = False


@dataclass
class SearchedWorkload(Workload):
    ephemeral: bool = False


@dataclass
class SearchedPod(Pod):
    ephemeral: bool = False
    served: bool = False


class DiskWorld(World):
    """A world whose processes find what earlier ones have written."""

    def __init__(self, *pools: RolePool, zones: int, max_unavailable: int | None) -> None:
        super().__init__(*pools, zones=zones, max_unavailable=max_unavailable)
        self.disks: dict[str, Disk] = {}
        self.uid = "cluster"
        self.aware = False
        """Whether the database spreads the copies of a unit over zones."""
        self.accepts_losses = False
        """Whether users delete volumes with data, and form new clusters without it."""
        self.ending_claims: set[str] = set()
        """Members whose claims are deleted, and end with their pods."""
        self.lag = 0
        """Rounds that the caches lag behind."""
        self.past: deque[tuple[float, tuple[o.Member, ...]]] = deque(maxlen=MEMORY)
        self.wrote = 0.0
        """When the operator last wrote something."""

    # What a round reads and does

    def observe(self) -> o.Observation:
        return replace(super().observe(), uid=self.uid)

    def decide(self) -> tuple[o.Observation, Plan]:
        """Plan from caches that may be old, and again from live reads if the plan needs them."""
        live = self.observe()
        cached = self.remembered(live)
        self.past.append((self.now, live.members))
        made = plan(cached, self.now)
        if not made.needs_live:
            return cached, made
        return live, plan(live, self.now)

    def remembered(self, live: o.Observation) -> o.Observation:
        """Return what the caches show: objects from rounds ago, and all else as it is."""
        if not self.lag or len(self.past) < self.lag:
            return live
        when, members = self.past[-self.lag]
        return replace(live, members=members, live=False, settled_writes=live.settled_writes and self.wrote < when)

    def perform(self, made: Plan) -> None:
        """Carry out the actions up to the first that the API server refuses, because its object is another by now."""
        for action in made.actions:
            if self.lag and self.is_outdated(action):
                return
            self.wrote = self.now
            self.carry_out(action)

    def is_outdated(self, action: a.Action) -> bool:
        body = self.bodies.get(getattr(action, "member", ""))
        for kind in ("claim", "pod", "workload"):
            named = getattr(action, kind, None)
            there = getattr(body, kind, None)
            if isinstance(named, o.Ref) and (there is None or there.uid != named.uid):
                return True
        return False

    # What the operator writes

    def write(self, body: Body, pool: str, version: str, keeps: Mapping[str, str] | None) -> None:
        """Write a member's configuration and template, with the inputs that it keeps."""
        spec = self.spec(pool)
        inputs, data, voting, ephemeral = spec.inputs(version), spec.data, spec.voting, spec.ephemeral
        if keeps is not None:
            inputs = {name: digest for name, digest in inputs.items() if name not in KEPT_INPUTS} | dict(keeps)
            data, voting, ephemeral = roles_kept(keeps)
        recorded = self.status.bootstrap
        first = next((f"c-{p.name}-0" for p in self.pools if p.voting and p.electable and p.replicas), "")
        formed = recorded is not None and recorded.formed
        candidate = not formed and body.name == (recorded.member if recorded is not None else first)
        uid = body.workload.uid if body.workload else f"workload-{next(self.ids)}"
        if body.pod is not None and body.config != inputs:
            body.pod.arrives = self.now + self.propagation
        body.config = inputs
        body.workload = SearchedWorkload(uid, inputs, version, voting, data, candidate, ephemeral=ephemeral)

    def delete_volume(self, action: a.DeleteVolume) -> None:
        super().delete_volume(action)
        self.ending_claims.discard(action.member)

    # What Kubernetes shows and does

    def member(self, body: Body) -> o.Member:
        made, pod = super().member(body), body.pod
        if pod is not None and made.pod is not None:
            served = pod.steps >= 2 or has_served(pod)
            made = replace(made, pod=replace(made.pod, claims=not in_pod(pod), served=served))
        if made.claim is not None and body.name in self.ending_claims:
            made = replace(made, claim=replace(made.claim, terminating=True))
        return made

    def step_kubernetes(self) -> None:
        super().step_kubernetes()
        for name in list(self.ending_claims):
            body = self.bodies.get(name)
            if body is None or body.claim is None or body.pod is None or not body.pod.node:
                self.ending_claims.discard(name)
                if body is not None and body.claim is not None:
                    self.lose_claim(body)

    def lose_claim(self, body: Body) -> None:
        body.claim = None
        self.wipe(body)

    def start(self, body: Body, workload: Workload) -> None:
        super().start(body, workload)
        assert body.pod is not None
        fields = {name: getattr(body.pod, name) for name in Pod.__dataclass_fields__}
        body.pod = SearchedPod(**fields, ephemeral=isinstance(workload, SearchedWorkload) and workload.ephemeral)
        if body.pod.ephemeral:
            self.wipe(body)

    def stop(self, body: Body, pod: Pod) -> None:
        if pod.terminating and body.name not in self.stuck and pod.node not in self.dead_nodes:
            body.pod = None
            if in_pod(pod):
                self.wipe(body)
        pod.terminating, pod.ready = True, False

    def trouble(self, body: Body, pod: Pod) -> str:
        if not in_pod(pod) and body.claim is None:
            return f"Unschedulable: persistentvolumeclaim data-{body.name} not found"
        found = super().trouble(body, pod)
        if found:
            return found
        disk = self.disk(body.name)
        if (disk.data and not pod.data) or (disk.voted and not pod.voting and not pod.data):
            return "CrashLoopBackOff: node does not have the role, but has data"
        return ""

    def go_on(self, body: Body, pod: Pod) -> None:
        disk = self.disk(body.name)
        if self.forms(body, pod, disk):
            self.identity, self.voters = f"identity-{next(self.ids)}", {body.name}
            pod.steps, disk.identity = 2, self.identity
        allowed, self.may_form = self.may_form, False
        super().go_on(body, pod)
        self.may_form = allowed
        lost = self.identity and disk.identity not in ("", self.identity)
        if pod.steps >= 2 and (lost or not self.is_heard(pod)):
            pod.ready, pod.steps = False, 0
        if pod.steps >= 2:
            disk.identity = disk.identity or self.identity
            disk.voted, disk.only, disk.data = pod.voting, VOTES_ONLY in pod.inputs, disk.data or pod.data
            assert pod.data or not disk.data, f"{body.name} runs without the role of its data"
        if pod.ready and isinstance(pod, SearchedPod):
            pod.served = True

    def forms(self, body: Body, pod: Pod, disk: Disk) -> bool:
        """Return whether a process with the permission forms a database now; a second one ends the search."""
        starts = pod.granted and pod.running and pod.steps < 2 and pod.node not in self.dead_nodes
        if not starts or disk.identity or self.available:
            return False
        others = self.identity and self.majority_is_possible()
        assert not others, f"a second database on {body.name}: {self.identity} still has {self.voters}"
        return self.may_form and not self.trouble(body, pod)

    def may_join(self, body: Body, pod: Pod) -> bool:
        identity = self.disk(body.name).identity
        # An empty process joins an elected manager: it never stands for a database of which none runs.
        known = identity == self.identity or (not identity and self.available)
        return known and self.is_heard(pod) and super().may_join(body, pod)

    def is_heard(self, pod: Pod) -> bool:
        """Return whether a process has the security of most voters: others do not talk to them."""
        voters = Counter(secured(other) for name, other in self.joined().items() if name in self.voters)
        return not voters or secured(pod) == voters.most_common(1)[0][0]

    def bereft(self, body: Body, pod: Pod) -> bool:
        """Return what the world does, but for a pod that has served: its container keeps what it began with."""
        return not has_served(pod) and super().bereft(body, pod)

    def restart_container(self, name: str) -> None:
        """Let the container of a member end and start again in its pod."""
        body = self.bodies[name]
        pod = body.pod
        assert pod is not None
        pod.ready, pod.steps = False, 0
        if not pod.agent:
            return
        if pod.phase in ("stop", "stop-coordinated"):
            pod.process = "stopped"
            return
        pod.process = "starting"
        if pod.phase in ("start", "start-coordinated") and pod.mounted == checksum(body.config):
            pod.runs, pod.given = pod.mounted, dict(body.config or {})

    # What the database knows

    def spots(self, index: Index) -> list[str]:
        """Return where a copy may go: with awareness of zones, each has at most its part of the copies.

        A copy that has to move does not count: its own place is free for it.
        """
        return self.spread_over_zones(index, self.draining, super().spots(index))

    def place_for(self, index: Index, step: a.Move) -> str:
        """Return the first place that the database accepts for a copy; none if it accepts none."""
        if not self.aware:
            return super().place_for(index, step)
        found = self.spread_over_zones(index, self.draining | {step.origin}, super().spots(index))
        return next((name for name in (step.target, *step.others) if name in found), "")

    def spread_over_zones(self, index: Index, moving: Collection[str], found: list[str]) -> list[str]:
        if not (self.zones and self.aware):
            return found
        zones = {name: pod.zone for name, pod in self.joined().items() if pod.data}
        most = -(-index.wanted // max(1, len(set(zones.values()))))
        places = [c.target or c.member for c in index.copies if c.target or c.member not in moving]
        held = Counter(zones.get(name, "") for name in places)
        return [name for name in found if held[zones[name]] < most]

    def disk(self, name: str) -> Disk:
        return self.disks.setdefault(name, Disk())

    def clear_consent(self, _: a.ClearConsent) -> None:
        """Forget the database that the user has given up, unless one of its voters runs."""
        super().clear_consent(_)
        self.give_up()

    def give_up(self) -> None:
        """Give up a database of which no voter runs, as a user does who consents to a new one."""
        running = (name for name, body in self.bodies.items() if body.pod is not None and name in self.voters)
        if not self.available and not any(self.disk(name).identity == self.identity for name in running):
            self.forget_database()
            self.lossy = True

    def majority_is_possible(self) -> bool:
        """Return whether enough voters have their disks for an election, and one of them can be elected."""
        there = {n for n in self.voters if n in self.disks and self.disks[n].identity == self.identity}
        return len(there) > len(self.voters) // 2 and not all(self.disks[n].only for n in there)

    def only_data(self, database: o.Database) -> bool:
        """Return whether no other member could take a copy now: a restart is then the only way, whatever the spec."""
        there = {n for n, b in self.bodies.items() if (part := b.pod or b.workload) is not None and part.data}
        nodes = {node.name for node in database.nodes.values() if node.data}
        return len(nodes | there) == 1 or super().only_data(database)

    def wipe(self, body: Body) -> None:
        if self.identity and body.name in self.voters and self.disk(body.name).identity == self.identity:
            self.voters = (self.voters - {body.name}) | {f"ghost-{next(self.ids)}"}
        self.disks.pop(body.name, None)
        if self.identity and not self.majority_is_possible():
            self.forget_database()
            self.lossy = True
        super().wipe(body)

    def forget_database(self) -> None:
        """Give a database up that can elect no manager any more."""
        self.identity, self.voters, self.indices = "", set(), []

    def step_database(self) -> None:
        told = self.exclusions
        self.exclusions = frozenset(name.removeprefix(ID) for name in told)
        super().step_database()
        self.exclusions = told

    def database(self) -> o.Database | o.Unknown:
        found = super().database()
        if isinstance(found, o.Unknown):
            return found
        names = {name: name if name in found.nodes else f"{ID}{name}" for name in found.voters}
        absent = frozenset(names[name] for name in names.keys() - found.nodes.keys())
        return replace(found, voters=frozenset(names.values()), nameless=absent)

    def check_data(self) -> None:
        if not self.lossy:
            super().check_data()


def in_pod(pod: Pod) -> bool:
    """Return whether a pod keeps its data itself."""
    return isinstance(pod, SearchedPod) and pod.ephemeral


def secured(pod: Pod) -> str:
    """Return with which security a process runs: those of different security do not talk to each other."""
    return (pod.given or pod.inputs).get("security/on", "")


def has_served(pod: Pod) -> bool:
    return isinstance(pod, SearchedPod) and pod.served

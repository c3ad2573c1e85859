"""A small world in memory that plans are made of and carried out in, step by step, without any clock or I/O.

It knows just enough: StatefulSets that make pods, pods that start, crash or hang by what they are made from, a database
whose nodes join, vote, place and move shards, and a status that is the only memory of the operator. After every plan it
checks what must be true in every state (`check`), so each scenario is a proof of those promises too.
"""

from collections.abc import Callable
from copy import deepcopy

from msgspec.structs import replace

from stateward.api.values.conditions import stalled
from stateward.operator.objects.recorded_status import bootstrap, maintenance_end
from stateward.planning.facts.agents_to_ask import members_to_ask
from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.phase import COORDINATED
from stateward.planning.model.scaling import with_sizes
from stateward.planning.plan import Plan, plan
from stateward.planning.report.disk_status import samples
from stateward.planning.report.pending_removals import released_members, removals
from stateward.planning.report.scaling_status import recorded_sizes
from stateward.planning.report.status import parse_time, status
from tests.support.kstatus import CURRENT, FAILED, IN_PROGRESS, judged
from tests.unit.planning.applier import Hands
from tests.unit.planning.kubernetes import checksum
from tests.unit.planning.pools import GIB, PoolSpec, gateway, hot, managers, mixed
from tests.unit.planning.world_objects import Body, Index, Shard, made_for

__all__ = ["GIB", "Index", "PoolSpec", "Shard", "World", "gateway", "hot", "managers", "mixed", "settled"]

RECORDS = (
    a.RecordBootstrap,
    a.RecordRemoval,
    a.CancelRemoval,
    a.MarkVolume,
    a.MarkState,
    a.ForgetState,
    a.RetainVolume,
    a.OwnVolume,
)
"""Recorded state."""

TICK = 10.0
"""Seconds that pass in one step."""


class World(Hands):
    """One cluster, its operator's status, and the database behind it."""

    def observe(self) -> o.Observation:
        """Return what is there, with the answers of the agents that are asked."""
        silent = self.silent()
        asked = {m.name for m in members_to_ask(silent)}
        heard = (replace(m, process=self.answer(m.name)) if m.name in asked else m for m in silent.members)
        return replace(silent, members=tuple(heard))

    def answer(self, name: str) -> o.Process | o.Unknown:
        pod = self.bodies[name].pod
        if pod is None or name in self.mute:
            return o.Unknown("no answer")
        runs = pod.runs if pod.process in ("starting", "running") else ""
        return o.Process(o.ProcessState(pod.process), pod.mounted, runs)

    def silent(self) -> o.Observation:
        deployed = self.status.version
        members = tuple(self.member(body) for body in self.bodies.values())
        desired = o.Desired(
            version=self.version,
            pools=tuple(pool.desired(self.version, deployed) for pool in self.pools),
            refusals=self.refusals,
            **self.policy,  # type: ignore[arg-type]
        )
        return o.Observation(
            name="c",
            namespace="ns",
            uid="cluster",
            generation=1,
            desired=with_sizes(desired, recorded_sizes(self.status), members),
            members=members,
            database=self.database(),
            deployed_version=deployed,
            records={
                m.name: o.Record(version=m.version, volume=m.volume, pod=m.pod, zone=m.zone)
                for m in self.status.member_states
                if m.version
            },
            since={m.name: parse_time(m.last_transition_time) or 0.0 for m in self.status.member_states},
            states={m.name: m.state for m in self.status.member_states},
            away={m.name: when for m in self.status.member_states if (when := parse_time(m.not_serving_since_time))},
            missing={m.name: when for m in self.status.member_states if (when := parse_time(m.missing_since_time))},
            causes={m.name: m.missing_reason for m in self.status.member_states if m.missing_reason},
            removals=removals(self.status),
            last_removal=parse_time(self.status.last_removal_time),
            maintenance_end=maintenance_end(self.status),
            let_go=released_members(self.status),
            slots=self.slots,
            bootstrap=bootstrap(self.status),
            restore=self.first_restore,
            saved=self.saved,
            bootstrap_again=self.bootstrap_again,
            settled_writes=self.settled_writes,
            live=True,
            waits={f"{w.subject} {w.reason}": parse_time(w.since_time) or 0.0 for w in self.status.waiting},
            schedule=self.schedule,
            stopped=self.kept_stopped,
            orphans=self.orphans,
            sizes=recorded_sizes(self.status),
            asked=self.asked,
            disk_samples={p.name: samples(p.disk) for p in self.status.pools if p.disk is not None},
        )

    def member(self, body: Body) -> o.Member:
        workload, pod, claim = body.workload, body.pod, body.claim
        return o.Member(
            name=body.name,
            pool=body.pool,
            ordinal=body.ordinal,
            workload=None
            if workload is None
            else o.Workload(
                ref=o.Ref(body.name, workload.uid, "1"),
                inputs=workload.inputs,
                version=workload.version,
                replicas=workload.replicas,
                observed=workload.observed,
            ),
            pod=None
            if pod is None
            else o.Pod(
                ref=o.Ref(f"{body.name}-0", pod.uid, "1"),
                inputs=pod.inputs,
                version=pod.version,
                created=pod.created,
                ready=pod.ready and not pod.terminating,
                running=pod.running,
                terminating=pod.terminating,
                trouble=pod.trouble,
                node=pod.node,
                zone=pod.zone,
                bootstrap="granted" if pod.granted else "",
                candidate=pod.candidate,
                claims=body.claim is not None,
                agent=pod.agent,
                checksum=pod.said,
                phase=o.Phase(pod.phase),
                begun=pod.begun,
                ip="10.0.0.1",
                node_ready=pod.node not in self.dead_nodes,
                taints=tuple(self.taints.get(pod.node, ())),
            ),
            claim=None
            if claim is None
            else o.Claim(
                ref=o.Ref(f"data-{body.name}", claim.uid, "1"),
                requested=claim.requested,
                capacity=claim.capacity,
                storage_class=claim.storage_class,
                expandable=self.expandable,
                left=claim.left,
                earlier=claim.earlier,
                state=claim.state,
                data=claim.data,
                version=claim.version,
                classless=claim.storage_class in self.unprovided,
                owner=claim.owner,
                grown=min(claim.grown, claim.requested),
                resized=claim.resized,
                named=claim.named,
            ),
            config=body.config,
            config_checksum=checksum(body.config) if self.agents and body.config is not None else "",
            made_for=made_for(body),
        )

    def plan(self) -> Plan:
        return plan(self.observe(), self.now)

    def tick(self, *, act: bool = True) -> Plan:
        """Make and carry out one plan, write the status, and let ten seconds pass."""
        observed, made = self.decide()
        for hook in self.hooks:
            hook(made)
        if act:
            self.check(observed, made)
            self.perform(made)
        self.status = status(observed, made, self.status, self.now)
        verdict = judged(self.status.observed_generation, self.status.observed_generation, self.status.conditions)
        stuck = stalled(self.status.conditions) is not None
        assert verdict == (FAILED if stuck else CURRENT if made.settled else IN_PROGRESS), self.status.conditions
        self.pass_time()
        return made

    def decide(self) -> tuple[o.Observation, Plan]:
        """Return what a round reads, and its plan."""
        observed = self.observe()
        return observed, plan(observed, self.now)

    def perform(self, made: Plan) -> None:
        """Carry out the actions of a plan."""
        for action in made.actions:
            self.carry_out(action)

    def pass_time(self) -> None:
        self.now += TICK
        self.step_kubernetes()
        self.step_database()
        self.check_data()

    def run(self, limit: int = 400) -> "World":
        """Continue until the cluster matches its spec and stays so; otherwise fail with the trace."""
        calm = 0
        for _ in range(limit):
            made = self.tick()
            calm = calm + 1 if made.settled else 0
            if calm >= 3:
                return self
        raise AssertionError(f"not settled after {limit} steps:\n{self.story()}")

    def until(self, condition: Callable[["World"], bool], limit: int = 200) -> "World":
        for _ in range(limit):
            if condition(self):
                return self
            self.tick()
        raise AssertionError(f"did not come about in {limit} steps:\n{self.story()}")

    def ticks(self, number: int) -> "World":
        for _ in range(number):
            self.tick()
        return self

    def story(self) -> str:
        """Return the last actions, and what the last plan says."""
        made = self.plan()
        lines = [f"{when - 1e6:7.0f} {action}" for when, action in self.log[-25:]]
        lines += [f"{i.state:>10} {i.member}: {i.sentence}" for i in made.intents.values()]
        lines += [f"     waits {w.subject} {w.reason}: {w.message}" for w in made.waits]
        return "\n".join([*lines, f"voters {self.voters} excluded {set(self.exclusions)}", made.activity])

    def copy(self) -> "World":
        return deepcopy(self)

    def edit(self, **fields: object) -> "World":
        """Set fields of the world, as an edit of the resource would."""
        for name, value in fields.items():
            setattr(self, name, value)
        return self

    def index(self, *units: tuple[int, ...] | Index) -> "World":
        """Add one unit for each tuple of wanted copies, or as given, and wait until it is placed."""
        for unit in units:
            made = unit if isinstance(unit, Index) else Index(f"logs[{len(self.indices)}]", unit[0])
            places = [n for n, p in self.joined().items() if p.data and n not in self.draining]
            node = min(places, key=lambda n: (self.load(n), n))
            made.copies, made.current = [Shard(node, primary=True)], {node}
            made.missing_since = self.now
            self.indices.append(made)
            for _ in range(made.wanted):
                self.pass_time()
        return self

    def load(self, name: str) -> int:
        return sum(c.member == name for i in self.indices for c in i.copies)

    # What must be true in every state

    def check(self, observed: o.Observation, made: Plan) -> None:
        members = {m.name: m for m in observed.members}
        for action in made.actions:
            name = getattr(action, "member", None)
            assert name is None or name in made.intents or isinstance(action, RECORDS), f"{action}"
        for member in members.values():
            if member.workload is not None or member.pod is not None:
                intent = made.intents[member.name]
                assert intent.state.value == "Ready" or intent.sentence, f"{member.name} has no sentence"
        self.check_departures(observed, made)
        self.check_undone(observed, made)
        deleted = {x.member for x in made.actions if isinstance(x, a.DeletePod | a.StopProcess)}
        # Members that restart together by the user's wish may all be down.
        deleted -= {n for n in deleted if (pod := members[n].pod) is not None and pod.phase in COORDINATED}
        serving = {n for n in deleted if (p := members[n].pod) is not None and p.ready}
        if not serving:
            return
        down = {
            n
            for n in derive(observed, self.now).obs.records
            if n in members and members[n].alive and not ((p := members[n].pod) is not None and p.ready)
        }
        budget = observed.desired.max_unavailable
        assert budget is None or len(down | serving) <= budget, f"{serving} go while {down} are down"
        database = observed.database
        if not isinstance(database, o.Database):
            self.check_blind(observed, serving | down)
            return
        for unit in database.units:
            live = {c.member for c in unit.copies if c.live}
            alone = len(live) == 1 and (unit.wanted == 1 or observed.desired.sole_copy is o.SoleCopy.INTERRUPT)
            assert not live or live - serving or alone or len(database.nodes) == 1 or self.only_data(database), (
                f"{unit.name} loses its last live copy with {serving}"
            )
        ending = {n for n, m in members.items() if m.pod is not None and m.pod.terminating}
        managers = {n.name for n in database.nodes.values() if n.voting and n.electable} - ending
        # A vote that this plan takes away is gone before a process stops.
        taken = {n for x in made.actions if isinstance(x, a.ExcludeVoters) for n in x.members}
        for voters in filter(None, (database.voters, database.voters - taken)):
            left = {name for name, node in database.nodes.items() if node.voting and name in voters} - serving
            assert len(left) > len(voters) // 2 or len(managers) == 1, f"the quorum goes with {serving}"

    def check_departures(self, observed: o.Observation, made: Plan) -> None:
        """A serving member is released only if its pool keeps as many serving members as its spec requests."""
        if observed.desired.surge is o.Surge.PREFERRED:
            return
        released = {x.member for x in made.actions if isinstance(x, a.Release)}
        for pool in observed.desired.pools:
            mine = {m.name for m in observed.members if m.pool == pool.name and m.alive and m.pod and m.pod.ready}
            stopped = observed.stopped & {m.name for m in observed.members if m.pool == pool.name and m.alive}
            rest = (mine | stopped) - released
            assert not mine & released & observed.records.keys() or len(rest) >= pool.replicas, (
                f"{mine & released} leave before others serve in their places"
            )

    def check_undone(self, observed: o.Observation, made: Plan) -> None:
        """A settled cluster has no drain in its database but that of a pod that its node or a finalizer holds."""
        draining = observed.database.draining if isinstance(observed.database, o.Database) else frozenset[str]()
        pods = {m.name: m.pod for m in observed.members}
        for name in draining if made.settled else ():
            pod = pods.get(name)
            assert pod is not None, f"settled, and {name} is drained without a pod"
            assert pod.terminating or not pod.node_ready, f"settled, and {name} is drained while its pod runs"

    def check_blind(self, observed: o.Observation, gone: set[str]) -> None:
        """If a database does not respond, one process at a time is restarted, and only on request."""
        assert len(gone) == 1, f"{gone} are down together, and their data is unknown"
        asked = {m.name for m in observed.members if m.pod is not None and m.pod.phase is o.Phase.SCHEDULE}
        assert gone <= asked | observed.stopped, f"{gone} go, and the database does not answer"

    def only_data(self, database: o.Database) -> bool:
        return sum(b.data for b in database.nodes.values()) == 1 and sum(p.replicas for p in self.pools if p.data) == 1

    # Reading the outcome

    def pods(self) -> dict[str, str]:
        """Return the version of every pod that is ready, by member."""
        return {b.name: b.pod.version for b in self.bodies.values() if b.pod is not None and b.pod.ready}

    def did(self, kind: type[a.Action]) -> list[str]:
        """Return the members that an action was taken for, in order."""
        return [getattr(action, "member", "") for _, action in self.log if isinstance(action, kind)]

    def kill(self, name: str) -> "World":
        """Evict a member's pod."""
        pod = self.bodies[name].pod
        assert pod is not None
        pod.terminating, pod.ready = True, False
        return self


_made: dict[str, World] = {}


def settled(*pools: PoolSpec, indices: tuple[tuple[int, ...], ...] = (), **more: object) -> World:
    """Return a cluster that was created, settled, and holds an index for each tuple of wanted copies."""
    key = repr((pools, indices, sorted(more.items())))
    if key not in _made:
        _made[key] = World(*pools, **more).run().index(*indices).run()  # type: ignore[arg-type]
        _made[key].log.clear()
        _made[key].restarts.clear()
    return _made[key].copy()

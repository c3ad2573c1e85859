"""The world of a forecast with a FoundationDB cluster, and with faults."""

from collections.abc import Iterable
from functools import partial
from math import inf

from msgspec.structs import replace

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.engines.foundationdb.spec.coordinators import Prospect
from stateward.forecast.durations import Durations, News
from stateward.planning.facts.protocol import selects_new_programs
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Database, Effect, Member, Node, Observation, Pod, Unknown
from stateward.planning.plan import Plan
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.rehearsal.faults import Fault, Kind
from stateward.simulation.rehearsal.foundationdb.driver import ModelDriver
from stateward.simulation.rehearsal.foundationdb.model import DATABASE, DatabaseModel
from stateward.simulation.rehearsal.foundationdb.start import new_machine
from stateward.simulation.rehearsal.measures import Measures
from stateward.simulation.rehearsal.world import RehearsedWorld

PROSPECTS = {Effect.REPLACE: Prospect.GOES, Effect.RECREATE: Prospect.AWAY_SOON}
"""By the effect that a member waits for."""


class FoundationWorld(RehearsedWorld):
    """A FoundationDB cluster with faults."""

    def __init__(
        self,
        start: Observation,
        now: float,
        durations: Durations,
        cluster: FoundationDBCluster,
        timing: Timing,
        faults: Iterable[Fault] = (),
    ) -> None:
        self._cluster = cluster
        self._arriving: dict[str, None] = {}
        """Members whose processes run, and that the database does not list yet."""
        self._effects: dict[str, Effect] = {}
        """By member: the effect that it waits for, as the status has it."""
        self._due = inf
        """When the database was last expected to change by itself."""
        self._looks = 0
        """How often the database was looked at: each time it may have changed."""
        self._asked: tuple[float, int] | None = None
        """When the operator asked last, and how often the database had been looked at then."""
        self._key: tuple[object, ...] = ()
        """What the last answer depends on."""
        self._answered = start.database
        found = start.database
        # The copies are those of the model: the forecast's own would be others.
        bare = replace(start, database=replace(found, units=())) if isinstance(found, Database) else start
        super().__init__(bare, now, durations, Measures(lambda: now), faults)
        self._model = DatabaseModel(start, cluster, timing, lambda: self.queue.now)
        self._driver = ModelDriver(self._model, cluster)
        self._noticed = self._model.summary()
        self._look()

    def record(self, made: Plan) -> None:
        """Record what the status would, with the effects that members wait for."""
        super().record(made)
        self._effects = {name: intent.effect for name, intent in made.intents.items()}

    def apply(self, action: a.Action) -> None:
        """Perform an action; another member may get the name of one that is removed, and its data may be deleted."""
        super().apply(action)
        if isinstance(action, a.DeleteMember):
            self._model.forget(action.member)
        elif isinstance(action, a.DeleteVolume):
            self._model.wipe(action.member)

    # The database.

    def started(self, member: Member, pod: Pod) -> None:
        """Start the processes of a member; it serves when the database lists them."""
        self.news = News.EVENT
        pod = replace(pod, running=True, ready=True, node_ready=True)
        self._members.all[member.name] = replace(member, pod=pod)
        new = partial(new_machine, self._obs, self._cluster, self._members.all[member.name])
        self._model.start(member.name, pod.ref.uid, self._version_of(member, pod), new)
        self._arriving[member.name] = None
        self._look()

    def left(self, member: Member) -> None:
        """End the processes of a member, if its machine can be reached."""
        if member.name not in self._members.unreachable:
            self._model.end(member.name)
        self._arriving.pop(member.name, None)
        self._look()

    def stopped(self, member: Member) -> None:
        """End the processes of a member with its pod, and lose its data if that is ephemeral."""
        super().stopped(member)
        if member.claim is None:
            self._model.wipe(member.name)

    def grown(self, name: str, before: int, after: int) -> None:
        """Let the disk of a member grow with its volume."""
        self._model.grow(name, before, after)
        super().grown(name, before, after)

    def _answer(self, seen: Observation) -> Database | Unknown:
        if self._asked == (self.queue.now, self._looks):
            return self._answered  # The operator asks once in a round.
        self._asked = (self.queue.now, self._looks)
        prospects = self._prospects(seen)
        # The time matters only to members that are away: all else that the database does is looked at when it does it.
        now = self.queue.now if seen.missing or seen.away else None
        key = (self._looks, now, dict(seen.missing), dict(seen.away), len(seen.records), prospects)
        if key != self._key:
            self._model.advance()
            self._key, self._answered = key, self._driver.observe(seen, prospects)
        return self._answered

    def _apply_to_database(self, action: a.Action) -> None:
        self._model.advance()
        seen = replace(self._obs, members=tuple(self._members.all.values()))
        self._driver.apply(action, seen, self._prospects(seen))
        super()._apply_to_database(action)
        self._look()

    def _version_of(self, member: Member, pod: Pod) -> str:
        """Return the version that a member runs: of the programs beside the image's if its configuration names them."""
        pool = self._members.pools.get(member.pool)
        beside = pod.beside and pool is not None and pool.crossings and selects_new_programs(pool, member.config)
        return pod.beside if beside else pod.version

    def _prospects(self, seen: Observation) -> dict[str, Prospect]:
        """Return the members that do not simply stay."""
        wishes = seen.desired.replacement
        named = (wishes.replace | wishes.undrained | seen.removals.keys()) - wishes.keep
        found = {n: PROSPECTS[effect] for n, effect in self._effects.items() if effect in PROSPECTS}
        found |= {m.name: Prospect.AWAY_SOON for m in seen.members if m.pod is not None and not m.pod.node_ready}
        return found | dict.fromkeys(named, Prospect.GOES)

    def _look(self) -> None:
        """Let the database come to the present, and measure, notice and await what it does."""
        self._looks += 1
        self._model.advance()
        self._measure()
        self._list()
        seen = self._model.summary()
        if seen != self._noticed:
            self._noticed, self.news = seen, self.news or News.SILENT
        due = self._model.next_change()
        if due < inf and due != self._due:
            self.queue.after(max(0.0, due - self.queue.now), self._look)
        self._due = due

    def _measure(self) -> None:
        now, measures, found = self.queue.now, self.measures, self._model.exposure()
        measures.single.set_all(found.single, now)
        measures.red.set_all(found.red, now)
        measures.refused.set_all([DATABASE] if found.refused else [], now)
        members = self._members.all
        mine = [name for name in self._obs.records if name in members and members[name].alive]
        measures.down.set_all([name for name in mine if not self._model.serves(name)], now)

    def _list(self) -> None:
        """Let the members join that the database lists now, and leave that it lists no longer."""
        nodes, members, listed = self._copies.nodes, self._members.all, self._model.listed()
        for name in [each for each in nodes if each not in listed]:
            self._copies.node_left(name)
            if name in members and self._model.machines[name].runs:
                self._arriving[name] = None
        for name in [each for each in self._arriving if each in listed]:
            del self._arriving[name]
            member = members.get(name)
            if member is not None and member.pod is not None and not member.pod.terminating:
                version = self._model.machines[name].workers[0].version
                self._copies.node_joined(Node(name, version, data=True, voting=False))
                self._record_join(member, member.pod)
                self.happened("joined", name)

    # Faults.

    def _struck(self, outages: dict[str, int], fault: Fault) -> None:
        for name in outages:
            self._model.cut(name, dead=fault.kind is Kind.NODE)
        self._look()

    def _returned(self, name: str, *, restarted: bool) -> None:
        if not restarted:
            self._model.heal(name)

    def _forgot(self, name: str) -> None:
        self._model.wipe(name)

    def _reach(self) -> None:
        self._look()

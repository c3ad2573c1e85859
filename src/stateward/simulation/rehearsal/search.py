"""The rules of OpenSearch and Elasticsearch in a rehearsal: elections, and copies of shards.

Without a majority of the voting configuration the database does not answer, and neither drops nor accepts members.
"""

from collections.abc import Iterable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from stateward.forecast.durations import Durations, News
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Database, Member, Observation, Pod, Unit, Unknown
from stateward.simulation.opensearch.joining import quorum, reconfigure
from stateward.simulation.rehearsal.faults import Fault
from stateward.simulation.rehearsal.measures import ShardMeasures
from stateward.simulation.rehearsal.rules import Words
from stateward.simulation.rehearsal.timings import Spread
from stateward.simulation.rehearsal.world import RehearsedWorld

DETECTED = 30.0
"""Seconds until the database drops a node that is silent. Source: `cluster.fault_detection.follower_check`, three
checks of ten seconds."""
SILENT = "there is no elected manager"


class SearchRules(Struct, frozen=True):
    """The rules of OpenSearch and Elasticsearch."""

    words: Words = Words(
        unit="shard",
        units="shards",
        unknown="how often shards lack copies or refuse writes is not known: the database does not report its shards",
        away="no elected manager",
        assumed="all shards are written to, no image is pulled",
    )
    plays_forecast: bool = True
    """Whether its runs without a fault and with the usual timings are the forecast."""

    def problem(self, start: Observation) -> str | None:  # noqa: ARG002 - every cluster can be played
        """Return None: what is not known of a cluster is not measured."""
        return None

    def paced(self, durations: Durations, spread: Spread) -> tuple[Durations, Spread]:
        """Return the same: these are the durations of a search engine."""
        return durations, spread

    def known(self, start: Observation) -> bool:
        """Return whether the database reports its shards: without them nothing about copies and writes is known."""
        return isinstance(start.database, Database) and bool(start.database.units)

    def world(
        self, start: Observation, now: float, durations: Durations, faults: Iterable[Fault] = ()
    ) -> RehearsedWorld:
        """Return a cluster as it is at the begin of a run."""
        return SearchWorld(start, now, durations, faults)


class SearchWorld(RehearsedWorld):
    """A cluster of a search engine with faults."""

    def __init__(self, start: Observation, now: float, durations: Durations, faults: Iterable[Fault] = ()) -> None:
        database = start.database if isinstance(start.database, Database) else None
        self._shards = ShardMeasures(lambda: now, database.units if database else ())
        self._gone: dict[str, None] = {}
        """Members whose departure the database has not processed: it has no elected manager."""
        self._arriving: dict[str, None] = {}
        """Members that wait for an elected manager to join."""
        self._configuration = tuple(sorted(database.voters)) if database else ()
        super().__init__(start, now, durations, self._shards, faults)

    @property
    def elected(self) -> bool:
        """Whether the database has an elected manager; it is only lost by a fault."""
        nodes = self._copies.nodes
        live = {name for name, node in nodes.items() if node.voting and name not in self._gone}
        live |= {name for name in self._arriving if name in self._configuration}
        return not self.disturbed or not self._configuration or quorum(self._configuration, live)

    def observation(self) -> Observation:
        """Return what the operator would observe now."""
        seen = super().observation()
        if not isinstance(seen.database, Database):
            return seen
        if not self.elected:
            return replace(seen, database=Unknown(SILENT))
        voters = frozenset(self._configuration) if self.disturbed else seen.database.voters
        return replace(seen, database=replace(seen.database, health=self._shards.health, voters=voters))

    # The database.

    def started(self, member: Member, pod: Pod) -> None:
        """Let a member join, or wait until the database has an elected manager to accept it."""
        if not self.formed:
            super().started(member, pod)
            return
        self._arriving[member.name] = None
        self._members.all[member.name] = replace(member, pod=replace(pod, running=True))
        self._elect()

    def left(self, member: Member) -> None:
        """Remove a member from the database, or once it has an elected manager again."""
        name = member.name
        self._arriving.pop(name, None)
        if name in self._copies.nodes:
            self.measures.member(name, up=not member.alive)
            self._gone[name] = None
            self._elect()

    def stopped(self, member: Member) -> None:
        """Remove a member from the database, with its data if that is ephemeral; a member that leaves is not down."""
        super().stopped(member)
        if not member.alive:
            self.measures.member(member.name, up=True)

    def _elect(self) -> None:
        """Process departures and arrivals, if a majority of the voting configuration is there."""
        elected = self.elected
        self._shards.quorum(present=elected)
        if not elected:
            self.news = self.news or News.SILENT
            return
        gone, self._gone = self._gone, {}
        arriving, self._arriving = self._arriving, {}
        for name in gone:
            self._copies.node_left(name)
        for name in arriving:
            member = self._members.all.get(name)
            if member is not None and member.pod is not None and not member.pod.terminating:
                super().started(member, member.pod)
                self.measures.member(name, up=True)
        if gone and not arriving:
            self._revote()

    def _apply_to_database(self, action: a.Action) -> None:
        if self.elected:
            super()._apply_to_database(action)

    def _revote(self) -> None:
        super()._revote()
        database = self._database
        if database is not None:
            live = [node.name for node in self._copies.nodes.values() if node.voting]
            before = self._configuration or tuple(sorted(database.voters))
            self._configuration = reconfigure(before, live, database.voting_exclusions, database.leader)

    def _unit_changed(self, unit: Unit) -> None:
        self._shards.unit(unit)

    # Faults.

    def _struck(self, outages: dict[str, int], fault: Fault) -> None:
        for name in outages:
            self.measures.member(name, up=name not in self._copies.nodes)
        self._reach()
        if fault.seconds > DETECTED:
            self.queue.after(DETECTED, partial(self._drop, outages))

    def _drop(self, outages: dict[str, int]) -> None:
        self.news = self.news or News.SILENT
        for member in self._still_out(outages):
            self.left(member)

    def _returned(self, name: str, *, restarted: bool) -> None:
        if restarted:
            self.left(self._members.all[name])  # A process that ended at once is not in the database either.

    def _forgot(self, name: str) -> None:
        self._copies.forget(name)

    def _reach(self) -> None:
        """Let the database and the measures know which machines are silent."""
        silent = frozenset(self._members.unreachable)
        self._shards.unreachable(silent)
        self._copies.reach_all_but(silent)

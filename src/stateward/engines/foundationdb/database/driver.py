"""The driver of FoundationDB: every question is one `status json`, and what is told is judged by what was printed.

Exclusions by locality are Stateward's: what is excluded so and is not to leave is included again. Nothing else is: an
exclusion by address that a person has made stays.
"""

from collections.abc import Collection

from stateward.engines.connection.answer_limits import Rooms
from stateward.engines.connection.base import NO, EngineError, RefusedError, Target, TooLargeError, UnreachableError
from stateward.engines.foundationdb.database import commands
from stateward.engines.foundationdb.database.commands import STATUS, Outcome, Printed, judge
from stateward.engines.foundationdb.database.exclusion import draining
from stateward.engines.foundationdb.database.leaving import Exclusions, askable, exclusions, known_addresses, marked
from stateward.engines.foundationdb.database.maintenance import PERIOD, own, zone_of
from stateward.engines.foundationdb.database.members import view
from stateward.engines.foundationdb.database.picture import NEVER, absent, picture, provable
from stateward.engines.foundationdb.database.reader import status as read_status
from stateward.engines.foundationdb.database.status import Status
from stateward.engines.foundationdb.database.target import FoundationTarget, Shell, meant
from stateward.engines.foundationdb.database.upkeep import (
    candidates,
    chosen,
    coordinating,
    coordination,
    redundancy,
    unmovable,
)
from stateward.engines.foundationdb.spec.connection import Address
from stateward.engines.foundationdb.spec.identity import coordinator
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import TOO_LARGE, Allocation, Database, Unknown

ASKED = 3
"""Pods that are asked, one after the other, until one answers."""
QUESTION, PROOF, CHANGE = 10, 10, 30
"""Seconds for a status, for the proof that a member is empty, and for anything that is told."""


class FoundationEngine:
    """The driver; `shell` runs the database's command line, `rooms` bounds what is read of all clusters at once."""

    def __init__(self, shell: Shell, rooms: Rooms | None = None) -> None:
        self._shell = shell
        self._rooms = rooms or Rooms()

    async def observe(self, target: Target) -> Database | Unknown:
        """Return one consistent picture of the database, or why there is none; never a part of one.

        Where the target lets it, it proves that those that leave are empty: by a blocking `exclude` of them, once more,
        or of the last addresses of those without processes, which are included again at once.
        """
        try:
            mine = meant(target)
            pod, status = await self._status(mine)
            proved = await self._proved(mine, pod, status) if mine.proves else frozenset[str]()
        except TooLargeError as error:
            return Unknown(str(error), TOO_LARGE)
        except EngineError as error:
            return Unknown(str(error))
        return picture(mine, status, proved)

    async def form(self, target: Target) -> None:
        """Make the database, empty; raise `RefusedError` where there is one, or that is not certain."""
        mine = meant(target)
        pod, status = await self._status(mine)
        recovery = status.cluster.recovery_state
        if recovery is None or recovery.name != NEVER:
            raise RefusedError("the database does not report that it was never created")
        spec = mine.cluster.spec
        command = commands.configure(spec.redundancy.value, spec.storage_engine.value, new=True)
        await self._told(pod, command)

    async def tend(self, target: Target) -> None:
        """Tell it how many copies it keeps, and who its coordinators are, where that is not what it should be."""
        mine = meant(target)
        pod, status = await self._certain(mine)
        if redundancy(mine, status):
            await self._told(pod, f"configure {mine.cluster.spec.redundancy.value}")
            return
        seen, now = view(status, mine.known), coordinating(mine, status)
        if seen is not None and now is not None and coordination(mine, seen, now):
            await self._coordinators(mine, pod, chosen(mine, candidates(mine, seen, frozenset()), now).members)

    async def drain(self, target: Target, members: frozenset[str]) -> None:
        """Exclude these members, and include all others that were excluded as members.

        Coordinators change first, away from those that leave. Whoever cannot be excluded yet is left for later, and the
        picture says why.
        """
        mine = meant(target)
        pod, status = await self._certain(mine)
        back = draining(status) - members
        if back:
            await self._told(pod, commands.include(back, known_addresses(mine, status, back)))
        wanted = exclusions(mine, status, members)
        if wanted.members:
            await self._away(mine, pod, status, members)
            await self._exclude(pod, wanted)

    async def limit_allocation(
        self,
        target: Target,
        allocation: Allocation,  # noqa: ARG002 - there is nothing that could be allowed in part
        members: frozenset[str] = frozenset(),
    ) -> None:
        """Put the zone of members that go down for a moment into maintenance; nothing where they are of several.

        Raises RefusedError where a person has put another zone into maintenance: the database has one at a time.
        """
        mine = meant(target)
        pod, status = await self._certain(mine)
        now, seen = status.cluster.maintenance_zone, view(status, mine.known)
        zone = zone_of(seen, members) if seen is not None else ""
        if now and not own(status):
            if zone != now:
                raise RefusedError(f"zone {now} is in maintenance, which a user started", NO)
        elif zone:
            await self._told(pod, commands.maintenance(zone, PERIOD))

    async def restore_allocation(self, target: Target) -> None:
        """End the maintenance that was begun for members that went down; one that a person has begun goes on."""
        mine = meant(target)
        pod, status = await self._certain(mine)
        if own(status):
            await self._told(pod, commands.MAINTENANCE_OFF)

    async def flush(self, target: Target) -> None:
        """Do nothing: what is acknowledged is on the disks of the logs."""

    async def exclude_voters(self, target: Target, members: frozenset[str]) -> None:
        """Move coordinators away from members that are not drained; there is nothing to take back.

        Where nobody can take a coordinator over, it stays, and its member with it.
        """
        if members:
            mine = meant(target)
            pod, status = await self._certain(mine)
            await self._away(mine, pod, status, members)

    async def add_user(self, target: Target, name: str, password: str) -> None:  # noqa: ARG002
        """Refuse: the database has no users."""
        raise RefusedError("FoundationDB has no users")

    async def move_copies(self, target: Target, moves: tuple[Move, ...]) -> None:  # noqa: ARG002
        """Refuse: the database places copies by itself."""
        raise RefusedError("FoundationDB places copies by itself")

    async def resume_balancing(self, target: Target) -> None:
        """Do nothing: its balancing is never paused."""

    async def _status(self, target: FoundationTarget) -> tuple[str, Status]:
        """Return a status, and the pod in which it was asked for; raises EngineError.

        One that says that there is no database is believed only when no other pod says anything else: its programs may
        be of a version that the database does not talk to.
        """
        failure: EngineError = UnreachableError("no pod of the cluster runs")
        found: tuple[str, Status] | None = None
        for pod in target.endpoints[:ASKED]:
            try:
                output = (await self._shell.run(pod, STATUS, QUESTION)).output
                async with self._rooms.look(f"{target.name} {target.identity}") as room:
                    await room.take(len(output))
                    status = await read_status(output, self._rooms.usual)
            except EngineError as error:
                failure = error
                continue
            if status.cluster.recovery_state is not None:
                return pod, status
            found = found or (pod, status)
        if found is None:
            raise failure
        return found

    async def _certain(self, target: FoundationTarget) -> tuple[str, Status]:
        """Return a status of this very database while it is available; raises RefusedError for any other."""
        pod, status = await self._status(target)
        why = absent(target, status)
        if why is not None:
            raise RefusedError(why.why)
        return pod, status

    async def _proved(self, target: FoundationTarget, pod: str, status: Status) -> frozenset[str]:
        """Return the members that leave and of which nothing is left, by the word of a blocking `exclude`."""
        if absent(target, status) is not None:
            return frozenset()
        left = marked(status)
        if left:
            await self._include(pod, left)
        found = set[str]()
        for name, there in provable(target, status).items():
            if await (self._empty(pod, [name], ()) if there else self._empty_addresses(target, pod, name, status)):
                found.add(name)
        return frozenset(found)

    async def _empty(self, pod: str, members: list[str], addresses: tuple[Address, ...]) -> bool:
        """Return whether a blocking `exclude` proves that nothing is left."""
        command = commands.exclude(members, addresses, wait=True)
        return commands.emptied(await self._shell.run(pod, command, PROOF)) is None

    async def _empty_addresses(self, target: FoundationTarget, pod: str, name: str, status: Status) -> bool:
        """Return whether nothing is left at the last known addresses of a member without a process.

        Of its locality, which is no process's, nothing can be proved, nor of an address that another member has now.
        The addresses are included again at once: they may be another pod's next, and its locality keeps the member
        itself excluded. They are marked before: the next look includes those that a crash has left excluded.
        """
        addresses = askable(target, status, name)
        if not addresses:
            return False
        await self._told(pod, commands.mark(addresses), Outcome.MATCHES_NOBODY)
        empty = await self._empty(pod, [], addresses)
        await self._include(pod, addresses)
        return empty

    async def _include(self, pod: str, addresses: Collection[Address]) -> None:
        """Include addresses again that were excluded for a proof; that they were is forgotten last."""
        await self._told(pod, commands.include([], addresses))
        await self._told(pod, commands.unmark(addresses))

    async def _away(self, target: FoundationTarget, pod: str, status: Status, members: frozenset[str]) -> None:
        """Change the coordinators where one of them leaves, and as many others can be it."""
        seen, now = view(status, target.known), coordinating(target, status)
        if seen is None or now is None:
            raise RefusedError("the database lists no processes, or no coordinators")
        if not now & members or unmovable(target, seen, now, members):
            return
        await self._coordinators(target, pod, chosen(target, candidates(target, seen, members), now).members)

    async def _coordinators(self, target: FoundationTarget, pod: str, members: frozenset[str]) -> None:
        await self._told(pod, commands.coordinators(coordinator(target.cluster, name) for name in members))

    async def _exclude(self, pod: str, wanted: Exclusions) -> None:
        outcome, words = judge(await self._shell.run(pod, commands.exclude(wanted.members, wait=False), CHANGE))
        if outcome in (Outcome.REFUSED, Outcome.COORDINATES):
            raise RefusedError(f"exclude: {words}", NO)

    async def _told(self, pod: str, command: str, *expected: Outcome) -> Printed:
        """Tell the database something that is done at once; raises RefusedError with its words where it is not."""
        printed = await self._shell.run(pod, command, CHANGE)
        outcome, words = judge(printed)
        if outcome not in (Outcome.DONE, *expected):
            status = NO if outcome is Outcome.REFUSED else 0
            raise RefusedError(f"{command.split(' ', 1)[0]}: {words}", status)
        return printed

"""The driver of FoundationDB: every query is one `status json`; the printed output decides the outcome of a command.

Exclusions by locality belong to Stateward: the driver includes such a member again if it is not to leave. It includes
nothing else: a user's exclusion by address stays.
"""

from collections.abc import Collection

from stateward.engines.connection.answer_limits import Rooms
from stateward.engines.connection.base import NO, EngineError, RefusedError, Target, TooLargeError, UnreachableError
from stateward.engines.foundationdb.database import commands
from stateward.engines.foundationdb.database.commands import STATUS, Outcome, Printed, judge
from stateward.engines.foundationdb.database.exclusion import draining
from stateward.engines.foundationdb.database.leaving import (
    Exclusions,
    addresses_to_prove,
    excluded_by_users,
    exclusions,
    marked,
)
from stateward.engines.foundationdb.database.maintenance import PERIOD, is_own, zone_of
from stateward.engines.foundationdb.database.members import view
from stateward.engines.foundationdb.database.picture import (
    Proof,
    Proofs,
    absent,
    decoded_observation,
    members_to_prove,
    silent,
)
from stateward.engines.foundationdb.database.reader import status as read_status
from stateward.engines.foundationdb.database.status import Status
from stateward.engines.foundationdb.database.target import FoundationTarget, Shell, meant
from stateward.engines.foundationdb.database.upkeep import (
    candidates,
    coordinator_change,
    current_coordinators,
    desired_coordinators,
    redundancy_change,
    unmovable,
)
from stateward.engines.foundationdb.spec.connection import Address
from stateward.engines.foundationdb.spec.identity import coordinator
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import TOO_LARGE, Allocation, Database, Unformed, Unknown

ASKED = 3
"""Number of pods that are tried in sequence until one answers."""
QUESTION, PROOF, CHANGE = 50, 15, 50
"""Timeouts in seconds: of a status, of the proof that a member is empty, and of any other command.

A status takes up to 40 s while the database is not available: `fdbcli` waits 3 s for it to begin with, 4 s for its
coordinators and its cluster controller, and 30 s for the report. All are below the limit of a command in a pod.
"""


GLANCE = 5
"""Seconds for a status while all processes restart together. The disaster this prevents: the operator waits for a
database that cannot answer before it starts the processes again, and it is off for a minute instead of seconds."""


class FoundationEngine:
    """The driver; `shell` runs the command line, `rooms` limits the memory for answers of all clusters together."""

    def __init__(self, shell: Shell, rooms: Rooms | None = None) -> None:
        self._shell = shell
        self._rooms = rooms or Rooms()

    async def observe(self, target: Target) -> Database | Unknown:
        """Return one consistent observation of the database, or why there is none; never a partial one.

        If the target allows it, the driver proves that leaving members are empty. It repeats their exclusion with a
        blocking `exclude`. For members without processes it excludes their last addresses and includes those again at
        once.
        """
        try:
            mine = meant(target)
            pod, status = await self._status(mine)
            proofs = await self._proved(mine, pod, status) if mine.proves else Proofs()
        except TooLargeError as error:
            return Unknown(str(error), TOO_LARGE)
        except EngineError as error:
            return Unknown(str(error))
        return decoded_observation(mine, status, proofs)

    async def create_database(self, target: Target) -> None:
        """Create an empty database; raise `RefusedError` if one exists.

        If the status does not tell a database that was never created from one that is down, the command itself decides:
        a database refuses it if it exists, as soon as it is up again.
        """
        mine = meant(target)
        pod, status = await self._status(mine)
        if not isinstance(absent(mine, status), Unformed):
            raise RefusedError("the database does not report that it was never created")
        spec = mine.cluster.spec
        command = commands.configure(spec.redundancy.value, spec.storage_engine.value, new=True)
        await self._told(pod, command)

    async def configure(self, target: Target) -> None:
        """Set the redundancy mode or the coordinators, if they differ from the desired state.

        The disaster this prevents: there are too few machines for another redundancy, which the database refuses again
        and again, and meanwhile one coordinator is lost after the other, until there is no majority.
        """
        mine, refusal = meant(target), None
        pod, status = await self._certain(mine)
        if redundancy_change(mine, status):
            try:
                await self._told(pod, f"configure {mine.cluster.spec.redundancy.value}")
            except RefusedError as error:
                refusal = error
            else:
                return
        seen, now = view(status, mine.known), current_coordinators(mine, status)
        if seen is not None and now is not None and coordinator_change(mine, status, seen, now):
            await self._coordinators(
                mine, pod, desired_coordinators(mine, status, candidates(mine, seen, frozenset()), now).members
            )
        if refusal is not None:
            raise refusal

    async def drain(self, target: Target, members: frozenset[str]) -> None:
        """Exclude these members, and include all others that were excluded as members.

        Coordinators move away from leaving members first. A member that cannot be excluded yet is left for later; the
        observation gives the reason.
        """
        mine = meant(target)
        pod, status = await self._certain(mine)
        back = draining(status) - members
        if back:
            await self._told(pod, commands.include(back))
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
        """Put the zone of members that go down temporarily into maintenance; do nothing if they are in several zones.

        Raise RefusedError if a user has put another zone into maintenance: the database allows one at a time.
        """
        mine = meant(target)
        pod, status = await self._certain(mine)
        now, seen = status.cluster.maintenance_zone, view(status, mine.known)
        zone = zone_of(seen, members) if seen is not None else ""
        if now and not is_own(status):
            if zone != now:
                raise RefusedError(f"zone {now} is in maintenance, which a user started", NO)
        elif zone:
            await self._told(pod, commands.maintenance(zone, PERIOD))

    async def restore_allocation(self, target: Target) -> None:
        """End Stateward's own maintenance of a zone; a user's maintenance continues."""
        mine = meant(target)
        pod, status = await self._certain(mine)
        if is_own(status):
            await self._told(pod, commands.MAINTENANCE_OFF)

    async def flush(self, target: Target) -> None:
        """Do nothing: acknowledged data is already on the disks of the logs."""

    async def exclude_voters(self, target: Target, members: frozenset[str]) -> None:
        """Move coordinators away from members that are not drained; there is nothing to revert.

        If no other member can become coordinator, the coordinator stays, and so does its member.
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
        """Return a status, and the pod that answered; raise EngineError.

        A status without a database counts only if no other pod reports anything else: its programs may be of a version
        that the database does not talk to.
        """
        failure: EngineError = UnreachableError("no pod of the cluster runs")
        found: tuple[str, Status] | None = None
        pods, patience = (1, GLANCE) if target.all_down else (ASKED, QUESTION)
        for pod in target.endpoints[:pods]:
            try:
                output = (await self._shell.run(pod, STATUS, patience)).output
                async with self._rooms.look(f"{target.name} {target.identity}") as room:
                    await room.take(len(output))
                    status = await read_status(output, self._rooms.usual)
            except EngineError as error:
                failure = error
                continue
            if status.cluster.recovery_state is not None or silent(status):
                return pod, status
            found = found or (pod, status)
        if found is None:
            raise failure
        return found

    async def _certain(self, target: FoundationTarget) -> tuple[str, Status]:
        """Return a status of this database while it is available; raise RefusedError otherwise."""
        pod, status = await self._status(target)
        why = absent(target, status)
        if why is not None:
            raise RefusedError(why.why)
        return pod, status

    async def _proved(self, target: FoundationTarget, pod: str, status: Status) -> Proofs:
        """Return the leaving members that a blocking `exclude` proves empty, and which proofs the database refuses.

        A refused proof hides nothing else: all other facts are in the status.
        """
        if absent(target, status) is not None:
            return Proofs()
        found, refused = set[str](), dict[str, str]()
        wanted = members_to_prove(target, status)
        try:
            if left := marked(status):
                await self._include(pod, left)
        except RefusedError as error:
            return Proofs(refused=dict.fromkeys(wanted, str(error)))
        for name, proof in wanted.items():
            try:
                empty = proof is Proof.ADDRESSES or await self._empty(pod, [name], ())
                if empty and proof is not Proof.LOCALITY:
                    empty = await self._empty_addresses(target, pod, name, status)
                if empty:
                    found.add(name)
            except RefusedError as error:
                refused[name] = str(error)
        return Proofs(frozenset(found), refused)

    async def _empty(self, pod: str, members: list[str], addresses: tuple[Address, ...]) -> bool:
        """Return whether a blocking `exclude` proves that no data is left; raise RefusedError if it is refused."""
        printed = await self._shell.run(pod, commands.exclude(members, addresses, wait=True), PROOF)
        outcome, words = judge(printed)
        if outcome is Outcome.REFUSED:
            raise RefusedError(f"exclude: {words}", NO)
        return commands.not_empty_problem(printed) is None

    async def _empty_addresses(self, target: FoundationTarget, pod: str, name: str, status: Status) -> bool:
        """Return whether no data is left at the last known addresses of a member's missing processes.

        Its locality, which none of them has, proves nothing, nor does an address that another member has now. The
        addresses are included again at once, because another pod may get them next; the member itself stays excluded by
        its locality. They are marked first, so that the next observation includes those that a crash has left excluded.
        Those that a user has excluded stay excluded.
        """
        addresses = addresses_to_prove(target, status, name)
        if not addresses:
            return False
        theirs = excluded_by_users(status)
        own = [address for address in addresses if address.endpoint not in theirs]
        if own:
            await self._told(pod, commands.mark(own), Outcome.MATCHES_NOBODY)
        try:
            empty = await self._empty(pod, [], addresses)
        except RefusedError:
            await self._include(pod, own)
            raise
        await self._include(pod, own)
        return empty

    async def _include(self, pod: str, addresses: Collection[Address]) -> None:
        """Include addresses again that were excluded for a proof; remove their marks last."""
        if not addresses:
            return
        await self._told(pod, commands.include([], addresses))
        await self._told(pod, commands.unmark(addresses))

    async def _away(self, target: FoundationTarget, pod: str, status: Status, members: frozenset[str]) -> None:
        """Change the coordinators if one of them leaves and enough others are available."""
        seen, now = view(status, target.known), current_coordinators(target, status)
        if seen is None or now is None:
            raise RefusedError("the database lists no processes, or no coordinators")
        if not now & members or unmovable(target, status, seen, now, members):
            return
        await self._coordinators(
            target, pod, desired_coordinators(target, status, candidates(target, seen, members), now).members
        )

    async def _coordinators(self, target: FoundationTarget, pod: str, members: frozenset[str]) -> None:
        await self._told(pod, commands.coordinators(coordinator(target.cluster, name) for name in members))

    async def _exclude(self, pod: str, wanted: Exclusions) -> None:
        outcome, words = judge(await self._shell.run(pod, commands.exclude(wanted.members, wait=False), CHANGE))
        if outcome in (Outcome.REFUSED, Outcome.COORDINATES):
            raise RefusedError(f"exclude: {words}", NO)

    async def _told(self, pod: str, command: str, *expected: Outcome) -> Printed:
        """Run a command that completes at once; raise RefusedError with the database's message if it fails."""
        printed = await self._shell.run(pod, command, CHANGE)
        outcome, words = judge(printed)
        if outcome not in (Outcome.DONE, *expected):
            status = NO if outcome is Outcome.REFUSED else 0
            raise RefusedError(f"{command.split(' ', 1)[0]}: {words}", status)
        return printed

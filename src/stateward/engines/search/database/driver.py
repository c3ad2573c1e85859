"""The driver of the search engines: queries and commands over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from stateward.api.values.base import Json
from stateward.engines.connection.answer_limits import Rooms
from stateward.engines.connection.base import (
    EngineError,
    GarbledError,
    RefusedError,
    Room,
    Speed,
    Target,
    TooLargeError,
    Transport,
    UnreachableError,
)
from stateward.engines.connection.reading import ReadingTransport
from stateward.engines.search.database import marks, shutdown
from stateward.engines.search.database.decode import excluded, shard_of
from stateward.engines.search.database.explain import with_explanations
from stateward.engines.search.database.reader import decoded_observation
from stateward.engines.search.database.reading import INFO, SETTINGS, STATE, STATS, Bodies, Expected
from stateward.engines.search.database.recovery import speed
from stateward.engines.search.database.session import Session, at_any_node
from stateward.engines.search.database.wire import (
    Acknowledged,
    ClusterSettings,
    Coordination,
    Flushed,
    MoveExplanation,
    Rerouted,
    Voting,
)
from stateward.engines.search.spec.flavor import Flavor, Shield
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import TOO_LARGE, Allocation, Database, Unknown

T = TypeVar("T")

LOOK_PATIENCE = 20.0
"""Seconds for one observation, over all nodes that are tried."""
PATIENCE = 60.0
"""Seconds for one command, over all nodes that are tried."""
FLUSH_PATIENCE = 60.0
"""Seconds for a flush; the restart goes on without it."""
NODE_PATIENCE = "5s"
"""How long the database waits for each of its nodes. Without it a hanging node would block the observation."""

STATE_FIELDS = (
    "cluster_name,cluster_uuid,master_node,cluster_manager_node,blocks.global,nodes.*.name,nodes.*.attributes,"
    "metadata.cluster_coordination,metadata.indices.*.in_sync_allocations,"
    "metadata.indices.*.settings.index.number_of_replicas,metadata.indices.*.settings.index.auto_expand_replicas,"
    "metadata.indices.*.settings.index.version.created,metadata.indices.*.settings.index.version.compatibility,"
    "metadata.indices.*.settings.index.verified_read_only,metadata.indices.*.settings.index.store.type,"
    "metadata.indices.*.settings.index.routing.allocation.include,"
    "metadata.indices.*.settings.index.routing.allocation.exclude,"
    "metadata.indices.*.settings.index.routing.allocation.require,"
    "routing_table"
)
INFO_FIELDS = "_nodes.failed,cluster_name,nodes.*.name,nodes.*.version,nodes.*.roles"
STATS_FIELDS = (
    "_nodes.failed,cluster_name,nodes.*.name,nodes.*.fs.total.total_in_bytes,nodes.*.fs.total.available_in_bytes,"
    "nodes.*.os.cpu.percent,nodes.*.indices.shards.*.*.store.size_in_bytes"
)
USERS = "/_plugins/_security/api/internalusers"
FLAT = {"flat_settings": "true"}
EXCLUSIONS = "/_cluster/voting_config_exclusions"


class SearchEngine:
    """An `Engine` for the clusters of one flavor; `rooms` limits the memory for answers of all clusters together."""

    def __init__(self, flavor: Flavor, transport: Transport, rooms: Rooms | None = None) -> None:
        self._flavor = flavor
        self._rooms = rooms or Rooms()
        self._transport = transport

    async def observe(self, target: Target) -> Database | Unknown:
        """Return one consistent observation of the database, or the reason why there is none; never a partial one."""

        async def look(session: Session) -> Database:
            going = await shutdown.all_records(session) if self._flavor.announces else None
            expected = Expected(
                session.endpoint,
                target.name,
                target.identity,
                self._flavor.data_roles,
                self._flavor.lineage.numbering,
                going or (),
            )
            async with self._rooms.look(f"{target.name} {target.identity}") as room:
                found = await decoded_observation(expected, await ask(session, room), self._rooms.usual)
            found = await with_explanations(session, found)
            secured = session.endpoint.startswith("https:")
            return msgspec.structs.replace(found, secured=secured) if secured else found

        try:
            return await self._at_any(target, look, LOOK_PATIENCE)
        except TooLargeError as error:
            return Unknown(str(error), TOO_LARGE)
        except EngineError as error:
            return Unknown(str(error))

    async def ask(self, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run `work` at the first node of the cluster that can; raise `EngineError` if none can."""
        return await self._at_any(target, work)

    async def read(self, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        """Do as `ask`, and send only reads: `work` gets a `RefusedError` for anything else."""
        return await self._within_patience(ReadingTransport(self._transport), target, work, PATIENCE)

    async def recovery_speed(self, target: Target) -> Speed:
        """Return how fast the database recovers copies; only reads."""
        return await self._at_any(target, speed, LOOK_PATIENCE)

    async def limit_allocation(
        self, target: Target, allocation: Allocation, members: frozenset[str] = frozenset()
    ) -> None:
        """Limit which copies the database may place; the previous values are stored in the database."""

        async def work(session: Session) -> None:
            await change(session, lambda settings: marks.limit(settings, allocation))
            if self._flavor.announces:
                await shutdown.register(session, shutdown.Kind.RESTART, members)

        await self._at_any(target, work)

    async def restore_allocation(self, target: Target) -> None:
        """Restore exactly the values from before the limit; do nothing if Stateward has not set one."""

        async def work(session: Session) -> None:
            await change(session, marks.restore)
            if self._flavor.announces:
                await shutdown.deregister(session, shutdown.Kind.RESTART)

        await self._at_any(target, work)

    async def drain(self, target: Target, members: frozenset[str]) -> None:
        """Drain exactly these members; exclusions that others have set stay."""

        async def work(session: Session) -> None:
            await change(session, lambda settings: marks.drain(settings, members))
            if self._flavor.announces:
                await shutdown.deregister(session, shutdown.Kind.REMOVE, members)
                await shutdown.register(session, shutdown.Kind.REMOVE, members)

        await self._at_any(target, work)

    async def flush(self, target: Target) -> None:
        """Write memory to disk; raise `EngineError` if any copy could not be flushed."""

        async def work(session: Session) -> None:
            flushed = await session.call(Flushed, "POST", "/_flush", None, None, FLUSH_PATIENCE)
            if flushed.shards.failed:
                raise RefusedError(f"{flushed.shards.failed} copies could not be flushed")

        await self._at_any(target, work)

    async def exclude_voters(self, target: Target, members: frozenset[str]) -> None:
        """Make exactly these members the excluded voters.

        Members may be absent; a node that is gone is given by its id.
        """

        async def work(session: Session) -> None:
            said = await coordination(session)
            current = excluded(said)
            if current == members:
                return
            if current - members:
                # The API cannot remove a single exclusion: clear the list and write it again.
                await session.command("DELETE", EXCLUSIONS, {"wait_for_removal": "false"})
            ids = members.intersection(said.last_committed_config)
            # One request accepts either names or ids.
            for field, values in (("node_names", members - ids), ("node_ids", ids)):
                if values:
                    await session.command("POST", EXCLUSIONS, {field: ",".join(sorted(values)), "timeout": "10s"})

        await self._at_any(target, work)

    async def add_user(self, target: Target, name: str, password: str) -> None:
        """Create an administrator with this name; an existing one keeps the current password.

        Elasticsearch reads its administrator from a file, so nothing happens there.
        """
        if self._flavor.shield is Shield.XPACK:
            return

        async def work(session: Session) -> None:
            if name in await session.get(dict[str, Any], USERS):
                return
            body = {"password": password, "backend_roles": ["admin"], "description": "the first administrator"}
            await session.command("PUT", f"{USERS}/{quote(name, safe='')}", None, body)

        await self._at_any(target, work)

    async def move_copies(self, target: Target, moves: tuple[Move, ...]) -> None:
        """Move single copies, each to the first of its targets that the database accepts.

        Rebalancing is paused only if a copy can move, or it would stay so. Raise `RefusedError` with the reasons when a
        copy cannot move.
        """

        async def work(session: Session) -> None:
            accepted, refused = await tried(session, moves)
            if accepted:
                await change(session, marks.pause_balancing)
                refused += [text for text in await reroute(session, accepted) if text]
            if refused:
                raise RefusedError("; ".join(refused), 400)

        if moves:
            await self._at_any(target, work)

    async def resume_balancing(self, target: Target) -> None:
        """Restore exactly the rebalancing settings from before; do nothing if Stateward has not paused rebalancing."""

        async def work(session: Session) -> None:
            await change(session, marks.resume_balancing)

        await self._at_any(target, work)

    async def _at_any(self, target: Target, work: Callable[[Session], Awaitable[T]], patience: float = PATIENCE) -> T:
        return await self._within_patience(self._transport, target, work, patience)

    async def _within_patience(
        self, transport: Transport, target: Target, work: Callable[[Session], Awaitable[T]], patience: float
    ) -> T:
        try:
            async with asyncio.timeout(patience):
                return await at_any_node(transport, target, work)
        except TimeoutError as error:
            raise UnreachableError(f"the cluster did not answer within {patience:.0f} s") from error


async def ask(session: Session, room: Room) -> Bodies:
    """Return all undecoded answers of one observation; raise `EngineError` if one is missing."""
    patience = {"timeout": NODE_PATIENCE}
    return Bodies(
        state=await session.fetch(STATE, {"filter_path": STATE_FIELDS}, room),
        info=await session.fetch(INFO, {"filter_path": INFO_FIELDS, **patience}, room),
        stats=await session.fetch(STATS, {"level": "shards", "filter_path": STATS_FIELDS, **patience}, room),
        settings=await session.fetch(SETTINGS, FLAT, room),
    )


async def change(session: Session, changed: Callable[[ClusterSettings], Json | None]) -> None:
    """Write a change of the settings if there is one; raise `EngineError` if the database does not acknowledge it."""
    now = await settings(session)
    try:
        body = changed(now)
    except ValueError as error:
        raise GarbledError(
            f"{session.endpoint}{SETTINGS} gives an answer that cannot be read: {str(error)[:300]}"
        ) from error
    if body is not None and not (await session.call(Acknowledged, "PUT", SETTINGS, None, body)).acknowledged:
        raise RefusedError(f"{session.endpoint} did not acknowledge the change of settings in time")


async def settings(session: Session) -> ClusterSettings:
    """Return the settings that were changed at run time."""
    return await session.get(ClusterSettings, SETTINGS, FLAT)


async def coordination(session: Session) -> Coordination:
    """Return the voting configuration and the voting exclusions."""
    state = await session.get(Voting, STATE, {"filter_path": "metadata.cluster_coordination"})
    return state.metadata.cluster_coordination


async def tried(session: Session, moves: Sequence[Move]) -> tuple[list[Move], list[str]]:
    """Return the moves that the database would accept now, and why it refuses the others to each of their targets."""
    accepted: list[Move] = []
    refused: list[str] = []
    open_moves = list(moves)
    while open_moves:
        again: list[Move] = []
        for move, text in zip(open_moves, await reroute(session, open_moves, dry_run="true"), strict=True):
            if text is None:
                accepted.append(move)
            elif move.others:
                again.append(msgspec.structs.replace(move, target=move.others[0], others=move.others[1:]))
            else:
                refused.append(text)
        open_moves = again
    return accepted, refused


async def reroute(session: Session, moves: Sequence[Move], **fields: str) -> list[str | None]:
    """Send moves; return for each why it was refused, None if it was accepted."""
    body = {"commands": [{"move": command(move)} for move in moves]}
    asked = {"explain": "true", "filter_path": "acknowledged,explanations", **fields}
    found = (await session.call(Rerouted, "POST", "/_cluster/reroute", asked, body)).explanations
    if len(found) != len(moves):
        raise GarbledError(f"{session.endpoint} explains {len(found)} of {len(moves)} moves")
    return [refusal(each) for each in found]


def command(move: Move) -> Json:
    """Return a move in the database's format; units are named `index[shard]`."""
    index, number = shard_of(move.unit)
    return {"index": index, "shard": number, "from_node": move.origin, "to_node": move.target}


def refusal(explanation: MoveExplanation) -> str | None:
    """Return why a move was refused; None if it was accepted."""
    against = [d for d in explanation.decisions if d.decision == "NO"]
    if not against:
        return None
    move = explanation.parameters
    reasons = ", ".join(f"{d.explanation or d.decider}"[:200] for d in against[:3])
    return f"{move.index}[{move.shard}] cannot move from {move.from_node} to {move.to_node}: {reasons}"

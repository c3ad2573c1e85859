"""What a healthy OpenSearch cluster answers, made up from the members that are up."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stateward.engines.search.database import driver, session

INDICES = 30
"""Indices of a cluster, each of one shard with one replica: 60 copies, as in a small cluster of logs."""
DISK = 100 << 30
SHARD = 1 << 30
"""Bytes of a disk and of a shard."""
UNFORMED = session.UNFORMED
Settings = dict[str, dict[str, Any]]
"""Flat settings by name, under `persistent` and `transient`."""


class Running(msgspec.Struct, frozen=True):
    """A member that is up."""

    name: str
    version: str
    voting: bool
    data: bool

    @property
    def identifier(self) -> str:
        """The id that the database knows its node by."""
        return f"id-of-{self.name}"


def unformed(cluster: str) -> Mapping[str, bytes]:
    """Return the answers, by path, of a node that has joined no cluster yet."""
    return {session.GREETING: msgspec.json.encode({"cluster_name": cluster, "cluster_uuid": UNFORMED})}


def formed(cluster: str, identity: str, members: Iterable[Running], settings: Settings) -> Mapping[str, bytes]:
    """Return the answers, by path, of a green cluster of these members; `settings` are those of the cluster."""
    up = sorted(members, key=lambda member: member.name)
    voters = [member.identifier for member in up if member.voting]
    holders = [member for member in up if member.data]
    placed = {index: places(number, holders) for number, index in enumerate(_indices(holders))}
    leader = {"cluster_manager_node": voters[0], "master_node": voters[0]} if voters else {}
    greeting = {"cluster_name": cluster, "cluster_uuid": identity, **leader}
    told = {"_nodes": {"total": len(up), "successful": len(up), "failed": 0}, "cluster_name": cluster}
    answers: dict[str, Any] = {
        session.GREETING: greeting,
        driver.STATE: {**greeting, **_state(up, voters, placed)},
        driver.INFO: {**told, "nodes": {member.identifier: _info(member) for member in up}},
        driver.STATS: {**told, "nodes": {member.identifier: _stats(member, placed) for member in up}},
        driver.SETTINGS: settings,
        driver.USERS: {"admin": {}},
    }
    return {path: msgspec.json.encode(answer) for path, answer in answers.items()}


def places(number: int, holders: list[Running]) -> tuple[Running, Running]:
    """Return where primary and replica of the shard with this number are."""
    return holders[number % len(holders)], holders[(number + 1) % len(holders)]


def _indices(holders: list[Running]) -> list[str]:
    # One node alone cannot hold both copies of anything.
    return [f"logs-{number:03d}" for number in range(INDICES)] if len(holders) > 1 else []


def _state(up: list[Running], voters: list[str], placed: Mapping[str, tuple[Running, Running]]) -> dict[str, Any]:
    return {
        "nodes": {member.identifier: {"name": member.name} for member in up},
        "metadata": {
            "cluster_coordination": {"last_committed_config": voters, "voting_config_exclusions": []},
            "indices": {index: _metadata(index) for index in placed},
        },
        "routing_table": {
            "indices": {
                index: {"shards": {"0": [_copy(index, member, primary=member is pair[0]) for member in pair]}}
                for index, pair in placed.items()
            }
        },
    }


def _metadata(index: str) -> dict[str, Any]:
    return {
        "settings": {"index": {"number_of_replicas": "1", "auto_expand_replicas": "false"}},
        "in_sync_allocations": {"0": [_allocation(index, primary=True), _allocation(index, primary=False)]},
    }


def _copy(index: str, member: Running, *, primary: bool) -> dict[str, Any]:
    return {
        "state": "STARTED",
        "primary": primary,
        "node": member.identifier,
        "relocating_node": None,
        "shard": 0,
        "index": index,
        "allocation_id": {"id": _allocation(index, primary=primary)},
    }


def _allocation(index: str, *, primary: bool) -> str:
    return f"{index}-{'primary' if primary else 'replica'}-allocation"


def _info(member: Running) -> dict[str, Any]:
    roles = [*(["cluster_manager"] if member.voting else []), *(["data", "ingest"] if member.data else [])]
    return {"name": member.name, "version": member.version, "roles": roles}


def _stats(member: Running, placed: Mapping[str, tuple[Running, Running]]) -> dict[str, Any]:
    held = [index for index, pair in placed.items() if member in pair]
    return {
        "name": member.name,
        "fs": {"total": {"total_in_bytes": DISK, "available_in_bytes": DISK - len(held) * SHARD}},
        "indices": {"shards": {index: [{"0": {"store": {"size_in_bytes": SHARD}}}] for index in held}},
    }

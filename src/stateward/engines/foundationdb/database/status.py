"""`status json` of FoundationDB, typed: only the fields that decisions need.

The database guarantees no key, and omits what it could not find out. So every field that a decision needs is None if it
is missing: unknown never counts as absent, empty or zero. An unreachable process is listed with its address and without
its locality, so only the address identifies its member.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from stateward.engines.connection.base import GarbledError
from stateward.engines.connection.decoding import decoded
from stateward.engines.foundationdb.database.asides import without_asides
from stateward.engines.foundationdb.spec.connection import without_keys

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A number in the database's range; a larger one cannot be computed with."""


class _Record(Struct, frozen=True, kw_only=True):
    """A part of the status."""


class Message(_Record, frozen=True, kw_only=True):
    """A message of the database about itself, with a machine-readable name."""

    name: str = ""
    description: str = ""
    unreachable_processes: tuple["Addressed", ...] = ()


class Addressed(_Record, frozen=True, kw_only=True):
    """A process, by its address."""

    address: str = ""


class Role(_Record, frozen=True, kw_only=True):
    """A role of a process, for example `storage`, `log` or `coordinator`."""

    role: str
    stored_bytes: Whole | None = None
    kvstore_used_bytes: Whole | None = None


class Disk(_Record, frozen=True, kw_only=True):
    """The disk of a process, in bytes."""

    total_bytes: Whole | None = None
    free_bytes: Whole | None = None


class Process(_Record, frozen=True, kw_only=True):
    """One process of the database; `locality` is empty for an unreachable one."""

    address: str | None = None
    class_type: str | None = None
    command_line: str | None = None
    excluded: bool | None = None
    fault_domain: str | None = None
    locality: Mapping[str, str | None] = {}
    version: str | None = None
    uptime_seconds: float | None = None
    roles: tuple[Role, ...] | None = None
    messages: tuple[Message, ...] = ()
    under_maintenance: bool | None = None
    degraded: bool | None = None
    disk: Disk = Disk()


class TeamState(_Record, frozen=True, kw_only=True):
    """Replicas of the worst team of storage servers."""

    healthy: bool | None = None
    min_replicas_remaining: Whole | None = None
    name: str | None = None


class TeamTracker(_Record, frozen=True, kw_only=True):
    """The teams of one region."""

    primary: bool | None = None
    unhealthy_servers: Whole | None = None
    state: TeamState = TeamState()


class MovingData(_Record, frozen=True, kw_only=True):
    """Data in transit, in bytes."""

    in_flight_bytes: Whole | None = None
    in_queue_bytes: Whole | None = None


class Data(_Record, frozen=True, kw_only=True):
    """The state of the data."""

    state: TeamState | None = None
    team_trackers: tuple[TeamTracker, ...] | None = None
    moving_data: MovingData | None = None


class LogSet(_Record, frozen=True, kw_only=True):
    """A generation of transaction logs."""

    current: bool | None = None
    log_fault_tolerance: Whole | None = None
    log_replication_factor: Whole | None = None
    possibly_losing_data: bool | None = None


class Recovery(_Record, frozen=True, kw_only=True):
    """The progress of the database's recovery."""

    name: str | None = None
    active_generations: Whole | None = None
    seconds_since_last_recovered: float | None = None


class Tolerance(_Record, frozen=True, kw_only=True):
    """How many more zones may fail."""

    max_zone_failures_without_losing_availability: Whole | None = None
    max_zone_failures_without_losing_data: Whole | None = None


class Exclusion(_Record, frozen=True, kw_only=True):
    """An exclusion: an address, or a locality as `locality_KEY:VALUE`."""

    address: str | None = None
    locality: str | None = None


class Configuration(_Record, frozen=True, kw_only=True):
    """The configuration of the database."""

    redundancy_mode: str | None = None
    storage_engine: str | None = None
    logs: Whole | None = None
    commit_proxies: Whole | None = None
    grv_proxies: Whole | None = None
    resolvers: Whole | None = None
    usable_regions: Whole | None = None
    excluded_servers: tuple[Exclusion, ...] | None = None


class Cluster(_Record, frozen=True, kw_only=True):
    """The part from the cluster controller; all of it is missing while there is none."""

    processes: Mapping[str, Process] | None = None
    configuration: Configuration | None = None
    data: Data | None = None
    logs: tuple[LogSet, ...] | None = None
    recovery_state: Recovery | None = None
    fault_tolerance: Tolerance | None = None
    full_replication: bool | None = None
    database_available: bool | None = None
    maintenance_zone: str | None = None
    maintenance_seconds_remaining: float | None = None
    data_distribution_disabled: bool | None = None
    """Whether a user has turned data distribution off; the status has it only while it is true."""
    data_distribution_disabled_for_ss_failures: bool | None = None
    """Whether it counts no storage server as failed, because a user has told it so."""
    connection_string: str | None = None
    messages: tuple[Message, ...] | None = None
    incompatible_connections: tuple[str, ...] = ()


class Coordinator(_Record, frozen=True, kw_only=True):
    """A coordinator as the querying client sees it."""

    address: str
    reachable: bool | None = None


class Coordinators(_Record, frozen=True, kw_only=True):
    """The coordinators."""

    coordinators: tuple[Coordinator, ...] | None = None
    quorum_reachable: bool | None = None


class DatabaseStatus(_Record, frozen=True, kw_only=True):
    """The client's own judgement of availability."""

    available: bool | None = None
    healthy: bool | None = None


class Client(_Record, frozen=True, kw_only=True):
    """The part that the querying client knows itself."""

    coordinators: Coordinators | None = None
    database_status: DatabaseStatus | None = None
    messages: tuple[Message, ...] = ()
    timestamp: float | None = None


class Status(_Record, frozen=True, kw_only=True):
    """One whole answer."""

    client: Client = Client()
    cluster: Cluster = Cluster()


def parse_status(output: bytes | str) -> Status:
    """Return the decoded output of `fdbcli --exec "status json"`; raise GarbledError for anything else."""
    return decoded(Status, document(output), "fdbcli printed a status that cannot be read:")


def document(output: bytes | str) -> str:
    """Return the document in the output of `fdbcli --exec "status json"`; raise GarbledError if there is none.

    Only the lines that the program prints beside any answer may precede or follow it.
    """
    text = output.decode(errors="replace") if isinstance(output, bytes) else output
    start, end = text.find("{"), text.rfind("}") + 1
    end = end if end > start else len(text)
    rest = without_asides(text if start < 0 else f"{text[:start]}\n{text[end:]}").strip()
    if rest or start < 0:
        raise GarbledError(f"fdbcli printed no status: {without_keys(rest)[:200] or 'nothing'}")
    return text[start:end]

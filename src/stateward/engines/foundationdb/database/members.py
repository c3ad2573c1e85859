"""A status grouped by member: all processes of a member together, and only certain facts.

The locality `instance_id`, which processes carry on their command lines, identifies the member. An unreachable process
has no locality; it belongs to the member with its known address. While a process cannot be attributed, no member may
count as having no processes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stateward.engines.foundationdb.database.status import Process, Status
from stateward.engines.foundationdb.spec.connection import ConnectionStringError, parse_address

LOCALITY = "instance_id"
"""Key of the locality that holds the member's name."""
STORAGE = "storage"
"""The role of a process that keeps data."""
FAULTS = frozenset({"io_error", "io_timeout", "platform_error", "process_error", "trace_log_file_write_error"})
"""Process messages that indicate a fault of the disk or the machine."""


@dataclass(frozen=True, slots=True)
class MemberView:
    """One member as the database reports it."""

    name: str
    zone: str
    kind: str
    addresses: frozenset[str]
    versions: frozenset[str]
    """More than one while its processes restart with a new version."""
    roles: frozenset[str] | None
    """The roles of all its processes; None if one of them does not report its roles."""
    excluded: bool
    """Whether all of its processes are excluded."""
    reached: bool
    """Whether every known process of it answered."""
    fault: str = ""
    disk_total: int = 0
    disk_free: int = 0
    stored: int | None = None
    """The bytes of data on its storage processes; None if one of them does not report them."""


@dataclass(frozen=True, slots=True)
class View:
    """All members, and the processes that belong to no known member."""

    members: Mapping[str, MemberView]
    strangers: frozenset[str]
    """Addresses of processes that belong to no known member."""


def view(status: Status, known: Mapping[str, frozenset[str]]) -> View | None:
    """Return the members; `known` are the last addresses of each. None if the status lists no processes."""
    if status.cluster.processes is None:
        return None
    found: dict[str, list[Process]] = {}
    strangers = set[str]()
    hosts = {host_of(address): name for name, addresses in known.items() for address in addresses}
    for process in status.cluster.processes.values():
        name = process.locality.get(LOCALITY) or hosts.get(host_of(process.address or ""))
        if name:
            found.setdefault(name, []).append(process)
        else:
            strangers.add(process.address or "a process without an address")
    lost = {a.address for m in status.cluster.messages or () for a in m.unreachable_processes}
    for address in sorted(lost - {p.address for p in status.cluster.processes.values()}):
        if host_of(address) not in hosts:
            strangers.add(address)
    return View({name: member_view(name, found[name], lost) for name in sorted(found)}, frozenset(strangers))


def member_view(name: str, processes: list[Process], lost: set[str]) -> MemberView:
    """Return one member from the reports of its processes."""
    first = next((p for p in processes if p.locality), processes[0])
    silent = any(p.roles is None or not p.locality for p in processes)
    faults = [m.description or m.name for p in processes for m in p.messages if m.name in FAULTS]
    disks = [p.disk for p in processes if p.disk.total_bytes and p.disk.free_bytes is not None]
    return MemberView(
        name=name,
        zone=first.fault_domain or first.locality.get("zoneid") or "",
        kind=first.class_type or "",
        addresses=frozenset(p.address for p in processes if p.address),
        versions=frozenset(p.version for p in processes if p.version),
        roles=None if silent else frozenset(role.role for p in processes for role in p.roles or ()),
        excluded=all(p.excluded is True for p in processes),
        reached=not silent and not any(p.address in lost for p in processes),
        fault=faults[0] if faults else "",
        disk_total=max((disk.total_bytes or 0 for disk in disks), default=0),
        disk_free=min((disk.free_bytes or 0 for disk in disks), default=0),
        stored=None if silent else stored_bytes(processes),
    )


def stored_bytes(processes: list[Process]) -> int | None:
    """Return the bytes of data on the storage servers among these processes; None if one does not report them."""
    found = [role.stored_bytes for p in processes for role in p.roles or () if role.role == STORAGE]
    known = [size for size in found if size is not None]
    return sum(known) if len(known) == len(found) else None


def host_of(address: str) -> str:
    """Return the host of an address, or the whole text if it is not an address: it then matches no member."""
    try:
        return parse_address(address).host
    except ConnectionStringError:
        return address

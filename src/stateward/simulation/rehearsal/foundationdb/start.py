"""The model of a FoundationDB cluster, begun as the database reports itself."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from stateward.api.kinds.foundationdb import FaultDomain, FoundationDBCluster, ProcessClass
from stateward.engines.foundationdb.database.exclusion import locality
from stateward.engines.foundationdb.spec.coordinators import Candidate, choose, count_of
from stateward.engines.foundationdb.spec.identity import coordinator, description
from stateward.engines.foundationdb.spec.inputs import processes
from stateward.planning.model.observation import Database, Duties, Member, Observation, Unknown
from stateward.simulation.foundationdb.state import DEFAULTS, FACTORS, Epoch, Recovery, Server, Shard, State, Worker
from stateward.simulation.rehearsal.foundationdb.machines import Machine
from stateward.simulation.rehearsal.foundationdb.teams import teams

NOTHING = Duties()
OWN_MAINTENANCE = 300.0
"""Seconds that a maintenance of the operator's own may still last."""
USERS_MAINTENANCE = 30 * 86400.0
"""Seconds that a user's maintenance is taken to last: longer than any change."""


def redundancy_of(database: Database, cluster: FoundationDBCluster) -> str:
    """Return the redundancy mode in force, or if it is not known the desired one."""
    return database.redundancy or cluster.spec.redundancy.value


def duties_of(database: Database, name: str) -> Duties:
    """Return what the database reports about a member's work."""
    node = database.nodes.get(name)
    return (node.duties if node is not None else None) or NOTHING


def is_known(start: Observation) -> bool:
    """Return whether the database reports its redundancy, its coordinators, and the work of all its members."""
    database = start.database
    if not isinstance(database, Database) or not database.redundancy or not database.voters or not database.nodes:
        return False
    work = [node.duties for node in database.nodes.values()]
    return all(each is not None and each.roles is not None and each.stored is not None for each in work)


def machines_of(start: Observation, cluster: FoundationDBCluster) -> dict[str, Machine]:
    """Return the members, none of which runs yet; addresses are made up where a pod shows none."""
    found = dict[str, Machine]()
    for number, member in enumerate(start.members):
        if member.pod is None and member.name not in start.records:
            continue
        found[member.name] = machine_of(start, cluster, member, f"10.128.{number // 250}.{number % 250 + 1}")
    return found


def machine_of(start: Observation, cluster: FoundationDBCluster, member: Member, address: str) -> Machine:
    """Return a member without running processes."""
    database = start.database
    work = duties_of(database, member.name) if isinstance(database, Database) else NOTHING
    node = database.nodes.get(member.name) if isinstance(database, Database) else None
    source = member.pod or member.workload
    return Machine(
        member.name,
        work.kind or class_of(cluster, member.pool),
        work.domain or domain_of(cluster, member),
        processes(source.inputs) if source is not None else 1,
        (member.pod.ip if member.pod is not None else "") or address,
        member.pod.ref.uid if member.pod is not None else "",
        disk_total=node.disk_total if node is not None else 0,
        disk_free=node.disk_free if node is not None else 0,
    )


def new_machine(seen: Observation, cluster: FoundationDBCluster, member: Member) -> Machine:
    """Return a member as its pod asks for it, whatever the database reported of an earlier one with its name."""
    return machine_of(replace(seen, database=Unknown("it is a new member")), cluster, member, "")


def class_of(cluster: FoundationDBCluster, pool: str) -> str:
    """Return the process class of a pool; storage for one that the spec has no more, as it may hold data."""
    found = (each.process_class for each in cluster.spec.pools if each.name == pool)
    return next(found, ProcessClass.STORAGE).value


def domain_of(cluster: FoundationDBCluster, member: Member) -> str:
    """Return the fault domain of a member; a member on an unknown node has its own."""
    node = member.pod.node if member.pod is not None else ""
    return node if node and cluster.spec.fault_domain is FaultDomain.NODE else member.name


def state_of(start: Observation, cluster: FoundationDBCluster, machines: Mapping[str, Machine], now: float) -> State:
    """Return the state of the database, before any process has started."""
    database = start.database
    assert isinstance(database, Database)  # noqa: S101 - the caller has checked it
    logs = sum("log" in (duties_of(database, name).roles or ()) for name in database.nodes)
    mode = redundancy_of(database, cluster)
    configuration = {**DEFAULTS, "redundancy_mode": mode, "storage_engine": cluster.spec.storage_engine.value}
    state = State(
        description(cluster),
        "begin",
        sorted(coordinators_of(start, cluster, machines)),
        configuration={**configuration, "logs": logs or DEFAULTS["logs"]},
        excluded=sorted(locality(name) for name in database.draining),
        maintenance=database.maintenance,
        recovery=Recovery("fully_recovered", now, now),
    )
    if database.maintenance:
        state.maintenance_until = now + (OWN_MAINTENANCE if database.limited else USERS_MAINTENANCE)
    state.servers = dict(servers_of(start, machines, now))
    state.shards = list(shards_of(state, stored_by(database, machines)))
    return state


def coordinators_of(start: Observation, cluster: FoundationDBCluster, machines: Mapping[str, Machine]) -> Iterator[str]:
    """Yield the coordinators as the cluster file names them: those reported, or else those that would be chosen."""
    database = start.database
    names = database.voters if isinstance(database, Database) else frozenset[str]()
    if not names:
        lasting = {m.name for m in start.members if m.claim is not None}
        fit = [Candidate(m.member, m.domain, m.kind) for m in machines.values() if m.member in lasting]
        names = choose(fit, frozenset(), count_of(cluster.spec.redundancy.value)).members
    yield from (str(coordinator(cluster, name)) if name in machines else name for name in sorted(names))


def servers_of(start: Observation, machines: Mapping[str, Machine], now: float) -> Iterator[tuple[str, Server]]:
    """Yield the storage servers by their data directories.

    A member that does not serve keeps its data; one that reports no such role has none, unless its class is for it.
    """
    database = start.database
    assert isinstance(database, Database)  # noqa: S101 - the caller has checked it
    for machine in machines.values():
        roles = duties_of(database, machine.member).roles
        if "storage" in roles if roles is not None else machine.kind == ProcessClass.STORAGE.value:
            for i, store in enumerate(machine.stores()):
                place = {**machine.locality(), "processid": store}
                yield store, Server(f"{machine.address}:{4500 + i}", machine.domain, place, now)


def stored_by(database: Database, machines: Mapping[str, Machine]) -> dict[str, float]:
    """Return the bytes of each data directory; of a member that does not report them, the mean of all others."""
    known = {m.member: size for m in machines.values() if (size := duties_of(database, m.member).stored) is not None}
    full = [size for size in known.values() if size]
    usual = sum(full) / len(full) if full else 0.0
    return {s: known.get(m.member, usual) / m.processes for m in machines.values() for s in m.stores()}


def shards_of(state: State, stored: Mapping[str, float]) -> Iterator[Shard]:
    """Yield the data: one part for each team, on the servers of its fault domains in turn, with their usual size."""
    by_domain = dict[str, list[str]]()
    for store, server in sorted(state.servers.items()):
        by_domain.setdefault(server.zone, []).append(store)
    placed = list[list[str]]()
    turns = dict.fromkeys(by_domain, 0)
    for team in teams(list(by_domain), state.factor):
        holders = list[str]()
        for domain in team:
            servers = by_domain[domain]
            holders.append(servers[turns[domain] % len(servers)])
            turns[domain] += 1
        placed.append(holders)
    parts = {store: sum(store in holders for holders in placed) for store in stored}
    for holders in placed:
        yield Shard(max(1, round(sum(stored[s] / parts[s] for s in holders) / len(holders))), holders)


def assign(state: State, database: Database, machines: Mapping[str, Machine], live: dict[str, Worker]) -> bool:
    """Give the reported roles of the transaction system to these processes; return whether all are known."""
    reported = {name: duties_of(database, name).roles or frozenset[str]() for name in database.nodes}
    firsts = {name: machines[name].workers[0] for name in reported if name in machines and machines[name].workers}
    logs = [firsts[name] for name in sorted(firsts) if "log" in reported[name]]
    names = sorted({role for roles in reported.values() for role in roles} & ROLES)
    roles = {role: [firsts[n].address for n in sorted(firsts) if role in reported[n]] for role in names}
    if not logs or not roles or state.factor > len({log.zone for log in logs}):
        return False
    places = {log.store: log.locality for log in logs}
    state.epochs = [Epoch(1, {log.store: log.address for log in logs}, places, state.factor)]
    state.roles = {"log": [log.address for log in logs], **roles}
    state.born = {address: live[address].started for each in state.roles.values() for address in each}
    return True


ROLES = frozenset(
    {"master", "cluster_controller", "data_distributor", "ratekeeper", "resolver", "grv_proxy", "commit_proxy"}
)
"""The roles of the transaction system beside the logs."""


def is_supported(mode: str) -> bool:
    """Return whether the model knows a redundancy mode."""
    return mode in FACTORS

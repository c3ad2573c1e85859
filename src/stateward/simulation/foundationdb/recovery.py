"""The transaction system: its roles, and the recovery of the database when a process with a role fails.

Each recovery creates a new generation of logs. The older generations are needed until storage servers have read them;
then the database is fully recovered. Until then a process with an old log must not be removed. If too many logs of the
last generation are lost, recovery is impossible, and the database stays unavailable.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from stateward.simulation.foundationdb.state import Epoch, State, Worker

LOCKING = "locking_old_transaction_servers"
RECRUITING = "recruiting_transaction_servers"
SINGLES = ("master", "cluster_controller", "data_distributor", "ratekeeper")

LOGS = {"log": 0, "transaction": 0, "unset": 1, "storage": 2}
"""The fitness of process classes for a log, best first; other classes are unfit."""
OTHERS = {"cluster_controller": 1, "stateless": 0, "unset": 2, "transaction": 3, "log": 3, "storage": 4}
"""The fitness of process classes for stateless roles."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Durations in seconds, and rates in bytes a second."""

    recruiting: float = 1.0
    draining: float = 4.0
    moving: float = 16 * 2**20
    patience: float = 15.0
    """The silence after which a storage server's data is recreated elsewhere."""
    silent: float = 3.0
    """The silence after which a process is unreachable."""
    forgotten: float = 8.0
    """The silence after which a process is no longer listed."""


def step(state: State, live: dict[str, Worker], timing: Timing, now: float) -> None:
    """Advance the transaction system: detect failures, lock, recruit, recover."""
    if not state.configuration:
        return
    recovery = state.recovery
    if state.available and broken(state, live):
        enter(state, LOCKING, now)
    if recovery.name == LOCKING and readable(state, live):
        enter(state, RECRUITING, now)
    if recovery.name == RECRUITING and not readable(state, live):
        enter(state, LOCKING, now)
    if recovery.name == RECRUITING and now - recovery.since >= timing.recruiting and recruit(state, live):
        recovery.recovered = now
        enter(state, "accepting_commits", now)
    if recovery.name == "accepting_commits" and now - recovery.since >= timing.draining / 2:
        enter(state, "all_logs_recruited", now)
    if recovery.name == "all_logs_recruited" and now - recovery.since >= timing.draining / 2:
        del state.epochs[:-1]
        enter(state, "fully_recovered", now)


def enter(state: State, name: str, now: float) -> None:
    """Enter a phase of the recovery."""
    state.recovery.name, state.recovery.since = name, now


def again(state: State, now: float) -> None:
    """Start a recovery, as after a change of configuration, exclusions or coordinators."""
    if state.configuration:
        enter(state, LOCKING, now)


def broken(state: State, live: dict[str, Worker]) -> bool:
    """Return whether the transaction system must be recreated, or could be recruited better."""
    if lost_roles(state, live) or any(out(state, live[address]) for address in holders(state)):
        return True
    better = chosen_logs(state, live)
    now = [live[address] for address in state.roles["log"]]
    return len(better) > len(now) or (bool(better) and worst(better) < worst(now))


def holders(state: State) -> set[str]:
    """Return the addresses of the processes with a role in the transaction system."""
    return {address for addresses in state.roles.values() for address in addresses}


def lost_roles(state: State, live: dict[str, Worker]) -> bool:
    """Return whether a process with a role is gone, or has been restarted and so has lost its role."""
    found = ((live.get(address), state.born.get(address)) for address in holders(state))
    return any(worker is None or worker.started != born for worker, born in found)


def worst(logs: Iterable[Worker]) -> int:
    """Return the worst fitness of some logs."""
    return max(LOGS[worker.kind] for worker in logs)


def out(state: State, worker: Worker) -> bool:
    """Return whether a process is excluded."""
    return state.excludes(worker.address, worker.locality)


def readable(state: State, live: dict[str, Worker]) -> bool:
    """Return whether the last generation of logs is readable: one replica of all its data is available."""
    present = {worker.store for worker in live.values()}
    return all(len(set(epoch.logs) - present) < epoch.factor for epoch in state.epochs[-1:])


def candidates(state: State, live: dict[str, Worker], fitness: dict[str, int]) -> list[Worker]:
    """Return the candidates for a role, the fittest first."""
    able = [worker for worker in live.values() if worker.kind in fitness and not out(state, worker)]
    return sorted(able, key=lambda worker: (fitness[worker.kind], worker.address))


def chosen_logs(state: State, live: dict[str, Worker]) -> list[Worker]:
    """Return the processes that would be logs: less fit classes only if the zones of fitter ones do not suffice."""
    able = candidates(state, live, LOGS)
    for level in sorted(set(LOGS.values())):
        chosen = spread([w for w in able if LOGS[w.kind] <= level], state.configuration["logs"])
        if len({worker.zone for worker in chosen}) >= state.factor:
            return chosen
    return []


def spread(workers: Iterable[Worker], count: int) -> list[Worker]:
    """Return at most this many processes, spread over their zones."""
    left, chosen = list(workers), list[Worker]()
    while left and len(chosen) < count:
        zones = set[str]()
        for worker in list(left):
            if worker.zone not in zones and len(chosen) < count:
                zones.add(worker.zone)
                chosen.append(worker)
                left.remove(worker)
    return chosen


def recruit(state: State, live: dict[str, Worker]) -> bool:
    """Assign the roles of a new generation; False if there are too few processes."""
    logs = chosen_logs(state, live)
    others = candidates(state, live, OTHERS)
    if not logs or not others:
        return False
    number = state.epochs[-1].number + 1 if state.epochs else 1
    stores = {log.store: log.address for log in logs}
    state.epochs.append(Epoch(number, stores, {log.store: log.locality for log in logs}, state.factor))
    state.roles = {"log": [log.address for log in logs], **rest(state, others)}
    members = {address for addresses in state.roles.values() for address in addresses}
    state.born = {address: live[address].started for address in sorted(members)}
    return True


def rest(state: State, others: list[Worker]) -> dict[str, list[str]]:
    """Return the stateless roles, assigned to the fittest processes in turn."""
    first = OTHERS[others[0].kind]
    pool = [worker.address for worker in others if OTHERS[worker.kind] <= max(first, 1)]
    wanted = [(role, 1) for role in SINGLES]
    wanted += [("resolver", state.configuration["resolvers"]), ("grv_proxy", state.configuration["grv_proxies"])]
    wanted.append(("commit_proxy", state.configuration["commit_proxies"]))
    roles: dict[str, list[str]] = {}
    at = 0
    for role, count in wanted:
        roles[role] = [pool[(at + number) % len(pool)] for number in range(min(count, len(pool)))]
        at += len(roles[role])
    return roles

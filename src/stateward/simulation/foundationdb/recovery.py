"""The transaction system: who has which role, and how the database recovers when one of them is gone.

Every recovery makes a new generation of logs. The older ones are still needed until storage servers have read them, and
then the database is fully recovered: a process that holds one is no process to remove. If too many of the last
generation are gone, nothing is recovered any more, and the database stays unavailable.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from stateward.simulation.foundationdb.state import Epoch, State, Worker

LOCKING = "locking_old_transaction_servers"
RECRUITING = "recruiting_transaction_servers"
SINGLES = ("master", "cluster_controller", "data_distributor", "ratekeeper")

LOGS = {"log": 0, "transaction": 0, "unset": 1, "storage": 2}
"""How fit classes are for a log, the fittest first; others never are."""
OTHERS = {"cluster_controller": 1, "stateless": 0, "unset": 2, "transaction": 3, "log": 3, "storage": 4}
"""How fit classes are for all that keeps nothing on a disk."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast things go: seconds, and bytes a second."""

    recruiting: float = 1.0
    draining: float = 4.0
    moving: float = 16 * 2**20
    patience: float = 15.0
    """After so long without a word a storage server's data is made again elsewhere."""
    silent: float = 3.0
    """After so long without a word a process is not reached."""
    forgotten: float = 8.0
    """After so long without a word a process is no longer listed."""


def step(state: State, live: dict[str, Worker], timing: Timing, now: float) -> None:
    """Let the transaction system go on: notice who is gone, lock, recruit, recover."""
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
    """Go on to a phase of the recovery."""
    state.recovery.name, state.recovery.since = name, now


def again(state: State, now: float) -> None:
    """Recover, as after every change of the configuration, of exclusions and of coordinators."""
    if state.configuration:
        enter(state, LOCKING, now)


def broken(state: State, live: dict[str, Worker]) -> bool:
    """Return whether the transaction system must be recreated, or could be recruited better."""
    members = {address for addresses in state.roles.values() for address in addresses}
    for address in members:
        worker = live.get(address)
        if worker is None or worker.started != state.born.get(address) or out(state, worker):
            return True
    better = chosen_logs(state, live)
    now = [live[address] for address in state.roles["log"]]
    return len(better) > len(now) or (bool(better) and worst(better) < worst(now))


def worst(logs: Iterable[Worker]) -> int:
    """Return how unfit the least fit of some logs is."""
    return max(LOGS[worker.kind] for worker in logs)


def out(state: State, worker: Worker) -> bool:
    """Tell whether a process is excluded."""
    return state.excludes(worker.address, worker.locality)


def readable(state: State, live: dict[str, Worker]) -> bool:
    """Tell whether the last generation of logs can be read: one replica of everything in it is there."""
    present = {worker.store for worker in live.values()}
    return all(len(set(epoch.logs) - present) < epoch.factor for epoch in state.epochs[-1:])


def candidates(state: State, live: dict[str, Worker], fitness: dict[str, int]) -> list[Worker]:
    """Return who may have a role, the fittest first."""
    able = [worker for worker in live.values() if worker.kind in fitness and not out(state, worker)]
    return sorted(able, key=lambda worker: (fitness[worker.kind], worker.address))


def chosen_logs(state: State, live: dict[str, Worker]) -> list[Worker]:
    """Return who would be a log now: less fit classes only where the zones of the fitter ones do not suffice."""
    able = candidates(state, live, LOGS)
    for level in sorted(set(LOGS.values())):
        chosen = spread([w for w in able if LOGS[w.kind] <= level], state.configuration["logs"])
        if len({worker.zone for worker in chosen}) >= state.factor:
            return chosen
    return []


def spread(workers: Iterable[Worker], count: int) -> list[Worker]:
    """Return at most so many, in rounds over their zones."""
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
    """Give out the roles of a new generation; false where there are too few processes."""
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
    """Return the roles that keep nothing on a disk, over the fittest processes in turn."""
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

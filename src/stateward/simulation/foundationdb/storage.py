"""Storage: shards on storage servers across zones, and the data distribution that moves them.

Data leaves a server when the server is excluded or silent for too long (unless its zone is in maintenance), and for
balance. A server is known until all its data has arrived elsewhere. Data without another place stays.
"""

from stateward.simulation.foundationdb.recovery import Timing, out
from stateward.simulation.foundationdb.state import SHARD_BYTES, SHARDS, Server, Shard, State, Worker

FIT = frozenset({"storage", "unset"})


def step(state: State, live: dict[str, Worker], timing: Timing, passed: float, now: float) -> None:
    """Advance data distribution by some seconds; it stops while the database is unavailable."""
    register(state, live, now)
    if not state.available or not state.distribution:
        return
    detect_failures(state, live, timing, now)
    able = takers(state, live)
    if not state.shards and able:
        state.shards = [first(state, able, number) for number in range(SHARDS)]
    budget = passed * timing.moving
    present = {worker.store for worker in live.values()}
    good = healthy(state, present)
    for shard in state.shards:
        budget = repair(state, shard, able, budget, good, present)
    if budget > 0:
        balance(state, able)
    for name, server in list(state.servers.items()):
        empty = not any(name in shard.holders or name == shard.target for shard in state.shards)
        if empty and (name not in able or excluded(state, server, reachable=name in present)):
            del state.servers[name]


def register(state: State, live: dict[str, Worker], now: float) -> None:
    """Register the storage processes: new ones, and those that returned with another address."""
    if not state.configuration:
        return
    for worker in live.values():
        known = state.servers.get(worker.store)
        if known is not None:
            known.address, known.zone, known.locality, known.seen = worker.address, worker.zone, worker.locality, now
        elif worker.kind in FIT and not out(state, worker):
            state.servers[worker.store] = Server(worker.address, worker.zone, worker.locality, now)


def takers(state: State, live: dict[str, Worker]) -> dict[str, str]:
    """Return the zones of the servers that may receive data."""
    present = {worker.store for worker in live.values() if not out(state, worker)}
    return {name: server.zone for name, server in state.servers.items() if name in present}


def healthy(state: State, present: set[str]) -> set[str]:
    """Return the servers that keep their data: neither excluded nor failed; `present` are the reachable ones."""
    return {name for name in unfailed(state) if not excluded(state, state.servers[name], reachable=name in present)}


def unfailed(state: State) -> set[str]:
    """Return the servers that data distribution does not take for failed."""
    return {name for name, server in state.servers.items() if not server.failed}


def excluded(state: State, server: Server, *, reachable: bool) -> bool:
    """Return whether data distribution takes a server for excluded: it knows localities of reachable processes only."""
    return state.excludes(server.address, server.locality if reachable else {})


def detect_failures(state: State, live: dict[str, Worker], timing: Timing, now: float) -> None:
    """Take servers for failed that have been silent for too long; in a zone in maintenance, not before that ends.

    Maintenance ends after its time, or when a server of another zone fails.
    """
    present = {worker.store for worker in live.values()}
    for name, server in state.servers.items():
        if name in present or server.zone == state.maintenance:
            server.seen, server.failed = now, False
    if state.maintenance and now >= state.maintenance_until:
        state.maintenance, state.maintenance_until = "", 0.0
    for server in state.servers.values():
        if not server.failed and state.failures and now - server.seen >= timing.patience:
            server.failed = True
            state.maintenance, state.maintenance_until = "", 0.0


def first(state: State, able: dict[str, str], number: int) -> Shard:
    """Return an empty shard of a new database."""
    names = sorted(able)
    turned = names[number % len(names) :] + names[: number % len(names)]
    return Shard(SHARD_BYTES, one_a_zone(state, turned)[: state.factor])


def repair(state: State, shard: Shard, able: dict[str, str], budget: float, good: set[str], present: set[str]) -> float:
    """Create missing replicas from any available one, even an excluded one; return the rest of the byte budget."""
    kept = one_a_zone(state, [name for name in shard.holders if name in good])
    short = len(kept) < state.factor
    if not short:
        shard.holders = kept[: state.factor]
    aim(state, shard, able, kept, short=short)
    if not shard.target or budget <= 0 or present.isdisjoint(shard.holders):
        return budget
    share = min(budget, shard.size - shard.moved)
    shard.moved += share
    if shard.moved >= shard.size:
        arrive(state, shard, kept)
    return budget - share


def aim(state: State, shard: Shard, able: dict[str, str], kept: list[str], *, short: bool) -> None:
    """Choose the target of a replica; a move in progress continues while it is useful."""
    zones = {state.servers[name].zone for name in kept}
    valid = shard.target in able and shard.target not in kept
    if short and (not valid or able[shard.target] in zones):
        shard.target, shard.moved = emptiest(state, able, zones), 0.0
    elif not short and not valid:
        shard.target, shard.moved = "", 0.0


def arrive(state: State, shard: Shard, kept: list[str]) -> None:
    """Add a finished replica; old ones are dropped only once there are enough new ones."""
    zone = state.servers[shard.target].zone
    apart = [name for name in kept if state.servers[name].zone != zone]
    if len(apart) >= state.factor:
        fullest = max(apart, key=lambda name: (load(state, name), name))
        apart.remove(fullest)
    others = [name for name in shard.holders if name not in kept]
    shard.holders = [*apart, shard.target, *([] if len(apart) + 1 >= state.factor else others)]
    shard.target, shard.moved = "", 0.0


def one_a_zone(state: State, names: list[str]) -> list[str]:
    """Return the counted holders, one of each zone."""
    zones: dict[str, str] = {}
    for name in names:
        zones.setdefault(state.servers[name].zone, name)
    return list(zones.values())


def emptiest(state: State, able: dict[str, str], zones: set[str]) -> str:
    """Return the emptiest server of another zone; empty if there is none."""
    fit = [name for name, zone in able.items() if zone not in zones]
    return min(fit, key=lambda name: (load(state, name), name), default="")


def load(state: State, name: str) -> int:
    """Return the number of shards that a server holds or receives."""
    return sum(name in shard.holders or name == shard.target for shard in state.shards)


def balance(state: State, able: dict[str, str]) -> None:
    """Start to move one shard from the fullest server to the emptiest if this balances them."""
    if any(shard.target for shard in state.shards) or len(able) < 2:
        return
    order = sorted(able, key=lambda name: (load(state, name), name))
    least, most = order[0], order[-1]
    if load(state, most) - load(state, least) < 2:
        return
    for shard in state.shards:
        zones = {state.servers[name].zone for name in shard.holders if name != most and name in state.servers}
        if most in shard.holders and least not in shard.holders and able[least] not in zones:
            shard.target = least
            return


def replicas(state: State, counted: set[str]) -> int:
    """Return the lowest number of replicas of any shard on the counted servers, including excluded ones."""
    if not state.shards:
        return 0
    return min(
        len({state.servers[name].zone for name in shard.holders if name in counted and name in state.servers})
        for shard in state.shards
    )


def moving(state: State) -> int:
    """Return the bytes that still have to move."""
    return int(sum(shard.size - shard.moved for shard in state.shards if shard.target))


def waiting(state: State, good: set[str]) -> int:
    """Return the bytes of missing replicas that are not being created."""
    return sum(shard.size for shard in state.shards if missing(state, shard, good) and not shard.target)


def missing(state: State, shard: Shard, good: set[str]) -> bool:
    """Return whether a shard has too few counted replicas."""
    return len([name for name in shard.holders if name in good]) < state.factor


def queued(state: State, good: set[str]) -> bool:
    """Return whether replicas are missing."""
    return any(missing(state, shard, good) for shard in state.shards)

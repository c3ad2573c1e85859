"""One cluster: its state, its processes, and its answers to requests.

The caller (the elected process in the sandbox, the world in the simulation) ensures that a majority of the coordinators
is available; the model does not check.
"""

from collections.abc import Callable, Iterable
from typing import Any

from stateward.simulation.foundationdb import recovery, storage
from stateward.simulation.foundationdb.addresses import endpoint, is_coordinator
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.foundationdb.state import DEFAULTS, ENGINES, FACTORS, State, Worker, protocol

Answer = dict[str, Any]
FULL = 0.9
"""An exclusion is refused if it would leave disks fuller than this."""


class Cluster:
    """The model. All times are seconds of the caller's clock."""

    def __init__(self, state: State, version: str, timing: Timing | None = None) -> None:
        self.state = state
        self.version = version
        self.timing = timing or Timing()
        self.workers: dict[str, Worker] = {}
        self.strangers: dict[str, float] = {}
        """Processes of another protocol, and the time of their last message."""
        self.kill: Callable[[str], None] = lambda _: None
        self.resolve: Callable[[str], str] = lambda name: name
        self.at = 0.0

    def heartbeat(self, worker: Worker, now: float) -> None:
        """Record a heartbeat; of a process with another protocol only the address is known."""
        if protocol(worker.version) != protocol(self.version):
            self.strangers[worker.address] = now
            return
        worker.seen = now
        self.strangers.pop(worker.address, None)
        self.workers[worker.address] = worker

    def lose(self, address: str) -> None:
        """Record that a process has certainly ended, because its connection was closed."""
        self.workers.pop(address, None)

    def live(self, now: float) -> dict[str, Worker]:
        """Return the reachable processes."""
        return {a: worker for a, worker in self.workers.items() if now - worker.seen < self.timing.silent}

    def advance(self, now: float) -> None:
        """Advance to a time."""
        passed = now - self.at if self.at else 0.0
        self.at = now
        self.workers = {a: w for a, w in self.workers.items() if now - w.seen < self.timing.forgotten}
        self.strangers = {a: seen for a, seen in self.strangers.items() if now - seen < self.timing.forgotten}
        live = self.live(now)
        recovery.step(self.state, live, self.timing, now)
        storage.step(self.state, live, self.timing, passed, now)

    def ask(self, request: Answer, now: float) -> Answer:
        """Answer one request of a client."""
        self.advance(now)
        answers: dict[str, Callable[[Answer, float], Answer]] = {
            "configure": self._configure,
            "exclude": self._exclude,
            "include": self._include,
            "excluded": lambda _, __: {"excluded": self.state.excluded, "failed": self.state.failed},
            "in progress": lambda _, __: {"addresses": sorted(self.in_progress())},
            "workers": lambda _, __: {"workers": [{"address": w.address, **w.locality} for w in self._sorted()]},
            "coordinators": self._coordinators,
            "where": lambda _, __: {
                "coordinators": self.state.coordinators,
                "addresses": [self.resolve(name) for name in self.state.coordinators],
                "description": self.state.description,
            },
            "kill": self._kill,
            "maintenance": self._maintenance,
            "distribution": self._distribution,
        }
        return answers[request["op"]](request, now)

    def in_progress(self) -> set[str]:
        """Return the excluded addresses that data or a generation of logs still needs."""
        held = {server.address: server.locality for server in self.state.servers.values()}
        for epoch in self.state.epochs:
            held |= {address: epoch.places[store] for store, address in epoch.logs.items()}
        return {endpoint(address) for address, place in held.items() if self.state.excludes(address, place)}

    def _sorted(self) -> list[Worker]:
        return sorted(self.workers.values(), key=lambda worker: worker.address)

    def _configure(self, request: Answer, now: float) -> Answer:
        options = parse(request["options"])
        new = bool(request["new"])
        if options is None or (new and not {"redundancy_mode", "storage_engine"} <= options.keys()):
            return {"result": "usage"}
        if new and self.state.configuration:
            # The transaction of a creation is one of version 0: only a database that is up refuses it.
            return {"result": "exists" if self.state.available else "waits"}
        if not new and not self.state.available:
            return {"result": "unavailable"}
        wanted: dict[str, Any] = {**DEFAULTS, **self.state.configuration, **options}
        zones = {worker.zone for worker in self.live(now).values()}
        if len(zones) < FACTORS[wanted["redundancy_mode"]]:
            return {"result": "workers"}
        if not new and wanted["storage_engine"] != self.state.configuration["storage_engine"]:
            return {"result": "migration"}
        self.state.configuration = wanted
        recovery.again(self.state, now)
        return {"result": "created" if new else "changed"}

    def _exclude(self, request: Answer, now: float) -> Answer:
        targets: list[str] = request["targets"]
        if not request["force"] and self._full(targets, now):
            return {"result": "full"}
        known = self.state.failed if request["failed"] else self.state.excluded
        known += [target for target in targets if target not in known]
        known.sort()
        return {"result": "done"}

    def _full(self, targets: Iterable[str], now: float) -> bool:
        """Return whether the remaining servers would have too little free space."""
        there = {worker.store: worker for worker in self.live(now).values()}
        trial = State("", "", [], excluded=[*self.state.excluded, *targets])
        stay = [there[s] for s in self.state.servers if s in there and not recovery.out(trial, there[s])]
        total, free = sum(worker.disk_total for worker in stay), sum(worker.disk_free for worker in stay)
        return bool(stay) and free < total * (1 - FULL)

    def _include(self, request: Answer, now: float) -> Answer:
        del now
        known = self.state.failed if request["failed"] else self.state.excluded
        for target in list(known):
            # A host includes all of its ports.
            if request["all"] or any(target == t or target.startswith(f"{t}:") for t in request["targets"]):
                known.remove(target)
        return {"result": "done"}

    def _coordinators(self, request: Answer, now: float) -> Answer:
        """Change the coordinators; the caller informs the old and the new ones."""
        wanted: list[str] = request["addresses"]
        if sorted(wanted) == sorted(self.state.coordinators):
            return {"result": "same"}
        live = self.live(now)
        lost = [name for name in wanted if not is_coordinator(name) or self.resolve(name) not in live]
        if lost:
            return {"result": "unreachable", "addresses": lost}
        self.state.coordinators = sorted(wanted)
        self.state.generation = request["generation"]
        recovery.again(self.state, now)
        return {"result": "changed", "connection": str(self.state.connection)}

    def _kill(self, request: Answer, now: float) -> Answer:
        known = {endpoint(address): address for address in self.live(now)}
        for address in request["addresses"]:
            if address in known:
                self.kill(known[address])
        return {"result": "sent"}

    def _maintenance(self, request: Answer, now: float) -> Answer:
        if request["zone"] and not self.state.failures:
            return {"result": "failures ignored"}
        if request["zone"] is not None:
            for server in self.state.servers.values():
                if self.state.maintenance and server.zone == self.state.maintenance:
                    server.seen = now  # Its failure counts from the end of the maintenance on.
            self.state.maintenance = request["zone"]
            self.state.maintenance_until = now + request["seconds"] if request["zone"] else 0.0
        left = max(0.0, self.state.maintenance_until - now)
        return {"zone": self.state.maintenance if left else "", "seconds": int(left)}

    def _distribution(self, request: Answer, now: float) -> Answer:
        """Turn data distribution on or off, or let it take servers for failed or not; silence counts from then on.

        The database keeps in one place that failures are ignored and which zone is in maintenance.
        """
        self.state.distribution = request.get("on", self.state.distribution)
        self.state.failures = request.get("failures", self.state.failures)
        if not self.state.failures:
            self.state.maintenance, self.state.maintenance_until = "", 0.0
        for server in self.state.servers.values():
            server.seen, server.failed = now, server.failed and self.state.failures
        return {"result": "done"}


def parse(options: Iterable[str]) -> dict[str, Any] | None:
    """Return the settings in the options of `configure`; None if an option is unknown."""
    found: dict[str, Any] = {}
    for option in options:
        name, _, value = option.partition("=")
        if option in FACTORS:
            found["redundancy_mode"] = option
        elif option in ENGINES:
            found["storage_engine"] = {"ssd": "ssd-2", "memory": "memory-2"}.get(option, option)
        elif name in DEFAULTS and value.removeprefix("-").isdigit():
            found[name] = int(value) if int(value) > 0 else DEFAULTS[name]
        else:
            return None
    return found or None

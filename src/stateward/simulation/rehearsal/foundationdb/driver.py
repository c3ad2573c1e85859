"""The operator's driver of FoundationDB on the model: the same decisions, without a command line in between."""

from collections.abc import Mapping

import msgspec

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.engines.foundationdb.database.exclusion import draining, locality
from stateward.engines.foundationdb.database.leaving import exclusions
from stateward.engines.foundationdb.database.maintenance import PERIOD, is_own, zone_of
from stateward.engines.foundationdb.database.members import view
from stateward.engines.foundationdb.database.picture import Proof, Proofs, absent, decoded_observation, members_to_prove
from stateward.engines.foundationdb.database.status import Status
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.foundationdb.database.upkeep import (
    candidates,
    coordinator_change,
    current_coordinators,
    desired_coordinators,
    redundancy_change,
    unmovable,
)
from stateward.engines.foundationdb.spec.coordinators import Prospect
from stateward.engines.foundationdb.spec.identity import coordinator, description
from stateward.engines.foundationdb.spec.inputs import processes
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Database, Observation, Unknown
from stateward.simulation.foundationdb import status as reports
from stateward.simulation.rehearsal.foundationdb.model import DatabaseModel

FILE = "/var/fdb/fdb.cluster"
NOBODY: Mapping[str, Proof] = {}


class ModelDriver:
    """Reads and changes the model as the operator's driver does the database."""

    def __init__(self, model: DatabaseModel, cluster: FoundationDBCluster) -> None:
        self._model, self._spec = model, cluster
        self._changes = 0

    def observe(self, seen: Observation, prospects: Mapping[str, Prospect]) -> Database | Unknown:
        """Return the database's answer to the operator, with proofs of what has left the members that are drained."""
        target, status = self._asked(seen, prospects)
        held = self._model.cluster.in_progress() if self._model.quorum else set[str]()
        wanted = members_to_prove(target, status) if absent(target, status) is None else NOBODY
        empty = frozenset(name for name in wanted if held.isdisjoint(target.known.get(name, ())))
        return decoded_observation(target, status, Proofs(empty))

    def apply(self, action: a.Action, seen: Observation, prospects: Mapping[str, Prospect]) -> None:
        """Perform an action on the database; it does nothing while the database is not available."""
        target, status = self._asked(seen, prospects)
        if absent(target, status) is not None:
            return
        match action:
            case a.Drain():
                self._drain(target, status, action.members)
            case a.ExcludeVoters() if action.members:
                self._away(target, status, action.members)
            case a.LimitAllocation():
                self._maintain(target, status, action.members)
            case a.RestoreAllocation() if is_own(status):
                self._ask("maintenance", zone="")
            case a.ConfigureDatabase():
                self._configure(target, status)
            case _:
                return
        self._model.ensemble.touched = True

    def _asked(self, seen: Observation, prospects: Mapping[str, Prospect]) -> tuple[FoundationTarget, Status]:
        return target_of(seen, self._spec, self._model, prospects), self._status()

    def _status(self) -> Status:
        model = self._model
        now, there = model.cluster.at, model.ensemble.processes
        reached = {name: model.cluster.resolve(name) in there for name in model.state.coordinators}
        found = reports.whole(model.cluster, reached, FILE, now) if model.quorum else reports.alone(reached, FILE, now)
        return msgspec.convert(found, Status)

    def _ask(self, op: str, **request: object) -> str:
        """Return how the database answers a request."""
        return str(self._model.cluster.ask({"op": op, **request}, self._model.cluster.at).get("result", ""))

    def _drain(self, target: FoundationTarget, status: Status, members: frozenset[str]) -> None:
        back = draining(status) - members
        if back:
            self._ask("include", targets=[locality(name) for name in sorted(back)], failed=False, all=False)
        wanted = exclusions(target, status, members).members
        if wanted:
            self._away(target, status, members)
            self._ask("exclude", targets=[locality(name) for name in sorted(wanted)], failed=False, force=False)

    def _away(self, target: FoundationTarget, status: Status, members: frozenset[str]) -> None:
        seen, now = view(status, target.known), current_coordinators(target, status)
        if seen is None or now is None or not now & members or unmovable(target, status, seen, now, members):
            return
        self._coordinate(desired_coordinators(target, status, candidates(target, seen, members), now).members)

    def _maintain(self, target: FoundationTarget, status: Status, members: frozenset[str]) -> None:
        now, seen = status.cluster.maintenance_zone, view(status, target.known)
        zone = zone_of(seen, members) if seen is not None else ""
        if zone and (not now or is_own(status)):
            self._ask("maintenance", zone=zone, seconds=float(PERIOD))

    def _configure(self, target: FoundationTarget, status: Status) -> None:
        wanted = target.cluster.spec.redundancy.value
        if redundancy_change(target, status) and self._ask("configure", new=False, options=[wanted]) == "changed":
            return
        seen, now = view(status, target.known), current_coordinators(target, status)
        if seen is not None and now is not None and coordinator_change(target, status, seen, now):
            fit = candidates(target, seen, frozenset())
            self._coordinate(desired_coordinators(target, status, fit, now).members)

    def _coordinate(self, members: frozenset[str]) -> None:
        self._changes += 1
        names = [str(coordinator(self._spec, name)) for name in sorted(members)]
        self._ask("coordinators", addresses=names, generation=f"{self._changes:032x}")


def target_of(
    seen: Observation, cluster: FoundationDBCluster, model: DatabaseModel, prospects: Mapping[str, Prospect]
) -> FoundationTarget:
    """Return the cluster as the operator speaks of it to its driver."""
    pods = {m.name: m.pod for m in seen.members}
    sets = {m.name: m.workload for m in seen.members if m.workload is not None}
    made = {name: workload.inputs for name, workload in sets.items()}
    made |= {name: pod.inputs for name, pod in pods.items() if pod is not None}
    return FoundationTarget(
        endpoints=("pod",),
        name=cluster.metadata.name,
        identity=description(cluster),
        cluster=cluster,
        known={name: machine.addresses for name, machine in model.machines.items()},
        domains={name: machine.domain for name, machine in model.machines.items() if pods.get(name) is not None},
        processes={name: processes(made[name]) for name, workload in sets.items() if workload.replicas > 0},
        lasting=frozenset(m.name for m in seen.members if m.claim is not None),
        fresh=frozenset(sets.keys() - seen.records.keys()),
        missing=seen.missing,
        silent=seen.away,
        maintenance_end=seen.maintenance_end,
        prospects=prospects,
    )

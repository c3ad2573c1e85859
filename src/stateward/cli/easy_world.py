"""A little world in which every action succeeds at once, for running a plan forward.

No time is modelled, and no failure: a pod that is made comes up, a copy that may move has moved by the next look. What
was broken before, such as a pod whose image cannot be pulled, stays broken until it is made anew.
"""

from msgspec.structs import replace

from stateward.cli.easy_database import joined, moved, placed
from stateward.planning import actions as a
from stateward.planning.observation import (
    Bootstrap,
    Claim,
    Database,
    Health,
    Member,
    Observation,
    Pod,
    Pool,
    Record,
    Ref,
    Removal,
    Unknown,
    Workload,
)


class EasyWorld:
    """One cluster in which every action succeeds at once."""

    def __init__(self, start: Observation) -> None:
        self._obs = start
        self._pools: dict[str, Pool] = {pool.name: pool for pool in start.desired.pools}
        self._members: dict[str, Member] = {member.name: member for member in start.members}
        self._made = 0

    def observation(self) -> Observation:
        """Return what would be observed now."""
        members = tuple(self._members[name] for name in sorted(self._members))
        return replace(self._obs, members=members, settled_writes=True, live=True)

    def take(self, action: a.Action) -> None:
        """Do what an action asks for."""
        match action:
            case a.Create():
                self._create(action)
            case a.Stage():
                self._stage(action.member, action.pool, action.version)
            case a.DeletePod():
                self._members[action.member] = replace(self._members[action.member], pod=None)
            case a.Release():
                self._scale(action.member, 0)
            case a.Forget():
                self._forget(action.member)
            case a.DeleteVolume():
                self._members.pop(action.member, None)
            case a.GrowVolume():
                self._grow(action.member, action.size)
            case a.RecordBootstrap() | a.RecordRemoval() | a.TakeBack():
                self._record(action)
            case a.GrantBootstrap():
                self._form(action.member)
            case _:
                self._tell(action)

    def settle(self, now: float) -> None:
        """Let happen what happens by itself: pods come up and join, data moves, the status is written."""
        for member in tuple(self._members.values()):
            self._members[member.name] = self._settled(member, now)
        if isinstance(self._obs.database, Database):
            database = joined(self._obs.database, self._members.values(), self._pools)
            database = replace(database, units=tuple(placed(database, unit) for unit in database.units))
            self._obs = replace(self._obs, database=database)
            self._remember(database)

    def _record(self, action: a.RecordBootstrap | a.RecordRemoval | a.TakeBack) -> None:
        """Write down what only the status remembers."""
        if isinstance(action, a.RecordBootstrap):
            grant = Bootstrap(member=action.member, volume=action.volume, formed=False)
            self._obs = replace(self._obs, bootstrap=grant)
            return
        listed = {name: found for name, found in self._obs.removals.items() if name != action.member}
        if isinstance(action, a.RecordRemoval):
            claim = self._members[action.member].claim
            listed[action.member] = Removal(action.why, since=0.0, volume=claim.ref.uid if claim else "")
        self._obs = replace(self._obs, removals=listed)

    def _create(self, action: a.Create) -> None:
        pool = self._pools[action.pool]
        known = self._members.get(action.member)
        claim = known.claim if known else None
        if claim is None and not pool.ephemeral:
            ref = self._ref(f"data-{action.member}")
            claim = Claim(ref, pool.volume_size, pool.volume_size, pool.storage_class or "", expandable=True)
        member = Member(name=action.member, pool=action.pool, ordinal=action.ordinal, claim=claim)
        self._members[action.member] = member
        self._stage(action.member, action.pool, action.version)

    def _stage(self, name: str, pool: str, version: str) -> None:
        desired = self._pools[pool]
        inputs = desired.inputs if version == self._obs.desired.version else desired.held_inputs
        workload = Workload(ref=self._ref(name), inputs=inputs, version=version, replicas=1, observed=True)
        self._members[name] = replace(self._members[name], workload=workload, config=inputs)

    def _scale(self, name: str, replicas: int) -> None:
        member = self._members[name]
        if member.workload is not None:
            workload = replace(member.workload, replicas=replicas)
            self._members[name] = replace(member, workload=workload, pod=member.pod if replicas else None)

    def _forget(self, name: str) -> None:
        member = self._members[name]
        if member.claim is None:
            del self._members[name]
        else:
            self._members[name] = replace(member, workload=None, config=None, pod=None)

    def _grow(self, name: str, size: int) -> None:
        member = self._members[name]
        if member.claim is not None:
            self._members[name] = replace(member, claim=replace(member.claim, requested=size, capacity=size))

    def _form(self, name: str) -> None:
        grant = self._obs.bootstrap
        database = Database(identity="formed", health=Health.GREEN, nodes={}, leader=name)
        formed = Bootstrap(member=name, volume=grant.volume if grant else "", formed=True)
        self._obs = replace(self._obs, database=database, bootstrap=formed)

    def _tell(self, action: a.Action) -> None:
        database = self._obs.database
        if isinstance(database, Unknown):
            return
        match action:
            case a.LimitAllocation():
                database = replace(database, allocation=action.allocation, limited=True)
            case a.RestoreAllocation():
                database = replace(database, allocation=type(database.allocation).ALL, limited=False)
            case a.Drain():
                database = replace(database, draining=action.members)
            case a.ExcludeVoters():
                database = replace(database, voting_exclusions=action.members)
            case a.MoveCopies():
                for move in action.moves:
                    database = replace(database, units=tuple(moved(unit, move) for unit in database.units))
            case _:
                pass
        self._obs = replace(self._obs, database=database)

    def _settled(self, member: Member, now: float) -> Member:
        workload, pod, claim = member.workload, member.pod, member.claim
        if claim is not None and claim.capacity < claim.requested:
            claim = replace(claim, capacity=claim.requested)
        wanted = workload is not None and workload.replicas > 0
        if wanted and workload is not None and (pod is None or pod.terminating):
            pod = self._pod(member, workload, now)
        elif pod is not None and pod.terminating:
            pod = None
        elif pod is not None and not pod.trouble:
            pod = replace(pod, running=True, ready=isinstance(self._obs.database, Database), node_ready=True)
        return replace(member, pod=pod, claim=claim)

    def _pod(self, member: Member, workload: Workload, now: float) -> Pod:
        record = self._obs.records.get(member.name)
        return Pod(
            ref=self._ref(f"{member.name}-0"),
            inputs=workload.inputs,
            version=workload.version,
            created=now,
            ready=isinstance(self._obs.database, Database),
            running=True,
            zone=(member.pod.zone if member.pod else "") or (record.zone if record else ""),
            candidate=not isinstance(self._obs.database, Database),
        )

    def _remember(self, database: Database) -> None:
        """Write down who has joined with what, and the version once it is everywhere, as the status does."""
        records = dict(self._obs.records)
        for name, node in database.nodes.items():
            member = self._members.get(name)
            volume = member.claim.ref.uid if member is not None and member.claim is not None else ""
            zone = member.pod.zone if member is not None and member.pod is not None else ""
            records[name] = Record(version=node.version, volume=volume, zone=zone)
        wanted = self._obs.desired.version
        mine = [m for m in self._members.values() if m.alive]
        complete = len(mine) >= sum(pool.replicas for pool in self._obs.desired.pools)
        everywhere = complete and all(
            m.name in database.nodes and database.nodes[m.name].version == wanted for m in mine
        )
        deployed = wanted if everywhere else self._obs.deployed_version
        self._obs = replace(self._obs, records=records, deployed_version=deployed)

    def _ref(self, name: str) -> Ref:
        self._made += 1
        return Ref(name, f"forward-{self._made}", str(self._made))

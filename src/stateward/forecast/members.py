"""The members' objects, and their pods as Kubernetes stops, recreates and starts them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from stateward.forecast.durations import Durations, News
from stateward.forecast.event_queue import EventQueue
from stateward.planning.facts.change import with_immutable_inputs
from stateward.planning.facts.protocol import PROGRAMS
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Claim, Member, Observation, Pod, Pool, Ref, Workload

VolumeAction = a.DeleteVolume | a.GrowVolume | a.MarkVolume | a.MarkState | a.ForgetState | a.RetainVolume | a.OwnVolume


class Listener(Protocol):
    """Receives the events of the members."""

    @property
    def formed(self) -> bool:
        """Whether the cluster is formed."""
        ...

    def started(self, member: Member, pod: Pod) -> None:
        """React to a member's process that runs and could serve."""
        ...

    def stopped(self, member: Member) -> None:
        """React to the end of a member's process and pod."""
        ...

    news: News
    """What has happened that triggers a reconciliation."""

    def left(self, member: Member) -> None:
        """React to the end of a member's process whose pod stays."""
        ...

    def grown(self, name: str, before: int, after: int) -> None:
        """React to a volume that has another size; sizes in bytes."""
        ...

    def happened(self, what: str, member: str = "") -> None:
        """React to the end of a step."""
        ...


class Members:
    """All members of one cluster, by name."""

    def __init__(self, queue: EventQueue, durations: Durations, start: Observation, listener: Listener) -> None:
        desired = start.desired
        self.pools: Mapping[str, Pool] = {pool.name: pool for pool in desired.pools}
        self.all: dict[str, Member] = {}
        self._queue, self._durations, self._listener = queue, durations, listener
        self._version, self._revision, self._agent = desired.version, desired.template_revision, desired.agent
        self._uid, self._owner = start.uid, start.uid if desired.own_volumes else ""
        self._zones: dict[str, str] = {}
        self._nodes: dict[str, str] = {}
        self._managed: set[str] = set()
        self._new: set[str] = set()
        """Members that this change creates, until they serve for the first time."""
        self._made = 0
        self.unreachable: set[str] = set()
        """Members whose machine is lost or cut off: their pods neither start nor end."""
        self.broken: dict[str, str] = {}
        """By member: what keeps each of its pods from running, in Kubernetes' words."""
        self.outages = Counter[str]()
        """How often each member was lost or cut off: what was under way before then is void."""

    def begin(self, members: Iterable[Member], zones: Mapping[str, str], serving: Iterable[str]) -> None:
        """Continue the changes that are in progress."""
        self.all = {member.name: member for member in members}
        self._zones = {**zones, **{m.name: m.pod.zone for m in self.all.values() if m.pod is not None and m.pod.zone}}
        self._nodes = {m.name: m.pod.node for m in self.all.values() if m.pod is not None and m.pod.node}
        self._managed = {m.name for m in self.all.values() if m.pod is not None and m.pod.agent}
        there = frozenset(serving)
        for member in tuple(self.all.values()):
            pod, claim = member.pod, member.claim
            if claim is not None and 0 < claim.capacity < claim.requested:
                self._queue.after(self._durations.grow, partial(self._grown, member.name, claim.requested))
            if pod is None:
                self._queue.after(1.0, partial(self._make, member.name))
            elif pod.terminating:
                self._queue.after(self._durations.stop, partial(self._ended, member.name, pod.ref.uid))
            elif not pod.trouble and not (pod.ready and member.name in there):
                self._coming(member, pod)

    def create(self, action: a.Create) -> None:
        """Create a member's objects and its first pod."""
        pool = self.pools[action.pool]
        known = self.all.get(action.member)
        claim = known.claim if known else None
        if claim is None and not pool.ephemeral:
            ref = self._ref(f"data-{action.member}")
            size = action.grown_size or pool.volume_size
            cls, grown = pool.storage_class or "", action.grown_size
            claim = Claim(ref, size, size, cls, expandable=True, owner=self._owner, grown=grown)
        if known is None:
            self._new.add(action.member)
        made_for = known.made_for if known else None
        member = Member(action.member, action.pool, action.ordinal, claim=claim, made_for=made_for)
        self.all[action.member] = member
        self.stage(a.Stage(action.why, action.member, action.pool, action.version, action.crossing, action.keeps))
        self._make(action.member)

    def stage(self, action: a.Stage) -> None:
        """Write a member's template."""
        name, version, desired = action.member, action.version, self.pools[action.pool]
        inputs = desired.inputs if version == self._version else desired.held_inputs
        inputs = with_immutable_inputs(desired, desired.crossings.get(action.crossing, inputs), action.keeps)
        agent = self._agent if name in self._managed else ""
        workload = Workload(self._ref(name), inputs, version, 1, observed=True, agent=agent, revision=self._revision)
        # A member that keeps nothing gets the roles of its pool.
        made_for = None if action.keeps is None else self.all[name].made_for
        self.all[name] = replace(self.all[name], workload=workload, config=inputs, made_for=made_for)

    def end(self, name: str) -> None:
        """Stop a member's pod: it leaves the database at once; the next pod is created after its end."""
        member = self.all[name]
        if member.pod is None or member.pod.terminating:
            return
        self.all[name] = replace(member, pod=replace(member.pod, terminating=True, ready=False))
        self._listener.stopped(member)
        self._queue.after(self._durations.stop, partial(self._ended, name, member.pod.ref.uid))

    def granted(self, name: str) -> float:
        """Let a member's pod form the cluster; return the seconds that this takes."""
        member = self.all[name]
        if member.pod is not None:
            self.all[name] = replace(member, pod=replace(member.pod, bootstrap="granted"))
        return self._durations.start_of(member.pool, name)

    def release(self, name: str) -> None:
        """Scale a member to zero."""
        member = self.all[name]
        if member.workload is not None:
            self.all[name] = replace(member, workload=replace(member.workload, replicas=0, released=True))
            self.end(name)

    def forget(self, name: str) -> None:
        """Remove a member's objects except its volume."""
        member = self.all[name]
        if member.claim is None:
            del self.all[name]
        else:
            self.all[name] = replace(member, workload=None, config=None, pod=None)

    def volume(self, action: VolumeAction) -> None:
        """Delete, expand, mark or retain a volume, or change its owner."""
        name = action.member
        member = self.all[name]
        if isinstance(action, a.DeleteVolume):
            self.all[name] = replace(member, claim=None)
            if member.workload is None:
                del self.all[name]
            return
        if member.claim is None:
            return
        if isinstance(action, a.MarkVolume):
            self.all[name] = replace(member, claim=replace(member.claim, left=action.left))
            return
        if isinstance(action, a.MarkState):
            marked = {"data": True} if action.only_data else {"state": True}
            version = action.version or member.claim.version
            self.all[name] = replace(member, claim=replace(member.claim, version=version, **marked))
            return
        if isinstance(action, a.ForgetState):
            known = replace(member.claim, state=False, data=member.claim.data or action.data)
            self.all[name] = replace(member, claim=known)
            return
        if isinstance(action, a.RetainVolume | a.OwnVolume):
            owner = self._uid if isinstance(action, a.OwnVolume) else ""
            self.all[name] = replace(member, claim=replace(member.claim, owner=owner))
            return
        grown = action.size if action.by_itself else 0
        claim = replace(member.claim, requested=action.size, grown=grown, resized=action.at)
        self.all[name] = replace(member, claim=claim)
        self._queue.after(self._durations.grow, partial(self._grown, name, action.size))

    def _grown(self, name: str, size: int) -> None:
        member = self.all.get(name)
        if member is not None and member.claim is not None:
            before = member.claim.capacity
            self.all[name] = replace(member, claim=replace(member.claim, requested=size, capacity=size))
            self._listener.grown(name, before, size)

    def _make(self, name: str) -> None:
        """Create a member's pod, as its StatefulSet does."""
        member = self.all.get(name)
        workload = member.workload if member is not None else None
        if member is None or workload is None or not member.alive or member.pod is not None:
            return
        pod = Pod(
            ref=self._ref(f"{name}-0"),
            inputs=workload.inputs,
            version=workload.version,
            created=self._queue.now,
            ready=False,
            running=not self._listener.formed,
            node=self._nodes.get(name, ""),
            zone=self._zones.get(name, ""),
            claims=member.claim is not None,
            candidate=not self._listener.formed,
            agent=name in self._managed,
            agent_version=workload.agent,
            revision=workload.revision,
            beside=self._version if PROGRAMS in workload.inputs else "",
        )
        self.all[name] = replace(member, pod=pod)
        self._coming(self.all[name], pod)

    def _coming(self, member: Member, pod: Pod) -> None:
        """Let a member serve after its start duration, minus the age of its pod."""
        new, together = member.name in self._new, self.all_down_but(member.name)
        seconds = self._durations.start_of(member.pool, member.name, new=new, together=together)
        self._starts_in(max(1.0, seconds - max(0.0, self._queue.now - pod.created)), member.name, pod)

    def all_down_but(self, name: str) -> bool:
        """Return whether a formed cluster has other members than this one, and none of them serves."""
        others = [member for member in self.all.values() if member.alive and member.name != name]
        up = any(member.pod is not None and member.pod.ready for member in others)
        return self._listener.formed and bool(others) and not up

    def _starts_in(self, seconds: float, name: str, pod: Pod) -> None:
        self._queue.after(seconds, partial(self._started, name, pod.ref.uid, self.outages[name]))

    def _started(self, name: str, uid: str, outage: int) -> None:
        member = self.all.get(name)
        pod = member.pod if member is not None else None
        if member is None or pod is None or pod.ref.uid != uid or pod.terminating or outage != self.outages[name]:
            return
        if name in self.broken:
            self._with_pod(member, replace(pod, running=False, ready=False, trouble=self.broken[name]))
        else:
            self._new.discard(name)
            self._listener.started(member, pod)

    def _ended(self, name: str, uid: str) -> None:
        member = self.all.get(name)
        if member is None or member.pod is None or member.pod.ref.uid != uid or name in self.unreachable:
            return
        self._listener.stopped(member)
        self.all[name] = replace(member, pod=None)
        self._listener.happened("gone", name)
        self._make(name)

    # Faults, which rehearsals add.

    def cut_off(self, name: str) -> None:
        """Void what is under way on a member's machine."""
        self.unreachable.add(name)
        self.outages[name] += 1

    def node_not_ready(self, name: str, node: str) -> None:
        """Mark the pod of a member whose node has not reported for a while."""
        member = self.all.get(name)
        if member is not None and member.pod is not None:
            self._nodes[name] = node
            self._with_pod(member, replace(member.pod, node=node, node_ready=False, ready=False))

    def evict(self, name: str, grace: float) -> None:
        """Delete the pod of a member whose node stays away; it ends when the node is back."""
        member = self.all.get(name)
        if member is not None and member.pod is not None and not member.pod.terminating:
            pod = replace(member.pod, terminating=True, ready=False, gone_by=self._queue.now + grace)
            self._with_pod(member, pod)

    def back(self, name: str, seconds: float | None) -> None:
        """Let the machine of a member return; its process serves again after `seconds`, or (None) stays stopped."""
        self.unreachable.discard(name)
        member = self.all.get(name)
        if member is None or member.pod is None:
            return
        pod = replace(member.pod, node_ready=True)
        self._with_pod(member, pod)
        if pod.terminating:
            self._queue.after(self._durations.stop, partial(self._ended, name, pod.ref.uid))
        elif seconds is not None:
            self._starts_in(seconds, name, pod)

    def stumble(self, name: str, seconds: float) -> None:
        """End the process of a member, which starts again after `seconds`, if nothing keeps it from running."""
        member = self.all.get(name)
        self.outages[name] += 1
        if member is not None and member.pod is not None and not member.pod.terminating:
            pod = replace(member.pod, ready=False, running=False)
            self._with_pod(member, pod)
            self._starts_in(seconds, name, pod)

    def _with_pod(self, member: Member, pod: Pod) -> None:
        self.all[member.name] = replace(member, pod=pod)
        self._listener.news = News.EVENT

    def _ref(self, name: str) -> Ref:
        self._made += 1
        return Ref(name, f"forward-{self._made}", str(self._made))

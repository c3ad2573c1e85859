"""The operator's hands: what each action does in the small world."""

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.phase import AFTER, BEGUN, Phase
from tests.unit.planning.kubernetes import FakeKubernetes
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.world_objects import Body, Claim, Index, Workload, labelled


class Hands(FakeKubernetes):
    """Carries out actions as the operator would."""

    def carry_out(self, action: a.Action) -> None:
        self.log.append((self.now, action))
        {
            a.Create: self.create,
            a.Stage: self.stage,
            a.DeletePod: self.delete_pod,
            a.Release: self.release,
            a.DeleteMember: self.forget,
            a.DeleteVolume: self.delete_volume,
            a.GrowVolume: self.grow,
            a.MarkVolume: self.mark,
            a.MarkState: self.mark_state,
            a.ForgetState: self.forget_state,
            a.RetainVolume: self.own,
            a.OwnVolume: self.own,
            a.RecordBootstrap: self.nothing,
            a.RecordRemoval: self.nothing,
            a.CancelRemoval: self.nothing,
            a.GrantBootstrap: self.grant,
            a.LimitAllocation: self.limit,
            a.RestoreAllocation: self.restore,
            a.ResumeBalancing: self.balance,
            a.Flush: self.nothing,
            a.Drain: self.drain,
            a.ExcludeVoters: self.exclude,
            a.MoveCopies: self.move,
            a.SetPhase: self.set_phase,
            a.StopProcess: self.stop_process,
            a.StartProcess: self.start_process,
            a.FinishRestart: self.finish_restart,
            a.RecordData: self.note_data,
            a.ClearSchedule: self.clear_schedule,
            a.ClearConsent: self.clear_consent,
            a.DeleteConfiguration: self.nothing,
            a.RestoreSnapshot: self.nothing,
        }[type(action)](action)  # type: ignore[operator]

    def nothing(self, action: a.Action) -> None:
        """Do nothing, like the operator: the status is the record, and a flush is not seen from here."""

    def spec(self, pool: str) -> PoolSpec:
        return next(p for p in self.pools if p.name == pool)

    def create(self, action: a.Create) -> None:
        spec = self.spec(action.pool)
        body = self.bodies.setdefault(action.member, Body(action.member, action.pool, action.ordinal))
        self.write(body, action.pool, action.version, action.keeps)
        if body.claim is None and not spec.ephemeral and body.workload is not None:
            size = action.grown_size or spec.size
            body.claim = Claim(f"claim-{next(self.ids)}", size, 0, spec.storage_class or "standard")
            body.claim.grown = action.grown_size
            body.claim.made_for = labelled(body.workload)

    def stage(self, action: a.Stage) -> None:
        body = self.bodies[action.member]
        assert body.workload is not None, f"{action.member} has no StatefulSet to stage"
        self.write(body, action.pool, action.version, action.keeps)

    def write(self, body: Body, pool: str, version: str, keeps: o.Inputs | None) -> None:
        spec, inputs = self.spec(pool), self.spec(pool).inputs(version)
        if keeps is not None:
            inputs = {name: digest for name, digest in inputs.items() if name != "votingOnly"} | dict(keeps)
        recorded = self.status.bootstrap
        first = next((f"c-{p.name}-0" for p in self.pools if p.voting and p.electable), "")
        formed = recorded.formed if recorded is not None else False
        candidate = not formed and body.name == (recorded.member if recorded is not None else first)
        uid = body.workload.uid if body.workload else f"workload-{next(self.ids)}"
        if body.pod is not None and body.config != inputs:
            body.pod.arrives = self.now + self.propagation
        body.config = inputs
        body.workload = Workload(uid, inputs, version, spec.voting, spec.data, candidate)

    def delete_pod(self, action: a.DeletePod) -> None:
        pod = self.bodies[action.member].pod
        assert pod is not None
        assert pod.uid == action.pod.uid
        pod.terminating, pod.ready = True, False

    def release(self, action: a.Release) -> None:
        body = self.bodies[action.member]
        assert body.workload is not None
        places = {n for n, pod in self.joined().items() if pod.data and n not in self.draining} - {body.name}
        held = [
            index.name
            for index in self.indices
            if any(c.member == body.name for c in index.copies)
            and (not places or not places <= {c.member for c in index.copies if c.started})
        ]
        given_up = getattr(self.policy.get("replacement"), "undrained", ())
        assert not held or body.name in given_up, f"{body.name} is released while it holds {held}"
        body.workload.replicas = 0

    def forget(self, action: a.DeleteMember) -> None:
        body = self.bodies[action.member]
        assert body.pod is None
        body.workload = body.config = None

    def delete_volume(self, action: a.DeleteVolume) -> None:
        body = self.bodies[action.member]
        assert body.claim is not None
        assert body.claim.uid == action.claim.uid
        assert body.pod is None or not (body.pod.node or body.claim.capacity)
        body.claim = None
        self.wipe(body)

    def grow(self, action: a.GrowVolume) -> None:
        claim = self.bodies[action.member].claim
        assert claim is not None
        assert action.size > min(claim.capacity, claim.requested), "Kubernetes takes no growth back to the present size"
        claim.requested, claim.resized = action.size, action.at
        claim.grown = action.size if action.by_itself else 0

    def mark_state(self, action: a.MarkState) -> None:
        claim = self.bodies[action.member].claim
        assert claim is not None
        assert claim.uid == action.claim.uid
        claim.version = action.version or claim.version
        if action.only_data:
            claim.data = True
        else:
            claim.state = True

    def forget_state(self, action: a.ForgetState) -> None:
        claim = self.bodies[action.member].claim
        assert claim is not None
        assert claim.uid == action.claim.uid
        claim.state, claim.data = False, claim.data or action.data

    def mark(self, action: a.MarkVolume) -> None:
        claim = self.bodies[action.member].claim
        assert claim is not None
        assert claim.uid == action.claim.uid
        claim.left = action.left

    def own(self, action: a.RetainVolume | a.OwnVolume) -> None:
        claim = self.bodies[action.member].claim
        assert claim is not None
        assert claim.uid == action.claim.uid
        claim.owner = "cluster" if isinstance(action, a.OwnVolume) else ""

    def grant(self, action: a.GrantBootstrap) -> None:
        pod = self.bodies[action.member].pod
        assert pod is not None
        assert pod.uid == action.pod.uid
        pod.granted = True

    def limit(self, action: a.LimitAllocation) -> None:
        self.allocation, self.limited = action.allocation, True

    def restore(self, action: a.RestoreAllocation) -> None:
        self.allocation, self.limited = o.Allocation.ALL, False

    def balance(self, action: a.ResumeBalancing) -> None:
        self.balance_paused = False

    def drain(self, action: a.Drain) -> None:
        self.draining = action.members

    def exclude(self, action: a.ExcludeVoters) -> None:
        voting = {n for n, pod in self.joined().items() if pod.voting}
        assert voting - action.members, "every manager would lose its vote"
        self.exclusions = action.members

    def move(self, action: a.MoveCopies) -> None:
        self.balance_paused = True
        for step in action.moves:
            index = next(i for i in self.indices if i.name == step.unit)
            copy = next(c for c in index.copies if c.member == step.origin)
            copy.target = self.place_for(index, step)

    def place_for(self, index: Index, step: a.Move) -> str:
        """Return the member that the database moves a copy to: the one that the step names."""
        assert step.target in self.spots(index)
        return step.target

    def set_phase(self, action: a.SetPhase) -> None:
        pod = self.bodies[action.member].pod
        assert pod is not None
        assert pod.uid == action.pod.uid
        assert action.phase in AFTER[Phase(pod.phase)] | {Phase(pod.phase)}, f"{action.phase} over {pod.phase}"
        pod.phase = action.phase.value
        pod.begun = action.phase in BEGUN or (pod.begun and action.phase is not Phase.NONE)

    def stop_process(self, action: a.StopProcess) -> None:
        pod = self.bodies[action.member].pod
        assert pod is not None
        assert pod.agent
        assert pod.phase, f"{action.member} is stopped and has no phase"
        if pod.process in ("starting", "running"):
            pod.process, pod.ready, pod.steps = "stopping", False, 0

    def start_process(self, action: a.StartProcess) -> None:
        pod = self.bodies[action.member].pod
        assert pod is not None
        assert action.checksum == pod.mounted, f"{action.member} starts with what is not there"
        assert pod.phase in ("start", "start-coordinated")
        if pod.process == "stopped":
            pod.process, pod.runs = "starting", pod.mounted
            pod.given = dict(self.bodies[action.member].config or {})
            pod.starts += 1

    def finish_restart(self, action: a.FinishRestart) -> None:
        pod = self.bodies[action.member].pod
        assert pod is not None
        assert pod.process == "running"
        pod.phase, pod.begun, pod.inputs, pod.said = "", False, dict(action.inputs), action.checksum

    def note_data(self, action: a.RecordData) -> None:
        pod = self.bodies[action.member].pod
        assert pod is not None
        pod.inputs = dict(action.inputs)

    def clear_consent(self, _: a.ClearConsent) -> None:
        self.bootstrap_again = False

    def clear_schedule(self, _: a.ClearSchedule) -> None:
        self.schedule = None

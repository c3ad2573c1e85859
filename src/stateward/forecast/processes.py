"""Processes that are stopped and started in their pods; agents answer, and configurations arrive at once."""

from functools import partial

from msgspec.structs import replace

from stateward.forecast.durations import Durations, News
from stateward.forecast.event_queue import EventQueue
from stateward.forecast.members import Listener, Members
from stateward.planning.facts.agents_to_ask import members_to_ask
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Inputs, Member, Observation, Phase, Process, ProcessState, Unknown
from stateward.planning.model.phase import BEGUN


class Processes:
    """The states of processes that are stopping, stopped or starting."""

    def __init__(self, queue: EventQueue, durations: Durations, members: Members, listener: Listener) -> None:
        self._queue, self._durations, self._members, self._listener = queue, durations, members, listener
        self._states: dict[str, ProcessState] = {}

    def with_processes(self, seen: Observation) -> Observation:
        """Return the observation with the answers of the agents that the operator would query."""
        asked = {member.name for member in members_to_ask(seen)}
        return replace(seen, members=tuple(self._answer(m) if m.name in asked else m for m in seen.members))

    def apply(self, action: a.Action) -> bool:
        """Perform an action; return whether it concerns a process."""
        match action:
            case a.SetPhase():
                self._mark(action.member, action.phase)
            case a.StopProcess():
                self._stop(action.member)
            case a.StartProcess():
                self._states[action.member] = ProcessState.STARTING
                name = action.member
                pool, together = self._members.all[name].pool, self._members.all_down_but(name)
                seconds = self._durations.start_of_process(pool, name, together=together)
                self._queue.after(seconds, partial(self._started, name, self._members.outages[name]))
            case a.FinishRestart():
                self._mark(action.member, Phase.NONE, action.inputs)
            case a.RecordData():
                self._mark(action.member, None, action.inputs)
            case _:
                return False
        return True

    def resume(self, name: str) -> bool:
        """Return whether the process of a member stays stopped after the return of its machine, as its agent knows."""
        if self._states.get(name) in (ProcessState.STOPPING, ProcessState.STOPPED):
            self._states[name] = ProcessState.STOPPED
            return True
        self._states.pop(name, None)
        return False

    def _answer(self, member: Member) -> Member:
        if member.name in self._members.unreachable:
            return replace(member, process=Unknown("its node cannot be reached"))
        state = self._states.get(member.name, ProcessState.RUNNING)
        up = state in (ProcessState.STARTING, ProcessState.RUNNING)
        checksum = member.config_checksum
        return replace(member, process=Process(state, checksum, checksum if up else ""))

    def _mark(self, name: str, phase: Phase | None, inputs: Inputs | None = None) -> None:
        member = self._members.all[name]
        if member.pod is not None:
            pod = replace(
                member.pod,
                phase=member.pod.phase if phase is None else phase,
                begun=member.pod.begun if phase is None else phase in BEGUN,
                inputs=member.pod.inputs if inputs is None else inputs,
            )
            self._members.all[name] = replace(member, pod=pod)
            self._listener.news = News.EVENT

    def _stop(self, name: str) -> None:
        member = self._members.all[name]
        if member.pod is None or self._states.get(name) is ProcessState.STOPPING:
            return
        self._states[name] = ProcessState.STOPPING
        self._members.all[name] = replace(member, pod=replace(member.pod, ready=False))
        self._listener.left(member)
        self._queue.after(self._durations.stop_of_process(member.pool), partial(self._stopped, name))

    def _stopped(self, name: str) -> None:
        self._states[name] = ProcessState.STOPPED
        self._listener.news = News.EVENT

    def _started(self, name: str, outage: int) -> None:
        member = self._members.all.get(name)
        if outage != self._members.outages[name]:
            return
        self._states.pop(name, None)
        if member is not None and member.pod is not None and not member.pod.terminating:
            self._listener.started(member, member.pod)

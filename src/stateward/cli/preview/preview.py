"""The preview of a change: a pure evaluation of the forecast path of the shipped planner.

It has the effect and its cause per member, the order and duration of the steps, the volumes, and what would be refused
or would wait, with the reason.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from stateward.cli.preview.timing import seconds_of
from stateward.forecast.durations import Durations
from stateward.forecast.forecast import Forecast, run_forecast
from stateward.planning.facts.change import differing, effect_of
from stateward.planning.model import actions as a
from stateward.planning.model.intent import State, Wait
from stateward.planning.model.observation import Effect, Member, Observation, Pool, Refusal
from stateward.planning.plan import plan


class Kind(StrEnum):
    """The effect on a member, from none to removal."""

    NONE = "none"
    RELOAD = "reload"
    CREATE = "create"
    RESTART = "restart"
    RECREATE = "recreate"
    REPLACE = "replace"
    REMOVE = "remove"


class MemberChange(Struct, frozen=True):
    """The change of one member: the effect, its mode, and its inputs or reason."""

    name: str
    pool: str
    effect: Kind
    mode: str = ""
    because: str = ""
    held: str = ""
    """Why the effect would not happen in the present state; empty if it would."""
    seconds: float | None = None
    """Duration of its steps, including the recovery of its copies; None if nothing happens or it is not known."""


class VolumeChange(Struct, frozen=True):
    """A volume that is expanded in place; sizes in bytes."""

    member: str
    before: int
    after: int


class Step(Struct, frozen=True):
    """Actions that happen together, before all later steps."""

    does: str
    members: tuple[str, ...]
    why: str = ""
    at: float = 0.0
    """Seconds from now."""
    seconds: float | None = None
    """Duration until its members have reached their desired state; None if it is not known."""
    everyone: bool = False
    """Whether all members of the cluster, more than one, are down together with these."""


class Preview(Struct, frozen=True):
    """The whole answer."""

    cluster: str
    namespace: str
    deployed: str
    wanted: str
    members: tuple[MemberChange, ...]
    steps: tuple[Step, ...]
    volumes: tuple[VolumeChange, ...]
    refused: tuple[Refusal, ...]
    waits: tuple[Wait, ...]
    """What would still wait at the end, and for what."""
    seconds: float | None = None
    """Total duration; None if the change would not complete."""

    @property
    def goes_through(self) -> bool:
        """Whether the whole desired state would be reached."""
        return not self.refused and not self.waits


def preview(observed: Observation, now: float, durations: Durations | None = None) -> Preview:
    """Return what happens from now on without failures, at a pace; a pause is ignored."""
    start = replace(observed, desired=replace(observed.desired, paused=False), live=True)
    forecast = run_forecast(start, now, durations)
    done = tuple(
        replace(step, seconds=seconds_of(step.does, step.members, step.at, forecast)) for step in steps(forecast)
    )
    refused = refusals(start, now)
    known = {(refusal.reason, refusal.message) for refusal in refused}
    waits = [] if forecast.last.settled else [w for w in remaining(forecast) if (w.reason, w.message) not in known]
    return Preview(
        cluster=start.name,
        namespace=start.namespace,
        deployed=start.deployed_version,
        wanted=start.desired.version,
        members=tuple(replace(c, seconds=taken(c.name, done)) for c in member_changes(start, forecast, done)),
        steps=done,
        volumes=tuple(volume_changes(start, forecast)),
        refused=refused,
        waits=tuple(waits),
        seconds=forecast.seconds,
    )


def remaining(forecast: Forecast) -> tuple[Wait, ...]:
    """Return what waits at the end; if nothing reports a wait but the cluster is not settled, the last activity."""
    return forecast.last.waits or (Wait(forecast.end.name, "Unsettled", forecast.last.activity),)


def refusals(start: Observation, now: float) -> tuple[Refusal, ...]:
    """Return what is refused at once: by the driver, by validation, and by the plan in the present state."""
    listed = {(refusal.reason, refusal.message) for refusal in start.desired.refusals}
    stalled = [w for w in plan(start, now).waits if w.stalled and (w.reason, w.message) not in listed]
    return (*start.desired.refusals, *(Refusal(w.subject, w.reason, w.message, everything=False) for w in stalled))


def steps(forecast: Forecast) -> Iterator[Step]:
    """Yield the steps in order, without preparations and reverted settings."""
    drained: frozenset[str] = frozenset()
    for planned in forecast.steps:
        made, at = planned.made, planned.at - forecast.began
        down = {action.member for action in made.actions if isinstance(action, DOWN)}
        everyone = len(down) > 1 and down >= {member.name for member in planned.seen.members if member.pod is not None}
        for does, kind in VERBS:
            found = [action for action in made.actions if isinstance(action, kind)]
            if found:
                members = tuple(action.member for action in found)
                why = "; ".join(dict.fromkeys(action.why for action in found))
                yield Step(does, members, why, at, everyone=everyone and issubclass(kind, DOWN))
        drain = next((action for action in made.actions if isinstance(action, a.Drain)), None)
        if drain is not None:
            if drain.members - drained:
                yield Step("move the data away from", tuple(sorted(drain.members - drained)), "", at)
            drained = drain.members
        moves = next((action for action in made.actions if isinstance(action, a.MoveCopies)), None)
        if moves is not None:
            yield Step("move single copies away from", tuple(sorted({m.origin for m in moves.moves})), moves.why, at)


MemberAction = (
    a.GrowVolume
    | a.RetainVolume
    | a.OwnVolume
    | a.Create
    | a.GrantBootstrap
    | a.StopProcess
    | a.DeletePod
    | a.Release
    | a.DeleteVolume
)
DOWN = (a.StopProcess, a.DeletePod)
"""Actions with which a member is down for a while."""
VERBS: tuple[tuple[str, type[MemberAction]], ...] = (
    ("grow the volume of", a.GrowVolume),
    ("keep, when the cluster is deleted, the volume of", a.RetainVolume),
    ("delete with the cluster the volume of", a.OwnVolume),
    ("create", a.Create),
    ("form the cluster on", a.GrantBootstrap),
    ("restart the process of", a.StopProcess),
    ("recreate", a.DeletePod),
    ("let go", a.Release),
    ("delete the volume of", a.DeleteVolume),
)


def member_changes(start: Observation, forecast: Forecast, done: Iterable[Step]) -> Iterator[MemberChange]:
    """Yield the change of each member: existing members by name, then new ones."""
    did = {does: {name for step in done if step.does == does for name in step.members} for does, _ in VERBS}
    pools = {pool.name: pool for pool in start.desired.pools}
    here = [member for member in start.members if member.workload is not None or member.pod is not None]
    for member in here:
        yield member_change(member, pools.get(member.pool), did, forecast, tuple(done))
    for name in sorted(did["create"] - {member.name for member in here}):
        pool = next(p for p in pools if name.startswith(f"{start.name}-{p}-"))
        yield MemberChange(name, pool, Kind.CREATE, mode_of("create", name, done))


def member_change(
    member: Member, pool: Pool | None, did: dict[str, set[str]], forecast: Forecast, done: tuple[Step, ...]
) -> MemberChange:
    """Return the change of an existing member."""
    name = member.name
    because, static = inputs_of(member, pool)
    if name in did["let go"]:
        why = next(step.why for step in done if step.does == "let go" and name in step.members)
        kind = Kind.REPLACE if "takes its place" in why else Kind.REMOVE
        return MemberChange(
            name, member.pool, kind, mode_of("let go", name, done), why.removeprefix("a new member takes its place: ")
        )
    if name in did["recreate"]:
        return MemberChange(name, member.pool, Kind.RECREATE, mode_of("recreate", name, done), because)
    if name in did["restart the process of"]:
        mode = mode_of("restart the process of", name, done)
        return MemberChange(name, member.pool, Kind.RESTART, mode, because or "a user's request")
    held = next((w.message for w in forecast.last.waits if w.subject == name), "")
    if static is Effect.NONE and name in did["grow the volume of"]:
        return MemberChange(name, member.pool, Kind.RELOAD, "in place", "volume")
    if static is Effect.NONE:
        intent = forecast.last.intents.get(name)
        leaves = intent is not None and intent.state in (State.LEAVING, State.DRAINING)
        return MemberChange(name, member.pool, Kind.REMOVE if leaves else Kind.NONE, held=held if leaves else "")
    kind = {Effect.RELOAD: Kind.RELOAD, Effect.REPLACE: Kind.REPLACE}.get(static, Kind.RECREATE)
    return MemberChange(name, member.pool, kind, because=because, held=held or forecast.last.activity)


def inputs_of(member: Member, pool: Pool | None) -> tuple[str, Effect]:
    """Return the inputs that differ from the final desired state, and their strongest effect."""
    if pool is None or member.pod is None:
        return "", Effect.NONE
    names = [n for n in differing(member.pod.inputs, pool.inputs) if effect_of(pool, n) > Effect.NONE]
    hardest = max((effect_of(pool, name) for name in names), default=Effect.NONE)
    return ", ".join(names), hardest


def mode_of(does: str, name: str, done: Iterable[Step]) -> str:
    """Return the mode of a member's step: alone, or with how many others at once."""
    step = next((step for step in done if step.does == does and name in step.members), None)
    if step is not None and step.everyone:
        return "all at once"
    together = 1 if step is None else len(step.members)
    at_once = f"{together} at once" if together > 1 else ""
    return at_once if does == "create" else ", ".join(part for part in ("rolling", at_once) if part)


def taken(name: str, done: Iterable[Step]) -> float | None:
    """Return for how long a member's steps last; None if one is not known, or if there are none.

    Steps may overlap, such as the creation of a manager and its forming of the cluster: the time of both counts once.
    """
    mine = sorted((step.at, step.seconds) for step in done if name in step.members and step.seconds is not None)
    if not mine or any(step.seconds is None for step in done if name in step.members):
        return None
    total, until = 0.0, mine[0][0]
    for at, seconds in mine:
        total += max(0.0, at + seconds - max(at, until))
        until = max(until, at + seconds)
    return total


def volume_changes(start: Observation, forecast: Forecast) -> Iterator[VolumeChange]:
    """Yield the volumes that are expanded in place."""
    before = {m.name: m.claim.requested for m in start.members if m.claim is not None}
    for planned in forecast.steps:
        for action in planned.made.actions:
            if isinstance(action, a.GrowVolume) and action.member in before:
                yield VolumeChange(action.member, before[action.member], action.size)

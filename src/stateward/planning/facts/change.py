"""How hard does a change hit a member: compare what its pod was made from with what it should be made from."""

from msgspec import Struct

from stateward.planning.facts.facts import Facts
from stateward.planning.facts.upgrade_order import newer, reached
from stateward.planning.model.observation import Effect, Inputs, Member, Pool, Unknown
from stateward.planning.model.process import AGENT_PATIENCE
from stateward.planning.model.referenced_data import changed


class Change(Struct, frozen=True):
    """The smallest effect that applies a change, and the names of the inputs that differ."""

    effect: Effect = Effect.NONE
    because: tuple[str, ...] = ()
    coordinated: bool = False
    """Whether members with it and without it cannot talk to each other, so that all change together."""
    note: str = ""
    """Why its pod is made anew though a restart of its process would be enough."""

    def describe(self) -> str:
        """Return what differs as a clause, for example `version, config/path.repo`."""
        shown = ", ".join(self.because[:4])
        return shown + (f" and {len(self.because) - 4} more" if len(self.because) > 4 else "")


def differing(before: Inputs, after: Inputs) -> tuple[str, ...]:
    """Return the names whose digests differ, in order, with those that came and those that went.

    Data of others is no part of that when it comes or goes: see `referenced_data`.
    """
    return tuple(sorted(name for name in before.keys() | after.keys() if changed(name, before, after)))


def effect_of(pool: Pool, name: str) -> Effect:
    """Return what a changed input needs. An input that the driver does not list recreates: the safe assumption."""
    return pool.effects.get(name.partition("/")[0], Effect.RECREATE)


def change_of(facts: Facts, member: Member) -> Change:
    """Return what the member's running pod needs to become what it should be; nothing if it has no pod or no pool."""
    pool = facts.pools.get(member.pool)
    if pool is None or member.pod is None:
        return Change()
    names = differing(member.pod.inputs, member_target(facts, member, pool))
    effects = [(effect_of(pool, name), name) for name in names]
    hard = [(effect, name) for effect, name in effects if effect > Effect.RELOAD]
    if not hard:
        return Change()
    effect, because = max(effect for effect, _ in hard), tuple(name for _, name in hard)
    together = any(name.partition("/")[0] in pool.coordinated for name in because)
    if effect is not Effect.RESTART:
        return Change(effect, because, together)
    problem = in_place_problem(facts, member)
    return Change(Effect.RESTART if problem is None else Effect.RECREATE, because, together, problem or "")


def in_place_problem(facts: Facts, member: Member) -> str | None:
    """Return why the member's process cannot be restarted in its pod; None when it can."""
    if not facts.obs.desired.in_place:
        return "update.inPlace is Never"
    if not facts.managed(member):
        return "its pod has no agent"
    if isinstance(member.process, Unknown) and facts.waited(member.name, "AgentSilent") >= AGENT_PATIENCE:
        return f"its agent does not answer ({member.process.why})"
    return None


def confirmed(pool: Pool, before: Inputs, config: Inputs) -> Inputs:
    """Return what a pod is made from after its process was restarted with a configuration.

    Only what a restart applies is taken from the configuration: it may have been written together with a new template,
    which this pod still lacks.
    """
    kept = {name: digest for name, digest in before.items() if effect_of(pool, name) > Effect.RESTART}
    return kept | {name: digest for name, digest in config.items() if effect_of(pool, name) <= Effect.RESTART}


def member_target(facts: Facts, member: Member, pool: Pool) -> Inputs:
    """Return what this member should be made from: at the deployed version until its turn has come."""
    if facts.crossing and pool.crossings:
        return pool.crossings[facts.crossing]
    return pool.inputs if member_version(facts, member, pool) == facts.obs.desired.version else pool.held_inputs


def kept(facts: Facts, member: Member, pool: Pool) -> Inputs | None:
    """Return what only a new member can change, as this one has it; None of one that has never joined.

    The disaster this prevents: all members restart together for a knob, and each starts with the number of processes
    that the spec asks for by now; what the others had written stays behind on all volumes at once.
    """
    made = member.pod or member.workload
    if made is None or not pool.retained or member.name not in facts.obs.records:
        return None
    return {name: made.inputs[name] for name in sorted(pool.retained & made.inputs.keys())}


def keeping(pool: Pool, inputs: Inputs, keeps: Inputs | None) -> Inputs:
    """Return the inputs of a member's objects, with what it keeps."""
    if keeps is None:
        return inputs
    return {name: digest for name, digest in inputs.items() if name not in pool.retained} | dict(keeps)


def written_target(facts: Facts, member: Member, pool: Pool) -> Inputs:
    """Return what the member's objects should be made from: all that it should be and that is no new member's."""
    return keeping(pool, member_target(facts, member, pool), kept(facts, member, pool))


def member_version(facts: Facts, member: Member, pool: Pool) -> str:
    """Return the version the member should run now: its pool's, or the desired one once it has begun to change.

    Also one that left the deployed version on the way to a third one does not go back to it: its data could not.
    """
    version = facts.versions[pool.name]
    if facts.crossing:
        return version
    begun = [o.version for o in (member.pod, member.workload) if o is not None] + [reached(facts.obs, member)]
    passed = facts.obs.desired.version in begun[:-1] or any(newer(other, version) for other in begun)
    return facts.obs.desired.version if passed else version


def misfit(facts: Facts, member: Member) -> bool:
    """Return whether the configuration was written for another version than the pod's, which is the right one.

    The disaster this prevents: an operator that begins on an old state writes the configuration of the version before;
    the process is started with it in the pod of the new one, which then looks as if it had everything.
    """
    pool, pod = facts.pools.get(member.pool), member.pod
    if pool is None or pod is None or member.config is None or stranded(facts, member):
        return False
    target = member_target(facts, member, pool)
    return "version" in differing(member.config, target) and "version" not in differing(pod.inputs, target)


def stranded(facts: Facts, member: Member) -> str | None:
    """Return why a member may not be made anew as it should be: its data is from a later version; None when it may."""
    pool, version = facts.pools.get(member.pool), reached(facts.obs, member)
    if pool is None or facts.crossing or not newer(version, member_version(facts, member, pool)):
        return None
    return f"{member.name} has joined with {version}, and its data cannot be downgraded to {facts.obs.desired.version}"


def staged(facts: Facts, member: Member) -> bool:
    """Return whether the member's next pod would be made from what it should be made from."""
    pool, workload = facts.pools.get(member.pool), member.workload
    if pool is None or workload is None:
        return False
    target = written_target(facts, member, pool)
    return not differing(workload.inputs, target) and member.config is not None and not differing(member.config, target)


def overtaken(facts: Facts, member: Member) -> bool:
    """Return whether a process that is stopped would start with a later version than is wanted, for the first time.

    The disaster this prevents: an upgrade is taken back while a member is kept stopped in its new pod; started in it,
    the member joins with the new version, and there is no way back any more. With its data in that very pod there is
    no other way than to start it.
    """
    pool, pod = facts.pools.get(member.pool), member.pod
    if pool is None or pod is None or facts.crossing or facts.ephemeral(member):
        return False
    return newer(pod.version, member_version(facts, member, pool)) and newer(pod.version, reached(facts.obs, member))

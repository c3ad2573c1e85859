"""Compares what a member's pod was created from with its desired inputs, and derives the effect of the change."""

from msgspec import Struct

from stateward.api.values.problem import first_of
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.missing_members import loses_data_with_pod
from stateward.planning.facts.outdated import OUTDATED, is_outdated, renewal_due
from stateward.planning.facts.upgrade_order import newer, newest_joined_version
from stateward.planning.facts.volume_fit import keeps_roles, volume_roles
from stateward.planning.model.observation import Effect, Inputs, Member, Pool, Unknown
from stateward.planning.model.process import AGENT_PATIENCE
from stateward.planning.model.referenced_data import input_changed


class Change(Struct, frozen=True):
    """The smallest effect that applies a change, and the names of the inputs that differ."""

    effect: Effect = Effect.NONE
    because: tuple[str, ...] = ()
    coordinated: bool = False
    """Whether members with and without the change cannot talk to each other, so that all change together."""
    note: str = ""
    """Why its pod is recreated although a restart of its process would be enough."""

    def describe(self) -> str:
        """Return what differs as a clause, for example `version, config/path.repo`."""
        return first_of(self.because, 4)


def differing(before: Inputs, after: Inputs) -> tuple[str, ...]:
    """Return the names whose digests differ, in order, including added and removed ones.

    Added or removed data of ConfigMaps and Secrets of others is not included: see `referenced_data`.
    """
    names = {name for name, _ in before.items() ^ after.items()}
    return tuple(sorted(name for name in names if input_changed(name, before, after)))


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
    if renewal_due(facts, member):
        effects.append((Effect.RECREATE, OUTDATED))
    hard = [(effect, name) for effect, name in effects if effect > Effect.RELOAD]
    if not hard:
        return Change()
    effect, because = max(effect for effect, _ in hard), tuple(name for _, name in hard)
    together = any(name.partition("/")[0] in pool.coordinated for name in because)
    if effect is not Effect.RESTART:
        return Change(effect, because, together)
    problem = in_place_problem(facts, member)
    return Change(Effect.RESTART if problem is None else Effect.RECREATE, because, together, problem or "")


def coordinated_inputs(facts: Facts, inputs: Inputs) -> Inputs:
    """Return those of a member's inputs across which it talks to no other, also if its pool was removed."""
    together = frozenset[str]().union(*(pool.coordinated for pool in facts.pools.values()))
    return {name: digest for name, digest in inputs.items() if name.partition("/")[0] in together}


def in_place_problem(facts: Facts, member: Member) -> str | None:
    """Return why the member's process cannot be restarted in its pod; None if it can."""
    if not facts.obs.desired.in_place:
        return "update.inPlace is Never"
    if not facts.managed(member):
        return "its pod has no agent"
    if isinstance(member.process, Unknown) and facts.seconds_waited(member.name, "AgentSilent") >= AGENT_PATIENCE:
        return f"its agent does not answer ({member.process.why})"
    return None


def inputs_after_restart(facts: Facts, member: Member, before: Inputs) -> Inputs:
    """Return the inputs of a member's pod after its process was restarted with the member's configuration.

    Only inputs that a restart applies are taken from the configuration: it may have been written together with a new
    template, which this pod does not have yet. Of a member without a pool, the effects are those of any pool: the
    driver lists them for all. The disaster this prevents: all members restart together with another security while the
    pool of the managers is removed, and the record says that the managers still have the previous one. It is taken
    back, the pool is there again, and all others restart without the managers, which none of them can join any more.
    """
    pool, config = facts.pools.get(member.pool) or next(iter(facts.pools.values()), None), member.config
    if pool is None or not config:
        return before
    kept = {name: digest for name, digest in before.items() if effect_of(pool, name) > Effect.RESTART}
    return kept | {name: digest for name, digest in config.items() if effect_of(pool, name) <= Effect.RESTART}


def member_target(facts: Facts, member: Member, pool: Pool) -> Inputs:
    """Return the member's desired inputs: at the deployed version until the member is next in the upgrade."""
    if facts.crossing and pool.crossings:
        return pool.crossings[facts.crossing]
    return pool.inputs if member_version(facts, member, pool) == facts.obs.desired.version else pool.held_inputs


def immutable_inputs(facts: Facts, member: Member, pool: Pool) -> Inputs | None:
    """Return the inputs that only a new member can change, as this member has them; None if it cannot have any data.

    The disaster this prevents: all members restart together for a knob, and each starts with the number of processes
    that the spec now asks for; the data of the other processes stays behind on all volumes at once.
    """
    made = member.pod or member.workload
    inputs = made.inputs if made is not None else member.config
    if inputs is None or not pool.retained or not facts.may_hold_data(member):
        return None
    return {name: inputs[name] for name in sorted(pool.retained & inputs.keys())}


def inputs_of_volume(facts: Facts, member: Member, pool: Pool) -> Inputs | None:
    """Return the inputs that only a new member can change, for one that is made again on its volume; None if unknown.

    It comes back as what it was, and is replaced like any other. A vote that the database no longer counts is no reason
    to vote again. The disasters this prevents: two pools swap their names while the StatefulSet of the only manager is
    deleted. It comes back as a member with data, and its database waits for the vote on its volume. Or a user deletes
    all StatefulSets while the spec asks for members with fewer processes. All come back so, and what the other
    processes have is gone.
    """
    if member.claim is None or not facts.may_hold_data(member):
        return None
    if not keeps_roles(pool, member):
        return immutable_inputs(facts, member, pool) if facts.obs.desired.formed_by_word else None
    roles = volume_roles(member)
    if facts.database is not None and not pool.voting and member.name not in facts.database.voters:
        roles -= {"voting", "voting_only"}
    return pool.kinds.get(roles)


def with_immutable_inputs(pool: Pool, inputs: Inputs, keeps: Inputs | None) -> Inputs:
    """Return the inputs of a member's objects, with those that it keeps."""
    if keeps is None:
        return inputs
    return {name: digest for name, digest in inputs.items() if name not in pool.retained} | dict(keeps)


def written_target(facts: Facts, member: Member, pool: Pool) -> Inputs:
    """Return the inputs to write into the member's objects: the desired ones without those that need a new member."""
    return with_immutable_inputs(pool, member_target(facts, member, pool), immutable_inputs(facts, member, pool))


def member_version(facts: Facts, member: Member, pool: Pool) -> str:
    """Return the version that the member should run now: its pool's, or the desired one once it has started to change.

    A member that has left the deployed version towards a third one does not return to it either: its data could not.
    """
    version = facts.versions[pool.name]
    if facts.crossing:
        return version
    begun = [o.version for o in (member.pod, member.workload) if o is not None] + [
        newest_joined_version(facts.obs, member)
    ]
    passed = facts.obs.desired.version in begun[:-1] or any(newer(other, version) for other in begun)
    return facts.obs.desired.version if passed else version


def creation_version(facts: Facts, member: Member, pool: Pool) -> str:
    """Return the version to create a member with that was there before: never an older one than it has joined with.

    The disaster this prevents: a downgrade is refused, the StatefulSet of a member is deleted, and the member is
    created again with the older version, which does not start on its data.
    """
    version, joined = member_version(facts, member, pool), newest_joined_version(facts.obs, member)
    return joined if downgrade_problem(facts, member) else version


def has_config_of_other_version(facts: Facts, member: Member) -> bool:
    """Return whether the configuration was written for another version than the pod's, which is the right one.

    The disaster this prevents: an operator that starts with an old state writes the configuration of the previous
    version. The process starts with it in the pod of the new version, which then looks up to date.
    """
    pool, pod = facts.pools.get(member.pool), member.pod
    if pool is None or pod is None or member.config is None or downgrade_problem(facts, member):
        return False
    target = member_target(facts, member, pool)
    return "version" in differing(member.config, target) and "version" not in differing(pod.inputs, target)


def has_config_of_next_version(facts: Facts, member: Member) -> bool:
    """Return whether the configuration is right for the member's next pod, and for another version than this pod's.

    The disaster this prevents: the template of an upgrade is written, and the process of the present pod is started
    with its configuration. It does not know the settings of the later version; or it does start, the upgrade is taken
    back, and the pod looks as if it had never read them. If its data is in that very pod, starting it is the only way.
    """
    pod = member.pod
    if pod is None or member.config is None or facts.crossing or pod.beside or loses_data_with_pod(facts, member):
        return False
    other = "version" in differing(member.config, pod.inputs)
    return other and staged(facts, member) and downgrade_problem(facts, member) is None


def downgrade_problem(facts: Facts, member: Member) -> str | None:
    """Return why a member may not be recreated as desired: its data has a later version; None if it may."""
    pool, version = facts.pools.get(member.pool), newest_joined_version(facts.obs, member)
    if pool is None or facts.crossing or not newer(version, member_version(facts, member, pool)):
        return None
    return f"{member.name} has joined with {version}, and its data cannot be downgraded to {facts.obs.desired.version}"


def staged(facts: Facts, member: Member) -> bool:
    """Return whether the member's next pod would have the desired inputs."""
    pool, workload = facts.pools.get(member.pool), member.workload
    if pool is None or workload is None:
        return False
    if renewal_due(facts, member) and is_outdated(facts, workload):
        return False
    target = written_target(facts, member, pool)
    return not differing(workload.inputs, target) and member.config is not None and not differing(member.config, target)


def would_upgrade_at_start(facts: Facts, member: Member) -> bool:
    """Return whether a stopped process would start with a later version than desired, for the first time.

    The disaster this prevents: an upgrade is reverted while a member is kept stopped in its new pod. Started in that
    pod, the member joins with the new version, and a downgrade is impossible. If its data is in that very pod, starting
    it is the only way.
    """
    pool, pod = facts.pools.get(member.pool), member.pod
    if pool is None or pod is None or facts.crossing or loses_data_with_pod(facts, member):
        return False
    return newer(pod.version, member_version(facts, member, pool)) and newer(
        pod.version, newest_joined_version(facts.obs, member)
    )

"""A user who does what the waits advise, and nothing else."""

import re
from collections.abc import Callable, Mapping

from stateward.planning.model.intent import Wait
from stateward.planning.plan import Plan
from tests.unit.planning.search.disks import secured
from tests.unit.planning.search.edits import MISSING_CLASS, User
from tests.unit.planning.search.faults import lose
from tests.unit.planning.search.pools import RolePool, changed, pool

COUNT = re.compile(r"(\d+) members? of pool ")
POOL = re.compile(r"add a member to pool (\w+)")
REMOVED_POOL = re.compile(r"only with pool (\w+) in the spec")
KEPT = re.compile(r"the volumes of (.+) were kept, so add these members")
VERSION = re.compile(r"set spec\.version to (\S+)")


def follow(user: User, made: Plan) -> list[str]:
    """Do what each wait of a plan advises; return what was done."""
    done = [text for wait in made.waits if wait.reason in ADVICE and (text := ADVICE[wait.reason](user, wait))]
    done += give_up_minority(user) + replace_lost_claims(user) + delete_lost_indices(user)
    return [*done, *return_to_version_of_data(user)]


def form_again(user: User, _: Wait) -> str:
    if user.world.bootstrap_again:
        return ""
    user.world.bootstrap_again = True
    return "accepts a new cluster"


def form_in_place_of_earlier(user: User, wait: Wait) -> str:
    """Accept a new cluster in place of an earlier one whose managers are too few for an election.

    A member that joined the earlier one in its last moments has a new volume from it, which only its log says.
    """
    body = user.world.bodies.get(wait.subject)
    if wait.stalled and body is not None and not user.world.identity and user.world.disk(body.name).identity:
        lose(user.world, body)
        return f"gives up the volume of {body.name}, which is from a lost cluster"
    kept = KEPT.search(wait.message)
    if kept is not None and user.world.majority_is_possible():
        return add_members(user, kept[1].split(", "))
    if "annotate the cluster" not in wait.message or user.world.majority_is_possible():
        return ""
    user.world.lossy = True
    return form_again(user, wait)


def add_members(user: User, names: list[str]) -> str:
    """Add members to the spec again whose volumes were kept."""
    for name in names:
        ordinal = int(name.rpartition("-")[2])
        spec = known_pool(user, pool_of(name))
        user.pools = list(
            {**by_name(user), spec.name: changed(spec, replicas=max(spec.replicas, ordinal + 1))}.values()
        )
    user.secure()
    return f"adds {', '.join(names)} again"


def pool_of(member: str) -> str:
    return member.removeprefix("c-").rpartition("-")[0]


def by_name(user: User) -> dict[str, RolePool]:
    return {p.name: p for p in user.pools}


def known_pool(user: User, name: str) -> RolePool:
    """Return a pool as it is, or as it was last, with what can never start corrected."""
    if name in by_name(user):
        return by_name(user)[name]
    known = [p for before, _ in user.previous for p in before if p.name == name]
    spec = known[-1] if known else pool(name, 1, voting=True, data=True)
    storage_class = None if spec.storage_class == MISSING_CLASS else spec.storage_class
    return changed(spec, config={"config/a": "1"}, storage_class=storage_class)


def give_managers_up(user: User, wait: Wait) -> str:
    """Accept a new cluster in place of one whose managers are lost."""
    user.world.give_up()
    return form_again(user, wait)


def delete_earlier_volumes(user: User, wait: Wait) -> str:
    words = {word.rstrip(";") for word in wait.message.split()}
    named = [b for b in user.world.bodies.values() if b.claim is not None and f"data-{b.name}" in words]
    for body in named:
        lose(user.world, body)
    found = POOL.search(wait.message)
    if found is not None and not named:
        user.pools = [changed(p, replicas=p.replicas + (p.name == found[1])) for p in user.pools]
        return f"adds a member to pool {found[1]}"
    return f"deletes the volumes of {', '.join(b.name for b in named)}" if named else ""


def replace_undrained(user: User, wait: Wait) -> str:
    before = user.replacement.undrained
    if wait.subject in before:
        return ""
    user.ask(undrained=before | {wait.subject})
    return f"replaces {wait.subject} undrained"


def replace_outsider(user: User, wait: Wait) -> str:
    """Replace a member that runs outside of the database once the message says so."""
    return replace_undrained(user, wait) if wait.stalled else ""


def forget_member(user: User, wait: Wait) -> str:
    """Take the name of a member that is gone off the lists of the spec."""
    asked, gone = user.replacement, frozenset({wait.subject})
    user.ask(keep=asked.keep - gone, replace=asked.replace - gone)
    user.ask(undrained=asked.undrained - gone, accepted=asked.accepted - gone)
    return f"no longer names {wait.subject}"


def accept_loss(user: User, wait: Wait) -> str:
    user.world.lossy = True
    user.ask(accepted=user.replacement.accepted | {wait.subject})
    return f"accepts the loss of {wait.subject}"


def keep_no_longer(user: User, wait: Wait) -> str:
    """Let a member go that was kept only for the volume that its database needed, now that the database answers."""
    if not user.world.available:
        return ""
    user.ask(keep=user.replacement.keep - {wait.subject})
    return f"no longer keeps {wait.subject}"


def set_version(user: User, wait: Wait) -> str:
    found = VERSION.search(wait.message)
    if found is None:
        return ""
    user.world.version = found[1]
    return f"sets version {found[1]}"


def ask_for_fewer_copies(user: User, _: Wait) -> str:
    for index in user.world.indices:
        index.wanted = max(1, index.wanted - 1)
    return "asks for fewer copies"


def fit_copies(user: User, _: Wait) -> str:
    """Ask for no more copies than there are members with data in the spec."""
    most = sum(p.replicas for p in user.pools if p.data)
    many = [index for index in user.world.indices if index.wanted > most]
    for index in many:
        index.wanted = most
    return f"asks for {most} copies of {', '.join(index.name for index in many)}" if many else ""


def withdraw_coordinated(user: User, _: Wait) -> str:
    """Take a request and a change back that need a restart of all members together."""
    world = user.world
    world.schedule = None
    for body in world.bodies.values():
        if body.pod is not None and body.pod.phase == "schedule-coordinated":
            body.pod.phase = ""
    runs = [secured(pod) for pod in world.joined().values()]
    most = max(sorted(set(runs)), key=runs.count, default="")
    user.security = {"security/on": most} if most else {}
    user.secure()
    return "takes the coordinated restart back"


def withdraw_request(user: User, _: Wait) -> str:
    user.world.schedule = None
    return "takes the request for restarts back"


def bring_pool_back(user: User, wait: Wait) -> str:
    """Give a pool the members and roles that a wait asks for."""
    asked = REMOVED_POOL.search(wait.message)
    name = asked[1] if asked is not None else pool_of(wait.subject)
    pools, spec = by_name(user), known_pool(user, name)
    if "in members.keep" in wait.message:
        user.ask(keep=user.replacement.keep | {wait.subject})
    if "storage.ephemeral: false" in wait.message:
        spec = changed(spec, ephemeral=False)
    if "the role data" in wait.message:
        spec = changed(spec, data=True)
    if "the role of a manager" in wait.message:
        spec = changed(spec, voting=True)
    found = COUNT.search(wait.message)
    if found is not None:
        spec = changed(spec, replicas=max(spec.replicas, int(found[1])))
    user.pools = list({**pools, name: spec}.values())
    user.secure()
    return f"gives pool {name} what it needs: {wait.message}"


def give_up_minority(user: User) -> list[str]:
    """Give the volumes of managers up that are too few for an election: no wait can know that the others are lost."""
    world = user.world
    if world.identity or world.status.bootstrap is None or not world.status.bootstrap.formed:
        return []
    left = [b for name, b in world.bodies.items() if world.disk(name).identity and world.disk(name).voted]
    for body in left:
        lose(world, body)
    return [f"gives up {body.name} of a cluster without a majority" for body in left]


def replace_lost_claims(user: User) -> list[str]:
    """Replace members of a database that answers whose claims are lost."""
    world = user.world
    if not (world.answers and world.available and world.status.bootstrap and world.status.bootstrap.formed):
        return []
    missing = "Unschedulable: persistentvolumeclaim"
    lost = [b.name for b in world.bodies.values() if b.pod is not None and b.pod.trouble.startswith(missing)]
    return [text for name in lost if (text := replace_undrained(user, Wait(name, "", "")))]


def return_to_version_of_data(user: User) -> list[str]:
    """Ask again for a version that a member has data of, as its log says.

    It joined with it in the last moments of a cluster that was created again, so no record has the version.
    """
    world, version = user.world, f"2.{user.newest}.0"
    troubles = [body.pod.trouble for body in world.bodies.values() if body.pod is not None]
    if world.version == version or not any(trouble.endswith("Could not load codec") for trouble in troubles):
        return []
    world.version = version
    return [f"sets version {version}, which a member has data of"]


def delete_lost_indices(user: User) -> list[str]:
    """Delete indices of which no copy is left, where losses are accepted."""
    world = user.world
    red = [i for i in world.indices if not i.current and not any(copy.started for copy in i.copies)]
    lost = red if world.lossy else []
    world.indices = [i for i in world.indices if i not in lost]
    return [f"deletes {index.name}" for index in lost]


ADVICE: Mapping[str, Callable[[User, Wait], str]] = {
    "BootstrapInterrupted": form_again,
    "Bootstrapping": form_in_place_of_earlier,
    "ManagersLost": give_managers_up,
    "EarlierVolumes": delete_earlier_volumes,
    "NeverJoined": replace_outsider,
    "NotInCluster": replace_outsider,
    "NoSuchMember": forget_member,
    "WouldLoseLastCopy": accept_loss,
    "CannotGoBack": set_version,
    "KeepConflict": keep_no_longer,
    "ShrinkRefused": ask_for_fewer_copies,
    "DrainBlocked": fit_copies,
    "RestartPoolUnknown": withdraw_request,
    "DataInPod": withdraw_coordinated,
    "PoolNeeded": bring_pool_back,
}
"""By the reason of a wait: what the user does, and says that it did; empty if there is nothing left to do."""

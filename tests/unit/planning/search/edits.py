"""What users do at any moment: edits of the spec and of its policies, requests for restarts, and their withdrawal."""

from collections.abc import Callable, Mapping
from random import Random

from msgspec.structs import replace

from stateward.planning.facts.upgrade_order import newer
from stateward.planning.model import observation as o
from stateward.planning.model.phase import SCHEDULED
from tests.unit.planning.pools import GIB, PoolSpec
from tests.unit.planning.search.disks import DiskWorld
from tests.unit.planning.search.pools import RolePool, changed, is_valid, pool

BAD, HANGING = ("config/a", "bad"), ("config/a", "hang")
"""Settings with which no process starts, and with which it never joins."""
MISSING_CLASS = "none"
"""A storage class that does not exist."""

Pools = list[RolePool]


class User:
    """A user who edits, and remembers what the spec was before."""

    def __init__(self, world: DiskWorld, random: Random, *, accepts_losses: bool) -> None:
        self.world = world
        self.random = random
        self.accepts_losses = accepts_losses
        self.newest = 17
        """The newest minor version that was asked for."""
        self.previous: list[tuple[Pools, str]] = []
        self.security: dict[str, str] = {}
        """The settings of all pools that only change in all members together."""

    @property
    def pools(self) -> Pools:
        return [p for p in self.world.pools if isinstance(p, RolePool)]

    @pools.setter
    def pools(self, pools: Pools) -> None:
        self.world.pools = list[PoolSpec](pools)

    def edit(self, kind: str, make: "Edit | None" = None, of_pools: "EditOfPools | None" = None) -> str:
        """Make one edit of this kind, if it is possible now; return what the spec is then."""
        world, before = self.world, (self.pools, self.world.version)
        if of_pools is not None:
            pools = self.pools
            position = self.random.randrange(len(pools))
            of_pools(self, pools, position)
            names = [p.name for p in pools]
            pools = [p for n, p in enumerate(pools) if p.name not in names[:n]]
            self.pools = pools if is_valid(pools) else before[0]
            self.secure()
        if make is not None:
            make(self)
        if (self.pools, world.version) != before and kind != "revert":
            self.previous.append(before)
        return f"edit {kind}: {described(world)}"

    def secure(self) -> None:
        """Give all pools the security of the cluster."""
        pools, coordinated = list[RolePool](), frozenset({"security"})
        for p in self.pools:
            rest = {name: digest for name, digest in p.config.items() if not name.startswith("security")}
            pools.append(changed(p, config={**rest, **self.security}, coordinated=coordinated))
        self.pools = pools

    def members(self) -> list[str]:
        """Return the names of all members that are there, or that the spec asks for."""
        return sorted({*self.world.bodies, *(f"c-{p.name}-{n}" for p in self.pools for n in range(p.replicas))})

    def policy(self, **fields: object) -> None:
        self.world.policy = {**self.world.policy, **fields}

    @property
    def replacement(self) -> o.Replacement:
        found = self.world.policy.get("replacement")
        return found if isinstance(found, o.Replacement) else o.Replacement()

    def ask(self, **fields: object) -> None:
        """Change what the spec says of single members."""
        self.policy(replacement=replace(self.replacement, **fields))

    def some(self, most: int = 1) -> frozenset[str]:
        names = self.members()
        return frozenset(self.random.sample(names, min(len(names), self.random.randint(1, most))))


Edit = Callable[[User], None]
EditOfPools = Callable[[User, Pools, int], None]
"""Changes the list of pools at one position."""


def described(world: DiskWorld) -> str:
    """Return the spec in one line."""
    pools = " ".join(
        f"{p.name}x{p.replicas}{'v' if p.voting else ''}{'' if p.electable else 'o'}"
        f"{'d' if p.data else ''}{'E' if p.ephemeral else ''}"
        f"{dict(p.config) or ''}{p.storage_class or ''}/{p.size // GIB}"
        f"{'+' if p.growth else ''}{'~' if p.scaling else ''}"
        for p in world.pools
    )
    policy = {name: value for name, value in world.policy.items() if value}
    return f"{world.version} {pools} {policy} stopped={sorted(world.kept_stopped)}"


# Edits of pools: each changes the list at one position


def set_config(user: User, pools: Pools, i: int, value: str) -> None:
    config = {"config/a": value}
    if user.random.random() < 0.3:
        config["template/x"] = str(user.random.randint(1, 3))
    pools[i] = changed(pools[i], config=config)


def scale(user: User, pools: Pools, i: int) -> None:
    pools[i] = changed(pools[i], replicas=max(1, pools[i].replicas + user.random.choice([-2, -1, 1, 2])))


def set_managers(user: User, pools: Pools, i: int) -> None:
    if pools[i].voting:
        pools[i] = changed(pools[i], replicas=user.random.choice([1, 2, 3, 5]))


def rename(user: User, pools: Pools, i: int) -> None:
    pools[i] = changed(pools[i], name=f"{pools[i].name[:1]}{user.random.randint(0, 3)}")


def swap_names(user: User, pools: Pools, i: int) -> None:
    j = user.random.randrange(len(pools))
    pools[i], pools[j] = changed(pools[i], name=pools[j].name), changed(pools[j], name=pools[i].name)


def swap_roles(user: User, pools: Pools, i: int) -> None:
    j = user.random.randrange(len(pools))
    one, other = pools[i], pools[j]
    pools[i] = changed(one, voting=other.voting, data=other.data)
    pools[j] = changed(other, voting=one.voting, data=one.data)


def remove(_: User, pools: Pools, i: int) -> None:
    if len(pools) > 1:
        del pools[i]


def add(user: User, pools: Pools, _: int) -> None:
    r = user.random
    if len(pools) < 5:
        pools.append(pool(f"x{r.randint(0, 2)}", r.randint(0, 3), voting=r.random() < 0.3, data=r.random() < 0.7))


def add_managers(user: User, pools: Pools, i: int) -> None:
    r = user.random
    pools.insert(i, pool(f"m{r.randint(0, 3)}", r.choice([0, 1, 3]), voting=True, data=r.random() < 0.2))


def set_roles(user: User, pools: Pools, i: int) -> None:
    voting, data = user.random.choice([(True, True), (True, False), (False, True), (False, False)])
    pools[i] = changed(pools[i], voting=voting, data=data)


def toggle_voting_only(_: User, pools: Pools, i: int) -> None:
    if pools[i].voting:
        pools[i] = changed(pools[i], electable=not pools[i].electable)


def exchange_voting_only(_: User, pools: Pools, __: int) -> None:
    """Let all managers that can be elected only vote, and those that only vote be elected."""
    pools[:] = [changed(p, electable=not p.electable) if p.voting else p for p in pools]


def set_class(user: User, pools: Pools, i: int) -> None:
    classes = [MISSING_CLASS, MISSING_CLASS, None, "other", "standard"]
    pools[i] = changed(pools[i], storage_class=user.random.choice(classes))


def set_size(user: User, pools: Pools, i: int) -> None:
    pools[i] = changed(pools[i], size=user.random.choice([5, 10, 20]) * GIB)


def set_ephemeral(user: User, pools: Pools, i: int) -> None:
    if not (user.world.indices and pools[i].data):
        pools[i] = changed(pools[i], ephemeral=not pools[i].ephemeral)


def set_security(user: User) -> None:
    user.security = {"security/on": str(user.random.randint(1, 9))} if user.random.random() < 0.7 else {}
    user.secure()


def revert(user: User, pools: Pools, _: int) -> None:
    if user.previous:
        pools[:], user.world.version = user.previous.pop()


EDITS_OF_POOLS: Mapping[str, EditOfPools] = {
    "config": lambda user, pools, i: set_config(user, pools, i, str(user.random.randint(1, 4))),
    "bad config": lambda user, pools, i: set_config(user, pools, i, BAD[1]),
    "hanging config": lambda user, pools, i: set_config(user, pools, i, HANGING[1]),
    "scale": scale,
    "zero": lambda _, pools, i: pools.__setitem__(i, changed(pools[i], replicas=0)),
    "managers": set_managers,
    "rename": rename,
    "first name": lambda _, pools, i: pools.__setitem__(i, changed(pools[i], name=pools[i].name[:1])),
    "swap names": swap_names,
    "swap roles": swap_roles,
    "remove": remove,
    "add": add,
    "add managers": add_managers,
    "roles": set_roles,
    "class": set_class,
    "size": set_size,
    "ephemeral": set_ephemeral,
    "revert": revert,
}
EDITS_OF_VOTES: Mapping[str, EditOfPools] = {
    "only vote": toggle_voting_only,
    "exchange votes": exchange_voting_only,
}
"""Edits that occur only where some members vote and are never elected."""


# Other edits


def raise_version(user: User) -> None:
    if newer(f"2.{user.newest + 1}.0", user.world.version):
        user.newest += 1
    user.world.version = f"2.{user.newest}.0"


def go_back(user: User) -> None:
    user.world.version = user.world.status.version or user.world.version


def withdraw(user: User) -> None:
    user.ask(keep=frozenset(), replace=frozenset(), undrained=frozenset(), accepted=frozenset())


def consent(user: User) -> None:
    user.world.bootstrap_again = user.world.bootstrap_again or user.accepts_losses


def request_restarts(user: User) -> None:
    pools = user.random.choice([(), (user.random.choice(user.pools).name,)])
    user.world.schedule = o.Schedule(user.random.choice(sorted(SCHEDULED)), pools)


def edit_phases(user: User) -> None:
    """Ask for restarts of single members on their pods, or take the annotations off."""
    for body in user.world.bodies.values():
        if body.pod is not None and user.random.random() < 0.3:
            body.pod.phase = user.random.choice(["", "", "schedule"])


def edit_all_phases(user: User) -> None:
    """Ask for restarts of any kind on most pods that have no phase."""
    for body in user.world.bodies.values():
        if body.pod is not None and not body.pod.phase and user.random.random() < 0.6:
            body.pod.phase = user.random.choice(sorted(SCHEDULED))


def add_index(user: User) -> None:
    """Let an application make an index, if the database can place it now."""
    world = user.world
    able = any(pod.data and name not in world.draining for name, pod in world.joined().items())
    if world.answers and world.available and able:
        world.index((user.random.choice([1, 2, 3]),))


def set_copies(user: User) -> None:
    for index in user.world.indices:
        index.wanted = user.random.choice([index.wanted, 1, 2])


def stop_members(user: User) -> None:
    user.world.kept_stopped = user.some(2)


def start_members(user: User) -> None:
    user.world.kept_stopped = frozenset()


def set_expandable(user: User) -> None:
    user.world.expandable = user.random.choice([True, False, None])


def set_tier(user: User) -> None:
    i = user.random.randrange(len(user.pools))
    user.pools = [changed(p, tier=user.random.randint(0, 3)) if n == i else p for n, p in enumerate(user.pools)]


OTHER_EDITS: Mapping[str, Edit] = {
    "version": raise_version,
    "back": go_back,
    "replace": lambda user: user.ask(replace=user.some(2)),
    "replace undrained": lambda user: user.ask(undrained=user.some()),
    "keep": lambda user: user.ask(keep=user.some()),
    "withdraw": withdraw,
    "stop": stop_members,
    "start": start_members,
    "pause": lambda user: user.policy(paused=True),
    "continue": lambda user: user.policy(paused=False),
    "surge": lambda user: user.policy(surge=user.random.choice(list(o.Surge))),
    "automatic": lambda user: user.ask(enabled=user.random.random() < 0.7, after=user.random.choice([60.0, 300.0])),
    "delete volumes": lambda user: user.policy(delete_volumes=user.random.random() < 0.5),
    "expandable": set_expandable,
    "consent": consent,
    "single copies": lambda user: user.policy(sole_copy=user.random.choice(list(o.SoleCopy))),
    "in place": lambda user: user.policy(in_place=user.random.random() < 0.7),
    "on shrink": lambda user: user.policy(replace_on_shrink=user.random.random() < 0.5),
    "budget": lambda user: user.policy(max_unavailable=user.random.choice([1, 2, None])),
    "pace": lambda user: user.policy(wait_between_removals=user.random.choice([0.0, 60.0])),
    "restarts": request_restarts,
    "phases": edit_phases,
    "security": set_security,
}
RARER_EDITS: Mapping[str, Edit] = {
    "all phases": edit_all_phases,
    "index": add_index,
    "copies": set_copies,
    "live copies": lambda user: user.policy(min_live_copies=user.random.choice([1, 2, 2])),
    "tier": set_tier,
}
"""Edits that occur only where several things happen at once."""

"""One search: a cluster, some edits and faults, the end of all faults, and a user who follows the advice."""

import traceback
from collections.abc import Iterator, Mapping
from enum import StrEnum
from random import Random

from msgspec import Struct

from stateward.operator.clusters.status_writer import is_urgent
from stateward.planning.model import observation as o
from stateward.planning.report.status import status
from tests.unit.planning.search.advice import follow
from tests.unit.planning.search.disks import DiskWorld
from tests.unit.planning.search.edits import (
    BAD,
    EDITS_OF_POOLS,
    EDITS_OF_VOTES,
    HANGING,
    MISSING_CLASS,
    OTHER_EDITS,
    RARER_EDITS,
    Edit,
    EditOfPools,
    User,
    described,
)
from tests.unit.planning.search.faults import FAULTS, SEVERAL, Fault, fail, heal
from tests.unit.planning.search.pools import changed, pools_with_tiebreakers, random_pools
from tests.unit.planning.search.upkeep import EDITS_IN_USE, EDITS_OF_POOLS_IN_USE, FAULTS_IN_USE, replace_by_itself

LIMIT = 900
"""Rounds until the cluster must have settled after the last fault."""
PATIENCE = 30
"""Rounds between two looks of the user at what waits."""


class Profile(StrEnum):
    """What happens mostly: changes of members, restarts of processes in their pods, or several things at once.

    Or changes of members of which some vote and are never elected, or what happens to clusters that are in use.
    """

    MEMBERS = "members"
    RESTARTS = "restarts"
    SEVERAL = "several"
    VOTES = "votes"
    UPKEEP = "upkeep"


MANY = frozenset({Profile.SEVERAL, Profile.UPKEEP})
"""Profiles in which several things happen at once, in three zones."""
RARE_IN_RESTARTS = frozenset(
    {"zero", "add", "add managers", "class", "ephemeral", "swap names", "swap roles", "first name", "consent", "pace"}
    | {"created again", "volume lost", "all managers lost", "most managers lost", "claim deleted", "does not form"}
)
"""Edits and faults that do not occur in the profile of restarts."""
OFTEN: dict[Profile, tuple[str, ...]] = {
    Profile.MEMBERS: ("config", "scale", "rename", "remove", "class", "revert", "evict", "node lost"),
    Profile.RESTARTS: (
        "config",
        "stop",
        "revert",
        "restarts",
        "restarts",
        "phases",
        "security",
        "container",
        "mute agent",
    ),
    Profile.SEVERAL: (
        *("rename", "rename", "swap roles", "version", "ephemeral", "managers", "replace", "scale", "security"),
        *("all phases", "all phases", "restarts", "index", "copies"),
        *("mute agents", "mute agents", "zone lost", "zone lost", "several stuck", "no slots", "container"),
    ),
    Profile.VOTES: (
        *("only vote", "only vote", "only vote", "exchange votes", "exchange votes", "exchange votes"),
        *("managers", "managers", "bad config", "revert", "security", "restarts", "version", "swap roles", "rename"),
        *("evict", "node lost", "replace", "container"),
    ),
    Profile.UPKEEP: (
        *("replaced by itself", "replaced by itself", "replaced by itself", "losses accepted", "volumes cleaned up"),
        *("growth", "growth", "scaling", "scaling", "load", "load", "size", "scale", "version", "delete volumes"),
        *("tainted", "tainted", "tainted", "machine lost", "machine lost", "full disks", "full disks"),
        *(
            "client sets several",
            "zone lost",
            "node lost",
            "index",
            "exchange votes",
            "swap roles",
            "swap roles",
            "class",
        ),
    ),
}
"""Edits and faults that occur more often, once more for each time that they are here."""


class Kinds(Struct, frozen=True):
    """The edits and faults that occur in a profile."""

    of_pools: Mapping[str, EditOfPools]
    edits: Mapping[str, Edit]
    faults: Mapping[str, Fault]


KINDS: Mapping[Profile, Kinds] = {
    Profile.MEMBERS: Kinds(EDITS_OF_POOLS, OTHER_EDITS, FAULTS),
    Profile.RESTARTS: Kinds(EDITS_OF_POOLS, OTHER_EDITS, FAULTS),
    Profile.SEVERAL: Kinds(EDITS_OF_POOLS, {**OTHER_EDITS, **RARER_EDITS}, {**FAULTS, **SEVERAL}),
    Profile.VOTES: Kinds({**EDITS_OF_POOLS, **EDITS_OF_VOTES}, OTHER_EDITS, FAULTS),
    Profile.UPKEEP: Kinds(
        {**EDITS_OF_POOLS, **EDITS_OF_VOTES, **EDITS_OF_POOLS_IN_USE},
        {**OTHER_EDITS, **RARER_EDITS, **EDITS_IN_USE},
        {**FAULTS, **SEVERAL, **FAULTS_IN_USE},
    ),
}


class Search:
    """One search, made from one number."""

    def __init__(self, seed: int, profile: Profile) -> None:
        self.random = random = Random(seed)  # noqa: S311 - nothing here is secret
        self.profile = profile
        self.story: list[tuple[float, str]] = []
        losses = random.random() < 0.35
        some_only_vote = profile is Profile.VOTES or (profile is Profile.UPKEEP and random.random() < 0.5)
        pools = pools_with_tiebreakers(random) if some_only_vote else random_pools(random)
        agents = random.random() < (0.5 if profile is Profile.MEMBERS else 0.85)
        copies = tuple((random.choice([1, 2, 2, 2]),) for _ in range(random.randint(0, 4)))
        budget = random.choice([1, 1, 2, None])
        self.world = DiskWorld(
            *pools, zones=random.choice([3] if profile in MANY else [0, 0, 3]), max_unavailable=budget
        )
        self.world.edit(agents=agents, crash={BAD}, hang={HANGING}, unprovided={MISSING_CLASS})
        self.world.accepts_losses = self.world.lossy = losses
        self.user = User(self.world, random, accepts_losses=losses)
        if profile is Profile.UPKEEP and random.random() < 0.7:
            replace_by_itself(self.user)
        self.world.aware = profile is Profile.UPKEEP and random.random() < 0.3
        if random.random() < 0.7:  # otherwise the edits and faults come before the cluster is formed
            self.world.run()
            self.world.index(*copies).run()
            self.world.log.clear()

    def note(self, text: str) -> None:
        if text:
            self.story.append((self.world.now, text))

    def run(self) -> None:
        """Run the search; raises AssertionError if a promise is broken, or the cluster does not settle."""
        for _ in range(self.random.randint(2, 9)):
            for _ in range(self.random.choice([1, 2, 3]) if self.profile in MANY else 1):
                self.disturb()
            for _ in range(self.random.choice([0, 0, 1, 1, 2, 3, 5, 12, 40])):
                self.step()
            if self.random.random() < (0.4 if self.profile is Profile.UPKEEP else 0.75):
                heal(self.world)
                self.note("all that can end by itself has ended")
        self.settle()
        self.check_end()

    def disturb(self) -> None:
        """Make one edit, or let something fail."""
        found = KINDS[self.profile]
        if self.random.random() < 0.6:
            kind = self.random.choice(self.choices([*found.of_pools, *found.edits]))
            self.note(self.user.edit(kind, found.edits.get(kind), found.of_pools.get(kind)))
        else:
            kind = self.random.choice(self.choices([*found.faults]))
            self.note(fail(self.world, self.random, kind, found.faults[kind]))

    def choices(self, kinds: list[str]) -> list[str]:
        often = [kind for kind in OFTEN[self.profile] if kind in kinds]
        if self.profile is Profile.RESTARTS:
            kinds = [kind for kind in kinds if kind not in RARE_IN_RESTARTS]
        return kinds + often

    def step(self) -> None:
        """Let one round pass; now and then the operator dies in the middle of it."""
        if self.random.random() < 0.08:
            self.die()
        else:
            self.world.tick()

    def die(self) -> None:
        """Carry out the first actions of a round, and forget it: the status has only what is written before them."""
        world, count = self.world, self.random.randint(0, 3)
        observed, made = world.decide()
        world.check(observed, made)
        after = status(observed, made, world.status, world.now)
        if made.records_first and is_urgent(world.status, after):
            world.status = after
        for action in made.actions[:count]:
            if world.lag and world.is_outdated(action):
                break
            world.wrote = world.now
            world.carry_out(action)
        self.note(f"the operator died after {count} of {len(made.actions)} actions")
        world.pass_time()

    def settle(self) -> None:
        """End all faults, correct what can never start, and let the user follow the advice until nothing waits."""
        self.correct()
        self.note(f"the end: {described(self.world)}")
        calm = 0
        for n in range(LIMIT):
            made = self.world.tick()
            calm = calm + 1 if made.settled else 0
            if calm >= 3:
                return
            if n % PATIENCE == PATIENCE - 1:
                for text in follow(self.user, made):
                    self.note(f"the user {text}")
        raise AssertionError(f"not settled after {LIMIT} rounds:\n{self.world.story()}\n{described(self.world)}")

    def correct(self) -> None:
        """End all faults, and ask for something that is possible."""
        world = self.world
        heal(world)
        # What happened to a volume within hours is no reason to wait for in a search: no disk is full any longer.
        world.edit(kept_stopped=frozenset(), expandable=True, used={}, work={})
        for i, p in enumerate(self.user.pools):
            storage_class = None if p.storage_class == MISSING_CLASS else p.storage_class
            world.pools[i] = changed(p, config={"config/a": "1"}, storage_class=storage_class)
        self.user.secure()
        voting = [p for p in self.user.pools if p.voting and p.electable and p.replicas]
        if sum(p.replicas for p in voting) < 2 and any(p.ephemeral for p in voting):
            # The only manager that keeps the state in its pod can never be changed.
            self.user.pools = [changed(p, replicas=3) if p in voting else p for p in self.user.pools]
        data = [p for p in self.user.pools if p.data and p.replicas]
        if sum(p.replicas for p in data) < 2 and any(p.ephemeral for p in data):
            # Nor can the only member with data that keeps it in its pod.
            self.user.pools = [changed(p, replicas=2) if p in data else p for p in self.user.pools]
        self.user.policy(paused=False, replace_on_shrink=True, sole_copy=o.SoleCopy.MOVE, min_live_copies=1)
        self.user.policy(replacement=o.Replacement())

    def check_end(self) -> None:
        """Check that the cluster is what the spec asks for, and that nothing is left to undo."""
        world = self.world
        asked = sum(p.replicas for p in world.observe().desired.pools)
        assert len(world.pods()) == asked, f"{sorted(world.pods())} serve"
        assert set(world.pods().values()) <= {world.version}, f"{world.pods()} are not all {world.version}"
        assert world.allocation is o.Allocation.ALL
        assert not world.draining | world.exclusions
        assert world.lossy or all(index.copies for index in world.indices), "settled while a shard is missing"

    def told(self) -> Iterator[str]:
        """Yield the story: edits, faults and actions with the seconds at which they happened."""
        actions = [
            (
                when,
                f"    {type(x).__name__} {getattr(x, 'member', '')} {x.why} {sorted(getattr(x, 'members', ())) or ''}",
            )
            for when, x in self.world.log
        ]
        for when, text in sorted([*self.story, *actions], key=lambda event: event[0]):
            yield f"{when - 1_000_000:7.0f} {text.rstrip()}"


def search(seed: int, profile: Profile) -> str:
    """Run one search; return its story and what is wrong, or nothing if nothing is."""
    made = Search(seed, profile)
    try:
        made.run()
    except Exception as error:  # noqa: BLE001 - an error of the planner is a finding like any other
        where = traceback.format_exception(error)[-2].strip()
        return "\n".join([*made.told(), f"seed {seed}, profile {profile}: {error!r:.200}\n{error}\n{where}"])
    return ""

"""A person who edits the cluster resource in the middle of everything: well, badly, and back again."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import ClassVar

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.people.drawn_edits import DrawnEdit, draw
from stateward.simulation.people.edits import EDITS, Draft, Edit
from stateward.simulation.people.member_requests import CALM, REQUESTS, WISHES, Annotations, Request
from stateward.simulation.people.profiles import MOSTLY
from stateward.simulation.people.unplaceable_edits import UNPLACEABLE_EDITS, make_placeable
from stateward.simulation.people.volume_edits import VOLUME_EDITS
from stateward.simulation.world.trace_text import edited
from stateward.simulation.world.world import NAME, RIGID, World

DRAWN = ("user: valid edit from the schema", "user: invalid edit from the schema (refused)")
"""What is counted of edits that are drawn from the schema."""
SETS, CLAIMS = "apps/statefulsets", "/persistentvolumeclaims"
PASSING = frozenset({"invalid edit", "valid edit from the schema", "invalid edit from the schema"})
"""Edits with which no other edit begins."""
LEFT_OUT = frozenset({"ephemeral", "acceptDataLoss", "onClusterDelete"})
"""Fields by which a person accepts that data may be lost, so that its loss would prove nothing."""
LOST = frozenset({"BootstrapInterrupted", "ManagersLost"})
"""What the operator waits for where only a person can know whether anything is lost."""

CHOICE = (*EDITS, *VOLUME_EDITS, *UNPLACEABLE_EDITS, *WISHES)
"""Everything that a person may do to the spec."""


class User:
    """Edits one cluster resource."""

    choice: ClassVar[Sequence[Edit]] = CHOICE
    """Everything that this person may do to the spec."""
    left_out: ClassVar[frozenset[str]] = LEFT_OUT
    """Fields that are not drawn from the schema."""

    def __init__(self, world: World, spec: Json, name: str = NAME, often: Sequence[str] = ()) -> None:
        """`often` names what this person does most of the time: edits, and what is asked for by annotations."""
        self.spec = spec
        self._often = often
        self.wrong: Callable[[str], None] = lambda _: None
        """Hears of edits that the server should have refused, or refused badly."""
        self._world = world
        self._name = name
        self._chance = world.ground.stream("user")
        self._before: list[Json] = []

    def act(self) -> None:
        """Make one edit."""
        if self._often and self._chance.random() < MOSTLY:
            self._habit(self._chance.choice(self._often))
            return
        dice = self._chance.random()
        if dice < 0.15 and self._before:
            self._apply("revert", deepcopy(self._before.pop()))
        elif dice < 0.2:
            self._label()
        elif dice < 0.3:
            self._ask()
        elif dice < 0.4:
            self._scribble()
        else:
            self._edit()

    def calm_down(self) -> None:
        """Ask for something that can be had, whatever was asked for before."""
        spec = deepcopy(self.spec)
        spec["version"] = self._reachable()
        for wish in ("image", "update", "members"):
            spec.pop(wish, None)
        for holder in [spec, *spec["pools"]]:
            _correct(holder)
        spec.get("volumes", {}).pop("onShrink", None)
        for pool in spec["pools"]:
            if pool["storage"].get("storageClass") == RIGID:
                pool["storage"]["storageClass"] = "fast"
        self._give_managers_back(spec)
        self._bring_back(spec)
        self._apply("an edit that makes sense", spec)
        self.annotate(CALM)

    def set(self, what: str, **changes: Json | int | str | bool) -> None:
        """Change parts of the spec."""
        self._apply(what, {**deepcopy(self.spec), **changes})

    def annotate(self, annotations: Annotations) -> None:
        """Set annotations of the cluster resource, or (None) take them off."""
        resource = self._world.resource(self._name)
        if resource is None:
            return
        before: dict[str, str] = resource.meta.get("annotations", {})
        after = {name: value for name, value in {**before, **annotations}.items() if value is not None}
        if after != before:
            self._world.ground.tell(f"the user annotates the cluster: {annotations}")
            meta = {**resource.meta, "annotations": after}
            self._world.server.update(
                self._world.clusters, resource.key, {**resource.doc, "metadata": meta}, manager="kubectl"
            )

    def consent(self) -> None:
        """Confirm that the cluster may be bootstrapped again; this user knows that it was empty."""
        resource = self._world.resource(self._name)
        waits = items(resource.doc, "status", "waiting") if resource is not None else []
        if any(wait["reason"] in LOST for wait in waits):
            self._world.ground.count("user: new cluster accepted")
            self.annotate({names.ANNOTATION_BOOTSTRAP_AGAIN: "accept-data-loss"})

    def make(self, edit: DrawnEdit) -> None:
        """Make an edit that was drawn from the schema: an invalid one has to be refused, and by its field."""
        before = self._world.resource(self._name)
        refusal = self._apply(f"{'valid' if edit.valid else 'invalid'} edit from the schema", edit.spec)
        if edit.valid or before is None:
            return
        if refusal is None:
            self.wrong(f"an edit was not refused: {edit}")
        elif edit.path not in str(refusal):
            self.wrong(f"the refusal of an edit ({edit}) does not name its field: {refusal}")
        elif self._world.resource(self._name) != before:
            self.wrong(f"an edit that was refused has changed something: {edit}")

    def delete(self) -> None:
        """Delete the cluster resource."""
        resource = self._world.resource(self._name)
        if resource is not None:
            self._world.ground.tell("the user deletes the cluster resource")
            self._world.ground.count("user: deleted")
            self._world.server.delete(self._world.clusters, resource.key, DeleteOptions(Preconditions(resource.uid)))

    def create(self) -> None:
        """Create the cluster resource again."""
        if self._world.resource(self._name) is None:
            self._world.ground.tell("the user creates the cluster resource")
            self._world.create(deepcopy(self.spec), self._name)

    def heed(self) -> None:
        """Do what the operator waits for: let go of members that cannot join, add missing pools, ask for less.

        A version to which the cluster cannot go back is set forward: a member may have joined with the newer one after
        the last edit.
        """
        resource = self._world.resource(self._name)
        waits = items(resource.doc, "status", "waiting") if resource is not None else []
        self._ask_for_fewer_copies(refused=any(wait["reason"] == "ShrinkRefused" for wait in waits))
        self._let_go([wait["subject"] for wait in waits if wait["reason"] in {"NeverJoined", "NotInCluster"}])
        version = self._reachable()
        if version != self.spec["version"] and any(wait["reason"] == "CannotGoBack" for wait in waits):
            self.set("version that cannot be gone back to", version=version)
        members = [wait["subject"] for wait in waits if wait["reason"] == "PoolNeeded"]
        needed = {member.removeprefix(f"{self._name}-").rpartition("-")[0] for member in members}
        there = {pool["name"] for pool in self.spec["pools"]}
        known = {pool["name"]: pool for spec in self._before for pool in spec["pools"]}
        again = [deepcopy(known[name]) for name in sorted(needed - there) if name in known]
        for pool in again:
            _correct(pool)
        if again:
            spec = deepcopy(self.spec)
            self._apply("pool added again that is needed", {**spec, "pools": [*spec["pools"], *again]})

    def _let_go(self, members: list[str]) -> None:
        """Replace members that never joined, without draining them: there is nothing that they could give away."""
        wishes = part(self.spec, "members")
        told = wishes.get("replaceWithoutDraining", [])
        more = sorted({*members} - {*told} - {*wishes.get("keep", [])})
        if more:
            kept = {name: value for name, value in wishes.items() if name != "replace"}
            kept["replace"] = [name for name in wishes.get("replace", []) if name not in more]
            kept["replaceWithoutDraining"] = [*told, *more]
            self._apply("members that never joined let go", {**deepcopy(self.spec), "members": kept})

    def _ask_for_fewer_copies(self, *, refused: bool) -> None:
        """Let the copies of indices follow the number of members where they insist on more than there are, or will be.

        A pool that shrinks is refused for them.
        """
        database = self._world.database(self._name)
        if database is None:
            return
        members = sum(node.data for node in database.nodes.values())
        for shard in database.shards:
            insists = shard.spread == "false" and len(shard.copies) > 2
            if insists and (refused or len(shard.copies) > members):
                self._world.ground.tell(f"the user lets the copies of {shard.index} follow the number of members")
                database.follow(shard.index, "0-2")

    def _give_managers_back(self, spec: Json) -> None:
        """Ask for as many managers as the database counts on, where too few are there to elect one.

        They are away when a cluster was deleted and made again with fewer; their volumes were kept.
        """
        database = self._world.database(self._name)
        if database is None or database.leader:
            return
        for pool in spec["pools"]:
            voted = any(name.startswith(f"{self._name}-{pool['name']}-") for name in database.seen)
            if voted and self._world.product.manager in pool["roles"]:
                pool["replicas"] = max(pool["replicas"], len(database.voters))
                return

    def _bring_back(self, spec: Json) -> None:
        """Ask for so many members that those are among them whose kept volumes have the only copies of something.

        They are away when a cluster was deleted and made again: it takes the volumes with the lowest numbers, and with
        them those of members in whose place others with higher numbers had come. One of another class is not used.
        """
        members = {stored.key.name for stored in self._world.store.all(SETS)}
        claims = {claim.uid: claim.labels.get(names.LABEL_MEMBER, "") for claim in self._world.store.all(CLAIMS)}
        database = self._world.database(self._name)
        for shard in database.shards if database is not None else ():
            disks = self._world.databases.disks.items()
            holders = {claims.get(uid, "") for uid, disk in disks if disk.copies.get(shard.name) in shard.in_sync}
            if holders & members:
                continue
            for pool in spec["pools"]:
                prefix = f"{self._name}-{pool['name']}"
                numbers = _numbers(prefix, holders)
                if numbers:
                    above = [number for number in _numbers(prefix, members) if number > numbers[0]]
                    pool["replicas"] = max(pool["replicas"], numbers[0] + 1 + len(above))
                    pool["storage"].pop("storageClass", None)

    def _habit(self, name: str) -> None:
        request = next((request for request in REQUESTS if request[0] == name), None)
        if request is not None:
            self._annotate(request)
        else:
            self._change(next(edit for edit in self.choice if edit.name == name))

    def _edit(self) -> None:
        self._change(self._chance.choices(self.choice, [edit.weight for edit in self.choice])[0])

    def _change(self, edit: Edit) -> None:
        spec = deepcopy(self.spec)
        if edit.change(self._draft(spec)):
            self._apply(edit.name, spec)

    def _ask(self) -> None:
        self._annotate(self._chance.choices(REQUESTS, [weight for _, weight, _ in REQUESTS])[0])

    def _annotate(self, request: Request) -> None:
        what, _, annotations = request
        self._world.ground.count(f"user: {what}")
        self.annotate(annotations(self._draft(self.spec)))

    def _draft(self, spec: Json) -> Draft:
        resource = self._world.resource(self._name)
        removals = items(resource.doc, "status", "pendingRemovals") if resource is not None else []
        return Draft(spec, self._name, self._chance, self._world.product, tuple(entry["name"] for entry in removals))

    def _scribble(self) -> None:
        self.make(draw(self._world.kind.resource.kind, self.spec, self._chance, self.left_out))

    def _apply(self, what: str, spec: Json) -> ApiError | None:
        """Write a spec, and return why the server does not take it."""
        resource = self._world.resource(self._name)
        if resource is None:
            return None
        try:
            self._world.server.update(
                self._world.clusters, resource.key, {**resource.doc, "spec": spec}, manager="kubectl"
            )
        except ApiError as error:
            self._world.ground.count(f"user: {what} (refused)")
            return error
        self._world.ground.count(f"user: {what}")
        self._world.ground.tell(f"the user edits the cluster ({what}): {edited(self.spec, spec) or 'nothing'}")
        self._before.append(self.spec)
        self.spec = spec
        if what in PASSING:
            # A user does not leave it like that: the next edit starts with what was there before.
            self.spec = self._before.pop()
        return None

    def _label(self) -> None:
        resource = self._world.resource(self._name)
        if resource is not None:
            meta = {**resource.meta, "labels": {"team": self._chance.choice("abc")}}
            self._world.ground.count("user: labels changed")
            self._world.server.update(
                self._world.clusters, resource.key, {**resource.doc, "metadata": meta}, manager="kubectl"
            )

    def _reachable(self) -> str:
        """Return a version that can be had from here: what is wanted, or else the newest that a member has run."""
        resource = self._world.resource(self._name)
        deployed = part(resource.doc, "status").get("version", "") if resource is not None else ""
        known = self._world.product.versions
        passed = [d.version for d in self._world.databases.disks.values() if d.version in known]
        newest = max(passed, key=known.index, default=known[0])
        last = known.index(deployed) + 2 if deployed in known else None
        steps = known[known.index(newest) : last]
        return self.spec["version"] if self.spec["version"] in steps else newest


def _correct(holder: Json) -> None:
    """Take off what nothing starts with: of a whole spec, or of a pool."""
    for setting in ("bad.setting", "cluster.name"):
        holder.get("config", {}).pop(setting, None)
    make_placeable(holder)


def _numbers(prefix: str, members: Iterable[str]) -> list[int]:
    """Return the numbers of those members that are of a pool, in order."""
    return sorted(int(number) for of, _, number in (name.rpartition("-") for name in members) if of == prefix)

"""The simulated user: edits the cluster resource at any time, reverts edits, and sends requests."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import ClassVar

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.users.drawn_edits import DrawnEdit, draw
from stateward.simulation.users.edits import EDITS, Draft, Edit
from stateward.simulation.users.member_requests import CLEARED_REQUESTS, MEMBER_EDITS, REQUESTS, Annotations, Request
from stateward.simulation.users.needed_pools import needed_members, needed_pools
from stateward.simulation.users.profiles import PROFILE_EDITS
from stateward.simulation.users.scaling_edits import SCALING_EDITS
from stateward.simulation.users.unplaceable_edits import UNPLACEABLE_EDITS, make_placeable
from stateward.simulation.users.volume_edits import VOLUME_EDITS
from stateward.simulation.world.trace_text import edited
from stateward.simulation.world.world import LIMITED, NAME, RIGID, World

DRAWN = ("user: valid edit from the schema", "user: invalid edit from the schema (refused)")
"""Counter names of the edits drawn from the schema."""
REVERTED_EDITS = frozenset({"invalid edit", "valid edit from the schema", "invalid edit from the schema"})
"""Edits on which no later edit is based."""
EXCLUDED_FIELDS = frozenset({"ephemeral", "acceptDataLoss", "whenDeleted"})
"""Fields with which a user accepts data loss; a loss would then prove nothing."""
ONLY_AT_CREATION = "spec.bootstrap"
"""A field that an existing cluster cannot get, by a rule that the model of the API server does not know."""
BOOTSTRAP_WAITS = frozenset({"BootstrapInterrupted", "ManagersLost"})
"""Wait reasons that need a user's confirmation that no data is lost."""
NEVER_JOIN = frozenset({"NeverJoined", "NotInCluster"})
"""Wait reasons of members that are outside of the database."""
REPLACE = "replaceWithoutDraining"
"""What a message names if such a member is to be replaced."""
DOWNGRADES = frozenset({"CannotGoBack", "UpgradeRefused"})
"""Wait reasons of a version that is older than what members run."""
BOOTSTRAP_CONFIRMED = "user: bootstrap confirmed"
"""Counter name of that confirmation."""

CHOICE = (*EDITS, *VOLUME_EDITS, *SCALING_EDITS, *UNPLACEABLE_EDITS, *MEMBER_EDITS)
"""All edits of the spec."""


class User:
    """Edits one cluster resource."""

    choice: ClassVar[Sequence[Edit]] = CHOICE
    """The edits of this user."""
    draft: ClassVar[type[Draft]] = Draft
    """The kind of specs that this user edits."""
    excluded_fields: ClassVar[frozenset[str]] = EXCLUDED_FIELDS
    """Fields that are not drawn from the schema."""

    def __init__(self, world: World, spec: Json, name: str = NAME, frequent_edits: Sequence[str] = ()) -> None:
        """`frequent_edits` are the names of the frequent edits and requests."""
        self.spec = spec
        self._frequent_edits = frequent_edits
        self.validation_failed: Callable[[str], None] = lambda _: None
        """The callback for edits that the server wrongly accepted, or refused with a wrong message."""
        self._world = world
        self._name = name
        self._rng = world.context.stream("user")
        self._previous_specs: list[Json] = []
        self._known_pools: dict[str, Json] = {}
        """Each pool that a spec ever had, by name, as it was last: its members may have data, also after a revert."""

    def make_edit(self) -> None:
        """Make one edit."""
        if self._frequent_edits and self._rng.random() < PROFILE_EDITS:
            self._make_frequent_edit(self._rng.choice(self._frequent_edits))
            return
        dice = self._rng.random()
        if dice < 0.15 and self._previous_specs:
            self._apply("revert", deepcopy(self._previous_specs.pop()))
        elif dice < 0.2:
            self._label()
        elif dice < 0.3:
            self._request()
        elif dice < 0.4:
            self._edit_from_schema()
        else:
            self._edit()

    def request_satisfiable_spec(self) -> None:
        """Request a spec that can be satisfied."""
        spec = deepcopy(self.spec)
        spec["version"] = self._reachable()
        for field in ("image", "update", "members"):
            spec.pop(field, None)
        for holder in [spec, *spec["pools"]]:
            _remove_invalid_settings(holder)
        spec.get("volumes", {}).pop("whenShrunk", None)
        for pool in spec["pools"]:
            correct_storage(pool["storage"])
        self._apply("satisfiable spec", spec)
        self.annotate(CLEARED_REQUESTS)

    def set(self, what: str, **changes: Json | int | str | bool) -> None:
        """Change parts of the spec."""
        self._apply(what, {**deepcopy(self.spec), **changes})

    def annotate(self, annotations: Annotations) -> None:
        """Set annotations of the cluster resource, or remove them (None)."""
        resource = self._world.resource(self._name)
        if resource is None:
            return
        before: dict[str, str] = resource.meta.get("annotations", {})
        after = {name: value for name, value in {**before, **annotations}.items() if value is not None}
        if after != before:
            self._world.context.trace(f"the user annotates the cluster: {annotations}")
            meta = {**resource.meta, "annotations": after}
            self._world.server.update(
                self._world.clusters, resource.key, {**resource.doc, "metadata": meta}, manager="kubectl"
            )

    def confirm_bootstrap(self) -> None:
        """Confirm that the cluster may be bootstrapped again; this user knows that it was empty."""
        resource = self._world.resource(self._name)
        waits = items(resource.doc, "status", "waiting") if resource is not None else []
        if any(wait["reason"] in BOOTSTRAP_WAITS for wait in waits):
            self._world.context.count(BOOTSTRAP_CONFIRMED)
            self.annotate({names.ANNOTATION_BOOTSTRAP_AGAIN: "accept-data-loss"})
        for wait in waits:
            if wait["reason"] == "EarlierVolumes":
                self._delete_named(wait["message"])

    def _delete_named(self, message: str) -> None:
        """Delete the claims and pods that a message names: nothing of the cluster on them is needed."""
        said = {word.rstrip(";") for word in message.split()}
        for kind in ("/persistentvolumeclaims", "/pods"):
            for stored in self._world.store.all(kind):
                if stored.key.name in said and not stored.terminating:
                    self._world.context.trace(f"the user deletes {stored.key.name}")
                    self._world.server.delete(kind, stored.key, DeleteOptions(Preconditions(stored.uid)))

    def apply_drawn_edit(self, edit: DrawnEdit) -> None:
        """Apply an edit that was drawn from the schema: the server must refuse an invalid one and name its field."""
        if edit.valid and edit.path.startswith(ONLY_AT_CREATION):
            return
        before = self._world.resource(self._name)
        refusal = self._apply(f"{'valid' if edit.valid else 'invalid'} edit from the schema", edit.spec)
        if edit.valid or before is None:
            return
        if refusal is None:
            self.validation_failed(f"an edit was not refused: {edit}")
        elif edit.path not in str(refusal):
            self.validation_failed(f"the refusal of an edit ({edit}) does not name its field: {refusal}")
        elif self._world.resource(self._name) != before:
            self.validation_failed(f"an edit that was refused has changed something: {edit}")

    def delete(self) -> None:
        """Delete the cluster resource."""
        resource = self._world.resource(self._name)
        if resource is not None:
            self._world.context.trace("the user deletes the cluster resource")
            self._world.context.count("user: deleted")
            self._world.server.delete(self._world.clusters, resource.key, DeleteOptions(Preconditions(resource.uid)))

    def create(self) -> None:
        """Create the cluster resource if it does not exist."""
        if self._world.resource(self._name) is None:
            self._world.context.trace("the user creates the cluster resource")
            self._world.create(deepcopy(self.spec), self._name)

    def resolve_waits(self) -> None:
        """Resolve the wait reasons of the operator: replace members that cannot join, restore pools, reduce copies.

        A refused downgrade is withdrawn: a member may have joined with the newer version after the edit.
        """
        resource = self._world.resource(self._name)
        waits = items(resource.doc, "status", "waiting") if resource is not None else []
        refused = any(wait["reason"] == "ShrinkRefused" for wait in waits)
        self._reduce_copies(refused=refused, settled=resource is not None and _is_ready(resource))
        self._replace_undrained(
            [wait["subject"] for wait in waits if wait["reason"] in NEVER_JOIN and REPLACE in wait["message"]]
        )
        self._keep(needed_members(waits))
        version = self._reachable()
        if version != self.spec["version"] and any(wait["reason"] in DOWNGRADES for wait in waits):
            self.set("refused downgrade withdrawn", version=version)
        known = self._known_pools
        pools = needed_pools(self._name, self.spec["pools"], waits, known, self._world.product.manager)
        if pools != self.spec["pools"]:
            for pool in pools:
                _remove_invalid_settings(pool)
            self._apply("required pool restored", {**deepcopy(self.spec), "pools": pools})

    def _replace_undrained(self, members: list[str]) -> None:
        """Replace members that never joined, without draining them: they hold no data."""
        requests = part(self.spec, "members")
        listed = requests.get("replaceWithoutDraining", [])
        more = sorted({*members} - {*listed} - {*requests.get("keep", [])})
        if more:
            kept = {name: value for name, value in requests.items() if name != "replace"}
            kept["replace"] = [name for name in requests.get("replace", []) if name not in more]
            kept["replaceWithoutDraining"] = [*listed, *more]
            self._apply("members that never joined replaced", {**deepcopy(self.spec), "members": kept})

    def _keep(self, members: list[str]) -> None:
        """Keep members that are being replaced, and whose volumes are needed."""
        requests = part(self.spec, "members")
        more = sorted({*members} - {*requests.get("keep", [])})
        if more:
            kept = {key: [name for name in listed if name not in more] for key, listed in requests.items()}
            kept["keep"] = [*requests.get("keep", []), *more]
            self._apply("needed members kept", {**deepcopy(self.spec), "members": kept})

    def _reduce_copies(self, *, refused: bool, settled: bool) -> None:
        """Let indices adapt their copies if they need more members than there are or will be.

        The operator refuses to shrink a pool below their number. An index that was created after that may still have
        two copies in a cluster with one member that holds data.
        """
        database = self._world.database(self._name)
        if database is None:
            return
        members = sum(node.data for node in database.nodes.values())
        for shard in database.shards:
            insists = shard.spread == "false" and len(shard.copies) > (1 if refused or settled else 2)
            if insists and (refused or len(shard.copies) > members):
                self._world.context.trace(f"the user lets the copies of {shard.index} follow the number of members")
                database.follow(shard.index, f"0-{len(shard.copies) - 1}")

    def _make_frequent_edit(self, name: str) -> None:
        request = next((request for request in REQUESTS if request[0] == name), None)
        if request is not None:
            self._annotate(request)
        else:
            self._change(next(edit for edit in self.choice if edit.name == name))

    def _edit(self) -> None:
        self._change(self._rng.choices(self.choice, [edit.weight for edit in self.choice])[0])

    def _change(self, edit: Edit) -> None:
        spec = deepcopy(self.spec)
        if edit.change(self._draft(spec)):
            self._apply(edit.name, spec)

    def _request(self) -> None:
        self._annotate(self._rng.choices(REQUESTS, [weight for _, weight, _ in REQUESTS])[0])

    def _annotate(self, request: Request) -> None:
        what, _, annotations = request
        self._world.context.count(f"user: {what}")
        self.annotate(annotations(self._draft(self.spec)))

    def _draft(self, spec: Json) -> Draft:
        resource = self._world.resource(self._name)
        removals = items(resource.doc, "status", "pendingRemovals") if resource is not None else []
        leaving = tuple(entry["name"] for entry in removals)
        return self.draft(spec, self._name, self._rng, self._world.product, leaving)

    def _edit_from_schema(self) -> None:
        self.apply_drawn_edit(draw(self._world.kind.resource.kind, self.spec, self._rng, self.excluded_fields))

    def _apply(self, what: str, spec: Json) -> ApiError | None:
        """Write a spec, and return the server's refusal."""
        resource = self._world.resource(self._name)
        if resource is None:
            return None
        try:
            self._world.server.update(
                self._world.clusters, resource.key, {**resource.doc, "spec": spec}, manager="kubectl"
            )
        except ApiError as error:
            self._world.context.count(f"user: {what} (refused)")
            return error
        self._world.context.count(f"user: {what}")
        self._world.context.trace(f"the user edits the cluster ({what}): {edited(self.spec, spec) or 'nothing'}")
        self._previous_specs.append(self.spec)
        self._known_pools |= {pool["name"]: pool for pool in (*self.spec["pools"], *spec["pools"])}
        self.spec = spec
        if what in REVERTED_EDITS:
            # The next edit is based on the previous spec.
            self.spec = self._previous_specs.pop()
        return None

    def _label(self) -> None:
        resource = self._world.resource(self._name)
        if resource is not None:
            meta = {**resource.meta, "labels": {"team": self._rng.choice("abc")}}
            self._world.context.count("user: labels changed")
            self._world.server.update(
                self._world.clusters, resource.key, {**resource.doc, "metadata": meta}, manager="kubectl"
            )

    def _reachable(self) -> str:
        """Return a reachable version: the requested one, or else the newest that a member has run."""
        resource = self._world.resource(self._name)
        deployed = part(resource.doc, "status").get("version", "") if resource is not None else ""
        known = self._world.product.versions
        passed = [d.version for d in self._world.databases.disks.values() if d.version in known]
        newest = max(passed, key=known.index, default=known[0])
        last = known.index(deployed) + 2 if deployed in known else None
        steps = known[known.index(newest) : last]
        return self.spec["version"] if self.spec["version"] in steps else newest


def _is_ready(resource: Stored) -> bool:
    conditions = items(resource.doc, "status", "conditions")
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def correct_storage(storage: Json) -> None:
    """Let volumes grow where they can, and only where they are the disks that the database measures."""
    if storage.get("storageClass") == RIGID:
        storage["storageClass"] = "fast"
    if storage.get("storageClass") != LIMITED:
        storage.pop("grow", None)
    elif "grow" in storage:
        storage["grow"]["when"] = "80%"


def _remove_invalid_settings(holder: Json) -> None:
    """Remove settings of a spec or of a pool that prevent the start."""
    for setting in ("bad.setting", "cluster.name"):
        holder.get("config", {}).pop(setting, None)
    make_placeable(holder)

"""The user of a FoundationDB cluster."""

from collections.abc import Sequence
from copy import deepcopy
from typing import ClassVar

from stateward.api.values.base import Json
from stateward.simulation.apiserver.documents import part
from stateward.simulation.users.edits import Edit
from stateward.simulation.users.foundationdb_edits import CHOICE, VERSIONS, holds_three_copies
from stateward.simulation.users.member_requests import CLEARED_REQUESTS
from stateward.simulation.users.unplaceable_edits import make_placeable
from stateward.simulation.users.user import EXCLUDED_FIELDS, User, correct_storage


class FoundationDBUser(User):
    """Edits one FoundationDB cluster resource."""

    choice: ClassVar[Sequence[Edit]] = CHOICE
    excluded_fields: ClassVar[frozenset[str]] = EXCLUDED_FIELDS | {
        "redundancy",
        "storageEngine",
        "faultDomain",
        "processClass",
    }
    """Includes immutable properties of the database: a changed value means another database."""

    def request_satisfiable_spec(self) -> None:
        """Request a spec that can be satisfied."""
        spec: Json = deepcopy(self.spec)
        spec["version"] = self._reachable()
        for field in ("update", "members"):
            spec.pop(field, None)
        for holder in [spec, *spec["pools"]]:
            make_placeable(holder)
        spec.get("volumes", {}).pop("whenShrunk", None)
        for pool in spec["pools"]:
            correct_storage(pool["storage"])
        if not holds_three_copies(spec["pools"]):
            spec.pop("redundancy", None)
        self._apply("satisfiable spec", spec)
        self.annotate(CLEARED_REQUESTS)

    def _reachable(self) -> str:
        """Return a reachable version: the requested one, or else the newest that a process has run.

        While the database is down, only the status shows with which version a member has joined.
        """
        running = {w.version for d in self._world.foundationdb.databases.values() for w in d.processes.values()}
        resource = self._world.resource(self._name)
        status = part(resource.doc, "status") if resource is not None else {}
        joined = {member.get("version", "") for member in status.get("memberStates", ())}
        passed = [version for version in {*running, *joined, status.get("version", "")} if version in VERSIONS]
        newest = max(passed, key=VERSIONS.index, default=VERSIONS[0])
        wanted = self.spec["version"]
        return wanted if wanted in VERSIONS[VERSIONS.index(newest) :] else newest

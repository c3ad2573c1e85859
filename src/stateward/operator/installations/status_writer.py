"""Writes what becomes of one installation: its status, its marks, and events for people."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.installation import Installation, InstallationStatus
from stateward.api.values.conditions import stalled
from stateward.api.values.problem import printable
from stateward.kube.client.client import PatchKind
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.objects.errors import Conflict, Invalid
from stateward.kube.objects.metadata import key_of
from stateward.operator.installations.annotations import add_marks
from stateward.operator.installations.context import SharedTools
from stateward.operator.installations.objects.faults import HeldError
from stateward.operator.installations.objects.owned_objects import findable
from stateward.operator.installations.objects.views import (
    ANNOTATION_KINDS,
    INSTALLATIONS,
    MOST_KINDS,
    GroupKind,
    kinds_in,
)
from stateward.packages.plans.reporting import reported
from stateward.planning.report.reconcile_failure import REASON

FINDABLE_SECONDS = 600.0
"""Seconds for which it is known that an account may list a kind. A right that is taken away later is reported when it
is missed, as it is if it is taken away after the kind was recorded."""
Stuck = tuple[str, str]
"""Why a person is needed: a reason for programs, and a sentence."""


class StatusWriter:
    """The writes to one installation; `live` is its state after the last write.

    `standing` is why manual intervention is required although a plan continues; it is part of every status.
    """

    def __init__(self, shared: SharedTools, live: Installation) -> None:
        self._shared = shared
        self.live = live
        self.standing: Stuck | None = None

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self._shared.clock.now().timestamp()

    async def write(
        self, status: InstallationStatus, stuck: Stuck | None = None, *, doing: str = "", reason: str = "Removing"
    ) -> InstallationStatus:
        """Write a status, if it is new; `doing` is work outside of a running plan, for a `reason`.

        Raises Conflict if another client was faster, ApiError.
        """
        stuck = stuck or self.standing
        made = reported(status, stuck, self.live.metadata.generation, self.now(), doing, reason)
        return await self._replace(made, stuck)

    async def fail(self, sentence: str) -> None:
        """Write that rounds fail, and leave all that was known; raises Conflict, ApiError."""
        status, stuck = self.live.status, (REASON, sentence)
        await self._replace(reported(status, stuck, status.observed_generation, self.now()), stuck)

    async def _replace(self, after: InstallationStatus, stuck: Stuck | None) -> InstallationStatus:
        before = self.live.status
        if after == before:
            return after
        if stuck is not None and printable(stuck[1]) not in {before.activity, _said(before)}:
            self.tell(Severity.WARNING, *stuck)
        meta = self.live.metadata
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
            {"op": "add", "path": "/status", "value": msgspec.to_builtins(after)},
        ]
        try:
            written = await self._shared.tools.api.patch(
                INSTALLATIONS, key_of(self.live), patch, kind=PatchKind.JSON, subresource="status"
            )
        except Invalid as error:
            if error.causes:
                raise
            raise Conflict(f"{key_of(self.live)} has changed since it was read") from error
        self._shared.wrote(written)
        self.live = replace(written, status=after)
        return after

    async def mark(self, kinds: Iterable[GroupKind], *, sure: bool = True) -> None:
        """Record the kinds of objects that may exist from now on.

        Raises HeldError if they are too many, NotAllowedError, Conflict, ApiError.

        Only kinds that the account may list: the objects can then be found again, to be pruned and removed. A package
        that once named others would block its own correction, and the deletion of the installation, with lists that the
        account may not read. Unless they have to be `sure`, such kinds are left out, and so are kinds that are not
        served yet.
        """
        known = kinds_in(self.live.metadata.annotations)
        fresh = sorted(frozenset(kinds) - known)
        may = [kind for kind in fresh if await self._findable(kind, sure=sure)]
        if len(known) + len(may) > MOST_KINDS:
            raise HeldError(f"its objects have more than {MOST_KINDS} kinds (annotation {ANNOTATION_KINDS})")
        before, self.live = self.live, await add_marks(self._shared.tools.api, self.live, may)
        if self.live is not before:
            self._shared.wrote(self.live)

    async def _findable(self, kind: GroupKind, *, sure: bool) -> bool:
        """Return whether the account may list a kind; an answer holds for the other installations of the account."""
        name = (self._shared.accounts.user_of(self.live), self.live.metadata.namespace, kind)
        until, now = self._shared.findable.get(name, 0.0), self._shared.clock.monotonic()
        if now < until:
            return True
        self._shared.findable.pop(name, None)
        if not await findable(self._shared.tools_of(self.live), self.live, kind, sure=sure):
            return False
        self._shared.findable[name] = now + FINDABLE_SECONDS
        return True

    def tell(self, severity: Severity, reason: str, note: str) -> None:
        """Tell people what happened."""
        target = about(INSTALLATIONS, self.live)
        self._shared.recorder.record(Occurrence(target, severity, reason, "Reconcile", note))


def _said(status: InstallationStatus) -> str:
    """Return why a person was needed before."""
    found = stalled(status.conditions)
    return found.message if found is not None else ""

"""Writes what becomes of one installation: its status, its marks, and events for people."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.installation import Installation, InstallationStatus
from stateward.kube.client.client import PatchKind
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.objects.errors import Conflict, Invalid
from stateward.kube.objects.metadata import key_of
from stateward.operator.installations.annotations import marked
from stateward.operator.installations.context import Surroundings
from stateward.operator.installations.objects.owned_objects import findable
from stateward.operator.installations.objects.views import INSTALLATIONS, GroupKind, kinds_in
from stateward.packages.plans.reporting import reported
from stateward.planning.report.reconcile_failure import REASON

Stuck = tuple[str, str]
"""Why a person is needed: a reason for programs, and a sentence."""


class Journal:
    """What is written of one installation; `live` is how it is after the last write.

    `standing` is why a person is needed although a plan goes on; it is part of whatever is written.
    """

    def __init__(self, around: Surroundings, live: Installation) -> None:
        self._around = around
        self.live = live
        self.standing: Stuck | None = None

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self._around.clock.now().timestamp()

    async def write(
        self, status: InstallationStatus, stuck: Stuck | None = None, *, doing: str = ""
    ) -> InstallationStatus:
        """Write a status, if it says anything new; `doing` is what is done that is no plan.

        Raises Conflict when somebody was faster, ApiError.
        """
        stuck = stuck or self.standing
        return await self._replace(reported(status, stuck, self.live.metadata.generation, self.now(), doing), stuck)

    async def fail(self, sentence: str) -> None:
        """Write that rounds fail, and leave all that was known; raises Conflict, ApiError."""
        status, stuck = self.live.status, (REASON, sentence)
        await self._replace(reported(status, stuck, status.observed_generation, self.now()), stuck)

    async def _replace(self, after: InstallationStatus, stuck: Stuck | None) -> InstallationStatus:
        before = self.live.status
        if after == before:
            return after
        if stuck is not None and stuck[1] not in {before.doing, _said(before)}:
            self.tell(Severity.WARNING, *stuck)
        meta = self.live.metadata
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": meta.uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
            {"op": "add", "path": "/status", "value": msgspec.to_builtins(after)},
        ]
        try:
            written = await self._around.tools.api.patch(
                INSTALLATIONS, key_of(self.live), patch, kind=PatchKind.JSON, subresource="status"
            )
        except Invalid as error:
            if error.causes:
                raise
            raise Conflict(f"{key_of(self.live)} has changed since it was read") from error
        self._around.wrote(written)
        self.live = replace(written, status=after)
        return after

    async def mark(self, kinds: Iterable[GroupKind], *, sure: bool = True) -> None:
        """Write which kinds of objects there may be from now on; raises NotAllowedError, Conflict, ApiError.

        Only kinds that the account may list: what was made can then be found again, to be pruned and to be removed.
        A package that once asked for others would hold up its own correction, and the end of the installation, with
        lists that nobody may read. Unless they have to be `sure`, such kinds are left out, and those not served yet.
        """
        fresh = sorted(frozenset(kinds) - kinds_in(self.live.metadata.annotations))
        may = [kind for kind in fresh if await findable(self._around.tools_of(self.live), self.live, kind, sure=sure)]
        before, self.live = self.live, await marked(self._around.tools.api, self.live, may)
        if self.live is not before:
            self._around.wrote(self.live)

    def tell(self, severity: Severity, reason: str, note: str) -> None:
        """Tell people what happened."""
        target = about(INSTALLATIONS, self.live)
        self._around.recorder.record(Occurrence(target, severity, reason, "Reconcile", note))


def _said(status: InstallationStatus) -> str:
    """Return why a person was needed before."""
    return next((c.message for c in status.conditions if c.type == "Stalled" and c.status == "True"), "")

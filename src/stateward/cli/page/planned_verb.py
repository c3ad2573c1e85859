"""The plan of a verb before it is performed: the verb runs against an API that sends nothing.

Its patches are applied to the objects as read, and the plan follows from those.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec

from stateward.cli.page.plan_view import PlanView, plan_view
from stateward.cli.page.verbs import perform
from stateward.cli.preview.inputs import PlanInputs, read_inputs
from stateward.cli.preview.preview import preview
from stateward.cli.shared.session import Session
from stateward.kube.client.client import Api, Body, ListOptions, Page, PatchKind
from stateward.kube.objects.metadata import Key, KubeObject, T, key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.simulation.apiserver.writing.merging import json_patch, merge_patch


class UnsentApi:
    """An API server whose patches stay here; other writes are not available."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._changed: dict[tuple[str, Key], Any] = {}
        self.request = api.request
        self.watch = api.watch

    async def get(self, resource: Resource[T], key: Key) -> T:
        """Read one object, with the patches of it."""
        known = self._changed.get((resource.plural, key))
        return await self._api.get(resource, key) if known is None else cast("T", known)

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Read one page of a list, with the patches of its objects."""
        page = await self._api.list(resource, selection, options)
        items = (self._changed.get((resource.plural, key_of(cast("KubeObject", item))), item) for item in page.items)
        return replace(page, items=tuple(items))

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Apply a patch to the object as read."""
        del subresource
        before = msgspec.to_builtins(await self.get(resource, key))
        change = msgspec.to_builtins(body)
        after = json_patch(before, change) if kind is PatchKind.JSON else merge_patch(before, change)
        made = msgspec.convert(after, resource.view)
        self._changed[resource.plural, key] = made
        return made


async def inputs_of_verb(session: Session, verb: str, cluster: str, member: str = "") -> tuple[PlanInputs, float]:
    """Return the inputs of the plan of a verb, or with an empty verb of what the cluster still has to do, and the time.

    Raise Failure and ApiError as the verb does.
    """
    unsent = replace(session, api=cast("Api", UnsentApi(session.api)))
    if verb:
        await perform(unsent, verb, cluster, member)
    return await read_inputs(unsent, session.kinds[0], cluster), session.now()


def planned(found: PlanInputs, now: float) -> PlanView:
    """Return a plan for the page; for a large cluster it takes seconds of a processor."""
    return plan_view(found, preview(found.observed, now, found.pacing.durations))

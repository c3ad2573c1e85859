"""Reverts drift of an installation's objects while no plan runs.

The caches show whether an object has changed, without a request: it is not as this process left it. Then it is applied
again as it was rendered. An object that would now render differently is left alone: the plan that would change it has
not run, because nothing has requested it. If the key of digests was lost, a dry run shows whether the object is
unchanged, and it is known again from then on. Objects that a user removed are created again, except jobs and pods,
which are finished work, and except what a plan has removed.
"""

from collections.abc import Iterable, Mapping

from stateward.api.kinds.installation import RemovedObject
from stateward.api.values.base import Json
from stateward.kube.cache.apply import state_of
from stateward.kube.objects.metadata import PartialObject
from stateward.operator.installations.execution.rendered_steps import RenderedSteps
from stateward.operator.installations.objects.applier import Applier
from stateward.operator.installations.objects.views import GroupKind
from stateward.operator.installations.objects.write_memory import WriteMemory, meta_of
from stateward.packages.plans.applied import ANNOTATION_APPLIED, says_nothing
from stateward.packages.plans.choice import DEPLOY
from stateward.packages.plans.steady_state import ONCE, Standing, place_in, standing
from stateward.packages.plans.steps import placeless
from stateward.packages.rendering.objects import Identity
from stateward.packages.rendering.rendering import Place, Use, places


class DriftCorrection:
    """Puts right what others have changed in one installation."""

    def __init__(self, applier: Applier, memory: WriteMemory, rendered_steps: RenderedSteps) -> None:
        self._applier = applier
        self._memory = memory
        self._rendered_steps = rendered_steps

    async def keep(
        self, use: Use, seen: Mapping[GroupKind, tuple[PartialObject, ...]], removed: Iterable[RemovedObject]
    ) -> list[str]:
        """Revert what has drifted; return the names of these objects. Raises FatalError, HeldError, ApiError.

        What a plan has removed stays removed.
        """
        gone = {Identity(found.group, found.kind, "", found.name) for found in removed}
        return [*await self._changed(use, seen), *await self._missing(use, seen, gone)]

    async def _changed(self, use: Use, seen: Mapping[GroupKind, tuple[PartialObject, ...]]) -> list[str]:
        left, states, mended = self._memory.of(self._applier.set_id), dict[str, str](), list[str]()
        rendered: dict[Place, Mapping[Identity, Json]] = {}
        for kind, body in _each(seen):
            meta = body.metadata
            states[meta.uid] = state_of(meta)
            if kind in ONCE or meta.terminating or left.get(meta.uid) == states[meta.uid]:
                continue
            place = place_in(use, dict(meta.annotations))
            if place is None:
                continue
            if place not in rendered:
                work = await self._rendered_steps.of(use, place)
                rendered[place] = {placeless(found.identity): found.body for found in work.apply}
            wanted = rendered[place].get(Identity(*kind, "", meta.name))
            if wanted is None:
                continue
            made, said = None, meta.annotations.get(ANNOTATION_APPLIED, "")
            if says_nothing(said, self._applier.digest_of(wanted)):
                made = await self._applier.recognize(use, place, wanted)
            elif said == self._applier.digest_of(wanted):
                made = await self._applier.restore(use, place, wanted)
                mended += [f"{kind[1]} {meta.name}"] if made.changed else []
            if made is not None:
                states[meta.uid] = state_of(meta_of(made.body))
        self._memory.keep(self._applier.set_id, states)
        return mended

    async def _missing(
        self, use: Use, seen: Mapping[GroupKind, tuple[PartialObject, ...]], removed: set[Identity]
    ) -> list[str]:
        there = {Identity(*kind, "", body.metadata.name) for kind, body in _each(seen)} | removed
        mended: list[str] = []
        rendered_steps = await self._rendered_steps.each(use, places(use.package, DEPLOY))
        for identity, what in standing(use, DEPLOY, lambda _use, place: rendered_steps[place]).items():
            if identity not in there:
                mended += await self._again(use, what)
        return mended

    async def _again(self, use: Use, what: Standing) -> list[str]:
        made = await self._applier.restore(use, what.place, what.rendered.body)
        return [str(what.rendered.identity)] if made.changed else []


def _each(seen: Mapping[GroupKind, tuple[PartialObject, ...]]) -> Iterable[tuple[GroupKind, PartialObject]]:
    return ((kind, body) for kind, bodies in seen.items() for body in bodies)

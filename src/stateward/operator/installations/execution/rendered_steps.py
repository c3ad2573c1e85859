"""Caches the rendered objects of steps: a waiting step is read often, and a settled installation again and again.

The same use of a package renders the same objects each time, and they are never modified. Missing results are rendered
beside the event loop: a package with hundreds of parameters takes most of a second.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from stateward.operator.installations.execution.background import Background
from stateward.operator.installations.execution.jobs import RenderStep
from stateward.operator.installations.execution.kept import Kept
from stateward.packages.format.parameters import BadValue
from stateward.packages.plans.steps import Work
from stateward.packages.rendering.rendering import Place, Use, places
from stateward.packages.rendering.templates import TemplateProblem


class RenderedSteps:
    """The steps that were rendered last."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self.kept = Kept[Work]()

    async def of(self, use: Use, place: Place) -> Work:
        """Return the objects of a step; raises TemplateProblem, BadValue."""
        values = msgspec.json.encode(use.values, order="deterministic")
        name = (use.package.digest, use.name, values, place.plan, place.phase, place.step.name)
        found = self.kept.get(use.namespace, name)
        if found is None:
            found = await self._background(RenderStep(use, place))
            self.kept.keep(use.namespace, name, found)
        return found

    async def renderable(self, use: Use, plan: str) -> Mapping[Place, Work]:
        """Return the objects of the steps of a plan that can be rendered, in their order; raises HeldError."""
        found: dict[Place, Work] = {}
        for place in places(use.package, plan):
            with suppress(TemplateProblem, BadValue):
                found[place] = await self.of(use, place)
        return found

    async def each(self, use: Use, places: Iterable[Place]) -> Mapping[Place, Work]:
        """Return the objects of several steps; raises TemplateProblem, BadValue."""
        return {place: await self.of(use, place) for place in places}

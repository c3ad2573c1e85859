"""Caches the rendered objects of steps: a waiting step is read often, and a settled installation again and again.

The same use of a package renders the same objects each time, and they are never modified. Missing results are rendered
beside the event loop: a package with hundreds of parameters takes most of a second.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from stateward.operator.installations.execution.background import Background
from stateward.operator.installations.execution.jobs import RenderStep
from stateward.packages.plans.steps import Work
from stateward.packages.rendering.rendering import Place, Use

MOST = 128
"""Steps that are remembered; each is a few kilobytes for each of its objects."""


class RenderedSteps:
    """The steps that were rendered last."""

    def __init__(self, background: Background, most: int = MOST) -> None:
        self._background = background
        self._most = most
        self._known: OrderedDict[tuple[str | bytes, ...], Work] = OrderedDict()

    async def of(self, use: Use, place: Place) -> Work:
        """Return the objects of a step; raises TemplateProblem, BadValue."""
        values = msgspec.json.encode(use.values, order="deterministic")
        name = (use.package.digest, use.name, use.namespace, values, place.plan, place.phase, place.step.name)
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = await self._background(RenderStep(use, place))
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return found

    async def each(self, use: Use, places: Iterable[Place]) -> Mapping[Place, Work]:
        """Return the objects of several steps; raises TemplateProblem, BadValue."""
        return {place: await self.of(use, place) for place in places}

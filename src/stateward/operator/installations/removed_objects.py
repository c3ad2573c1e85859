"""The objects of an installation that drift correction must not recreate, because a plan has deleted them."""

from collections.abc import Mapping

from stateward.api.kinds.installation import RemovedObject
from stateward.operator.installations.execution.rendered_steps import RenderedSteps
from stateward.packages.plans.choice import DEPLOY
from stateward.packages.plans.steady_state import removed_after, standing
from stateward.packages.plans.steps import Work
from stateward.packages.rendering.rendering import Place, Use, places


async def at_the_beginning(
    rendered_steps: RenderedSteps, use: Use, works: Mapping[Place, Work], before: list[RemovedObject]
) -> list[RemovedObject]:
    """Return them for a plan that begins with these steps; raises HeldError."""
    return await _after(rendered_steps, use, works, before, done=False)


async def at_the_end(
    rendered_steps: RenderedSteps, use: Use, plan: str, before: list[RemovedObject]
) -> list[RemovedObject]:
    """Return them for a plan that is done; raises HeldError."""
    return await _after(rendered_steps, use, await rendered_steps.renderable(use, plan), before, done=True)


async def _after(
    rendered_steps: RenderedSteps, use: Use, works: Mapping[Place, Work], before: list[RemovedObject], *, done: bool
) -> list[RemovedObject]:
    if not before and not any(work.delete for work in works.values()):
        return []
    deployed = await rendered_steps.renderable(use, DEPLOY)
    every = len(deployed) == len(list(places(use.package, DEPLOY)))
    known = standing(use, DEPLOY, lambda _use, place: deployed[place]) if every else None
    return removed_after(before, works.values(), done=done, deployed=known)

"""The objects of an installation that drift correction must not recreate, because a plan has deleted them."""

from collections.abc import Mapping

from stateward.api.kinds.installation import RemovedObject
from stateward.operator.installations.execution.rendered_steps import RenderedSteps
from stateward.packages.plans.choice import DEPLOY
from stateward.packages.plans.steady_state import removed_after, standing
from stateward.packages.plans.steps import Work
from stateward.packages.rendering.rendering import Place, Use, places


async def removed_objects(
    rendered_steps: RenderedSteps, use: Use, works: Mapping[Place, Work], before: list[RemovedObject], *, done: bool
) -> list[RemovedObject]:
    """Return them for a plan with these steps, which begins or is `done`; raises HeldError."""
    if not before and not any(work.delete for work in works.values()):
        return []
    deployed = await rendered_steps.renderable(use, DEPLOY)
    every = len(deployed) == len(list(places(use.package, DEPLOY)))
    known = standing(use, DEPLOY, lambda _use, place: deployed[place]) if every else None
    return removed_after(before, works.values(), done=done, deployed=known)

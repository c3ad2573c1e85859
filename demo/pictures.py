"""What the command line shows of the cluster: the plan before a change, and the timeline at the end."""

from collections.abc import Awaitable

from rich.console import RenderableType

from stateward.api.kinds.cluster import Cluster
from stateward.cli.diagnosis.timeline import subtitle
from stateward.cli.preview.forecast import forecast
from stateward.cli.preview.inputs import read_inputs
from stateward.cli.preview.preview import preview
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import read_cluster
from stateward.cli.shared.session import Session
from stateward.cli.shared.stored_history import read_history
from stateward.cli.shared.timeline_view import view
from stateward.kube.objects.errors import ApiError
from stateward.operator.objects.kinds import kind_of
from stateward.timeline.from_history import timeline_of


async def or_why_not(picture: Awaitable[RenderableType]) -> RenderableType:
    """Return a picture, or why there is none: the demo goes on without it."""
    try:
        return await picture
    except (ApiError, Failure) as error:
        return f"not shown: {error}"


async def plan(session: Session, changed: Cluster) -> RenderableType:
    """Return the plan of a change, as `stateward plan -f` shows it; raise ApiError."""
    found = await read_inputs(session, kind_of(changed), changed.metadata.name, changed)
    return forecast(found, preview(found.observed, session.now(), found.pacing.durations))


async def timeline(session: Session, name: str) -> RenderableType:
    """Return the whole timeline of a cluster, as `stateward timeline --all` draws it; raise ApiError."""
    cluster = await read_cluster(session, name)
    found = await read_history(session, cluster)
    return view(timeline_of(found.history, name, session.now(), subtitle=subtitle(cluster)))

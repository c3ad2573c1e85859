"""Whether an operator still reports: without one, the status of a cluster stays as it was, green for example.

The lease of the operator tells. A user without the right to read it learns nothing, and neither does one whose operator
has another lease: that of a wave, or of a release with another name.
"""

from collections.abc import Iterable

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.names import ANNOTATION_CLAIM
from stateward.cli.shared.ages import duration
from stateward.cli.shared.echo import echo
from stateward.cli.shared.session import Session
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import LEASES

LEASE = "stateward"
"""The lease of the operator, unless it was installed under another name."""
GRACE_SECONDS = 60.0
"""How long after its end a lease counts as held: processes change places, and clocks differ."""


async def warn_of_silence(session: Session, clusters: Iterable[Cluster]) -> None:
    """Print to the standard error stream that no operator reports about these clusters, if that is known."""
    if all(ANNOTATION_CLAIM in cluster.metadata.annotations for cluster in clusters):
        return  # The operators of waves have leases of their own.
    if sentence := await silence(session):
        echo(f"warning: {sentence}", err=True)


async def silence(session: Session) -> str:
    """Return for how long no operator has reported, and what that means; empty if one may, or if it is not known."""
    try:
        spec = (await session.api.get(LEASES, Key(session.operator_namespace, LEASE))).spec
    except ApiError:
        return ""
    if spec.renew_time is None:
        return ""
    passed = session.now() - spec.renew_time.timestamp()
    if passed <= (spec.lease_duration_seconds or 0) + GRACE_SECONDS:
        return ""
    return (
        f"no operator has held the lease {LEASE} in namespace {session.operator_namespace} for {duration(passed)}."
        " What you see is its last report: nothing is repaired, and no change is applied. Check the operator's pods;"
        " --operator-namespace names another place"
    )

"""The snapshot that an upgrade needs: which one the resources of a cluster report, and whether the database has it."""

from stateward.api.kinds.search import SearchCluster, UpgradeSnapshot
from stateward.api.kinds.snapshots.snapshot import SnapshotContent
from stateward.api.values import names
from stateward.engines.connection.base import Engine, EngineError, Target
from stateward.engines.search.database.driver import SearchEngine
from stateward.engines.search.snapshots.before_upgrade import candidates, newest_complete
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.resource import Selection
from stateward.operator.declared.views import SEARCH_SNAPSHOT_SCHEDULES, SEARCH_SNAPSHOTS
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.live import everything
from stateward.planning.model.observation import Saved, Unknown


async def read_saved(
    api: Api, engine: Engine, existing: ClusterObjects, target: Target, now: float
) -> Saved | Unknown | None:
    """Return the snapshot before an upgrade that has not begun, read live; None if nothing asks for one.

    `now` is in seconds since the epoch. What cannot be read is unknown and not an error: only the upgrade waits for it.
    """
    asked = needed(existing)
    if asked is None or not isinstance(engine, SearchEngine):
        return None
    cluster = existing.cluster
    everywhere = Selection(cluster.metadata.namespace)
    about = (cluster.kind, cluster.metadata.name, asked.repository)

    def concerns(spec: SnapshotContent) -> bool:
        return (spec.cluster.kind, spec.cluster.name, spec.repository) == about

    try:
        taken = await everything(api, SEARCH_SNAPSHOTS, everywhere)
        schedules = await everything(api, SEARCH_SNAPSHOT_SCHEDULES, everywhere)
        known = candidates(
            (each for each in taken if concerns(each.spec)),
            (each for each in schedules if concerns(each.spec)),
            target.identity,
        )
        if not known:
            return Saved()
        return await engine.ask(target, lambda session: newest_complete(session, asked.repository, known, now))
    except (ApiError, EngineError) as error:
        return Unknown(str(error))


def needed(existing: ClusterObjects) -> UpgradeSnapshot | None:
    """Return the snapshot that an upgrade needs; None if none is asked for, none is due, or a pod is upgraded."""
    cluster = existing.cluster
    deployed, wanted = cluster.status.version, cluster.spec.version
    if not isinstance(cluster, SearchCluster) or cluster.spec.update is None or not deployed or deployed == wanted:
        return None
    if any(pod.metadata.annotations.get(names.ANNOTATION_VERSION) == wanted for pod in existing.pods):
        return None
    return cluster.spec.update.snapshot_before_upgrade

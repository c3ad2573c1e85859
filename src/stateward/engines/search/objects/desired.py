"""A cluster's desired state for planning: all defaults filled in, and the inputs of each pool."""

from stateward.api.kinds.cluster import InPlace, Retention, UpdatePolicy, VolumePolicy, VolumeShrink
from stateward.api.values.duration import parse_duration
from stateward.api.values.quantity import parse_bytes
from stateward.engines.pods import agent
from stateward.engines.pods.pods import TEMPLATE_REVISION
from stateward.engines.pods.replacement import replacement, wait_between_removals
from stateward.engines.pods.volumes import growth
from stateward.engines.search.objects.inputs import COORDINATED, EFFECTS, inputs
from stateward.engines.search.objects.scaling import scaling
from stateward.engines.search.spec.flavor import Flavor, SearchCluster
from stateward.engines.search.spec.images import knows_versions
from stateward.engines.search.spec.pools import KINDS, RETAINED, ResolvedPool, resolve
from stateward.planning.model.observation import Desired, Pool, Refusal, SnapshotGate, SoleCopy, Surge


def desired(flavor: Flavor, cluster: SearchCluster) -> Desired:
    """Return the desired state. A refused version is left out: the cluster keeps its current version."""
    refusals = tuple(_refusals(flavor, cluster))
    refused = any(refusal.subject == "spec.version" for refusal in refusals)
    version = cluster.status.version if refused else cluster.spec.version
    update = cluster.spec.update or UpdatePolicy()
    volumes = cluster.spec.volumes or VolumePolicy()
    return Desired(
        version=version,
        pools=tuple(_pool(pool, version) for pool in resolve(flavor, cluster)),
        max_unavailable=max_unavailable(update.max_unavailable, sum(pool.replicas for pool in cluster.spec.pools)),
        unavailable_percent=percentage(update.max_unavailable),
        min_live_copies=update.min_live_copies,
        sole_copy=SoleCopy(update.single_copy.value),
        surge=Surge(update.surge.value),
        wait_between_removals=wait_between_removals(update, 0.0),
        paused=update.paused,
        order=tuple(update.order or ()),
        replace_on_shrink=volumes.when_shrunk is VolumeShrink.REPLACE,
        in_place=update.in_place is InPlace.PREFERRED,
        agent=agent.VERSION if flavor.agent_image and update.in_place is InPlace.PREFERRED else "",
        template_revision=TEMPLATE_REVISION,
        delete_volumes=volumes.when_scaled is Retention.DELETE,
        from_snapshot=_origin(cluster),
        snapshot_gate=_gate(cluster),
        own_volumes=volumes.when_deleted is Retention.DELETE,
        replacement=replacement(cluster.spec.replacement, cluster.spec.members),
        refusals=refusals,
    )


def _gate(cluster: SearchCluster) -> SnapshotGate | None:
    asked = cluster.spec.update.snapshot_before_upgrade if cluster.spec.update is not None else None
    return SnapshotGate(asked.repository, parse_duration(asked.max_age)) if asked is not None else None


def _origin(cluster: SearchCluster) -> str:
    begins = cluster.spec.bootstrap
    return f"{begins.from_snapshot.snapshot} of {begins.from_snapshot.repository}" if begins is not None else ""


def max_unavailable(value: int | str, members: int) -> int:
    """Return how many members may be down at once, at least one; a percentage of all members is rounded down."""
    share = percentage(value)
    return max(1, int(value)) if share is None else max(1, members * share // 100)


def percentage(value: int | str) -> int | None:
    """Return a percentage as a number; None if it is a number of members."""
    return int(value.removesuffix("%")) if isinstance(value, str) else None


def _pool(pool: ResolvedPool, version: str) -> Pool:
    storage, limits = pool.storage, scaling(pool.spec.scaling)
    return Pool(
        name=pool.name,
        replicas=pool.spec.replicas if limits is None else limits.within(pool.spec.replicas),
        voting=pool.voting,
        data=pool.data,
        ephemeral=storage.ephemeral,
        inputs=inputs(pool, version),
        held_inputs=inputs(pool, pool.cluster.status.version or version),
        effects=EFFECTS,
        coordinated=COORDINATED,
        retained=RETAINED,
        kinds=KINDS,
        volume_size=0 if storage.ephemeral else parse_bytes(storage.size),
        growth=growth(storage),
        scaling=limits,
        storage_class=None if storage.ephemeral else storage.storage_class,
        tier=pool.tier,
        electable=pool.electable,
    )


def _refusals(flavor: Flavor, cluster: SearchCluster) -> list[Refusal]:
    deployed, asked = cluster.status.version, cluster.spec.version
    reason = flavor.lineage.refuse_upgrade(deployed, asked)
    named = knows_versions(flavor, cluster)
    if reason is not None:
        # If the image tag does not show the version, the image itself would bring in the refused version.
        return [Refusal(subject="spec.version", reason="UpgradeRefused", message=reason, everything=not named)]
    if deployed and deployed != asked and not named:
        message = (
            f"{cluster.spec.image} does not show the version in its tag, so members whose turn to be upgraded"
            f" has not come could not come back with {deployed}: name an image whose tag has the version in it,"
            f" such as {asked}-ours"
        )
        return [Refusal(subject="spec.image", reason="ImageWithoutVersion", message=message)]
    return []

"""A cluster's desired state for planning: all defaults filled in, and the inputs of each pool."""

from stateward.api.kinds.cluster import InPlace, Retention, UpdatePolicy, VolumePolicy, VolumeShrink
from stateward.api.kinds.foundationdb import FoundationDBCluster, Redundancy
from stateward.api.values.quantity import parse_bytes
from stateward.api.values.version import parse_version
from stateward.engines.foundationdb.spec import security
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.identity import cluster_file
from stateward.engines.foundationdb.spec.inputs import COORDINATED, EFFECTS, RETAINED, STATELESS, inputs
from stateward.engines.foundationdb.spec.pools import TIERS, ResolvedPool, resolve
from stateward.engines.pods.pods import TEMPLATE_REVISION
from stateward.engines.pods.replacement import replacement, wait_between_removals
from stateward.engines.pods.volumes import growth
from stateward.planning.model.observation import Desired, Inputs, Pool, ProtocolSwitch, Refusal, SoleCopy, Surge

WAIT_BETWEEN_REMOVALS = 60.0
"""Seconds, as in FoundationDB's own operator: the database must notice the loss of a process, and recover."""


def desired(cluster: FoundationDBCluster) -> Desired:
    """Return the desired state. A refused version is left out: the cluster keeps its current version."""
    reason = refuse_upgrade(cluster.status.version, cluster.spec.version)
    refusals = () if reason is None else (Refusal("spec.version", "UpgradeRefused", reason, everything=False),)
    switched = security.refusal(cluster)
    if switched is not None:
        refusals = (*refusals, Refusal("spec.security.enabled", "SecurityFixed", switched, everything=False))
    version = cluster.spec.version if reason is None else cluster.status.version
    update, volumes = cluster.spec.update or UpdatePolicy(), cluster.spec.volumes or VolumePolicy()
    return Desired(
        version=version,
        pools=tuple(_pool(pool, version) for pool in resolve(cluster)),
        # Only the database knows which members may be down together, so they change one at a time.
        max_unavailable=1,
        # With one copy of everything a restart is the only way: data is unavailable in between, not lost.
        sole_copy=SoleCopy.INTERRUPT if cluster.spec.redundancy is Redundancy.SINGLE else SoleCopy.WAIT,
        stateless=STATELESS,
        formed_by_word=True,
        connection_secret=cluster_file(cluster),
        surge=Surge(update.surge.value),
        wait_between_removals=wait_between_removals(update, WAIT_BETWEEN_REMOVALS),
        paused=update.paused,
        order=tuple(update.order or ()),
        replace_on_shrink=volumes.when_shrunk is VolumeShrink.REPLACE,
        in_place=update.in_place is InPlace.PREFERRED,
        template_revision=TEMPLATE_REVISION,
        delete_volumes=volumes.when_scaled is Retention.DELETE,
        own_volumes=volumes.when_deleted is Retention.DELETE,
        replacement=replacement(cluster.spec.replacement, cluster.spec.members),
        refusals=refusals,
    )


def refuse_upgrade(deployed: str, asked: str) -> str | None:
    """Return why a cluster cannot move from its deployed version to another; None if it can."""
    before, after = parse_version(deployed), parse_version(asked)
    if before is None or after is None or before == after:
        return None
    if (after.major, after.minor) < (before.major, before.minor):
        return f"data of {deployed} cannot be downgraded to {asked}: choose {before.major}.{before.minor}.x or later"
    return None


def are_incompatible(first: str, second: str) -> bool:
    """Return whether processes of two versions are incompatible: they talk only within one major and minor version."""
    one, other = parse_version(first), parse_version(second)
    return one is not None and other is not None and (one.major, one.minor) != (other.major, other.minor)


def crossings(pool: ResolvedPool, version: str) -> dict[ProtocolSwitch, Inputs]:
    """Return the inputs of members in each step of the cut-over to an incompatible version."""
    deployed = pool.cluster.status.version
    if not are_incompatible(deployed, version):
        return {}
    return {step: inputs(pool, Build(deployed, step)) for step in (ProtocolSwitch.BESIDE, ProtocolSwitch.SWITCHED)}


def _pool(pool: ResolvedPool, version: str) -> Pool:
    storage = pool.storage
    return Pool(
        name=pool.name,
        replicas=pool.replicas,
        voting=False,
        data=True,
        ephemeral=storage.ephemeral,
        inputs=inputs(pool, Build(version)),
        held_inputs=inputs(pool, Build(pool.cluster.status.version or version)),
        crossings=crossings(pool, version),
        effects=EFFECTS,
        coordinated=COORDINATED,
        retained=RETAINED,
        volume_size=0 if storage.ephemeral else parse_bytes(storage.size),
        growth=growth(storage),
        storage_class=None if storage.ephemeral else storage.storage_class,
        tier=TIERS[pool.spec.process_class],
    )

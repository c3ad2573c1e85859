"""The pod templates that the operator would send for a cluster, and which field of the spec is behind one. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.pod_policy import Path, Places, references, source
from stateward.api.values.base import Json
from stateward.engines.exporter import objects as exporter
from stateward.engines.foundationdb.exporter import objects as foundationdb_exporter
from stateward.engines.search.configuration.security import secured
from stateward.engines.search.dashboards import objects as dashboards
from stateward.engines.search.dashboards.frontend import frontend
from stateward.operator.databases.engine import Family
from stateward.planning.model.observation import ProtocolSwitch

DASHBOARDS, METRICS = "spec.dashboards.podTemplate", "spec.metrics.podTemplate"
"""The fields of the spec for the pods beside a cluster."""


@dataclass(frozen=True, slots=True)
class FinalTemplate:
    """The template of a member of a pool, or of pods beside the cluster."""

    workload: Json
    """The member's StatefulSet, or the Deployment beside the cluster."""
    bare: Json
    """Its template without the spec's fields for pods."""
    crossing: ProtocolSwitch
    pool: tuple[str, Json]
    """Path and content of the pod template of this pool, and below of that of all pools.

    The pods of a Deployment have one template, which is both.
    """
    common: tuple[str, Json]
    places: Places = field(default_factory=Places, repr=False, compare=False)
    """Where names are in the lists of both, once that was asked for."""

    @property
    def template(self) -> Json:
        """Return the pod template."""
        return self.workload["spec"]["template"]

    @property
    def own(self) -> frozenset[tuple[str, str]]:
        """Return kinds and names of its objects that do not come from the spec: Secrets and claims of the operator."""
        return frozenset((r.kind, r.name) for r in references(self.bare))

    def field(self, path: Path) -> str:
        """Return the field of the spec that a field of the template comes from."""
        return source(path, self.pool, self.common, self.places)


def final_templates(family: Family, cluster: Cluster, ordinals: Sequence[int] = (0,)) -> Iterator[FinalTemplate]:
    """Yield the finished templates of a valid cluster, for each pool those on the way to another version, too.

    Members of a pool differ in their ordinals, and so in the names of what is their own.
    """
    plain = replace(cluster.spec, pod_template=None, pools=[replace(p, pod_template=None) for p in cluster.spec.pools])
    bare = replace(cluster, spec=plain)
    # Versions of other engines talk to each other.
    crossings = tuple(ProtocolSwitch) if isinstance(cluster, FoundationDBCluster) else (ProtocolSwitch.NONE,)
    for (i, pool), crossing, ordinal in product(enumerate(cluster.spec.pools), crossings, ordinals):
        yield FinalTemplate(
            workload_of(family, cluster, pool.name, ordinal, crossing),
            workload_of(family, bare, pool.name, ordinal, crossing)["spec"]["template"],
            crossing,
            (f"spec.pools[{i}].podTemplate", pool.pod_template or {}),
            ("spec.podTemplate", cluster.spec.pod_template or {}),
        )


def beside(body: Json, bare: Json, path: str, overrides: Json | None) -> FinalTemplate:
    """Return the template of a Deployment beside a cluster; `bare` is the Deployment without the spec's overrides."""
    own = (path, overrides or {})
    return FinalTemplate(body, bare["spec"]["template"], ProtocolSwitch.NONE, own, own)


def templates_beside(family: Family, cluster: Cluster) -> Iterator[FinalTemplate]:
    """Yield the finished templates of the pods beside a valid cluster: dashboards, and the exporter of metrics.

    Images, Secrets and versions may differ from those that are sent in the end: they follow the state of the cluster.
    """
    engine = family.kind.engine
    if isinstance(cluster, SearchCluster) and (asked := cluster.spec.dashboards) is not None:
        made, bare = (
            dashboards.deployment(
                frontend(cluster),
                cluster,
                each,
                engine,
                version=asked.version or cluster.spec.version,
                replicas=asked.replicas,
                secured=secured(cluster),
                config=dashboards.config_name(cluster, {}),
            )
            for each in (asked, dashboards.bare(asked))
        )
        yield beside(made, bare, DASHBOARDS, asked.pod_template)
    if (metrics := exporter.asked_of(cluster)) is not None:
        more = foundationdb_exporter.additions(cluster) if isinstance(cluster, FoundationDBCluster) else None
        made, bare = (
            exporter.deployment(
                cluster, each, engine, image="stateward", config=exporter.config_name(cluster, {}), additions=more
            )
            for each in (metrics, exporter.bare(metrics))
        )
        yield beside(made, bare, METRICS, metrics.pod_template)


def workload_of(family: Family, cluster: Cluster, pool: str, ordinal: int, crossing: ProtocolSwitch) -> Json:
    """Return the StatefulSet of a member of a pool."""
    return family.member_objects(cluster, pool, ordinal, cluster.spec.version, crossing=crossing).workload

"""The objects of others that a cluster's spec names: service accounts, Secrets and volume claims. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.pod_policy import account, references
from stateward.engines.search.configuration.security import members_secret
from stateward.operator.databases.engine import Family
from stateward.operator.pod_rights.finished import FinalTemplate, final_templates

SERVICE_ACCOUNT, SECRET, CLAIM = "ServiceAccount", "Secret", "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class NamedReference:
    """An object that a field of the spec names."""

    kind: str
    name: str
    field: str
    waited_for: bool = False
    """Whether it may be missing: its user waits for it, and checks it again when it exists."""
    made_here: bool = False
    """Whether the operator creates it for the cluster, so that an existing one of another owner is in the way."""


def named(family: Family, cluster: Cluster) -> tuple[NamedReference, ...]:
    """Return what a valid cluster names, each object once, as the first field that names it."""
    found = [*_of_keystores(cluster), *_of_plugins(cluster), *_of_pods(family, cluster)]
    return tuple({(each.kind, each.name): each for each in reversed(found)}.values())[::-1]


def _of_keystores(cluster: Cluster) -> Iterator[NamedReference]:
    for i, asked in enumerate((cluster.spec.secure_settings or ()) if isinstance(cluster, SearchCluster) else ()):
        yield NamedReference(SECRET, asked.secret_name, f"spec.secureSettings[{i}].secretName", waited_for=True)


def _of_plugins(cluster: Cluster) -> Iterator[NamedReference]:
    source = cluster.spec.plugin_source if isinstance(cluster, SearchCluster) and cluster.spec.plugins else None
    if source is not None and source.claim_name is not None:
        yield NamedReference(CLAIM, source.claim_name, "spec.pluginSource.claimName")


def _of_pods(family: Family, cluster: Cluster) -> Iterator[NamedReference]:
    certificates = members_secret(cluster) if isinstance(cluster, SearchCluster) else ""
    # Objects of one member are not for another one: with two members, a foreign use becomes visible.
    for made in final_templates(family, cluster, ordinals=(0, 1)):
        own = made.own
        yield from (
            NamedReference(SERVICE_ACCOUNT, each.name, made.field(each.path)) for each in account(made.template)
        )
        for each in references(made.template):
            if (each.kind, each.name) not in own:
                yield NamedReference(each.kind, each.name, made.field(each.path))
            elif (each.kind, each.name) == (SECRET, certificates):
                # The operator creates all other Secrets of its own before the pods, or creates no pods. This one exists
                # only if the cluster is secured, and is always mounted.
                yield NamedReference(each.kind, each.name, "metadata.name", waited_for=True, made_here=True)


def of_template(made: FinalTemplate) -> Iterator[NamedReference]:
    """Yield what the finished template of pods names that are no members, and that is not the operator's."""
    own = made.own
    yield from (NamedReference(SERVICE_ACCOUNT, each.name, made.field(each.path)) for each in account(made.template))
    for each in references(made.template):
        if (each.kind, each.name) not in own:
            yield NamedReference(each.kind, each.name, made.field(each.path))

"""The Kubernetes objects of one member of a search cluster."""

from collections.abc import Mapping

from stateward.api.values import names
from stateward.engines.pods import objects
from stateward.engines.pods.objects import Blueprint, MemberObjects
from stateward.engines.search.configuration.configuration import config_files
from stateward.engines.search.objects.labels import member_labels
from stateward.engines.search.objects.pod import made_from, template
from stateward.engines.search.spec.flavor import Flavor, SearchCluster
from stateward.engines.search.spec.pools import find
from stateward.planning.model.observation import Inputs


def member_objects(  # noqa: PLR0913 - the last two are for few members, and by name
    flavor: Flavor,
    cluster: SearchCluster,
    pool_name: str,
    ordinal: int,
    version: str,
    *,
    extra_files: Mapping[str, str] | None = None,
    keeps: Inputs | None = None,
) -> MemberObjects:
    """Return the objects of a member at a version; raise KeyError when the spec has no such pool.

    `extra_files` are configuration files with content that is not in the resource; `keeps` are the retained inputs of
    an existing member.
    """
    pool = find(flavor, cluster, pool_name, extra_files, keeps)
    return objects.member_objects(
        Blueprint(
            cluster=cluster,
            name=names.member(cluster.metadata.name, pool.name, ordinal),
            labels=member_labels(pool, ordinal),
            storage=pool.storage,
            made_from=made_from(pool, version),
            files=config_files(pool, ordinal, version),
            template=template(pool, ordinal, version),
        )
    )

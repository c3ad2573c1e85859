"""The Kubernetes objects of one member of a FoundationDB cluster."""

from dataclasses import replace

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.engines.foundationdb.objects.configuration import config_files
from stateward.engines.foundationdb.objects.labels import member_labels
from stateward.engines.foundationdb.objects.pod import made_from, template
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.inputs import retaining
from stateward.engines.foundationdb.spec.pools import find
from stateward.engines.pods import objects
from stateward.engines.pods.objects import Blueprint, MemberObjects
from stateward.planning.model.observation import Inputs


def member_objects(
    cluster: FoundationDBCluster,
    pool_name: str,
    ordinal: int,
    build: Build,
    *,
    agent_image: str = "",
    keeps: Inputs | None = None,
) -> MemberObjects:
    """Return the objects of a member of this build; raise KeyError when the spec has no such pool.

    `keeps` are the retained inputs of an existing member.
    """
    pool = find(cluster, pool_name, agent_image)
    if keeps is not None:
        pool = replace(pool, spec=retaining(pool, keeps))
    return objects.member_objects(
        Blueprint(
            cluster=cluster,
            name=pool.member(ordinal),
            labels=member_labels(pool, ordinal),
            storage=pool.storage,
            made_from=made_from(pool, build),
            files=config_files(pool, build),
            template=template(pool, ordinal, build),
        )
    )

"""Renews the records on workloads after the key of their digests was lost, or replaced by that of their namespace.

This happens before anything else is done for an installation: changes by a plan from then on can be compared. Changes
while both the key and the operator were away cannot, and restart no pod.
"""

from collections.abc import Mapping
from contextlib import suppress

from stateward.api.kinds.installation import Installation
from stateward.api.values.base import Json
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import PartialObject, key_of
from stateward.operator.installations.context import SharedTools
from stateward.operator.installations.objects.applier import ObjectTools
from stateward.operator.installations.objects.views import GroupKind, kinds_in
from stateward.operator.restarts.sources import read_sources
from stateward.packages.plans.steady_state import ONCE
from stateward.packages.plans.steps import set_id
from stateward.packages.restarts.dependencies import TEMPLATES, dependencies
from stateward.packages.restarts.digests import Key, digests_of
from stateward.packages.restarts.guards import too_many_objects
from stateward.packages.restarts.restarts import annotated, judge, read_record


async def renew_records(shared: SharedTools, installation: Installation) -> bool:
    """Renew all records of an installation with a lost key; return False while its objects are unknown.

    Raises Conflict if another client was faster, ApiError.
    """
    meta = installation.metadata
    mine = set_id(meta.name, meta.namespace)
    if shared.memory.renewed(mine):
        return True
    seen = shared.watches.of(key_of(installation), kinds_in(meta.annotations) & TEMPLATES.keys() - ONCE)
    if seen is None:
        return False
    for kind, bodies in seen.items():
        for body in bodies:
            if _is_of_another(body.metadata.annotations, shared.tools.root.of(meta.namespace)):
                await _renew(shared.tools_of(installation), kind, body)
    shared.memory.renew(mine)
    return True


def _is_of_another(annotations: Mapping[str, str], key: Key) -> bool:
    record = read_record({"metadata": {"annotations": annotations}})
    return record is not None and record.key != key.name


async def _renew(tools: ObjectTools, sort: GroupKind, body: PartialObject) -> None:
    kind, place = await tools.kinds.preferred(*sort), key_of(body)
    key = tools.root.of(place.namespace)
    try:
        live: Json = {**await tools.api.get(kind, place), "apiVersion": kind.api_version, "kind": kind.kind}
    except NotFound:
        return
    used = dependencies(live)
    if too_many_objects(used):
        return
    found = digests_of(used, await read_sources(tools.api, used, place.namespace), key)
    patch = annotated({"apiVersion": kind.api_version, "kind": kind.kind}, judge(live, used, found, key))
    patch["metadata"] |= {"resourceVersion": live["metadata"]["resourceVersion"]}
    with suppress(NotFound):
        await tools.api.patch(kind, place, patch, kind=PatchKind.MERGE)

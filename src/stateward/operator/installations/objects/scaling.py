"""Leaves replicas to an autoscaler: a manifest that reset them would create and delete pods all day.

Autoscalers are read only if the replicas differ from the manifest.
"""

from typing import Any

from stateward.api.values.base import Json
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import UnknownResource
from stateward.kube.objects.resource import Resource, Selection
from stateward.packages.format.trees import at, obj, text
from stateward.packages.rendering.objects import identity_of

AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", dict[str, Any])


async def as_scaled(api: Api, wanted: Json, live: Json) -> Json:
    """Return a manifest with the current replicas if an autoscaler sets them; raises ApiError.

    Zero replicas, in the manifest or on the server, are outside of an autoscaler's control.
    """
    asked, there = at(wanted, "spec", "replicas"), at(live, "spec", "replicas")
    if not (isinstance(asked, int) and isinstance(there, int) and asked and there) or asked == there:
        return wanted
    try:
        page = await api.list(AUTOSCALERS, Selection(text(at(live, "metadata", "namespace"))))
    except UnknownResource:
        return wanted  # A server that has no such kind has none of them. What the account may not see may be there.
    if not any(_scales(scaler, live) for scaler in page.items):
        return wanted
    return {**wanted, "spec": {**obj(wanted["spec"]), "replicas": there}}


def _scales(scaler: Json, live: Json) -> bool:
    target, identity = obj(at(scaler, "spec", "scaleTargetRef")), identity_of(live)
    group = text(target.get("apiVersion")).rpartition("/")[0]
    return (group, target.get("kind"), target.get("name")) == (identity.group, identity.kind, identity.name)

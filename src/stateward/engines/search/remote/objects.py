"""The Service at which other clusters reach the members of one: a lasting address for pods that come and go."""

from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods.objects import port, shared_metadata
from stateward.engines.search.objects.labels import LABEL_SERVES
from stateward.engines.search.spec.consent import Place
from stateward.engines.search.spec.flavor import TRANSPORT_PORT


def service_name(cluster: str) -> str:
    """Return the name of the Service of a cluster."""
    return f"{cluster}-remote"


def address(place: Place) -> str:
    """Return the address at which members of other clusters reach one."""
    return f"{service_name(place.name)}.{place.namespace}.svc:{TRANSPORT_PORT}"


def service(cluster: SearchCluster, engine: str) -> Json:
    """Return the Service: ready members that serve clients, with the port between members and no other."""
    name = cluster.metadata.name
    labels = {
        "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
        names.LABEL_REMOTE: name,
        names.LABEL_ENGINE: engine,
    }
    selector = {names.LABEL_CLUSTER: name, names.LABEL_ENGINE: engine, LABEL_SERVES: "true"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": shared_metadata(cluster, service_name(name), labels),
        "spec": {"type": "ClusterIP", "ports": [port("transport", TRANSPORT_PORT)], "selector": selector},
    }

"""Objects beside an installation that packages may have, named edge."""

from typing import Any

from stateward.kube.objects.resource import Resource


def edge(kind: str, version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "edge"}, **({"spec": spec} if spec else {})}


INGRESSES: Resource[Any] = Resource("networking.k8s.io", "v1", "ingresses", "Ingress", dict[str, Any])
SCALED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "edge"}
EDGES = (
    edge("ServiceAccount", "v1"),
    edge("NetworkPolicy", "networking.k8s.io/v1", podSelector={}),
    edge("HorizontalPodAutoscaler", "autoscaling/v2", scaleTargetRef=SCALED, maxReplicas=2),
    edge("Ingress", "networking.k8s.io/v1", defaultBackend={"service": {"name": "edge", "port": {"number": 80}}}),
)

"""The kinds that Stateward reads and writes, each with its projection.

Secrets and ConfigMaps are metadata only, so that no cache can hold their contents. `SECRETS.raw()` reads a whole one if
its content is needed.
"""

from stateward.kube.objects.metadata import PartialObject
from stateward.kube.objects.nodes import Node, Service
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.records import Event, Lease
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from stateward.kube.objects.workloads import Deployment, PodDisruptionBudget, StatefulSet

PODS = Resource("", "v1", "pods", "Pod", Pod)
SERVICES = Resource("", "v1", "services", "Service", Service)
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", PersistentVolumeClaim)
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", PersistentVolume, namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", Node, namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", PartialObject, namespaced=False, partial=True)
SECRETS = Resource("", "v1", "secrets", "Secret", PartialObject, partial=True)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", PartialObject, partial=True)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", PartialObject, partial=True)
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet", StatefulSet)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", Deployment)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", PodDisruptionBudget)
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", PartialObject, partial=True)
INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress", PartialObject, partial=True)
HTTP_ROUTES = Resource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", PartialObject, partial=True)
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", StorageClass, namespaced=False)
PRIORITY_CLASSES = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", PartialObject, namespaced=False, partial=True
)
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob", PartialObject, partial=True)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event", Event)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", Lease)

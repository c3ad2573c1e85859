"""The limits of each object that the operator creates for a cluster, for any spec: all powers in one place.

Written without the code that makes or judges the objects, so that a mistake there does not allow itself.

* Kinds: ConfigMap, Secret, Service, PersistentVolumeClaim, StatefulSet, PodDisruptionBudget and NetworkPolicy in the
  cluster's own namespace; a CronJob, made from a closed list, in the operator's.
* Names: that of the cluster, or beginning with it and a dash; a claim has `data-` before.
* Owner: the cluster, controlling; or none at all.
* Labels and annotations: those of `stateward.dev/` are the operator's own and say what is so. Beside them only Services
  and pods have any that a spec chose.
* Secrets: opaque, and no tokens of service accounts.
* Services: select pods of the cluster only, are no alias of another name, take no addresses of others.
* Claims: a new empty volume, written by one node.
* StatefulSets: one pod, of the cluster, and no claims of their own.
* Pods: no rights on the node, nothing of the node, no token unless its account was looked at, and nothing of others by
  name that was not looked at.
* Disruption budgets and network policies: about pods of the cluster only; policies say who comes in, nothing else.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json

OWN = "stateward.dev/"
LABELS = {"cluster", "engine", "pool", "member", "ordinal", "roles", "serves", "votes", "purpose"}
ANNOTATIONS = {
    *(
        "inputs",
        "version",
        "staged-version",
        "bootstrap-candidate",
        "agent",
        "config-checksum",
        "created-for",
        "template-revision",
    ),
    *("agent-authority", "agent-token-ends"),
}
CHOSEN = {"Service"}
"""Kinds whose metadata a spec may add to."""
CAPABILITIES = {
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
    *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
}
SOURCES = {"configMap", "downwardAPI", "emptyDir", "projected", "secret", "persistentVolumeClaim", "ephemeral", "csi"}


def beyond(cluster: Cluster, made: Json, looked_at: frozenset[tuple[str, str]]) -> list[str]:
    """Return every power that an object has beyond these; `looked_at` are kinds and names whose labels are read."""
    return [*_metadata(cluster, made), *_KINDS.get(made["kind"], _no_kind)(cluster, made, looked_at)]


def _metadata(cluster: Cluster, made: Json) -> Iterator[str]:
    meta, name = made["metadata"], cluster.metadata.name
    if meta.get("namespace") != cluster.metadata.namespace:
        yield f"is in namespace {meta.get('namespace')}"
    own = meta["name"].removeprefix("data-") if made["kind"] == "PersistentVolumeClaim" else meta["name"]
    if own != name and not own.startswith(f"{name}-"):
        yield f"is called {meta['name']}"
    if "/" in own or ".." in own:
        yield "has a name that leads to another path"
    owners = [(o["kind"], o["name"], o["uid"]) for o in meta.get("ownerReferences", [])]
    if owners not in ([], [(cluster.kind, name, cluster.metadata.uid)]):
        yield f"belongs to {owners}"
    if set(meta) - {"name", "namespace", "labels", "annotations", "ownerReferences"}:
        yield f"has metadata {sorted(meta)}"
    yield from _marks(cluster, meta, chosen=made["kind"] in CHOSEN)


def _marks(cluster: Cluster, meta: Json, *, chosen: bool) -> Iterator[str]:
    labels = meta.get("labels") or {}
    if labels.get(f"{OWN}cluster") != cluster.metadata.name:
        yield "is not found by the label of its cluster"
    for which, known in (("labels", LABELS), ("annotations", ANNOTATIONS)):
        for key in meta.get(which) or {}:
            mine = key.removeprefix(OWN) in known if key.startswith(OWN) else chosen or key.startswith("app.kubernetes")
            if not mine:
                yield f"has among its {which} {key}"


def _no_kind(_cluster: Cluster, made: Json, _looked_at: frozenset[tuple[str, str]]) -> Iterator[str]:
    yield f"is a {made['kind']}"


def _data(_cluster: Cluster, made: Json, _looked_at: frozenset[tuple[str, str]]) -> Iterator[str]:
    if made.get("type", "Opaque") != "Opaque":
        yield f"is a Secret of type {made['type']}"


def _service(cluster: Cluster, made: Json, _looked_at: frozenset[tuple[str, str]]) -> Iterator[str]:
    spec = made["spec"]
    if spec.get("type", "ClusterIP") not in ("ClusterIP", "NodePort", "LoadBalancer"):
        yield f"is a Service of type {spec['type']}"
    if (spec.get("selector") or {}).get(f"{OWN}cluster") != cluster.metadata.name:
        yield "selects other pods"
    for field in ("externalIPs", "externalName"):
        if spec.get(field):
            yield f"has {field}"


def _claim(_cluster: Cluster, made: Json, _looked_at: frozenset[tuple[str, str]]) -> Iterator[str]:
    more = set(made["spec"]) - {"accessModes", "storageClassName", "resources"}
    if more or made["spec"]["accessModes"] != ["ReadWriteOnce"]:
        yield f"claims more than a new volume: {sorted(more)}"


def _set(cluster: Cluster, made: Json, looked_at: frozenset[tuple[str, str]]) -> Iterator[str]:
    spec = made["spec"]
    if spec["replicas"] != 1 or "volumeClaimTemplates" in spec:
        yield "makes more than one pod"
    template = spec["template"]
    selector = spec["selector"]["matchLabels"]
    if selector.get(f"{OWN}cluster") != cluster.metadata.name or set(selector) - set(template["metadata"]["labels"]):
        yield "selects other pods"
    if set(template) - {"metadata", "spec"} or set(template["metadata"]) - {"labels", "annotations"}:
        yield "has more in its template than a pod"
    yield from _marks(cluster, template["metadata"], chosen=True)
    yield from _pod(template["spec"], looked_at)


def _pod(spec: Json, looked_at: frozenset[tuple[str, str]]) -> Iterator[str]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield f"has {field}"
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    tokens = spec.get("automountServiceAccountToken") is not False
    if (account != "default" or tokens) and ("ServiceAccount", account) not in looked_at:
        yield f"runs as {account}" + (" with a token" if tokens else "")
    for path, key, value in _walked(spec):
        yield from _leaf(path, key, value, looked_at, account)


def _leaf(
    path: tuple[str, ...], key: str, value: Any, looked_at: frozenset[tuple[str, str]], account: str
) -> Iterator[str]:
    where, inside = ".".join((*path, key)), path[-1] if path else ""
    if key in ("privileged", "hostProcess") and value:
        yield where
    if key in ("hostPath", "hostPort") and value:
        yield where
    if key == "host" and value and inside in ("httpGet", "tcpSocket"):
        yield where
    if key == "procMount" and value not in (None, "Default"):
        yield where
    if key == "type" and inside in ("seccompProfile", "appArmorProfile") and value == "Unconfined":
        yield where
    if key == "add" and inside == "capabilities" and set(value or ()) - CAPABILITIES:
        yield where
    if key == "serviceAccountToken" and value is not None and ("ServiceAccount", account) not in looked_at:
        yield where
    kind = _names(path, key)
    if kind and value and (kind, str(value)) not in looked_at:
        yield f"{where}: {kind} {value}"


def _names(path: tuple[str, ...], key: str) -> str:
    """Return the kind of object that a field names; empty where it names none."""
    inside = path[-1] if path else ""
    if key == "secretName" and inside == "secret":
        return "Secret"
    if key == "claimName":
        return "PersistentVolumeClaim"
    if key == "name" and inside in ("secretKeyRef", "secretRef", "nodePublishSecretRef", "imagePullSecrets"):
        return "Secret"
    return "Secret" if key == "name" and inside == "secret" and "sources" in path else ""


def _walked(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield path, key and value of everything within; items of a list have the path of the list."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield path, str(key), inner
            yield from _walked(inner, (*path, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield from _walked(item, path)


def _budget(cluster: Cluster, made: Json, _looked_at: frozenset[tuple[str, str]]) -> Iterator[str]:
    if made["spec"]["selector"]["matchLabels"].get(f"{OWN}cluster") != cluster.metadata.name:
        yield "selects other pods"


def _policy(cluster: Cluster, made: Json, _looked_at: frozenset[tuple[str, str]]) -> Iterator[str]:
    spec = made["spec"]
    if spec["podSelector"].get("matchLabels", {}).get(f"{OWN}cluster") != cluster.metadata.name:
        yield "selects other pods"
    if spec["policyTypes"] != ["Ingress"] or "egress" in spec:
        yield "says where pods may go"


_KINDS = {
    "ConfigMap": _data,
    "Secret": _data,
    "Service": _service,
    "PersistentVolumeClaim": _claim,
    "StatefulSet": _set,
    "PodDisruptionBudget": _budget,
    "NetworkPolicy": _policy,
}


def beyond_detection(place: str, account: str, image: str, made: Json) -> Iterator[str]:
    """Yield the powers that the CronJob in the operator's namespace has beyond looking for missing members."""
    meta = made["metadata"]
    pod = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    if made["kind"] != "CronJob" or meta["namespace"] != place or not meta["name"].startswith("detect-"):
        yield "is something else"
    if "/" in meta["name"] or "ownerReferences" in meta or "finalizers" in meta:
        yield "has metadata of its own"
    if pod.get("serviceAccountName") != account or [c["image"] for c in pod["containers"]] != [image]:
        yield "runs something else"
    if [c["args"][0] for c in pod["containers"]] != ["detect"] or any("command" in c for c in pod["containers"]):
        yield "runs another command"
    known = {"restartPolicy", "enableServiceLinks", "securityContext", "containers", "serviceAccountName"}
    if set(pod) - known - {"nodeSelector", "tolerations"}:
        yield f"has in its pod {sorted(set(pod) - known)}"
    if pod["containers"][0]["securityContext"]["capabilities"] != {"drop": ["ALL"]}:
        yield "has capabilities"
    for which in ("labels", "annotations"):
        for key in meta[which]:
            if key.startswith(OWN) and key not in (f"{OWN}detection-engine", f"{OWN}detection-cluster"):
                yield f"has among its {which} {key}"

"""Validation and defaults of objects before the server stores them."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import cast

import msgspec

from stateward.api.kinds.search import SearchCluster
from stateward.api.schema.custom_resources import CLUSTER_KINDS
from stateward.api.schema.structure import check_structure
from stateward.api.validation import validate
from stateward.api.values.base import GROUP
from stateward.api.values.problem import errors
from stateward.api.values.quantity import parse_quantity
from stateward.kube.objects.errors import FieldCause
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.kinds import kind_of
from stateward.simulation.apiserver.refusals import forbidden, invalid, not_found, refusal
from stateward.simulation.apiserver.store import Store

CLUSTERS = {f"{GROUP}/{kind.plural}": kind.record for kind in CLUSTER_KINDS}
"""The cluster kinds by the server's name, with the types that decode them."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"


class Admission:
    """Checks and defaults of one server.

    `quota` limits how many objects of a kind a namespace may have. `thorough` refuses custom resources that the
    product's own validation refuses, as a webhook would; without it only their schema is checked.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.quota: dict[tuple[str, str], int] = {}
        self.thorough = False
        self._defaults: Mapping[str, Callable[[Doc], Doc]] = {
            "apps/statefulsets": _stateful_set,
            "/persistentvolumeclaims": self._claim,
            "/services": _service,
            "/secrets": _secret,
            "/pods": _pod,
        }

    def on_create(self, kind: str, key: Key, doc: Doc) -> Doc:
        """Return a new object with its defaults; raises the server's refusal."""
        if kind_of(kind).namespaced and self._store.get("/namespaces", Key("", key.namespace)) is None:
            raise not_found("namespaces", Key("", key.namespace))
        if not _NAME.fullmatch(key.name):
            raise invalid(
                kind, key, "metadata.name", "a lowercase RFC 1123 subdomain must consist of lower case letters"
            )
        self.check(kind, key, doc)
        if kind == "/pods" and part(doc, "spec").get("priorityClassName", "") not in PRIORITIES:
            raise forbidden(kind, key, f"no PriorityClass with name {doc['spec']['priorityClassName']} was found")
        limit = self.quota.get((key.namespace, kind))
        if limit is not None:
            used = sum(1 for stored in self._store.all(kind) if stored.key.namespace == key.namespace)
            if used >= limit:
                raise forbidden(kind, key, f"exceeded quota: used {used}, limited {limit}")
        return self._defaults[kind](doc) if kind in self._defaults else doc

    def on_update(self, kind: str, key: Key, old: Doc, new: Doc) -> Doc:
        """Return a changed object that was checked, with its defaults; raises the server's refusal."""
        mutable = kind_of(kind).mutable
        before, after = part(old, "spec"), part(new, "spec")
        if kind in self._defaults:
            new = self._defaults[kind](new)
            after = part(new, "spec")
        if mutable is not None:
            changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
            if changed - mutable:
                raise invalid(kind, key, "spec", f"{', '.join(sorted(changed - mutable))} may not change")
        if kind == "/persistentvolumeclaims":
            self._resize(key, old, new)
        return new

    def check(self, kind: str, key: Key, doc: Doc) -> None:
        """Refuse an object that does not match the schema of its kind."""
        if sum(bool(owner.get("controller")) for owner in items(doc, "metadata", "ownerReferences")) > 1:
            raise invalid(kind, key, "metadata.ownerReferences", "only one reference can have controller set to true")
        record = CLUSTERS.get(kind)
        if record is None:
            return
        spec = {name: value for name, value in doc.items() if name != "status"}
        problems = check_structure(spec, record)
        if not problems and self.thorough:
            problems = errors(validate(cast("SearchCluster", msgspec.convert(spec, record))))
        if problems:
            causes = [FieldCause(field=p.path, message=str(p), reason="FieldValueInvalid") for p in problems]
            message = f'{kind} "{key.name}" is invalid: {problems[0]}'
            raise refusal(422, "Invalid", message, name=key.name, causes=causes)

    def _claim(self, doc: Doc) -> Doc:
        meta = doc["metadata"]
        spec = {"volumeMode": "Filesystem", **doc.get("spec", {})}
        if spec.get("storageClassName") is None:
            default = next((c for c in self._store.all("storage.k8s.io/storageclasses") if _is_default(c.doc)), None)
            if default is not None:
                spec["storageClassName"] = default.key.name
        finalizers = items(doc, "metadata", "finalizers")[:]
        if CLAIM_PROTECTION not in finalizers and "deletionTimestamp" not in meta:
            finalizers.append(CLAIM_PROTECTION)
        status = doc.get("status") or {"phase": "Pending"}
        return {**doc, "metadata": {**meta, "finalizers": finalizers}, "spec": spec, "status": status}

    def _resize(self, key: Key, old: Doc, new: Doc) -> None:
        before, after = _requested(old), _requested(new)
        if after == before:
            return
        name = Key("", new["spec"].get("storageClassName") or "")
        found = self._store.get("storage.k8s.io/storageclasses", name)
        if part(old, "status").get("phase") != "Bound" or found is None or not found.doc.get("allowVolumeExpansion"):
            why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must"
            raise forbidden("persistentvolumeclaims", key, f"{why} support resize")
        if after < before:
            raise invalid("persistentvolumeclaims", key, "spec.resources.requests.storage", "may not be less")


def _requested(doc: Doc) -> int:
    text = part(doc, "spec", "resources", "requests").get("storage", "0")
    return int(parse_quantity(str(text)))


def _is_default(doc: Doc) -> bool:
    annotations = part(doc, "metadata", "annotations")
    return annotations.get("storageclass.kubernetes.io/is-default-class") == "true"


def _stateful_set(doc: Doc) -> Doc:
    spec = {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "revisionHistoryLimit": 10,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        **doc.get("spec", {}),
    }
    return {**doc, "spec": spec, "status": doc.get("status") or {"replicas": 0}}


PRIORITIES = frozenset({"", "system-cluster-critical", "system-node-critical"})
"""The existing priority classes; the server refuses a pod with another one (admission plug-in Priority)."""


def _pod(doc: Doc) -> Doc:
    return {**doc, "status": doc.get("status") or {"phase": "Pending"}}


def _secret(doc: Doc) -> Doc:
    plain = {name: base64.b64encode(str(text).encode()).decode() for name, text in part(doc, "stringData").items()}
    if not plain:
        return doc
    kept = {name: value for name, value in doc.items() if name != "stringData"}
    return {**kept, "data": {**part(doc, "data"), **plain}}


def _service(doc: Doc) -> Doc:
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **doc.get("spec", {})}
    spec.setdefault("clusterIP", "10.96.0.10")
    ports = [{"protocol": "TCP", "targetPort": port.get("port"), **port} for port in items(doc, "spec", "ports")]
    return {**doc, "spec": {**spec, "ports": ports} if ports else spec}

"""The chart: sets of values, which together use every value at least once, and the objects that it makes."""

from typing import Any

import yaml

Values = dict[str, Any]

_LABELS = {"team": "data"}
_DIGEST = "sha256:" + "ab" * 32

SETS: dict[str, Values] = {
    "defaults": {},
    "one namespace": {
        "replicas": 3,
        "namespaces": ["logs", "metrics"],
        "defaultServiceAccount": "packages",
        "installationAccounts": ["packages"],
        "userRoles": False,
        "crds": {"install": False},
        "serviceAccount": {"name": "operators"},
    },
    "restricted": {
        "image": {
            "repository": "registry.example/stateward",
            "digest": _DIGEST,
            "pullPolicy": "Always",
            "pullSecrets": [{"name": "registry"}],
        },
        "crds": {"keep": False},
        "webhook": True,
        "webhookClientCA": "api-server-ca",
        "databaseView": False,
        "page": True,
        "pageAccess": {
            "port": 8443,
            "clients": [{"podSelector": {"matchLabels": {"app": "ingress"}}}],
            "service": {"enabled": False},
        },
        "networkPolicies": True,
        "routes": True,
        "verifySnapshots": True,
        "secureNewClusters": False,
        "podPolicy": "restricted",
        "podReferences": "any",
    },
    "own names, accounts and rights": {
        "fullnameOverride": "databases",
        "rbac": {"create": False},
        "serviceAccount": {"create": False, "name": "operators"},
        "webhook": True,
        "networkPolicies": True,
        "networkPoliciesFor": ["clusters"],
    },
    "monitored": {
        "metrics": {
            "serviceMonitor": {"enabled": True, "interval": "10s", "labels": {"release": "prometheus"}},
            "rules": {"enabled": True, "labels": {"release": "prometheus"}},
            "dashboard": {"enabled": True, "labels": {"grafana": "yes"}, "annotations": {"folder": "databases"}},
        },
        "logLevel": "debug",
        "nameOverride": "operator",
        "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "revisionHistoryLimit": 2,
        "deploymentAnnotations": {"note": "kept"},
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["registry.example"]}],
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["10.0.0.53"]},
    },
    "monitored by pod": {
        "metrics": {"podMonitor": {"enabled": True, "interval": "1m", "labels": {"release": "prometheus"}}},
        "podDisruptionBudget": {"enabled": False},
        "page": True,
        "pageAccess": {
            "service": {"type": "LoadBalancer", "port": 8080, "annotations": {"lb.example/internal": "true"}}
        },
        "extraContainers": [{"name": "proxy", "image": "proxy:1"}],
        "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca", "readOnly": True}],
    },
    "placed": {
        "image": {"tag": "nightly"},
        "wave": "canary",
        "arguments": ["--workers=8", "--max-replacements=2"],
        "env": [{"name": "TZ", "value": "UTC"}],
        "resources": {"limits": {"memory": "4Gi"}, "requests": {"cpu": "1"}},
        "serviceAccount": {"annotations": {"cloud.example/role": "stateward"}},
        "commonLabels": _LABELS,
        "podLabels": _LABELS,
        "podAnnotations": {"note": "x"},
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [],
        "podSecurityContext": {"runAsUser": None, "runAsGroup": None},
        "securityContext": {"privileged": False},
    },
}


def leaves(values: Values, path: str = "") -> set[str]:
    """Return the paths of all values in a set, down to those that are not objects."""
    found: set[str] = set()
    for key, value in values.items():
        where = f"{path}{key}"
        found |= {where} | (leaves(value, f"{where}.") if isinstance(value, dict) else set())
    return found


def documents(text: str) -> list[Any]:
    """Return the documents of a stream that are not empty: libyaml reads the large ones ten times as fast."""
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]

"""The CronJob that detects missing members of one cluster: a manifest, made without I/O.

It is in the operator's namespace, because its service account may read and annotate clusters, and no other namespace
should hold it. The authors of clusters have no rights there: their settings are taken field by field
(`api.checks.detection`), and none of them determines the program or its rights.
"""

import hashlib
from dataclasses import dataclass
from zlib import crc32

from stateward.api.checks.detection import sorted_out
from stateward.api.kinds.replacement import ReplacementPolicy
from stateward.api.values.base import GROUP, Json
from stateward.api.values.duration import parse_duration
from stateward.kube.objects.metadata import Key

LABEL_DETECTS = f"{GROUP}/detection-engine"
"""On a CronJob: the engine of its cluster."""
ANNOTATION_CLUSTER = f"{GROUP}/detection-cluster"
"""On a CronJob: namespace and name of its cluster."""

LONGEST_NAME = 52
"""Characters of a CronJob's name; its Jobs append eleven more."""
DEADLINE = 120
"""Seconds for one detection; the database has ten of them to answer."""


@dataclass(frozen=True, slots=True)
class Place:
    """The operator's namespace and image, and the service account of detection."""

    namespace: str
    image: str
    service_account: str = ""


def cron_job(place: Place, engine: str, cluster: Key, policy: ReplacementPolicy) -> Json:
    """Return the CronJob of a cluster, with the settings of its policy that are accepted."""
    body: Json = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"labels": {"app.kubernetes.io/name": "stateward", "app.kubernetes.io/component": "detection"}},
        "spec": {
            "schedule": schedule(parse_duration(policy.after), f"{engine}/{cluster}"),
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 300,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"backoffLimit": 2, "activeDeadlineSeconds": DEADLINE, "template": {}}},
        },
    }
    body["spec"]["jobTemplate"]["spec"]["template"] = pod_template(place, engine, cluster)
    configure(body, sorted_out(policy.detection or {})[0])
    return identified(body, place, engine, cluster)


def configure(body: Json, settings: Json) -> None:
    """Write accepted settings into a CronJob, each at its one place."""
    metadata, spec = body["metadata"], body["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    metadata["labels"] = {**settings.get("labels", {}), **metadata["labels"]}
    metadata["annotations"] = dict(settings.get("annotations", {}))
    spec |= {name: settings[name] for name in ("schedule", "suspend") if name in settings}
    pod |= {name: settings[name] for name in ("nodeSelector", "tolerations") if name in settings}
    resources = pod["containers"][0]["resources"]
    for name, amounts in settings.get("resources", {}).items():
        resources[name] = {**resources.get(name, {}), **(amounts or {})}


def identified(body: Json, place: Place, engine: str, cluster: Key) -> Json:
    """Return the CronJob under the fixed name by which it is found, independent of the settings."""
    metadata: Json = body["metadata"]
    metadata["name"], metadata["namespace"] = name(engine, cluster), place.namespace
    metadata["labels"] = {**metadata["labels"], LABEL_DETECTS: engine}
    metadata["annotations"] = {**metadata["annotations"], ANNOTATION_CLUSTER: str(cluster)}
    return {**body, "apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata}


def pod_template(place: Place, engine: str, cluster: Key) -> Json:
    """Return the template of the detection pods."""
    spec: Json = {
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "detect",
                "image": place.image,
                "imagePullPolicy": "IfNotPresent",
                "args": ["detect", f"--namespace={cluster.namespace}", f"--kind={engine}", "--", cluster.name],
                "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                },
            }
        ],
    }
    if place.service_account:
        spec["serviceAccountName"] = place.service_account
    labels = {"app.kubernetes.io/name": "stateward", "app.kubernetes.io/component": "detection"}
    return {"metadata": {"labels": labels}, "spec": spec}


def name(engine: str, cluster: Key) -> str:
    """Return the CronJob's name: readable, short enough, and another one for each cluster.

    The disaster this prevents: a user finds a name for a cluster with the checksum of another cluster, and the CronJob
    of that one, by which its lost members are replaced, serves the new one.
    """
    mark = hashlib.sha256(f"{engine}/{cluster}".encode()).hexdigest()[:16]
    readable = f"detect-{cluster.namespace}-{cluster.name}"[: LONGEST_NAME - len(mark) - 1].rstrip("-.")
    return f"{readable}-{mark}"


def schedule(seconds: float, seed: str) -> str:
    """Return a cron line for this interval or (if cron cannot express it) a shorter one, from a minute to a day.

    The seed determines the moment, so that not all clusters are checked in the same minute.
    """
    minutes, spread = max(1, int(seconds // 60)), crc32(seed.encode())
    if minutes < 60:
        step = _divisor(60, minutes)
        return f"{spread % step}-59/{step} * * * *"
    if (hours := minutes // 60) < 24:
        step = _divisor(24, hours)
        return f"{spread % 60} {spread // 60 % step}-23/{step} * * *"
    return f"{spread % 60} {spread // 60 % 24} * * *"


def _divisor(whole: int, most: int) -> int:
    """Return the largest divisor: cron starts again with each hour and day, so other steps end with a gap."""
    return max(step for step in range(1, most + 1) if whole % step == 0)

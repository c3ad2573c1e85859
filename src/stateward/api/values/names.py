"""Labels, annotations and names of objects: one place, so that what one part writes another part finds."""

from stateward.api.values.base import GROUP

LABEL_CLUSTER = f"{GROUP}/cluster"
"""Name of the cluster resource an object belongs to."""
LABEL_ENGINE = f"{GROUP}/engine"
"""Engine of the cluster, for example `opensearch`."""
LABEL_POOL = f"{GROUP}/pool"
"""Name of the pool of a member."""
LABEL_MEMBER = f"{GROUP}/member"
"""Name of the member an object belongs to."""
LABEL_ORDINAL = f"{GROUP}/ordinal"
"""Number of a member in its pool."""
LABEL_ROLES = f"{GROUP}/roles"
"""What the cluster loses with a pod: `data-voting`, `data`, `voting` or `none`; budgets and Services select by it."""
LABEL_VOTING_ONLY = f"{GROUP}/voting-only"
"""`true` on the objects of members that vote and are never elected."""

LABEL_HISTORY = f"{GROUP}/history-of"
"""On the ConfigMap with the history of a cluster: its name. The operator's caches do not select this label."""

LABEL_DASHBOARDS = f"{GROUP}/dashboards-of"
"""On the objects of a cluster's dashboards, in place of the cluster's own label: they are not members."""

LABEL_METRICS = f"{GROUP}/metrics-of"
"""On the objects of a cluster's exporter of metrics, in place of the cluster's own label."""

LABEL_REMOTE = f"{GROUP}/remote-access-of"
"""On the Service by which other clusters reach a cluster's members, in place of the cluster's own label."""

LABEL_ALLOWED = f"{GROUP}/allowed-for-pods"
"""On what is not the cluster's: `true` lets pods of all clusters in its namespace use it; a name, those of one."""

LABEL_WAVE = f"{GROUP}/wave"
"""On a cluster: the wave whose operator should manage it."""
ANNOTATION_CLAIM = f"{GROUP}/managed-by-wave"
"""On a cluster: the wave whose operator manages it now. Operators write it, so that two never manage one cluster."""

ANNOTATION_INPUTS = f"{GROUP}/inputs"
"""JSON object of names and digests of the inputs from which an object was created."""
ANNOTATION_VERSION = f"{GROUP}/version"
"""Engine version that a template, and so a pod, runs."""
ANNOTATION_STAGED_VERSION = f"{GROUP}/staged-version"
"""On pods: another version whose programs are in the pod, beside those of its image."""
ANNOTATION_BOOTSTRAP = f"{GROUP}/bootstrap"
"""On one pod: `granted` lets it form the cluster."""
ANNOTATION_BOOTSTRAP_CANDIDATE = f"{GROUP}/bootstrap-candidate"
"""On a pod template: `true` makes the pod wait for the grant if its volume is empty."""
ANNOTATION_BOOTSTRAP_AGAIN = f"{GROUP}/bootstrap-again"
"""On a cluster: `accept-data-loss` allows a new and empty cluster after the loss of all manager volumes."""
ANNOTATION_AGENT = f"{GROUP}/agent"
"""On a pod template: the version of Stateward whose agent is process 1 of the database's container."""
ANNOTATION_TEMPLATE = f"{GROUP}/template-revision"
"""On a pod template: the revision of Stateward's own part of it."""
ANNOTATION_APPLY = f"{GROUP}/apply-pending"
"""On a cluster: `true` lets pods of an earlier version of Stateward be recreated, as for a change of the spec."""
ANNOTATION_CHECKSUM = f"{GROUP}/config-checksum"
"""On a configuration Secret: the checksum of what is in it; on a pod: of what its process should start with."""
ANNOTATION_WRITTEN = f"{GROUP}/config-written"
"""On a pod: the checksum of the configuration that was last written for it."""
ANNOTATION_PHASE = f"{GROUP}/restart-phase"
"""On a pod: how far the restart of its process is. A user may set a schedule value, also on a cluster."""
ANNOTATION_RESTART_STARTED = f"{GROUP}/restart-started"
"""On a pod: its process was to be stopped or started, and what it runs with was not written down since."""
ANNOTATION_RESTART_POOLS = f"{GROUP}/restart-pools"
"""On a cluster, beside a restart phase: the names of the pools that are meant, with commas; all without it."""
ANNOTATION_RESTARTED = f"{GROUP}/restarted-at"
"""In a pod template of a spec: when new pods were last requested. No other of these names may be set there."""
ANNOTATION_STOPPED = f"{GROUP}/stopped"
"""On a cluster: names of members, with commas, whose processes are kept stopped."""
ANNOTATION_MISSING = f"{GROUP}/missing-detected"
"""On a cluster: when detection, outside the operator, last found a missing member."""
ANNOTATION_RETIRED = f"{GROUP}/retired"
"""On a volume claim: its member was replaced and has left it, so no new member starts with it."""
ANNOTATION_STATE = f"{GROUP}/holds-state"
"""On a volume claim of a manager: a cluster was formed with it, or may have been. It outlives the cluster resource."""
ANNOTATION_DATA = f"{GROUP}/holds-data"
"""On a volume claim of a member without a vote: it holds data of a formed cluster. It outlives the resource."""
ANNOTATION_DATA_VERSION = f"{GROUP}/data-version"
"""On a volume claim: the newest database version with which its member has joined. It outlives the resource."""
ANNOTATION_GROWN = f"{GROUP}/grown-size"
"""On a volume claim: the size to which the operator has grown it by itself; without it the volume may be too large."""
ANNOTATION_RESIZED = f"{GROUP}/resized-time"
"""On a volume claim: when the operator last asked for another size."""
ANNOTATION_RELEASED = f"{GROUP}/released"
"""On a StatefulSet: its generation when the operator scaled it to zero; any other one was scaled by someone else."""
ANNOTATION_CREATED_FOR = f"{GROUP}/created-for"
"""On a Secret without an owner: the UID of its cluster, and its own namespace and name, which a copy does not have."""

FIELD_MANAGER = "stateward"

HISTORY_KEY = "history.jsonl"
"""The key of that ConfigMap: one JSON document a line."""


def member(cluster: str, pool: str, ordinal: int) -> str:
    """Name of a member: its StatefulSet, its configuration Secret and its node in the database are called so."""
    return f"{cluster}-{pool}-{ordinal}"


def workload(member_name: str) -> str:
    """Name of a member's StatefulSet."""
    return member_name


def pod(member_name: str) -> str:
    """Name of a member's only pod."""
    return f"{member_name}-0"


def claim(member_name: str) -> str:
    """Name of a member's data claim."""
    return f"data-{member_name}"


def agent(member_name: str) -> str:
    """Name of the Secret by which a member's agent proves itself, and knows the operator."""
    return f"{member_name}-agent"


def history(cluster: str) -> str:
    """Name of the ConfigMap with the history of a cluster."""
    return f"{cluster}-history"


def roles(*, data: bool, voting: bool) -> str:
    """Value of the roles label."""
    return {(True, True): "data-voting", (True, False): "data", (False, True): "voting", (False, False): "none"}[
        data, voting
    ]


def in_list(text: str) -> list[str]:
    """Return the names in an annotation's list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]

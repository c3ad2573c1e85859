"""The kinds of custom resources for `kubectl`: their names, columns, and an example of each."""

from dataclasses import dataclass

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.installation import Installation
from stateward.api.kinds.package import ClusterPackage, Package
from stateward.api.kinds.scaling.pool_scale import PoolScale
from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster
from stateward.api.kinds.search_object import SearchObject
from stateward.api.kinds.search_user import LONGEST_USERNAME, SearchUser
from stateward.api.kinds.snapshots.restore import SearchRestore
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.snapshot import SearchSnapshot
from stateward.api.schema.rules import LONGEST_NAMES
from stateward.api.values.base import Json, Record

_OPENSEARCH = """\
apiVersion: stateward.dev/v1alpha1
kind: OpenSearchCluster
metadata: {name: logs}
spec:
  version: 2.19.5
  pools:
  - {name: managers, replicas: 3, roles: [cluster_manager], storage: {size: 1Gi}}
  - {name: hot, replicas: 3, roles: [data, ingest], storage: {size: 20Gi}, resources: {limits: {memory: 2Gi}}}
  - {name: gateway, replicas: 1, roles: []}
"""

_ELASTICSEARCH = """\
apiVersion: stateward.dev/v1alpha1
kind: ElasticsearchCluster
metadata: {name: search}
spec:
  version: 8.19.4
  pools:
  - {name: managers, replicas: 3, roles: [master], storage: {size: 1Gi}}
  - name: hot
    replicas: 3
    roles: [data_hot, data_content, ingest]
    storage: {size: 20Gi}
    resources: {limits: {memory: 2Gi}}
  - {name: cold, replicas: 2, roles: [data_cold], storage: {size: 100Gi}}
"""

_FOUNDATIONDB = """\
apiVersion: stateward.dev/v1alpha1
kind: FoundationDBCluster
metadata: {name: ledger}
spec:
  version: 7.1.67
  redundancy: double
  pools:
  - {name: storage, processClass: storage, replicas: 5, processesPerMember: 2, storage: {size: 100Gi}}
  - {name: log, processClass: log, storage: {size: 20Gi}}
  - {name: stateless, processClass: stateless}
"""


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`; those with a priority above 0 show with `-o wide`."""

    name: str
    path: str
    description: str
    type: str = "string"
    priority: int = 0

    def document(self) -> Json:
        """Return it as an item of `additionalPrinterColumns`."""
        return {
            "name": self.name,
            "type": self.type,
            "jsonPath": self.path,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True)
class Scale:
    """The fields of the scale subresource, as paths: the number asked for, the present one, and the pods."""

    asked: str
    present: str
    selector: str

    def document(self) -> Json:
        """Return it as `subresources.scale`."""
        return {
            "specReplicasPath": self.asked,
            "statusReplicasPath": self.present,
            "labelSelectorPath": self.selector,
        }


@dataclass(frozen=True)
class Kind:
    """A kind of custom resource, and its names for `kubectl`.

    The names are not derived from the kind: other operators have an OpenSearchCluster, a FoundationDBCluster and an
    Installation, and `kubectl get` of a shared name shows the objects of only one of them.
    """

    record: type[Record]
    plural: str
    singular: str
    short: tuple[str, ...]
    columns: tuple[Column, ...]
    example: str
    longest_name: int = LONGEST_NAMES - 2
    namespaced: bool = True
    everyday: bool = True
    """Whether `kubectl get all` shows it."""
    scale: Scale | None = None
    """The scale subresource, which autoscalers read and write; None if the kind has none."""

    @property
    def name(self) -> str:
        """The kind in CamelCase."""
        return self.record.__name__


def _condition(name: str) -> str:
    return f'.status.conditions[?(@.type=="{name}")].status'


CLUSTER_COLUMNS = (
    Column("Version", ".status.version", "The version that was last deployed everywhere."),
    Column("Health", ".status.health", "green, yellow, red or unknown, as the database reports."),
    Column("Ready", ".status.ready", "Ready and desired members."),
    Column("Activity", ".status.activity", "What is in progress."),
    Column("Age", ".metadata.creationTimestamp", "Time since the cluster was created.", type="date"),
    Column("Desired", ".spec.version", "The version that the spec asks for.", priority=1),
    Column("Stalled", _condition("Stalled"), "True if manual intervention is required.", priority=1),
    Column("Paused", ".spec.update.paused", "The operator takes no new step.", type="boolean", priority=1),
    Column("Progress", ".status.lastProgressTime", "Time since the last progress.", type="date", priority=1),
    Column("UUID", ".status.clusterUUID", "The identity of the cluster in the database.", priority=1),
)

OPENSEARCH = Kind(OpenSearchCluster, "osclusters", "oscluster", ("swos",), CLUSTER_COLUMNS, _OPENSEARCH)
ELASTICSEARCH = Kind(ElasticsearchCluster, "esclusters", "escluster", ("swes",), CLUSTER_COLUMNS, _ELASTICSEARCH)
FOUNDATIONDB = Kind(FoundationDBCluster, "fdbclusters", "fdbcluster", ("swfdb",), CLUSTER_COLUMNS, _FOUNDATIONDB)
CLUSTER_KINDS = (OPENSEARCH, ELASTICSEARCH, FOUNDATIONDB)
"""Clusters of databases."""

_PACKAGE_EXAMPLE = """\
apiVersion: stateward.dev/v1alpha1
kind: %s
metadata: {name: shop-1.2.0}
spec:
  name: shop
  version: 1.2.0
  archive: H4sIAAAAAAAC…   # `stateward package install` writes it
"""
_INSTALLATION_EXAMPLE = """\
apiVersion: stateward.dev/v1alpha1
kind: Installation
metadata: {name: shop}
spec:
  package: shop-1.2.0
  parameters: {replicas: 3}
"""
_SEARCH_OBJECT_EXAMPLE = """\
apiVersion: stateward.dev/v1alpha1
kind: SearchObject
metadata: {name: logs-template}
spec:
  cluster: {kind: OpenSearchCluster, name: logs}
  object: indexTemplate/logs
  body:
    index_patterns: [logs-*]
    template:
      settings: {number_of_shards: 3, number_of_replicas: 1}
"""
_SEARCH_USER_EXAMPLE = """\
apiVersion: stateward.dev/v1alpha1
kind: SearchUser
metadata: {name: shop}
spec:
  cluster: {kind: OpenSearchCluster, name: logs}
  roles: [reader]
  password: {rotateAfter: 90d, overlap: 2d}
"""
_SEARCH_SNAPSHOT_EXAMPLE = """\
apiVersion: stateward.dev/v1alpha1
kind: SearchSnapshot
metadata: {name: before-the-migration}
spec:
  cluster: {kind: OpenSearchCluster, name: logs}
  repository: backups
  indices: [orders-*]
"""
_SEARCH_SNAPSHOT_SCHEDULE_EXAMPLE = """\
apiVersion: stateward.dev/v1alpha1
kind: SearchSnapshotSchedule
metadata: {name: nightly}
spec:
  cluster: {kind: OpenSearchCluster, name: logs}
  schedule: 30 3 * * *
  repository: backups
  retention: {maxAge: 30d, minCount: 7, maxCount: 60}
"""
_SEARCH_RESTORE_EXAMPLE = """\
apiVersion: stateward.dev/v1alpha1
kind: SearchRestore
metadata: {name: orders-of-yesterday}
spec:
  cluster: {kind: OpenSearchCluster, name: logs}
  repository: backups
  snapshot: nightly-202611240330
  indices: [orders-*]
  renamePattern: (.+)
  renameReplacement: restored-$1
"""
_POOL_SCALE_EXAMPLE = """\
apiVersion: stateward.dev/v1alpha1
kind: PoolScale
metadata: {name: logs-hot}
spec:
  cluster: {kind: OpenSearchCluster, name: logs}
  pool: hot
  replicas: 3
"""
PACKAGE_COLUMNS = (
    Column("Package", ".spec.name", "Name of the package."),
    Column("Version", ".spec.version", "Version of the package."),
    Column("App", ".spec.appVersion", "Version of the application in it."),
    Column("Age", ".metadata.creationTimestamp", "Time since it was created.", type="date"),
    Column("Digest", ".spec.digest", "Digest of its files.", priority=1),
)
INSTALLATION_COLUMNS = (
    Column("Package", ".spec.package", "The desired package."),
    Column("Version", ".status.installed.version", "The version of the package that is installed."),
    Column("Plan", ".status.run.plan", "The plan that runs, or the last one that did."),
    Column("Stage", ".status.run.stage", "Running, Done or Failed."),
    Column("Activity", ".status.activity", "What is in progress."),
    Column("Age", ".metadata.creationTimestamp", "Time since it was created.", type="date"),
    Column("Stalled", _condition("Stalled"), "True if manual intervention is required.", priority=1),
)
SEARCH_OBJECT_COLUMNS = (
    Column("Cluster", ".spec.cluster.name", "The cluster whose database has it."),
    Column("Object", ".status.object", "The object in the database."),
    Column("Ready", _condition("Ready"), "True if the database has it as declared."),
    Column("Activity", ".status.activity", "What is in progress, or why it waits."),
    Column("Age", ".metadata.creationTimestamp", "Time since it was created.", type="date"),
    Column("Claim", ".status.claim", "Whose the object in the database is.", priority=1),
    Column("Stalled", _condition("Stalled"), "True if manual intervention is required.", priority=1),
)
SEARCH_OBJECT = Kind(
    SearchObject,
    "searchobjects",
    "searchobject",
    ("swso",),
    SEARCH_OBJECT_COLUMNS,
    _SEARCH_OBJECT_EXAMPLE,
    longest_name=253,
)
SEARCH_USER_COLUMNS = (
    Column("Cluster", ".spec.cluster.name", "The cluster whose database has the user."),
    Column("User", ".status.username", "The user that the connection Secret names."),
    Column("Secret", ".status.connectionSecretName", "The Secret for applications."),
    Column("Ready", _condition("Ready"), "True if the database and the Secret are as declared."),
    Column("Activity", ".status.activity", "What is in progress, or why it waits."),
    Column("Age", ".metadata.creationTimestamp", "Time since it was created.", type="date"),
    Column("Rotation", ".status.rotationTime", "When the next password is made.", priority=1),
    Column("Stalled", _condition("Stalled"), "True if manual intervention is required.", priority=1),
)
SEARCH_USER = Kind(
    SearchUser,
    "searchusers",
    "searchuser",
    ("swuser",),
    SEARCH_USER_COLUMNS,
    _SEARCH_USER_EXAMPLE,
    longest_name=LONGEST_USERNAME,
)
_AGE = Column("Age", ".metadata.creationTimestamp", "Time since it was created.", type="date")
_ACTIVITY = Column("Activity", ".status.activity", "What is in progress, or why it waits.")
_CLUSTER = Column("Cluster", ".spec.cluster.name", "The cluster.")
_STALLED = Column("Stalled", _condition("Stalled"), "True if manual intervention is required.", priority=1)
SEARCH_SNAPSHOT_COLUMNS = (
    _CLUSTER,
    Column("Repository", ".spec.repository", "The repository."),
    Column("State", ".status.state", "What the database says."),
    Column("Bytes", ".status.sizeBytes", "Bytes of all files that it needs.", type="integer"),
    _ACTIVITY,
    _AGE,
    Column("Snapshot", ".status.snapshot", "The snapshot in the repository.", priority=1),
    _STALLED,
)
SEARCH_SNAPSHOT_SCHEDULE_COLUMNS = (
    _CLUSTER,
    Column("Schedule", ".spec.schedule", "When snapshots are taken, in UTC."),
    Column("Last success", ".status.lastSuccess.endTime", "Time since the last success.", type="date"),
    Column("Count", ".status.count", "Snapshots in the repository.", type="integer"),
    _ACTIVITY,
    _AGE,
    Column("Next", ".status.nextScheduleTime", "The next time.", priority=1),
    Column("Verified", ".status.verification.lastSuccess.name", "The last snapshot that was restored.", priority=1),
    Column("Paused", ".spec.paused", "No snapshots are taken.", type="boolean", priority=1),
    _STALLED,
)
SEARCH_RESTORE_COLUMNS = (
    _CLUSTER,
    Column("Snapshot", ".status.snapshot", "The snapshot that is restored."),
    Column("Phase", ".status.phase", "How far it is."),
    Column("Documents", ".status.documents", "Documents in the restored indices.", type="integer"),
    _ACTIVITY,
    _AGE,
    Column("Repository", ".spec.repository", "The repository.", priority=1),
    _STALLED,
)
SEARCH_SNAPSHOT = Kind(
    SearchSnapshot,
    "searchsnapshots",
    "searchsnapshot",
    ("swsnap",),
    SEARCH_SNAPSHOT_COLUMNS,
    _SEARCH_SNAPSHOT_EXAMPLE,
    longest_name=250,
)
SEARCH_SNAPSHOT_SCHEDULE = Kind(
    SearchSnapshotSchedule,
    "searchsnapshotschedules",
    "searchsnapshotschedule",
    ("swsched",),
    SEARCH_SNAPSHOT_SCHEDULE_COLUMNS,
    _SEARCH_SNAPSHOT_SCHEDULE_EXAMPLE,
    longest_name=200,
)
SEARCH_RESTORE = Kind(
    SearchRestore,
    "searchrestores",
    "searchrestore",
    ("swrestore",),
    SEARCH_RESTORE_COLUMNS,
    _SEARCH_RESTORE_EXAMPLE,
    longest_name=253,
)
POOL_SCALE_COLUMNS = (
    _CLUSTER,
    Column("Pool", ".spec.pool", "The pool."),
    Column("Asked", ".spec.replicas", "Members that are asked for.", type="integer"),
    Column("Members", ".status.replicas", "Members that the pool should have now.", type="integer"),
    Column("Ready", ".status.readyReplicas", "Members that are ready to serve.", type="integer"),
    _ACTIVITY,
    _AGE,
    _STALLED,
)
POOL_SCALE = Kind(
    PoolScale,
    "poolscales",
    "poolscale",
    ("swscale",),
    POOL_SCALE_COLUMNS,
    _POOL_SCALE_EXAMPLE,
    longest_name=253,
    scale=Scale(".spec.replicas", ".status.replicas", ".status.selector"),
)
DECLARED_KINDS = (SEARCH_OBJECT, SEARCH_USER, SEARCH_SNAPSHOT, SEARCH_SNAPSHOT_SCHEDULE, SEARCH_RESTORE)
"""What is inside of the databases of search clusters."""
PACKAGE = Kind(
    Package,
    "swpackages",
    "swpackage",
    ("swpkg",),
    PACKAGE_COLUMNS,
    _PACKAGE_EXAMPLE % "Package",
    longest_name=253,
    everyday=False,
)
CLUSTER_PACKAGE = Kind(
    ClusterPackage,
    "swclusterpackages",
    "swclusterpackage",
    ("swcpkg",),
    PACKAGE_COLUMNS,
    _PACKAGE_EXAMPLE % "ClusterPackage",
    longest_name=253,
    namespaced=False,
    everyday=False,
)
INSTALLATION = Kind(
    Installation,
    "swinstallations",
    "swinstallation",
    ("swinst",),
    INSTALLATION_COLUMNS,
    _INSTALLATION_EXAMPLE,
    longest_name=52,
)
KINDS = (*CLUSTER_KINDS, *DECLARED_KINDS, POOL_SCALE, PACKAGE, CLUSTER_PACKAGE, INSTALLATION)

"""The options of the operator: everything that a flag or an environment variable can set."""

from dataclasses import dataclass, field

from stateward.api.pod_policy import Level
from stateward.kube.election.lease_record import LeaseTiming

ANY, LABELLED = "any", "labelled"
"""Which Secrets, volume claims and clients of Services pods may have: those of their namespace, or with a label."""


@dataclass(frozen=True, slots=True)
class OperatorOptions:
    """Settings of one operator process; `namespaces` empty means all of them. Ports 0 choose a free one."""

    kubeconfig: str = ""
    context: str = ""
    namespaces: tuple[str, ...] = ()
    wave: str = ""
    """The wave whose clusters it manages; empty: all that the operator of no wave has claimed."""
    workers: int = 16
    leader_elect: bool = True
    lease_namespace: str = ""
    lease_name: str = "stateward"
    lease_timing: LeaseTiming = field(default_factory=LeaseTiming)
    identity: str = ""
    health_host: str = ""
    """Empty: every address, IPv4 and IPv6; the kubelet comes from outside the pod. Likewise for the other hosts."""
    health_port: int = 8081
    metrics_host: str = ""
    metrics_port: int = 8080
    webhook: bool = False
    webhook_host: str = ""
    webhook_port: int = 9443
    webhook_client_ca: str = ""
    """File with the CA of the certificate that clients of the webhook have to show; empty: all clients are answered."""
    database_view: bool = False
    """Whether users that may get a cluster may ask this process what its database reports."""
    database_view_host: str = ""
    database_view_port: int = 9444
    page: bool = False
    """Whether the page of clusters is served, read-only."""
    page_host: str = "127.0.0.1"
    """A loopback address is for an authenticating proxy in the pod; at another one, clients show a token."""
    page_names: tuple[str, ...] = ()
    """Names by which the proxy's users reach the page, without a port, if the proxy keeps `Host`."""
    page_port: int = 8084
    max_replacements: int = 5
    """How many members are replaced by themselves at once, over all clusters."""
    detection_service_account: str = ""
    """The service account of the detection Jobs; the operator's own has more rights."""
    default_service_account: str = "default"
    """The service account of installations that name none, in their namespace; empty: they are refused."""
    network_policies: bool = False
    """Whether each cluster gets a NetworkPolicy."""
    traces_endpoint: str = ""
    """URL of a collector of OpenTelemetry, for OTLP over HTTP; empty: no traces are recorded."""
    routes: bool = False
    """Whether clusters get the Ingresses and HTTPRoutes that they ask for."""
    verify_snapshots: bool = False
    """Whether schedules may have their snapshots restored into throw-away clusters."""
    log_level: str = "info"
    grace_seconds: float = 20.0
    secure_new_clusters: bool = False
    """Whether new clusters that leave security open are secured, if their image supports it."""
    pod_policy: str = Level.BASELINE.value
    """What pods of clusters may be at most: `restricted`, `baseline` or `privileged`, of the Pod Security Standards."""
    pod_references: str = ANY
    """Whether Secrets, volume claims and Services need a label (`labelled`) to serve pods, or not (`any`)."""
    agent_image: str = ""
    """Stateward's own image, from which new pods get the agent; if it is empty, they have none."""

    @property
    def watched(self) -> tuple[str, ...]:
        """The namespaces that are watched; one with an empty name stands for all of them."""
        return self.namespaces or ("",)

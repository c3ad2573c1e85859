"""The exporter of a database's metrics, as people write it."""

from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.security import Lifetime
from stateward.api.kinds.shapes import POD_TEMPLATE, RESOURCES
from stateward.api.values.base import Json, Record


class Metrics(Record):
    """An exporter beside the database, which serves the database's own metrics to Prometheus; no member changes."""

    resources: Annotated[
        Json | None,
        Meta(
            description="Resource requests and limits of the container exporter. Default: 10m of CPU, 64Mi of memory,"
            " and a limit of 256Mi.",
            extra={"shape": RESOURCES},
        ),
    ] = None
    pod_template: Annotated[
        Json | None,
        Meta(
            description="Overrides of the pod (metadata and spec), merged by the rules of Kubernetes. The container"
            " that serves the metrics is named exporter.",
            extra={"shape": POD_TEMPLATE},
        ),
    ] = None


class SearchMetrics(Metrics):
    """An exporter beside a search cluster, which has a user of the database if that is secured."""

    rotate_credentials_after: Annotated[
        Lifetime | None,
        Meta(
            description="How long the exporter uses one user of the database. Default: until you delete its password"
            " from the exporter's Secret. The next one is used before this one is deleted."
        ),
    ] = None


class MetricsStatus(Record):
    """Where the exporter of metrics stands, and what it waits for."""

    available: Annotated[bool, Meta(description="Whether the exporter runs as the spec asks for.")] = False
    url: Annotated[str, Meta(description="Where pods of the Kubernetes cluster reach the metrics.")] = ""
    reason: Annotated[str, Meta(description="What it waits for, in one word for programs; empty if nothing.")] = ""
    message: Annotated[str, Meta(description="What it waits for, in one sentence for people.")] = ""
    since_time: Annotated[str, Meta(description="Since when it is in this state.")] = ""

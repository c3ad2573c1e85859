"""Checks `dashboards`, `metrics`, `routes`, `remoteClusters` and `remoteAccess`: what stops only what it is about.

What the operator owns, fitting versions, one way per route, and other clusters than this one, each once.

Its problems stop only what they are about, never the database: see `validation.validate_access`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stateward.api.checks.config import check_settings
from stateward.api.checks.pools.resources import check_resources
from stateward.api.checks.template import check_named, check_template, listed, mapped
from stateward.api.checks.update import check_service
from stateward.api.kinds.access.dashboards import Dashboards
from stateward.api.kinds.access.metrics import Metrics
from stateward.api.kinds.access.remote import ANOTHER, RESERVED, TAKEN_WORD, OtherCluster
from stateward.api.kinds.access.routes import ONE_WAY, Routes
from stateward.api.kinds.products import product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.dashboard_settings import FAMILIES, OWNED, reason_owned
from stateward.api.values.images import MALFORMED, carries, is_reference, parse_image
from stateward.api.values.problem import Problem, Severity
from stateward.api.values.version import parse_version

CONTAINER = "dashboards"
"""Name of the container in the pods."""
EXPORTER, ASKER = "exporter", "fdbcli"
"""Names of the containers in the pod of the exporter; the second one is there with FoundationDB."""
CLIENT_ROLE = "remote_cluster_client"
"""The role of members that search other clusters."""
_PATH = "spec.dashboards"


@dataclass(frozen=True)
class _Container:
    """What the checks of pod templates know of the container."""

    engine: str = CONTAINER
    instead: str = "spec.dashboards.config"


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with `dashboards`, `metrics` and `routes`."""
    asked = cluster.spec.dashboards
    yield from check_metrics(cluster.spec.metrics, EXPORTER)
    yield from _routes("spec.routes", cluster.spec.routes)
    yield from check_remote(cluster)
    if asked is None:
        return
    yield from check_settings(f"{_PATH}.config", asked.config, reason_owned)
    yield from check_template(f"{_PATH}.podTemplate", asked.pod_template, _Container())
    yield from check_named([(f"{_PATH}.podTemplate", asked.pod_template)])
    yield from check_resources(f"{_PATH}.resources", asked.resources)
    yield from _environment(asked)
    yield from check_service(f"{_PATH}.service", asked.service)
    yield from _version(cluster, asked)
    yield from _image(cluster, asked)
    if asked.tls is not None and asked.tls.enabled is False and asked.tls.secret_name is not None:
        yield Problem(f"{_PATH}.tls.secretName", asked.tls.secret_name, "TLS is switched off: leave it out")
    yield from _routes(f"{_PATH}.routes", asked.routes)
    taken = set(cluster.spec.routes.hosts) if cluster.spec.routes is not None else set[str]()
    for i, host in enumerate(asked.routes.hosts if asked.routes is not None else ()):
        if host in taken:
            yield Problem(
                f"{_PATH}.routes.hosts[{i}]", host, "must not be a host of spec.routes, which lead to the database"
            )


def check_metrics(asked: Metrics | None, *containers: str) -> Iterator[Problem]:
    """Yield what is wrong with `metrics`; `containers` are those that the operator starts in the pod."""
    if asked is None:
        return
    yield from check_resources("spec.metrics.resources", asked.resources)
    for name in containers:
        yield from check_template("spec.metrics.podTemplate", asked.pod_template, _Container(name, "spec.metrics"))
    yield from check_named([("spec.metrics.podTemplate", asked.pod_template)])


def _environment(asked: Dashboards) -> Iterator[Problem]:
    """Refuse owned settings here, too: the official images take them from variables, and those win over the file."""
    owned: Mapping[str, str] = {_variable(key): each.reason for key, each in OWNED.items()}
    families = {_variable(key): reason for key, reason in FAMILIES.items()}
    for container in listed(mapped(asked.pod_template or {}, "spec"), "containers"):
        if container.get("name") != CONTAINER:
            continue
        for variable in listed(container, "env"):
            name = str(variable.get("name"))
            reason = owned.get(name) or next((why for family, why in families.items() if name.startswith(family)), None)
            if reason is not None:
                at = f"{_PATH}.podTemplate.spec.containers[{CONTAINER}].env[{name}]"
                yield Problem(at, variable.get("value"), f"cannot be set: {reason}")


def _variable(key: str) -> str:
    """Return the variable from which the images take a setting."""
    return key.upper().replace(".", "_")


def _version(cluster: SearchCluster, asked: Dashboards) -> Iterator[Problem]:
    version, whole = parse_version(asked.version or ""), parse_version(cluster.spec.version)
    if asked.version is None or version is None or whole is None:
        return
    if version > whole:
        yield Problem(f"{_PATH}.version", asked.version, f"must not be later than spec.version ({whole})")
    elif version.major != whole.major:
        text = f"does not work with {whole}: the dashboards stay as they are until this has its major version"
        yield Problem(f"{_PATH}.version", asked.version, text, Severity.WARNING)


def _image(cluster: SearchCluster, asked: Dashboards) -> Iterator[Problem]:
    if asked.image is None:
        return
    image, version = parse_image(asked.image), asked.version or cluster.spec.version
    example = f"{product_of(cluster).image}-dashboards:{version}"
    if not is_reference(asked.image):
        yield Problem(f"{_PATH}.image", asked.image, MALFORMED)
    elif not image.tag and not image.digest:
        yield Problem(f"{_PATH}.image", asked.image, f"must carry a tag or a digest, for example {example}")
    elif image.tag and not carries(image.tag, version):
        yield Problem(
            f"{_PATH}.image", asked.image, f"the tag must have {version} in it, for example {version} or {version}-ours"
        )


def _routes(path: str, routes: Routes | None) -> Iterator[Problem]:
    if routes is None:
        return
    if routes.parent_refs is not None and (routes.ingress_class_name or routes.tls_secret_name):
        yield Problem(f"{path}.parentRefs", len(routes.parent_refs), ONE_WAY)


def check_remote(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with `remoteClusters` and `remoteAccess`."""
    entries = cluster.spec.remote_clusters or []
    client = any(pool.roles is None or CLIENT_ROLE in pool.roles for pool in cluster.spec.pools)
    for i, entry in enumerate(entries):
        path = f"spec.remoteClusters[{i}]"
        if entry.name in RESERVED:
            yield Problem(f"{path}.name", entry.name, TAKEN_WORD)
        if _is_itself(cluster, entry.cluster):
            yield Problem(f"{path}.cluster.name", entry.cluster.name, ANOTHER)
        if not client:
            yield Problem(
                path, entry.name, f"a pool must have the role {CLIENT_ROLE}: only its members search other clusters"
            )
    access = cluster.spec.remote_access
    for i, other in enumerate(access.clusters if access is not None else ()):
        if _is_itself(cluster, other):
            yield Problem(f"spec.remoteAccess.from[{i}].name", other.name, ANOTHER)


def _is_itself(cluster: SearchCluster, other: OtherCluster) -> bool:
    meta = cluster.metadata
    return other.name == meta.name and other.namespace in (None, meta.namespace)

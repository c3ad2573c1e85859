"""The configuration of the dashboards: the user's settings, the settings that Stateward owns, and defaults."""

import json
from dataclasses import dataclass, field
from typing import Any

from stateward.api.kinds.access.dashboards import Dashboards, DashboardsTls
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.settings import flatten
from stateward.api.values.version import parse_version
from stateward.engines.search.configuration.security import service_name
from stateward.engines.search.dashboards.frontend import KIBANA, PORT, Frontend, dashboards_name
from stateward.engines.search.spec.flavor import HTTP_PORT

CERTIFICATE, KEY, TRUSTED = "server.crt", "server.key", "ca.crt"
"""Files beside the configuration: what browsers see, and whom the dashboards trust as the database."""
_ALLOWLIST_SINCE = 2
"""The first major version of OpenSearch Dashboards that says allowlist."""


@dataclass(frozen=True)
class Secrets:
    """What the dashboards need and no resource has; the text representation contains none of it."""

    session_key: str = field(repr=False)
    objects_key: str = field(repr=False)
    reporting_key: str = field(repr=False)
    trusted: str = ""
    """Certificates of the database's authorities; empty if the database is not secured."""
    username: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    certificate: str = ""
    key: str = field(default="", repr=False)

    @property
    def secured(self) -> bool:
        """Whether the database is secured."""
        return bool(self.trusted)


def serves_https(asked: Dashboards, *, secured: bool) -> bool:
    """Return whether the dashboards serve HTTPS; `secured` is whether the database is secured."""
    chosen = (asked.tls or DashboardsTls()).enabled
    return secured if chosen is None else chosen


def status_path(asked: Dashboards) -> str:
    """Return the path of their status, which a rewritten base path precedes."""
    chosen = dict(flatten(asked.config or {}))
    base = chosen.get("server.basePath")
    rewritten = chosen.get("server.rewriteBasePath") is True and isinstance(base, str)
    return f"{base if rewritten else ''}/api/status"


def files(which: Frontend, cluster: SearchCluster, asked: Dashboards, version: str, secrets: Secrets) -> dict[str, str]:
    """Return the configuration of a version, and the certificates beside it, by file name."""
    chosen = {**_defaults(which, cluster, asked, version, secrets), **dict(flatten(asked.config or {}))}
    settings = {**chosen, **_owned(which, cluster, asked, secrets)}
    found = {which.config_file: "".join(f"{key}: {json.dumps(value)}\n" for key, value in sorted(settings.items()))}
    if secrets.secured:
        found[TRUSTED] = secrets.trusted
    if serves_https(asked, secured=secrets.secured):
        found |= {CERTIFICATE: secrets.certificate, KEY: secrets.key}
    return found


def _defaults(
    which: Frontend, cluster: SearchCluster, asked: Dashboards, version: str, secrets: Secrets
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "server.host": "0.0.0.0",  # noqa: S104 - a pod has one address, and it is not known here
        "server.name": dashboards_name(cluster),
    }
    if which is KIBANA:
        hosts = asked.routes.hosts if asked.routes is not None else []
        return {**found, "server.publicBaseUrl": f"https://{hosts[0]}"} if hosts else found
    if secrets.secured:
        parsed = parse_version(version)
        old = parsed is not None and parsed.major < _ALLOWLIST_SINCE
        name = "requestHeadersWhitelist" if old else "requestHeadersAllowlist"
        found[f"opensearch.{name}"] = ["authorization", "securitytenant"]
        found["opensearch_security.multitenancy.enabled"] = True
    return found


def _owned(which: Frontend, cluster: SearchCluster, asked: Dashboards, secrets: Secrets) -> dict[str, Any]:
    prefix, folder = which.prefix, f"{which.home}/config"
    scheme = "https" if secrets.secured else "http"
    https = serves_https(asked, secured=secrets.secured)
    found: dict[str, Any] = {
        f"{prefix}.hosts": [f"{scheme}://{service_name(cluster)}:{HTTP_PORT}"],
        "server.port": PORT,
        "server.ssl.enabled": https,
        # The kubelet and the operator ask without credentials; the answer has no data.
        "status.allowAnonymous": True,
        **_keys(which, secrets, https=https),
    }
    if https:
        found |= {"server.ssl.certificate": f"{folder}/{CERTIFICATE}", "server.ssl.key": f"{folder}/{KEY}"}
    if secrets.secured:
        found[f"{prefix}.ssl.certificateAuthorities"] = [f"{folder}/{TRUSTED}"]
        found[f"{prefix}.ssl.verificationMode"] = "full"
    if secrets.token:
        found[f"{prefix}.serviceAccountToken"] = secrets.token
    elif secrets.username:
        found |= {f"{prefix}.username": secrets.username, f"{prefix}.password": secrets.password}
    return found


def _keys(which: Frontend, secrets: Secrets, *, https: bool) -> dict[str, Any]:
    if which is KIBANA:
        return {
            "xpack.security.encryptionKey": secrets.session_key,
            "xpack.encryptedSavedObjects.encryptionKey": secrets.objects_key,
            "xpack.reporting.encryptionKey": secrets.reporting_key,
        }
    # Without security the plug-in is not there, and a setting of it would be unknown.
    if not secrets.secured:
        return {}
    return {"opensearch_security.cookie.password": secrets.session_key, "opensearch_security.cookie.secure": https}

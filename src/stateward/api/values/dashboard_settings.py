"""The settings of OpenSearch Dashboards and Kibana that Stateward owns, each with the reason."""

from collections.abc import Mapping

from stateward.api.values.settings import Owned, Shape, reason_in

_DATABASE = "Stateward connects the dashboards to the database of the cluster"
_CREDENTIALS = "Stateward makes and rotates the credentials of the dashboards"
_CERTIFICATES = "use spec.dashboards.tls"
_KEYS = "Stateward makes the key once and keeps it, because what it encrypts cannot be read with another one"
_STATUS = "the kubelet and the operator read the status of the dashboards"
_PORT = "the port is fixed (5601), as Service and probes depend on it; use spec.dashboards.service"

OWNED: Mapping[str, Owned] = {
    "opensearch.hosts": Owned(_DATABASE, Shape.LIST),
    "opensearch.username": Owned(_CREDENTIALS),
    "opensearch.password": Owned(_CREDENTIALS),
    "elasticsearch.hosts": Owned(_DATABASE, Shape.LIST),
    "elasticsearch.username": Owned(_CREDENTIALS),
    "elasticsearch.password": Owned(_CREDENTIALS),
    "elasticsearch.serviceAccountToken": Owned(_CREDENTIALS),
    "server.port": Owned(_PORT),
    "server.ssl.enabled": Owned(_CERTIFICATES, Shape.FLAG),
    "server.ssl.certificate": Owned(_CERTIFICATES),
    "server.ssl.key": Owned(_CERTIFICATES),
    "status.allowAnonymous": Owned(_STATUS, Shape.FLAG),
    "opensearch_security.cookie.password": Owned(_KEYS),
    "xpack.security.encryptionKey": Owned(_KEYS),
    "xpack.encryptedSavedObjects.encryptionKey": Owned(_KEYS),
    "xpack.reporting.encryptionKey": Owned(_KEYS),
}
"""The owned settings that people write most; the API server refuses them in their dotted form."""

FAMILIES: Mapping[str, str] = {
    "opensearch.ssl.": _DATABASE,
    "elasticsearch.ssl.": _DATABASE,
    "opensearch.host": _DATABASE,
    "server.ssl.keystore.": _CERTIFICATES,
    "server.ssl.keyPassphrase": _CERTIFICATES,
    "server.ssl.truststore.": _CERTIFICATES,
    "path.data": "it is the mount of a writable directory; use podTemplate",
}
"""Further owned settings, by the beginning of their name."""


def reason_owned(key: str) -> str | None:
    """Return why Stateward owns a dotted key of the dashboards' settings; None if users may set it."""
    return reason_in(key, OWNED, FAMILIES)

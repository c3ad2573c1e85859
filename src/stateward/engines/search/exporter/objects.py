"""What the exporter of a search cluster is configured with."""

import msgspec

from stateward.api.kinds.search import SearchCluster
from stateward.engines.connection.access import Access
from stateward.engines.exporter.objects import exporter_name
from stateward.engines.exporter.settings import SETTINGS
from stateward.engines.search.configuration.security import service_name
from stateward.engines.search.exporter.settings import PASSWORD, TRUSTED, SearchSettings
from stateward.engines.search.spec.flavor import HTTP_PORT


def keys_secret(cluster: SearchCluster) -> str:
    """Return the name of the Secret with the credentials; no pod mounts it."""
    return f"{exporter_name(cluster)}-keys"


def files(cluster: SearchCluster, engine: str, access: Access | None) -> dict[str, str]:
    """Return the configuration, by file name; `access` is the exporter's own, None without security."""
    secured = access is not None
    settings = SearchSettings(
        engine=engine,
        namespace=cluster.metadata.namespace,
        name=cluster.metadata.name,
        endpoint=f"{'https' if secured else 'http'}://{service_name(cluster)}:{HTTP_PORT}",
        server=access.name if access is not None else "",
        user=access.user if access is not None else "",
    )
    found = {SETTINGS: msgspec.json.encode(settings).decode()}
    return found if access is None else {**found, PASSWORD: access.password, TRUSTED: access.trusted}

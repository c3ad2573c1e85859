"""The settings of the exporter of a search cluster."""

from stateward.engines.exporter.settings import Settings

PASSWORD, TRUSTED = "password", "ca.crt"
"""Names of files that are there if the cluster is secured."""


class SearchSettings(Settings, frozen=True, tag="search"):
    """Which cluster is meant, and how it is reached."""

    endpoint: str
    """Base URL, for example `https://logs.prod.svc:9200`."""
    server: str = ""
    """The name for which the certificate of the database must be valid; empty if the database is not secured."""
    user: str = ""

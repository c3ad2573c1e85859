"""The settings of an exporter: what the operator writes into a Secret, and the process in the pod reads."""

from msgspec import Struct

PORT = 9114
PORT_NAME = "metrics"
STANDING_PATH = "/status"
SETTINGS, PASSWORD, TRUSTED = "exporter.json", "password", "ca.crt"
"""Names of the files; the last two are there if the cluster is secured."""


class Settings(Struct, frozen=True):
    """Which cluster is meant, and how it is reached."""

    engine: str
    namespace: str
    name: str
    endpoint: str
    """Base URL, for example `https://logs.prod.svc:9200`."""
    server: str = ""
    """The name for which the certificate of the database must be valid; empty if the database is not secured."""
    user: str = ""


class Standing(Struct, frozen=True):
    """What an exporter tells the operator of itself."""

    up: bool
    """Whether the database answered all questions."""
    why: str = ""
    """Why not, in one sentence without secrets."""

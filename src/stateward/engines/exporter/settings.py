"""The settings of an exporter: what the operator writes into a Secret, and the process in the pod reads."""

from msgspec import Struct

PORT = 9114
PORT_NAME = "metrics"
STANDING_PATH = "/status"
FOLDER = "/stateward/exporter"
"""Where the Secret is mounted."""
SETTINGS = "exporter.json"
"""Name of the file with the settings."""


class Settings(Struct, frozen=True, tag_field="database"):
    """Which cluster is meant; each family of engines adds how it is read."""

    engine: str
    namespace: str
    name: str


class Standing(Struct, frozen=True):
    """What an exporter tells the operator of itself."""

    up: bool
    """Whether the database answered all questions."""
    why: str = ""
    """Why not, in one sentence without secrets."""
    starting: bool = False
    """Whether that is because the first answer is on its way."""

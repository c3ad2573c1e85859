"""What tells one search engine from the other: names, paths and defaults, in one record each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from stateward.api.kinds.search import SearchCluster
from stateward.api.values.version import parse_version
from stateward.engines.search.spec.versions import Lineage

__all__ = ["HTTP_PORT", "TRANSPORT_PORT", "Flavor", "SearchCluster", "Shield"]

HTTP_PORT = 9200
TRANSPORT_PORT = 9300


class Shield(Enum):
    """What secures an engine."""

    PLUGIN = "plugin"
    """OpenSearch's security plugin, which its official images have."""
    XPACK = "xpack"
    """Elasticsearch's own."""


@dataclass(frozen=True)
class Flavor:
    """The names by which an engine of the family goes in its image, its configuration and its environment."""

    engine: str
    """Value of the engine label, and name of the container."""
    image: str
    """Repository of the official image."""
    home: str
    """Where the image keeps the engine; `config` and `data` are in it."""
    config_file: str
    entrypoint: str
    """The image's own start program; it takes the engine's name and settings as arguments."""
    alive: str
    """Path that every node answers, in a cluster or not."""
    java_options: str
    """Environment variable with options for the Java virtual machine."""
    lineage: Lineage
    default_roles: frozenset[str]
    """Roles of a node that was not told any."""
    data_roles: frozenset[str]
    """Roles with which a node may hold shards."""
    tiers: Mapping[str, int]
    """Data roles in the order in which their nodes change; a node with several counts as the last of them."""
    shield: Shield
    announces: bool = False
    """Whether the engine may have records of nodes that go down."""
    agent_image: str = ""
    """Stateward's own image, from which the agent comes into the pods; pods have no agent where it is empty."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings that a pod has unless somebody sets them."""
    settings_from: Mapping[int, Mapping[str, str]] = field(default_factory=dict[int, Mapping[str, str]])
    """More of them, by the first major version that knows them."""

    def defaults(self, version: str) -> dict[str, str]:
        """Return the settings that a pod of a version has unless somebody sets them."""
        parsed = parse_version(version)
        later = (more for major, more in self.settings_from.items() if parsed is not None and parsed.major >= major)
        return {**self.settings, **{key: value for more in later for key, value in more.items()}}

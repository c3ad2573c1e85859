"""The differences between the search engines: names, paths and defaults, one record per engine."""

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
    """The security implementation of an engine."""

    PLUGIN = "plugin"
    """OpenSearch's security plugin, which is part of its official images."""
    XPACK = "xpack"
    """Elasticsearch's built-in security."""


@dataclass(frozen=True)
class Flavor:
    """Names and defaults of one engine in its image, its configuration and its environment."""

    engine: str
    """Value of the engine label, and name of the container."""
    image: str
    """Repository of the official image."""
    home: str
    """Directory of the engine in the image; `config` and `data` are in it."""
    config_file: str
    entrypoint: str
    """The image's own entry point; it takes the engine's name and settings as arguments."""
    alive: str
    """Path that every node answers, in a cluster or not."""
    java_options: str
    """Environment variable with options for the Java virtual machine."""
    lineage: Lineage
    default_roles: frozenset[str]
    """Roles of a node without configured roles."""
    data_roles: frozenset[str]
    """Roles with which a node may hold shards."""
    tiers: Mapping[str, int]
    """Data roles in the order in which their nodes change; a node with several of them counts as the last."""
    shield: Shield
    announces: bool = False
    """Whether the engine may have a shutdown API for nodes."""
    agent_image: str = ""
    """Stateward's own image, the source of the agent; if empty, pods have no agent."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Default settings of a pod."""
    settings_from: Mapping[int, Mapping[str, str]] = field(default_factory=dict[int, Mapping[str, str]])
    """Further default settings, by the first major version that knows them."""

    def defaults(self, version: str) -> dict[str, str]:
        """Return the default settings of a pod at a version."""
        parsed = parse_version(version)
        later = (more for major, more in self.settings_from.items() if parsed is not None and parsed.major >= major)
        return {**self.settings, **{key: value for more in later for key, value in more.items()}}

"""What tells one search engine from the other: names, paths and defaults, in one record each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stateward.api.cluster import OpenSearchCluster

SearchCluster = OpenSearchCluster
"""A cluster of the family."""

HTTP_PORT = 9200
TRANSPORT_PORT = 9300


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
    java_options: str
    """Environment variable with options for the Java virtual machine."""
    default_roles: frozenset[str]
    """Roles of a node that was not told any."""
    data_roles: frozenset[str]
    """Roles with which a node may hold shards."""
    tiers: Mapping[str, int]
    """Data roles in the order in which their nodes change; a node with several counts as the last of them."""
    agent_image: str = ""
    """Stateward's own image, from which the agent comes into the pods; pods have no agent where it is empty."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings that a pod has unless somebody sets them."""

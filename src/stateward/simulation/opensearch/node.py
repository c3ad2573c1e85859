"""One database process: it waits for the permission to bootstrap, starts, finds its cluster, joins, and stops."""

import base64
import hashlib
import json
from enum import Enum
from typing import Any, Protocol

from stateward.api.values import names
from stateward.api.values.roles import VOTING_ONLY
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.process import Container
from stateward.simulation.opensearch.behavior import DatabaseBehavior
from stateward.simulation.opensearch.joining import older
from stateward.simulation.opensearch.shards import Disk

PATIENCE = 300.0
"""Seconds for which the start script waits for the permission to bootstrap."""
SECURITY = ("plugins.security.ssl.http.enabled", "xpack.security.http.ssl.enabled")


class Stage(Enum):
    """The stage of a process."""

    WAITING = "waiting"
    BOOTING = "booting"
    SEEKING = "seeking"
    JOINED = "joined"
    ENDED = "ended"


class Surroundings(Protocol):
    """What a process depends on: the machine, and the discovery of other processes."""

    context: SimulationContext
    behavior: DatabaseBehavior
    default_roles: tuple[str, ...]
    isolated: set[str]
    hanging: set[str]

    def arrived(self, node: "Node") -> None:
        """Handle a process that can communicate."""

    def ended(self, node: "Node", *, graceful: bool) -> None:
        """Handle the end of a process."""

    def find_cluster(self, node: "Node") -> None:
        """Run one discovery attempt of a process."""


class Node:
    """One run of the database in one container."""

    def __init__(self, surroundings: Surroundings, container: Container, disk: Disk) -> None:
        self.container = container
        self.disk = disk
        self.stage = Stage.WAITING
        self.joined_identity = ""
        """The identity of the cluster that it has joined; empty before."""
        self.files = container.config()
        self.config = parse_config(self.files)
        self.name = str(self.config.get("node.name", container.pod.name))
        self.cluster_name = str(self.config.get("cluster.name", ""))
        self.version = container.version
        self.granted = False
        self.silent = False
        """Whether it works, and does not answer when the leader asks all nodes about themselves."""
        self.paused = False
        """Whether its process is stopped for a while: its connections stay open, and nothing is answered."""
        self.unnoticed_until = 0.0
        """Until when the others take it for reachable, although it is cut off or paused."""
        self._surroundings = surroundings
        self._context = surroundings.context
        self._since = self._context.now
        self._begin()

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles in its configuration."""
        found: list[str] = self.config.get("node.roles", list(self._surroundings.default_roles))
        return tuple(found)

    @property
    def id(self) -> str:
        """The id that the node keeps on its disk."""
        return self.disk.node_id

    @property
    def votes(self) -> bool:
        """Whether it may vote."""
        return "cluster_manager" in self.roles or "master" in self.roles

    @property
    def electable(self) -> bool:
        """Whether it may be elected: in Elasticsearch, some nodes only vote."""
        return self.votes and VOTING_ONLY not in self.roles

    @property
    def data(self) -> bool:
        """Whether it may hold shards."""
        return "data" in self.roles

    @property
    def secured(self) -> bool:
        """Whether it uses TLS for members and clients; it cannot communicate with a node without TLS."""
        return any(self.config.get(key) is True for key in SECURITY)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.stage is not Stage.ENDED

    @property
    def answers(self) -> bool:
        """Whether it has started and can communicate."""
        return self.stage in (Stage.SEEKING, Stage.JOINED)

    @property
    def serves(self) -> bool:
        """Whether it has joined its cluster, and answers."""
        return self.stage is Stage.JOINED and not self.paused

    @property
    def reachable(self) -> bool:
        """Whether it can communicate, and is not isolated."""
        return self.answers and not self.paused and self.container.node not in self._surroundings.isolated

    @property
    def believed(self) -> bool:
        """Whether the others take it for reachable."""
        return self.reachable or (self.answers and self._context.now < self.unnoticed_until)

    @property
    def tells(self) -> bool:
        """Whether it answers when the leader asks all nodes about themselves."""
        return self.reachable and not self.silent

    def stop(self) -> None:
        """Stop gracefully: leave the cluster at once, then close the shards. A paused process gets the signal later."""
        if self.alive and self.paused:
            self._context.later(1.0, self.stop)
        elif self.alive:
            self._depart(graceful=True)
            low, high = self._surroundings.behavior.stop
            self._context.soon(low, high, self._end)

    def kill(self) -> None:
        """Kill the process."""
        if self.alive:
            self._depart(graceful=False)

    def _end(self) -> None:
        if self.container.node in self._surroundings.hanging:
            self._context.later(5.0, self._end)
        else:
            self.container.exited(143, "stopped")

    def joined(self, identity: str) -> None:
        """Handle the join of this node to the cluster with an identity."""
        self.joined_identity = identity
        self.stage = Stage.JOINED
        self.disk.identity = identity
        if older(self.disk.version, self.version) or not self.disk.version:
            self.disk.version = self.version
        self.disk.voter = self.votes
        self.container.probe()

    def seek_again(self) -> None:
        """Handle the removal of this node from the cluster; it tries to rejoin."""
        if self.stage is Stage.JOINED:
            self.stage = Stage.SEEKING
            self._context.later(2.0, self._seek)

    def _depart(self, *, graceful: bool) -> None:
        self.stage = Stage.ENDED
        self._surroundings.ended(self, graceful=graceful)

    def _begin(self) -> None:
        """Wait for the configuration of the pod's template, as the start script does, and continue."""
        if not self.alive:
            return
        self.files = self.container.config()
        wanted = self.container.environment.get("STATEWARD_CONFIG_SHA256", "")
        found = b"".join(base64.b64decode(self.files[name]) for name in sorted(self.files))
        if wanted and hashlib.sha256(found).hexdigest() != wanted:
            if self._context.now - self._since >= PATIENCE:
                self._fail("the configuration is not the one that this pod was made for")
            else:
                self._context.later(4.0, self._begin)
            return
        self.config = parse_config(self.files)
        if self.container.environment.get("STATEWARD_BOOTSTRAP_CANDIDATE") == "true":
            self._await_permission()
        else:
            self._boot()

    def _await_permission(self) -> None:
        if not self.alive:
            return
        if not self.container.seeds().get("formed"):
            self.granted = self.container.annotation(names.ANNOTATION_BOOTSTRAP) == "granted"
            if not self.granted:
                if self._context.now - self._since < PATIENCE:
                    self._context.later(4.0, self._await_permission)
                    return
                if not self.disk.identity:
                    self._fail("no leave to form the cluster came")
                    return
        self._boot()

    def _boot(self) -> None:
        self.stage = Stage.BOOTING
        low, high = self._surroundings.behavior.boot
        self._context.soon(low, high, self._booted)

    def _booted(self) -> None:
        if self.stage is not Stage.BOOTING:
            return
        problem = self._problem()
        if problem:
            self._fail(problem)
            return
        self.stage = Stage.SEEKING
        self._surroundings.arrived(self)
        self._seek()

    def _problem(self) -> str:
        bad = next((key for key in self.config if key.startswith("bad.")), "")
        if bad:
            return f"unknown setting [{bad}]"
        if self.disk.version and older(self.version, self.disk.version):
            return "Could not load codec: the data was written by a newer version"
        if self.version in self._surroundings.behavior.broken:
            return "java.lang.IllegalStateException: the database does not start"
        if self.disk.copies and not self.data:
            return "node does not have the data role but has shard data"
        return ""

    def _seek(self) -> None:
        if self.stage is Stage.SEEKING:
            self._surroundings.find_cluster(self)
        if self.stage is Stage.SEEKING:
            self._context.later(self._context.rng.uniform(1.5, 4.0), self._seek)

    def _fail(self, why: str) -> None:
        self._context.trace(f"{self.name} ends: {why}")
        self._context.count("database process ended with an error")
        self._depart(graceful=False)
        self.container.exited(1, why)


def parse_config(files: dict[str, str]) -> dict[str, Any]:
    """Return the settings of a configuration: one `key: JSON` a line of its one YAML file."""
    found: dict[str, Any] = {}
    content = next((content for name, content in files.items() if name.endswith(".yml")), "")
    for line in base64.b64decode(content).decode().splitlines():
        key, separator, value = line.partition(": ")
        if separator:
            found[key] = json.loads(value)
    return found

"""The story of a world: its machines, its cluster, the load, and what happens to it without a viewer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import PatchKind
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.campaign.engine_setups import FOUNDATIONDB
from stateward.simulation.interactive.inputs import LoseNode, Patch, RestoreNode
from stateward.simulation.interactive.live_world import LiveWorld
from stateward.simulation.users.foundationdb_edits import VERSIONS
from stateward.simulation.users.foundationdb_pools import pool_of
from stateward.simulation.world.engine_products import DEFAULT, PRODUCTS
from stateward.simulation.world.world import NAME, NAMESPACE, Layout, World

INDICES, INDEX_BYTES, INDEX_RATE = 8, 400 * 2**20, 150.0
"""Indices under load: their number, their size, and the documents a second that are written to each."""
CALM = 60.0
"""Seconds of load before the story begins."""
NODE_LOST, NODE_BACK = 100.0, 330.0
"""Seconds after the edit at which a node loses its power, and gets it back."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The story with one engine."""

    engine: str
    layout: Layout
    spec: Json
    versions: tuple[str, ...]
    """The version at the start, the one that the user asks for, and later ones."""


def scenario(engine: str) -> Scenario:
    """Return the story with an engine."""
    if engine == FOUNDATIONDB:
        return _foundationdb()
    product = PRODUCTS[engine]
    versions = product.versions[-3:] if product is DEFAULT else product.versions[-2:]
    pools: list[Json] = [
        {"name": "managers", "replicas": 3, "roles": [product.manager], "storage": {"size": "1Gi"}},
        {"name": "hot", "replicas": 6, "roles": ["data", "ingest"], "storage": {"size": "20Gi"}},
    ]
    return Scenario(engine, Layout(3, 3, 8, "node"), _spec(versions[0], pools), versions)


def _foundationdb() -> Scenario:
    pools = [pool_of("storage", "storage", 6), pool_of("log", "log", 4), pool_of("stateless", "stateless", 2)]
    return Scenario(FOUNDATIONDB, Layout(3, 4, 4, "node"), _spec(VERSIONS[0], pools), VERSIONS)


def _spec(version: str, pools: list[Json]) -> Json:
    return {"version": version, "pools": pools, "replacement": {"enabled": True, "after": "2m"}}


def begin(story: Scenario, seed: int) -> LiveWorld:
    """Return the world of a story under load, right before the first event; raise TimeoutError."""
    live = LiveWorld(story.engine, seed, story.layout, story.spec)
    live.form(lambda: write_documents(live.world))
    live.advance(live.at + CALM)
    live.measure()
    return live


def write_documents(world: World) -> None:
    """Create indices that clients write to; FoundationDB has data from the start."""
    database = world.database()
    for number in range(INDICES if database is not None else 0):
        assert database is not None  # noqa: S101 - checked above
        database.create_index(f"orders-{number}", 1, INDEX_BYTES, INDEX_RATE)


def set_version(live: LiveWorld, version: str) -> None:
    """Edit the version of the cluster, as a user does."""
    body = {"spec": {"version": version}}
    live.give(Patch(live.world.clusters, NAMESPACE, NAME, PatchKind.MERGE.value, body))


def lose_node(live: LiveWorld) -> str:
    """Let the node of the next member lose its power; return its name, empty if one is lost already."""
    if live.lost_nodes():
        return ""
    node = node_of(next_member(live.world))
    if node:
        live.give(LoseNode(node))
    return node


def restore_nodes(live: LiveWorld) -> None:
    """Bring all lost nodes back."""
    for node in live.lost_nodes():
        live.give(RestoreNode(node))


def next_member(world: World) -> Stored | None:
    """Return the pod of a running data member, preferably of one that has not changed yet."""
    pods = [pod for pod in world.store.all("/pods") if pod.labels.get(names.LABEL_POOL) in ("hot", "storage")]
    running = sorted((pod for pod in pods if part(pod.doc, "status").get("phase") == "Running"), key=_name)
    return running[min(1, len(running) - 1)] if running else None


def node_of(pod: Stored | None) -> str:
    """Return the node of a pod; empty without one."""
    return part(pod.doc, "spec").get("nodeName", "") if pod is not None else ""


def _name(pod: Stored) -> str:
    return pod.key.name


Event = Callable[[LiveWorld], object]


def events(story: Scenario) -> Mapping[float, Event]:
    """Return what happens, by seconds after the start of the story."""
    return {
        0.0: lambda live: set_version(live, story.versions[1]),
        NODE_LOST: lose_node,
        NODE_BACK: restore_nodes,
    }

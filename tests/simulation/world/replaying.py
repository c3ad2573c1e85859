"""Replays a recorded sequence on the model, and returns the differences from the database.

The database chooses freely among equal nodes. So the comparison covers what the rules decide; then the model adopts
the database's choice, so that the next steps start from the same state.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence

from stateward.engines import opensearch
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.audit import Unaudited
from stateward.simulation.apiserver.client import WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.http import Wire, WorldTransport
from stateward.simulation.opensearch.shards import Copy, Shard
from stateward.simulation.timing.loop import run_virtual
from tests.simulation.scenario import Scenario, hot, managers
from tests.support.recorded import AWAY, Ground, Picture, Scene, do, settled


class Pods:
    """The processes of the world, at their own addresses."""

    def __init__(self, scenario: Scenario) -> None:
        self._story = scenario

    async def endpoints(self) -> tuple[str, ...]:
        nodes = [node for node in self._story.world.databases.nodes.values() if node.alive]
        return tuple(f"http://{node.container.address}:9200" for node in nodes)


def differences(scenes: Sequence[Scene]) -> list[str]:
    """Return the differences of the model step by step; the first different step ends the replay."""
    return run_virtual(replay(scenes))


async def replay(scenes: Sequence[Scene]) -> list[str]:
    with Scenario(managers(), hot(3), version=version(scenes[0])).logged() as scenario:
        await scenario.begin(0)
        retire(scenario)
        ground = ground_of(scenario)
        found: list[str] = []
        for number, scene in enumerate(scenes, 1):
            async with asyncio.timeout(3600.0):
                await do(ground, scene.step)
                seen = await settled(ground, scene.step)
            step = " ".join(part for part in (scene.step.does, scene.step.who, scene.step.what) if part)
            found += [f"step {number} ({step}): {text}" for text in compared(scene.picture, seen)]
            if found:
                return found
            if scene.picture is not None:
                take_over(scenario.database, scene.picture)
        return found


def version(first: Scene) -> str:
    assert first.picture is not None
    return first.picture.nodes["hot-0"].partition(" ")[0]


def retire(scenario: Scenario) -> None:
    """Kill the operator, and do not restart it."""
    scenario.process.start = lambda: None
    scenario.process.kill()


def ground_of(scenario: Scenario) -> Ground:
    world = scenario.world
    network = Network(world.context.stream("kubectl"), lambda _: None)
    api = WorldApi(world.server, world.change_signal, network, "kubectl", Unaudited())
    transport = WorldTransport(world.databases, Wire(world.context.stream("replay"), lambda _: None))
    return Ground(api, opensearch.driver(transport), transport, Pods(scenario), Key("data", "logs"))


def compared(real: Picture | None, model: Picture | None) -> list[str]:
    """Return in which of the things that rules decide two pictures differ."""
    if real is None or model is None:
        return [] if real is model else [f"the database {said(real)}, the model {said(model)}"]
    pairs = {name: (getattr(real, name), getattr(model, name)) for name in ("health", "nodes", "excluded", "draining")}
    pairs |= {"allocation": (real.allocation, model.allocation), "led": (bool(real.leader), bool(model.leader))}
    pairs |= {"voters": (voters(real), voters(model)), "loads": (loads(real), loads(model))}
    pairs |= {name: (ways(real, name), ways(model, name)) for name in sorted(real.shards.keys() | model.shards.keys())}
    return [f"{name}: database {one}, model {other}" for name, (one, other) in pairs.items() if one != other]


def said(seen: Picture | None) -> str:
    return "does not answer" if seen is None else f"is {seen.health}"


def voters(seen: Picture) -> tuple[int, int]:
    """Return how many may vote, and how many of them are not there."""
    return len(seen.voters), seen.voters.count(AWAY)


def loads(seen: Picture) -> list[int]:
    """Return how many copies the data nodes have, fewest first; drained nodes are excluded."""
    count = Counter(member(copy) for copies in seen.shards.values() for copy in copies)
    return sorted(count[name] for name, kind in seen.nodes.items() if kind.endswith("data"))


def ways(seen: Picture, shard: str) -> list[str]:
    """Return where the copies of a shard stand, without the names of their nodes."""
    return sorted(copy.replace(f" {member(copy)}", "") if member(copy) else copy for copy in seen.shards.get(shard, ()))


def member(copy: str) -> str:
    """Return the node that a copy is on; empty for one that is nowhere."""
    words = copy.split(" ")
    return words[2] if words[1] != "unassigned" else ""


def take_over(cluster: Cluster, seen: Picture) -> None:
    """Put the model's copies and its leader where the database has them."""
    ids = {node.name.removeprefix("logs-"): node.id for node in cluster.nodes.values()}
    cluster.leader = ids[seen.leader]
    for shard in cluster.shards:
        words = seen.shards[shard.name]
        primary = next((member(word) for word in words if word.startswith("p") and member(word)), "")
        replicas = [member(word) for word in words if word.startswith("r") and member(word)]
        active = [copy for copy in shard.copies if copy.active]
        if primary:
            put(cluster, shard, shard.primary, ids[primary])
        for copy, name in zip([c for c in active if not c.primary], replicas, strict=True):
            put(cluster, shard, copy, ids[name])


def put(cluster: Cluster, shard: Shard, copy: Copy, node: str) -> None:
    """Put one copy onto a node, with its data."""
    if copy.node == node:
        return
    for other in shard.copies:
        if other.node == node:  # They swap.
            other.node = copy.node
            cluster.nodes[copy.node].disk.copies[shard.name] = other.allocation
            break
    else:
        cluster.nodes[copy.node].disk.copies.pop(shard.name, None)
    copy.node = node
    cluster.nodes[node].disk.copies[shard.name] = copy.allocation

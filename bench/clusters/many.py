"""Many settled clusters without a Kubernetes: one is recorded on a sandbox and served under many names."""

import asyncio
from pathlib import Path
from typing import Any

import yaml

from bench.children import LOGS, child
from bench.clusters import fleet
from bench.clusters.fleet import Mode
from bench.clusters.recording import Recording, record, save
from bench.clusters.scale import SANDBOX, Extent, Stage, operating, prepare
from bench.table import Row
from sandbox import Sandbox


def measure(extent: Extent) -> list[Row]:
    """Record one settled cluster on a sandbox, serve it under many names, and return the figures of the operator.

    Nothing else of Kubernetes runs then, and the clusters are there at once.
    """
    file = LOGS / f"recording-{extent.mode}.json"
    save(_recorded(extent), file)
    return replayed(extent, file)


def replayed(extent: Extent, file: Path) -> list[Row]:
    """Return the figures of the operator with the clusters of a recording."""
    kubeconfig = LOGS / "replay.kubeconfig"
    rows: list[Row] = []
    for size in extent.sizes:
        with child("clusters.replay", str(file), str(size)) as server:
            port = server.wait_for("ready on port", 240)
            kubeconfig.write_text(yaml.safe_dump(kubeconfig_of(f"http://127.0.0.1:{port}")))
            with child("clusters.world", str(kubeconfig), str(size), extent.mode) as world:
                world.wait_for("ready", 240)
                with operating(str(kubeconfig)) as scene:
                    rows += asyncio.run(Stage(scene, world, extent, size).replayed())
    return rows


def _recorded(extent: Extent) -> Recording:
    sandbox = Sandbox(SANDBOX)
    sandbox.down()
    try:
        sandbox.up(nodes=0, pretend_nodes=3)
        kubeconfig = str(sandbox.kubeconfig_path)
        asyncio.run(prepare(kubeconfig))
        mode = Mode.SECURED if extent.mode.secured else Mode.PLAIN
        with child("clusters.world", kubeconfig, "1", mode) as world, operating(kubeconfig) as scene:
            world.wait_for("ready", 60)
            asyncio.run(Stage(scene, world, extent, 1).settled())
            return asyncio.run(record(kubeconfig))
    finally:
        sandbox.down()


def kubeconfig_of(server: str) -> dict[str, Any]:
    """Return a kubeconfig for a replay at this address."""
    context = {"cluster": "replay", "user": "replay", "namespace": fleet.NAMESPACE}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "replay",
        "clusters": [{"name": "replay", "cluster": {"server": server}}],
        "users": [{"name": "replay", "user": {}}],
        "contexts": [{"name": "replay", "context": context}],
    }

"""A real OpenSearch of three nodes on loopback, started by the product's own start script and configuration.

Each node has a loopback address of its own, so ports, the seed-hosts file and endpoints are those of production.
"""

import asyncio
import base64
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from stateward.api.kinds.cluster import Storage
from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.values.base import Json, Metadata
from stateward.engines import opensearch
from stateward.engines.connection.base import Engine, Target
from stateward.engines.connection.http import HttpTransport
from stateward.engines.search.objects.shared import FORMED_FILE, SEEDS_FILE, seed_lines, start_script
from stateward.planning.model.observation import Database, Unknown

JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
NODES = 3
PATIENCE = 90.0
"""Seconds, for processes that start on a busy machine."""

ENTRYPOINT = """#!/bin/bash
shift
options=(-Xms192m -Xmx192m -Xss1m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dio.netty.noUnsafe=true
  -Djna.nosys=true -Djna.tmpdir="$STATEWARD_HOME/tmp" -Djava.io.tmpdir="$STATEWARD_HOME/tmp" $VERSION_OPTIONS
  -Dlog4j.shutdownHookEnabled=false -Dlog4j2.disable.jmx=true -Djava.security.manager=allow
  -Dopensearch.path.home="$STATEWARD_HOME" -Dopensearch.path.conf="$STATEWARD_HOME/config"
  -Dopensearch.distribution.type=tar -Dopensearch.bundled_jdk=false)
"$JAVA" "${options[@]}" -cp "$STATEWARD_HOME/lib/*" org.opensearch.bootstrap.OpenSearch \\
  -Epath.data="$STATEWARD_HOME/data" -Enetwork.host="$POD_IP" "$@"
"""
"""Like that of the official images before 2.15: a shell that neither execs nor forwards signals."""

SECURED_THREADS = (
    "-Djava.util.concurrent.ForkJoinPool.common.threadFactory="
    "org.opensearch.secure_sm.SecuredForkJoinWorkerThreadFactory"
)


Reached = Callable[[Database | Unknown], bool]
"""What is looked for."""


class Node:
    """One member's directory and process."""

    def __init__(self, root: Path, version: str, cluster: OpenSearchCluster, ordinal: int, address: str) -> None:
        self.root = root
        self.address = address
        self.objects = opensearch.member_objects(cluster, "all", ordinal, version)
        self.name: str = self.objects.workload["metadata"]["name"]
        self.home = root / "home"
        self.log = root / "log"
        self._version = version
        self.process: subprocess.Popen[bytes] | None = None

    def lay_out(self, distribution: Path) -> None:
        """Make the directories that the pod's volumes and image would be."""
        for name in ("config", "seeds", "pod", "run", "home/config", "home/data", "home/tmp", "home/logs"):
            (self.root / name).mkdir(parents=True)
        for name in ("lib", "modules", "plugins"):
            (self.home / name).symlink_to(distribution / name)
        for name in ("jvm.options", "log4j2.properties"):
            shutil.copy(distribution / "config" / name, self.home / "config")
        for name, content in self.objects.config["data"].items():
            (self.root / "config" / name).write_bytes(base64.b64decode(content))
        (self.root / "start.sh").write_text(start_script())
        entrypoint = self.root / "entrypoint"
        entrypoint.write_text(ENTRYPOINT)
        entrypoint.chmod(0o755)

    def start(self) -> None:
        """Run the start script, as user 1000 where this is root: the database refuses to run as root."""
        container: Json = self.objects.workload["spec"]["template"]["spec"]["containers"][0]
        environment = {item["name"]: item["value"] for item in container["env"] if "value" in item}
        environment |= {
            "PATH": os.environ["PATH"],
            "POD_IP": self.address,
            "JAVA": JAVA,
            "VERSION_OPTIONS": SECURED_THREADS if self._version.startswith("2.19") else "",
            "STATEWARD_ROOT": str(self.root),
            "STATEWARD_HOME": str(self.home),
            "STATEWARD_ENTRYPOINT": str(self.root / "entrypoint"),
        }
        root = os.geteuid() == 0
        if root:
            subprocess.run(["chown", "-R", "1000:1000", str(self.root)], check=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["/bin/bash", str(self.root / "start.sh")],
                env=environment,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=1000 if root else None,
                group=1000 if root else None,
                extra_groups=[] if root else None,
            )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send the start script a signal, as the kubelet does, and return its exit status."""
        if self.process is None:
            return 0
        self.process.send_signal(number)
        status = self.process.wait(60)
        self.process = None
        return status


class Processes:
    """The whole cluster."""

    def __init__(self, root: Path, version: str) -> None:
        pool = Pool(name="all", replicas=NODES, storage=Storage(size="1Gi"))
        metadata = Metadata(name="logs", namespace=f"test{os.getpid()}", uid="uid")
        self.cluster = OpenSearchCluster(metadata=metadata, spec=OpenSearchSpec(version=version, pools=[pool]))
        network = f"127.{random.randint(16, 250)}.{random.randint(1, 250)}"  # noqa: S311 - only to stay apart
        self.nodes = [Node(root / str(n), version, self.cluster, n, f"{network}.{n + 1}") for n in range(NODES)]
        self.name = opensearch.cluster_name(self.cluster)
        self.before_leave: Database | Unknown | None = None

    def target(self, *, identity: str = "") -> Target:
        """Return where the cluster answers."""
        return Target(tuple(f"http://{node.address}:9200" for node in self.nodes), self.name, identity)

    def publish_seeds(self) -> None:
        """Write the seed-hosts file of every node, as the ConfigMap would bring it."""
        for node in self.nodes:
            (node.root / "seeds" / SEEDS_FILE).write_text(seed_lines(other.address for other in self.nodes))

    def declare_formed(self) -> None:
        """Let every node know that the cluster has been formed."""
        for node in self.nodes:
            (node.root / "seeds" / FORMED_FILE).write_text("yes\n")

    def logs(self) -> str:
        """Return the ends of the logs, to say why something failed."""
        return "\n".join(f"--- {n.name}\n" + n.log.read_text(errors="replace")[-3000:] for n in self.nodes)


async def form(cluster: Processes) -> None:
    """Give the first member its leave once another one answers that nothing is formed."""
    async with aiohttp.ClientSession() as session:
        engine = opensearch.driver(HttpTransport(session))
        cluster.before_leave = await until(
            cluster, engine, lambda seen: isinstance(seen, Unknown) and "not formed" in seen.why
        )
        (cluster.nodes[0].root / "pod" / "bootstrap").write_text("granted")
        await until(cluster, engine, lambda seen: isinstance(seen, Database) and len(seen.nodes) == NODES)
    cluster.declare_formed()


async def until(cluster: Processes, engine: Engine, reached: Reached) -> Database | Unknown:
    """Look until what is seen passes the test; fail after a while."""
    deadline = time.monotonic() + PATIENCE
    while True:
        seen = await engine.observe(cluster.target())
        if reached(seen):
            return seen
        if time.monotonic() > deadline:
            pytest.fail(f"waited in vain; last seen: {seen}\n{cluster.logs()}")
        await asyncio.sleep(0.3)

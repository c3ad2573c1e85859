"""Releases of the chart in the sandbox by the real Helm, in two versions of the operator.

The newer version is this tree's image with another version number in it, so that all that follows from the number
differs: the agent in new pods, and which pods count as outdated.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

import msgspec
import yaml

from sandbox import Sandbox
from sandbox.images.layers import Entry, layer
from sandbox.images.loading import load_everywhere
from sandbox.images.oci import Execution, Image, assemble
from sandbox.images.operator import operator_image
from sandbox.images.store import blob_store, processor
from stateward import __file__ as package
from stateward import __version__
from tests.e2e.operators import CHART, NAMESPACE, OPERATORS
from tests.integration.install.helm import Tools

OLD, NEW = __version__, "99.0.0"
CANARY = "stateward-canary"
"""The second release, and its namespace."""
WAVE = "canary"
REPOSITORY = "stateward.dev/stateward"


def load(sandbox: Sandbox) -> None:
    """Load the image of this tree under the tag of each version."""
    made = operator_image(sandbox.progress)
    older = msgspec.structs.replace(made, name=f"{REPOSITORY}:{OLD}")
    for image in (older, _newer(made, sandbox.name)):
        load_everywhere(list(sandbox.nodes.values()), image)


def _newer(made: Image, scratch: str) -> Image:
    """Return the image of the newer version: one more layer, in which the version differs."""
    store = blob_store()
    text = Path(package).read_text(encoding="utf-8")
    assert f'"{OLD}"' in text
    entry = Entry("opt/stateward/stateward/__init__.py", text.replace(f'"{OLD}"', f'"{NEW}"').encode())
    config = json.loads(store.path(made.config.digest).read_bytes())["config"]
    execution = Execution(
        config["Entrypoint"],
        directory=config["WorkingDir"],
        user=config["User"],
        environment=dict(each.split("=", 1) for each in config["Env"]),
    )
    added = layer(store, f"{NEW}-{scratch}", [entry])
    return assemble(store, f"{REPOSITORY}:{NEW}", [*made.layers, added], execution, processor())


def chart_of_newer(folder: Path) -> Path:
    """Return the chart as the newer version would have it."""
    chart = copytree(CHART, folder / "stateward", dirs_exist_ok=True)
    file = chart / "Chart.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "version": NEW, "appVersion": NEW}))
    return chart


@dataclass(frozen=True)
class Releases:
    """What docs/install.md says, as commands; each returns when the operator's pods are as they should be.

    They run in a thread: the witnesses of a case look on meanwhile.
    """

    tools: Tools
    newer: Path
    """The chart of the newer version."""

    async def kubectl(self, *words: str, stdin: str = "") -> str:
        """Run kubectl; fails with what it said."""
        return await asyncio.to_thread(self.tools.said, self.tools.kubectl, *words, stdin=stdin)

    async def helm(self, *words: str) -> str:
        """Run Helm; fails with what it said."""
        return await asyncio.to_thread(self.tools.said, self.tools.helm, *words)

    async def install(self, *more: str) -> None:
        """Install the older version, with the webhook."""
        values = ("--set=webhook=true", f"--set=image.repository={REPOSITORY}")
        await self.helm("install", "stateward", str(CHART), "-n", NAMESPACE, "--create-namespace", *values, *more)
        await self._rolled_out("stateward", NAMESPACE)

    async def upgrade(self) -> None:
        """Upgrade to the newer version, and wait until the processes of the older one have ended."""
        before = await self.operators(NAMESPACE)
        await self.helm("upgrade", "stateward", str(self.newer), "-n", NAMESPACE, "--reset-then-reuse-values")
        await self._rolled_out("stateward", NAMESPACE)
        await self.kubectl("-n", NAMESPACE, "wait", "--for=delete", *before, "--timeout=120s")

    async def uninstall(self, name: str, namespace: str, *more: str) -> str:
        """Uninstall a release, and wait until its processes have ended; returns what Helm says."""
        said = await self.helm("uninstall", name, "-n", namespace, *more)
        await self.kubectl("-n", namespace, "wait", "--for=delete", "pods", "-l", OPERATORS, "--timeout=120s")
        return said

    async def try_newer(self, definitions: str) -> None:
        """Install the newer version as the operator of a wave, with its definitions before it."""
        await self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=definitions)
        values = (f"--set=wave={WAVE}", "--set=crds.install=false", f"--set=image.repository={REPOSITORY}")
        await self.helm("install", CANARY, str(self.newer), "-n", CANARY, "--create-namespace", *values)
        await self._rolled_out(CANARY, CANARY)

    async def operators(self, namespace: str) -> list[str]:
        """Return the pods of an operator, as kubectl names them."""
        return (await self.kubectl("-n", namespace, "get", "pods", "-l", OPERATORS, "-o", "name")).split()

    async def _rolled_out(self, name: str, namespace: str) -> None:
        await self.kubectl("-n", namespace, "rollout", "status", f"deployment/{name}", "--timeout=180s")

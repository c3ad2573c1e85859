"""A new user who types the documented commands into a shell."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from tests.integration.api_server import PATIENCE

PROGRAMS = Path(sys.executable).parent
"""Where `stateward` and `kubectl-stateward` are."""


class Newcomer:
    """A folder to work in, and a kubeconfig whose context has a namespace of their own."""

    def __init__(self, folder: Path, kubeconfig: Path, namespace: str) -> None:
        self.folder = folder
        self.namespace = namespace
        self._kubeconfig = folder / "kubeconfig"
        self._kubeconfig.write_text(in_namespace(kubeconfig, namespace))

    async def types(self, line: str, *, code: int = 0) -> str:
        """Return what a command prints; `code` is the exit code that it should end with."""
        process = await self._begun(f"exec {line}", asyncio.subprocess.PIPE)
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        said = (out + err).decode()
        assert process.returncode == code, f"$ {line}\n{said}"
        assert "Traceback" not in said
        return said

    @asynccontextmanager
    async def operator(self) -> AsyncGenerator[None]:
        """Have the operator at work in the namespace, as a process of its own."""
        line = f"stateward operator --no-leader-elect -n {self.namespace} --lease-namespace {self.namespace}"
        with (self.folder / "operator.log").open("wb") as log:
            process = await self._begun(f"exec {line} --health-port 0 --metrics-port 0", log.fileno())
        try:
            yield
            assert process.returncode is None, (self.folder / "operator.log").read_text()
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()

    async def _begun(self, line: str, out: int) -> asyncio.subprocess.Process:
        path = f"{PROGRAMS}:{os.environ.get('PATH', '')}"
        environment = os.environ | {"KUBECONFIG": str(self._kubeconfig), "PATH": path}
        return await asyncio.create_subprocess_shell(line, stdout=out, stderr=out, cwd=self.folder, env=environment)


def in_namespace(kubeconfig: Path, namespace: str) -> str:
    """Return a kubeconfig whose contexts have a namespace."""
    content = yaml.safe_load(kubeconfig.read_text())
    for context in content["contexts"]:
        context["context"]["namespace"] = namespace
    return yaml.safe_dump(content)

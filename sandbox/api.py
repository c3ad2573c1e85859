"""`Sandbox`: everything that the command line can do, as a Python object for tests and tools."""

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sandbox import settings as settings_file
from sandbox.addressing import node_addresses
from sandbox.bringup import bring_up
from sandbox.controlplane import ControlPlane
from sandbox.errors import SandboxError
from sandbox.images.catalog import image
from sandbox.images.loading import load_everywhere
from sandbox.kubeapi import KubeApi
from sandbox.layout import CONTROL_PLANE, DEFAULT_NAME, Layout, cache_root
from sandbox.locks import locked
from sandbox.machines import Machine
from sandbox.nodes.node import Node
from sandbox.progress import Progress
from sandbox.settings import Settings
from sandbox.teardown import take_down
from sandbox.toolchain.kubelite import build_kubelite
from sandbox.toolchain.native import build_native


class Sandbox:
    """A real Kubernetes on this machine, by name. As a context manager it goes down at the end."""

    def __init__(self, name: str = DEFAULT_NAME, *, progress: Progress | None = None) -> None:
        self.layout = Layout.of(name)
        self.progress = progress or Progress()

    @property
    def name(self) -> str:
        """The sandbox's name."""
        return self.layout.name

    @property
    def kubeconfig_path(self) -> Path:
        """The administrator's kubeconfig for use on this machine (through the relay on 127.0.0.1)."""
        return self.layout.kubeconfig

    @property
    def settings(self) -> Settings:
        """What the sandbox was asked to be; raise SandboxError if there is none."""
        found = settings_file.load(self.layout.settings)
        if found is None:
            raise SandboxError(f"there is no sandbox {self.name!r}; run 'sandbox up --name {self.name}'")
        return found

    @property
    def api(self) -> KubeApi:
        """A client of the API server, as administrator."""
        assert self.settings  # noqa: S101 - says so when there is none
        return KubeApi(self.kubeconfig_path)

    @property
    def nodes(self) -> dict[str, Node]:
        """The nodes, by name."""
        settings = self.settings
        control_plane = ControlPlane(self.layout, build_kubelite(self.progress))
        addresses = node_addresses(settings.nodes)
        return {each.name: Node(control_plane, each, settings.sync_frequency) for each in addresses}

    def up(self, nodes: int = 3, **choices: int | bool) -> Self:
        """Bring the sandbox up, or repair it; what runs already is left alone. Return itself.

        The other choices are those of `Settings`: `port`, `sync_frequency` (seconds), `kwok`, `pretend_nodes`.
        """
        with self._locked():
            bring_up(self.layout, Settings(nodes=nodes, **choices), self.progress)  # pyright: ignore[reportArgumentType]
        return self

    def down(self) -> bool:
        """End the sandbox and leave nothing. Return whether there was one."""
        with self._locked():
            return take_down(self.layout)

    def load_image(self, reference: str) -> str:
        """Make an image if need be, import it into every node that lacks it, and return its full name."""
        made = image(reference, build_native(self.progress), self.progress)
        with self.progress.step(f"loading {made.name} into {len(self.nodes)} nodes"):
            load_everywhere(list(self.nodes.values()), made)
        return made.name

    def command(self, argv: Sequence[str | Path]) -> list[str]:
        """Return the words that run `argv` inside the control plane's network, with KUBECONFIG set."""
        enter = Machine(self.layout, CONTROL_PLANE).enter(mounts=True)
        return [*enter, "env", f"KUBECONFIG={self.layout.kubeconfig_inside}", *(str(word) for word in argv)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        with locked(cache_root() / "locks" / self.name):
            yield

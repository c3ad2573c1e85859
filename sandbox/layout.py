"""Where a sandbox keeps its things: one directory of state for each name, one cache for all."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError

DEFAULT_NAME = "stateward"
CONTROL_PLANE = "control-plane"
SWITCH = "switch"

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
_SOURCES = Path(__file__).resolve().parent


def sources() -> Path:
    """Return the directory of this package, which also holds the Go module and the C programs."""
    return _SOURCES


def repository() -> Path:
    """Return the root of the checkout this package is part of."""
    return _SOURCES.parent


def cache_root() -> Path:
    """Return where builds, downloads and image layers are kept between sandboxes."""
    configured = os.environ.get("STATEWARD_CACHE")
    return Path(configured).absolute() if configured else Path.home() / ".cache" / "stateward"


def state_root() -> Path:
    """Return the directory under which each sandbox has its own."""
    return Path(os.environ.get("STATEWARD_SANDBOX_DIR", "/var/lib/stateward-sandbox")).absolute()


@dataclass(frozen=True)
class NodeLayout:
    """The directories of one node; `lib` and `log` are its /var/lib and /var/log."""

    root: Path

    @property
    def lib(self) -> Path:
        """What the node sees as /var/lib."""
        return self.root / "lib"

    @property
    def log(self) -> Path:
        """What the node sees as /var/log."""
        return self.root / "log"

    @property
    def configuration(self) -> Path:
        """What the node sees as /var/lib/sandbox: configuration files and keys."""
        return self.lib / "sandbox"

    @property
    def volumes(self) -> Path:
        """What the node sees as /var/lib/volumes: one directory for each local volume."""
        return self.lib / "volumes"


@dataclass(frozen=True)
class Layout:
    """The directories of one sandbox."""

    name: str
    root: Path

    @classmethod
    def of(cls, name: str) -> "Layout":
        """Return the layout of the sandbox `name`; raise SandboxError for an impossible name."""
        if not _NAME.fullmatch(name):
            raise SandboxError(
                f"sandbox name {name!r} is not usable: take at most 32 lower-case letters, digits and inner '-'"
            )
        return cls(name, state_root() / name)

    @property
    def records(self) -> Path:
        """One file for each process that was started."""
        return self.root / "records"

    @property
    def logs(self) -> Path:
        """What the processes printed."""
        return self.root / "logs"

    @property
    def pki(self) -> Path:
        """Keys, certificates and the kubeconfigs of the components."""
        return self.root / "pki"

    @property
    def audit_log(self) -> Path:
        """The API server's log of the audited user's requests, one JSON object in each line."""
        return self.logs / "audit.log"

    @property
    def etcd(self) -> Path:
        """The data of etcd."""
        return self.root / "etcd"

    @property
    def settings(self) -> Path:
        """What `up` was asked for, to be found again by the other verbs."""
        return self.root / "settings.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig for use outside, by way of the relay."""
        return self.root / "kubeconfig"

    @property
    def kubeconfig_inside(self) -> Path:
        """The administrator's kubeconfig for use inside the sandbox's network."""
        return self.pki / "admin-inside.kubeconfig"

    @property
    def cgroup(self) -> str:
        """The cgroup, relative to each hierarchy's root, above everything that runs in containers."""
        return f"stateward-sandbox/{self.name}"

    def node(self, name: str) -> NodeLayout:
        """Return the layout of the node `name`."""
        return NodeLayout(self.root / "nodes" / name)

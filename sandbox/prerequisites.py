"""What the machine must offer before anything is begun; each thing that is missing is said in one line."""

import ctypes
import os
import re
import shutil
from pathlib import Path

from sandbox.errors import CommandError, SandboxError
from sandbox.host import cgroups, packages
from sandbox.host.commands import run
from sandbox.host.ports import require_free
from sandbox.layout import Layout, cache_root
from sandbox.progress import Progress
from sandbox.settings import Settings
from sandbox.toolchain.kubelite import is_built

_GIB = 2**30
# Measured: 0.4 GB for a control plane and 0.1 GB for a node, and something left for pods.
_MEMORY_CONTROL_PLANE = 0.6
_MEMORY_NODE = 0.2
# Counted on a sandbox that runs: API server 6, controller manager 5; kubelet 6, containerd and kube-proxy 1 each.
_WATCHES_CONTROL_PLANE = 12
_WATCHES_NODE = 8
_LIBC = ctypes.CDLL(None)
_WATCH_LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
_DISK_STATE = 3.0
_DISK_FULL = 0.84
"""Databases take no copy of a shard on a disk that is fuller than 0.85: changes wait, and tests fail for no reason."""
_DISK_CACHE = 5.0  # of which Go's intermediate results are the most, once

# Go from this version on fetches, as a module, the newer version that go.mod names.
_OLDEST_GO = (1, 21)

_PROBE = """
set -e
mount -t tmpfs tmpfs "$1"; mkdir "$1/lower" "$1/upper" "$1/work" "$1/all"
step() { what=$1; shift; "$@" 2>/dev/null || { echo "$what" >&2; exit 1; }; }
step "overlay file systems (CONFIG_OVERLAY_FS)" \
  mount -t overlay overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" "$1/all"
step "virtual cables (CONFIG_VETH)" ip link add probe0 type veth peer name probe1
step "bridges (CONFIG_BRIDGE)" ip link add probe2 type bridge
step "nftables with NAT (CONFIG_NF_TABLES, CONFIG_NFT_NAT)" \
  nft 'table ip t { chain n { type nat hook prerouting priority 0; }; }'
"""


def require_machine(layout: Layout, wanted: Settings, progress: Progress) -> None:
    """Raise SandboxError if the sandbox cannot run here; install the system packages that are missing."""
    require_root()
    new = not layout.settings.exists()
    if new and wanted.port:
        require_free(wanted.port)
    if new:
        _require_memory(wanted.nodes)
        _require_watches(wanted.nodes)
        _require_disk(layout.root, _DISK_STATE if wanted.nodes else 0.5, "STATEWARD_SANDBOX_DIR")
        if wanted.nodes:
            _require_room_for_databases(layout.root)
        _require_disk(cache_root(), 0.5 if is_built() else _DISK_CACHE, "STATEWARD_CACHE")
    _require_go()
    if not is_built():
        progress.say("Kubernetes is built from its sources once: the first time takes five to ten minutes")
    packages.require(packages.NODE, progress)
    if new:
        _require_cgroups()
        _require_kernel()


def require_root() -> None:
    """Raise SandboxError if this is not root."""
    if os.geteuid() != 0:
        raise SandboxError("namespaces and mounts need root: run it again with sudo")


def _require_memory(nodes: int) -> None:
    needed = _MEMORY_CONTROL_PLANE + nodes * _MEMORY_NODE
    text = Path("/proc/meminfo").read_text()
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    available = int(found[1]) * 1024 / _GIB if found else needed
    if available < needed:
        raise SandboxError(
            f"{available:.1f} GiB of memory are free, {needed:.1f} are needed for {nodes} nodes: end something, "
            "or ask for fewer with --nodes"
        )


def _require_watches(nodes: int) -> None:
    """Kubernetes watches its files with inotify; a kubelet that cannot is never Ready and hardly says why."""
    needed = _WATCHES_CONTROL_PLANE + nodes * _WATCHES_NODE
    free = _watches_free(needed)
    if free < needed:
        limit = int(_WATCH_LIMIT.read_text())
        raise SandboxError(
            f"{free} of {limit} inotify instances are free, {needed} are needed for {nodes} nodes: take another "
            f"sandbox down, or run 'sysctl fs.inotify.max_user_instances={max(512, limit * 2)}'"
        )


def _watches_free(wanted: int) -> int:
    """Return how many inotify instances can be had, up to `wanted`, by asking for them and giving them back.

    Counting those in use would miss the ones of other containers, which share the limit and are not seen from here.
    """
    had: list[int] = []
    try:
        while len(had) < wanted:
            descriptor = _LIBC.inotify_init1(os.O_CLOEXEC)
            if descriptor < 0:
                break
            had.append(descriptor)
    finally:
        for descriptor in had:
            os.close(descriptor)
    return len(had)


def _require_disk(directory: Path, needed: float, variable: str) -> None:
    existing = _existing(directory)
    free = shutil.disk_usage(existing).free / _GIB
    if free < needed:
        raise SandboxError(
            f"{free:.1f} GiB are free at {existing}, {needed:.1f} are needed: make room, or set {variable} to "
            "a directory on a larger disk"
        )


def _existing(directory: Path) -> Path:
    """Return the directory, or the nearest one above it that exists."""
    return next(path for path in (directory, *directory.parents) if path.exists())


def _require_room_for_databases(directory: Path) -> None:
    existing = _existing(directory)
    total, _, free = shutil.disk_usage(existing)
    # Not the used part: what is reserved for root is not free either, and databases count like this.
    if 1 - free / total > _DISK_FULL:
        raise SandboxError(
            f"{free / total:.0%} of the disk at {existing} is free, and databases take no shards below 15%: make "
            f"{(total * (1 - _DISK_FULL) - free) / _GIB:.1f} GiB of room, or set STATEWARD_SANDBOX_DIR to a directory "
            "on a larger disk"
        )


def _require_go() -> None:
    try:
        said = run(["go", "version"])
    except CommandError as error:
        raise SandboxError(_go_message("Go is not installed")) from error
    found = re.search(r"go(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST_GO:
        raise SandboxError(_go_message(f"Go is too old ('{said.strip()}')"))


def _go_message(problem: str) -> str:
    wanted = ".".join(str(part) for part in _OLDEST_GO)
    return f"{problem}: Kubernetes is built from source; install Go {wanted} or newer and have 'go' on the PATH"


def _require_cgroups() -> None:
    root = cgroups.ROOT
    if cgroups.is_unified():
        missing = {"cpu", "memory", "pids"} - set((root / "cgroup.controllers").read_text().split())
    else:
        missing = {name for name in ("cpu", "cpuset", "memory", "pids") if not (root / name).is_dir()}
    if missing:
        raise SandboxError(
            f"cgroup controllers are missing under {root}: {', '.join(sorted(missing))}; "
            "mount them, or start the machine's kernel with them enabled"
        )


def _require_kernel() -> None:
    """Try, in namespaces that end at once, what containers and their network are made of."""
    unshare = ["unshare", "--mount", "--net", "--pid", "--uts", "--fork", "--mount-proc"]
    try:
        run([*unshare, "sh", "-c", _PROBE, "sh", "/mnt"], timeout=30)
    except CommandError as error:
        lacking = error.output.splitlines()[-1] if error.output else str(error)
        raise SandboxError(
            f"this kernel (or this container) does not allow {lacking}; run on a machine or virtual machine that does"
        ) from error

"""The sandbox's own branch of the cgroup trees, under both versions of the kernel's interface.

Each node has a directory below the sandbox's; the kubelet and runc work below that. What is left at the end
is ours by its place in the tree, and is removed from the leaves up.
"""

import contextlib
import errno
import time
from pathlib import Path

from sandbox.errors import SandboxError

ROOT = Path("/sys/fs/cgroup")
_WEIGHTS = {"cpu.shares": "20480", "cpu.weight": "2000"}
"""Twenty times the default, under versions 1 and 2."""
_NEEDED = frozenset({"cpu", "cpuset", "hugetlb", "memory", "pids"})
"""What a kubelet insists on finding in its branch under version 2, as far as the machine's root has it."""


def is_unified() -> bool:
    """Return whether this machine has the one tree of version 2 only."""
    return (ROOT / "cgroup.controllers").exists()


def make(branch: str) -> None:
    """Make the directories of `branch` in every hierarchy, ready to take containers.

    Raise SandboxError if the machine does not hand its controllers down.
    """
    for hierarchy in _hierarchies():
        directory = hierarchy
        for part in branch.split("/"):
            if is_unified():
                _delegate(directory)
            (directory / part).mkdir(exist_ok=True)
            _inherit_cpuset(directory, directory / part)
            _weigh(directory / part)
            directory /= part
        if is_unified():
            _require_controllers(directory)


def remove(branch: str) -> None:
    """Remove `branch` with everything below it from every hierarchy; nothing runs in it any more."""
    for hierarchy in _all_hierarchies():
        top = hierarchy / branch
        if not top.is_dir():
            continue
        below = sorted((path for path in top.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts))
        for directory in (*below, top):
            _remove_directory(directory)
        with contextlib.suppress(OSError):
            top.parent.rmdir()  # the branch of all sandboxes, unless another one still uses it


def _remove_directory(directory: Path) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            # The last task has ended, but the kernel may still be at its accounts.
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def left(branch: str) -> list[Path]:
    """Return the directories of `branch` that exist."""
    return [hierarchy / branch for hierarchy in _all_hierarchies() if (hierarchy / branch).is_dir()]


def _hierarchies() -> list[Path]:
    if is_unified():
        return [ROOT]
    return [path for path in _all_hierarchies() if not (path / "cgroup.controllers").exists()]


def _all_hierarchies() -> list[Path]:
    if is_unified():
        return [ROOT]
    # cpu and cpuacct may be links to one hierarchy: each is visited once.
    return sorted({path.resolve() for path in ROOT.iterdir() if path.is_dir()})


def _controllers(directory: Path) -> set[str]:
    return set((directory / "cgroup.controllers").read_text().split())


def _delegate(directory: Path) -> None:
    """Hand every controller down to the directories below, as the kubelet and runc do further down."""
    wanted = [f"+{controller}" for controller in sorted(_controllers(directory))]
    control = directory / "cgroup.subtree_control"
    try:
        control.write_text(" ".join(wanted))
    except OSError:
        # One that cannot be had (a real-time task is in the way, say) takes all the others with it.
        for each in wanted:
            with contextlib.suppress(OSError):
                control.write_text(each)


def _require_controllers(directory: Path) -> None:
    missing = (_NEEDED & _controllers(ROOT)) - _controllers(directory)
    if missing:
        raise SandboxError(
            f"the kernel does not hand the cgroup controllers {', '.join(sorted(missing))} down to {directory}: in a "
            f"container, move the processes of {ROOT}/cgroup.procs into a group of their own, or use a whole machine"
        )


def _weigh(directory: Path) -> None:
    # All pods together would otherwise weigh as much as one single process beside them: on a busy machine (a build, a
    # test run) every database in the sandbox would starve, and take minutes to start.
    for name, weight in _WEIGHTS.items():
        if (directory / name).exists():
            (directory / name).write_text(weight)


def _inherit_cpuset(parent: Path, child: Path) -> None:
    # Version 1: a new cpuset is empty, and nothing can run in it until somebody fills it.
    for name in ("cpuset.cpus", "cpuset.mems"):
        file = child / name
        if not is_unified() and file.exists() and not file.read_text().strip():
            file.write_text((parent / name).read_text())

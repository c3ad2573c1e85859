"""The end of a sandbox: exactly what its records say it made, and nothing else."""

import shutil
from pathlib import Path

from sandbox.host import cgroups
from sandbox.host.commands import run
from sandbox.host.records import Records, wait_until_gone
from sandbox.layout import Layout


def take_down(layout: Layout) -> bool:
    """End every process of the sandbox and remove what it left. Return whether there was anything."""
    existed = layout.root.exists()
    records = Records(layout.records)
    keys = records.keys()
    # Machines first: with each goes everything that runs in it, and its mounts and network.
    keys.sort(key=lambda key: not key.endswith(".machine"))
    pids = [record.pid for key in keys if (record := records.running(key)) is not None]
    for key in keys:
        records.end(key, grace=0)
    wait_until_gone(pids, 30)
    cgroups.remove(layout.cgroup)
    for mount in mounts_below(layout.root):
        run(["umount", "--lazy", mount])
    shutil.rmtree(layout.root, ignore_errors=False) if layout.root.exists() else None
    _remove_if_empty(layout.root.parent)
    return existed


def mounts_below(directory: Path) -> list[str]:
    """Return this machine's mount points below a directory, the deepest first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return sorted((point for point in points if point.startswith(f"{directory}/")), reverse=True)


def _remove_if_empty(directory: Path) -> None:
    if directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()

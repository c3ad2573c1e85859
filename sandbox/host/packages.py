"""System packages: which program comes from which, and how the missing ones are installed."""

import os
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from sandbox.errors import CommandError, SandboxError
from sandbox.host.commands import run
from sandbox.host.locks import locked
from sandbox.layout import cache_root
from sandbox.progress import Progress

# For another apt, such as that of unattended upgrades, which knows nothing of our lock.
_WAIT = ["-o", "DPkg::Lock::Timeout=300"]
_PATH = f"{os.defpath}:/usr/local/sbin:/usr/sbin:/sbin"

# A program, or a file, that tells whether the package (or another that brings the same) is there.
NODE = {
    "containerd": "containerd",
    "runc": "runc",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
    "ip": "iproute2",
    "nft": "nftables",
    "iptables": "iptables",  # what the CNI plugin for host ports calls
    "conntrack": "conntrack",
    "nsenter": "util-linux",
    "sysctl": "procps",
    "gcc": "gcc",
    "/usr/include/stdlib.h": "libc6-dev",
}
IMAGES = {"mmdebstrap": "mmdebstrap"}
LIMITED_VOLUMES = {"mkfs.xfs": "xfsprogs", "losetup": "mount"}
DOWNLOADS = {"mvn": "maven"}
JAVA = {"javac": "default-jdk-headless"}
BROWSER = {"chromium": "chromium", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf": "fonts-dejavu-core"}
"""For the tests of the page."""


def require(wanted: dict[str, str], progress: Progress) -> None:
    """Install the packages whose programs are missing; raise SandboxError if that is not possible."""
    if not missing(wanted):
        return
    with _one_at_a_time():
        _install(missing(wanted), progress)


def missing(wanted: dict[str, str]) -> list[str]:
    """Return the packages whose programs are missing."""
    return sorted({package for tell, package in wanted.items() if not _there(tell)})


def _install(absent: list[str], progress: Progress) -> None:
    if not absent:
        return  # Another sandbox has installed them while this one waited for the lock.
    names = " ".join(absent)
    if shutil.which("apt-get") is None:
        raise SandboxError(f"these are missing and there is no apt-get to install them: {names}; install them by hand")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    with progress.step(f"installing {names}"):
        try:
            run(["apt-get", "-q", "update"], environment=environment)
            run(
                ["apt-get", "-q", "-y", *_WAIT, "install", "--no-install-recommends", *absent],
                environment=environment,
            )
        except CommandError as error:
            raise SandboxError(
                f"apt-get could not install {names}; is there a network, and is no other apt running? ({error})"
            ) from error


def offered(package: str) -> bool:
    """Return whether this machine's package sources have the package."""
    with _one_at_a_time():
        if not any(Path("/var/lib/apt/lists").glob("*_Packages*")):
            run(["apt-get", "-q", "update"])
    return bool(run(["apt-cache", "--names-only", "search", f"^{package}$"]).strip())


def _one_at_a_time() -> AbstractContextManager[None]:
    return locked(cache_root() / "packages.lock")


def _there(tell: str) -> bool:
    return Path(tell).exists() if tell.startswith("/") else shutil.which(tell, path=_path()) is not None


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:{_PATH}"

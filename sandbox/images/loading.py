"""Bringing images into the nodes, all nodes at once, each image once."""

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.images.oci import BlobStore, Image, write_archive
from sandbox.images.store import blob_store
from sandbox.nodes import configuration
from sandbox.nodes.node import Node

_CONTENT = "containerd/io.containerd.content.v1.content/blobs/sha256"
"""Where containerd keeps blobs that nothing changes any more, below /var/lib."""


def load_everywhere(nodes: Sequence[Node], image: Image) -> int:
    """Import the image into every node that does not have it. Return how many needed it."""
    with ThreadPoolExecutor(max_workers=max(1, len(nodes))) as pool:
        waiting = [pool.submit(load, node, image) for node in nodes]
        return sum(each.result() for each in waiting)


def load(node: Node, image: Image) -> bool:
    """Import the image into one node unless it is there. Return whether it was needed."""
    if _present(node, image):
        return False
    # Layers that an earlier image brought are not sent again.
    held = set(node.ctr("content", "list", "--quiet").split())
    argv = [
        *node.machine.enter(mounts=True),
        "ctr",
        f"--address={configuration.CONTAINERD_SOCKET}",
        "--namespace=k8s.io",
        "images",
        "import",
        "-",
    ]
    importer = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        broken = _feed(importer, blob_store(), image, held)
        said, _ = importer.communicate(timeout=300)
    except BaseException:
        importer.kill()
        importer.wait()
        raise
    if importer.returncode != 0 or broken:
        raise SandboxError(f"{node.name} could not import {image.name}: {said.decode(errors='replace').strip()[-300:]}")
    share(blob_store(), node.directories.lib / _CONTENT, image)
    return True


def share(store: BlobStore, content: Path, image: Image) -> None:
    """Replace a node's copies of an image's blobs by links to those of the store, where one file system has both.

    Nine nodes would keep the same gigabytes nine times, until the databases find the disk too full for replicas.
    """
    for blob in (image.manifest, image.config, *image.layers):
        kept, copy = store.path(blob.digest), content / blob.digest.removeprefix("sha256:")
        if not (store.holds(blob) and copy.exists()) or kept.samefile(copy):
            continue
        fresh = copy.with_name(f".{copy.name}.shared")
        with suppress(OSError):  # another file system: the copy stays
            os.link(kept, fresh)
            fresh.replace(copy)


def _feed(importer: "subprocess.Popen[bytes]", store: BlobStore, image: Image, held: set[str]) -> bool:
    assert importer.stdin is not None  # noqa: S101 - asked for above
    try:
        write_archive(store, image, importer.stdin, without=held)
    except BrokenPipeError:
        return True
    return False


def _present(node: Node, image: Image) -> bool:
    listed = node.ctr("images", "list", f"name=={image.name}")
    return image.manifest.digest in listed

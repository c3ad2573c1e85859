"""The image of the process that holds a pod's namespaces: one static program."""

from pathlib import Path

from sandbox.images.layers import Entry, layer
from sandbox.images.oci import Execution, Image, assemble
from sandbox.images.store import blob_store, processor, remembered_image
from sandbox.nodes.configuration import PAUSE_IMAGE
from sandbox.toolchain import digest


def pause_image(native: Path) -> Image:
    """Return the pause image, with the program from the directory `native`."""
    program = native / "pause"

    def make() -> Image:
        store = blob_store()
        content = layer(store, "pause", [Entry("pause", program, mode=0o755)])
        return assemble(store, PAUSE_IMAGE, [content], Execution(["/pause"]), processor())

    return remembered_image(digest.of_files([program], "pause-1"), make)

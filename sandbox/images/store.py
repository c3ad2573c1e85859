"""The cache of finished layers and images, each under the digest of all that goes into it."""

import platform
from collections.abc import Callable
from pathlib import Path

import msgspec

from sandbox.host.locks import locked
from sandbox.images.oci import Blob, BlobStore, Image
from sandbox.layout import cache_root


def blob_store() -> BlobStore:
    """Return the store of all blobs."""
    return BlobStore(cache_root() / "images" / "blobs")


def processor() -> str:
    """Return this machine's processor, which the images are made for."""
    return platform.machine()


def remembered_image(recipe: str, make: Callable[[], Image]) -> Image:
    """Return the image of a recipe, made at the first call."""
    path = _path(f"image-{recipe}")
    with locked(path.with_suffix(".lock")):
        if path.exists():
            image = msgspec.json.decode(path.read_bytes(), type=Image)
            if all(blob_store().holds(blob) for blob in (image.manifest, image.config, *image.layers)):
                return image
        image = make()
        _write(path, image)
        return image


def remembered_layer(recipe: str, make: Callable[[], Blob]) -> Blob:
    """Return the layer of a recipe, made at the first call."""
    path = _path(f"layer-{recipe}")
    with locked(path.with_suffix(".lock")):
        if path.exists():
            blob = msgspec.json.decode(path.read_bytes(), type=Blob)
            if blob_store().holds(blob):
                return blob
        blob = make()
        _write(path, blob)
        return blob


def names_made() -> set[str]:
    """Return the full names of the images that were made before, of this recipe or an earlier one."""
    found = (cache_root() / "images").glob("image-*.json")
    return {msgspec.json.decode(path.read_bytes(), type=Image).name for path in found}


def _path(name: str) -> Path:
    return cache_root() / "images" / f"{name}.json"


def _write(path: Path, value: Image | Blob) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(value))
    fresh.replace(path)

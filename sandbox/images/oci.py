"""Container images in the OCI layout, written without any daemon.

Blobs live once each in a store, named by their digest; an image is a small record of which blobs it is made
of. The archive that containerd imports is put together on the fly, so a layer that three images share takes
its space once. Everything is deterministic: equal content gives equal digests.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Blob(msgspec.Struct, frozen=True):
    """One blob of a store; `size` in bytes."""

    digest: str
    size: int


class Image(msgspec.Struct, frozen=True):
    """One image of a store: its name and all of its blobs, the layers lowest first."""

    name: str
    manifest: Blob
    config: Blob
    layers: list[Blob]


@dataclass(frozen=True)
class Execution:
    """What a container of an image runs, unless its pod says otherwise."""

    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    directory: str = "/"
    user: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class BlobStore:
    """A directory of blobs."""

    directory: Path

    def path(self, digest: str) -> Path:
        """Return the file of a blob."""
        return self.directory / digest.removeprefix("sha256:")

    def holds(self, blob: Blob) -> bool:
        """Return whether the blob is here, whole."""
        path = self.path(blob.digest)
        return path.exists() and path.stat().st_size == blob.size

    def put(self, content: bytes) -> Blob:
        """Store bytes."""
        digest = hashlib.sha256(content).hexdigest()
        fresh = self._fresh(digest)
        fresh.write_bytes(content)
        fresh.replace(self.path(digest))
        return Blob(f"sha256:{digest}", len(content))

    def adopt(self, file: Path) -> Blob:
        """Take over a file of the same file system; it is moved into the store."""
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        size = file.stat().st_size
        self.directory.mkdir(parents=True, exist_ok=True)
        file.replace(self.path(digest))
        return Blob(f"sha256:{digest}", size)

    def scratch(self, name: str) -> Path:
        """Return the path of a file to write and then `adopt`."""
        return self._fresh(name)

    def _fresh(self, name: str) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True)
        return self.directory / f".{name}.new"


def assemble(store: BlobStore, name: str, layers: Sequence[Blob], execution: Execution, machine: str) -> Image:
    """Put an image together from layers that are in the store; `machine` is the processor as uname says it."""
    config = store.put(
        _json(
            {
                "architecture": _ARCHITECTURES.get(machine, machine),
                "os": "linux",
                "config": _execution(execution),
                "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
            }
        )
    )
    manifest = store.put(
        _json(
            {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": {"mediaType": _CONFIG, "digest": config.digest, "size": config.size},
                "layers": [{"mediaType": _LAYER, "digest": layer.digest, "size": layer.size} for layer in layers],
            }
        )
    )
    return Image(name, manifest, config, list(layers))


def write_archive(store: BlobStore, image: Image, stream: IO[bytes], *, without: Collection[str] = ()) -> None:
    """Write the image as the tar archive that `ctr images import` reads, leaving out the blobs `without`."""
    index = {
        "schemaVersion": 2,
        "manifests": [
            {
                "mediaType": _MANIFEST,
                "digest": image.manifest.digest,
                "size": image.manifest.size,
                "annotations": {"io.containerd.image.name": image.name},
            }
        ],
    }
    with tarfile.open(fileobj=stream, mode="w|", bufsize=1 << 20) as archive:
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _json(index))
        for blob in _distinct([image.manifest, image.config, *image.layers]):
            if blob.digest in without:
                continue
            entry = tarfile.TarInfo(f"blobs/sha256/{blob.digest.removeprefix('sha256:')}")
            entry.size = blob.size
            with store.path(blob.digest).open("rb") as content:
                archive.addfile(entry, content)


def _distinct(blobs: Sequence[Blob]) -> list[Blob]:
    return list(dict.fromkeys(blobs))


def _execution(execution: Execution) -> dict[str, Any]:
    path = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    environment = {**path, **execution.environment}
    fields: dict[str, Any] = {
        "Entrypoint": list(execution.entrypoint),
        "Cmd": list(execution.command),
        "WorkingDir": execution.directory,
        "User": execution.user,
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "Labels": dict(execution.labels),
    }
    return {name: value for name, value in fields.items() if value}


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))

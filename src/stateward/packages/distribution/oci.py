"""A package as an OCI artifact: a manifest, a small configuration with its type, and the tarball as its layer.

The same files give the same artifact to the byte, so its digest also identifies the files. Content from a registry is
never trusted: sizes are limited before anything is read, and every blob must have the digest that names it.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import field

from stateward.api.values.base import Json, Record
from stateward.packages.distribution.archive import LARGEST, BadArchive, pack, unpack
from stateward.packages.format.reading import belongs
from stateward.packages.format.records import Package
from stateward.packages.format.trees import at, text

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
ARTIFACT = "application/vnd.stateward.package.v1"
CONFIGURATION = f"{ARTIFACT}.config+json"
CONTENT = f"{ARTIFACT}.content.tar+gzip"
LARGEST_MANIFEST = 1 << 20
LARGEST_BLOB = LARGEST + (1 << 20)
ANNOTATION_NAME = "org.opencontainers.image.ref.name"
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""How a foreign JSON may fail to be read: it is none, has a text that is not UTF-8, or is nested without end."""
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


class BadArtifact(ValueError):  # noqa: N818 - says what it is
    """The artifact is not a package, or does not match its digest."""


class Descriptor(Record):
    """A manifest's entry for a blob."""

    media_type: str = ""
    digest: str = ""
    size: int = 0
    annotations: dict[str, str] = field(default_factory=dict)


class Manifest(Record):
    """What a registry has under a name: the blobs of one version of a package."""

    config: Descriptor = Descriptor()
    layers: list[Descriptor] = field(default_factory=list)
    media_type: str = ""
    artifact_type: str = ""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A package in a registry: the manifest, and its blobs by digest."""

    manifest: bytes
    blobs: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """The digest by which the artifact is fetched."""
        return digest_of(self.manifest)


def digest_of(content: bytes) -> str:
    """Return the digest of a blob."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def artifact(package: Package, files: Mapping[str, bytes]) -> Artifact:
    """Return the artifact of a package, from its files."""
    operator = package.operator
    says = {"name": package.name, "version": package.version, "appVersion": operator.app_version}
    config = _json(says | {"digest": package.digest})
    content = pack({path: data for path, data in files.items() if belongs(path)})
    notes = {
        "org.opencontainers.image.title": package.name,
        "org.opencontainers.image.version": package.version,
        "org.opencontainers.image.description": operator.description,
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": ARTIFACT,
        "config": _descriptor(CONFIGURATION, config),
        "layers": [_descriptor(CONTENT, content)],
        "annotations": {name: note for name, note in notes.items() if note},
    }
    return Artifact(_json(manifest), {digest_of(blob): blob for blob in (config, content)})


def _descriptor(media_type: str, content: bytes) -> Json:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}


def _json(body: Json) -> bytes:
    return msgspec.json.encode(body, order="deterministic")


def read_manifest(content: bytes, digest: str = "") -> Manifest:
    """Return a manifest of a package; `digest` is what it has to have (empty: any). Raises BadArtifact."""
    if digest and digest_of(content) != digest:
        raise BadArtifact(f"the manifest has the digest {digest_of(content)}, not {digest}")
    try:
        found = msgspec.json.decode(content, type=Manifest)
    except UNREADABLE as error:
        raise BadArtifact(f"the manifest cannot be read: {error}") from error
    if found.media_type == INDEX:
        raise BadArtifact("is an index of several artifacts; name one of them by its digest")
    kind = found.artifact_type or found.config.media_type
    if kind != ARTIFACT or [layer.media_type for layer in found.layers] != [CONTENT]:
        raise BadArtifact(f"is not a package ({ARTIFACT}) but {kind or 'an artifact without a type'}")
    checked_descriptor(found.layers[0])
    return found


def checked_descriptor(found: Descriptor) -> Descriptor:
    """Return a descriptor of a blob that may be fetched; raises BadArtifact."""
    if not _DIGEST.fullmatch(found.digest):
        raise BadArtifact(f"{found.digest!r}: must be a digest of SHA-256")
    if not 0 <= found.size <= LARGEST_BLOB:
        raise BadArtifact(f"{found.digest} has {found.size} bytes; a package may have {LARGEST_BLOB}")
    return found


def checked_blob(found: Descriptor, content: bytes) -> bytes:
    """Return a blob that matches its descriptor; raises BadArtifact."""
    if len(content) != found.size or digest_of(content) != found.digest:
        raise BadArtifact(f"the content of {found.digest} does not match its digest")
    return content


def files_in(content: bytes) -> dict[str, bytes]:
    """Return the files of a package from its layer; raises BadArtifact."""
    try:
        return unpack(content)
    except BadArchive as error:
        raise BadArtifact(str(error)) from error


def layout(made: Artifact, tag: str, before: bytes = b"") -> dict[str, bytes]:
    """Return the files of an OCI layout with an artifact, by path; `before` is the `index.json` that is there already.

    Raises BadArtifact when that cannot be read. Another artifact under the same tag gives way.
    """
    entry = _descriptor(MANIFEST, made.manifest) | {"artifactType": ARTIFACT, "annotations": {ANNOTATION_NAME: tag}}
    others = [entry for entry in _entries(before) if at(entry, "annotations", ANNOTATION_NAME) != tag]
    index: Json = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [*others, entry]}
    blobs = {made.digest: made.manifest, **made.blobs}
    return {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(index),
        **{blob_path(digest): content for digest, content in blobs.items()},
    }


def in_layout(index: bytes, tag: str) -> Descriptor:
    """Return the manifest of a layout that has a tag (empty: the only one); raises BadArtifact."""
    entries = _entries(index)
    tags = [text(at(entry, "annotations", ANNOTATION_NAME)) for entry in entries]
    fitting = [entry for entry, name in zip(entries, tags, strict=True) if tag in ("", name)]
    if len(fitting) != 1:
        there = ", ".join(sorted(tags)) or "none"
        if tag:
            raise BadArtifact(
                f"has {'more than one' if fitting else 'no'} package of version {tag!r}; there are {there}"
            )
        raise BadArtifact(f"say which package is meant, as in FOLDER:VERSION; there are {there}")
    try:
        return checked_descriptor(msgspec.convert(fitting[0], Descriptor))
    except msgspec.ValidationError as error:
        raise BadArtifact(f"index.json cannot be read: {error}") from error


def blob_path(digest: str) -> str:
    """Return the path of a blob in a layout."""
    return f"blobs/{digest.replace(':', '/')}"


class _Index(Record):
    manifests: list[dict[str, Any]] = field(default_factory=list)


def _entries(index: bytes) -> list[dict[str, Any]]:
    try:
        return msgspec.json.decode(index, type=_Index).manifests if index else []
    except UNREADABLE as error:
        raise BadArtifact(f"index.json cannot be read: {error}") from error

"""Packages in registries of OCI artifacts and in OCI layouts: how commands fetch, push and keep them."""

import asyncio
import os
from pathlib import Path

from stateward.cli.shared.failures import Failure
from stateward.packages.distribution.oci import (
    Artifact,
    BadArtifact,
    artifact,
    blob_path,
    checked_blob,
    files_in,
    in_layout,
    layout,
    read_manifest,
)
from stateward.packages.format.records import Package
from stateward.registry.client import RegistryError, open_registry
from stateward.registry.logins import BadLogins, login_for
from stateward.registry.references import BadReference, Reference, read_reference

LAYOUT = "oci-layout"
"""The file by which a folder is known to be an OCI layout."""


def fetched(text: str) -> dict[str, bytes]:
    """Return the files of the package that a reference names; raises Failure."""
    where = reference(text)
    if not where.named:
        raise Failure(f"{text}: add a version (`:1.2.0`) or a digest (`@sha256:…`)")
    try:
        return files_in(asyncio.run(_fetch(where)))
    except (RegistryError, BadArtifact, BadLogins) as error:
        raise Failure(f"{text}: {error}") from error


async def _fetch(where: Reference) -> bytes:
    async with open_registry(where, login_for(where.host, os.environ)) as registry:
        return await registry.fetch()


def pushed(text: str, package: Package, files: dict[str, bytes], *, replace: bool) -> str:
    """Store a package in a registry; return how it is fetched again, by its digest. Raises Failure."""
    where, made = reference(text).tagged(package.version), artifact(package, files)
    if where.digest:
        raise Failure(f"{text}: a package is pushed under a tag; its digest follows from its content")
    try:
        asyncio.run(_push(where, made, replace=replace))
    except (RegistryError, BadLogins) as error:
        raise Failure(f"{text}: {error}") from error
    return f"{where}@{made.digest}"


async def _push(where: Reference, made: Artifact, *, replace: bool) -> None:
    async with open_registry(where, login_for(where.host, os.environ)) as registry:
        await registry.push(made, where.tag, replace=replace)


def reference(text: str) -> Reference:
    """Return what a text names in a registry; raises Failure."""
    try:
        return read_reference(text)
    except BadReference as error:
        raise Failure(str(error)) from error


def is_layout(folder: Path) -> bool:
    """Return whether a folder is an OCI layout."""
    return (folder / LAYOUT).is_file()


def in_folder(folder: Path, tag: str = "") -> dict[str, bytes]:
    """Return the files of the package in an OCI layout that has a tag (empty: the only one); raises Failure."""
    try:
        entry = in_layout((folder / "index.json").read_bytes(), tag)
        manifest = read_manifest(_blob(folder, entry.digest), entry.digest)
        return files_in(checked_blob(manifest.layers[0], _blob(folder, manifest.layers[0].digest)))
    except BadArtifact as error:
        raise Failure(f"{folder}: {error}") from error


def _blob(folder: Path, digest: str) -> bytes:
    return (folder / blob_path(digest)).read_bytes()


def keep(folder: Path, package: Package, files: dict[str, bytes]) -> str:
    """Write a package into an OCI layout, beside those that are there; return its digest. Raises Failure."""
    if folder.exists() and any(folder.iterdir()) and not is_layout(folder):
        raise Failure(f"{folder} already exists and is not an OCI layout")
    made, index = artifact(package, files), folder / "index.json"
    try:
        found = layout(made, package.version, index.read_bytes() if index.exists() else b"")
    except BadArtifact as error:
        raise Failure(f"{folder}: {error}") from error
    for path, content in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return made.digest

"""Packages in registries of OCI artifacts and in OCI layouts: fetching, pushing and writing."""

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
"""The file that identifies an OCI layout."""


def fetched(text: str) -> dict[str, bytes]:
    """Return the files of a referenced package; raise Failure."""
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
    """Store a package in a registry; return its reference by digest. Raise Failure."""
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
    """Return a parsed registry reference; raise Failure."""
    try:
        return read_reference(text)
    except BadReference as error:
        raise Failure(str(error)) from error


def is_layout(folder: Path) -> bool:
    """Return whether a folder is an OCI layout."""
    return (folder / LAYOUT).is_file()


def in_folder(folder: Path, tag: str = "") -> dict[str, bytes]:
    """Return the files of the package with a tag in an OCI layout (empty: the only package); raise Failure."""
    try:
        entry = in_layout((folder / "index.json").read_bytes(), tag)
        manifest = read_manifest(_blob(folder, entry.digest), entry.digest)
        return files_in(checked_blob(manifest.layers[0], _blob(folder, manifest.layers[0].digest)))
    except BadArtifact as error:
        raise Failure(f"{folder}: {error}") from error


def _blob(folder: Path, digest: str) -> bytes:
    return (folder / blob_path(digest)).read_bytes()


def keep(folder: Path, package: Package, files: dict[str, bytes]) -> str:
    """Write a package into an OCI layout, beside existing ones; return its digest. Raise Failure."""
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

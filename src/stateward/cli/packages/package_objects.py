"""Packages as objects of the API server, and the preview of an installation before they exist there."""

import base64
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from stateward.api.kinds.installation import Installation
from stateward.api.kinds.package import Package as PackageObject
from stateward.api.values.base import API_VERSION, Json
from stateward.cli.packages.installation_plan import InstallationPreview, installation_preview
from stateward.cli.shared.session import Session
from stateward.kube.objects.errors import AlreadyExists
from stateward.kube.objects.resources import NAMESPACES
from stateward.operator.installations.objects.views import PACKAGES
from stateward.packages.distribution.archive import pack
from stateward.packages.format.records import Package

Files = Mapping[str, bytes]


def object_name(package: Package) -> str:
    """Return the name of the object of a package."""
    return re.sub(r"[^a-z0-9.-]+", "-", f"{package.name}-{package.version}".lower()).strip("-.")


def package_object(package: Package, files: Files, kind: str) -> Json:
    """Return the object of a package."""
    spec = {
        "name": package.name,
        "version": package.version,
        "appVersion": package.operator.app_version,
        "digest": package.digest,
        "archive": base64.b64encode(pack(files)).decode(),
    }
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": object_name(package)}, "spec": spec}


async def create_namespace(session: Session, body: Json) -> bool:
    """Create the namespace of an installation; return whether it was not there. An existing one stays as it is."""
    try:
        await session.api.create(NAMESPACES.raw(), body)
    except AlreadyExists:
        return False
    return True


async def trial(
    session: Session, name: str, package: Package, files: Files | None, values: Mapping[str, Any], /, **spec: Any
) -> InstallationPreview:
    """Return the preview of an installation of a package; raise Failure or ApiError.

    `files` are those of a package that may not be on the server yet; `spec` has further fields of the installation's
    spec.
    """
    wanted = {"metadata": {"name": name}, "spec": {"package": object_name(package), "parameters": values, **spec}}
    body = package_object(package, files, PACKAGES.kind) if files is not None else None
    offered = {object_name(package): msgspec.convert(body, PackageObject)} if body is not None else {}
    return await installation_preview(session, msgspec.convert(wanted, Installation), offered)

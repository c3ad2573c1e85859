"""Packages as objects of the API server: their content in one field, which never changes.

The same content has the same digest everywhere: in a folder, in a tarball, here. Another version is another object, so
the package of an installation stays readable while it is used.
"""

from typing import Annotated

from msgspec import Meta

from stateward.api.values.base import API_VERSION, Metadata, Record

LARGEST_ARCHIVE = 1_400_000
"""Characters; an object of the API server may have 1.5 MiB."""


class PackageSpec(Record):
    """The content of a package. It cannot be changed: another version is another object."""

    name: Annotated[str, Meta(description="Name of the package, from its operator.yaml.", min_length=1, max_length=253)]
    version: Annotated[
        str, Meta(description="Version of the package (`operatorVersion`).", min_length=1, max_length=128)
    ]
    archive: Annotated[
        str,
        Meta(
            description="The files: a gzipped tarball, in base64, as `stateward package build` writes it.",
            min_length=1,
            max_length=LARGEST_ARCHIVE,
        ),
    ]
    app_version: Annotated[str, Meta(description="Version of the application in it.", max_length=128)] = ""
    digest: Annotated[str, Meta(description="Digest of the files, for people.", max_length=128)] = ""


class Package(Record):
    """A version of a package, for installations in its namespace."""

    metadata: Metadata
    spec: Annotated[PackageSpec, Meta(description="The content of the package.")]
    api_version: str = API_VERSION
    kind: str = "Package"


class ClusterPackage(Record):
    """A version of a package, for installations in all namespaces."""

    metadata: Metadata
    spec: Annotated[PackageSpec, Meta(description="The content of the package.")]
    api_version: str = API_VERSION
    kind: str = "ClusterPackage"

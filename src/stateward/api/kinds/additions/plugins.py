"""Plug-ins of a search engine that its image does not have, and the place that they come from."""

from typing import Annotated

from msgspec import Meta

from stateward.api.values.base import Record

NO_PLUGINS = "needs plugins: list what to install, or leave pluginSource out"
ONE_SOURCE = "must have one of url, image and claimName"
FILE = "{name}-{version}.zip"
"""The name of a plug-in's file, as the projects of both engines publish it."""


class Plugin(Record):
    """A plug-in that every member gets, in the version of the member."""

    name: Annotated[
        str,
        Meta(
            description="Name of the plug-in, for example repository-s3. One that the image has is left as it is.",
            pattern=r"^[a-z0-9]([-_a-z0-9]{0,61}[a-z0-9])?$",
            max_length=63,
            extra={"accepts": "must be the name of a plug-in, for example repository-s3"},
        ),
    ]
    file: Annotated[
        str,
        Meta(
            description="Name of its file in the source. {name} and {version} stand for the plug-in and for the"
            " version of the member, for example {name}-{version}.0.zip.",
            pattern=r"^[A-Za-z0-9]([-._A-Za-z0-9]|\{name\}|\{version\})*\.zip$|^\{name\}([-._A-Za-z0-9]|\{version\})*\.zip$",
            max_length=200,
            extra={"accepts": "must be the name of a zip file, for example {name}-{version}.zip"},
        ),
    ] = FILE


FolderUrl = Annotated[
    str,
    Meta(
        pattern=r"^https://[^\s?#{}]+$",
        max_length=500,
        extra={"accepts": "must be an https:// address without a query, for example https://mirror.example/plugins"},
    ),
]
ClaimName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
        max_length=253,
        extra={"accepts": "must be the name of a claim: lower-case letters, digits, dots and dashes"},
    ),
]


class PluginSource(Record):
    """Where the files of plug-ins come from; one of the three."""

    url: Annotated[
        FolderUrl | None, Meta(description="Address of a folder with the files, for example a mirror of the company.")
    ] = None
    image: Annotated[
        Annotated[str, Meta(max_length=500)] | None,
        Meta(
            description="Image with the files in /plugins, and with cp. {version} stands for the version of the member."
        ),
    ] = None
    claim_name: Annotated[
        ClaimName | None,
        Meta(
            description="Volume claim with the files, in the namespace of the cluster, with the label"
            " stateward.dev/allowed-for-pods. All members mount it at once, read-only."
        ),
    ] = None

"""Names of container images, taken apart."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Image:
    """An image reference: repository, tag and digest, empty where they are missing."""

    repository: str
    tag: str = ""
    digest: str = ""


def parse_image(text: str) -> Image:
    """Take a reference apart; the colon of a registry's port is not that of a tag."""
    name, _, digest = text.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return Image(name, "", digest)
    return Image(repository, tag, digest)


def carries(tag: str, version: str) -> bool:
    """Whether a tag is that of a version, perhaps with more around it: 2.19.5, v2.19.5, 2.19.5-ours, ours-2.19.5."""
    return re.fullmatch(rf"(.*[^0-9.])?{re.escape(version)}([^0-9.].*)?", tag) is not None

"""Names of container images, taken apart."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Image:
    """An image reference: repository, tag and digest; missing parts are empty."""

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
    """Whether a tag contains a version, perhaps with a prefix or suffix: 2.19.5, v2.19.5, 2.19.5-ours, ours-2.19.5."""
    return re.fullmatch(rf"(.*[^0-9.])?{re.escape(version)}([^0-9.].*)?", tag) is not None

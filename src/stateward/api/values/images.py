"""Names of container images, taken apart."""

import re
from dataclasses import dataclass

_HOST = (
    r"([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*|\[[A-Fa-f0-9:]+\])(:[0-9]+)?"
)
_PART = r"[a-z0-9]+(([.]|__?|-+)[a-z0-9]+)*"
_TAG = r"[A-Za-z0-9_][-.A-Za-z0-9_]{0,127}"
_DIGEST = r"(sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})"
REFERENCE = rf"({_HOST}/)?{_PART}(/{_PART})*(:{_TAG})?(@{_DIGEST})?"
"""The grammar that the kubelet has: `reference.ParseNormalizedNamed` of github.com/distribution/reference."""
MALFORMED = (
    "must be a name in lower case, then :TAG, @DIGEST or both, without spaces and empty parts, for example"
    " registry.example/ours:2.19.5; a digest is sha256: and 64 hexadecimal digits in lower case"
)
VERSION_PLACE = "{version}"
"""Stands for the version of a member in the image of plug-ins."""


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


def is_reference(text: str) -> bool:
    """Whether the kubelet can read an image reference; otherwise no pod with it ever starts."""
    return re.fullmatch(REFERENCE, text) is not None


def carries(tag: str, version: str) -> bool:
    """Whether a tag contains a version, perhaps with a prefix or suffix: 2.19.5, v2.19.5, 2.19.5-ours, ours-2.19.5."""
    return re.fullmatch(rf"(.*[^0-9.])?{re.escape(version)}([^0-9.].*)?", tag) is not None

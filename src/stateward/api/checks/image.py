"""The version, and the image that must be of that version."""

from collections.abc import Iterator

from stateward.api.cluster import OpenSearchCluster
from stateward.api.images import carries, parse_image
from stateward.api.problem import Problem
from stateward.api.version import parse_version


def check(cluster: OpenSearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with the version and the image."""
    version = cluster.spec.version
    if parse_version(version) is None:
        yield Problem("spec.version", version, "must be three numbers with dots between them, for example 2.19.5")
    if cluster.spec.image is not None:
        yield from _image(cluster.spec.image, version)


def _image(text: str, version: str) -> Iterator[Problem]:
    image = parse_image(text)
    if not image.repository:
        yield Problem("spec.image", text, "must name an image, for example opensearchproject/opensearch:2.19.5")
    elif not image.tag and not image.digest:
        yield Problem("spec.image", text, f"must carry a tag or a digest, for example {image.repository}:{version}")
    elif image.tag and not carries(image.tag, version):
        accepted = f"must have {version} in it, for example {version} or {version}-ours, or be left out beside a digest"
        yield Problem("spec.image", text, f"the tag is not that of spec.version: it {accepted}")

"""Which image runs a version, also a version that the spec no longer names.

While an upgrade rolls, members whose turn has not come must come back with the old version whatever happens to them.
Their image is found by putting the old version where the tag has the new one.
"""

import re

from stateward.engines.search.flavor import Flavor, SearchCluster

PLACE = "{version}"


def image(flavor: Flavor, cluster: SearchCluster, version: str) -> str:
    """Return the image of a version."""
    return image_pattern(flavor, cluster).replace(PLACE, version)


def image_pattern(flavor: Flavor, cluster: SearchCluster) -> str:
    """Return the image with `{version}` in the version's place.

    A digest beside a tag belongs to one version only, so it counts for spec.version alone.
    """
    return pattern(flavor.image, cluster.spec.image, cluster.spec.version)


def pattern(official: str, chosen: str | None, version: str) -> str:
    """Return the image to use (that which was chosen, or the official one) with `{version}` in the version's place."""
    if chosen is None:
        return f"{official}:{PLACE}"
    named, _, digest = chosen.partition("@")
    repository, separator, tag = named.rpartition(":")
    if not separator or "/" in tag:
        return chosen
    named_tag, found = re.subn(rf"(?<![0-9.]){re.escape(version)}(?![0-9])", PLACE, tag, count=1)
    return f"{repository}:{named_tag}" if found else f"{named}@{digest}" if digest else named


def knows_versions(flavor: Flavor, cluster: SearchCluster) -> bool:
    """Whether the image of another version than spec.version can be named."""
    return PLACE in image_pattern(flavor, cluster)


def image_for(flavor: Flavor, cluster: SearchCluster, version: str) -> str:
    """Return the image to write into a pod: exactly what the spec says for the version that the spec says."""
    if cluster.spec.image is not None and version == cluster.spec.version:
        return cluster.spec.image
    return image(flavor, cluster, version)

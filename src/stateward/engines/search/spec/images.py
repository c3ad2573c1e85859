"""Which image runs a version of a search engine; the rule is `engines.images`."""

from stateward.engines.pods import images
from stateward.engines.search.spec.flavor import Flavor, SearchCluster


def image_pattern(flavor: Flavor, cluster: SearchCluster) -> str:
    """Return the image with `{version}` in the version's place."""
    return images.pattern(flavor.image, cluster.spec.image, cluster.spec.version)


def knows_versions(flavor: Flavor, cluster: SearchCluster) -> bool:
    """Whether the image of another version than spec.version can be named."""
    return images.PLACE in image_pattern(flavor, cluster)


def image_for(flavor: Flavor, cluster: SearchCluster, version: str) -> str:
    """Return the image to write into a pod."""
    return images.image_for(flavor.image, cluster.spec.image, cluster.spec.version, version)

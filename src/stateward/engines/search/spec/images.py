"""The image of each version of a search engine; the rule is in `engines.images`."""

from stateward.engines.pods import images
from stateward.engines.search.spec.flavor import Flavor, SearchCluster


def image_pattern(flavor: Flavor, cluster: SearchCluster) -> str:
    """Return the image with `{version}` in place of the version."""
    return images.pattern(flavor.image, cluster.spec.image, cluster.spec.version)


def knows_versions(flavor: Flavor, cluster: SearchCluster) -> bool:
    """Whether the image name contains the version, so that images of other versions can be derived."""
    return images.PLACE in image_pattern(flavor, cluster)


def image_for(flavor: Flavor, cluster: SearchCluster, version: str) -> str:
    """Return the image to write into a pod."""
    return images.image_for(flavor.image, cluster.spec.image, cluster.spec.version, version)

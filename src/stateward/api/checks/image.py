"""The version, and the image that must be of that version."""

from collections.abc import Iterator

from stateward.api.kinds.products import Product, product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.images import MALFORMED, carries, is_reference, parse_image
from stateward.api.values.problem import Problem, Severity
from stateward.api.values.version import Version, parse_version


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with the version and the image."""
    version, product = cluster.spec.version, product_of(cluster)
    parsed = parse_version(version)
    if parsed is None:
        text = f"must be three numbers with dots between them, for example {product.example}"
        yield Problem("spec.version", version, text)
    else:
        yield from _supported(parsed, product)
    if cluster.spec.image is not None:
        yield from _image(cluster.spec.image, version)


def _supported(version: Version, product: Product) -> Iterator[Problem]:
    if product.versions is not None and not product.versions[0] <= version < product.versions[1]:
        first, beyond = product.versions
        text = f"must be {first} or later, and earlier than {beyond}, for example {product.example}"
        yield Problem("spec.version", str(version), text)
        return
    first, beyond = product.tried
    if not first <= version < beyond:
        text = f"Stateward was tested with versions from {first} and before {beyond}: test it first"
        yield Problem("spec.version", str(version), text, Severity.WARNING)


def _image(text: str, version: str) -> Iterator[Problem]:
    image = parse_image(text)
    if not is_reference(text):
        yield Problem("spec.image", text, MALFORMED)
    elif not image.tag and not image.digest:
        yield Problem("spec.image", text, f"must carry a tag or a digest, for example {image.repository}:{version}")
    elif image.tag and not carries(image.tag, version):
        accepted = f"must have {version} in it, for example {version} or {version}-ours, or be left out beside a digest"
        yield Problem("spec.image", text, f"the tag is not that of spec.version: it {accepted}")

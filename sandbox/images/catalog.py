"""Resolves the short name of an image: `opensearch:2.19.5`, a full name, `stateward`."""

from pathlib import Path

from sandbox.dashboards import image as dashboards
from sandbox.errors import SandboxError
from sandbox.foundationdb import real
from sandbox.images import pins, programs
from sandbox.images.database import elasticsearch_image, opensearch_image
from sandbox.images.foundationdb import foundationdb_image, real_foundationdb_image
from sandbox.images.oci import Image
from sandbox.images.operator import OPERATOR_IMAGE, operator_image
from sandbox.progress import Progress


def known() -> list[str]:
    """Return the full names of all images that can be made."""
    return [
        *(f"{pins.OPENSEARCH}:{version}" for version in pins.OPENSEARCH_HOMES),
        *(f"{pins.ELASTICSEARCH}:{version}" for version in pins.ELASTICSEARCH_HOMES),
        *(f"{pins.FOUNDATIONDB}:{version}" for version in pins.FOUNDATIONDB_VERSIONS),
        *(f"{pins.REAL_FOUNDATIONDB}:{version}" for version in real.versions()),
        *dashboards.NAMES,
        *programs.NAMES,
        OPERATOR_IMAGE,
    ]


def full_name(reference: str) -> str:
    """Return the full name of an image; raise SandboxError if it is none of ours."""
    for name in known():
        repository, _, tag = name.rpartition(":")
        short = repository.rpartition("/")[2]
        if reference in {name, name.partition("/")[2], f"{short}:{tag}"} or (reference, name) == (
            short,
            OPERATOR_IMAGE,
        ):
            return name
    raise SandboxError(f"no image {reference!r}; there are: {', '.join(known())}")


def image(reference: str, native: Path, progress: Progress) -> Image:
    """Return an image, made if need be; `native` is the directory of the compiled C programs."""
    name = full_name(reference)
    repository, _, version = name.rpartition(":")
    if repository in (pins.OPENSEARCH, pins.ELASTICSEARCH):
        make = opensearch_image if repository == pins.OPENSEARCH else elasticsearch_image
        return make(version, native, progress)
    if repository in (pins.FOUNDATIONDB, pins.REAL_FOUNDATIONDB):
        make = foundationdb_image if repository == pins.FOUNDATIONDB else real_foundationdb_image
        return make(version, progress)
    if name in dashboards.NAMES:
        return dashboards.dashboards_image(name, progress)
    if name in programs.NAMES:
        return programs.program_image(name, progress)
    return operator_image(progress)

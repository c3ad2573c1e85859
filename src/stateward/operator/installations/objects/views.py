"""The objects that are read and watched for installations: installations, packages, and what they created.

Of packages and created objects only metadata is watched; whole objects are read when they are needed.
"""

from collections.abc import Iterable

from stateward.api.kinds.installation import Installation
from stateward.api.kinds.package import Package
from stateward.api.values.base import GROUP, VERSION
from stateward.kube.objects.metadata import ObjectMeta, PartialObject
from stateward.kube.objects.resource import Resource
from stateward.packages.plans.steps import ANNOTATION_PLAN, LABEL_PART_OF

INSTALLATIONS = Resource(GROUP, VERSION, "swinstallations", "Installation", Installation)
PACKAGES = Resource(GROUP, VERSION, "swpackages", "Package", Package)
CLUSTER_PACKAGES = Resource(GROUP, VERSION, "swclusterpackages", "ClusterPackage", Package, namespaced=False)

LABEL_SET = "applyset.kubernetes.io/id"
ANNOTATION_KINDS = "applyset.kubernetes.io/contains-group-kinds"
ANNOTATION_TOOLING = "applyset.kubernetes.io/tooling"
FINALIZER = f"{GROUP}/installation"
"""On an installation: its plan `cleanup` runs and its objects are removed before it goes."""
MANAGER = "stateward-packages"
"""The field manager of packages' objects."""

MOST_KINDS = 100
"""Kinds of objects of one installation: each is watched, and its tenant can write any into the annotation."""

GroupKind = tuple[str, str]
"""Group (empty for the core's) and kind."""


def set_of(meta: ObjectMeta) -> str:
    """Return the set of which a plan has created an object; empty for an object of no set, and for one of a controller.

    The disaster this prevents: a controller copies the labels of a custom resource to the Secrets and Services that it
    makes for it, some also the annotations. The package does not render these, so the next plan would remove them.
    """
    by_plan = ANNOTATION_PLAN in meta.annotations and not meta.controller_uid
    return meta.labels.get(LABEL_PART_OF, "") if by_plan else ""


def by_set(obj: PartialObject) -> Iterable[str]:
    """Index objects by their namespace and the set that they are part of."""
    name = set_of(obj.metadata)
    return (placed_set(obj.metadata.namespace, name),) if name else ()


def placed_set(namespace: str, label: str) -> str:
    """Return what objects of a set are indexed by in a namespace; in none, if it is empty."""
    return f"{namespace}/{label}"


def kinds_in(annotations: dict[str, str]) -> frozenset[GroupKind]:
    """Return the kinds of objects that an installation has ever created, from its annotation; at most `MOST_KINDS`."""
    names = annotations.get(ANNOTATION_KINDS, "").split(",")
    parts = (name.strip().partition(".") for name in names if name.strip())
    return frozenset(sorted({(group, kind) for kind, _, group in parts})[:MOST_KINDS])


def kinds_text(kinds: Iterable[GroupKind]) -> str:
    """Return kinds as the annotation has them."""
    return ",".join(sorted(f"{kind}.{group}" if group else kind for group, kind in kinds))

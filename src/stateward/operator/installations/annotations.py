"""The annotations of an installation that are written before its objects: the kinds of these objects.

The kinds are written first, so that an operator that stops after creating an object of a new kind leaves the record by
which the object is found again. The names follow the convention of `kubectl apply --prune`.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from stateward import __version__
from stateward.api.kinds.installation import Installation
from stateward.api.values.base import Json
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.metadata import key_of
from stateward.operator.installations.objects.views import (
    ANNOTATION_KINDS,
    ANNOTATION_TOOLING,
    FINALIZER,
    INSTALLATIONS,
    LABEL_SET,
    GroupKind,
    kinds_in,
    kinds_text,
)
from stateward.packages.plans.steps import set_id


async def add_marks(api: Api, installation: Installation, kinds: Iterable[GroupKind]) -> Installation:
    """Return the installation with its marks, which are written if they are not there; raises Conflict, ApiError."""
    meta = installation.metadata
    known = kinds_in(meta.annotations)
    wanted = known | frozenset(kinds)
    label = set_id(meta.name, meta.namespace)
    if wanted == known and FINALIZER in meta.finalizers and meta.labels.get(LABEL_SET) == label:
        return installation
    notes = {ANNOTATION_KINDS: kinds_text(wanted), ANNOTATION_TOOLING: f"stateward/v{__version__}"}
    body: Json = {"resourceVersion": meta.resource_version, "annotations": notes, "labels": {LABEL_SET: label}}
    if FINALIZER not in meta.finalizers:
        body["finalizers"] = [*meta.finalizers, FINALIZER]
    written = await api.patch(INSTALLATIONS, key_of(installation), {"metadata": body}, kind=PatchKind.MERGE)
    return replace(written, status=installation.status)


async def remove_finalizer(api: Api, installation: Installation) -> None:
    """Let an installation go: nothing of it is left."""
    meta = installation.metadata
    rest = [name for name in meta.finalizers if name != FINALIZER]
    body: Json = {"resourceVersion": meta.resource_version, "finalizers": rest}
    await api.patch(INSTALLATIONS, key_of(installation), {"metadata": body}, kind=PatchKind.MERGE)

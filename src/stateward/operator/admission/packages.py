"""Decides whether installations and packages may be stored, from the content of the packages.

If the answer is unknown, because a package does not exist yet or the API server does not answer, the change is
accepted: the operator reports the error in the installation's condition.
"""

import msgspec
import structlog

from stateward.api.kinds.installation import Installation
from stateward.api.kinds.package import Package as PackageObject
from stateward.api.values.base import Json
from stateward.kube.cache.listing import list_all
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import ObjectMeta, WireRecord
from stateward.kube.objects.resource import Selection
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.reviews import Request, Review, review, too_deep, uid_of
from stateward.operator.installations.execution.background import Background, WorkerPool
from stateward.operator.installations.execution.jobs import OpenPackage
from stateward.operator.installations.execution.library import Library
from stateward.operator.installations.execution.opening import NoPackageError
from stateward.operator.installations.execution.worker import NotNowError
from stateward.operator.installations.objects.views import CLUSTER_PACKAGES, PACKAGES
from stateward.packages.format.parameters import same
from stateward.packages.format.records import Package
from stateward.packages.review.refusals import Holder, refused_installation, refused_package

_log = structlog.get_logger(__name__)


class _Head(WireRecord):
    name: str = ""
    version: str = ""
    digest: str = ""


class _PackageHead(WireRecord):
    """A package without its content."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Head = _Head()


class PackageReviews:
    """Judges installations and packages, by live reads; opens packages `aside`."""

    def __init__(self, api: Api, namespaces: tuple[str, ...], background: Background | None = None) -> None:
        self._api = api
        self._background = background or WorkerPool()
        self._library = Library(api, namespaces, self._background)

    async def respond(self, question: bytes) -> Json:
        """Return the answer to a question; what cannot be read or known is let through, and logged."""
        try:
            asked = msgspec.json.decode(question, type=Review).request
            verdict = await self._judged(asked)
        except (msgspec.DecodeError, ApiError, NotNowError) as error:
            _log.warning("a request of the API server cannot be answered", error=f"{type(error).__name__}: {error}")
            return review(uid_of(question), Verdict())
        except RecursionError:
            return await too_deep(question)
        return review(asked.uid, verdict)

    async def _judged(self, asked: Request) -> Verdict:
        if asked.kind.kind == "Installation":
            new = msgspec.json.decode(asked.object, type=Installation | None)
            old = msgspec.json.decode(asked.old_object, type=Installation | None)
            return Verdict() if new is None else await self.installation(new, old)
        if asked.kind.kind in {PACKAGES.kind, CLUSTER_PACKAGES.kind}:
            package = msgspec.json.decode(asked.object, type=PackageObject | None)
            before = msgspec.json.decode(asked.old_object, type=PackageObject | None)
            # The API server itself ensures that the content of a package never changes.
            return Verdict() if package is None or before is not None else await self.package(package)
        return Verdict()

    async def installation(self, new: Installation, old: Installation | None) -> Verdict:
        """Return the verdict on a new or changed installation; raises ApiError."""
        if new.metadata.deletion_timestamp is not None or _is_unchanged(new, old):
            return Verdict()
        try:
            package = await self._library.read(new.metadata.namespace, new.spec.package)
        except NoPackageError as error:
            return Verdict(warnings=(f"spec.package: {error.message}",))
        return Verdict(refused_installation(package, new, old))

    async def package(self, new: PackageObject) -> Verdict:
        """Return the verdict on a new package; raises ApiError."""
        try:
            package = await self._background(OpenPackage(new))
        except NoPackageError as error:
            return Verdict((error.message,))
        found = refused_package(package, new.metadata.name, await self._holders(new, package))
        return Verdict((found,)) if found else Verdict()

    async def _holders(self, new: PackageObject, package: Package) -> list[Holder]:
        resource = CLUSTER_PACKAGES if new.kind == CLUSTER_PACKAGES.kind else PACKAGES
        where = Selection(new.metadata.namespace)
        # A page is as large as the content of its objects: a few at a time.
        state = await list_all(self._api, resource.viewed_as(_PackageHead), where, page_size=20)
        heads = (head for head in state.hand_over() if head.spec.name == package.name)
        return [Holder(head.metadata.name, head.spec.name, head.spec.version, head.spec.digest) for head in heads]


def _is_unchanged(new: Installation, old: Installation | None) -> bool:
    return old is not None and same(old.spec, new.spec) and new.metadata.annotations == old.metadata.annotations

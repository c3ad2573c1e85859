"""The packages of installations: read once for each object, because none of them ever changes."""

from collections.abc import Iterable

from stateward.api.kinds.package import Package as PackageObject
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, PartialObject, key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.installations.execution.background import Background
from stateward.operator.installations.execution.jobs import OpenPackage
from stateward.operator.installations.execution.kept import Kept
from stateward.operator.installations.execution.opening import NoPackageError
from stateward.operator.installations.objects.views import CLUSTER_PACKAGES, PACKAGES
from stateward.packages.format.records import Package
from stateward.packages.rendering.nested import Offer

LARGEST_HEADS = 4 << 20
"""Bytes of what packages are called: of some thousands."""


class Library:
    """Finds packages by name: those of a namespace first, then those of the cluster.

    An operator for certain namespaces knows no packages of the cluster.
    """

    def __init__(self, api: Api, namespaces: tuple[str, ...], background: Background) -> None:
        self._api = api
        self._background = background
        self._namespaces = namespaces
        self.packages: Store[PartialObject] = Store("packages", namespaces=namespaces)
        self.shared: Store[PartialObject] = Store("clusterpackages")
        self.kept = Kept[Package]()
        self.heads = Kept[Offer](LARGEST_HEADS)

    @property
    def _everywhere(self) -> bool:
        return "" in self._namespaces

    def reflectors(self, options: ReflectorOptions) -> Iterable[Reflector[PartialObject]]:
        """Return the reflectors of the list of packages."""
        for namespace in self._namespaces:
            yield Reflector(self._api, PACKAGES.metadata_only(), Selection(namespace), self.packages, options)
        if self._everywhere:
            yield Reflector(self._api, CLUSTER_PACKAGES.metadata_only(), Selection(), self.shared, options)

    async def wait_synced(self) -> None:
        """Wait until it is known which packages there are."""
        await self.packages.wait_synced()
        if self._everywhere:
            await self.shared.wait_synced()

    async def load(self, namespace: str, name: str) -> Package:
        """Return a package by the name of its object; raises NoPackageError, ApiError."""
        for resource, store, key in (
            (PACKAGES, self.packages, Key(namespace, name)),
            (CLUSTER_PACKAGES, self.shared, Key("", name)),
        ):
            known = store.get(key)
            if known is not None:
                return await self._of(resource, key, known.metadata.uid)
        raise _missing(namespace, name)

    async def read(self, namespace: str, name: str) -> Package:
        """Return a package as the server has it now, without any watch; raises NoPackageError, ApiError."""
        shared = [(CLUSTER_PACKAGES, Key("", name))] if self._everywhere else []
        for resource, key in ((PACKAGES, Key(namespace, name)), *shared):
            try:
                known = await self._api.get(resource.metadata_only(), key)
            except NotFound:
                continue
            return await self._of(resource, key, known.metadata.uid)
        raise _missing(namespace, name)

    async def offers(self, namespace: str) -> list[Offer]:
        """Return all packages that installations of a namespace may use."""
        mine = [(PACKAGES, self.packages, key) for key in sorted(self.packages.keys()) if key.namespace == namespace]
        shared = [(CLUSTER_PACKAGES, self.shared, key) for key in sorted(self.shared.keys())]
        found = [await self._offer(resource, store.get(key)) for resource, store, key in (*mine, *shared)]
        return [offer for offer in found if offer is not None]

    async def _offer(self, resource: Resource[PackageObject], known: PartialObject | None) -> Offer | None:
        """Return what a package is called; None if it was deleted meanwhile.

        Its archive is dropped, because there may be any number of packages. The disaster this prevents: a task reads
        all of them, with a megabyte each, in each round of an installation.
        """
        if known is None:
            return None
        key, uid = key_of(known), known.metadata.uid
        if (kept := self.heads.get(key.namespace, uid)) is not None:
            return kept
        try:
            body = await self._api.get(resource, key)
        except NotFound:
            return None
        said = body.spec
        offer = Offer(key.name, said.name, said.version, said.app_version)
        self.heads.keep(key.namespace, body.metadata.uid, offer)
        return offer

    async def _of(self, resource: Resource[PackageObject], key: Key, uid: str) -> Package:
        if (kept := self.kept.get(key.namespace, uid)) is not None:
            return kept
        try:
            body = await self._api.get(resource, key)
        except NotFound as error:
            raise NoPackageError("PackageMissing", f"{resource.kind} {key} is being deleted") from error
        found = await self._background(OpenPackage(body))
        self.kept.keep(key.namespace, body.metadata.uid, found)
        return found


def _missing(namespace: str, name: str) -> NoPackageError:
    return NoPackageError(
        "PackageMissing",
        f"there is no Package {name!r} in namespace {namespace}, and no ClusterPackage with that name: "
        "`stateward package install` creates one",
    )

"""The packages of installations: read once for each object, because none of them ever changes."""

from collections import OrderedDict
from collections.abc import Iterable

from stateward.api.kinds.package import Package as PackageObject
from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.installations.execution.background import Background
from stateward.operator.installations.execution.jobs import OpenPackage
from stateward.operator.installations.execution.opening import NoPackageError
from stateward.operator.installations.objects.views import CLUSTER_PACKAGES, PACKAGES
from stateward.packages.format.records import Package

MOST = 256
"""Packages that are kept in memory."""


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
        self._read: OrderedDict[str, Package] = OrderedDict()

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

    async def named(self, namespace: str) -> list[tuple[str, PackageObject]]:
        """Return all packages that installations of a namespace may use, by the names of their objects."""
        mine = [(PACKAGES, key) for key in sorted(self.packages.keys()) if key.namespace == namespace]
        shared = [(CLUSTER_PACKAGES, key) for key in sorted(self.shared.keys())]
        return [(key.name, await self._api.get(resource, key)) for resource, key in (*mine, *shared)]

    async def _of(self, resource: Resource[PackageObject], key: Key, uid: str) -> Package:
        if uid in self._read:
            self._read.move_to_end(uid)
            return self._read[uid]
        try:
            body = await self._api.get(resource, key)
        except NotFound as error:
            raise NoPackageError("PackageMissing", f"{resource.kind} {key} is being deleted") from error
        found = await self._background(OpenPackage(body))
        self._read[body.metadata.uid] = found
        if len(self._read) > MOST:
            self._read.popitem(last=False)
        return found


def _missing(namespace: str, name: str) -> NoPackageError:
    return NoPackageError(
        "PackageMissing",
        f"there is no Package {name!r} in namespace {namespace}, and no ClusterPackage with that name: "
        "`stateward package install` creates one",
    )

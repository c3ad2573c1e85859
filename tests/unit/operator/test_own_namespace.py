"""The operator looks up each name of a spec in the spec's own namespace: no name leads a request out of it.

These are all ways from a spec to a name in a request. `spec.podTemplate` and those of pools: accounts, Secrets, claims,
SecretProviderClasses (labels), and ConfigMaps, Secrets (what pods were made from); labels of pods: Services.
`spec.security`: three Secrets. `spec.secureSettings`: Secrets. Names of members: the objects that are made, see
`powers`. `spec.package` and `spec.serviceAccountName` of an installation: see the tests of installations; of packages
that belong to no namespace an operator for some namespaces knows none.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import OpenSearchCluster, SearchCluster
from stateward.engines.pods.uses import uses_of
from stateward.engines.search.configuration import keystore
from stateward.kube.client.client import ApplyOptions
from stateward.kube.objects.errors import ApiError, BadRequest, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.timing.clock import SystemClock
from stateward.operator.databases.engine import unconnected
from stateward.operator.installations.execution.background import in_foreground
from stateward.operator.installations.execution.library import Library, NoPackageError
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.kinds import kind_of
from stateward.operator.objects.ownership import NotOwnedError
from stateward.operator.observe.referenced_data import asked_of
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.restarts.sources import read_sources
from stateward.operator.security.security import Keeper
from tests.support.fuzz import fuzzed
from tests.unit.operator.test_powers import specs

HOME = "/namespaces/data/"


class Paths:
    """An API server on which nothing is, and the paths of all requests to it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def get(self, kind: Resource[Any], key: Key) -> Any:
        self.asked.append(kind.path_of(key))
        raise NotFound("it is not there")

    async def list(self, kind: Resource[Any], selection: Selection, *_: object) -> Any:
        self.asked.append(kind.path(selection.namespace) + "/")
        raise ApiError("it cannot be listed")

    async def apply(self, kind: Resource[Any], key: Key, _body: object, _options: ApplyOptions) -> Any:
        self.asked.append(kind.path_of(key))
        raise ApiError("enough was seen")


async def tried(work: Any) -> None:
    try:
        await work
    except (ApiError, NotOwnedError):
        return


async def asked_for(cluster: Cluster) -> list[str]:
    """Return the paths of all requests that names in the spec of a cluster lead to."""
    api: Any = Paths()
    family = unconnected(kind_of(cluster))
    await tried(PodRights(api, family, labelled=True).of_spec(cluster))
    for used in uses_of(cluster) | keystore.sources(asked_of(cluster)):
        await tried(read_sources(api, [used], cluster.metadata.namespace))
    if isinstance(cluster, SearchCluster):
        await tried(Keeper(api, Caches(), SystemClock(), labelled=True).keep(cluster, alone=True))
    return api.asked


@fuzzed(150)
@given(specs())
async def test_no_name_in_a_spec_leads_out_of_its_namespace(cluster: Cluster | None) -> None:
    if cluster is None:
        return
    assert [path for path in await asked_for(cluster) if HOME not in path or ".." in path.split("/")] == []


async def test_each_way_from_a_spec_to_a_name_is_taken() -> None:
    body = {
        "metadata": {"name": "logs", "namespace": "data", "uid": "u"},
        "spec": {
            "version": "2.19.5",
            "pools": [{"name": "all", "replicas": 1}],
            "security": {
                "enabled": True,
                "caSecretName": "ca",
                "adminSecretName": "admin",
                "http": {"secretName": "h"},
            },
            "secureSettings": [{"secretName": "store"}],
            "plugins": [{"name": "icu"}],
            "pluginSource": {"claimName": "files"},
            "podTemplate": {
                "metadata": {"labels": {"app": "x"}},
                "spec": {
                    "serviceAccountName": "builder",
                    "volumes": [
                        {"name": "a", "secret": {"secretName": "a-secret"}},
                        {"name": "b", "persistentVolumeClaim": {"claimName": "a-claim"}},
                    ],
                    "containers": [{"name": "opensearch", "envFrom": [{"configMapRef": {"name": "a-map"}}]}],
                },
            },
        },
    }
    found = await asked_for(msgspec.convert(body, OpenSearchCluster))
    ends = {path.split(HOME)[1] for path in found}
    assert ends >= {
        *("serviceaccounts/builder", "secrets/a-secret", "persistentvolumeclaims/a-claim", "configmaps/a-map"),
        *("secrets/ca", "secrets/h", "secrets/store", "services/", "persistentvolumeclaims/files"),
    }


@pytest.mark.parametrize("name", ["../payments/x", "payments/x", "..", "%2e%2e"])
async def test_a_package_is_searched_for_in_the_installations_namespace_only(name: str) -> None:
    api: Any = Paths()
    with pytest.raises((NoPackageError, BadRequest)):
        await Library(api, ("data",), in_foreground).read("data", name)
    assert [path for path in api.asked if HOME not in path] == []


async def test_an_operator_for_some_namespaces_reads_no_cluster_scoped_package() -> None:
    api: Any = Paths()
    with pytest.raises(NoPackageError):
        await Library(api, ("data",), in_foreground).read("data", "shop")
    assert [path.split(HOME)[1] for path in api.asked] == ["swpackages/shop"]

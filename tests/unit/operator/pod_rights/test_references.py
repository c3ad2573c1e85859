"""Objects that pods use: accounts, Secrets, claims and storage need permission."""

from typing import Any

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import PatchKind
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.kinds import kind_of
from stateward.operator.pod_rights.labels import PodRights
from stateward.simulation.apiserver.client import WorldApi
from tests.unit.operator.pod_rights.clusters import ALLOWED, SEARCH, asked, container, search


async def put(api: WorldApi, kind: Resource[Any], name: str, **labels: str) -> None:
    body: Json = {"metadata": {"name": name, "namespace": "data", "labels": labels}}
    if kind is kinds.CLAIMS:
        body["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await api.create(kind, body, namespace="data")


@pytest.mark.parametrize("labelled", [True, False])
async def test_a_service_account_has_to_be_allowed_whatever_else_is(api: WorldApi, labelled: bool) -> None:
    cluster = search(podTemplate={"spec": {"serviceAccountName": "builder"}})
    field = "spec.podTemplate.spec.serviceAccountName: ServiceAccount builder"
    assert await asked(api, cluster, labelled=labelled) == [
        f"{field} does not exist; it must have the label stateward.dev/allowed-for-pods: true (or logs)"
    ]
    await put(api, kinds.SERVICE_ACCOUNTS, "builder")
    command = "kubectl label serviceaccount builder -n data stateward.dev/allowed-for-pods=logs"
    assert await asked(api, cluster, labelled=labelled) == [
        f"{field} must have the label stateward.dev/allowed-for-pods: true (or logs): {command}"
    ]


@pytest.mark.parametrize(("value", "allowed"), [("true", True), ("logs", True), ("other", False), ("", False)])
async def test_an_account_is_allowed_by_its_label_for_all_clusters_or_for_one(
    api: WorldApi, value: str, allowed: bool
) -> None:
    cluster = search(podTemplate={"spec": {"serviceAccountName": "builder"}})
    await put(api, kinds.SERVICE_ACCOUNTS, "builder", **{names.LABEL_ALLOWED: value})
    assert (await asked(api, cluster) == []) is allowed


async def test_the_usual_account_needs_no_label_as_long_as_pods_get_no_token_of_it(api: WorldApi) -> None:
    assert await asked(api, search()) == []
    assert await asked(api, search(podTemplate={"spec": {"serviceAccountName": "default"}})) == []
    token = search(podTemplate={"spec": {"automountServiceAccountToken": True}})
    left_out = search(podTemplate={"spec": {"automountServiceAccountToken": None}})
    audience = {"serviceAccountToken": {"path": "t", "audience": "vault"}}
    projected = search(podTemplate={"spec": {"volumes": [{"name": "t", "projected": {"sources": [audience]}}]}})
    for cluster in (token, left_out, projected):
        assert len(await asked(api, cluster)) == 1
    await put(api, kinds.SERVICE_ACCOUNTS, "default", **ALLOWED)
    for cluster in (token, left_out, projected):
        assert await asked(api, cluster) == []


async def test_the_claim_with_plugins_needs_the_label(api: WorldApi) -> None:
    cluster = search(plugins=[{"name": "mapper-size"}], pluginSource={"claimName": "theirs"})
    field = "spec.pluginSource.claimName: PersistentVolumeClaim theirs"
    assert [text.startswith(f"{field} does not exist") for text in await asked(api, cluster)] == [True]
    await put(api, kinds.CLAIMS, "theirs")
    assert [text.startswith(f"{field} must have the label") for text in await asked(api, cluster)] == [True]
    await api.patch(kinds.CLAIMS, Key("data", "theirs"), {"metadata": {"labels": ALLOWED}}, kind=PatchKind.MERGE)
    assert await asked(api, cluster) == []


async def test_secrets_and_claims_need_the_label_where_the_operator_asks_for_it(api: WorldApi) -> None:
    spec: Json = {
        "volumes": [
            {"name": "s", "secret": {"secretName": "keys", "optional": True}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "theirs"}},
        ]
    }
    cluster = search(podTemplate={"spec": spec})
    assert await asked(api, cluster, labelled=False) == []
    assert [" does not exist" in text for text in await asked(api, cluster)] == [True, True]
    await put(api, kinds.SECRETS, "keys")
    await put(api, kinds.CLAIMS, "theirs")
    assert [" must have the label" in text for text in await asked(api, cluster)] == [True, True]
    allow = {"metadata": {"labels": ALLOWED}}
    await api.patch(kinds.SECRETS, Key("data", "keys"), allow, kind=PatchKind.MERGE)
    await api.patch(kinds.CLAIMS, Key("data", "theirs"), allow, kind=PatchKind.MERGE)
    assert await asked(api, cluster) == []


async def test_a_secret_for_the_keystore_may_be_missing_and_needs_the_label_when_it_is_there(api: WorldApi) -> None:
    cluster = search(secureSettings=[{"secretName": "store"}])
    assert await asked(api, cluster) == []
    await put(api, kinds.SECRETS, "store")
    assert [text.partition(":")[0] for text in await asked(api, cluster)] == ["spec.secureSettings[0].secretName"]


async def test_certificates_of_another_user_under_the_clusters_name_are_not_shown_to_its_pods(api: WorldApi) -> None:
    assert await asked(api, search()) == []
    await put(api, kinds.SECRETS, "logs-tls")
    found = await asked(api, search())
    assert found == [
        "metadata.name: Secret logs-tls belongs to another owner, and pods of logs would see its content",
    ]
    mine = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "name": "logs", "uid": "u"}
    owned = {"metadata": {"ownerReferences": [{**mine, "controller": True}]}}
    await api.patch(kinds.SECRETS, Key("data", "logs-tls"), owned, kind=PatchKind.MERGE)
    assert await asked(api, search()) == []


@pytest.mark.parametrize("name", ["logs-ca", "logs-operator-tls", "logs-admin", "logs-hot-1"])
async def test_even_the_clusters_other_secrets_are_not_for_its_pods(api: WorldApi, name: str) -> None:
    await put(api, kinds.SECRETS, name)
    assert len(await asked(api, search(podTemplate=container(envFrom=[{"secretRef": {"name": name}}])))) == 1


@pytest.mark.parametrize(("source", "kind"), [("secret", kinds.SECRETS), ("persistentVolumeClaim", kinds.CLAIMS)])
@pytest.mark.parametrize("volume", ["x", "config", "data"])
@pytest.mark.parametrize("ordinal", [0, 1])
async def test_nor_is_what_is_called_as_one_of_its_members_would_call_it(
    api: WorldApi, source: str, kind: Resource[Any], volume: str, ordinal: int
) -> None:
    """It may have another owner: then that member is not created, and no other member gets it."""
    name = f"logs-hot-{ordinal}" if kind is kinds.SECRETS else names.claim(f"logs-hot-{ordinal}")
    await put(api, kind, name)
    field = {"secret": "secretName", "persistentVolumeClaim": "claimName"}[source]
    named: Json = {"name": volume, "$patch": "replace", source: {field: name}}
    hot = {**SEARCH[1], "storage": {"size": "1Gi"}, "podTemplate": {"spec": {"volumes": [named]}}}
    found = await asked(api, search([SEARCH[0], hot]))
    assert [f" {name} must have the label" in text for text in found] == [True]


async def test_what_has_no_labels_to_read_cannot_be_used(api: WorldApi) -> None:
    claim = {"volumeClaimTemplate": {"spec": {"dataSource": {"kind": "VolumeSnapshot", "name": "theirs"}}}}
    cluster = search(podTemplate={"spec": {"volumes": [{"name": "v", "ephemeral": claim}]}})
    assert ["VolumeSnapshot theirs cannot be used" in text for text in await asked(api, cluster)] == [True]
    assert await asked(api, cluster, labelled=False) == []


@pytest.mark.parametrize("more", [{"namespace": "payments"}, {"apiGroup": "example.com"}])
async def test_a_claim_that_may_be_used_allows_none_of_its_name_elsewhere(api: WorldApi, more: Json) -> None:
    await put(api, kinds.CLAIMS, "ours", **ALLOWED)

    def copy(**more: str) -> Cluster:
        source = {"kind": "PersistentVolumeClaim", "name": "ours", **more}
        claim = {"volumeClaimTemplate": {"spec": {"dataSourceRef": source}}}
        return search(podTemplate={"spec": {"volumes": [{"name": "v", "ephemeral": claim}]}})

    assert await asked(api, copy()) == []
    assert [" ours cannot be used" in text for text in await asked(api, copy(**more))] == [True]


async def test_storage_that_is_named_by_its_address_cannot_be_used_and_a_claim_with_the_label_can(
    api: WorldApi,
) -> None:
    nfs = {"name": "v", "nfs": {"server": "10.0.0.1", "path": "/exports/payments"}}
    (found,) = await asked(api, search(podTemplate={"spec": {"volumes": [nfs]}}))
    assert found == (
        "spec.podTemplate.spec.volumes[v].nfs: storage of kind nfs cannot be used by pods of a cluster; a"
        " PersistentVolumeClaim of it can: it must have the label stateward.dev/allowed-for-pods: true (or logs)"
    )
    assert await asked(api, search(podTemplate={"spec": {"volumes": [nfs]}}), labelled=False) == []


async def test_credentials_of_a_registry_need_the_label_too(api: WorldApi) -> None:
    cluster = search(podTemplate={"spec": {"imagePullSecrets": [{"name": "pull"}]}})
    assert await asked(api, cluster, labelled=False) == []
    assert [" does not exist" in text for text in await asked(api, cluster)] == [True]
    await put(api, kinds.SECRETS, "pull", **ALLOWED)
    assert await asked(api, cluster) == []


async def test_what_cannot_be_read_is_not_allowed() -> None:
    class Denied:
        async def get(self, *_: object) -> Any:
            raise Forbidden("serviceaccounts is forbidden")

    denied: Any = Denied()
    rights = PodRights(denied, unconnected(kind_of(search())), labelled=False)
    found = await rights.of_spec(search(podTemplate={"spec": {"serviceAccountName": "builder"}}))
    assert [(r.reason, r.everything) for r in found] == [("PodRightsUnknown", True)]
    assert "serviceaccounts is forbidden" in found[0].message


async def test_a_spec_that_makes_no_sense_is_not_asked_about(api: WorldApi) -> None:
    assert await asked(api, search(podTemplate={"spec": {"containers": "x", "serviceAccountName": "builder"}})) == []

"""Labels of pods: they must not lead clients of other Services to the pods."""

from typing import Any

import msgspec
from msgspec import convert

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.client.client import PatchKind
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Forbidden, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import kind_of
from stateward.operator.pod_rights.clients import labelled_pods
from stateward.operator.pod_rights.finished import templates_beside
from stateward.operator.pod_rights.labels import PodRights
from stateward.simulation.apiserver.client import WorldApi
from tests.unit.operator.pod_rights.clusters import ALLOWED, asked, search


async def serve(api: WorldApi, name: str, selector: Json, **metadata: Any) -> None:
    body = {"metadata": {"name": name, **metadata}, "spec": {"selector": selector, "ports": [{"port": 80}]}}
    await api.create(kinds.SERVICES, body, namespace="data")


def dressed(**labels: str) -> Cluster:
    return search(podTemplate={"metadata": {"labels": labels}})


async def test_labels_that_lead_clients_of_another_service_to_the_pods_are_refused(api: WorldApi) -> None:
    await serve(api, "payments", {"app": "payments", "tier": "db"})
    await serve(api, "by-hand", {})
    assert await asked(api, dressed(app="payments")) == []
    cluster = dressed(app="payments", tier="db")
    command = "kubectl label service payments -n data stateward.dev/allowed-for-pods=logs"
    (found,) = await asked(api, cluster)
    assert found == (
        "spec.podTemplate.metadata.labels[app]: with it the pods would receive the traffic of Service"
        " payments, which must have"
        f" the label stateward.dev/allowed-for-pods: true (or logs): {command}"
    )
    assert await asked(api, cluster, labelled=False) == []
    await api.patch(kinds.SERVICES, Key("data", "payments"), {"metadata": {"labels": ALLOWED}}, kind=PatchKind.MERGE)
    assert await asked(api, cluster) == []


async def test_a_service_that_selects_the_pods_by_their_own_labels_is_its_makers_choice(api: WorldApi) -> None:
    await serve(api, "mine", {names.LABEL_CLUSTER: "logs"})
    assert await asked(api, dressed(app="payments")) == []


USUAL = {"app.kubernetes.io/name": "opensearch", "app.kubernetes.io/instance": "logs"}


async def test_a_service_of_another_release_of_the_same_name_holds_the_first_pods_back(api: WorldApi) -> None:
    """A cluster with the name of a Helm release got half of its clients, with their passwords and their writes."""
    await serve(api, "opensearch-cluster-master", USUAL)
    await serve(api, "another", {**USUAL, "app.kubernetes.io/instance": "other"})
    command = "kubectl label service opensearch-cluster-master -n data stateward.dev/allowed-for-pods=logs"
    (found,) = await asked(api, search())
    assert found == (
        "metadata.name: with it the pods would receive the traffic of Service opensearch-cluster-master, which must"
        f" have the label stateward.dev/allowed-for-pods: true (or logs): {command}"
    )
    assert await asked(api, search(), labelled=False) == []
    where = Key("data", "opensearch-cluster-master")
    await api.patch(kinds.SERVICES, where, {"metadata": {"labels": ALLOWED}}, kind=PatchKind.MERGE)
    assert await asked(api, search()) == []


async def test_a_service_that_is_made_later_holds_no_repair_back(api: WorldApi) -> None:
    """Its maker knows the pods. A cluster that has lost all of its pods is no new one."""
    await serve(api, "made-later", USUAL)
    rights = PodRights(api, unconnected(kind_of(search())), labelled=True)
    member = convert({"metadata": {"name": "logs-hot-0"}}, StatefulSet)
    running = ClusterObjects(search(), (member,), (), (), (), {}, {})
    lost = msgspec.structs.replace(search(), status=ClusterStatus(cluster_uuid="u"))
    assert await rights.of_spec(search(), running) == ()
    assert await rights.of_spec(lost) == ()
    assert [r.subject for r in await rights.of_spec(search())] == ["metadata.name"]


def test_of_pods_without_labels_of_the_spec_no_template_is_remembered() -> None:
    """Templates of all pools of all clusters took more memory than all else that the operator knows of them."""
    family = unconnected(kind_of(search()))
    assert all(each.chosen is None for each in labelled_pods(family, search()))
    assert all(each.chosen is not None for each in labelled_pods(family, dressed(app="payments")))


async def test_dashboards_get_no_clients_of_a_release_of_the_same_name(api: WorldApi) -> None:
    cluster = search(dashboards={})
    await serve(api, "their-dashboards", {**USUAL, "app.kubernetes.io/name": "opensearch-dashboards"})
    family = unconnected(kind_of(cluster))
    (made,) = templates_beside(family, cluster)
    rights = PodRights(api, family, labelled=True)
    assert [r.subject for r in await rights.of_template(made, cluster, new=True)] == ["metadata.name"]
    assert await rights.of_template(made, cluster, new=False) == ()


async def test_services_that_cannot_be_listed_are_waited_for() -> None:
    class Denied:
        async def get(self, *_: object) -> Any:
            raise NotFound("no such Secret")

        async def list(self, *_: object, **__: object) -> Any:
            raise Forbidden("services is forbidden")

    denied: Any = Denied()
    rights = PodRights(denied, unconnected(kind_of(search())), labelled=True)
    found = await rights.of_spec(dressed(app="payments"))
    assert [(r.subject, r.reason) for r in found] == [("spec.podTemplate.metadata.labels", "PodRightsUnknown")]

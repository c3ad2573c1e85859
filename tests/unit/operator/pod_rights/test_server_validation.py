"""What the API server does not accept is refused by the field of the spec, before anything is written."""

import asyncio
from typing import Any

import pytest

from stateward.kube.objects.errors import ApiError, BadRequest, Status, StatusDetails, error_for
from stateward.kube.objects.errors import FieldCause as Cause
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import kind_of
from stateward.operator.pod_rights.finished import DASHBOARDS, METRICS, final_templates
from stateward.operator.pod_rights.labels import PodRights
from stateward.operator.pod_rights.server_validation import (
    AGAIN,
    NOT_ACCEPTED,
    ServerValidation,
    faults,
    is_client_service,
    parts,
)
from stateward.planning.model.observation import Refusal
from tests.unit.kube.memory_api import MemoryApi
from tests.unit.operator.pod_rights.clusters import SEARCH, container, elastic, foundation, search

UNTYPED = "failed to create typed patch object (data/logs-hot-0; apps/v1, Kind=StatefulSet): "


def unknown(*paths: str) -> ApiError:
    """Return the server's answer to an apply of an object with unknown fields."""
    faults = "\n".join(f"  .{path}: field not declared in schema" for path in paths)
    text = f"errors:\n{faults}" if len(paths) > 1 else faults.strip()
    return error_for(Status(kind="Status", code=500, message=UNTYPED + text))


def invalid(field: str, message: str) -> ApiError:
    details = StatusDetails(causes=(Cause(field=field, message=message, reason="FieldValueInvalid"),))
    return error_for(Status(kind="Status", code=422, reason="Invalid", message="is invalid", details=details))


class Server(MemoryApi):
    """A server that answers to writes of one kind with an error, and keeps no dry run."""

    def __init__(self, error: ApiError | None, plural: str = "statefulsets") -> None:
        super().__init__(latency=0)
        self.error, self.plural = error, plural

    async def apply(self, resource: Any, key: Key, body: Any, options: Any) -> Any:
        self.calls.append(("apply", resource.plural, key))
        assert options.dry_run
        assert "ownerReferences" not in body["metadata"]
        if self.error is not None and resource.plural == self.plural:
            raise self.error


async def refusals(server: Server, cluster: Any) -> tuple[Refusal, ...]:
    return await ServerValidation(server, unconnected(kind_of(cluster))).refusals(cluster)


async def test_unknown_fields_are_named_by_the_template_that_has_them() -> None:
    pools = [SEARCH[0], {**SEARCH[1], "podTemplate": {"spec": {"bogus": 1}}}]
    cluster = search(pools, podTemplate=container(imagePulPolicy="Always"))
    error = unknown("spec.template.spec.bogus", 'spec.template.spec.containers[name="opensearch"].imagePulPolicy')
    found = await refusals(Server(error), cluster)
    assert [(each.subject, each.reason) for each in found] == [
        ("spec.podTemplate.spec.bogus", NOT_ACCEPTED),
        ("spec.podTemplate.spec.containers[opensearch].imagePulPolicy", NOT_ACCEPTED),
        ("spec.pools[1].podTemplate.spec.bogus", NOT_ACCEPTED),
    ]
    assert found[1].message.endswith("imagePulPolicy: the API server says: unknown field")


async def test_a_value_that_the_server_refuses_is_reported_in_its_words() -> None:
    cluster = search(podTemplate={"spec": {"terminationGracePeriodSeconds": -1}})
    server = Server(invalid("spec.template.spec.terminationGracePeriodSeconds", "must be greater than 0"))
    (found,) = await refusals(server, cluster)
    assert found.subject == "spec.podTemplate.spec.terminationGracePeriodSeconds"
    assert "the API server says: must be greater than 0" in found.message
    assert found.everything


async def test_a_container_is_named_and_not_counted_because_the_operator_adds_others() -> None:
    cluster = search(
        podTemplate={"spec": {"initContainers": [{"name": "mine", "image": "x", "imagePullPolicy": "No"}]}}
    )
    (made, *_) = final_templates(unconnected(kind_of(cluster)), cluster)
    at = [each["name"] for each in made.template["spec"]["initContainers"]].index("mine")
    server = Server(invalid(f"spec.template.spec.initContainers[{at}].imagePullPolicy", "Unsupported value"))
    (found,) = await refusals(server, cluster)
    assert found.subject == "spec.podTemplate.spec.initContainers[mine].imagePullPolicy"


async def test_a_long_answer_of_the_server_is_reported_in_short() -> None:
    """A status with all of it would be too large to be stored, and would be made and sent again and again."""
    cluster = search(podTemplate={"metadata": {"labels": {"a": "x" * 10_000}}})
    server = Server(invalid("spec.template.metadata.labels", f"Invalid value: {'x' * 10_000}"))
    (found,) = await refusals(server, cluster)
    assert len(found.message) < 1000
    many = [f"spec.template.spec.field{i}" for i in range(5000)]
    cluster = search(podTemplate={"spec": {path.rpartition(".")[2]: 1 for path in many}})
    server = Server(unknown(*many))
    validation = ServerValidation(server, unconnected(kind_of(cluster)))
    for found in (await validation.refusals(cluster), await validation.refusals_beside(cluster)):
        assert len(found) <= 21
    assert (await validation.refusals(cluster))[-1].message == "spec: the API server does not accept 4980 more fields"


@pytest.mark.parametrize("name", ["[" * 100_000, "[=" * 50_000, ":." * 50_000, "." * 100_000, "[" + "9" * 5000 + "]"])
async def test_a_name_of_brackets_and_dots_is_read_at_once(name: str) -> None:
    """With a field of 5,000 brackets in a pod template, the operator did nothing else for a minute, for any cluster."""
    cluster = search(podTemplate={"spec": {name: 1, "containers": []}})
    for error in (unknown(f"spec.template.spec.{name}"), invalid(f"spec.template.spec.containers{name}", "no")):
        (found,) = await refusals(Server(error), cluster)
        assert found.subject.startswith("spec.podTemplate.spec")


@pytest.mark.parametrize(
    ("message", "paths"),
    [
        (".spec.a: no", ["spec.a"]),
        ("Kind=Pod): .spec.a.b: field not declared in schema", ["spec.a.b"]),
        ("errors:\n  .spec.a:.b: no\n  .spec.c: no: .spec.d: no", ["spec.a:.b", "spec.c"]),
        ("x:.spec.a: no", ["spec.a"]),
        ("v1.2: no; .spec.a is wrong; a.b: no", []),
    ],
)
def test_fields_are_found_in_the_servers_words(message: str, paths: list[str]) -> None:
    assert [path for path, _ in faults(BadRequest(message))] == paths


async def test_fields_of_the_service_are_named_too() -> None:
    cluster = search(service={"spec": {"portz": []}})
    (found,) = await refusals(Server(unknown("spec.portz"), "services"), cluster)
    assert found.subject == "spec.service.spec.portz"


async def test_a_spec_without_templates_is_not_asked_about() -> None:
    server = Server(unknown("spec.template.spec.bogus"))
    assert await refusals(server, search()) == ()
    assert server.calls == []


@pytest.mark.parametrize("code", [403, 404, 409, 429, 500, 503])
async def test_another_failure_refuses_nothing_and_is_asked_again(code: int) -> None:
    server = Server(error_for(Status(kind="Status", code=code, message="no")))
    cluster = search(podTemplate=container(imagePulPolicy="Always"))
    validation = ServerValidation(server, unconnected(kind_of(cluster)))
    assert await validation.refusals(cluster) == ()
    server.error = unknown('spec.template.spec.containers[name="opensearch"].imagePulPolicy')
    assert len(await validation.refusals(cluster)) == 1


async def test_a_refused_spec_is_asked_about_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server was upgraded meanwhile, or a policy on it was corrected, and no user edits the spec for that."""
    now = [100.0]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
    server = Server(unknown('spec.template.spec.containers[name="opensearch"].imagePullPolicy'))
    cluster = search(podTemplate=container(imagePullPolicy="Always"))
    validation = ServerValidation(server, unconnected(kind_of(cluster)))
    assert len(await validation.refusals(cluster)) == 1
    server.error, asked = None, len(server.calls)
    now[0] += AGAIN - 1
    assert len(await validation.refusals(cluster)) == 1
    assert len(server.calls) == asked
    now[0] += 1
    assert await validation.refusals(cluster) == ()
    now[0] += 10 * AGAIN
    assert await validation.refusals(cluster) == ()
    assert len(server.calls) == asked + len(SEARCH), "an accepted spec is not asked about again"


async def test_a_spec_is_asked_about_once_and_another_one_again() -> None:
    server = Server(None)
    cluster = search(podTemplate=container(imagePullPolicy="Always"))
    validation = ServerValidation(server, unconnected(kind_of(cluster)))
    for _ in range(3):
        assert await validation.refusals(cluster) == ()
    assert len(server.calls) == len(SEARCH)
    await validation.refusals(search(podTemplate=container(imagePullPolicy="Never")))
    assert len(server.calls) == 2 * len(SEARCH)
    validation.forget(Key("data", "logs"))
    await validation.refusals(search(podTemplate=container(imagePullPolicy="Never")))
    assert len(server.calls) == 3 * len(SEARCH)


async def test_a_fault_in_what_the_operator_itself_writes_is_not_blamed_on_the_spec() -> None:
    server = Server(invalid("metadata.labels", "too long"))
    assert await refusals(server, search(podTemplate=container(imagePullPolicy="Always"))) == ()


async def test_one_trial_for_each_pool_is_enough_on_the_way_to_another_version() -> None:
    server, cluster = Server(None), foundation(podTemplate={"spec": {"priorityClassName": "high"}})
    assert await refusals(server, cluster) == ()
    assert len(server.calls) == 3


async def test_the_round_of_a_cluster_asks_the_server_too() -> None:
    server = Server(unknown("spec.template.spec.bogus"))
    cluster = search(podTemplate={"spec": {"bogus": 1}})
    rights = PodRights(server, unconnected(kind_of(cluster)), labelled=False)
    existing = ClusterObjects(cluster, (), (), (), (), {}, {})
    assert {each.subject for each in await rights.refusals(existing)} == {"spec.podTemplate.spec.bogus"}


async def refusals_beside(server: Server, cluster: Any) -> list[str]:
    found = await ServerValidation(server, unconnected(kind_of(cluster))).refusals_beside(cluster)
    assert all(each.reason == NOT_ACCEPTED for each in found)
    return [each.message for each in found]


@pytest.mark.parametrize("make", [search, elastic])
async def test_pods_of_dashboards_are_asked_about_with_their_own_place_in_the_spec(make: Any) -> None:
    template = {"spec": {"bogus": 1, **container("dashboards", imagePulPolicy="Always")["spec"]}}
    error = unknown("spec.template.spec.bogus", 'spec.template.spec.containers[name="dashboards"].imagePulPolicy')
    server = Server(error, "deployments")
    assert await refusals_beside(server, make(dashboards={"podTemplate": template})) == [
        f"{DASHBOARDS}.spec.bogus: the API server says: unknown field",
        f"{DASHBOARDS}.spec.containers[dashboards].imagePulPolicy: the API server says: unknown field",
    ]
    assert server.calls == [("apply", "deployments", Key("data", "logs-dashboards"))]


@pytest.mark.parametrize("make", [search, elastic, foundation])
async def test_pods_of_exporters_are_asked_about_with_their_own_place_in_the_spec(make: Any) -> None:
    template = {"spec": {"terminationGracePeriodSeconds": -1}}
    error = invalid("spec.template.spec.terminationGracePeriodSeconds", "must be greater than 0")
    server = Server(error, "deployments")
    assert await refusals_beside(server, make(metrics={"podTemplate": template})) == [
        f"{METRICS}.spec.terminationGracePeriodSeconds: the API server says: must be greater than 0"
    ]
    assert server.calls == [("apply", "deployments", Key("data", "logs-metrics"))]


async def test_a_fault_in_a_container_of_the_user_beside_the_operators_own_is_named_by_it() -> None:
    extra = {"spec": {"containers": [{"name": "mine", "image": "x", "imagePullPolicy": "No"}]}}
    cluster = foundation(metrics={"podTemplate": extra})
    names = ["exporter", "fdbcli", "mine"]
    server = Server(
        invalid(f"spec.template.spec.containers[{names.index('mine')}].imagePullPolicy", "Unsupported value"),
        "deployments",
    )
    (found,) = await refusals_beside(server, cluster)
    assert found.startswith(f"{METRICS}.spec.containers[mine].imagePullPolicy: ")


async def test_the_service_of_dashboards_is_asked_about_too() -> None:
    cluster = search(dashboards={"service": {"spec": {"portz": []}}})
    server = Server(unknown("spec.portz"), "services")
    assert await refusals_beside(server, cluster) == [
        "spec.dashboards.service.spec.portz: the API server says: unknown field"
    ]
    assert server.calls == [("apply", "services", Key("data", "logs-dashboards"))]


async def test_what_is_beside_a_cluster_is_asked_about_only_if_the_spec_describes_it_and_is_valid() -> None:
    server = Server(unknown("spec.template.spec.bogus"), "deployments")
    template = {"spec": {"bogus": 1}}
    plain = search(dashboards={"replicas": 2}, metrics={"resources": {"limits": {"memory": "1Gi"}}})
    assert await refusals_beside(server, plain) == []
    wrong = search(dashboards={"podTemplate": template, "image": "no tag"}, metrics={"podTemplate": template})
    assert await refusals_beside(server, wrong) == []
    assert server.calls == []


async def test_what_is_beside_a_cluster_stops_no_round_of_its_database() -> None:
    server = Server(unknown("spec.template.spec.bogus"), "deployments")
    assert await refusals(server, search(metrics={"podTemplate": {"spec": {"bogus": 1}}})) == ()


def test_paths_of_the_server_are_read_in_both_of_its_forms() -> None:
    assert parts('spec.containers[name="c"].image') == ("spec", "containers", "[c]", "image")
    assert parts("spec.containers[0].ports[1].containerPort") == (
        "spec",
        "containers",
        "[0]",
        "ports",
        "[1]",
        "containerPort",
    )
    assert parts('spec.c.ports[containerPort=99,protocol="TCP"].x') == ("spec", "c", "ports", "[99]", "x")


@pytest.mark.parametrize(
    ("kind", "name", "found"), [("Service", "logs", True), ("Service", "logs-x", False), ("ConfigMap", "logs", False)]
)
def test_the_service_of_clients_is_known_by_kind_and_name(kind: str, name: str, found: bool) -> None:
    assert search().metadata.name == "logs"
    assert is_client_service({"kind": kind, "metadata": {"name": name}}, search()) is found

"""Templates with thousands of items: judged in time that grows as they do, and reported in short."""

import time
from typing import Any

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level
from stateward.kube.client.client import Page
from stateward.kube.objects.errors import NotFound
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.kinds import kind_of
from stateward.operator.pod_rights.named import named
from stateward.operator.pod_rights.policy import problems
from tests.unit.operator.pod_rights.clusters import SEARCH, asked, search

MANY = 5000


class Empty:
    """An API server that has nothing, and counts the questions."""

    asked = 0

    async def get(self, *_: object) -> Any:
        self.asked += 1
        raise NotFound("no such object")

    async def list(self, *_: object, **__: object) -> Any:
        return Page((), "")


def variable(number: int) -> dict[str, Any]:
    return {"name": f"V{number}", "valueFrom": {"secretKeyRef": {"name": f"secret-{number}", "key": "k"}}}


def naming(many: int) -> Cluster:
    container = {"name": "opensearch", "env": [variable(number) for number in range(many)]}
    return search([SEARCH[0], {**SEARCH[1], "podTemplate": {"spec": {"containers": [container]}}}])


def test_thousands_of_secrets_are_found_in_seconds() -> None:
    """With each searched for in the list of all, one spec stopped the operator for all clusters for half a minute."""
    cluster = naming(MANY)
    began = time.process_time()
    found = named(unconnected(kind_of(cluster)), cluster)
    assert time.process_time() - began < 8
    assert len([each for each in found if each.name.startswith("secret-")]) == MANY


async def test_hundreds_of_secrets_are_not_all_asked_for_and_not_all_reported() -> None:
    server = Empty()
    found = await asked(server, naming(500))
    assert (len(found), server.asked) == (20, 20)
    field = "spec.pools[1].podTemplate.spec.containers[opensearch].env[V0].valueFrom.secretKeyRef.name: "
    assert found[0].startswith(field)


async def test_a_long_name_is_reported_in_short() -> None:
    spec = {"imagePullSecrets": [{"name": "x" * 500_000}]}
    (found,) = await asked(Empty(), search(podTemplate={"spec": spec}))
    assert len(found) < 1100


@pytest.mark.parametrize("number", ["²", "9" * 5000])
async def test_a_name_that_looks_like_a_number_is_a_name(number: str) -> None:
    spec = {"volumes": [{"name": number, "secret": {"secretName": "theirs"}}]}
    pools = [SEARCH[0], {**SEARCH[1], "podTemplate": {"spec": {"volumes": [{"name": "other", "emptyDir": {}}]}}}]
    (found,) = await asked(Empty(), search(pools, podTemplate={"spec": spec}))
    assert found.startswith("spec.podTemplate.spec.volumes[")


def test_thousands_of_ports_are_judged_in_seconds() -> None:
    ports = [{"name": f"p{number}", "containerPort": number, "hostPort": number} for number in range(1, MANY)]
    cluster = search(podTemplate={"spec": {"containers": [{"name": "opensearch", "ports": ports}]}})
    began = time.process_time()
    found = problems(unconnected(kind_of(cluster)), cluster, Level.BASELINE)
    assert time.process_time() - began < 4
    assert len(found) == MANY - 1
    assert found[0].path == "spec.podTemplate.spec.containers[opensearch].ports[p1].hostPort"

"""Resources of containers are what an API server accepts: names, quantities, and requests within limits."""

from typing import Any

import pytest

from stateward.api.validation import validate_access
from tests.unit.api.documents import cluster
from tests.unit.api.findings import found, only, pool


@pytest.mark.parametrize("amount", ["2 GB", "-1Gi", "1" * 100_000 + "x", None, []])
def test_resources_are_quantities(amount: Any) -> None:
    of = cluster(pools=[pool(resources={"limits": {"memory": amount}})])
    assert only(of)[0] == "spec.pools[0].resources.limits.memory"


def test_resources_are_maps() -> None:
    assert only(cluster(pools=[pool(resources={"limits": "2Gi"})]))[0] == "spec.pools[0].resources.limits"


@pytest.mark.parametrize(
    ("resources", "field"),
    [
        ({"limits": {"gpu": 1}}, "limits.gpu"),
        ({"limits": {"Memory": "2Gi"}}, "limits.Memory"),
        ({"requests": {"storage": "2Gi"}}, "requests.storage"),
        ({"requests": {"nvidia.com/gpu": 1}}, "requests.nvidia.com/gpu"),
        ({"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}}, "requests.nvidia.com/gpu"),
        ({"requests": {"hugepages-2Mi": "1Gi"}}, "requests.hugepages-2Mi"),
    ],
)
def test_resources_that_no_server_gives_to_a_container_are_refused(resources: dict[str, Any], field: str) -> None:
    assert only(cluster(pools=[pool(resources=resources)]))[0] == f"spec.pools[0].resources.{field}"


@pytest.mark.parametrize("block", ["metrics", "dashboards"])
def test_resources_beside_the_database_are_checked_too(block: str) -> None:
    spec: dict[str, Any] = {block: {"resources": {"limits": {"gpu": 1}}}}
    of = cluster(**spec)
    assert [problem.path for problem in validate_access(of)] == [f"spec.{block}.resources.limits.gpu"]


def test_devices_and_huge_pages_are_accepted() -> None:
    amounts = {"cpu": 1, "ephemeral-storage": "1Gi", "nvidia.com/gpu": 1, "hugepages-2Mi": "1Gi", "memory": "2Gi"}
    assert found(cluster(pools=[pool(resources={"limits": amounts, "requests": amounts})])) == []


def test_a_request_is_within_its_limit() -> None:
    of = cluster(pools=[pool(resources={"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}})])
    assert only(of) == ("spec.pools[0].resources.requests.memory", "must not be more than the limit, 1Gi")

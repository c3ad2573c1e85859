"""Only pods that serve are asked about what they run."""

import msgspec
import pytest

from stateward.kube.objects.pods import Pod
from stateward.operator.beside.pods import addresses_of

ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def pod(address: str, ready: str = "True", **meta: object) -> Pod:
    conditions = [{"type": "Ready", "status": ready}]
    return msgspec.convert({"metadata": meta, "status": {"podIP": address, "conditions": conditions}}, Pod)


@pytest.mark.parametrize(
    ("pods", "addresses"),
    [
        ([pod("10.0.0.2"), pod("10.0.0.1")], ["10.0.0.1", "10.0.0.2"]),
        ([pod("10.0.0.1"), pod("10.0.0.2", ready="False")], ["10.0.0.1"]),
        ([pod("10.0.0.1"), pod("")], ["10.0.0.1"]),
        ([pod("10.0.0.1", **ENDING)], []),
    ],
)
def test_the_addresses_are_those_of_ready_pods(pods: list[Pod], addresses: list[str]) -> None:
    assert addresses_of(pods) == addresses

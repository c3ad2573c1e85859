"""The provisioner decides from the objects alone what to make, to grow and to remove."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.volumes import decisions
from sandbox.volumes.names import PROVISIONER

_CLASS: dict[str, Any] = {"metadata": {"name": "local"}, "provisioner": PROVISIONER, "reclaimPolicy": "Delete"}
_CLASSES = {"local": _CLASS}


def _claim(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "ns",
            "name": "data",
            "uid": "u1",
            "annotations": {decisions.SELECTED_NODE: "n2"},
        },
        "spec": {
            "storageClassName": "local",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **spec,
        },
    }


def _bound(asked: str, held: str) -> tuple[dict[str, Any], dict[str, Any]]:
    volume = decisions.new_volume(_claim(resources={"requests": {"storage": held}}), "n2", _CLASS)
    claim = _claim(volumeName=volume["metadata"]["name"], resources={"requests": {"storage": asked}})
    return {**claim, "status": {"phase": "Bound", "capacity": {"storage": held}}}, volume


def test_a_claim_is_served_on_the_node_that_the_scheduler_chose() -> None:
    assert decisions.wants_volume(_claim(), _CLASSES) == "n2"
    volume = decisions.new_volume(_claim(), "n2", _CLASS)
    assert decisions.is_ours(volume)
    assert decisions.node_of(volume) == "n2"
    assert volume["spec"]["local"]["path"] == "/var/lib/volumes/pvc-u1"
    assert volume["spec"]["claimRef"]["uid"] == "u1"


def test_a_claim_without_a_consumer_waits() -> None:
    claim = _claim()
    claim["metadata"]["annotations"] = {}
    assert decisions.wants_volume(claim, _CLASSES) is None


def test_claims_of_others_are_left_alone() -> None:
    foreign = {"local": {**_CLASS, "provisioner": "somebody.else"}}
    assert decisions.wants_volume(_claim(), foreign) is None
    assert decisions.wants_volume(_claim(volumeName="there"), _CLASSES) is None


def test_a_claim_that_asks_for_more_grows() -> None:
    assert decisions.growth(*_bound("2Gi", "1Gi")) == "2Gi"
    assert decisions.growth(*_bound("1024Mi", "1Gi")) is None


def test_a_half_done_growth_is_finished() -> None:
    claim, volume = _bound("2Gi", "1Gi")
    volume["spec"]["capacity"]["storage"] = "2Gi"
    assert decisions.growth(claim, volume) == "2Gi"


@pytest.mark.parametrize(("phase", "policy", "expected"), [
    ("Released", "Delete", True),
    ("Released", "Retain", False),
    ("Bound", "Delete", False),
])  # fmt: skip
def test_only_released_volumes_that_may_go_are_removed(phase: str, policy: str, *, expected: bool) -> None:
    volume = decisions.new_volume(_claim(), "n1", {**_CLASS, "reclaimPolicy": policy})
    volume["status"] = {"phase": phase}
    assert decisions.to_be_deleted(volume) is expected


@given(st.integers(0, 10**9), st.sampled_from([("Ki", 2**10), ("Gi", 2**30), ("M", 10**6), ("", 1)]))
def test_quantities_are_read_as_kubernetes_writes_them(number: int, suffix: tuple[str, int]) -> None:
    assert decisions.in_bytes(f"{number}{suffix[0]}") == number * suffix[1]

"""The pod of a pipe task: whose image waits in it, and as whom it reads what the init containers wrote."""

from typing import Any

import pytest

from stateward.packages.format.records import Task, TaskKind
from stateward.packages.rendering.pipes import WAITER, pipe_pod


def waiter(image: str, of_pod: dict[str, Any], of_last: dict[str, Any]) -> dict[str, Any]:
    starts = [{"name": "other"}, {"name": "last", **of_last, "volumeMounts": [{"name": "d", "mountPath": "/d"}]}]
    task = Task(name="made", kind=TaskKind.PIPE)
    pod = pipe_pod("web", task, {"kind": "Pod", "spec": {"initContainers": starts, **of_pod}}, image)
    found: dict[str, Any] = pod["spec"]["containers"][-1]
    assert (found["name"], found["volumeMounts"]) == (WAITER, starts[-1]["volumeMounts"])
    return found


def test_it_is_of_the_operators_own_image() -> None:
    assert waiter("r.example/stateward:1", {}, {})["image"] == "r.example/stateward:1"
    assert waiter("", {}, {})["image"] == "busybox:1"


@pytest.mark.parametrize(
    ("of_pod", "of_last", "expected"),
    [
        ({}, {}, {"runAsUser": 0}),
        ({"runAsUser": 5}, {}, {}),
        ({"runAsUser": 5}, {"runAsUser": 7, "runAsGroup": 8}, {"runAsUser": 7, "runAsGroup": 8}),
        ({"runAsNonRoot": True}, {}, {}),
        ({"runAsNonRoot": True}, {"runAsNonRoot": False}, {"runAsNonRoot": False, "runAsUser": 0}),
        ({}, {"privileged": True}, {"runAsUser": 0}),
    ],
)
def test_it_reads_as_the_container_that_wrote(
    of_pod: dict[str, Any], of_last: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = waiter("x", {"securityContext": of_pod}, {"securityContext": of_last})
    assert found["securityContext"] == {"allowPrivilegeEscalation": False, **expected}

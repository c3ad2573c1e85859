"""What detection Jobs may get: they run in the operator's namespace, where the quota of a tenant does not count."""

import pytest

from stateward.api.checks.detection import sorted_out
from stateward.api.values.base import Json


@pytest.mark.parametrize(
    "resources",
    [
        {"requests": {"cpu": "64"}},
        {"requests": {"memory": "256Gi"}},
        {"requests": {"memory": "99999E"}},
        {"limits": {"cpu": 2}},
        {"limits": {"ephemeral-storage": "1Ti"}},
        {"limits": {"nvidia.com/gpu": "8"}},
        {"requests": {"hugepages-2Mi": "2Mi"}},
    ],
)
def test_a_tenant_takes_no_nodes_with_its_detection_jobs(resources: Json) -> None:
    taken, problems = sorted_out({"suspend": False, "resources": resources})
    assert taken == {"suspend": False}
    assert [problem.path.rpartition(".resources.")[2].partition("[")[0] for problem in problems] == [*resources]


def test_what_a_detection_needs_is_accepted() -> None:
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": 1, "memory": "1Gi"}}
    assert sorted_out({"resources": resources}) == ({"resources": resources}, [])

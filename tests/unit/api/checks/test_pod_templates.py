"""What a pod template may not say, because it would change which objects or members the operator finds."""

import pytest

from tests.unit.api.documents import cluster
from tests.unit.api.findings import found, only


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_claims_that_are_made_with_pods_have_no_marks_of_the_operator(field: str) -> None:
    """The name of such a claim can be that of a member of another cluster, whose volume it then looked like."""

    def claiming(**marks: str) -> dict[str, object]:
        template = {"metadata": {field: marks}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
        return {"spec": {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]}}

    assert found(cluster(podTemplate=claiming(team="a"))) == []
    for mark in ("stateward.dev/member", "stateward.dev/allowed-for-pods"):
        path, said = only(cluster(podTemplate=claiming(**{mark: "b"})))
        place = f"spec.podTemplate.spec.volumes[scratch].ephemeral.volumeClaimTemplate.metadata.{field}[{mark}]"
        assert (path, said) == (place, "cannot be set: stateward.dev/ is how Stateward finds its objects")


@pytest.mark.parametrize("field", ["hostname", "hostnameOverride"])
def test_the_name_of_a_member_is_that_of_its_host(field: str) -> None:
    path, said = only(cluster(podTemplate={"spec": {field: "x"}}))
    assert (path, said) == (f"spec.podTemplate.spec.{field}", "cannot be set: it is the name of the member")

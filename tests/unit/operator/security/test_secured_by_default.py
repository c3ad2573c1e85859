"""Only a new cluster that leaves security open is secured by the operator's default."""

import pytest
from msgspec.structs import replace

from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.kinds.security import Security
from stateward.api.kinds.status import BootstrapStatus, ClusterStatus
from stateward.api.values.base import Metadata
from stateward.operator.security.secured_by_default import secured_as_new

OPEN = OpenSearchCluster(
    metadata=Metadata(name="logs", namespace="data", uid="u"),
    spec=OpenSearchSpec(version="2.19.3", pools=[Pool(name="all", replicas=3)]),
)
FORMED = ClusterStatus(bootstrap=BootstrapStatus(member="logs-all-0", volume="v", formed=False))


@pytest.mark.parametrize(("alone", "begun"), [(True, False), (False, True), (True, True), (False, False)])
def test_a_cluster_is_new_while_it_has_no_member_or_has_its_ca_from_an_interrupted_round(
    alone: bool, begun: bool
) -> None:
    made = secured_as_new(OPEN, alone=alone, begun=begun)
    assert made.spec.security == (Security(enabled=True) if alone or begun else None)


@pytest.mark.parametrize(
    "cluster",
    [
        replace(OPEN, spec=replace(OPEN.spec, security=Security(enabled=False))),
        replace(OPEN, spec=replace(OPEN.spec, image="registry.example.com/own:1")),
        replace(OPEN, status=FORMED),
        replace(OPEN, status=ClusterStatus(cluster_uuid="x")),
        replace(OPEN, status=ClusterStatus(version="2.19.3")),
    ],
)
def test_any_other_cluster_keeps_what_it_has(cluster: OpenSearchCluster) -> None:
    assert secured_as_new(cluster, alone=True, begun=True) is cluster

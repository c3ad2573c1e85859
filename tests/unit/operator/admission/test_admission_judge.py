"""The webhook refuses impossible specs, and nothing else."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.pod_policy import Level
from stateward.api.values import names
from stateward.engines import opensearch
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.storage import PersistentVolumeClaim, StorageClass
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.admission.judge import Verdict, changed, judge
from stateward.operator.databases.engine import OpenSearchFamily, family_of
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import FOUNDATIONDB

FAMILY = OpenSearchFamily(engine=None)  # type: ignore[arg-type]
MANAGERS = {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "1Gi"}}
HOT = {"name": "hot", "replicas": 2, "roles": ["data"], "storage": {"size": "20Gi"}}
RUNS = {"version": "2.17.1"}


def cluster(status: dict[str, Any] | None = None, **spec: Any) -> OpenSearchCluster:
    body = {
        "metadata": {"name": "logs", "namespace": "ns", "uid": "u"},
        "spec": {"version": "2.17.1", "pools": [MANAGERS, HOT], **spec},
        "status": status or {},
    }
    return msgspec.convert(body, OpenSearchCluster)


def verdict(
    new: OpenSearchCluster, old: OpenSearchCluster | None = None, existing: ClusterObjects | None = None
) -> Verdict:
    return judge(FAMILY, new, old, existing, 1000.0)


def running(stored: OpenSearchCluster, size: str = "20Gi") -> ClusterObjects:
    """Return a cluster of which one data member is seen."""
    labels = {
        names.LABEL_CLUSTER: "logs",
        names.LABEL_POOL: "hot",
        names.LABEL_ORDINAL: "0",
        names.LABEL_MEMBER: "logs-hot-0",
    }
    made_from = opensearch.member_objects(stored, "hot", 0, "2.17.1").workload["spec"]["template"]["metadata"]
    meta = {"name": "logs-hot-0", "uid": "s", "labels": labels}
    spec = {"template": {"metadata": {"annotations": made_from["annotations"]}}}
    claim = {
        "metadata": {"name": names.claim("logs-hot-0"), "uid": "c", "labels": labels},
        "spec": {"resources": {"requests": {"storage": size}}},
        "status": {"capacity": {"storage": size}},
    }
    nodes: dict[str, Node] = {}
    classes: dict[str, StorageClass] = {}
    return ClusterObjects(
        cluster=stored,
        sets=(msgspec.convert({"metadata": meta, "spec": spec}, StatefulSet),),
        pods=(),
        claims=(msgspec.convert(claim, PersistentVolumeClaim),),
        secrets=(),
        nodes=nodes,
        classes=classes,
    )


def test_a_good_cluster_comes_in() -> None:
    assert verdict(cluster()).refused == ()


def test_a_role_that_the_version_does_not_know_is_refused_with_its_place() -> None:
    found = verdict(cluster(pools=[MANAGERS, {**HOT, "roles": ["dta"]}]))
    assert len(found.refused) == 1
    assert "spec.pools[1].roles" in found.refused[0]


def test_what_is_only_worth_knowing_is_a_warning() -> None:
    found = verdict(cluster(pools=[{**MANAGERS, "replicas": 2}, HOT]))
    assert found.refused == ()
    assert any("manager" in warning for warning in found.warnings)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("version", ["2.11.0", "4.0.0"])
def test_a_version_that_cannot_be_reached_is_refused(version: str, *, known: bool) -> None:
    old = cluster(RUNS)
    found = verdict(cluster(version=version), old, running(old) if known else None)
    assert len(found.refused) == 1
    assert found.refused[0].startswith("spec.version: ")
    assert version in found.refused[0]


def test_a_version_that_members_have_passed_already_is_refused_half_way() -> None:
    states = [{"name": "logs-hot-0", "pool": "hot", "version": "2.19.5", "state": "Ready"}]
    old = cluster({**RUNS, "memberStates": states}, version="2.19.5")
    found = verdict(cluster(version="2.17.1"), old, running(old))
    assert any("logs-hot-0" in text and "cannot be downgraded" in text for text in found.refused)


def test_an_upgrade_that_has_not_begun_may_be_reverted() -> None:
    old = cluster(RUNS, version="2.19.5")
    assert verdict(cluster(version="2.17.1"), old, running(old)).refused == ()


def test_a_smaller_volume_is_refused_where_that_was_requested() -> None:
    refuse = {"whenShrunk": "Refuse"}
    old = cluster(RUNS, volumes=refuse)
    smaller = [MANAGERS, {**HOT, "storage": {"size": "5Gi"}}]
    found = verdict(cluster(volumes=refuse, pools=smaller), old, running(old))
    assert any("20Gi" in text and "5Gi" in text for text in found.refused)
    assert verdict(cluster(pools=smaller), old, running(old)).refused == ()


def test_a_spec_that_is_wrong_in_two_places_may_be_put_right_one_by_one() -> None:
    """It came in while the webhook was away."""
    wrong = {**HOT, "roles": ["dta"]}
    old = cluster(RUNS, pools=[MANAGERS, wrong], update={"order": ["missing"]})
    assert verdict(cluster(pools=[MANAGERS, wrong]), old, running(cluster(RUNS))).refused == ()
    assert verdict(cluster(), old, running(cluster(RUNS))).refused == ()


WRONG_ORDER: dict[str, Any] = {"update": {"order": ["missing"]}}
OLDER: dict[str, Any] = {"version": "2.11.0"}
ON_THE_NODE: dict[str, Any] = {"podTemplate": {"spec": {"hostNetwork": True}}}


@pytest.mark.parametrize("left", [OLDER, ON_THE_NODE], ids=["refused by the plan", "refused by the pod policy"])
def test_a_fault_that_only_a_later_check_finds_does_not_block_the_correction_of_another(left: dict[str, Any]) -> None:
    old, stored = cluster(RUNS, **WRONG_ORDER, **left), running(cluster(RUNS))
    assert judge(FAMILY, cluster(**left), old, stored, 1000.0, Level.BASELINE).refused == ()
    assert judge(FAMILY, cluster(**left), cluster(RUNS), stored, 1000.0, Level.BASELINE).refused


def test_a_correction_beside_the_cluster_excuses_no_new_fault_of_the_database() -> None:
    old = cluster(RUNS, dashboards={"version": "2.19.0"})
    (found,) = verdict(cluster(**OLDER), old, running(cluster(RUNS))).refused
    assert found.startswith("spec.version: 2.11.0 is older")
    twice = cluster(RUNS, dashboards={"version": "2.19.0"}, **OLDER)
    assert verdict(cluster(**OLDER), twice, running(cluster(RUNS))).refused == ()


def test_a_fault_is_known_again_when_another_pool_goes() -> None:
    cold, wrong = {**HOT, "name": "cold"}, {**HOT, "roles": ["dta"]}
    old = cluster(RUNS, pools=[MANAGERS, cold, wrong])
    assert verdict(cluster(pools=[MANAGERS, wrong]), old, running(cluster(RUNS))).refused == ()
    (found,) = verdict(cluster(pools=[MANAGERS, {**cold, "roles": ["dta"]}]), old, running(cluster(RUNS))).refused
    assert found.startswith("spec.pools[1].roles[0]")


def test_a_fault_is_known_again_when_its_sentence_names_what_has_been_added() -> None:
    """Of two pools that the order names and that do not exist, one is added."""
    order = {"update": {"order": ["cold", "missing"]}}
    with_cold = cluster(pools=[MANAGERS, HOT, {**HOT, "name": "cold"}], **order)
    assert verdict(with_cold, cluster(RUNS, **order), running(cluster(RUNS))).refused == ()


def test_a_change_that_adds_a_wrong_thing_to_another_is_refused_for_the_new_one() -> None:
    old = cluster(RUNS, update={"order": ["missing"]})
    found = verdict(cluster(pools=[MANAGERS, {**HOT, "roles": ["dta"]}], update={"order": ["missing"]}), old)
    assert len(found.refused) == 1
    assert "roles" in found.refused[0]


def test_labels_finalizers_and_the_end_are_missings_business() -> None:
    old = cluster({"version": "2.19.5"})
    assert verdict(old, old) == Verdict()
    meta = msgspec.structs.replace(old.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    new = msgspec.structs.replace(cluster(version="2.11.0"), metadata=meta)
    assert verdict(new, old) == Verdict()


def ledger(status: dict[str, Any] | None = None, **spec: Any) -> FoundationDBCluster:
    pools = [{"name": name, "processClass": name} for name in ("storage", "log", "stateless")]
    body = {
        "metadata": {"name": "ledger", "namespace": "ns", "uid": "u"},
        "spec": {"version": "7.1.57", "pools": pools, **spec},
        "status": status or {},
    }
    return msgspec.convert(body, FoundationDBCluster)


def test_foundationdb_is_judged_by_its_own_rules() -> None:
    family = family_of(FOUNDATIONDB, None, None)  # type: ignore[arg-type]

    def found(new: Cluster, old: Cluster | None = None) -> Verdict:
        return judge(family, new, old, None, 1000.0)

    assert found(ledger()).refused == ()
    wrong = found(ledger(knobs={"Not A Knob": "1"}))
    assert any("knobs" in text for text in wrong.refused)
    runs = {"version": "7.1.57"}
    assert found(ledger(version="7.1.67"), ledger(runs)).refused == ()
    assert any("spec.version" in text for text in found(ledger(version="6.3.24"), ledger(runs)).refused)


@pytest.mark.parametrize("known", [False, True], ids=["nothing read", "objects read"])
def test_switching_tls_of_a_foundationdb_cluster_that_is_there_is_refused_and_taking_it_back_is_not(
    *, known: bool
) -> None:
    family = family_of(FOUNDATIONDB, None, None)  # type: ignore[arg-type]

    def found(new: Cluster, old: Cluster) -> Verdict:
        existing = ClusterObjects(old, (), (), (), (), {}, {}) if known else None
        return judge(family, new, old, existing, 1000.0)

    for on in (True, False):
        runs = {"version": "7.1.67", "clusterUUID": "id", "security": {"enabled": on}}
        as_made, other = ledger(runs, security={"enabled": on}), ledger(runs, security={"enabled": not on})
        refused = found(other, as_made).refused
        assert any("spec.security.enabled" in text and "was created with" in text for text in refused)
        assert found(as_made, other).refused == ()
        assert found(ledger(runs), as_made).refused == ()


def test_only_a_new_spec_of_a_cluster_that_stays_needs_a_decision() -> None:
    one, other = cluster(), cluster(pools=[MANAGERS])
    going = msgspec.structs.replace(
        one, metadata=msgspec.structs.replace(one.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    )
    assert changed(one, None)
    assert changed(one, other)
    assert not changed(one, cluster(status=RUNS))
    assert not changed(going, None)
    assert not changed(going, other)

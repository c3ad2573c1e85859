"""Which faults the runs have: every target at many moments, repeatable, as the placement of members allows."""

import math
from collections import Counter

from msgspec.structs import replace

from stateward.planning.model.observation import Observation
from stateward.simulation.rehearsal.faults import Kind, fault_of, kinds_of, targets, zones
from tests.unit.simulation.rehearsal.samples import settled


def placed(nodes: dict[str, str]) -> Observation:
    """Return the cluster with members on Kubernetes nodes."""
    start = settled()
    pods = {m.name: m.pod and replace(m.pod, node=nodes.get(m.name, "")) for m in start.members}
    return replace(start, members=tuple(replace(m, pod=pods[m.name]) for m in start.members))


def test_members_on_one_node_fail_together() -> None:
    start = placed({"logs-hot-0": "n1", "logs-managers-0": "n1", "logs-hot-1": "n2"})
    found = {target.place: target.members for target in targets(start, Kind.NODE)}
    assert found["node n1"] == ("logs-hot-0", "logs-managers-0")
    assert found["node n2"] == ("logs-hot-1",)
    assert found["the node of logs-hot-2"] == ("logs-hot-2",)


def test_only_members_with_a_volume_lose_one() -> None:
    start = settled()
    names = {name for target in targets(start, Kind.DISK) for name in target.members}
    assert names == {m.name for m in start.members if m.claim is not None}


def test_a_single_zone_is_no_target() -> None:
    start = settled()
    assert [target.place for target in zones(start)] == ["zone a", "zone b", "zone c"]
    pods = {m.name: m.pod and replace(m.pod, zone="a") for m in start.members}
    assert zones(replace(start, members=tuple(replace(m, pod=pods[m.name]) for m in start.members))) == ()


def test_many_runs_meet_each_target_at_moments_all_over_the_change() -> None:
    start = settled()
    faults = [fault for seed in range(300) if (fault := fault_of(start, tuple(Kind), seed, 1000.0)) is not None]
    met = Counter((fault.kind, fault.place) for fault in faults)
    assert len(met) == 2 * (len(targets(start, Kind.NODE)) + 3) + len(targets(start, Kind.DISK))
    assert min(met.values()) >= 8
    tenths = Counter(int(fault.at // 100) for fault in faults)
    assert all(28 <= tenths[tenth] <= 32 for tenth in range(10))


def test_a_lost_zone_returns_and_some_nodes_do_not() -> None:
    faults = [fault for seed in range(300) if (fault := fault_of(settled(), (Kind.NODE,), seed, 1000.0)) is not None]
    lasting = [fault for fault in faults if math.isinf(fault.seconds)]
    assert not any(fault.place.startswith("zone") for fault in lasting)
    assert 20 < len(lasting) < 80


def test_without_kinds_there_is_no_fault() -> None:
    assert kinds_of("none") == ()
    assert fault_of(settled(), (), 1, 1000.0) is None
    assert kinds_of("all") == tuple(Kind)
    assert kinds_of("disk") == (Kind.DISK,)

import argparse
from typing import Any

import msgspec
import pytest

from bench.__main__ import MEASUREMENTS, parser, sizes
from bench.clusters import fleet
from bench.clusters.operated import Tally, is_settled
from bench.clusters.scale import difference, percentile
from bench.planner import samples
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.validation import validate
from stateward.kube.cache.deltas import Change, Delta
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resources import SERVICES
from stateward.planning.plan import plan


def cluster(index: int = 1, *, edit: str = "", **metadata: Any) -> Cluster:
    body = fleet.body(index, edit)
    return msgspec.convert({**body, "metadata": body["metadata"] | metadata}, OpenSearchCluster)


def changed(old: Cluster, new: Cluster) -> Delta[Cluster]:
    return Delta(Change.CHANGED, fleet.key(1), old, new)


def test_the_measured_clusters_have_nothing_that_validation_minds() -> None:
    assert validate(cluster()) == validate(cluster(edit="e1")) == []


def test_the_first_write_after_an_edit_is_timed_once_and_whatever_object_it_is_to() -> None:
    tally = Tally()
    tally.heard(changed(cluster(generation=1), cluster(generation=2)))
    tally.writes_to(SERVICES, "apply", Key(fleet.NAMESPACE, "c-0002-discovery"))
    assert tally.reactions == []
    tally.writes_to(SERVICES, "apply", Key(fleet.NAMESPACE, "c-0001-discovery"))
    tally.writes_to(SERVICES, "apply", Key(fleet.NAMESPACE, "c-0001"))
    assert len(tally.reactions) == 1
    assert tally.writes == {"apply services": 3}


def test_a_change_of_the_status_is_no_edit() -> None:
    tally = Tally()
    tally.heard(changed(cluster(generation=1), cluster(generation=1)))
    tally.writes_to(SERVICES, "apply", fleet.key(1))
    assert tally.reactions == []


def test_settled_speaks_of_the_newest_generation() -> None:
    status = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}
    ready = msgspec.convert(
        {**fleet.body(1), "metadata": {"name": "x", "generation": 1}, "status": status}, OpenSearchCluster
    )
    assert is_settled(ready)
    assert not is_settled(msgspec.structs.replace(ready, metadata=cluster(generation=2).metadata))


def test_percentiles_are_values_that_were_seen() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert percentile(values, 99) == 99
    assert percentile(values, 100) == 100
    assert percentile([7.0], 99) == 7


def test_what_was_written_is_named() -> None:
    assert difference({"apply services": 3, "patch pods": 2}, {"apply services": 3}) == "2 patch pods"
    assert difference({"a": 1}, {"a": 1}) == ""


def test_the_large_cluster_is_settled_and_its_upgrade_begins() -> None:
    settled = samples.large()
    assert len(settled.members) == 120
    assert plan(settled, 1.8e9).settled
    assert not plan(samples.rolling(settled), 1.8e9).settled


def test_the_pod_has_the_usual_size_and_is_read_as_one() -> None:
    body = samples.pod()
    assert abs(len(body) - samples.POD_BYTES) < 200
    read = msgspec.json.decode(body, type=Pod)
    assert read.ready
    assert read.spec.containers[0].name == "opensearch"


def test_sizes_are_measured_from_the_smallest_on() -> None:
    assert sizes("500,100,100") == (100, 500)
    with pytest.raises(ValueError, match="0"):
        sizes("0,100")


def test_the_words_of_the_command_line() -> None:
    chosen: argparse.Namespace = parser().parse_args(["micro", "--quick"])
    assert chosen.names == ["micro"]
    assert chosen.quick
    usual = {
        "agent",
        "answers",
        "arrival",
        "cli",
        "failing",
        "forecasts",
        "inplace",
        "many",
        "micro",
        "packages",
        "peers",
        "rollout",
        "sandbox",
        "scale",
        "secured",
    }
    assert set(MEASUREMENTS) == usual | {"simulation"}

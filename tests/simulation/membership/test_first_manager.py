"""The member that forms the cluster is one that can: its pool has members, and they can be elected."""

import msgspec
import pytest
from msgspec.structs import replace

from stateward.api.kinds.search import ElasticsearchCluster
from stateward.engines.elasticsearch import ELASTICSEARCH
from stateward.engines.search.objects.desired import desired
from stateward.engines.search.spec.pools import bootstrap_member
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Member, Observation, Pod, Ref, Unformed, Workload
from stateward.planning.plan import plan
from tests.simulation.scenario import Scenario, hot, managers, pool


@pytest.mark.simulation
async def test_a_pool_without_members_is_not_waited_for() -> None:
    empty = pool("spare", 0, ["cluster_manager"], "1Gi")
    with Scenario(empty, managers(3), hot(2)).logged() as scenario:
        scenario.process.start()
        scenario.user.create()
        formed = await scenario.until(lambda: scenario.world.context.counts.get("cluster formed", 0) == 1)
        assert formed, scenario.waits


def test_a_member_that_cannot_be_elected_forms_no_cluster() -> None:
    spec = {
        "version": "8.19.5",
        "pools": [
            {"name": "tiebreaker", "replicas": 1, "roles": ["master", "voting_only"], "storage": {"size": "1Gi"}},
            {"name": "masters", "replicas": 2, "roles": ["master", "data"], "storage": {"size": "1Gi"}},
        ],
    }
    document = {"metadata": {"name": "c", "namespace": "ns", "uid": "u"}, "spec": spec, "status": {}}
    cluster = msgspec.convert(document, ElasticsearchCluster)
    wanted = desired(ELASTICSEARCH, cluster)
    pools = {each.name: each for each in wanted.pools}
    names = (("tiebreaker", 0), ("masters", 0), ("masters", 1))

    def member(name: str, ordinal: int) -> Member:
        full, inputs = f"c-{name}-{ordinal}", pools[name].inputs
        workload = Workload(Ref(full, full, "1"), inputs, wanted.version, 1, observed=True)
        ref = Ref(f"{full}-0", f"pod-{full}", "1")
        pod = Pod(ref, inputs, wanted.version, 0.0, ready=False, running=True, candidate=full == "c-masters-0")
        return Member(full, name, ordinal, workload, pod, made_for=frozenset({"voting"}), config=inputs)

    members = tuple(member(*each) for each in names)
    ephemeral = tuple(replace(each, ephemeral=True) for each in wanted.pools)
    seen = Observation("c", "ns", "u", 1, replace(wanted, pools=ephemeral), members, Unformed("none"), live=True)
    assert bootstrap_member(ELASTICSEARCH, cluster) == "c-masters-0"
    made = plan(seen, 30.0)
    assert [x.member for x in made.actions if isinstance(x, a.RecordBootstrap)] == ["c-masters-0"]

"""Masters that can be elected and masters that only vote exchange this on real Elasticsearch, under writes."""

import pytest

from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import OperatorPods
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full]

VERSION = "8.19.4"
ELECTABLE, VOTES_ONLY = ("master",), ("master", "voting_only")


@pytest.mark.images("elasticsearch:8.19.4")
async def test_masters_exchange_who_can_be_elected(clusters: Clusters, operator: OperatorPods) -> None:
    """New members take their places, one master can always be elected, and no acknowledged document is lost."""
    hot = pool("hot", 2, "data", "ingest")
    before = [pool("masters", 2, *ELECTABLE), pool("tiebreaker", 1, *VOTES_ONLY), hot]
    await clusters.apply("votes", version=VERSION, pools=before)
    await clusters.until("votes", settled, seconds=600)
    database = clusters.database("votes")
    await database.create_index("docs")
    assert await roles(clusters) == {
        "votes-masters-0": set(ELECTABLE),
        "votes-masters-1": set(ELECTABLE),
        "votes-tiebreaker-0": set(VOTES_ONLY),
    }
    kept = {name: pod.metadata.uid for name, pod in (await clusters.pods("votes")).items() if "hot" in name}
    after = [pool("masters", 2, *VOTES_ONLY), pool("tiebreaker", 1, *ELECTABLE), hot]
    async with Writer(database, "docs") as writer, Promises(clusters, "votes") as promises:
        await clusters.apply("votes", version=VERSION, pools=after)
        await clusters.until("votes", lambda c: any(m.state == "Leaving" for m in c.status.member_states))
        await operator.kill()
        await clusters.until("votes", settled, seconds=900)
        assert writer.acknowledged
    assert await writer.missing() == set()
    assert writer.longest_gap < 60
    assert promises.broken == []
    assert "red" not in promises.seen_health
    found = await roles(clusters)
    assert [name for name, has in found.items() if has == set(ELECTABLE)] == ["votes-tiebreaker-1"]
    assert len(found) == 3
    pods = await clusters.pods("votes")
    assert {name: pods[name].metadata.uid for name in kept} == kept
    assert await elected(clusters) == "votes-tiebreaker-1"
    assert not (left := await database.left_behind()), left
    state = await database.ask("_cluster/state/metadata?filter_path=metadata.cluster_coordination")
    assert state["metadata"]["cluster_coordination"]["voting_config_exclusions"] == []


async def roles(clusters: Clusters) -> dict[str, set[str]]:
    """Return the roles of the masters, by name."""
    answer = await clusters.database("votes").ask("_nodes?filter_path=nodes.*.name,nodes.*.roles")
    return {node["name"]: set(node["roles"]) for node in answer["nodes"].values() if "master" in node["roles"]}


async def elected(clusters: Clusters) -> str:
    (master,) = await clusters.database("votes").ask("_cat/master?format=json")
    return master["node"]

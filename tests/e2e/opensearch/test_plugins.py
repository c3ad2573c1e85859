"""Plug-ins on a real cluster: installed by the database's own tool, upgraded with the members, and a missing one."""

from typing import Any

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.planning.model.intent import State
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.witness import Promises, Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "2.17.1", "2.19.5"
MORE = {"name": "analysis-more"}
SOURCE = {"image": "stateward.dev/opensearch-plugins:1"}
NUMBERS = {"type": "pattern_capture", "patterns": ["([0-9]+)"]}
ANALYZED = {
    "settings": {
        "analysis": {
            "filter": {"numbers": NUMBERS},
            "analyzer": {"own": {"tokenizer": "standard", "filter": ["numbers"]}},
        }
    }
}


def spec(version: str, *plugins: dict[str, Any]) -> dict[str, Any]:
    nodes = pool("nodes", 3, "cluster_manager", "data", "ingest")
    return {"version": version, "pools": [nodes], "plugins": list(plugins), "pluginSource": SOURCE}


def told(cluster: Cluster) -> str:
    return " ".join(m.reason for m in cluster.status.member_states if m.state == State.DOWN)


@pytest.mark.images("opensearch:2.17.1", "opensearch:2.19.5", "stateward.dev/opensearch-plugins:1")
async def test_plugins_follow_an_upgrade_and_a_missing_one_stops_at_the_first_member(clusters: Clusters) -> None:
    await clusters.apply("plugged", **spec(OLD, MORE))
    await clusters.until("plugged", settled, seconds=600)
    database = clusters.database("plugged")
    await database.ask("/analyzed", "PUT", ANALYZED)
    await database.create_index("docs")
    async with Writer(database, "docs") as writer, Promises(clusters, "plugged") as promises:
        await clusters.apply("plugged", **spec(NEW, MORE))
        await clusters.until("plugged", lambda c: settled(c) and c.status.version == NEW, seconds=900)
        found = await database.ask("/_cat/plugins?format=json")
        assert [(each["component"], each["version"]) for each in found] == [("analysis-more", NEW)] * 3
        tokens = await database.ask("/analyzed/_analyze", "POST", {"analyzer": "own", "text": "node7"})
        assert "7" in {each["token"] for each in tokens["tokens"]}

        await clusters.apply("plugged", **spec(NEW, MORE, {"name": "not-there"}))
        missing = "plug-in not-there: the source has no file not-there-2.19.5.zip"
        stuck = await clusters.until("plugged", lambda c: missing in told(c), seconds=300)
        assert len([m for m in stuck.status.member_states if m.state == State.DOWN]) == 1
        await clusters.apply("plugged", **spec(NEW, MORE))
        await clusters.until("plugged", settled, seconds=600)
    assert promises.broken == []
    assert await writer.missing() == set()

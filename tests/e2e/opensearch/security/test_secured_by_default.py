"""A new cluster that says nothing of security, with an operator that is installed as `stateward manifests` says."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.secured import client, ready

pytestmark = [pytest.mark.e2e, pytest.mark.full]

POOLS = [pool("nodes", 1, "cluster_manager", "data", "ingest")]


@pytest.mark.images("opensearch:2.19.3", "opensearch:2.19.5")
async def test_a_new_cluster_is_secured_and_an_image_that_cannot_is_named_and_done_without(
    clusters: Clusters, securing: Sandbox
) -> None:
    """The second image has an official name and no plugin: the status says so, and one field of the spec is enough."""
    await clusters.apply("born", version="2.19.3", pools=POOLS)
    await clusters.apply("unable", version="2.19.5", pools=POOLS)
    born = await clusters.until("born", ready, seconds=600)
    assert born.status.security is not None
    assert born.status.security.enabled
    async with client(securing, clusters, "born", known=False) as stranger:
        assert (await stranger.ask("_cat/indices"))[0] == 401
    async with client(securing, clusters, "born") as person:
        assert (await person.ask("_cat/indices"))[0] == 200

    def named(cluster: object) -> bool:
        return "this image has no security plugin" in repr(cluster)

    await clusters.until("unable", named)
    await clusters.apply("unable", version="2.19.5", pools=POOLS, security={"enabled": False})
    plain = await clusters.until("unable", settled, seconds=600)
    assert plain.status.health == "green"
    assert (await clusters.database("unable").health())["number_of_nodes"] == 1

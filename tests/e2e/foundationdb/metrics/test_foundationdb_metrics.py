"""Metrics of the stand-in from a real exporter: no member changes, it follows the version, nothing is left behind."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, settled
from tests.e2e.foundationdb.database import Fdb, pools
from tests.e2e.foundationdb.metrics.exporters import asker_images, members_of, until, value
from tests.e2e.metrics.scraping import nothing_left, scraped, served
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import places

pytestmark = [pytest.mark.e2e, pytest.mark.full]

OLD, NEW = "7.1.67", "7.3.63"
OFFICIAL = "docker.io/foundationdb/foundationdb"


@pytest.mark.images(f"foundationdb:{OLD}", f"foundationdb:{NEW}")
async def test_a_cluster_shows_its_own_metrics_and_the_exporter_follows_its_version(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, fdb: Fdb
) -> None:
    await clusters.apply("seen", version=OLD, pools=pools())
    await clusters.until("seen", settled, seconds=300)
    before = await places(clusters, "seen")

    await clusters.apply("seen", version=OLD, pools=pools(), metrics={})
    await clusters.until("seen", lambda c: c.status.metrics is not None, seconds=60)
    await operator.kill()
    await clusters.until("seen", served, seconds=300)
    assert await places(clusters, "seen") == before
    async with scraped(stateward, clusters, "seen") as scrape:
        text = await until(scrape, lambda text: value(text, "up") == 1)
        assert value(text, "available") == 1
        assert value(text, "processes") == 8
        assert value(text, "coordinators_reachable") == 3
        assert value(text, "answer_age_seconds") < 60
        assert members_of(text) == set(before)
        assert 'pool="storage",process="1"' in text
        assert "fdb.cluster" not in text

    await clusters.apply("seen", version=NEW, pools=pools(), metrics={})
    await clusters.until("seen", lambda c: settled(c) and c.status.version == NEW, seconds=560)
    await clusters.until("seen", served, seconds=180)
    assert await asker_images(clusters, "seen") == {f"{OFFICIAL}:{NEW}"}
    after = await places(clusters, "seen")
    async with scraped(stateward, clusters, "seen") as scrape:
        # The last answer may be from before the last member was back.
        text = await until(scrape, lambda text: value(text, "up") == 1 and members_of(text) == set(after))
        assert f'version="{NEW}"' in text

    await clusters.apply("seen", version=NEW, pools=pools())
    await clusters.until("seen", lambda c: c.status.metrics is None, seconds=180)
    await nothing_left(clusters, "seen")
    assert await places(clusters, "seen") == after
    assert await fdb.excluded("seen") == []


@pytest.mark.images(f"foundationdb:{OLD}")
async def test_a_cluster_with_tls_is_read_with_the_certificate_of_clients(
    clusters: Clusters, stateward: Sandbox, fdb: Fdb
) -> None:
    await clusters.apply("sealed", version=OLD, pools=pools(), security={"enabled": True}, metrics={})
    await clusters.until("sealed", lambda c: settled(c) and served(c), seconds=420)
    async with scraped(stateward, clusters, "sealed") as scrape:
        text = await until(scrape, lambda text: value(text, "up") == 1)
    assert members_of(text) == set(await fdb.processes("sealed"))

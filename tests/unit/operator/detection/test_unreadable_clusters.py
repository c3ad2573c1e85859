"""A cluster that cannot be read is not taken for one that is gone: its CronJob stays."""

import pytest

from stateward.kube.objects.metadata import ObjectMeta
from stateward.kube.objects.watching import Unreadable
from tests.unit.operator.detection.test_detection import Control, cluster


@pytest.mark.parametrize(
    ("unreadable", "writes"),
    [
        (ObjectMeta(name="logs", namespace="data", uid="u"), []),
        pytest.param(ObjectMeta(), [], id="not even its name"),
        (ObjectMeta(name="other", namespace="data", uid="u"), ["delete"]),
    ],
)
async def test_a_cron_job_stays_while_its_cluster_cannot_be_read(unreadable: ObjectMeta, writes: list[str]) -> None:
    before, now = Control(), Control()
    await before.know(cluster()).sweep()
    now.jobs.there = before.jobs.there
    now.caches.clusters.feed().replace((), "5", [Unreadable(unreadable, "spec.pools: expected a list")])
    assert await now.sweep() == writes

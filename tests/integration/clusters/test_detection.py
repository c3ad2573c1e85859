"""The CronJobs that detect missing members, on a real API server and with the operator's real rights."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values.names import ANNOTATION_MISSING
from stateward.engines.connection.base import Target
from stateward.kube.client.http_client import HttpApi
from stateward.kube.events.event_record import Occurrence
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import CRON_JOBS
from stateward.kube.timing.clock import SystemClock
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.detection.control import DetectionControl, Setting
from stateward.operator.detection.cronjob import Place
from stateward.operator.detection.cronjob import name as job_name
from stateward.operator.detection.look import look
from stateward.operator.objects.kinds import OPENSEARCH
from stateward.planning.model.observation import Database, Health, Node
from tests.integration.rights.rights import SYSTEM, as_account, installed
from tests.support.fakes import FakeDatabase

pytestmark = pytest.mark.integration

FILES = (
    "files/crds/stateward.dev_osclusters",
    *(
        f"manifests/{name}"
        for name in ("namespace", "service-account", "operator-role", "detection-role", "leases-role")
    ),
)
CLUSTERS = "/apis/stateward.dev/v1alpha1/namespaces/default/osclusters"


@pytest.fixture
def server(control_plane: Path) -> KubeApi:
    """Return the administrator's way in, with the operator's account and rights in place."""
    api = KubeApi(control_plane)
    installed(api, *FILES)
    return api


def cluster(server: KubeApi, name: str, **replacement: Any) -> OpenSearchCluster:
    spec = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 1}], "replacement": replacement}
    body = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "metadata": {"name": name}}
    made = server.apply(f"{CLUSTERS}/{name}", {**body, "spec": spec})
    return msgspec.convert(made, OpenSearchCluster, strict=False)


def control(api: HttpApi, *clusters: OpenSearchCluster) -> DetectionControl:
    """Return a control whose cache holds exactly these."""
    stores = SimpleNamespace(all=lambda: clusters, has_synced=True, unreadable={})

    def record(happened: Occurrence) -> None:
        pytest.fail(happened.note)

    recorder = SimpleNamespace(record=record)
    return DetectionControl(
        Setting(
            api=api,
            recorder=cast("Any", recorder),
            clock=SystemClock(),
            place=Place(SYSTEM, "stateward:1", "stateward-detection"),
            kinds=[cast("Any", SimpleNamespace(clusters=stores, managed=lambda: clusters, kind=OPENSEARCH))],
        )
    )


async def test_there_is_one_while_replacement_is_enabled_with_its_settings_and_none_when_not(
    control_plane: Path, server: KubeApi
) -> None:
    first = cluster(server, "watched", enabled=True, after="30m")
    path = f"/apis/batch/v1/namespaces/{SYSTEM}/cronjobs/{job_name('opensearch', Key('default', 'watched'))}"
    async with as_account(control_plane, "stateward") as api:
        with pytest.raises(Forbidden):
            await api.create(CRON_JOBS, {"metadata": {"name": "elsewhere"}}, namespace="default")
        await control(api, first).sweep()
        made = server.get(path)["spec"]
        assert made["schedule"].endswith("/30 * * * *")
        assert made["jobTemplate"]["spec"]["template"]["spec"]["serviceAccountName"] == "stateward-detection"
        await control(
            api, cluster(server, "watched", enabled=True, detection={"schedule": "@daily", "suspend": True})
        ).sweep()
        made = server.get(path)["spec"]
        container = made["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
        assert (made["schedule"], made["suspend"]) == ("@daily", True)
        assert (container["image"], container["args"][0]) == ("stateward:1", "detect")
        await control(api, cluster(server, "watched", enabled=False)).sweep()
        assert server.find(path) is None
    server.delete(f"{CLUSTERS}/watched")


class Empty(FakeDatabase):
    """A database that answers, and has no members."""

    async def observe(self, target: Target) -> Database:
        return Database("u", Health.GREEN, dict[str, Node]())


async def test_a_look_has_the_rights_to_read_everything_and_to_tell_what_it_found(
    control_plane: Path, server: KubeApi
) -> None:
    cluster(server, "looked", enabled=True, after="30m")
    path = f"{CLUSTERS}/looked"
    server.patch(path, {"metadata": {"annotations": {ANNOTATION_MISSING: "2026-11-21T12:00:00Z"}}})
    async with as_account(control_plane, "stateward-detection") as api:
        findings = await look(api, OpenSearchFamily(Empty()), Key("default", "looked"), 0.0)
    assert (dict(findings.missing), findings.unanswered) == ({}, "")
    assert ANNOTATION_MISSING not in server.get(path)["metadata"].get("annotations", {})
    server.delete(path)

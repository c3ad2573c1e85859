"""Packages of others on real nodes, as they are; images that cannot be had stand in under the names that they use."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from stateward.kube.client.client import PatchKind
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import CONFIG_MAPS
from tests.e2e.packages.package_namespace import PackageNamespace, folder, plans

GIVEN = next(
    (p / "shared/data/packages" for p in Path(__file__).resolve().parents if (p / "shared/data/packages").exists()),
    None,
)
"""Packages that are given to who builds this, where they are."""
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.full,
    pytest.mark.images("nginx:1.7.9", "redis:5.0.1-alpine", "mysql:5.7", "busybox:1"),
    pytest.mark.skipif(
        GIVEN is None, reason="the packages of others are not on this machine (../shared/data/packages)"
    ),
]
SECRETS: Resource[dict[str, Any]] = Resource("", "v1", "secrets", "Secret", dict[str, Any])


async def installed(place: PackageNamespace, name: str, **replaced: tuple[str, str]) -> dict[str, Any]:
    """Install a package as it is, and wait until its plan is done."""
    assert GIVEN is not None
    package = await place.package(folder(GIVEN / name, **replaced))
    await place.install(package, name)
    body = await place.ready(name)
    assert plans(body) == [("deploy", "Done")]
    return body


async def test_the_first_operator_serves_pages(place: PackageNamespace) -> None:
    await installed(place, "first-operator")
    pods = await place.pods("nginx")
    assert len(pods) == 2
    await place.change("first-operator", parameters={"replicas": 3})
    await place.ready("first-operator")
    assert (await place.pods("nginx")).keys() >= pods.keys()


async def test_a_file_that_a_pod_has_made_is_read_from_it_and_served(place: PackageNamespace) -> None:
    """Its pod's image has no tag, which would have to be fetched each time; that is all that is changed."""
    await installed(place, "cowsay", **{"pipe-pod": ("image: busybox", "image: busybox:1")})
    made = await place.api.get(CONFIG_MAPS.raw(), place.key("cowsay-pipe-index-html"))
    assert "this would be http://cowsay.morecode.org/say" in made["data"]["index.html"]
    pod = next(iter(await place.pods("nginx")))
    assert place.run(pod, "cat", "/usr/share/nginx/html/index.html") == made["data"]["index.html"]


async def test_mysql_keeps_what_its_first_job_has_made_and_is_backed_up(place: PackageNamespace) -> None:
    await installed(place, "mysql")
    pod = next(iter(await place.pods("mysql")))
    words = ("mysql", "-ppassword", "-h", "127.0.0.1", "-e", "SHOW TABLES", "kudo")
    assert "example" in place.run(pod, *words)
    await place.trigger("mysql", "backup/1")


async def test_redis_forms_its_cluster(place: PackageNamespace) -> None:
    await installed(place, "redis")
    pod = next(iter(await place.pods("redis")))
    deadline = time.monotonic() + 60
    while "cluster_state:ok" not in place.run(pod, "redis-cli", "cluster", "info"):
        assert time.monotonic() < deadline
        await asyncio.sleep(1)


USER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: user, namespace: NAMESPACE, annotations: {stateward.dev/restart-on-change: "true"}}
spec:
  selector: {matchLabels: {app: user}}
  template:
    metadata: {labels: {app: user}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: c, image: "busybox:1", command: [sleep, "3600"], envFrom: [{secretRef: {name: word}}]}
"""


async def test_a_workload_of_no_package_restarts_when_its_secret_changes(place: PackageNamespace) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "word"}, "stringData": {"WORD": "one"}}
    await place.api.create(SECRETS, secret, namespace=place.namespace)
    place.sandbox.kubectl("apply", "-f", "-", stdin=USER.replace("NAMESPACE", place.namespace))
    await said(place, "one")
    await place.api.patch(SECRETS, place.key("word"), {"stringData": {"WORD": "two"}}, kind=PatchKind.MERGE)
    await said(place, "two")


async def said(place: PackageNamespace, word: str) -> None:
    """Wait until the pods of the workload have a word."""
    deadline = time.monotonic() + 120
    while True:
        pods = [name for name, pod in (await place.pods("user")).items() if "deletionTimestamp" not in pod["metadata"]]
        argv = ("sh", "-c", f'test "$WORD" = {word}')
        if len(pods) == 1 and await asyncio.to_thread(place.tries, pods[0], *argv):
            return
        assert time.monotonic() < deadline, pods
        await asyncio.sleep(0.5)

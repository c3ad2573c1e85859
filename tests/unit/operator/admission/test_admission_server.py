"""Requests of the API server over TLS; a request that cannot be judged blocks no user."""

import asyncio
import ssl
from pathlib import Path
from typing import Any, cast

import aiohttp
import msgspec
import pytest
import yaml

from stateward.api.kinds.cluster import Cluster
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import SystemClock
from stateward.operator.admission.judge import Verdict
from stateward.operator.admission.keys import SERVICE
from stateward.operator.admission.packages import PackageReviews
from stateward.operator.admission.registration import CONFIGURATIONS
from stateward.operator.admission.server import PATH, Judge, Webhook, open_webhook, respond
from stateward.operator.objects.kinds import CLUSTER_KINDS, ClusterKind
from tests.unit.operator.admission.test_admission_judge import cluster
from tests.unit.operator.admission.test_admission_keys import Patched


def question(new: object, old: object = None, kind: str = "OpenSearchCluster") -> dict[str, Any]:
    about = {"group": "stateward.dev", "version": "v1alpha1", "kind": kind}
    request = {
        "uid": "q-1",
        "kind": about,
        "operation": "UPDATE",
        "object": new,
        "oldObject": old,
        "options": {"kind": "x"},
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return msgspec.json.decode(msgspec.json.encode(body))


def always(verdict: Verdict) -> Judge:
    async def judge(_new: Cluster, _old: Cluster | None) -> Verdict:
        return verdict

    return judge


async def asked(body: object, verdict: Verdict | None = None) -> Any:
    answer = await respond(always(verdict or Verdict()), msgspec.json.encode(body))
    assert answer["kind"] == "AdmissionReview"
    return answer["response"]


async def test_a_refusal_reports_all_problems() -> None:
    found = await asked(question(cluster()), Verdict(refused=("spec.version: no", "spec.image: no")))
    assert found["uid"] == "q-1"
    assert not found["allowed"]
    assert found["status"]["message"] == "spec.version: no; spec.image: no"


async def test_warnings_go_with_what_is_let_through_and_are_short_enough_to_be_shown_whole() -> None:
    found = await asked(question(cluster()), Verdict(warnings=("a", "b" * 400)))
    assert found["allowed"]
    assert found["warnings"][0] == "a"
    assert len(found["warnings"][1]) == 256


@pytest.mark.parametrize(
    "body", [question(None), question({"spec": {"pools": 7}}), question(cluster(), kind="Other"), {}, 7]
)
async def test_what_cannot_be_judged_is_let_through(body: Any) -> None:
    refuse_all = Verdict(refused=("no",))
    found = await asked(body, refuse_all)
    assert found["allowed"]
    assert found["uid"] == ("q-1" if isinstance(body, dict) and body else "")


@pytest.mark.parametrize("kind", CLUSTER_KINDS, ids=lambda kind: kind.engine)
async def test_clusters_of_every_kind_are_judged_as_what_they_are(kind: ClusterKind) -> None:
    seen: list[Cluster] = []

    async def judge(new: Cluster, _old: Cluster | None) -> Verdict:
        seen.append(new)
        return Verdict(refused=("no",))

    spec = {"version": "1.2.3", "pools": [{"name": "a", "processClass": "log", "replicas": 1, "roles": ["data"]}]}
    body = question({"metadata": {"name": "c"}, "spec": spec}, kind=kind.resource.kind)
    answer = await respond(judge, msgspec.json.encode(body))
    assert not answer["response"]["allowed"]
    assert [type(one) for one in seen] == [kind.resource.view]


def test_the_api_server_asks_about_every_kind_of_cluster() -> None:
    manifest = Path(__file__).parents[4] / "charts/stateward/webhook/webhook.yaml"
    (configuration,) = [
        document
        for document in yaml.safe_load_all(manifest.read_text())
        if document["kind"] == "ValidatingWebhookConfiguration"
    ]
    asked_about = {kind for rule in configuration["webhooks"][0]["rules"] for kind in rule["resources"]}
    assert asked_about == {kind.resource.plural for kind in CLUSTER_KINDS}


async def test_the_old_cluster_is_distinguished_from_the_new_one() -> None:
    seen: list[Any] = []

    async def judge(new: Cluster, old: Cluster | None) -> Verdict:
        seen.append((new.spec.version, old.spec.version if old else None))
        return Verdict()

    await respond(judge, msgspec.json.encode(question(cluster(version="2.19.5"), cluster())))
    await respond(judge, msgspec.json.encode(question(cluster())))
    assert seen == [("2.19.5", "2.17.1"), ("2.17.1", None)]


async def test_the_api_server_that_trusts_the_bundle_gets_its_answer() -> None:
    webhook = Webhook(Patched(), always(Verdict(refused=("no",))), "ops", SystemClock())
    async with open_webhook(webhook, "127.0.0.1", 0) as port, aiohttp.ClientSession() as session:
        await asyncio.wait_for(webhook.ready.wait(), 10)
        assert webhook.shown is not None
        trusting = ssl.create_default_context(cadata=webhook.shown.trusted)
        url = f"https://127.0.0.1:{port}{PATH}"
        name = f"{SERVICE}.ops.svc"
        async with session.post(url, json=question(cluster()), ssl=trusting, server_hostname=name) as answer:
            assert not (await answer.json())["response"]["allowed"]
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.post(url, json={}, ssl=ssl.create_default_context(), server_hostname=name)


async def test_a_new_certificate_is_shown_only_once_the_api_server_trusts_it() -> None:
    """The configuration could not be written: until it was, the API server would have skipped every question."""

    class Refusing(Patched):
        refuses = False

        async def patch(self, resource: Any, key: Key, body: Any, *, kind: Any, subresource: str = "") -> Any:
            if self.refuses and resource is CONFIGURATIONS:
                raise Forbidden("validatingwebhookconfigurations is forbidden")
            return await super().patch(resource, key, body, kind=kind, subresource=subresource)

    api, clock = Refusing(), Waiting()
    webhook = Webhook(api, always(Verdict()), "ops", clock)
    await webhook.renew()
    before, context, api.refuses = webhook.shown, webhook.context, True
    del api.objects["secrets", Key("ops", SERVICE)]
    with pytest.raises(Forbidden):
        await webhook.renew()
    assert (webhook.shown, webhook.context) == (before, context)
    api.refuses = False
    await webhook.renew()
    assert webhook.shown not in (None, before)
    assert webhook.context is not context


async def test_an_operator_without_the_rights_continues_without_the_webhook() -> None:
    class Refusing(Patched):
        async def get(self, resource: Any, key: Key) -> Any:
            raise Forbidden("secrets is forbidden")

    clock = Waiting()
    webhook = Webhook(Refusing(), always(Verdict()), "ops", clock)
    async with open_webhook(webhook, "127.0.0.1", 0):
        await asyncio.wait_for(clock.waiting.wait(), 10)
    assert clock.waits == [10.0]
    assert webhook.shown is None


class Waiting(SystemClock):
    """A clock on which every wait begins and none ends."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.waiting = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.waiting.set()
        await super().sleep(3600.0)


async def test_a_configuration_that_makes_no_sense_is_checked_again() -> None:
    """Its upkeep would have ended without a word, and the certificate with it, two years later or at once."""

    class Broken(Patched):
        async def get(self, resource: Any, key: Key) -> Any:
            return await super().get(resource, key) if resource.kind == "Secret" else {"webhooks": [{}], "metadata": {}}

    clock = Waiting()
    async with open_webhook(Webhook(Broken(), always(Verdict()), "ops", clock), "127.0.0.1", 0):
        await asyncio.wait_for(clock.waiting.wait(), 10)
    assert clock.waits == [10.0]


DEEP = "replaced by what is deep"
BOMB = b'{"a":' * 5000 + b"1" + b"}" * 5000


def deeply(new: object, old: object = None) -> bytes:
    """Return a question in which what is called DEEP is nested without end."""
    return msgspec.json.encode(question(new, old)).replace(msgspec.json.encode(DEEP), BOMB)


async def test_what_is_nested_too_deeply_to_be_read_is_refused() -> None:
    """Once it is stored, every watch would have to step around it."""
    bomb = {"metadata": {"name": "deep"}, "spec": {"podTemplate": DEEP}}
    for whole in (deeply(bomb), deeply(bomb, cluster())):
        found = (await respond(always(Verdict()), whole))["response"]
        assert (found["uid"], found["allowed"]) == ("q-1", False)
        assert "nested deeper" in found["status"]["message"]


async def test_what_was_stored_with_such_a_nesting_can_be_corrected_and_deleted() -> None:
    """The last finalizer goes by a change, too, with which the object is as deep as before."""
    bomb = {"metadata": {"name": "deep"}, "spec": {"podTemplate": DEEP}}
    package_reviews = PackageReviews(cast("Any", None), ("data",))
    for whole in (deeply(cluster(), bomb), deeply(bomb, bomb)):
        for answer in (await respond(always(Verdict()), whole), await package_reviews.respond(whole)):
            assert (answer["response"]["uid"], answer["response"]["allowed"]) == ("q-1", True)

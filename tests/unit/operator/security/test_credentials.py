"""The secrets between operator and agents: made once, read seldom, renewed in time, and for one member each."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from stateward import pki
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values import names
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.workloads import StatefulSet
from stateward.kube.timing.clock import SystemClock
from stateward.operator.databases.agents import Access, AgentError
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.ownership import NotOwnedError, TakenNames
from stateward.operator.security.credentials import (
    ANNOTATION_EARLIER,
    ANNOTATION_ENDS,
    RAW_SECRETS,
    Credentials,
    agent_name,
    parse_files,
)
from tests.unit.engines.search_clusters import cluster
from tests.unit.kube.memory_api import MemoryApi


class Time(SystemClock):
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def later(self, days: float) -> None:
        self.at += timedelta(days=days)


class Stage:
    def __init__(self) -> None:
        self.api = MemoryApi(latency=0)
        self.time = Time()
        self.caches = Caches()
        self.cluster: OpenSearchCluster = cluster()
        self.credentials = self.fresh()

    def fresh(self) -> Credentials:
        """Return what an operator begins with that has just started and remembers nothing."""
        return Credentials(self.api, self.caches, self.time, TakenNames(self.api, self.time))

    def data(self, name: str) -> dict[str, str]:
        found = self.api.objects["secrets", Key("prod", name)]
        return {key: base64.b64decode(value).decode(errors="replace") for key, value in found["data"].items()}

    def pair(self, member: str) -> pki.Pair:
        data = self.data(names.agent(member))
        return pki.Pair(data["tls.crt"], data["tls.key"])

    async def ensure(self, member: str = "logs-hot-0") -> pki.Pair:
        await self.credentials.ensure(self.cluster, member)
        return self.pair(member)

    async def access(self, member: str = "logs-hot-0") -> Access:
        return await self.credentials.access(self.cluster, member)


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_each_member_proves_its_own_name_and_knows_its_own_token(stage: Stage) -> None:
    first, second = await stage.ensure(), await stage.ensure("logs-hot-1")
    access = await stage.access()
    authority = pki.Pair(stage.data("logs-agents")["tls.crt"], stage.data("logs-agents")["tls.key"])
    assert pki.fits(first, authority, [agent_name("prod", "logs-hot-0")])
    assert pki.fits(second, authority, [agent_name("prod", "logs-hot-1")])
    assert access.bundle == authority.certificate
    other = await stage.access("logs-hot-1")
    tokens = [stage.data(f"logs-hot-{i}-agent")["token"] for i in range(2)]
    assert tokens == [access.token, other.token]
    assert len({*tokens, stage.data("logs-agents")["root"]}) == 3
    assert access.earlier == other.earlier == ""
    assert "token" not in stage.data("logs-agents")
    assert "tls.key" in stage.data("logs-hot-0-agent")
    assert authority.key not in str(stage.data("logs-hot-0-agent"))


async def test_who_only_asks_an_agent_writes_nothing(stage: Stage) -> None:
    with pytest.raises(AgentError, match="Secret logs-agents does not exist yet"):
        await stage.access()
    assert stage.api.verbs("secrets") == ["get"]
    await stage.credentials.prepare(stage.cluster)
    stage.time.later(365 * 3.5)  # A renewal is due.
    stage.api.calls.clear()
    await stage.access()
    assert stage.api.calls == []


async def test_the_keys_of_a_cluster_that_is_gone_are_not_kept(stage: Stage) -> None:
    await stage.ensure()
    stage.credentials.request_check(stage.cluster, "logs-hot-0")
    stage.credentials.forget(Key("prod", "others"))
    stage.api.calls.clear()
    await stage.access()
    assert stage.api.calls == []
    stage.credentials.forget(Key("prod", "logs"))
    await stage.access()
    assert stage.api.verbs("secrets") == ["get"], "its keys are read again"
    stage.api.calls.clear()
    await stage.ensure()
    assert stage.api.calls == [], "no check of a member is due"


async def test_nothing_is_read_or_written_while_all_is_well(stage: Stage) -> None:
    await stage.ensure()
    stage.api.calls.clear()
    stage.time.later(50)
    await stage.ensure()
    assert stage.api.calls == []


async def test_a_new_operator_continues_with_what_is_there(stage: Stage) -> None:
    pair, access = await stage.ensure(), await stage.access()
    stage.credentials = stage.fresh()
    stage.api.calls.clear()
    assert await stage.ensure() == pair
    assert await stage.access() == access
    assert stage.api.verbs("secrets") == ["get"]


async def test_a_certificate_is_renewed_with_a_third_of_its_life_left(stage: Stage) -> None:
    before, known = await stage.ensure(), await stage.access()
    stage.time.later(61)
    after, access = await stage.ensure(), await stage.access()
    assert after != before
    assert access.token == stage.data("logs-hot-0-agent")["token"]
    assert access.token != known.token
    assert access.earlier == known.token, "its agent has it until the kubelet has brought the new one"
    assert pki.ends(after.certificate) > pki.ends(before.certificate)


async def test_a_certificate_of_a_clock_that_was_ahead_is_renewed(stage: Stage) -> None:
    """The operator would reject its agent until the clock has come there, perhaps for years."""
    await stage.ensure()
    stage.time.later(400)
    ahead = await stage.ensure()
    stage.time.later(-400)
    renewed = await stage.ensure()
    assert renewed != ahead
    assert not pki.due(renewed.certificate, stage.time.now().timestamp())
    stage.api.calls.clear()
    assert await stage.ensure() == renewed
    assert stage.api.calls == []


async def test_a_secret_that_is_being_deleted_is_written_again(stage: Stage) -> None:
    await stage.ensure()
    found = stage.caches.of(kinds.SECRETS).get(Key("prod", "logs-hot-0-agent"))
    assert found is not None
    ending = msgspec.structs.replace(found.metadata, deletion_timestamp=stage.time.now(), resource_version="999")
    stage.caches.of(kinds.SECRETS).wrote(msgspec.structs.replace(found, metadata=ending))
    stage.api.calls.clear()
    await stage.ensure()
    assert "apply" in stage.api.verbs("secrets")


async def test_an_authority_that_ends_is_followed_by_another_and_both_are_trusted(stage: Stage) -> None:
    await stage.ensure()
    before = stage.data("logs-agents")["tls.crt"]
    stage.time.later(365 * 3.5)
    pair = await stage.ensure()
    assert stage.data("logs-agents")["tls.crt"] == before
    assert "next.crt" in stage.data("logs-agents")
    stage.time.later(2)
    stage.credentials = stage.fresh()
    assert await stage.ensure() != pair
    bundle = (await stage.access()).bundle
    assert before in bundle
    assert stage.data("logs-agents")["tls.crt"] in bundle
    assert stage.data("logs-agents")["tls.crt"] != before


async def test_members_of_a_cluster_with_one_token_for_all_get_their_own_one_after_the_other(stage: Stage) -> None:
    """So it is after an update from a Stateward whose agents all knew one token."""
    await stage.ensure()
    stage.caches = Caches()
    for name in ("logs-agents", "logs-hot-0-agent"):
        found = stage.api.objects["secrets", Key("prod", name)]
        found["data"].pop("root", None)
        found["data"]["token"] = base64.b64encode(b"known to all").decode()
        found["metadata"]["annotations"].pop(ANNOTATION_EARLIER, None)
        stage.caches.of(kinds.SECRETS).wrote(msgspec.convert(found, PartialObject))
    stage.credentials = stage.fresh()
    before = await stage.access()
    assert before.earlier == "known to all"
    await stage.ensure()
    after = await stage.access()
    assert after.token == stage.data("logs-hot-0-agent")["token"] != "known to all"
    assert after.earlier == "known to all", "its agent has it until the kubelet has brought the new one"
    stage.time.later(61)
    await stage.ensure()
    assert (await stage.access()).earlier == after.token


async def test_what_makes_no_sense_is_recreated(stage: Stage) -> None:
    await stage.ensure()
    stage.api.objects["secrets", Key("prod", "logs-agents")]["data"]["tls.key"] = base64.b64encode(b"x").decode()
    stage.credentials = stage.fresh()
    pair = await stage.ensure()
    data = stage.data("logs-agents")
    assert pki.fits(pair, pki.Pair(data["tls.crt"], data["tls.key"]), [agent_name("prod", "logs-hot-0")])


async def test_a_secret_of_another_user_is_left_alone(stage: Stage) -> None:
    other: dict[str, Any] = {"metadata": {"name": "logs-agents", "namespace": "prod"}, "data": {}}
    await stage.api.create(RAW_SECRETS, other, namespace="prod")
    with pytest.raises(NotOwnedError):
        await stage.ensure()


async def test_the_secret_is_read_again_when_it_has_changed(stage: Stage) -> None:
    await stage.ensure()
    written = await stage.api.get(kinds.SECRETS, Key("prod", "logs-agents"))
    assert stage.caches.of(kinds.SECRETS).get(Key("prod", "logs-agents")) == written


async def test_secrets_without_the_label_of_an_engine_are_ours_and_get_it(stage: Stage) -> None:
    """So it is after an update from a Stateward that knew one engine."""
    pair = await stage.ensure()
    stage.caches = Caches()
    for name in ("logs-agents", "logs-hot-0-agent"):
        found = stage.api.objects["secrets", Key("prod", name)]
        del found["metadata"]["labels"][names.LABEL_ENGINE]
        stage.caches.of(kinds.SECRETS).wrote(msgspec.convert(found, PartialObject))
    stage.credentials = stage.fresh()
    assert await stage.ensure() != pair
    labels = stage.api.objects["secrets", Key("prod", "logs-hot-0-agent")]["metadata"]["labels"]
    assert labels[names.LABEL_ENGINE] == "opensearch"


@pytest.mark.parametrize("name", ["next.crt", "next.key", "retired.crt", "root", "tls.crt"])
@pytest.mark.parametrize("content", [b"nonsense", b"\xff\xfe"])
async def test_no_part_that_makes_no_sense_keeps_the_operator_from_its_agents(
    stage: Stage, name: str, content: bytes
) -> None:
    await stage.ensure()
    stage.time.later(365 * 3.5)
    stage.credentials = stage.fresh()
    await stage.ensure()
    found = stage.api.objects["secrets", Key("prod", "logs-agents")]
    found["data"][name] = base64.b64encode(content).decode()
    stage.credentials = stage.fresh()
    pair = await stage.ensure()
    data = stage.data("logs-agents")
    assert pki.fits(pair, pki.Pair(data["tls.crt"], data["tls.key"]), [agent_name("prod", "logs-hot-0")])


@pytest.mark.parametrize("name", ["token", "tls.crt", "tls.key"])
async def test_a_secret_that_a_user_has_changed_is_corrected(stage: Stage, name: str) -> None:
    """No cache shows it: what is known of a Secret without its content is as it was."""
    await stage.ensure()
    found = stage.api.objects["secrets", Key("prod", "logs-hot-0-agent")]
    found["data"][name] = base64.b64encode(b"something else").decode()
    changed = dict(found["data"])
    await stage.ensure()
    assert found["data"] == changed
    stage.credentials.request_check(stage.cluster, "logs-hot-0")
    await stage.ensure()
    keys = stage.data("logs-agents")
    pair = stage.pair("logs-hot-0")
    assert pki.fits(pair, pki.Pair(keys["tls.crt"], keys["tls.key"]), [agent_name("prod", "logs-hot-0")])
    assert stage.data("logs-hot-0-agent")["token"] == (await stage.access()).token


@pytest.mark.parametrize("ends", ["\u00b2", "\uff11", "9" * 5000, "never"])
async def test_a_time_that_a_user_has_edited_is_written_again(stage: Stage, ends: str) -> None:
    await stage.ensure()
    stage.caches = Caches()
    for name in ("logs-agents", "logs-hot-0-agent"):
        found = stage.api.objects["secrets", Key("prod", name)]
        if ANNOTATION_ENDS in found["metadata"]["annotations"]:
            found["metadata"]["annotations"][ANNOTATION_ENDS] = ends
        stage.caches.of(kinds.SECRETS).wrote(msgspec.convert(found, PartialObject))
    stage.credentials = stage.fresh()
    pair = await stage.ensure()
    assert stage.data("logs-hot-0-agent")["token"] == (await stage.access()).token
    assert await stage.ensure() == pair


async def test_one_that_is_as_it_should_be_is_read_once_and_left_alone(stage: Stage) -> None:
    pair = await stage.ensure()
    stage.credentials.request_check(stage.cluster, "logs-hot-0")
    stage.api.calls.clear()
    assert await stage.ensure() == pair
    assert await stage.ensure() == pair
    assert stage.api.verbs("secrets") == ["get"]


def workload(name: str, *, agent: bool, replicas: int = 1, ends: str | None = None) -> StatefulSet:
    annotations = {names.ANNOTATION_AGENT: "x"} if agent else {}
    body = {
        "metadata": {"name": name, "namespace": "prod", "deletionTimestamp": ends},
        "spec": {"replicas": replicas, "template": {"metadata": {"annotations": annotations}}},
    }
    return msgspec.convert(body, StatefulSet, strict=False)


async def test_members_that_run_with_an_agent_get_secrets_and_others_get_none(stage: Stage) -> None:
    sets = (
        workload("logs-hot-0", agent=True),
        workload("logs-hot-1", agent=False),
        workload("logs-hot-2", agent=True, replicas=0),
        workload("logs-hot-3", agent=True, ends="2026-01-01T00:00:00Z"),
    )
    await stage.credentials.keep(ClusterObjects(stage.cluster, sets, (), (), (), {}, {}))
    made = {key.name for plural, key in stage.api.objects if plural == "secrets"}
    assert {names.agent(s.metadata.name) for s in sets} & made == {names.agent("logs-hot-0")}


def test_files_without_a_root_and_without_a_token_are_created_again() -> None:
    signs = pki.new_authority("x", 1_000_000_000.0).signs
    files = {"tls.crt": signs.certificate, "tls.key": signs.key}
    assert parse_files({}) is None
    assert parse_files(files) is None
    assert parse_files({**files, "token": "t"}) is not None
    assert parse_files({**files, "root": "r"}) is not None

"""The Secrets of a secured cluster are created once, never recreated because of a failed read, and never shown."""

import asyncio
import random
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.api.kinds.search import ElasticsearchCluster, ElasticsearchSpec, OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.kinds.security import HttpSecurity, Security, SecurityStatus
from stateward.api.kinds.status import BootstrapStatus, ClusterStatus
from stateward.api.values.base import Metadata
from stateward.kube.client.client import ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, NotFound, Unavailable
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.secret_content import encoded
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.ownership import NotOwnedError
from stateward.operator.security.given_secrets import text_content
from stateward.operator.security.own_secrets import RAW_SECRETS
from stateward.operator.security.protection import refusals
from stateward.operator.security.security import Keeper
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock

OURS = ("logs-admin", "logs-ca", "logs-operator-tls", "logs-tls")


class Unreadable(WorldApi):
    """An API server that does not show certain Secrets."""

    hidden: frozenset[str] = frozenset()

    async def get(self, resource: Resource[Any], key: Key) -> Any:
        if resource.plural == "secrets" and key.name in self.hidden:
            raise Unavailable("the Secret cannot be read now")
        return await super().get(resource, key)


@pytest.fixture
async def api() -> Unreadable:
    clock = WorldClock(asyncio.get_running_loop())
    store = Store(clock.monotonic, clock.now)
    made = Unreadable(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    await made.create(kinds.NAMESPACES, {"metadata": {"name": "data"}})
    return made


@pytest.fixture
async def keeper(api: Unreadable) -> Keeper:
    return Keeper(api, Caches(), WorldClock(asyncio.get_running_loop()))


def cluster(status: ClusterStatus | None = None, *, enabled: bool | None = True, **security: Any) -> OpenSearchCluster:
    spec = OpenSearchSpec(
        version="2.19.3", pools=[Pool(name="all", replicas=1)], security=Security(enabled=enabled, **security)
    )
    metadata = Metadata(name="logs", namespace="data", uid="u")
    return OpenSearchCluster(metadata=metadata, spec=spec, status=status or ClusterStatus())


async def contents(api: WorldApi, name: str) -> dict[str, str]:
    return dict(text_content(await api.get(RAW_SECRETS, Key("data", name))))


async def give(api: WorldApi, name: str, data: dict[str, str]) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "data"}, "stringData": data}
    await api.apply(kinds.SECRETS, Key("data", name), body, ApplyOptions("person"))


async def test_they_are_made_once_whatever_the_cache_shows(api: Unreadable, keeper: Keeper) -> None:
    """The cache of this keeper stays empty: only what is read live says what is there."""
    first = await keeper.keep(cluster())
    before = {name: await contents(api, name) for name in OURS}
    again = await Keeper(api, Caches(), WorldClock(asyncio.get_running_loop())).keep(cluster())
    assert {name: await contents(api, name) for name in OURS} == before
    assert again.access == first.access
    assert first.protection is not None
    assert first.protection.enabled


async def test_the_administrator_is_not_read_again_where_its_secret_is_observed(api: Unreadable) -> None:
    caches = Caches()
    keeper = Keeper(api, caches, WorldClock(asyncio.get_running_loop()))
    await keeper.keep(cluster())
    caches.of(kinds.SECRETS).wrote(await api.get(kinds.SECRETS, Key("data", "logs-admin")))
    api.hidden = frozenset({"logs-admin"})
    again = await keeper.keep(cluster())
    assert again.protection is not None
    assert again.protection.enabled


@pytest.mark.parametrize("name", OURS)
async def test_what_cannot_be_read_is_not_recreated(name: str, api: Unreadable, keeper: Keeper) -> None:
    await keeper.keep(cluster())
    before = await contents(api, name)
    api.hidden = frozenset({name})
    other = Keeper(api, Caches(), WorldClock(asyncio.get_running_loop()))
    with pytest.raises(ApiError):
        await other.keep(cluster())
    api.hidden = frozenset()
    assert await contents(api, name) == before


async def test_a_cluster_that_is_created_again_does_not_take_the_secrets_of_the_earlier_one(api: Unreadable) -> None:
    """The operator has read them, and they are not deleted yet."""
    caches = Caches()
    keeper = Keeper(api, caches, WorldClock(asyncio.get_running_loop()))
    await keeper.keep(cluster())
    for name in ("logs-ca", "logs-operator-tls", "logs-tls"):
        caches.of(kinds.SECRETS).wrote(await api.get(kinds.SECRETS, Key("data", name)))
    before = await contents(api, "logs-tls")
    again = cluster()
    again = replace(again, metadata=replace(again.metadata, uid="another"))
    with pytest.raises(NotOwnedError):
        await keeper.keep(again)
    assert await contents(api, "logs-tls") == before


async def test_another_users_secret_is_not_taken(api: Unreadable, keeper: Keeper) -> None:
    await give(api, "logs-ca", {"tls.crt": "theirs"})
    with pytest.raises(NotOwnedError):
        await keeper.keep(cluster())


async def test_the_password_is_random_and_in_no_text(api: Unreadable, keeper: Keeper) -> None:
    kept = await keeper.keep(cluster())
    name, password = await keeper.administrator(cluster())
    assert (name, len(password)) == ("admin", 32)
    assert password not in repr(kept)
    assert "PRIVATE" not in repr(kept)


@pytest.mark.parametrize("left", [{}, {"username": "root"}, {"username": "root", "password": ""}])
async def test_half_an_administrator_is_completed_before_the_database_gets_it(
    api: Unreadable, keeper: Keeper, left: dict[str, str]
) -> None:
    """Each round of the cluster ended before its status was written, until someone corrected the Secret."""
    await keeper.keep(cluster())
    patch = [{"op": "add", "path": "/data", "value": encoded(left)}]
    await api.patch(RAW_SECRETS, Key("data", "logs-admin"), patch, kind=PatchKind.JSON)
    other = Keeper(api, Caches(), WorldClock(asyncio.get_running_loop()))
    name, password = await other.administrator(cluster())
    assert (name, len(password)) == (left.get("username", "admin"), 32)
    assert await contents(api, "logs-admin") == {"username": name, "password": password}
    assert await other.administrator(cluster()) == (name, password)


async def test_a_deleted_administrator_gets_no_password_that_the_database_does_not_have(api: Unreadable) -> None:
    """The database keeps the password of before: a Secret with another one would only mislead."""
    done = cluster(ClusterStatus(security=SecurityStatus(enabled=True, administrator_created=True)))
    for known, there in ((cluster(), True), (done, False)):
        await Keeper(api, Caches(), WorldClock(asyncio.get_running_loop())).keep(known)
        name = Key("data", "logs-admin")
        with suppress(NotFound):
            found = await api.get(kinds.SECRETS, name)
            assert there
            await api.delete(kinds.SECRETS, name, DeleteOptions(Preconditions.of(found)))
            continue
        assert not there


async def test_an_unsecured_cluster_reads_and_writes_nothing(api: Unreadable, keeper: Keeper) -> None:
    api.hidden = frozenset(OURS)
    for status in (ClusterStatus(), ClusterStatus(security=SecurityStatus(enabled=False))):
        kept = await keeper.keep(cluster(status, enabled=None))
        assert (kept.access, kept.protection) == (None, None)


async def test_what_is_left_out_stays_as_it_is(keeper: Keeper) -> None:
    kept = await keeper.keep(cluster(ClusterStatus(security=SecurityStatus(enabled=True)), enabled=None))
    assert kept.cluster.spec.security is not None
    assert kept.cluster.spec.security.enabled is True


async def test_a_given_secret_that_is_missing_switches_nothing_on(api: Unreadable, keeper: Keeper) -> None:
    kept = await keeper.keep(cluster(ca_secret_name="own-ca"))
    assert kept.protection is not None
    assert not kept.protection.enabled
    assert kept.protection.faults == {"spec.security.caSecretName": "there is no such Secret"}
    with pytest.raises(ApiError):
        await contents(api, "logs-ca")


async def test_a_given_administrator_is_used_and_one_without_a_password_is_not(api: Unreadable, keeper: Keeper) -> None:
    await give(api, "people", {"username": "root"})
    kept = await keeper.keep(cluster(admin_secret_name="people"))
    assert kept.protection is not None
    assert kept.protection.faults == {"spec.security.adminSecretName": "it has no password"}
    secured = ClusterStatus(
        security=SecurityStatus(enabled=True), bootstrap=BootstrapStatus(member="m", volume="v", formed=True)
    )
    running = await keeper.keep(replace(cluster(admin_secret_name="people"), status=secured))
    assert running.protection is not None
    assert running.protection.enabled


@pytest.mark.parametrize(("before", "asked"), [(False, True), (True, False)])
async def test_a_cluster_with_data_is_switched_and_keeps_what_it_needs_to_be_talked_to(
    before: bool, asked: bool, keeper: Keeper
) -> None:
    """Its members may be on either side for a while."""
    await keeper.keep(cluster())
    status = ClusterStatus(
        security=SecurityStatus(enabled=before, administrator_created=True),
        bootstrap=BootstrapStatus(member="m", volume="v", formed=True),
    )
    kept = await keeper.keep(cluster(status, enabled=asked))
    assert kept.protection is not None
    assert (kept.protection.enabled, kept.protection.administrator) == (asked, True)
    assert kept.access is not None
    assert kept.protection.faults == {}


async def test_a_cluster_with_data_is_not_switched_on_with_a_secret_that_cannot_be_used(keeper: Keeper) -> None:
    status = ClusterStatus(bootstrap=BootstrapStatus(member="m", volume="v", formed=True))
    kept = await keeper.keep(cluster(status, ca_secret_name="own-ca"))
    assert kept.protection is not None
    assert not kept.protection.enabled
    assert kept.cluster.spec.security is not None
    assert kept.cluster.spec.security.enabled is False


@pytest.fixture
async def securing(api: Unreadable) -> Keeper:
    return Keeper(api, Caches(), WorldClock(asyncio.get_running_loop()), by_default=True)


async def test_a_new_cluster_that_does_not_say_is_secured_where_the_operator_was_told_so(securing: Keeper) -> None:
    kept = await securing.keep(cluster(enabled=None), alone=True)
    assert kept.protection is not None
    assert (kept.protection.enabled, kept.access is not None) == (True, True)
    assert "new clusters" in kept.protection.reason
    # The status stays the same, with and without the flag.
    status = ClusterStatus(security=kept.protection.status())
    after = await securing.keep(cluster(status, enabled=None))
    assert after.protection is not None
    assert after.protection.enabled


@pytest.mark.parametrize(
    "existing",
    [
        ClusterStatus(version="2.19.3"),
        ClusterStatus(bootstrap=BootstrapStatus(member="logs-all-0", volume="v", formed=False)),
        ClusterStatus(cluster_uuid="formed"),
        ClusterStatus(security=SecurityStatus(enabled=False), version="2.19.3"),
    ],
)
async def test_one_that_exists_stays_as_it_is(existing: ClusterStatus, securing: Keeper) -> None:
    kept = await securing.keep(cluster(existing, enabled=None), alone=True)
    assert kept.access is None


async def test_one_whose_status_was_lost_is_not_mistaken_for_a_new_one(securing: Keeper) -> None:
    assert (await securing.keep(cluster(enabled=None))).access is None


async def test_what_users_say_counts_and_an_image_of_their_own_is_left_alone(keeper: Keeper, securing: Keeper) -> None:
    assert (await securing.keep(cluster(enabled=False), alone=True)).access is None
    assert (await keeper.keep(cluster(enabled=None), alone=True)).access is None
    own = cluster(enabled=None)
    own = replace(own, spec=replace(own.spec, image="example.com/opensearch:2.19.3"))
    assert (await securing.keep(own, alone=True)).access is None
    its_own = ElasticsearchSpec(version="8.19.4", image="example.com/es:8.19.4", pools=[Pool(name="all", replicas=1)])
    elastic = ElasticsearchCluster(metadata=own.metadata, spec=its_own)
    assert (await securing.keep(elastic, alone=True)).access is not None


async def test_a_secret_that_cannot_be_used_keeps_a_new_one_from_being_made_unsecured(securing: Keeper) -> None:
    status = ClusterStatus()
    for _ in range(2):
        kept = await securing.keep(cluster(status, enabled=None, ca_secret_name="none"), alone=True)
        assert kept.protection is not None
        assert kept.asked is not None
        assert not kept.protection.enabled
        assert [refusal.everything for refusal in refusals(kept.asked, kept.protection)] == [True]
        status = ClusterStatus(security=kept.protection.status())


# Secrets that have to be allowed

GIVEN: dict[str, dict[str, Any]] = {
    "spec.security.caSecretName": {"ca_secret_name": "given"},
    "spec.security.http.secretName": {"http": HttpSecurity(secret_name="given")},
    "spec.security.adminSecretName": {"admin_secret_name": "given"},
}


@pytest.fixture
async def strict(api: Unreadable) -> Keeper:
    return Keeper(api, Caches(), WorldClock(asyncio.get_running_loop()), labelled=True)


async def label(api: WorldApi, **labels: str) -> None:
    await api.patch(kinds.SECRETS, Key("data", "given"), {"metadata": {"labels": labels}}, kind=PatchKind.MERGE)


@pytest.mark.parametrize("field", GIVEN)
async def test_a_secret_that_is_not_allowed_is_not_taken_in(api: Unreadable, strict: Keeper, field: str) -> None:
    """Otherwise its author would get a certificate of another owner's CA, or another owner's key or password."""
    await give(api, "given", {"username": "root", "password": "theirs", "tls.key": "theirs", "tls.crt": "theirs"})
    kept = await strict.keep(cluster(**GIVEN[field]))
    assert kept.protection is not None
    assert "must have the label stateward.dev/allowed-for-pods" in kept.protection.faults[field]
    for name in OURS:
        with suppress(NotFound):
            assert "theirs" not in (await contents(api, name)).values()
    if field.endswith("adminSecretName"):
        with pytest.raises(KeyError):
            await strict.administrator(cluster(**GIVEN[field]))


async def test_a_secret_is_taken_in_once_it_is_allowed_and_for_no_other_cluster(
    api: Unreadable, strict: Keeper
) -> None:
    await give(api, "given", {"username": "root", "password": "theirs"})
    await label(api, **{"stateward.dev/allowed-for-pods": "logs"})
    mine = cluster(admin_secret_name="given")
    assert await strict.administrator(mine) == ("root", "theirs")
    other = replace(mine, metadata=Metadata(name="other", namespace="data", uid="o"))
    with pytest.raises(KeyError):
        await strict.administrator(other)


async def test_without_the_option_every_secret_of_the_namespace_can_be_given(api: Unreadable, keeper: Keeper) -> None:
    await give(api, "given", {"username": "root", "password": "theirs"})
    assert await keeper.administrator(cluster(admin_secret_name="given")) == ("root", "theirs")


async def test_a_label_that_is_requested_from_now_on_takes_nothing_from_a_cluster_that_runs(
    api: Unreadable, keeper: Keeper, strict: Keeper
) -> None:
    """An operator with the option takes over from one without."""
    spec = ElasticsearchSpec(
        version="8.19.4",
        pools=[Pool(name="all", replicas=1)],
        security=Security(enabled=True, admin_secret_name="given"),
    )
    metadata = Metadata(name="logs", namespace="data", uid="u")
    running = ElasticsearchCluster(metadata=metadata, spec=spec)
    await give(api, "given", {"username": "root", "password": "known"})
    await keeper.keep(running)
    before = {name: await contents(api, name) for name in ("logs-tls", "logs-ca", "logs-operator-tls")}
    later = replace(running, status=ClusterStatus(security=SecurityStatus(enabled=True)))
    kept = await strict.keep(later)
    assert {name: await contents(api, name) for name in before} == before
    assert kept.protection is not None
    assert "must have the label" in kept.protection.faults["spec.security.adminSecretName"]
    assert kept.protection.enabled

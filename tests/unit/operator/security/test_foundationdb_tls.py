"""Certificates of FoundationDB clusters: made once, renewed in time, by the cluster's own CA or one that is given."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from stateward import pki
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.status import ClusterStatus
from stateward.engines.foundationdb.spec.identity import first_connection
from stateward.engines.foundationdb.spec.security import client_name, member_name, secured
from stateward.kube.client.client import ApplyOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound, Unavailable
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import FOUNDATIONDB
from stateward.operator.security.foundationdb_tls import Secured, TransportKeeper, desired_certificates, runs_with
from stateward.operator.security.given_secrets import text_content
from stateward.operator.security.material import Stored
from stateward.operator.security.own_secrets import RAW_SECRETS
from stateward.pki.files import authority_files
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock
from tests.unit.engines.foundationdb_model import cluster

OURS = ("ledger-ca", "ledger-client-tls", "ledger-tls")
NOW = 1_800_000_000.0


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
    await made.create(kinds.NAMESPACES, {"metadata": {"name": "bank"}})
    return made


def keeper(api: WorldApi, *, labelled: bool = False) -> TransportKeeper:
    return TransportKeeper(api, Caches(FOUNDATIONDB), WorldClock(asyncio.get_running_loop()), labelled=labelled)


def asking(**security: Any) -> FoundationDBCluster:
    return cluster(security={"enabled": True, **security})


async def contents(api: WorldApi, name: str) -> dict[str, str]:
    return dict(text_content(await api.get(RAW_SECRETS, Key("bank", name))))


async def give(api: WorldApi, name: str, data: dict[str, str]) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "bank"}, "stringData": data}
    await api.apply(kinds.SECRETS, Key("bank", name), body, ApplyOptions("person"))


async def test_they_are_made_once_whatever_the_cache_shows(api: Unreadable) -> None:
    first = await keeper(api).keep(asking(), on=True)
    before = {name: await contents(api, name) for name in OURS}
    again = await keeper(api).keep(asking(), on=True)
    assert {name: await contents(api, name) for name in OURS} == before
    assert first.protection == again.protection
    assert first.cluster.status.security is not None
    assert first.cluster.status.security.client_secret_name == "ledger-client-tls"
    assert before["ledger-client-tls"]["verify_peers"] == f"S.CN={member_name(asking())}"
    assert before["ledger-ca"].keys() >= {"tls.crt", "tls.key"}
    assert before["ledger-ca"]["tls.key"] not in str(before["ledger-tls"]) + str(before["ledger-client-tls"])


@pytest.mark.parametrize("name", OURS)
async def test_what_cannot_be_read_is_not_recreated(name: str, api: Unreadable) -> None:
    await keeper(api).keep(asking(), on=True)
    before = await contents(api, name)
    api.hidden = frozenset({name})
    with pytest.raises(Unavailable):
        await keeper(api).keep(asking(), on=True)
    api.hidden = frozenset()
    assert await contents(api, name) == before


async def test_without_tls_nothing_is_made(api: Unreadable) -> None:
    plain = await keeper(api).keep(cluster(), on=False)
    assert plain == Secured(cluster())
    for name in OURS:
        with pytest.raises(NotFound):
            await contents(api, name)


async def test_a_cluster_that_is_to_have_no_tls_says_so_and_one_that_leaves_it_open_says_nothing(
    api: Unreadable,
) -> None:
    refused = await keeper(api).keep(cluster(security={"enabled": False}), on=False)
    assert refused.cluster.status.security is not None
    assert (refused.cluster.status.security.enabled, refused.refusals) == (False, ())
    silent = msgspec.structs.replace(refused.cluster, spec=cluster().spec)
    kept = await keeper(api).keep(silent, on=False)
    assert kept.cluster.status.security is not None
    assert "keeps its security" in kept.cluster.status.security.reason


async def test_a_given_ca_signs_and_one_that_cannot_be_used_keeps_a_new_cluster_waiting(api: Unreadable) -> None:
    of = asking(caSecretName="ours")
    waits = await keeper(api).keep(of, on=True)
    ((field, everything),) = [(r.subject, r.everything) for r in waits.refusals]
    assert (field, everything) == ("spec.security.caSecretName", True)
    assert waits.cluster.status.security is None, "it is not without TLS: it waits"
    assert secured(waits.cluster)
    authority = pki.new_authority("ours", asyncio_now())
    await give(api, "ours", {"tls.crt": authority.signs.certificate, "tls.key": authority.signs.key})
    good = await keeper(api).keep(of, on=True)
    assert good.refusals == ()
    assert (await contents(api, "ledger-tls"))["ca.crt"] == authority.signs.certificate


async def test_a_ca_that_is_not_allowed_for_the_cluster_is_not_used(api: Unreadable) -> None:
    authority = pki.new_authority("ours", asyncio_now())
    await give(api, "ours", {"tls.crt": authority.signs.certificate, "tls.key": authority.signs.key})
    found = await keeper(api, labelled=True).keep(asking(caSecretName="ours"), on=True)
    assert ["stateward.dev/allowed-for-pods" in r.message for r in found.refusals] == [True]


def asyncio_now() -> float:
    return WorldClock(asyncio.get_running_loop()).now().timestamp()


def test_a_certificate_is_renewed_before_it_ends_and_the_authority_stays() -> None:
    of, none = asking(), dict[str, str]()
    first = desired_certificates(of, Stored(), NOW, none)
    assert first is not None
    stored = Stored(
        authority=authority_files(first.authority),
        members={"tls.crt": first.member.certificate, "tls.key": first.member.key},
        operator={"tls.crt": first.client.certificate, "tls.key": first.client.key},
    )
    soon = desired_certificates(of, stored, NOW + 30 * 86400, none)
    assert soon is not None
    assert (soon.member, soon.client) == (first.member, first.client)
    late = desired_certificates(of, stored, NOW + 61 * 86400, none)
    assert late is not None
    assert late.member != first.member
    assert late.client != first.client
    assert late.authority == first.authority
    assert pki.fits(late.member, first.authority.signs, (member_name(of),))
    assert pki.fits(late.client, first.authority.signs, (client_name(of),))


def test_another_ca_is_trusted_for_a_day_before_it_signs() -> None:
    of, none = asking(), dict[str, str]()
    first = desired_certificates(of, Stored(), NOW, none)
    assert first is not None
    other = pki.new_authority("other", NOW).signs
    given = {"tls.crt": other.certificate, "tls.key": other.key}
    members = {"tls.crt": first.member.certificate, "tls.key": first.member.key}
    stored = Stored(authority=authority_files(first.authority), members=members, given_authority=given)
    meanwhile = desired_certificates(of, stored, NOW + 60, none)
    assert meanwhile is not None
    assert set(pki.split(meanwhile.authority.bundle)) >= {first.authority.signs.certificate, other.certificate}
    assert meanwhile.member == first.member
    stored = msgspec.structs.replace(stored, authority=authority_files(meanwhile.authority))
    after = desired_certificates(of, stored, NOW + 2 * 86400, none)
    assert after is not None
    assert after.authority.signs.certificate == other.certificate
    assert first.authority.signs.certificate in after.authority.bundle


def test_when_a_given_ca_has_ended_nothing_is_issued_and_it_is_named() -> None:
    theirs = pki.new_authority("theirs", NOW, 1.0).signs
    given = {"tls.crt": theirs.certificate, "tls.key": theirs.key}
    asked, faults = asking(caSecretName="own-ca"), dict[str, str]()
    first = desired_certificates(asked, Stored(given_authority=given), NOW, faults)
    assert first is not None
    before = Stored(authority=authority_files(first.authority), given_authority=given)
    assert desired_certificates(asked, before, NOW + 366 * 86400, faults) is None
    assert faults["spec.security.caSecretName"].startswith("tls.crt ended at 20")


def test_a_ca_that_another_one_has_signed_is_refused() -> None:
    above = pki.new_authority("above", NOW).signs
    below = pki.issue(above, "below", ("below",), NOW)
    faults = dict[str, str]()
    given = {"tls.crt": below.certificate, "tls.key": below.key}
    assert desired_certificates(asking(), Stored(given_authority=given), NOW, faults) is None
    assert "the CA in it is signed by another CA" in faults["spec.security.caSecretName"]


def existing(of: FoundationDBCluster, connection: str | None = "", *, sets: int = 1, **status: Any) -> ClusterObjects:
    known = msgspec.structs.replace(of, status=ClusterStatus(**status))
    return ClusterObjects(known, (StatefulSet(),) * sets, (), (), (), {}, {}, connection=connection)


def test_what_runs_goes_by_the_cluster_file_and_not_by_the_spec_or_a_lost_status() -> None:
    tls, plain = str(first_connection(asking())), str(first_connection(cluster()))
    assert runs_with(existing(cluster(), tls))
    assert not runs_with(existing(asking(), plain))
    assert runs_with(existing(asking(), "", sets=0))
    assert not runs_with(existing(cluster(), tls, sets=0)), "before there is any of it, the spec decides"
    assert runs_with(existing(cluster(), tls, sets=0, cluster_uuid="id"))

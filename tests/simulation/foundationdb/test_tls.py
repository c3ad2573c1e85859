"""FoundationDB with TLS: made so, with certificates that are renewed while it runs, and never switched."""

import asyncio
import base64

import pytest
from cryptography import x509

from stateward import pki
from stateward.api.values.base import GROUP
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import KIND, NAME, Scenario, pools

pytestmark = pytest.mark.simulation

ON = {"enabled": True}
SHORT = {"enabled": True, "certificateLifetime": "1h"}


def files(scenario: Scenario, name: str) -> dict[str, str]:
    """Return the content of a Secret."""
    found = scenario.world.store.get("/secrets", Key(NAMESPACE, f"{NAME}-{name}"))
    assert found is not None, name
    return {key: base64.b64decode(text).decode() for key, text in found.doc["data"].items()}


def sound(scenario: Scenario) -> bool:
    """Return whether every pod sees a certificate that is valid now, and is signed by whom it trusts."""
    now = scenario.world.context.clock.now().timestamp()
    seen = [p.container.mounted("tls") for p in scenario.world.foundationdb.pods.values() if p.alive]
    return all(pki.ends(each["tls.crt"]) > now and signed(each) for each in seen)


def signed(seen: dict[str, str]) -> bool:
    """Return whether a certificate is signed by an authority that is trusted with it."""
    pair = pki.Pair(seen["tls.crt"], seen["tls.key"])
    found = x509.load_pem_x509_certificate(pair.certificate.encode())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    known = names.get_values_for_type(x509.DNSName)
    return any(pki.fits(pair, pki.Pair(each, ""), known) for each in pki.split(seen["ca.crt"]))


async def test_it_is_made_with_tls_and_members_are_replaced_in_it() -> None:
    with Scenario(security=ON).logged() as scenario:
        await scenario.begin()
        assert scenario.database.cluster is not None
        assert all(name.endswith(":tls") for name in scenario.database.cluster.state.coordinators)
        assert sound(scenario)
        assert scenario.status["security"]["enabled"] is True
        assert scenario.status["security"]["clientSecretName"] == f"{NAME}-client-tls"
        voter = min(scenario.coordinators())
        scenario.edit(members={"replace": [voter]})
        assert await scenario.until(lambda: voter not in scenario.members()), scenario.doing
        scenario.edit(pools=pools(storage=6))
        assert await scenario.settled(), scenario.doing
        assert all(name.endswith(":tls") for name in scenario.database.cluster.state.coordinators)
        assert voter not in scenario.coordinators()
        assert await scenario.excluded() == []
        assert scenario.short == 0
        scenario.check()


async def test_certificates_are_renewed_without_a_restart() -> None:
    with Scenario(security=SHORT).logged() as scenario:
        await scenario.begin()
        uids, before = scenario.pods(), {name: files(scenario, name) for name in ("tls", "client-tls", "ca")}
        for _ in range(15):
            await asyncio.sleep(300.0)
            assert sound(scenario)
        after = {name: files(scenario, name) for name in before}
        assert after["tls"]["tls.crt"] != before["tls"]["tls.crt"]
        assert after["client-tls"]["tls.crt"] != before["client-tls"]["tls.crt"]
        assert after["ca"] == before["ca"]
        assert scenario.pods() == uids
        assert scenario.unavailable == 0
        scenario.check()


@pytest.mark.parametrize("security", [None, ON], ids=["plain", "TLS"])
async def test_switching_it_is_refused_and_all_else_continues(security: dict[str, bool] | None) -> None:
    with (Scenario(security=security) if security else Scenario()).logged() as scenario:
        await scenario.begin()
        uids = scenario.pods()
        assert scenario.database.cluster is not None
        was = scenario.database.cluster.state.coordinators
        scenario.edit(security={"enabled": not security})
        assert await scenario.until(lambda: "SecurityFixed" in scenario.doing, 600.0), scenario.doing
        await asyncio.sleep(600.0)
        assert scenario.pods() == uids
        assert scenario.database.cluster.state.coordinators == was
        scenario.edit(pools=pools(storage=6))
        assert await scenario.until(lambda: len(scenario.members()) == 13, 3600.0), scenario.doing
        scenario.edit(security=security)
        assert await scenario.settled(), scenario.doing
        assert "SecurityFixed" not in scenario.doing
        assert len(scenario.members()) == 13
        scenario.check()


async def test_a_status_that_is_lost_does_not_change_what_it_runs_with() -> None:
    with Scenario(security=ON).logged() as scenario:
        await scenario.begin()
        scenario.process.kill()
        uids = scenario.pods()
        found = scenario.world.store.get(KIND, Key(NAMESPACE, NAME))
        assert found is not None
        scenario.world.context.change(found, ("status",), {})
        scenario.edit(security=None)
        scenario.process.start()
        assert await scenario.settled(), scenario.doing
        assert scenario.pods() == uids
        assert scenario.status["security"]["enabled"] is True
        scenario.edit(members={"replace": [min(scenario.members())]})
        assert await scenario.settled(), scenario.doing
        assert await scenario.excluded() == []
        assert sound(scenario)
        scenario.check()


async def test_one_of_the_same_name_gets_an_authority_of_its_own() -> None:
    gone = {"whenDeleted": "Delete"}
    with Scenario(security=ON, volumes=gone).logged() as scenario:
        await scenario.begin()
        first = files(scenario, "ca")["tls.crt"]
        scenario.process.kill()
        found = scenario.world.store.get(KIND, Key(NAMESPACE, NAME))
        assert found is not None
        scenario.world.server.delete(KIND, found.key, DeleteOptions(Preconditions(found.uid)))
        assert await scenario.until(lambda: not scenario.members() and not scenario.pods(), 600.0)
        head = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "FoundationDBCluster"}
        meta = {"name": NAME, "namespace": NAMESPACE}
        scenario.world.server.create(KIND, NAMESPACE, {**head, "metadata": meta, "spec": scenario.spec}, "kubectl")
        scenario.process.start()
        assert await scenario.until(lambda: len(scenario.pods()) == 12, 600.0), scenario.doing
        assert files(scenario, "ca")["tls.crt"] != first
        assert sound(scenario)
        assert not scenario.failures

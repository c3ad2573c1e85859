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
from tests.simulation.foundationdb.story import KIND, NAME, Story, pools

pytestmark = pytest.mark.simulation

ON = {"enabled": True}
SHORT = {"enabled": True, "certificateLifetime": "1h"}


def files(story: Story, name: str) -> dict[str, str]:
    """Return the content of a Secret."""
    found = story.world.store.get("/secrets", Key(NAMESPACE, f"{NAME}-{name}"))
    assert found is not None, name
    return {key: base64.b64decode(text).decode() for key, text in found.doc["data"].items()}


def sound(story: Story) -> bool:
    """Return whether every pod sees a certificate that is valid now, and is signed by whom it trusts."""
    now = story.world.ground.clock.now().timestamp()
    seen = [p.container.mounted("tls") for p in story.world.foundations.pods.values() if p.alive]
    return all(pki.ends(each["tls.crt"]) > now and signed(each) for each in seen)


def signed(seen: dict[str, str]) -> bool:
    """Return whether a certificate is signed by an authority that is trusted with it."""
    pair = pki.Pair(seen["tls.crt"], seen["tls.key"])
    found = x509.load_pem_x509_certificate(pair.certificate.encode())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    known = names.get_values_for_type(x509.DNSName)
    return any(pki.fits(pair, pki.Pair(each, ""), known) for each in pki.split(seen["ca.crt"]))


async def test_it_is_made_with_tls_and_members_are_replaced_in_it() -> None:
    with Story(security=ON).told() as story:
        await story.begin()
        assert story.database.cluster is not None
        assert all(name.endswith(":tls") for name in story.database.cluster.state.coordinators)
        assert sound(story)
        assert story.status["security"]["enabled"] is True
        assert story.status["security"]["clientSecretName"] == f"{NAME}-client-tls"
        voter = min(story.coordinators())
        story.edit(members={"replace": [voter]})
        assert await story.until(lambda: voter not in story.members()), story.doing
        story.edit(pools=pools(storage=6))
        assert await story.settled(), story.doing
        assert all(name.endswith(":tls") for name in story.database.cluster.state.coordinators)
        assert voter not in story.coordinators()
        assert await story.excluded() == []
        assert story.short == 0
        story.check()


async def test_certificates_are_renewed_without_a_restart() -> None:
    with Story(security=SHORT).told() as story:
        await story.begin()
        uids, before = story.pods(), {name: files(story, name) for name in ("tls", "client-tls", "ca")}
        for _ in range(15):
            await asyncio.sleep(300.0)
            assert sound(story)
        after = {name: files(story, name) for name in before}
        assert after["tls"]["tls.crt"] != before["tls"]["tls.crt"]
        assert after["client-tls"]["tls.crt"] != before["client-tls"]["tls.crt"]
        assert after["ca"] == before["ca"]
        assert story.pods() == uids
        assert story.unavailable == 0
        story.check()


@pytest.mark.parametrize("security", [None, ON], ids=["plain", "TLS"])
async def test_switching_it_is_refused_and_all_else_goes_on(security: dict[str, bool] | None) -> None:
    with (Story(security=security) if security else Story()).told() as story:
        await story.begin()
        uids = story.pods()
        assert story.database.cluster is not None
        was = story.database.cluster.state.coordinators
        story.edit(security={"enabled": not security})
        assert await story.until(lambda: "SecurityFixed" in story.doing, 600.0), story.doing
        await asyncio.sleep(600.0)
        assert story.pods() == uids
        assert story.database.cluster.state.coordinators == was
        story.edit(pools=pools(storage=6))
        assert await story.until(lambda: len(story.members()) == 13, 3600.0), story.doing
        story.edit(security=security)
        assert await story.settled(), story.doing
        assert "SecurityFixed" not in story.doing
        assert len(story.members()) == 13
        story.check()


async def test_a_status_that_is_lost_does_not_change_what_it_runs_with() -> None:
    with Story(security=ON).told() as story:
        await story.begin()
        story.process.kill()
        uids = story.pods()
        found = story.world.store.get(KIND, Key(NAMESPACE, NAME))
        assert found is not None
        story.world.ground.change(found, ("status",), {})
        story.edit(security=None)
        story.process.start()
        assert await story.settled(), story.doing
        assert story.pods() == uids
        assert story.status["security"]["enabled"] is True
        story.edit(members={"replace": [min(story.members())]})
        assert await story.settled(), story.doing
        assert await story.excluded() == []
        assert sound(story)
        story.check()


async def test_one_of_the_same_name_gets_an_authority_of_its_own() -> None:
    gone = {"onClusterDelete": "Delete"}
    with Story(security=ON, volumes=gone).told() as story:
        await story.begin()
        first = files(story, "ca")["tls.crt"]
        story.process.kill()
        found = story.world.store.get(KIND, Key(NAMESPACE, NAME))
        assert found is not None
        story.world.server.delete(KIND, found.key, DeleteOptions(Preconditions(found.uid)))
        assert await story.until(lambda: not story.members() and not story.pods(), 600.0)
        head = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "FoundationDBCluster"}
        meta = {"name": NAME, "namespace": NAMESPACE}
        story.world.server.create(KIND, NAMESPACE, {**head, "metadata": meta, "spec": story.spec}, "kubectl")
        story.process.start()
        assert await story.until(lambda: len(story.pods()) == 12, 600.0), story.doing
        assert files(story, "ca")["tls.crt"] != first
        assert sound(story)
        assert not story.failures

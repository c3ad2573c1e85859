"""The webhook's certificate: one for all operators, renewed before its end, never trusted by surprise."""

import asyncio
import ssl
from base64 import b64decode, b64encode
from typing import Any

import pytest

from stateward.kube.objects.metadata import Key
from stateward.operator.admission.keys import SERVICE, YEARS, keys, made, readable
from stateward.operator.admission.registration import CONFIGURATION, CONFIGURATIONS, register
from stateward.pki import Pair, fits
from tests.unit.kube.memory_api import MemoryApi

NOW = 1_800_000_000.0
LIFE = YEARS * 365 * 86400


async def test_it_is_made_once_and_found_by_all() -> None:
    api = MemoryApi()
    first = await keys(api, "ops", NOW)
    assert await keys(api, "ops", NOW + 3600) == first
    assert api.verbs("secrets").count("create") == 1
    names = [f"{SERVICE}.ops.svc", f"{SERVICE}.ops.svc.cluster.local"]
    assert fits(first.shown, Pair(first.trusted, ""), names)


async def test_operators_that_start_together_agree() -> None:
    api = MemoryApi()
    found = await asyncio.gather(*(keys(api, "ops", NOW) for _ in range(3)))
    assert found[0] == found[1] == found[2]


async def test_it_is_renewed_before_its_end_and_the_one_before_stays_trusted() -> None:
    api = MemoryApi()
    first = await keys(api, "ops", NOW)
    second = await keys(api, "ops", NOW + 0.8 * LIFE)
    assert second.shown != first.shown
    assert second.trusted.endswith(first.trusted)
    third = await keys(api, "ops", NOW + 1.6 * LIFE)
    assert third.trusted.count("BEGIN CERTIFICATE") == 2
    assert first.trusted not in third.trusted


async def test_what_a_user_has_broken_is_recreated() -> None:
    api = MemoryApi()
    await keys(api, "ops", NOW)
    stored = api.objects["secrets", Key("ops", SERVICE)]
    for name in stored["data"]:
        stored["data"][name] = b64encode(b"nonsense").decode()
    assert readable(stored) is None
    found = await keys(api, "ops", NOW)
    assert readable(api.objects["secrets", Key("ops", SERVICE)]) == found


async def test_what_others_have_put_into_the_secret_beside_it_changes_nothing() -> None:
    """A program that copies Secrets adds files of its own: a certificate a look would be made, and never one shown."""
    api = MemoryApi()
    first = await keys(api, "ops", NOW)
    api.objects["secrets", Key("ops", SERVICE)]["data"]["keystore.jks"] = b64encode(b"\xfe\xed").decode()
    assert await keys(api, "ops", NOW) == first


@pytest.mark.parametrize("name", ["tls.crt", "tls.key", "ca.crt"])
@pytest.mark.parametrize("content", [b"nonsense", b"\xff", made("ops", NOW).shown.key.encode()])
async def test_what_cannot_be_shown_is_recreated(name: str, content: bytes) -> None:
    api = MemoryApi()
    await keys(api, "ops", NOW)
    api.objects["secrets", Key("ops", SERVICE)]["data"][name] = b64encode(content).decode()
    found = await keys(api, "ops", NOW)
    assert fits(found.shown, Pair(found.trusted, ""), [f"{SERVICE}.ops.svc", f"{SERVICE}.ops.svc.cluster.local"])
    ssl.create_default_context(cadata=found.trusted)


class Patched(MemoryApi):
    """A server with a configuration, which takes the patch that is made for it."""

    def __init__(self) -> None:
        super().__init__()
        self.patches: list[Any] = []
        self.found: dict[str, Any] = {
            "metadata": {"name": CONFIGURATION, "resourceVersion": "7"},
            "webhooks": [{"name": "clusters.stateward.dev", "clientConfig": {"service": {"name": SERVICE}}}],
        }

    async def get(self, resource: Any, key: Key) -> Any:
        return self.found if resource is CONFIGURATIONS else await super().get(resource, key)

    async def patch(self, resource: Any, key: Key, body: Any, *, kind: Any, subresource: str = "") -> Any:
        if resource is not CONFIGURATIONS:
            return await super().patch(resource, key, body, kind=kind, subresource=subresource)
        self.patches.append(body)
        self.found["webhooks"][0]["clientConfig"]["caBundle"] = body[-1]["value"]
        return self.found


async def test_the_api_server_gets_the_authority_to_trust_and_only_when_it_is_new() -> None:
    api = Patched()
    trusted = made("ops", NOW).trusted
    assert await register(api, trusted)
    assert not await register(api, trusted)
    ((pinned, added),) = api.patches
    assert pinned == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
    assert b64decode(added["value"]).decode() == trusted

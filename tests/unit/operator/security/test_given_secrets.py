"""Secrets that users give: read again after half a minute, and kept when they cannot be read."""

import pytest

from stateward.kube.objects.errors import ApiError, Unavailable
from stateward.kube.objects.metadata import Key
from stateward.operator.security.credentials import RAW_SECRETS
from stateward.operator.security.given_secrets import LOOK_AGAIN, GivenSecrets
from tests.unit.engines.search_clusters import cluster
from tests.unit.kube.memory_api import MemoryApi
from tests.unit.operator.security.test_credentials import Time

KEY = Key("prod", "own-ca")


async def test_a_secret_is_read_again_when_it_is_half_a_minute_old_and_kept_when_it_is_unreadable() -> None:
    api, time = MemoryApi(latency=0), Time()
    given = GivenSecrets(api, time, labelled=False)
    await api.create(
        RAW_SECRETS, {"metadata": {"name": KEY.name}, "data": {"tls.crt": "b25l"}}, namespace=KEY.namespace
    )
    assert await given.read(KEY, cluster()) == {"tls.crt": "one"}
    api.objects["secrets", KEY]["data"] = {"tls.crt": "dHdv"}
    time.later((LOOK_AGAIN - 1) / 86_400)
    assert await given.read(KEY, cluster()) == {"tls.crt": "one"}
    time.later(2 / 86_400)
    assert await given.read(KEY, cluster()) == {"tls.crt": "two"}
    api.before = lambda _verb, _key: Unavailable("not now")
    time.later(1)
    assert await given.read(KEY, cluster()) == {"tls.crt": "two"}


async def test_a_secret_is_read_again_after_the_clock_was_set_back() -> None:
    api, time = MemoryApi(latency=0), Time()
    given = GivenSecrets(api, time, labelled=False)
    body = {"metadata": {"name": KEY.name}, "data": {"tls.crt": "b25l"}}
    await api.create(RAW_SECRETS, body, namespace=KEY.namespace)
    assert await given.read(KEY, cluster()) == {"tls.crt": "one"}
    api.objects["secrets", KEY]["data"] = {"tls.crt": "dHdv"}
    time.later(-1)
    assert await given.read(KEY, cluster()) == {"tls.crt": "two"}


async def test_a_secret_that_was_never_read_is_unknown() -> None:
    api = MemoryApi(latency=0)
    api.before = lambda _verb, _key: Unavailable("not now")
    with pytest.raises(ApiError):
        await GivenSecrets(api, Time(), labelled=False).read(KEY, cluster())


async def test_a_secret_that_is_not_allowed_and_then_cannot_be_read_is_still_not_allowed() -> None:
    """It is not absent: members would lose an administrator that they know."""
    api, time = MemoryApi(latency=0), Time()
    given = GivenSecrets(api, time, labelled=True)
    body = {"metadata": {"name": KEY.name}, "data": {"tls.crt": "b25l"}}
    await api.create(RAW_SECRETS, body, namespace=KEY.namespace)
    assert await given.read(KEY, cluster()) == {}
    api.before = lambda _verb, _key: Unavailable("not now")
    time.later(1)
    assert await given.read(KEY, cluster()) == {}
    assert given.denied(KEY.name, cluster())

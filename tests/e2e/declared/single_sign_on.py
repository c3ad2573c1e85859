"""Single sign-on in end-to-end tests: people log in at a provider of OpenID Connect or SAML, and come to the database.

The provider is real, in a pod. The test is the person's browser, and OpenSearch Dashboards, which the database expects
between them.
"""

import re
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp

from sandbox import Sandbox
from tests.e2e.beside import Server
from tests.e2e.declared.objects import SearchObjects, applied
from tests.e2e.secured import Client

_PORT = 8001
_DASHBOARDS = "http://dashboards.example.com"
_CALLBACK = f"{_DASHBOARDS}/callback"
_CONSUMER = f"{_DASHBOARDS}/_opendistro/_security/saml/acs"
_PERSON = {"username": "anna", "password": "the-password-of-anna"}
_GROUPS = "urn:oid:1.3.6.1.4.1.5923.1.1.1.1"
"""The attribute of a SAML assertion that has the groups of a person."""
_NAME = "urn:oid:0.9.2342.19200300.100.1.1"
_METADATA = f"""
<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="dashboards">
  <SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <AssertionConsumerService index="1" Location="{_CONSUMER}"
      Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"/>
  </SPSSODescriptor>
</EntityDescriptor>
"""


@dataclass
class Browser:
    """The browser of a person that is not logged in, with the provider at `local` instead of at `place`."""

    session: aiohttp.ClientSession
    place: str
    local: str

    async def open(self, url: str, form: dict[str, str] | None = None) -> aiohttp.ClientResponse:
        """Open a page of the provider or send a form to it, and follow no redirect."""
        address = self.local + url.removeprefix(f"http://{self.place}")
        method = "GET" if form is None else "POST"
        answer = await self.session.request(
            method, address, data=form, headers={"Host": self.place}, allow_redirects=False
        )
        assert answer.status < 400, await answer.text()
        return answer


@asynccontextmanager
async def provider(sandbox: Sandbox, namespace: str) -> AsyncGenerator[Browser]:
    """Run the provider, and give a browser."""
    start = f"exec identity -listen :{_PORT} -host identity.{namespace}.svc:{_PORT} -callback {_CALLBACK}"
    server = Server(sandbox, namespace, "identity", "stateward.dev/identity:1", _PORT, start, {})
    await server.up()
    with sandbox.relay(f"identity.{namespace}.svc", _PORT) as port:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            yield Browser(session, server.address, f"http://127.0.0.1:{port}")


async def people_sign_on(sandbox: Sandbox, objects: SearchObjects, person: Client) -> None:
    """Require that declared domains let a person in that has logged in at a provider, and no other."""
    async with provider(sandbox, objects.clusters.namespace) as browser:
        await declare(objects, {"openid": _openid(f"http://{browser.place}")})
        await by_openid(browser, person)
        saml = {
            "basic_internal_auth_domain": {"http_authenticator": {"challenge": False}},
            "saml": _saml(browser.place),
        }
        await declare(objects, saml)
        await by_saml(browser, person)
    assert (await person.ask("_plugins/_security/authinfo"))[0] == 200


async def declare(objects: SearchObjects, domains: dict[str, Any]) -> None:
    """Declare domains of the authentication, and wait until the database has them."""
    body = {"dynamic": {"authc": domains}}
    await objects.declare("authentication", "authentication", body, existing="Merge", deletionPolicy="Retain")
    await objects.until("authentication", applied)


def _openid(issuer: str) -> dict[str, Any]:
    config = {
        "openid_connect_url": f"{issuer}/.well-known/openid-configuration",
        "required_issuer": issuer,
        "required_audience": "dashboards",
        "subject_key": "sub",
    }
    return {
        "http_enabled": True,
        "transport_enabled": True,
        "order": 1,  # Before the domain of the passwords, which challenges and is the last one for other requests.
        "http_authenticator": {"type": "openid", "challenge": False, "config": config},
        "authentication_backend": {"type": "noop", "config": {}},
    }


def _saml(place: str) -> dict[str, Any]:
    metadata = f"http://{place}/saml/metadata"
    config = {
        "idp": {"metadata_url": metadata, "entity_id": metadata},
        "sp": {"entity_id": "dashboards"},
        "kibana_url": _DASHBOARDS,
        "subject_key": _NAME,
        "roles_key": _GROUPS,
        "exchange_key": b64encode(b"a key of the test for tokens: it has more than sixty-four characters").decode(),
    }
    return {
        "http_enabled": True,
        "transport_enabled": False,
        "order": 9,
        "http_authenticator": {"type": "saml", "challenge": True, "config": config},
        "authentication_backend": {"type": "noop", "config": {}},
    }


async def by_openid(browser: Browser, person: Client) -> None:
    """Log in with a code of OpenID Connect."""
    query = f"client_id=dashboards&redirect_uri={_CALLBACK}&response_type=code&scope=openid&state=one"
    login = (await browser.open(f"/auth?{query}")).headers["Location"]
    number = parse_qs(urlsplit(login).query)["authRequestID"][0]
    wrong = await browser.open("/login/username", {**_PERSON, "password": "another", "id": number})
    assert wrong.status == 200
    after = await browser.open("/login/username", {**_PERSON, "id": number})
    back = (await browser.open(after.headers["Location"])).headers["Location"]
    assert back.startswith(_CALLBACK)
    code = parse_qs(urlsplit(back).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": _CALLBACK}
    client = {"client_id": "dashboards", "client_secret": "secret"}
    tokens = await (await browser.open("/oauth/token", form | client)).json()
    token: str = tokens["id_token"]
    status, found = await as_bearer(person, token).ask("_plugins/_security/authinfo")
    assert status == 200, found
    assert found["user_name"] == "anna"
    forged = token[:-8] + ("AAAAAAAA" if token[-8:] != "AAAAAAAA" else "BBBBBBBB")
    assert (await as_bearer(person, forged).ask("_plugins/_security/authinfo"))[0] == 401


async def by_saml(browser: Browser, person: Client) -> None:
    """Log in with a signed assertion of SAML, which the database exchanges for a token of its own."""
    await registered(browser)
    challenge = await challenged(person)
    request, number = challenge["location"], challenge["requestId"]
    page = await (await browser.open(request)).text()
    fields = {"SAMLRequest": field(page, "SAMLRequest"), "RelayState": field(page, "RelayState")}
    login = {"user": _PERSON["username"], "password": _PERSON["password"]}
    signed = field(await (await browser.open("/saml/sso", fields | login)).text(), "SAMLResponse")
    answer = {"SAMLResponse": signed, "RequestId": number, "acsEndpoint": _CONSUMER}
    stranger = replace(person, headers={})
    status, token = await stranger.ask("_plugins/_security/api/authtoken", "POST", answer)
    assert status == 200, token
    known = replace(person, headers={"Authorization": token["authorization"]})
    status, found = await known.ask("_plugins/_security/authinfo")
    assert (status, found["user_name"], found["backend_roles"]) == (200, "anna", ["orders"])
    again = {**answer, "RequestId": "ONELOGIN_another-request"}
    assert (await stranger.ask("_plugins/_security/api/authtoken", "POST", again))[0] == 401


async def registered(browser: Browser) -> None:
    """Tell the provider of SAML who asks it."""
    url = f"{browser.local}/saml/services/dashboards"
    async with browser.session.put(url, data=_METADATA.strip(), headers={"Host": browser.place}) as answer:
        assert answer.status < 300, await answer.text()


async def challenged(person: Client) -> dict[str, str]:
    """Return where the database sends a person that is not logged in, and the number of the request."""
    async with person.session.get(
        f"{person.url}/_plugins/_security/authinfo?auth_type=saml", ssl=person.trust, server_hostname=person.name
    ) as answer:
        assert answer.status == 401
        return dict(re.findall(r'(\w+)="([^"]*)"', answer.headers["WWW-Authenticate"]))


def as_bearer(person: Client, token: str) -> Client:
    """Return a client with a token instead of a password."""
    return replace(person, headers={"Authorization": f"Bearer {token}"})


def field(page: str, name: str) -> str:
    """Return the value of a hidden field of a form."""
    found = re.search(rf'name="{name}"[^>]*value="([^"]*)"', page)
    assert found is not None, page
    return unescape(found[1])

"""Authentication and audit in end-to-end tests: tokens and people of a directory, accepted without a restart."""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import replace
from typing import Any

import aiohttp

from sandbox import Sandbox
from stateward.api.values.names import LABEL_ALLOWED
from stateward.kube.objects.resources import SECRETS
from tests.e2e.beside import Server
from tests.e2e.clusters import Clusters
from tests.e2e.declared.objects import SearchObjects, applied
from tests.e2e.secured import Client

CHANGEABLE = {"plugins.security.unsupported.restapi.allow_securityconfig_modification": True}
"""Without this setting the security plugin refuses changes of its authentication."""
_KEY = hashlib.sha256(b"the key of the test").digest()
_DOMAIN = "/dynamic/authc/tokens"
_TOKENS: dict[str, Any] = {
    "http_enabled": True,
    "transport_enabled": True,
    "order": 0,
    "http_authenticator": {
        "type": "jwt",
        "challenge": False,
        "config": {"jwt_header": "Authorization", "subject_key": "sub", "roles_key": "roles"},
    },
    "authentication_backend": {"type": "noop", "config": {}},
}

_PORT = 1389
_START = (
    "mkdir -p /var/lib/people && slapadd -f /etc/ldap/people.conf -l /etc/ldap/people.ldif"
    f" && exec slapd -d 0 -f /etc/ldap/people.conf -h ldap://:{_PORT}/"
)


def token(subject: str, key: bytes = _KEY) -> str:
    """Return a signed token of a subject that is an administrator."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": subject, "roles": "admin", "exp": int(time.time()) + 600})
    head = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
    return f"{head}.{_encoded(hmac.new(key, head.encode(), hashlib.sha256).digest())}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def tokens_are_accepted(clusters: Clusters, objects: SearchObjects, person: Client) -> None:
    """Require that a declared domain lets tokens in, that others stay out, and that passwords go on to be accepted."""
    bearer = replace(person, headers={"Authorization": f"Bearer {token('robot')}"})
    assert (await bearer.ask("_plugins/_security/authinfo"))[0] == 401
    meta = {"name": "tokens", "namespace": clusters.namespace, "labels": {LABEL_ALLOWED: objects.cluster}}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
    key = base64.b64encode(base64.b64encode(_KEY)).decode()
    await clusters.api.create(SECRETS.raw(), {**body, "data": {"key": key}}, namespace=clusters.namespace)
    await objects.declare(
        "authentication",
        "authentication",
        {"dynamic": {"authc": {"tokens": _TOKENS}}},
        values=[
            {
                "path": f"{_DOMAIN}/http_authenticator/config/signing_key",
                "secretName": "tokens",
                "key": "key",
            }
        ],
        existing="Merge",
        deletionPolicy="Retain",
    )
    await objects.until("authentication", applied)
    status, known = await bearer.ask("_plugins/_security/authinfo")
    assert (status, known["user_name"]) == (200, "robot")
    forged = token("robot", b"another key of thirty-two bytes.")
    stranger = replace(person, headers={"Authorization": f"Bearer {forged}"})
    assert (await stranger.ask("_plugins/_security/authinfo"))[0] == 401
    assert (await person.ask("_plugins/_security/authinfo"))[0] == 200

    audited = {"enabled": True, "audit": {"ignore_users": ["robot"], "enable_rest": True}}
    await objects.declare("audit", "audit", audited, existing="Merge", deletionPolicy="Retain")
    await objects.until("audit", applied)
    _, found = await person.ask("_plugins/_security/api/audit")
    assert found["config"]["audit"]["ignore_users"] == ["robot"]
    assert found["config"]["compliance"], "what is not declared stays"


async def directory(sandbox: Sandbox, namespace: str) -> Server:
    """Start an LDAP server with people and groups, and write the Secret `directory` for clusters."""
    server = Server(sandbox, namespace, "ldap", "stateward.dev/slapd:1", _PORT, _START, {})
    await server.up()
    server.credentials("directory", {"password": "the-password-of-search"})
    return server


async def people_of_a_directory_are_accepted(sandbox: Sandbox, objects: SearchObjects, person: Client) -> None:
    """Require that a declared domain lets people of an LDAP server in, with their groups, and others not."""
    server = await directory(sandbox, objects.clusters.namespace)
    known, wrong = with_password(person, "the-password-of-anna"), with_password(person, "another")
    assert (await known.ask("_plugins/_security/authinfo"))[0] == 401
    place = {"hosts": [server.address], "enable_ssl": False, "bind_dn": "cn=search,dc=example,dc=com"}
    people = {"userbase": "ou=people,dc=example,dc=com", "usersearch": "(uid={0})", "username_attribute": "uid"}
    groups = {"rolebase": "ou=groups,dc=example,dc=com", "rolesearch": "(member={0})", "rolename": "cn"}
    login = {
        "http_enabled": True,
        "transport_enabled": True,
        "order": 7,
        "http_authenticator": {"type": "basic", "challenge": False},
        "authentication_backend": {"type": "ldap", "config": {**place, **people}},
    }
    rights = {
        "http_enabled": True,
        "transport_enabled": True,
        "authorization_backend": {"type": "ldap", "config": {**place, **people, **groups}},
    }
    places = ("authc/directory/authentication_backend", "authz/directory/authorization_backend")
    await objects.declare(
        "authentication",
        "authentication",
        {"dynamic": {"authc": {"directory": login}, "authz": {"directory": rights}}},
        values=[
            {"path": f"/dynamic/{each}/config/password", "secretName": "directory", "key": "password"}
            for each in places
        ],
        existing="Merge",
        deletionPolicy="Retain",
    )
    await objects.until("authentication", applied)
    status, found = await known.ask("_plugins/_security/authinfo")
    assert (status, found["user_name"], found["backend_roles"]) == (200, "anna", ["orders"])
    assert (await wrong.ask("_plugins/_security/authinfo"))[0] == 401
    assert (await person.ask("_plugins/_security/authinfo"))[0] == 200


def with_password(person: Client, password: str) -> Client:
    """Return a client of the person of the directory, with this password."""
    return replace(person, headers={"Authorization": aiohttp.encode_basic_auth("anna", password)})

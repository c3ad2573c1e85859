"""How the dashboards log in to the database: a user in OpenSearch, a token of a service account in Elasticsearch.

The state is the Secret with keys and credentials. A password is in it before the database has it, and is used once the
database has taken it. A token comes from the database, and its name is in the Secret before: one whose answer was lost
is deleted and made again. So a Secret without any of them says that the database has none; a lost one says nothing.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from stateward.api.values.base import Json
from stateward.api.values.duration import stored_time

USER = "kibanaserver"
"""The user that OpenSearch's security plug-in knows as the server of the dashboards."""
USER_PATH = f"/_plugins/_security/api/internalusers/{USER}"
MARK = "stateward-cluster"
"""Attribute of the user: the cluster that it was made for, as `NAMESPACE/NAME`.

Not its UID: a cluster that is made again on its kept volumes takes over what its database has.
"""
ROLE = "kibana_server"
ACCOUNT = "/_security/service/elastic/kibana/credential"

SESSION_KEY, OBJECTS_KEY, REPORTING_KEY = "session-key", "objects-key", "reporting-key"
KEYS = (SESSION_KEY, OBJECTS_KEY, REPORTING_KEY)
PASSWORD, NEXT_PASSWORD = "password", "next-password"
TOKEN, TOKEN_NAME = "token", "token-name"
NEXT_TOKEN, OLD_TOKEN = "next-token-name", "previous-token-name"
MADE = "made-time"
LONGEST_NUMBER = 9
"""Digits of the number in the name of a token."""
CERTIFICATE, KEY = "tls.crt", "tls.key"
CREDENTIALS = (PASSWORD, NEXT_PASSWORD, TOKEN, TOKEN_NAME, NEXT_TOKEN, OLD_TOKEN, MADE)

Texts = Mapping[str, str]


@dataclass(frozen=True)
class Due:
    """Whether other credentials are due at a time, in seconds since the epoch."""

    lifetime: float | None
    """Seconds; None: they are not rotated."""
    now: float

    def of(self, stored: Texts) -> bool:
        """Return whether the stored credentials are as old as they may become."""
        made = stored_time(stored.get(MADE, ""))
        return self.lifetime is not None and made is not None and self.now >= made + self.lifetime


def user_body(password: str, owner: str) -> Json:
    """Return the user for this cluster, as the database wants it written."""
    return {"password": password, "opendistro_security_roles": [ROLE], "attributes": {MARK: owner}}


def is_ours(user: Json, owner: str) -> bool:
    """Return whether a stored user was made for this cluster."""
    attributes = cast("Json | None", user.get("attributes"))
    return (attributes or {}).get(MARK) == owner


def token_path(name: str) -> str:
    """Return the path of a token."""
    return f"{ACCOUNT}/token/{name}"


def token_prefix(owner: str) -> str:
    """Return what the names of a cluster's tokens begin with: they may have no slash."""
    return f"stateward-{hashlib.sha256(owner.encode()).hexdigest()[:8]}-"


def next_token(stored: Texts, owner: str) -> str:
    """Return the name of the next token, another one than the stored one."""
    prefix, last = token_prefix(owner), stored.get(TOKEN_NAME, "")
    number = last.removeprefix(prefix) if last.startswith(prefix) else ""
    usual = number.isascii() and number.isdecimal() and len(number) <= LONGEST_NUMBER
    return f"{prefix}{int(number) + 1 if usual else 1}"


def has_credentials(stored: Texts) -> bool:
    """Return whether the database may have something that was made for the dashboards."""
    return any(name in stored for name in CREDENTIALS)


def without_credentials(stored: Texts) -> Texts:
    """Return the content without what logs in: the keys stay, for what they have encrypted."""
    return {name: text for name, text in stored.items() if name not in CREDENTIALS}

"""How Elasticsearch secures itself: TLS on both layers, and two users in files, of which the operator is one.

Certificates prove no user here without a paid license, so the operator has a password, and people's first administrator
has one, too. Both users are in files that the database reads again when they change, not in an index: they get in also
while the cluster has no quorum. What the kubelet and the agent ask, they ask as nobody: a role in a file lets nobody
count the documents of indices that don't exist, and nothing else. Measured on Elasticsearch 7.17 and 8.19.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any

from stateward.engines.search.spec.probes import Question

OPERATOR = "stateward-operator"
"""Name of the operator's user."""
USERS, MEMBERSHIPS = "users", "users_roles"
"""Files with the users and their roles; they come with the certificates, and follow them."""
ROLES_FILE = "roles.yml"
NAME = r"[A-Za-z0-9_.@-]{1,255}"
"""Grammar of a user's name: each is a line of a file, in which a colon or the end of a line means something."""
ROUNDS = 10_000
"""The database's own number of rounds for PBKDF2; the passwords that we make are too long to be guessed with any."""
SALT = 32
"""Bytes of a salt, as many as the database takes itself."""
_SCHEME = "{PBKDF2}"

QUESTION = Question("/_security/_authenticate", scheme="https")

ROLES = """stateward_probe:
  indices:
    - names: ["stateward-readiness-*"]
      privileges: ["read"]
"""


def settings(folder: str) -> dict[str, Any]:
    """Return the settings of a secured member, whose certificates are in a folder of its configuration."""
    return {
        "xpack.security.enabled": True,
        **_layer("transport", folder, "tls"),
        **_layer("http", folder, "http"),
        # Addresses of pods are used again and have no lasting names; clients verify the name of the Service.
        "xpack.security.transport.ssl.verification_mode": "certificate",
        "xpack.security.authc.anonymous.username": "stateward-probe",
        "xpack.security.authc.anonymous.roles": "stateward_probe",
        # Whoever forgets the password is asked for it.
        "xpack.security.authc.anonymous.authz_exception": False,
    }


def usable(name: str) -> bool:
    """Return whether an administrator may have a name: one that can stand in a file, and not the operator's."""
    return re.fullmatch(NAME, name) is not None and name != OPERATOR


def users(people: Mapping[str, str], before: str, salt: Callable[[], bytes], *, others: bool = False) -> dict[str, str]:
    """Return the files of users who may do everything, from their passwords by name.

    `before` is the file of users that there is: what proves a password in it stays, so that nothing that is good is
    written again; with `others`, so do users whose passwords are not known here. `salt` returns other random bytes with
    each call.
    """
    known = dict(each.split(":", 1) for each in before.splitlines() if ":" in each)
    kept = {
        name: known[name] if _sound(known.get(name, ""), name, password) else digest(password, salt())
        for name, password in sorted(people.items())
    }
    kept |= {name: each for name, each in known.items() if others and name not in people}
    lines = "".join(f"{name}:{each}\n" for name, each in sorted(kept.items()))
    return {USERS: lines, MEMBERSHIPS: f"superuser:{','.join(sorted(kept))}\n"}


def digest(password: str, salt: bytes) -> str:
    """Return a password as the database keeps it."""
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ROUNDS, 32)
    return f"{_SCHEME}{ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def _sound(kept: str, name: str, password: str) -> bool:
    """Return whether a digest proves a password, and nothing shorter than all the rounds does.

    Salts were once derived from name and password: with such a salt one SHA-256 tells whether a guess is right.
    """
    scheme, _, rest = kept.partition("$")
    if scheme != f"{_SCHEME}{ROUNDS}":
        return False
    try:
        salt = base64.b64decode(rest.partition("$")[0], validate=True)
    except ValueError:
        return False
    if len(salt) != SALT or salt == hashlib.sha256(f"{name}\n{password}".encode()).digest():
        return False
    return hmac.compare_digest(digest(password, salt).encode(), kept.encode())


def _layer(layer: str, folder: str, pair: str) -> dict[str, Any]:
    prefix = f"xpack.security.{layer}.ssl"
    return {
        f"{prefix}.enabled": True,
        f"{prefix}.certificate": f"{folder}/{pair}.crt",
        f"{prefix}.key": f"{folder}/{pair}.key",
        f"{prefix}.certificate_authorities": [f"{folder}/ca.crt"],
    }

"""Security of Elasticsearch: TLS on both layers, and users in files, including the operator.

Client certificates authenticate no user without a paid license, so the operator and the first administrator have
passwords. Their users are in files that the database reloads on change, not in an index: they can log in also while the
cluster has no quorum. The requests of the kubelet and the agent are anonymous: a role in a file allows anonymous
callers to count the documents of indices that don't exist, and nothing else. Measured on Elasticsearch 7.17 and 8.19.
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
"""Files with the users and their roles. They are in the Secret of the certificates and follow its updates."""
ROLES_FILE = "roles.yml"
NAME = r"[A-Za-z0-9_.@-]{1,255}"
"""Grammar of a user name: each is one line of a file, in which colons and line ends are syntax."""
ROUNDS = 10_000
"""The database's default number of PBKDF2 rounds; generated passwords are too long to guess at any number."""
SALT = 32
"""Bytes of a salt, the database's own default."""
_SCHEME = "{PBKDF2}"
_SOUND: dict[str, bytes] = {}
"""By digest, a mark of the password that it was found to verify: each look at a cluster verifies two, and one takes ten
milliseconds. The marks are no passwords, and not written anywhere.
"""
_MOST = 4096
"""How many of them are kept."""

QUESTION = Question("/_security/_authenticate", scheme="https")

ROLES = """stateward_probe:
  indices:
    - names: ["stateward-readiness-*"]
      privileges: ["read"]
"""


def settings(folder: str) -> dict[str, Any]:
    """Return the settings of a secured member; `folder` holds its certificates, relative to the configuration."""
    return {
        "xpack.security.enabled": True,
        **_layer("transport", folder, "tls"),
        **_layer("http", folder, "http"),
        # Pod addresses are reused and have no lasting names; clients verify the name of the Service.
        "xpack.security.transport.ssl.verification_mode": "certificate",
        "xpack.security.authc.anonymous.username": "stateward-probe",
        "xpack.security.authc.anonymous.roles": "stateward_probe",
        # A refused anonymous request gets 401 and not 403, so that clients prompt for credentials.
        "xpack.security.authc.anonymous.authz_exception": False,
    }


def usable(name: str) -> bool:
    """Return whether a name is valid for an administrator: valid in the file, and not the operator's."""
    return re.fullmatch(NAME, name) is not None and name != OPERATOR


def user_files(
    people: Mapping[str, str], before: str, salt: Callable[[], bytes], *, others: bool = False
) -> dict[str, str]:
    """Return the files of superusers from their passwords by name.

    `before` is the existing users file: valid digests in it stay, so that nothing is rewritten without need. With
    `others`, users without a password in `people` stay too. `salt` returns other random bytes with each call.
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
    """Return the digest of a password in the database's format."""
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ROUNDS, 32)
    return f"{_SCHEME}{ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def _sound(kept: str, name: str, password: str) -> bool:
    """Return whether a digest verifies a password, and has the current rounds and a random salt.

    Earlier salts were derived from name and password: such a salt verifies a guess with one SHA-256.
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
    mark = hashlib.sha256(salt + password.encode()).digest()
    if hmac.compare_digest(_SOUND.get(kept, b""), mark):
        return True
    sound = hmac.compare_digest(digest(password, salt).encode(), kept.encode())
    if sound:
        while len(_SOUND) >= _MOST:
            del _SOUND[next(iter(_SOUND))]
        _SOUND[kept] = mark
    return sound


def _layer(layer: str, folder: str, pair: str) -> dict[str, Any]:
    prefix = f"xpack.security.{layer}.ssl"
    return {
        f"{prefix}.enabled": True,
        f"{prefix}.certificate": f"{folder}/{pair}.crt",
        f"{prefix}.key": f"{folder}/{pair}.key",
        f"{prefix}.certificate_authorities": [f"{folder}/ca.crt"],
    }

"""Security in the spec and in the status: access to the database, and its certificates.

Secrets are named here and never contained: no password and no key is ever part of a custom resource.
"""

import re
from typing import Annotated

from msgspec import Meta

from stateward.api.values.base import Record

LIFETIME = r"^([1-9][0-9]{0,5})(m|h|d)$"
"""Grammar of a lifetime: whole minutes, hours or days."""
Lifetime = Annotated[
    str,
    Meta(
        pattern=LIFETIME,
        max_length=8,
        extra={"accepts": "must be whole minutes, hours or days, for example 90d or 12h"},
    ),
]
SHORTEST_LIFETIME = 300
"""Seconds. A renewed certificate takes up to two minutes to reach a pod, and renewal begins at two thirds."""
DEFAULT_LIFETIME = 90 * 86400
"""Seconds that a certificate of a member or a client is valid."""

_SECONDS = {"m": 60, "h": 3600, "d": 86400}

SecretName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        max_length=253,
        extra={"accepts": "must be the name of a Secret in the namespace of the cluster"},
    ),
]


class HttpSecurity(Record):
    """What clients see of the database."""

    secret_name: Annotated[
        SecretName | None,
        Meta(
            description="Secret with a certificate for clients (tls.crt, tls.key and ca.crt, as cert-manager"
            " writes them), valid for <cluster>.<namespace>.svc. Default: a certificate of the"
            " cluster's CA."
        ),
    ] = None


class Security(Record):
    """Access to the database, and its certificates."""

    enabled: Annotated[
        bool | None,
        Meta(
            description="TLS between members and for clients, and users with passwords. Not set: unchanged for an"
            " existing cluster; on for a new one if its image supports it, unless the operator was"
            " installed with --no-secure-new-clusters. Switching it restarts all members together."
        ),
    ] = None
    ca_secret_name: Annotated[
        SecretName | None,
        Meta(
            description="Secret with the certificate and key of a CA (tls.crt and tls.key, as cert-manager writes"
            " them for a CA) that signs the certificates. Default: Stateward creates a CA for the"
            " cluster."
        ),
    ] = None
    admin_secret_name: Annotated[
        SecretName | None,
        Meta(
            description="Secret with username and password of the first administrator. Default: Stateward creates"
            " one with a random password. It is used once: passwords changed in the database stay."
        ),
    ] = None
    certificate_lifetime: Annotated[
        Lifetime | None,
        Meta(
            description="How long the certificates of members and clients are valid. Default: 90d. They are"
            " renewed after two thirds of that time."
        ),
    ] = None
    http: Annotated[HttpSecurity | None, Meta(description="The certificate that the database shows to clients.")] = None


class TransportSecurity(Record):
    """By which certificates processes and clients of a database know each other."""

    enabled: Annotated[
        bool | None,
        Meta(
            description="TLS between the processes and for clients. It is fixed when the cluster is created:"
            " changes on an existing cluster are refused. Not set: off for a new cluster, unchanged"
            " for an existing one."
        ),
    ] = None
    ca_secret_name: Annotated[
        SecretName | None,
        Meta(
            description="Secret with the certificate and key of a self-signed CA (tls.crt and tls.key, as"
            " cert-manager writes them for a CA) that signs the certificates. Default: Stateward"
            " creates a CA for the cluster."
        ),
    ] = None
    certificate_lifetime: Annotated[
        Lifetime | None,
        Meta(
            description="How long the certificates of members and clients are valid. Default: 90d. They are"
            " renewed after two thirds of that time, without a restart."
        ),
    ] = None


class SecurityStatus(Record):
    """Whether and how the cluster is secured, and until when."""

    enabled: Annotated[bool, Meta(description="Whether the members run with TLS and users, or are changing to it.")] = (
        False
    )
    reason: Annotated[str, Meta(description="The reason, in one sentence.")] = ""
    ca_secret_name: Annotated[str, Meta(description="Secret with the CA that clients trust, as ca.crt.")] = ""
    admin_secret_name: Annotated[str, Meta(description="Secret with the first administrator's name and password.")] = ""
    client_secret_name: Annotated[
        str, Meta(description="Secret with a certificate for clients of a database that asks for one.")
    ] = ""
    certificates_digest: Annotated[
        str, Meta(description="Identifies the current set of certificates, without revealing its content.")
    ] = ""
    administrator_created: Annotated[
        bool, Meta(description="Whether the first administrator was created in the database; this happens once.")
    ] = False
    ca_rotation: Annotated[
        str, Meta(description="Progress of a change of the CA, in one sentence; empty if none is in progress.")
    ] = ""
    ca_expiration_time: Annotated[str, Meta(description="Expiry of the CA's certificate.")] = ""
    certificates_expiration_time: Annotated[
        str, Meta(description="Expiry of the first certificate to expire, of all members and clients.")
    ] = ""
    renewal_time: Annotated[str, Meta(description="When the next certificate is renewed.")] = ""


def lifetime_seconds(text: str | None) -> int:
    """Return a lifetime in seconds, the default if none is set; raises ValueError for an invalid one."""
    if text is None:
        return DEFAULT_LIFETIME
    match = re.fullmatch(LIFETIME, text)
    if match is None:
        raise ValueError(f"{text!r} is not a lifetime such as 90d or 12h")
    return int(match[1]) * _SECONDS[match[2]]

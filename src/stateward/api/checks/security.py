"""Security: Secrets that cannot be used for two things, and lifetimes in which a renewal fits."""

from collections.abc import Iterator

from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.security import SHORTEST_LIFETIME, Security, TransportSecurity, lifetime_seconds
from stateward.api.values.problem import Problem


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with `security`."""
    if cluster.spec.security is not None:
        yield from _switched_off(cluster.spec.security)
        yield from lifetime(cluster.spec.security)
        yield from _secrets(cluster.spec.security)


def _switched_off(security: Security) -> Iterator[Problem]:
    chosen = security.ca_secret_name or security.admin_secret_name or security.http
    if security.enabled is False and chosen:
        text = "security is switched off: leave caSecretName, adminSecretName and http out, or set enabled to true"
        yield Problem("spec.security.enabled", value=False, message=text)


def check_transport(security: TransportSecurity | None) -> Iterator[Problem]:
    """Yield what is wrong with the `security` of a database without users."""
    if security is not None:
        if security.enabled is False and security.ca_secret_name:
            text = "TLS is switched off: leave caSecretName out, or set enabled to true"
            yield Problem("spec.security.enabled", value=False, message=text)
        yield from lifetime(security)


def lifetime(security: Security | TransportSecurity) -> Iterator[Problem]:
    """Yield what is wrong with the lifetime of certificates."""
    text, path = security.certificate_lifetime, "spec.security.certificateLifetime"
    try:
        seconds = lifetime_seconds(text)
    except ValueError:
        yield Problem(path, text, "must be whole minutes, hours or days, for example 90d or 12h")
        return
    if seconds < SHORTEST_LIFETIME:
        yield Problem(path, text, "must be 5m or longer: a renewed certificate takes up to two minutes to reach a pod")


def _secrets(security: Security) -> Iterator[Problem]:
    given = security.http.secret_name if security.http is not None else None
    if given is not None and given == security.ca_secret_name:
        text = "must be another Secret than caSecretName: a CA's key must not be in pods"
        yield Problem("spec.security.http", given, text)

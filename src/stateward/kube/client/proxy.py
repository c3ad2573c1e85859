"""Selects the proxy: the kubeconfig's `proxy-url`, otherwise the environment's, except for NO_PROXY."""

import ipaddress
import urllib.request
from urllib.parse import urlsplit

from stateward.kube.access.connection import Connection
from stateward.kube.objects.errors import ConfigError


def proxy_for(connection: Connection) -> str | None:
    """Return the proxy's URL, or None to connect directly; raises ConfigError."""
    return connection.proxy_url or environment_proxy(connection.server)


def environment_proxy(url: str) -> str | None:
    """Return the environment's proxy for an address, or None to connect directly.

    As for kubectl, this machine's own addresses are never reached by a proxy. Raises ConfigError for a proxy of another
    protocol.
    """
    address = urlsplit(url)
    host = (address.hostname or "").rstrip(".")
    proxies = urllib.request.getproxies_environment()
    proxy = proxies.get(address.scheme)
    if not proxy or _is_local(host) or _excluded(host, proxies.get("no", "")):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(proxy).scheme not in {"http", "https"}:
        name = f"{address.scheme.upper()}_PROXY"
        raise ConfigError(f"the environment variable {name}: {proxy!r} is not supported; expected an http or https URL")
    return proxy


def _is_local(host: str) -> bool:
    found = _ip(host)
    return host == "localhost" or (found is not None and found.is_loopback)


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _excluded(host: str, no_proxy: str) -> bool:
    return any(_matches(host, entry.strip()) for entry in no_proxy.split(",") if entry.strip())


def _matches(host: str, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        # Clusters exclude their service and pod networks as CIDRs, which the standard library does not support.
        return _in_network(host, entry)
    if (excluded := _ip(entry)) is not None:
        return _ip(host) == excluded
    name = entry.removeprefix("*").lstrip(".").split(":")[0].lower()
    return host.lower() == name or host.lower().endswith(f".{name}")


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False

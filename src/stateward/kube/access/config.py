"""Finds the connection to the API server: from a kubeconfig, or from inside a pod."""

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stateward.kube.access.connection import Connection, Tls
from stateward.kube.access.credentials import Credential, CredentialSource, StaticCredentials, TokenFile
from stateward.kube.access.exec_plugin import ExecCommand, ExecCredentials
from stateward.kube.access.kubeconfig import (
    ClusterEntry,
    ExecEntry,
    Kubeconfig,
    Place,
    UserEntry,
    kubeconfig_paths,
    read_kubeconfig,
)
from stateward.kube.objects.errors import ConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def connect(*, kubeconfig: str = "", context: str = "", environment: Mapping[str, str] | None = None) -> Connection:
    """Find the connection as kubectl does: the given file, KUBECONFIG, `~/.kube/config`, otherwise the surrounding pod.

    Raise ConfigError, with the file and the field, if the result cannot be used.
    """
    variables = os.environ if environment is None else environment
    paths = [Path(kubeconfig).expanduser()] if kubeconfig else kubeconfig_paths(variables)
    if any(path.exists() for path in paths):
        return from_kubeconfig(read_kubeconfig(paths), context)
    if not kubeconfig and not context and "KUBERNETES_SERVICE_HOST" in variables:
        return in_cluster(variables)
    looked = ", ".join(str(path) for path in paths)
    raise ConfigError(f"no kubeconfig found (looked for {looked}), and this is not a pod; set KUBECONFIG")


def in_cluster(environment: Mapping[str, str] | None = None, folder: Path = SERVICE_ACCOUNT) -> Connection:
    """Return the connection of the surrounding pod, with its service account; raise ConfigError."""
    variables = os.environ if environment is None else environment
    host, port = variables.get("KUBERNETES_SERVICE_HOST", ""), variables.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigError("KUBERNETES_SERVICE_HOST is not set: this is not a pod")
    ca_file = folder / "ca.crt"
    try:
        ca = ca_file.read_bytes()
        namespace = (folder / "namespace").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}; is automountServiceAccountToken off?") from error
    # An IPv6 address needs brackets in a URL.
    address = f"[{host}]" if ":" in host else host
    trust = Tls(ca, ca_file=ca_file)
    return Connection(f"https://{address}:{port}", TokenFile(folder / "token"), trust, namespace=namespace)


def from_kubeconfig(config: Kubeconfig, context: str = "") -> Connection:
    """Return the connection of a context (empty: the current one); raise ConfigError."""
    name = context or config.current_context
    if not name:
        files = ", ".join(str(file) for file in config.files)
        raise ConfigError(f"{files}: current-context: is not set; set it, or name a context")
    place, chosen = config.context(name)
    if not chosen.cluster:
        raise Place(place.file, f"{place.field}.cluster").error("is not set")
    cluster_place, cluster = config.cluster(chosen.cluster)
    tls = _tls(cluster_place, cluster)
    user_place, user = config.user(chosen.user) if chosen.user else (place, UserEntry())
    credentials = _credentials(user_place, user, _cluster_info(cluster, tls))
    return Connection(
        _server(cluster_place, cluster), credentials, tls, _proxy(cluster_place, cluster), chosen.namespace or "default"
    )


def _server(place: Place, cluster: ClusterEntry) -> str:
    if not _is_http(cluster.server):
        raise Place(place.file, f"{place.field}.server").error(f"{cluster.server!r} is not an http(s) URL")
    return cluster.server


def _tls(place: Place, cluster: ClusterEntry) -> Tls:
    data, path = cluster.certificate_authority_data, cluster.certificate_authority
    ca = place.read("certificate-authority", data=data, path=path)
    if ca and cluster.insecure_skip_tls_verify:
        # The two settings contradict each other: refuse to guess, as kubectl does.
        raise Place(place.file, f"{place.field}.insecure-skip-tls-verify").error(
            "cannot be combined with a certificate-authority"
        )
    return Tls(ca, cluster.tls_server_name, cluster.insecure_skip_tls_verify)


def _proxy(place: Place, cluster: ClusterEntry) -> str:
    if cluster.proxy_url and not _is_http(cluster.proxy_url):
        raise Place(place.file, f"{place.field}.proxy-url").error(
            f"{cluster.proxy_url!r} is not supported; expected an http or https URL"
        )
    return cluster.proxy_url


def _is_http(url: str) -> bool:
    try:
        address = urlsplit(url)
        return address.scheme in {"http", "https"} and bool(address.hostname) and address.port != 0
    except ValueError:  # Not even an address: a bracket that is not closed, a port that is no number.
        return False


def _credentials(place: Place, user: UserEntry, cluster_info: Mapping[str, Any]) -> CredentialSource:
    for name, advice in user.unsupported.items():
        raise Place(place.file, f"{place.field}.{name}").error(f"is not supported; {advice}")
    certificate = place.read("client-certificate", data=user.client_certificate_data, path=user.client_certificate)
    key = place.read("client-key", data=user.client_key_data, path=user.client_key)
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise Place(place.file, f"{place.field}.{missing}").error("is needed: a certificate and its key go together")
    base = Credential(user.token, user.username, user.password, certificate, key)
    if user.exec_plugin is not None:
        return ExecCredentials(_command(place, user.exec_plugin, cluster_info), base=base)
    if user.token_file:  # It wins over `token`, as for kubectl.
        return TokenFile(place.file.parent / user.token_file, base=base)
    return StaticCredentials(base)


def _command(place: Place, plugin: ExecEntry, cluster_info: Mapping[str, Any]) -> ExecCommand:
    where = f"{place.file}: {place.field}.exec"
    if not plugin.command:
        raise ConfigError(f"{where}.command: is not set")
    # A command with a slash is relative to the kubeconfig, one without is searched in PATH.
    command = str(place.file.parent / plugin.command) if "/" in plugin.command else plugin.command
    return ExecCommand(
        where,
        plugin.api_version,
        (command, *(plugin.args or ())),
        {variable.name: variable.value for variable in plugin.env or ()},
        cluster_info if plugin.provide_cluster_info else None,
        plugin.install_hint,
        interactive=plugin.interactive_mode in {"IfAvailable", "Always"},
    )


def _cluster_info(cluster: ClusterEntry, tls: Tls) -> Mapping[str, Any]:
    info: dict[str, Any] = {"server": cluster.server, "tls-server-name": cluster.tls_server_name}
    info |= {"insecure-skip-tls-verify": tls.insecure, "proxy-url": cluster.proxy_url}
    info["certificate-authority-data"] = base64.b64encode(tls.ca).decode()
    return {name: value for name, value in info.items() if value}

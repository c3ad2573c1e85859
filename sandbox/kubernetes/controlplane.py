"""The control plane's machine: what runs in it, with which flags, in which order."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from sandbox import settings as settings_file
from sandbox.host.files import write_if_changed
from sandbox.host.records import Records
from sandbox.kubernetes import kubeconfig
from sandbox.kubernetes.kubeapi import KubeApi, wait_for
from sandbox.kubernetes.pki import Pki, Subject
from sandbox.layout import CONTROL_PLANE, Layout
from sandbox.network.addressing import API_PORT, API_SERVICE_ADDRESS, CLUSTER_DOMAIN, CONTROL_PLANE_ADDRESS, SERVICES
from sandbox.network.machines import Machine, tail

INSIDE_SERVER = f"https://{CONTROL_PLANE_ADDRESS}:{API_PORT}"

_ETCD = "http://127.0.0.1:2379"
_ETCD_PEER = "http://127.0.0.1:2380"
_MASTERS = ("system:masters",)
WEBHOOK_CLIENTS_CA = "webhook-clients-ca"
"""The authority of the certificate that the API server shows to webhooks; it is no other client's."""
WEBHOOKS_SHOWN = "*"
"""Whom the API server shows it: every webhook, by Service or by address."""


def audit_policy(user: str) -> dict[str, object]:
    """Return what the API server is to log: who asked what, when it answered, of one user alone."""
    rules = [{"level": "Metadata", "users": [user]}, {"level": "None"}]
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}


def audit_flags(layout: Layout) -> list[str]:
    """Return the API server's flags for the audit log, and write its policy; none if no user is to be audited."""
    settings = settings_file.load(layout.settings)
    if settings is None or not settings.audited:
        return []
    file = layout.pki / "audit.yaml"
    write_if_changed(file, yaml.safe_dump(audit_policy(settings.audited), sort_keys=False))
    return [f"--audit-policy-file={file}", f"--audit-log-path={layout.audit_log}"]


@dataclass(frozen=True)
class ControlPlane:
    """Etcd, the API server, the controller manager and the scheduler of one sandbox."""

    layout: Layout
    binaries: Path

    @property
    def machine(self) -> Machine:
        """The machine all of it runs in."""
        return Machine(self.layout, CONTROL_PLANE)

    def write_credentials(self, port: int) -> None:
        """Make every key and kubeconfig; `port` is the relay's, for the kubeconfig used outside."""
        pki = self._pki
        names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
        addresses = ("127.0.0.1", CONTROL_PLANE_ADDRESS, API_SERVICE_ADDRESS)
        server_names = (*names, f"kubernetes.default.svc.{CLUSTER_DOMAIN}", *addresses)
        pki.issue("apiserver", Subject("kube-apiserver", server_names=server_names))
        pki.authority("front-proxy-ca")
        pki.issue("front-proxy", Subject("front-proxy-client"), authority="front-proxy-ca")
        pki.issue("kubelet-client", Subject("kube-apiserver-kubelet-client", _MASTERS))
        pki.service_account_key()
        self._write_admission(pki)
        for user in ("kube-controller-manager", "kube-scheduler", "coredns", "local-volumes", "policies", "kwok"):
            self.client_kubeconfig(user, Subject(f"system:{user}"))
        # Known to the bootstrap roles by this name.
        self.client_kubeconfig("kube-proxy", Subject("system:kube-proxy"))
        admin = pki.issue("admin", Subject("sandbox-admin", _MASTERS))
        cluster = f"sandbox-{self.layout.name}"
        for path, server in (
            (self.layout.kubeconfig_inside, INSIDE_SERVER),
            (self.layout.kubeconfig, f"https://127.0.0.1:{port}"),
        ):
            write_if_changed(path, kubeconfig.render(server, pki.authority(), admin, cluster=cluster))

    def _write_admission(self, pki: Pki) -> None:
        """Have the API server show a certificate to webhooks: it is asked for one only where a webhook wants it."""
        pki.authority(WEBHOOK_CLIENTS_CA)
        shown = pki.issue("webhook-client", Subject("kube-apiserver"), authority=WEBHOOK_CLIENTS_CA)
        user = {"client-certificate": str(shown.certificate), "client-key": str(shown.key)}
        users = {"apiVersion": "v1", "kind": "Config", "users": [{"name": WEBHOOKS_SHOWN, "user": user}]}
        clients = self.layout.pki / "webhooks.kubeconfig"
        write_if_changed(clients, yaml.safe_dump(users, sort_keys=False))
        group = "apiserver.config.k8s.io/v1"
        settings = {"apiVersion": group, "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(clients)}
        plugin = {"name": "ValidatingAdmissionWebhook", "configuration": settings}
        whole = {"apiVersion": group, "kind": "AdmissionConfiguration", "plugins": [plugin]}
        write_if_changed(self.layout.pki / "admission.yaml", yaml.safe_dump(whole, sort_keys=False))

    def client_kubeconfig(self, name: str, subject: Subject) -> Path:
        """Return a kubeconfig for use inside, with a certificate for `subject`."""
        path = self.layout.pki / f"{name}.kubeconfig"
        credential = self._pki.issue(name, subject)
        if not path.exists():
            text = kubeconfig.render(INSIDE_SERVER, self._pki.authority(), credential, cluster="sandbox")
            write_if_changed(path, text)
        return path

    def start(self, api: KubeApi) -> None:
        """Start what does not run, and wait until the API server is ready and the controllers work."""
        self._ensure("etcd", self._etcd())
        self._ensure("kube-apiserver", self._api_server())
        self._await("kube-apiserver", api, "/readyz")
        # Only now: both need the bootstrap roles, and end at once without them.
        self._ensure("kube-controller-manager", self._controller_manager())
        self._ensure("kube-scheduler", self._scheduler())
        # The controller manager is at work when the default account is there; pods need it anyway.
        self._await("kube-controller-manager", api, "/api/v1/namespaces/default/serviceaccounts/default")

    def _await(self, component: str, api: KubeApi, path: str) -> None:
        records = Records(self.layout.records)

        def answered() -> bool:
            if records.running(f"{CONTROL_PLANE}.{component}") is None:
                raise tail(self.layout, f"{CONTROL_PLANE}.{component}")
            api.text(path, timeout=5)
            return True

        wait_for(f"{component} to work", answered, seconds=120, pause=0.1)

    def _ensure(self, component: str, flags: Sequence[str]) -> None:
        if Records(self.layout.records).running(f"{CONTROL_PLANE}.{component}") is None:
            self.machine.start(component, [str(self.binaries / component), *flags])

    @property
    def _pki(self) -> Pki:
        return Pki(self.layout.pki)

    def _file(self, name: str) -> str:
        return str(self.layout.pki / name)

    def _etcd(self) -> list[str]:
        return [
            "--name=default",
            f"--data-dir={self.layout.etcd}",
            f"--listen-client-urls={_ETCD}",
            f"--advertise-client-urls={_ETCD}",
            f"--listen-peer-urls={_ETCD_PEER}",
            f"--initial-advertise-peer-urls={_ETCD_PEER}",
            f"--initial-cluster=default={_ETCD_PEER}",
            "--unsafe-no-fsync",  # what is lost in a power cut was throw-away
            "--log-level=warn",
        ]

    def _api_server(self) -> list[str]:
        return [
            f"--etcd-servers={_ETCD}",
            "--bind-address=0.0.0.0",
            f"--secure-port={API_PORT}",
            f"--advertise-address={CONTROL_PLANE_ADDRESS}",
            f"--tls-cert-file={self._file('apiserver.crt')}",
            f"--tls-private-key-file={self._file('apiserver.key')}",
            f"--client-ca-file={self._file('ca.crt')}",
            f"--requestheader-client-ca-file={self._file('front-proxy-ca.crt')}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self._file('front-proxy.crt')}",
            f"--proxy-client-key-file={self._file('front-proxy.key')}",
            f"--kubelet-client-certificate={self._file('kubelet-client.crt')}",
            f"--kubelet-client-key={self._file('kubelet-client.key')}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-key-file={self._file('service-account.pub')}",
            f"--service-account-signing-key-file={self._file('service-account.key')}",
            f"--service-account-issuer=https://kubernetes.default.svc.{CLUSTER_DOMAIN}",
            f"--service-cluster-ip-range={SERVICES}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--admission-control-config-file={self._file('admission.yaml')}",
            # Webhooks and aggregated APIs are called at the pods' addresses: no Service proxy is needed for it.
            "--enable-aggregator-routing=true",
            "--allow-privileged=true",
            *audit_flags(self.layout),
        ]

    def _controller_manager(self) -> list[str]:
        config = self._file("kube-controller-manager.kubeconfig")
        return [
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1",
            f"--service-account-private-key-file={self._file('service-account.key')}",
            f"--root-ca-file={self._file('ca.crt')}",
            f"--cluster-signing-cert-file={self._file('ca.crt')}",
            f"--cluster-signing-key-file={self._file('ca.key')}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            # The default of 20 requests a second makes the first start 5 s slower.
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]

    def _scheduler(self) -> list[str]:
        config = self._file("kube-scheduler.kubeconfig")
        return [
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
        ]

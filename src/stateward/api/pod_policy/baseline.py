"""The controls of the level baseline: nothing by which a container gets power over its node.

Each is a function from a pod template to what of it is not allowed, and follows the rule of the same name in the Pod
Security Admission of Kubernetes 1.34, without its exceptions for Windows and for user namespaces, which are optional
features of a cluster.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stateward.api.pod_policy.finding import Finding
from stateward.api.pod_policy.template import (
    HOOKS,
    PROBES,
    Placed,
    container_contexts,
    containers,
    contexts,
    inner,
    items,
    pod_spec,
    volumes,
)
from stateward.api.values.base import Json

Control = Callable[[Json], Iterator[Finding]]

CAPABILITIES = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
"""Those that container runtimes give by default, without NET_RAW."""
SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
SELINUX_TYPES = ("container_t", "container_init_t", "container_kvm_t", "container_engine_t")
PROFILES = ("RuntimeDefault", "Localhost")
"""Types of profiles of seccomp and AppArmor: all but Unconfined."""
APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
OFF = "must be false, or left out"


def off(value: Any) -> bool:
    """Return whether a switch is off; another value is not."""
    return value is None or value is False


def one_of(names: tuple[str, ...]) -> str:
    """Return the text for a value that must be one of these."""
    return f"must be {names[0]}, or left out" if len(names) == 1 else f"must be one of {', '.join(names)}, or left out"


def host_process(template: Json) -> Iterator[Finding]:
    """Yield processes of a Windows host."""
    for path, context in contexts(template):
        value = inner(context, "windowsOptions").get("hostProcess")
        if not off(value):
            yield Finding((*path, "windowsOptions", "hostProcess"), value, OFF)


def host_namespaces(template: Json) -> Iterator[Finding]:
    """Yield what a pod would share with its node: network, processes, memory."""
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        value = pod_spec(template).get(name)
        if not off(value):
            yield Finding(("spec", name), value, OFF)


def privileged(template: Json) -> Iterator[Finding]:
    """Yield containers with the powers of the node."""
    for path, context in container_contexts(template):
        if not off(context.get("privileged")):
            yield Finding((*path, "privileged"), context["privileged"], OFF)


def capabilities(template: Json) -> Iterator[Finding]:
    """Yield capabilities that containers do not have by default, and NET_RAW."""
    for path, context in container_contexts(template):
        for name in inner(context, "capabilities").get("add") or ():
            if name not in CAPABILITIES:
                yield Finding((*path, "capabilities", "add"), name, one_of(CAPABILITIES))


def host_paths(template: Json) -> Iterator[Finding]:
    """Yield volumes that are files of the node."""
    for path, volume in volumes(template):
        if volume.get("hostPath") is not None:
            yield Finding((*path, "hostPath"), volume["hostPath"], "cannot be used: it shows files of the node")


def host_ports(template: Json) -> Iterator[Finding]:
    """Yield ports of the node."""
    for path, container in containers(template):
        for at, port in items(container, "ports", path):
            value = port.get("hostPort")
            if value not in (None, 0):
                yield Finding((*at, "hostPort"), value, "must be left out: use a Service")


def probe_hosts(template: Json) -> Iterator[Finding]:
    """Yield probes and hooks to another address than the pod's own."""
    for path, container in containers(template):
        for at, handler in _handlers(path, container):
            for kind in ("httpGet", "tcpSocket"):
                host = inner(handler, kind).get("host")
                if host not in (None, ""):
                    yield Finding((*at, kind, "host"), host, "must be left out: the node would ask that address")


def _handlers(path: tuple[str, ...], container: Json) -> Iterator[Placed]:
    for name in PROBES:
        yield (*path, name), inner(container, name)
    for name in HOOKS:
        yield (*path, "lifecycle", name), inner(container, "lifecycle", name)


def apparmor(template: Json) -> Iterator[Finding]:
    """Yield fields and annotations that switch AppArmor off."""
    for path, context in contexts(template):
        yield from profile((*path, "appArmorProfile", "type"), context.get("appArmorProfile"))
    annotations = inner(template, "metadata", "annotations")
    for name, value in annotations.items():
        allowed = value in ("", "runtime/default") or (isinstance(value, str) and value.startswith("localhost/"))
        if name.startswith(APPARMOR_ANNOTATION) and not allowed:
            text = "must be runtime/default or localhost/PROFILE, or left out"
            yield Finding(("metadata", "annotations", f"[{name}]"), value, text)


def selinux(template: Json) -> Iterator[Finding]:
    """Yield options of SELinux other than a type for containers."""
    for path, context in contexts(template):
        options, at = inner(context, "seLinuxOptions"), (*path, "seLinuxOptions")
        if options.get("type") not in (None, "", *SELINUX_TYPES):
            yield Finding((*at, "type"), options["type"], one_of(SELINUX_TYPES))
        for name in ("user", "role"):
            if options.get(name) not in (None, ""):
                yield Finding((*at, name), options[name], "must be left out")


def proc_mount(template: Json) -> Iterator[Finding]:
    """Yield fields that show parts of /proc which are hidden by default."""
    for path, context in container_contexts(template):
        if context.get("procMount") not in (None, "Default"):
            yield Finding((*path, "procMount"), context["procMount"], one_of(("Default",)))


def seccomp(template: Json) -> Iterator[Finding]:
    """Yield fields that switch seccomp off."""
    for path, context in contexts(template):
        yield from profile((*path, "seccompProfile", "type"), context.get("seccompProfile"))


def profile(path: tuple[str, ...], value: Any) -> Iterator[Finding]:
    """Yield a profile that confines nothing; one that is left out is the runtime's."""
    if value is None:
        return
    kind = value.get("type") if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if kind not in PROFILES:
        yield Finding(path, kind, one_of(PROFILES))


def sysctls(template: Json) -> Iterator[Finding]:
    """Yield parameters of the kernel that are not the pod's own, or not known to be safe."""
    at = ("spec", "securityContext")
    for path, sysctl in items(inner(pod_spec(template), "securityContext"), "sysctls", at):
        if sysctl.get("name") not in SYSCTLS:
            yield Finding((*path, "name"), sysctl.get("name"), one_of(SYSCTLS))


BASELINE: tuple[Control, ...] = (
    host_process,
    host_namespaces,
    privileged,
    capabilities,
    host_paths,
    host_ports,
    probe_hosts,
    apparmor,
    selinux,
    proc_mount,
    seccomp,
    sysctls,
)

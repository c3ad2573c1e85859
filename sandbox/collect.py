"""Evidence after a failure: the cluster's objects, events and logs, in files."""

import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import yaml

from sandbox.kubernetes.kubeapi import KubeApi, Object
from sandbox.layout import Layout

# Secrets stay where they are; the rest of these is noise.
_LEFT_OUT = {"secrets", "leases", "componentstatuses", "endpoints", "controllerrevisions"}


def collect(layout: Layout, api: KubeApi, directory: Path) -> None:
    """Write objects, events, pods' logs and the components' logs into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    if layout.logs.exists():
        shutil.copytree(layout.logs, directory / "components", dirs_exist_ok=True)
    for part in (_objects, _events, _pod_logs):
        _attempt(directory, part.__name__, part, api)


def _attempt(directory: Path, what: str, part: Callable[[KubeApi, Path], None], api: KubeApi) -> None:
    try:
        part(api, directory)
    except Exception as error:  # noqa: BLE001 - missing evidence must not hide the failure itself
        (directory / f"{what.strip('_')}.error").write_text(f"{error}\n")


def _objects(api: KubeApi, directory: Path) -> None:
    target = directory / "objects"
    target.mkdir(exist_ok=True)
    for group in _groups(api):
        for resource in api.get(group)["resources"]:
            name = resource["name"]
            if "list" in resource["verbs"] and "/" not in name and name not in _LEFT_OUT | {"events"}:
                found = api.items(f"{group}/{name}")
                if found:
                    (target / f"{name}.yaml").write_text(yaml.safe_dump_all(_slim(each) for each in found))


def _groups(api: KubeApi) -> list[str]:
    groups = api.get("/apis")["groups"]
    return ["/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups)]


def _slim(item: Object) -> Object:
    item["metadata"].pop("managedFields", None)
    return item


def _events(api: KubeApi, directory: Path) -> None:
    events = api.items("/api/v1/events")
    events.sort(key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime") or ""))
    lines: list[str] = []
    for each in events:
        about = each["involvedObject"]
        when = each.get("lastTimestamp") or each.get("eventTime")
        name = f"{about.get('kind')}/{about.get('namespace', '')}/{about.get('name')}"
        lines.append(f"{when} {each.get('type')} {each.get('reason')} {name}: {each.get('message')}")
    (directory / "events.txt").write_text("\n".join(lines) + "\n")


def _pod_logs(api: KubeApi, directory: Path) -> None:
    target = directory / "pods"
    target.mkdir(exist_ok=True)
    for pod in api.items("/api/v1/pods"):
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        containers = pod["spec"].get("initContainers", []) + pod["spec"]["containers"]
        for container in (each["name"] for each in containers):
            for previous in (False, True):
                _log(api, target, f"{namespace}/pods/{name}", container, previous=previous)


def _log(api: KubeApi, target: Path, pod: str, container: str, *, previous: bool) -> None:
    query = f"container={quote(container)}&previous={str(previous).lower()}&tailLines=5000"
    try:
        text = api.text(f"/api/v1/namespaces/{pod}/log?{query}", timeout=10)
    except Exception:  # noqa: BLE001 - most containers have no previous run, and a cut node has no logs to give
        return
    suffix = ".previous" if previous else ""
    (target / f"{pod.replace('/pods/', '.')}.{container}{suffix}.log").write_text(text)

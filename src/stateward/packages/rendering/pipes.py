"""The objects of pipe tasks, and the pods that create their content.

The names of the objects are known before the task runs, so templates can refer to them. The pod of a task runs its init
containers, which write files; then a container waits beside them, from which the files are read.
"""

import base64
import posixpath
import re
from typing import Any

from stateward.api.values.base import Json
from stateward.packages.format.records import Package, PipeFile, PipeKind, Task
from stateward.packages.format.trees import items, obj, objs
from stateward.packages.rendering.objects import Identity

WAITER = "stateward-pipe"
"""Name of the container from which files are read."""
OTHER_IMAGE = "busybox:1"
"""The format's default if the operator's own image is unknown: it needs `sleep` and `cat`."""
LARGEST_FILE = 1 << 20
"""Bytes that a ConfigMap or Secret can hold."""


def pipe_names(package: Package, installation: str) -> dict[str, str]:
    """Return the name of the object of each pipe, by its key, for an installation."""
    keys = (file.key for task in package.operator.tasks for file in task.spec.pipe)
    return {key: pipe_name(installation, key) for key in keys}


def pipe_name(installation: str, key: str) -> str:
    """Return the name of the Secret or ConfigMap with a file of a pipe task."""
    return f"{installation}-pipe-{_words(key)}"


def _words(text: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text)
    return re.sub("[^a-z0-9-]+", "-", words.lower()).strip("-")


def pipe_identities(package: Package, installation: str, namespace: str) -> frozenset[Identity]:
    """Return the objects of a package's pipes, in any plan."""
    files = (file for task in package.operator.tasks for file in task.spec.pipe)
    return frozenset(Identity("", file.kind, namespace, pipe_name(installation, file.key)) for file in files)


def pipe_pod(installation: str, task: Task, template: Json, image: str = "") -> Json:
    """Return the pod of a pipe task, from its template: with a name, and with the waiting container.

    That container uses `image`, the operator's own.
    """
    spec = obj(template.get("spec"))
    starts = objs(spec.get("initContainers"))
    last = starts[-1] if starts else {}
    mounts = items(last.get("volumeMounts"))
    waiter: dict[str, Any] = {
        "name": WAITER,
        "image": image or OTHER_IMAGE,
        "command": ["sleep", "86400"],
        "volumeMounts": mounts,
        "securityContext": _reader(obj(spec.get("securityContext")), obj(last.get("securityContext"))),
    }
    containers = [*items(spec.get("containers")), waiter]
    meta = {**obj(template.get("metadata")), "name": f"{installation}-pipe-{_words(task.name)}"}
    return {**template, "metadata": meta, "spec": {"restartPolicy": "OnFailure", **spec, "containers": containers}}


def _reader(of_pod: Json, of_last: Json) -> Json:
    """Return the user for reading the files: that of the container that wrote them, or root if it is unknown.

    The operator's image has a user of its own, which may not read private files of others.
    """
    named = of_pod | of_last
    user = {} if "runAsUser" in named or named.get("runAsNonRoot") else {"runAsUser": 0}
    taken = {name: of_last[name] for name in ("runAsUser", "runAsGroup", "runAsNonRoot") if name in of_last}
    return {"allowPrivilegeEscalation": False, **taken, **user}


def pipe_object(installation: str, file: PipeFile, content: bytes) -> Json:
    """Return the object with a file of a pod; raises ValueError for an invalid file of variables."""
    data = variables(content) if file.env_file else {posixpath.basename(file.file): content}
    body: Json = {"apiVersion": "v1", "kind": str(file.kind), "metadata": {"name": pipe_name(installation, file.key)}}
    if file.kind is PipeKind.SECRET:
        return body | {"data": {name: _base64(value) for name, value in data.items()}}
    texts, others = dict[str, str](), dict[str, str]()
    for name, value in data.items():
        try:
            texts[name] = value.decode()
        except UnicodeDecodeError:
            others[name] = _base64(value)
    return body | {"data": texts} | ({"binaryData": others} if others else {})


def variables(content: bytes) -> dict[str, bytes]:
    """Return the variables of a file of `NAME=VALUE` lines; raises ValueError for another line."""
    found: dict[str, bytes] = {}
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or not re.fullmatch(r"[-._a-zA-Z0-9]+", name):
            raise ValueError(f"line {number} is not NAME=VALUE")
        found[name] = value.encode()
    return found


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()

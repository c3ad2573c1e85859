"""The packages that are measured: one that makes ten objects, and one with very many parameters."""

import base64
from typing import Any

from stateward.api.values.base import API_VERSION, Json
from stateward.packages.distribution.archive import pack
from stateward.packages.format.reading import read_package
from stateward.packages.format.records import Package
from stateward.packages.format.yamltext import to_yaml

OBJECTS = 10
SETTINGS = 7
OUTSIDE = "outside"
"""The ConfigMap that workloads use and no package makes."""
_WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Name }}", annotations: {stateward.dev/restart-on-change: "true"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: "{{ .Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Name }}"}}
    spec:
      containers:
      - name: app
        image: app
        envFrom:
        - configMapRef: {name: "{{ .Name }}-0"}
        - configMapRef: {name: "outside-{{ .Name }}"}
"""
_SETTING = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Name }}-NUMBER"}
data: {level: "{{ .Params.LEVEL }}", number: "NUMBER"}
"""
_WORD = 'apiVersion: v1\nkind: Secret\nmetadata: {name: "{{ .Name }}-word"}\nstringData: {word: "{{ .Name }}"}\n'
_ACCOUNT = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "{{ .Name }}"}\n'


def files() -> dict[str, bytes]:
    """Return the files of a package of ten objects."""
    templates = {f"setting-{n}.yaml": _SETTING.replace("NUMBER", str(n)) for n in range(SETTINGS)}
    templates |= {"secret.yaml": _WORD, "account.yaml": _ACCOUNT, "workload.yaml": _WORKLOAD}
    return _files(templates, [{"name": "LEVEL", "default": "1"}])


def wide(parameters: int = 250) -> Package:
    """Return a package with many parameters, all of them in one ConfigMap."""
    names = [f"PARAMETER_{number}" for number in range(parameters)]
    lines = [f"  {name.lower()}: {{{{ .Params.{name} | quote }}}}" for name in names]
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: all}\ndata:\n"
    given = [{"name": name, "type": "integer", "default": number} for number, name in enumerate(names)]
    return read_package(_files({"all.yaml": head + "\n".join(lines) + "\n"}, given))


def _files(templates: dict[str, str], parameters: list[Json]) -> dict[str, bytes]:
    task = {"name": "all", "kind": "Apply", "spec": {"resources": sorted(templates)}}
    step = {"name": "all", "tasks": ["all"]}
    operator: dict[str, Any] = {
        "apiVersion": "kudo.dev/v1beta1",
        "name": "parcel",
        "operatorVersion": "1.0.0",
        "tasks": [task],
        "plans": {"deploy": {"phases": [{"name": "all", "steps": [step]}]}},
    }
    found = {"operator.yaml": to_yaml(operator), "params.yaml": to_yaml({"parameters": parameters})}
    found |= {f"templates/{name}": text for name, text in templates.items()}
    return {path: text.encode() for path, text in found.items()}


def package() -> Json:
    """Return the Package object."""
    content = files()
    archive = base64.b64encode(pack(content)).decode()
    spec = {"name": "parcel", "version": "1.0.0", "archive": archive}
    return {"apiVersion": API_VERSION, "kind": "Package", "metadata": {"name": "parcel-1.0.0"}, "spec": spec}


def name(index: int) -> str:
    """Return the name of an installation."""
    return f"p-{index:04}"


def installation(index: int, level: str = "1") -> Json:
    """Return an Installation of the package."""
    spec = {"package": "parcel-1.0.0", "parameters": {"LEVEL": level}}
    return {"apiVersion": API_VERSION, "kind": "Installation", "metadata": {"name": name(index)}, "spec": spec}


def outside(index: int, word: str) -> Json:
    """Return the ConfigMap that the workload of an installation uses and no package creates."""
    meta = {"name": f"{OUTSIDE}-{name(index)}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"word": word}}

"""Packages as tests write them: files by path, whole or with one of them changed."""

from collections.abc import Mapping

from stateward.packages.format.reading import read_package
from stateward.packages.format.records import Package

OPERATOR = """\
apiVersion: kudo.dev/v1beta1
name: shop
operatorVersion: "1.2.0"
appVersion: 5.10
kubernetesVersion: 1.15.0
maintainers:
- name: Somebody
url: https://shop.example
tasks:
- name: app
  kind: Apply
  spec:
    resources: [config.yaml, app.yaml]
- name: extra
  kind: Toggle
  spec: {parameter: EXTRA, resources: [extra.yaml]}
- name: away
  kind: Delete
  spec: {resources: [job.yaml]}
- name: job
  kind: Apply
  spec: {resources: [job.yaml]}
plans:
  deploy:
    strategy: serial
    phases:
    - name: main
      strategy: serial
      steps:
      - {name: app, tasks: [app, extra]}
      - {name: job, tasks: [job]}
      - {name: away, tasks: [away]}
  backup:
    phases:
    - name: backup
      steps:
      - {name: job, tasks: [job]}
"""
PARAMS = """\
apiVersion: kudo.dev/v1beta1
groups:
- name: size
  displayName: Size
  prio: 1
parameters:
- {name: COUNT, type: integer, default: 2, description: How many., group: size}
- {name: EXTRA, type: boolean, default: false}
- {name: MODE, enum: [slow, fast], default: slow}
- {name: STORAGE, default: 1Gi, immutable: true}
- {name: SETTINGS, type: map, default: {color: red}}
- {name: HOSTS, type: array, required: false}
- {name: RATE, type: number, default: 0.5}
- {name: FILE, default: backup.sql, trigger: backup}
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Name }}-config
  namespace: {{ .Namespace }}
data:
  mode: {{ .Params.MODE | quote }}
  rate: {{ .Params.RATE | quote }}
  settings: |{{ toYaml .Params.SETTINGS | nindent 4 }}
  hosts: {{ join "," .Params.HOSTS | quote }}
"""
APP = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Name }}
  namespace: {{ .Namespace }}
spec:
  replicas: {{ .Params.COUNT }}
  selector: {matchLabels: {app: {{ .Name }}}}
  template:
    metadata: {labels: {app: {{ .Name }}}}
    spec:
      containers:
      - name: app
        image: shop:{{ .AppVersion }}
        envFrom: [{configMapRef: {name: {{ .Name }}-config}}]
        args: [{{ .Params.STORAGE }}]
"""
EXTRA = "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Name }}-extra}\nspec: {ports: [{port: 80}]}\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: {{ .PlanName }}-job}
spec: {template: {spec: {containers: [{name: job, image: shop, args: [{{ .Params.FILE }}]}], restartPolicy: Never}}}
"""

FILES: Mapping[str, str] = {
    "operator.yaml": OPERATOR,
    "params.yaml": PARAMS,
    "templates/config.yaml": CONFIG,
    "templates/app.yaml": APP,
    "templates/extra.yaml": EXTRA,
    "templates/job.yaml": JOB,
}


def files(changes: Mapping[str, str | None] | None = None, **replaced: tuple[str, str]) -> dict[str, bytes]:
    """Return the files with some replaced or (None) left out; `replaced` is old and new text in a file, by stem."""
    texts = {**FILES, **(changes or {})}
    for stem, (old, new) in replaced.items():
        (path,) = (path for path in FILES if path.endswith(f"{stem}.yaml"))
        assert old in FILES[path]
        texts[path] = FILES[path].replace(old, new)
    return {path: text.encode() for path, text in texts.items() if text is not None}


def shop(changes: Mapping[str, str | None] | None = None, **replaced: tuple[str, str]) -> Package:
    """Return the package of these files."""
    return read_package(files(changes, **replaced))

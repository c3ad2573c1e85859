"""The template of a new package: small, complete, and an example of the format."""

_OPERATOR = """\
apiVersion: kudo.dev/v1beta1
name: {name}
operatorVersion: "0.1.0"
appVersion: "1.0"
description: What {name} is for, in a sentence.
tasks:
- name: app
  kind: Apply
  spec:
    resources:
    - config.yaml
    - deployment.yaml
- name: backup
  kind: Apply
  spec:
    resources:
    - backup.yaml
plans:
  deploy:
    strategy: serial
    phases:
    - name: app
      strategy: serial
      steps:
      - name: app
        tasks:
        - app
  backup:
    strategy: serial
    phases:
    - name: backup
      strategy: serial
      steps:
      - name: backup
        tasks:
        - backup
"""
_PARAMS = """\
apiVersion: kudo.dev/v1beta1
parameters:
- name: replicas
  description: How many pods there are.
  type: integer
  default: 1
- name: image
  description: The image that the pods run.
  default: registry.k8s.io/pause:3.10
- name: greeting
  description: What the application says. Its pods restart when this changes, because they use the ConfigMap.
  default: hello
"""
_CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Name }}
  namespace: {{ .Namespace }}
data:
  greeting: {{ .Params.greeting | quote }}
"""
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Name }}
  namespace: {{ .Namespace }}
spec:
  replicas: {{ .Params.replicas }}
  selector:
    matchLabels:
      app: {{ .Name }}
  template:
    metadata:
      labels:
        app: {{ .Name }}
    spec:
      containers:
      - name: app
        image: {{ .Params.image }}
        envFrom:
        - configMapRef:
            name: {{ .Name }}
"""
_BACKUP = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Name }}-backup
  namespace: {{ .Namespace }}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: backup
        image: busybox:1
        command: ["echo", "here the data would be saved"]
"""


def skeleton(name: str) -> dict[str, str]:
    """Return the files of a new package by path."""
    return {
        "operator.yaml": _OPERATOR.format(name=name),
        "params.yaml": _PARAMS,
        "templates/config.yaml": _CONFIG,
        "templates/deployment.yaml": _DEPLOYMENT,
        "templates/backup.yaml": _BACKUP,
    }

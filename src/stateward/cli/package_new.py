"""The package that people begin with: small, complete, and an example of what the format can say."""

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


def skeleton(name: str) -> dict[str, str]:
    """Return the files of a new package by path."""
    return {
        "operator.yaml": _OPERATOR.format(name=name),
        "params.yaml": _PARAMS,
        "templates/config.yaml": _CONFIG,
        "templates/deployment.yaml": _DEPLOYMENT,
    }

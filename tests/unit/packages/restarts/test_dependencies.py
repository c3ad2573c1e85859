"""Which objects and keys pods use: all that a container can see, and nothing else."""

# The cases are a table.
# ruff: noqa: E501

from typing import Any

import pytest

from stateward.packages.restarts.dependencies import Dependency, dependencies

MAP, SECRET = "ConfigMap", "Secret"


def workload(spec: Any, kind: str = "Deployment") -> dict[str, Any]:
    template = {"spec": spec}
    if kind == "CronJob":
        return {"apiVersion": "batch/v1", "kind": kind, "spec": {"jobTemplate": {"spec": {"template": template}}}}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "spec": {"template": template}}


def used(spec: Any) -> set[tuple[str, str, str]]:
    return {(d.kind, d.name, d.key) for d in dependencies(workload(spec))}


def mounted(volume: Any, *mounts: Any) -> Any:
    mounts = mounts or ({"name": "v"},)
    return {"volumes": [{"name": "v", **volume}], "containers": [{"name": "c", "volumeMounts": list(mounts)}]}


CASES: dict[str, tuple[Any, set[tuple[str, str, str]]]] = {
    "envFrom": (
        {"containers": [{"envFrom": [{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "b", "optional": True}}]}]},
        {(MAP, "a", ""), (SECRET, "b", "")},
    ),
    "env": (
        {"containers": [{"env": [
            {"valueFrom": {"configMapKeyRef": {"name": "a", "key": "x"}}},
            {"valueFrom": {"secretKeyRef": {"name": "b", "key": "y"}}},
            {"name": "plain", "value": "1"},
        ]}]},
        {(MAP, "a", "x"), (SECRET, "b", "y")},
    ),
    "init containers": ({"initContainers": [{"envFrom": [{"secretRef": {"name": "b"}}]}]}, {(SECRET, "b", "")}),
    "ephemeral containers": ({"ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "b"}}]}]}, {(SECRET, "b", "")}),
    "image pull secrets": ({"imagePullSecrets": [{"name": "pull"}]}, {(SECRET, "pull", "")}),
    "a volume": (mounted({"configMap": {"name": "a"}}), {(MAP, "a", "")}),
    "a volume of a Secret": (mounted({"secret": {"secretName": "b"}}), {(SECRET, "b", "")}),
    "single files": (mounted({"secret": {"secretName": "b", "items": [{"key": "k", "path": "p"}]}}), {(SECRET, "b", "k")}),
    "a volume without mounts": ({"volumes": [{"name": "v", "configMap": {"name": "a"}}], "containers": [{}]}, set()),
    "a mounted file": (mounted({"configMap": {"name": "a"}}, {"name": "v", "subPath": "x"}), {(MAP, "a", "x")}),
    "a file and the whole": (
        mounted({"configMap": {"name": "a"}}, {"name": "v", "subPath": "x"}, {"name": "v"}),
        {(MAP, "a", "")},
    ),
    "a mounted file by another notation": (
        mounted({"configMap": {"name": "a"}}, {"name": "v", "subPath": ".//x/"}),
        {(MAP, "a", "x")},
    ),
    "the volume by its own path": (mounted({"configMap": {"name": "a"}}, {"name": "v", "subPath": "./"}), {(MAP, "a", "")}),
    "an item by another notation": (
        mounted(
            {"configMap": {"name": "a", "items": [{"key": "k", "path": "./d//x"}, {"key": "l", "path": "e"}]}},
            {"name": "v", "subPath": "d"},
        ),
        {(MAP, "a", "k")},
    ),
    "a path by variables": (mounted({"configMap": {"name": "a"}}, {"name": "v", "subPathExpr": "$(X)"}), {(MAP, "a", "")}),
    "a folder of files": (
        mounted(
            {"configMap": {"name": "a", "items": [{"key": "k", "path": "d/p"}, {"key": "l", "path": "e"}]}},
            {"name": "v", "subPath": "d"},
        ),
        {(MAP, "a", "k")},
    ),
    "a projected volume": (
        mounted({"projected": {"sources": [
            {"configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}},
            {"secret": {"name": "b"}},
            {"downwardAPI": {"items": []}},
            {"serviceAccountToken": {"path": "t"}},
        ]}}),
        {(MAP, "a", "k"), (SECRET, "b", "")},
    ),
    "the secrets store": (
        mounted({"csi": {"driver": "d", "volumeAttributes": {"secretProviderClass": "p"}, "nodePublishSecretRef": {"name": "s"}}}),
        {("SecretProviderClass", "p", ""), (SECRET, "s", "")},
    ),
    "credentials of volumes": (mounted({"azureFile": {"secretName": "z"}}), {(SECRET, "z", "")}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_a_container_can_see_is_used(case: str) -> None:
    spec, wanted = CASES[case]
    assert used(spec) == wanted


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"])
def test_each_kind_of_workload_has_its_template_found(kind: str) -> None:
    assert dependencies(workload(CASES["a volume"][0], kind)) == {Dependency(MAP, "a")}


def test_other_objects_use_nothing() -> None:
    assert dependencies({"apiVersion": "v1", "kind": "Pod", "spec": CASES["a volume"][0]}) == frozenset()
    assert dependencies({}) == frozenset()

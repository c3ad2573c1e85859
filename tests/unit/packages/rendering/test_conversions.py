"""Objects in API versions that Kubernetes has removed come out in versions that it serves."""

from typing import Any

import pytest

from stateward.packages.rendering.conversions import convert
from stateward.packages.rendering.objects import read_objects
from stateward.packages.rendering.templates import TemplateProblem


def converted(version: str, kind: str, spec: Any = None) -> dict[str, Any]:
    return convert({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec or {}})[0]


@pytest.mark.parametrize(
    ("version", "kind", "successor"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "policy/v1"),
        ("batch/v1beta1", "CronJob", "batch/v1"),
        ("rbac.authorization.k8s.io/v1beta1", "RoleBinding", "rbac.authorization.k8s.io/v1"),
        ("extensions/v1beta1", "NetworkPolicy", "networking.k8s.io/v1"),
        ("apps/v1", "Deployment", "apps/v1"),
        ("example.dev/v1beta1", "CronJob", "example.dev/v1beta1"),
    ],
)
def test_a_removed_version_gets_its_successor_and_no_other(version: str, kind: str, successor: str) -> None:
    assert converted(version, kind)["apiVersion"] == successor


def test_a_workload_gets_the_selector_that_older_versions_took_from_its_labels() -> None:
    template = {"metadata": {"labels": {"app": "x"}}}
    made = converted("extensions/v1beta1", "Deployment", {"template": template, "rollbackTo": {"revision": 1}})
    assert made["spec"] == {"template": template, "selector": {"matchLabels": {"app": "x"}}}
    chosen = {"matchLabels": {"own": "y"}}
    assert converted("apps/v1beta2", "StatefulSet", {"selector": chosen})["spec"]["selector"] == chosen


def test_an_ingress_names_its_services_in_the_new_way() -> None:
    backend = {"serviceName": "s", "servicePort": 80}
    old = {"backend": backend, "rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}, {"host": "h"}]}
    new = {"service": {"name": "s", "port": {"number": 80}}}
    assert converted("networking.k8s.io/v1beta1", "Ingress", old)["spec"] == {
        "defaultBackend": new,
        "rules": [
            {"http": {"paths": [{"path": "/", "pathType": "ImplementationSpecific", "backend": new}]}},
            {"host": "h"},
        ],
    }


def test_a_definition_has_its_schema_in_each_version() -> None:
    old = {
        "group": "g",
        "version": "v1",
        "validation": {"openAPIV3Schema": {"type": "object"}},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Age", "type": "date", "JSONPath": ".a"}],
    }
    made = converted("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", old)
    assert made["spec"] == {
        "group": "g",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Age", "type": "date", "jsonPath": ".a"}],
            }
        ],
    }


def test_lists_are_taken_apart_and_empty_documents_skipped() -> None:
    text = "---\n# nothing\n---\nkind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: Pod}\n---\n{}\n"
    assert [rendered.identity.kind for rendered in read_objects("t.yaml", text)] == ["Pod"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", "document 1 of the result is not an object"),
        ("a: b", "document 1 of the result has no apiVersion"),
        ("apiVersion: v1\nkind: Pod\nmetadata: x", "metadata is not an object"),
        ("a: b\n  c: [d", "in line 2 of the result: 'c: \\[d'"),
    ],
)
def test_what_is_no_object_is_named_with_its_template(text: str, words: str) -> None:
    with pytest.raises(TemplateProblem, match=words):
        list(read_objects("t.yaml", text))

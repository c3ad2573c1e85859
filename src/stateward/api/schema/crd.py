"""The CustomResourceDefinitions: what the API server needs to know about the kinds of Stateward."""

import inspect

from stateward.api.schema.custom_resources import Kind
from stateward.api.schema.rules import RULES
from stateward.api.schema.schema import field_schema
from stateward.api.values.base import GROUP, VERSION, Json

ROOT_FIELDS = {
    "api_version": f"Version of the schema of the object, {GROUP}/{VERSION}.",
    "kind": "Kind of the object.",
    "metadata": "Standard metadata of Kubernetes objects; objects that belong to this one are named after it.",
}
"""What the fields are that every object of Kubernetes has."""


def crd(kind: Kind) -> Json:
    """Return the CustomResourceDefinition of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}", "labels": {"app.kubernetes.io/name": "stateward"}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": _names(kind),
            "versions": [_version(kind)],
        },
    }


def _names(kind: Kind) -> Json:
    return {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.singular,
        **({"shortNames": list(kind.short)} if kind.short else {}),
        "categories": ["all", "stateward"] if kind.everyday else ["stateward"],
    }


def _version(kind: Kind) -> Json:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        **_subresources(kind),
        "additionalPrinterColumns": [column.document() for column in kind.columns],
        "schema": {"openAPIV3Schema": root_schema(kind)},
    }


def _subresources(kind: Kind) -> Json:
    found = {
        **({"status": {}} if "status" in kind.record.__struct_fields__ else {}),
        **({"scale": kind.scale.document()} if kind.scale is not None else {}),
    }
    return {"subresources": found} if found else {}


def root_schema(kind: Kind) -> Json:
    """Return the schema of a whole object: the record's, with the parts that belong to Kubernetes."""
    return {
        "description": inspect.getdoc(kind.record),
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": {
            "apiVersion": {"description": ROOT_FIELDS["api_version"], "type": "string"},
            "kind": {"description": ROOT_FIELDS["kind"], "type": "string"},
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": kind.longest_name}},
            },
            "spec": field_schema(kind.record, "spec", RULES),
            **({"status": _status(kind)} if "status" in kind.record.__struct_fields__ else {}),
        },
        **_rules(kind),
    }


def _status(kind: Kind) -> Json:
    """Return the schema of the status, which begins with a generation that no object has.

    By the rules of kstatus, an object without a status is finished: tools that wait would not wait for an operator that
    has not seen it yet.
    """
    return {**field_schema(kind.record, "status", RULES), "default": {"observedGeneration": 0}}


def _rules(kind: Kind) -> Json:
    rules = [rule.document() for rule in RULES.get(kind.record, ())]
    return {"x-kubernetes-validations": rules} if rules else {}

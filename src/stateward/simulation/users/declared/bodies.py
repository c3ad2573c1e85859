"""The objects that users of a world declare, and bodies for them: valid ones, and some that the database refuses."""

from stateward.api.values.base import Json
from stateward.simulation.world.declared_objects import ROOTS

TOKEN_SECRET, TOKEN_KEY = "pipeline-token", "token"
REPOSITORY = "backup"
INDEX = "first-0"
"""The index with the alias."""
_NAMES = {
    "componentTemplate": "parts",
    "indexTemplate": "logs",
    "ingestPipeline": "clean",
    "role": "reader",
    "snapshotRepository": REPOSITORY,
    "ismPolicy": "keep",
    "ilmPolicy": "keep",
}


def labels(engine: str) -> list[str]:
    """Return the objects that the users of an engine declare."""
    return [*(f"{kind}/{_NAMES[kind]}" for kind in ROOTS[engine]), f"alias/{INDEX}/recent"]


def name_of(label: str) -> str:
    """Return the name of the resource that declares an object."""
    return label.rsplit("/", 1)[-1]


def spec_of(engine: str, label: str, number: int) -> Json:
    """Return the body of an object and the values of it that come from Secrets; another one for each number."""
    kind = label.partition("/")[0]
    right = f"right-{number}"
    bodies: dict[str, Json] = {
        "componentTemplate": {"template": {"settings": {"number_of_shards": number}}},
        "indexTemplate": {"index_patterns": ["logs-*"], "priority": number, "composed_of": ["parts"]},
        "ingestPipeline": {"description": f"version {number}", "processors": [{"set": {"field": "t", "value": ""}}]},
        "role": {"cluster_permissions": [right]} if engine == "opensearch" else {"cluster": [right]},
        "ismPolicy": {"policy": {"description": f"version {number}"}},
        "ilmPolicy": {"policy": {"phases": {"delete": {"min_age": f"{number}d", "actions": {}}}}},
        "snapshotRepository": {
            "type": "fs",
            "settings": {"location": "/backup", "max_snapshot_bytes_per_sec": f"{number}mb"},
        },
        "alias": {"filter": {"term": {"level": number}}},
    }
    return {"body": bodies[kind], **_values("/processors/0/set/value" if kind == "ingestPipeline" else "")}


def refused_spec(label: str) -> Json | None:
    """Return a body that the database refuses, in words that repeat the value of a Secret; None if it has none."""
    kind = label.partition("/")[0]
    if kind == "indexTemplate":
        return {"body": {"index_patterns": []}}
    if kind == "ingestPipeline":
        processor = {"set": {"field": "t", "value": "x", "media_type": ""}}
        return {"body": {"processors": [processor]}, **_values("/processors/0/set/media_type")}
    return None


def _values(path: str) -> Json:
    return {"values": [{"secretName": TOKEN_SECRET, "key": TOKEN_KEY, "path": path}] if path else None}

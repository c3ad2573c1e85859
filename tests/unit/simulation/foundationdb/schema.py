"""Whether a document is one that the schema of FoundationDB's status allows.

In the schema an example stands for its type, `$map` for any key and `$enum` for one of some words. No key is required.
"""

import json
from pathlib import Path
from typing import Any

OWN = Path(__file__).parents[2] / "engines/data/foundationdb"


def schema() -> Any:
    return json.loads((OWN / "status-schema.json").read_text(encoding="utf-8"))


def sample(name: str) -> Any:
    return json.loads((OWN / name).read_text(encoding="utf-8"))


def problems(document: Any, allowed: Any, path: str = "") -> list[str]:
    """Return where a document is none of its schema."""
    if isinstance(allowed, dict):
        return in_map(document, allowed, path)
    if isinstance(allowed, list) and isinstance(document, list):
        return [p for item in document for p in (problems(item, allowed[0], path) if allowed else [])]
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (document, allowed))
    return [] if numbers or type(allowed) is type(document) else [f"{path}: {document!r} is no {type(allowed)}"]


def in_map(document: Any, allowed: dict[str, Any], path: str) -> list[str]:
    if "$enum" in allowed:
        return [] if document in allowed["$enum"] else [f"{path}: {document!r} is none of {allowed['$enum']}"]
    if not isinstance(document, dict):
        return [f"{path}: {document!r} is no map"]
    if "$map" in allowed:
        return [p for key, value in document.items() for p in problems(value, allowed["$map"], f"{path}.*{key}")]
    unknown = [f"{path}.{key} is not in the schema" for key in document if key not in allowed]
    known = [key for key in document if key in allowed]
    return [*unknown, *(p for key in known for p in problems(document[key], allowed[key], f"{path}.{key}"))]


def unusual(found: list[str]) -> list[str]:
    """Leave out what real documents say against their own schema: classes of processes that it forgets."""
    return [problem for problem in found if ".class_type: " not in problem]

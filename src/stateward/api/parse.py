"""Converts bytes or a loaded document into a cluster; reports all problems, by path, value and what is accepted."""

from typing import cast

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.schema.crd import root_schema
from stateward.api.schema.custom_resources import CLUSTER_KINDS
from stateward.api.schema.structure import check_structure, without_nulls
from stateward.api.values.base import API_VERSION, Json
from stateward.api.values.problem import Problem

_RECORDS = {kind.name: cast("type[Cluster]", kind.record) for kind in CLUSTER_KINDS}
_SCHEMAS = {kind.record: root_schema(kind) for kind in CLUSTER_KINDS}


class InvalidDocumentError(ValueError):
    """A document that is no cluster; `problems` is never empty."""

    def __init__(self, problems: list[Problem]) -> None:
        """Keep the problems, and say them one to a line."""
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def decode_cluster(data: bytes) -> Cluster:
    """Return the cluster in a JSON text; raise `InvalidDocumentError` with every problem."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidDocumentError([Problem("", data[:40], f"must be a JSON object: {error}")]) from error
    return convert_cluster(document)


def convert_cluster(document: object) -> Cluster:
    """Return the cluster in a loaded document (JSON or YAML); unknown fields are refused.

    Raises `InvalidDocumentError` with every problem.
    """
    record = record_of(document)
    pruned = without_nulls(document, _SCHEMAS[record])
    problems = check_structure(pruned, record) + _identity(pruned)
    if problems:
        raise InvalidDocumentError(problems)
    try:
        return msgspec.convert(pruned, record)
    except msgspec.ValidationError as error:
        raise InvalidDocumentError([_translated(error)]) from error


def record_of(document: object) -> type[Cluster]:
    """Return the record of a document's kind; one of no known kind is read as what people mean most."""
    kind = cast("Json", document).get("kind") if isinstance(document, dict) else None
    return _RECORDS.get(kind, OpenSearchCluster) if isinstance(kind, str) else OpenSearchCluster


def _identity(document: object) -> list[Problem]:
    """Check what every object of Kubernetes begins with."""
    if not isinstance(document, dict):
        return []
    wanted = {"apiVersion": (API_VERSION,), "kind": tuple(_RECORDS)}
    found = cast("Json", document)
    problems = [
        Problem(key, found.get(key), f"must be {' or '.join(values)}")
        for key, values in wanted.items()
        if found.get(key) not in values
    ]
    metadata = found.get("metadata")
    if isinstance(metadata, dict) and not cast("Json", metadata).get("name"):
        problems.append(Problem("metadata.name", None, "is required: the name of the cluster"))
    return problems


def _translated(error: msgspec.ValidationError) -> Problem:
    """Parse msgspec's own sentence, `what - at `$.path``, for the few errors that `check_structure` does not find."""
    what, _, at = str(error).partition(" - at ")
    return Problem(at.strip("`").removeprefix("$").lstrip("."), None, what[:1].lower() + what[1:])

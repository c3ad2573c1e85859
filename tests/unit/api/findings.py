"""What is found wrong with a cluster, as tests of the validation ask for it."""

from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.validation import validate
from stateward.api.values.problem import Severity


def pool(name: str = "all", replicas: int = 3, **fields: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, **fields}


def found(of: Cluster, severity: Severity = Severity.ERROR) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in validate(of) if problem.severity is severity]


def only(of: Cluster, severity: Severity = Severity.ERROR) -> tuple[str, str]:
    problems = found(of, severity)
    assert len(problems) == 1, problems
    return problems[0]

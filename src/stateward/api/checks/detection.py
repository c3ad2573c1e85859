"""Checks the spec's settings of the detection CronJob, which runs in the operator's namespace.

The author of a cluster has no rights there. So only listed fields are accepted, one by one, and all others are
reported: an invalid field, or one stored under an older definition, does not change the CronJob.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.shapes import DETECTION, check_shape
from stateward.api.values.base import GROUP, Json
from stateward.api.values.problem import Problem
from stateward.api.values.quantity import QuantityError, parse_quantity

PATH = "spec.replacement.detection"
_CONTROL = (GROUP, "kubernetes.io", "k8s.io")
"""Domains whose labels and annotations programs use to find objects; their subdomains count as well."""
MOST = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}
"""What a detection may get at most. In the operator's namespace no quota of the author's namespace counts."""


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield what is wrong with `spec.replacement.detection`."""
    policy = cluster.spec.replacement
    if policy is not None and policy.detection is not None:
        yield from sorted_out(policy.detection)[1]


def sorted_out(detection: Json) -> tuple[Json, list[Problem]]:
    """Return the fields that are taken, and what is wrong with those that are not; a field is taken whole or not."""
    taken: Json = {}
    problems: list[Problem] = []
    for name, value in detection.items():
        wrong = list(check_shape(DETECTION, {name: value}, PATH))
        if name in ("labels", "annotations") and not wrong and value is not None:
            wrong = list(_controls(f"{PATH}.{name}", cast("Mapping[str, str]", value)))
        if name == "resources" and not wrong and value is not None:
            wrong = list(_excess(f"{PATH}.{name}", cast("Mapping[str, Mapping[str, str | int] | None]", value)))
        problems += wrong
        if not wrong and value is not None:
            taken[name] = value
    return taken, problems


def _excess(path: str, resources: Mapping[str, Mapping[str, str | int] | None]) -> Iterator[Problem]:
    for group, amounts in resources.items():
        for name, value in (amounts or {}).items():
            at = f"{path}.{group}[{name}]"
            if (most := MOST.get(name)) is None:
                yield Problem(at, value, f"cannot be set; accepted are {', '.join(MOST)}")
            elif not _at_most(str(value), most):
                yield Problem(
                    at, value, f"must be at most {most}: it is in the operator's namespace, without your quota"
                )


def _at_most(value: str, most: str) -> bool:
    try:
        return parse_quantity(value) <= parse_quantity(most)
    except QuantityError:
        return False


def _controls(path: str, values: Mapping[str, str]) -> Iterator[Problem]:
    for key, value in values.items():
        domain = key.partition("/")[0].lower() if "/" in key else ""
        if any(domain == mine or domain.endswith(f".{mine}") for mine in _CONTROL):
            yield Problem(
                f"{path}[{key}]",
                value,
                f"cannot be set: programs act by names in {', '.join(_CONTROL)}; accepted are names of other domains",
            )

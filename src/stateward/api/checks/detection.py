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

PATH = "spec.replacement.detection"
_CONTROL = (GROUP, "kubernetes.io", "k8s.io")
"""Domains whose labels and annotations programs use to find objects; their subdomains count as well."""


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
        problems += wrong
        if not wrong and value is not None:
            taken[name] = value
    return taken, problems


def _controls(path: str, values: Mapping[str, str]) -> Iterator[Problem]:
    for key, value in values.items():
        domain = key.partition("/")[0].lower() if "/" in key else ""
        if any(domain == mine or domain.endswith(f".{mine}") for mine in _CONTROL):
            yield Problem(
                f"{path}[{key}]",
                value,
                f"cannot be set: programs act by names in {', '.join(_CONTROL)}; accepted are names of other domains",
            )

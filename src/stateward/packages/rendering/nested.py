"""Packages that install others: which version of the other, under which name, with which values."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from stateward.api.values.base import API_VERSION, GROUP, Json
from stateward.packages.format import yamltext
from stateward.packages.format.records import Task, TaskKind
from stateward.packages.rendering.objects import Identity
from stateward.packages.rendering.rendering import Place, Use
from stateward.packages.rendering.step_budget import Allowance
from stateward.packages.rendering.templates import TemplateProblem, render


@dataclass(frozen=True, slots=True)
class Offer:
    """An available package: the name of its object, its own name and its versions."""

    object: str
    name: str
    version: str
    app_version: str = ""


def pick(offers: Iterable[Offer], task: Task) -> Offer | None:
    """Return the newest offer that a task asks for; None if there is none."""
    spec = task.spec
    fitting = [
        offer
        for offer in offers
        if offer.name == spec.package
        and spec.operator_version in ("", offer.version)
        and spec.app_version in ("", offer.app_version)
    ]
    return max(fitting, key=lambda offer: _order(offer.version), default=None)


_VERSION = re.compile(r"v?([0-9]{1,18}(?:\.[0-9]{1,18})*)(?:-([^+]+))?(?:\+(.*))?")
_Part = tuple[bool, int, str]


def _order(version: str) -> tuple[list[int], bool, list[_Part], str]:
    """Sort as semantic versions: numbers as numbers, a pre-release before its release, a build only among equals."""
    found = _VERSION.fullmatch(version)
    # What is no version comes before all that are.
    numbers, before, build = found.groups(default="") if found is not None else ("0", version, "")
    plain = [int(part) for part in numbers.split(".")]
    whole = [*plain, 0, 0][: max(3, len(plain))]  # 1.2 is 1.2.0.
    return whole, not before, [_part(part) for part in before.split(".")], build


def _part(part: str) -> _Part:
    """Sort the parts of a pre-release: numbers come before words."""
    number = re.fullmatch("[0-9]{1,18}", part) is not None
    return not number, int(part) if number else 0, part


def nested_name(installation: str, task: Task) -> str:
    """Return the name of the installation that a task creates."""
    return task.spec.instance_name or f"{installation}-{task.spec.package}"


def nested(use: Use, place: Place, task: Task, offer: Offer, allowance: Allowance | None = None) -> Json:
    """Return the installation that a task creates; raises TemplateProblem, BadValue, Spent."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Installation",
        "metadata": {"name": nested_name(use.name, task)},
        "spec": {"package": offer.object, "parameters": dict(_values(use, place, task, allowance))},
    }


def _values(use: Use, place: Place, task: Task, allowance: Allowance | None) -> Mapping[str, Any]:
    name = task.spec.parameter_file
    if not name:
        return {}
    variables = use.variables(place.plan, place.phase, place.step.name)
    text = render(name, use.package.templates[name], variables, allowance)
    try:
        if allowance is not None:
            allowance.take("nodes", yamltext.nodes(text, min(yamltext.MOST_NODES, allowance.nodes + 1)))
        found = yamltext.document(text)
    except yamltext.NotYaml as error:
        wrong = "does not render to YAML: "
        raise TemplateProblem(name, error.line, f"{wrong}{error.message}", f"{wrong}{error.public}") from error
    if found is not None and not isinstance(found, dict):
        raise TemplateProblem(name, 0, "must render to an object of values by the names of parameters")
    return cast("dict[str, Any]", found or {})


def nested_identities(use: Use) -> frozenset[Identity]:
    """Return the installations that a package creates, in any plan."""
    tasks = (task for task in use.package.operator.tasks if task.kind is TaskKind.OPERATOR)
    return frozenset(Identity(GROUP, "Installation", use.namespace, nested_name(use.name, task)) for task in tasks)

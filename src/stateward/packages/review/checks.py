"""The errors and doubts of a package before its installation, by file and field.

Errors can never work. Warnings work and were probably not meant, or work only because Stateward corrects them (removed
API versions).
"""

import re
from collections.abc import Iterator

from stateward.api.values.problem import Problem, Severity
from stateward.packages.format.parameters import BadValue, check_value, seen
from stateward.packages.format.reading import OPERATOR, PARAMETERS, TEMPLATES
from stateward.packages.format.records import Package, Parameter, ParameterType, Plan, Task, TaskKind
from stateward.packages.rendering.inspection import inspect
from stateward.packages.rendering.pipes import pipe_name
from stateward.packages.rendering.rendering import FALSE, TRUE
from stateward.packages.rendering.shapes import root_of
from stateward.packages.rendering.templates import TemplateProblem, parse
from stateward.packages.review.sampling import check_rendered

PLAN_DEPLOY = "deploy"
MOST_STEPS = 1000
"""Steps of a plan. Each is in the status of its installation, which is written after each step."""


def check_package(package: Package, *, unused: bool = True) -> list[Problem]:
    """Return everything that is wrong or doubtful.

    Without `unused`, branches that the values do not take, and plans that no user can request, are not checked: a
    package that works is not refused for them.
    """
    problems = [
        *check_name(package.name),
        *_versions(package),
        *(_plan_names(package) if unused else ()),
        *_plans(package),
        *_tasks(package),
        *_namespace(package),
        *_parameters(package),
        *_templates(package, every_branch=unused),
        *_unused(package),
    ]
    if not any(problem.severity is Severity.ERROR for problem in problems):
        problems += check_rendered(package)
    return list({(problem.path, problem.message): problem for problem in problems}.values())


def check_references(package: Package) -> list[Problem]:
    """Return the names of files, tasks, plans and parameters that lead nowhere: with one of them nothing can run."""
    found = [*_plans(package), *_tasks(package), *_namespace(package)]
    return [problem for problem in found if problem.severity is Severity.ERROR]


def check_name(name: str) -> Iterator[Problem]:
    """Yield the problems of a package's name, which is a label of everything it creates."""
    if not re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", name):
        accepted = (
            "must be at most 63 letters, digits, dashes, dots and underscores, with a letter or digit at each end"
        )
        yield Problem(f"{OPERATOR}: name", name, accepted)


def _versions(package: Package) -> Iterator[Problem]:
    """Versions become parts of file names, tags and names of objects."""
    if len(package.version) > 63 or not _SEMANTIC.fullmatch(package.version):
        accepted = "must be a semantic version of at most 63 characters, such as 1.2.0 or 1.2.0-rc.1"
        yield Problem(f"{OPERATOR}: operatorVersion", package.version, accepted)
    app = package.operator.app_version
    if app and not _APP_VERSION.fullmatch(app):
        accepted = (
            "must begin with a letter or digit, and be at most 63 letters, digits, dashes, dots, underscores and +"
        )
        yield Problem(f"{OPERATOR}: appVersion", app, accepted)


_SEMANTIC = re.compile(
    r"v?[0-9]+(\.[0-9]+){0,2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
"""As the format's own tools accept it: the last numbers may be missing."""
_APP_VERSION = re.compile("[A-Za-z0-9][-+._A-Za-z0-9]{0,62}")


def _plans(package: Package) -> Iterator[Problem]:
    plans = package.operator.plans
    if PLAN_DEPLOY not in plans:
        yield Problem(f"{OPERATOR}: plans", ", ".join(plans), "must have a plan `deploy`: it installs the package")
    for name, plan in plans.items():
        yield from _plan(package, name, plan)


def _plan_names(package: Package) -> Iterator[Problem]:
    """Yield the names that no request for a plan can have: what follows its first slash is not of the name."""
    for name in package.operator.plans:
        if not name or name != name.strip() or "/" in name or not name.isprintable():
            accepted = (
                "must be a name without slashes, line ends, and spaces at its ends: a request"
                " (stateward.dev/run-plan) names the plan before its first slash"
            )
            yield Problem(f"{OPERATOR}: plans", name, accepted)


def _plan(package: Package, name: str, plan: Plan) -> Iterator[Problem]:
    at = f"{OPERATOR}: plans.{name}"
    tasks = {task.name for task in package.operator.tasks}
    if not plan.phases:
        yield Problem(f"{at}.phases", None, "is empty: the plan does nothing", Severity.WARNING)
    if (steps := sum(len(phase.steps) for phase in plan.phases)) > MOST_STEPS:
        yield Problem(at, None, f"has {steps} steps, and may have {MOST_STEPS}: put several tasks into one step")
        return
    yield from _twice(f"{at}.phases", [phase.name for phase in plan.phases])
    for i, phase in enumerate(plan.phases):
        where = f"{at}.phases[{i}].steps"
        yield from _twice(where, [step.name for step in phase.steps])
        for j, step in enumerate(phase.steps):
            for k, task in enumerate(step.tasks):
                if task not in tasks:
                    yield Problem(f"{where}[{j}].tasks[{k}]", task, f"is not a task; there are {_listed(tasks)}")


def _namespace(package: Package) -> Iterator[Problem]:
    if name := package.operator.namespace_manifest:
        yield from _template(package, f"{OPERATOR}: namespaceManifest", name)


def _twice(at: str, names: list[str]) -> Iterator[Problem]:
    for i, name in enumerate(names):
        if not name:
            yield Problem(f"{at}[{i}].name", name, "is required")
        elif name in names[:i]:
            yield Problem(f"{at}[{i}].name", name, "is listed twice")


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _tasks(package: Package) -> Iterator[Problem]:
    tasks = package.operator.tasks
    yield from _twice(f"{OPERATOR}: tasks", [task.name for task in tasks])
    used = {name for plan in package.operator.plans.values() for p in plan.phases for s in p.steps for name in s.tasks}
    for i, task in enumerate(tasks):
        yield from _task(package, f"{OPERATOR}: tasks[{i}]", task)
        if task.name not in used:
            yield Problem(f"{OPERATOR}: tasks[{i}].name", task.name, "is in no plan", Severity.WARNING)


def _task(package: Package, at: str, task: Task) -> Iterator[Problem]:
    spec = task.spec
    if task.kind in (TaskKind.APPLY, TaskKind.DELETE, TaskKind.TOGGLE):
        if not spec.resources:
            yield Problem(f"{at}.spec.resources", None, f"is required by a task of kind {task.kind}")
        for i, resource in enumerate(spec.resources):
            yield from _template(package, f"{at}.spec.resources[{i}]", resource)
    if task.kind is TaskKind.TOGGLE:
        yield from _toggle(package, f"{at}.spec.parameter", spec.parameter)
    if task.kind is TaskKind.PIPE:
        yield from _pipe(package, at, task)
    if task.kind is TaskKind.OPERATOR:
        if not spec.package:
            yield Problem(f"{at}.spec.package", None, "is required: the name of the package to install")
        if spec.parameter_file:
            yield from _template(package, f"{at}.spec.parameterFile", spec.parameter_file)


def _toggle(package: Package, at: str, name: str) -> Iterator[Problem]:
    parameter = package.parameters.get(name)
    if parameter is None:
        yield Problem(at, name, f"is not a parameter; it must be one of {PARAMETERS} that is true or false")
        return
    try:
        value = seen(parameter, None)
    except BadValue:
        return
    if not isinstance(value, str) or (value not in TRUE | FALSE and (value or not parameter.owed)):
        yield Problem(at, name, f"must be a parameter that is true or false; its default is {value!r}")


def _pipe(package: Package, at: str, task: Task) -> Iterator[Problem]:
    yield from _template(package, f"{at}.spec.pod", task.spec.pod)
    if not task.spec.pipe:
        yield Problem(f"{at}.spec.pipe", None, "is required: the files that the pod makes")
    keys = [pipe_name("", file.key) for other in package.operator.tasks for file in other.spec.pipe]
    for i, file in enumerate(task.spec.pipe):
        if keys.count(pipe_name("", file.key)) > 1:
            said = "is the key of two files, or differs from another only in its spelling; one of the two would be lost"
            yield Problem(f"{at}.spec.pipe[{i}].key", file.key, said)
        if bool(file.file) == bool(file.env_file):
            yield Problem(f"{at}.spec.pipe[{i}]", file.key, "must have either a file or an envFile")


def _template(package: Package, at: str, name: str) -> Iterator[Problem]:
    if name not in package.templates:
        yield Problem(at, name, f"is not a file below {TEMPLATES}")


def _parameters(package: Package) -> Iterator[Problem]:
    folded: dict[str, str] = {}
    for i, parameter in enumerate(package.parameters.values()):
        at = f"{PARAMETERS}: parameters[{i}]"
        yield from _parameter_name(f"{at}.name", parameter.name, folded)
        if parameter.trigger and parameter.trigger not in package.operator.plans:
            plans = ", ".join(package.operator.plans)
            yield Problem(f"{at}.trigger", parameter.trigger, f"is not a plan; there are {plans}")
        yield from _default(at, parameter)


def _parameter_name(at: str, name: str, folded: dict[str, str]) -> Iterator[Problem]:
    if not name or re.search(r"[;,=\s]", name):
        yield Problem(at, name, "must be a name without semicolons, commas, equals signs and spaces")
    if (other := folded.setdefault(name.casefold(), name)) != name:
        yield Problem(at, name, f"differs from {other} only in upper and lower case; give it another name")


def _default(at: str, parameter: Parameter) -> Iterator[Problem]:
    if parameter.enum is not None and not parameter.enum:
        yield Problem(f"{at}.enum", None, "must have a value")
        return
    try:
        for choice in parameter.enum or ():
            seen(parameter, choice)
    except BadValue as error:
        yield Problem(f"{at}.enum", str(error), f"must be values of type {parameter.type}")
        return
    if parameter.default is not None:
        for problem in check_value(parameter, parameter.default):
            yield Problem(f"{at}.default", problem.value, problem.message)
    if parameter.type is ParameterType.STRING and isinstance(parameter.default, float):
        text = f"is a number without quotes: templates see {seen(parameter, None)}"
        yield Problem(f"{at}.default", parameter.default, text, Severity.WARNING)


def _templates(package: Package, *, every_branch: bool) -> Iterator[Problem]:
    root, used = root_of(package), _used(package)
    for name, source in package.templates.items():
        try:
            parse(name, source)
        except TemplateProblem as error:
            at = f"{TEMPLATES}{name}:{error.line}" if error.line else f"{TEMPLATES}{name}"
            yield Problem(at, None, error.message)
            continue
        for finding in inspect(source, root) if every_branch else ():
            mild = finding.doubtful or name not in used
            severity = Severity.WARNING if mild else Severity.ERROR
            yield Problem(f"{TEMPLATES}{name}:{finding.line}", None, finding.message, severity)


def _used(package: Package) -> set[str]:
    tasks = package.operator.tasks
    named = {name for task in tasks for name in (*task.spec.resources, task.spec.pod, task.spec.parameter_file)}
    return named | {package.operator.namespace_manifest}


def _unused(package: Package) -> Iterator[Problem]:
    text = "\n".join(package.templates.values())
    toggles = {task.spec.parameter for task in package.operator.tasks}
    for i, parameter in enumerate(package.parameters.values()):
        if parameter.name not in text and parameter.name not in toggles and not parameter.trigger:
            yield Problem(f"{PARAMETERS}: parameters[{i}]", parameter.name, "is used nowhere", Severity.WARNING)
    named = _used(package)
    for name in package.templates:
        if name not in named:
            yield Problem(f"{TEMPLATES}{name}", None, "is used by no task", Severity.WARNING)

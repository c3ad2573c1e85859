"""What `verify` finds: all of it, each by file and field; and nothing in a package that is well."""

from pathlib import Path

import pytest

from stateward.api.values.problem import Severity
from stateward.packages.format.parameters import BadValue
from stateward.packages.format.reading import read_package
from stateward.packages.format.records import Package
from stateward.packages.rendering.objects import Identity
from stateward.packages.rendering.rendering import Use
from stateward.packages.rendering.step_objects import render_plan
from stateward.packages.review.checks import check_package, check_references
from stateward.packages.review.sampling import sample
from tests.unit.packages.samples import OPERATOR, PARAMS, shop

SHARED = Path(__file__).parents[5] / "shared/data/packages"
"""Third-party packages, if they exist next to the checkout."""


PIPES = """\
- name: piped
  kind: Pipe
  spec:
    pod: job.yaml
    pipe: [{kind: Secret, key: the-key, file: a}, {kind: Secret, key: theKey, file: b}]
"""


def found(package: Package) -> list[str]:
    return [f"{problem.severity}: {problem}" for problem in check_package(package)]


def test_a_package_that_is_well_has_no_findings() -> None:
    assert found(shop()) == []


@pytest.mark.parametrize(("steps", "told"), [(1000, []), (1001, ["operator.yaml: plans.more: has 1001 steps"])])
def test_a_plan_with_very_many_steps_is_refused(steps: int, told: list[str]) -> None:
    """Disaster prevented: its status has a megabyte, and is written thousands of times."""
    named = ", ".join(f"{{name: s{number}, tasks: [app]}}" for number in range(steps))
    plan = f"plans:\n  more: {{phases: [{{name: p, steps: [{named}]}}]}}\n"
    errors = [str(each) for each in check_references(shop(operator=("plans:\n", plan)))]
    assert [each.partition(", and")[0] for each in errors] == told


@pytest.mark.parametrize("name", ["re-size", "back_up.daily", "2", "back up", "Größe"])
def test_a_plan_that_users_can_request_may_have_any_name(name: str) -> None:
    package = shop(operator=("  backup:\n", f'  "{name}":\n'), params=("trigger: backup", f'trigger: "{name}"'))
    assert found(package) == []


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (shop(operator=("name: shop", "name: my shop")), "operator.yaml: name: 'my shop': must be at most 63 letters"),
        (shop(operator=("  deploy:\n", "  install:\n")), "operator.yaml: plans: 'install, backup': must have a plan"),
        (shop(operator=("  backup:\n", '  "":\n')), "operator.yaml: plans: '': must be a name without"),
        (
            shop(operator=("  backup:\n", "  back/up:\n")),
            "operator.yaml: plans: 'back/up': must be a name without slashes",
        ),
        (shop(operator=("  backup:\n", '  " backup":\n')), "operator.yaml: plans: ' backup': must be a name without"),
        (shop(operator=("  backup:\n", '  "a\\nb":\n')), "operator.yaml: plans: 'a\\nb': must be a name without"),
        (
            shop(operator=("tasks: [app, extra]", "tasks: [apps]")),
            "steps[0].tasks[0]: 'apps': is not a task; there are",
        ),
        (
            shop(operator=('"1.2.0"', "../../x")),
            "operator.yaml: operatorVersion: '../../x': must be a semantic version of at most 63 characters, such as",
        ),
        (shop(operator=('"1.2.0"', "latest")), "operator.yaml: operatorVersion: 'latest': must be a semantic version"),
        (shop(operator=('"1.2.0"', "1.2.0-")), "operator.yaml: operatorVersion: '1.2.0-': must be a semantic version"),
        (shop(operator=("5.10", "../5")), "operator.yaml: appVersion: '../5': must begin with a letter or digit"),
        (shop(params=("name: RATE", "name: A;B")), "params.yaml: parameters[6].name: 'A;B': must be a name without"),
        (shop(params=("name: RATE", 'name: "A,B"')), "params.yaml: parameters[6].name: 'A,B': must be a name without"),
        (
            shop(params=("name: RATE", "name: Count")),
            "params.yaml: parameters[6].name: 'Count': differs from COUNT only in upper and lower case",
        ),
        (shop({"operator.yaml": f"{OPERATOR}namespaceManifest: no.yaml\n"}), "namespaceManifest: 'no.yaml': is not a"),
        (
            shop({"operator.yaml": f"{OPERATOR}namespaceManifest: extra.yaml\n"}),
            "templates/extra.yaml: must render to one Namespace, because it is namespaceManifest; it renders Service",
        ),
        (
            shop(operator=("tasks: [away]", "tasks: [away, job]")),
            "templates/job.yaml: Job deploy-job is applied and deleted in step main/away; one of the two would be lost",
        ),
        (
            shop(
                {"params.yaml": PARAMS + "- {name: OWED}\n"},
                operator=("      strategy: serial\n      steps", "      strategy: parallel\n      steps"),
            ),
            "templates/job.yaml: Job deploy-job is applied and deleted in the steps main/job and main/away, which run",
        ),
        (
            shop({"operator.yaml": OPERATOR.replace("plans:", PIPES + "plans:", 1)}),
            "operator.yaml: tasks[4].spec.pipe[1].key: 'theKey': is the key of two files",
        ),
        (shop(operator=("[extra.yaml]", "[other.yaml]")), "tasks[1].spec.resources[0]: 'other.yaml': is not a file"),
        (shop(operator=("parameter: EXTRA", "parameter: X")), "tasks[1].spec.parameter: 'X': is not a parameter"),
        (shop(operator=("parameter: EXTRA", "parameter: MODE")), "must be a parameter that is true or false; its"),
        (
            shop(params=("type: boolean, default: false", "required: false")),
            "must be a parameter that is true or false; its default is ''",
        ),
        (shop(extra=("name: ", "generateName: ")), "has no metadata.name (generateName is not enough)"),
        (shop(operator=("resources: [job.yaml]", "resources: []")), "is required by a task of kind Delete"),
        (shop(operator=("name: extra", "name: app")), "operator.yaml: tasks[1].name: 'app': is listed twice"),
        (
            shop(params=("trigger: backup", "trigger: backups")),
            "trigger: 'backups': is not a plan; there are deploy, backup",
        ),
        (
            shop(params=("default: 2", "default: two")),
            "params.yaml: parameters[0].default: 'two': must be a whole number",
        ),
        (shop(params=("default: slow", "default: slower")), "default: 'slower': must be one of slow, fast"),
        (shop(params=("[slow, fast]", "[]")), "params.yaml: parameters[2].enum: must have a value"),
        (shop(config=("| quote", "| quot")), "templates/config.yaml:7: function 'quot' not defined"),
        (shop(config=("kind: ConfigMap\n", "")), "document 1 of the result has no kind"),
        (shop(config=("mode: ", "mode: [")), "does not render to YAML:"),
        (shop(config=("  name: {{ .Name }}-config\n", "")), "templates/config.yaml: 'ConfigMap': has no metadata.name"),
    ],
)
def test_a_fault_is_an_error_that_names_its_place(package: Package, words: str) -> None:
    assert any(words in problem for problem in found(package) if problem.startswith(("error", "warning"))), found(
        package
    )


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (
            shop(job=("{{ .Params.FILE }}", "x"), params=(", trigger: backup", "")),
            "parameters[7]: 'FILE': is used nowhere",
        ),
        (shop({"templates/more.yaml": "a: b"}), "templates/more.yaml: is used by no task"),
        (shop(operator=("tasks: [app, extra]", "tasks: [app]")), "tasks[1].name: 'extra': is in no plan"),
        (shop(params=("enum: [slow, fast], default: slow", "default: 1.10")), "templates see 1.1"),
    ],
)
def test_what_is_only_doubtful_is_a_warning(package: Package, words: str) -> None:
    (problem,) = check_package(package)
    assert words in str(problem)
    assert problem.severity is Severity.WARNING


def test_an_api_version_that_is_gone_is_applied_as_its_successor_and_verify_reports_it() -> None:
    package = shop(
        params=("type: boolean, default: false", "type: boolean, default: true"),
        extra=("apiVersion: v1\nkind: Service", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget"),
    )
    (said,) = found(package)
    assert said.endswith("'PodDisruptionBudget': policy/v1beta1 PodDisruptionBudget is applied as policy/v1")
    bodies = [rendered.body for rendered in render_plan(sample(package), "deploy")]
    assert "policy/v1" in [body["apiVersion"] for body in bodies]


def test_a_plan_renders_what_is_there_when_it_is_done() -> None:
    use = Use(shop(), "web", "prod", {"EXTRA": "true", "COUNT": 5})
    assert [str(rendered.identity) for rendered in render_plan(use, "deploy")] == [
        "ConfigMap prod/web-config",
        "Deployment prod/web",
        "Service web-extra",
    ]
    assert render_plan(use, "deploy")[1].body["spec"]["replicas"] == 5
    assert render_plan(use, "backup")[0].identity == Identity("batch", "Job", "", "backup-job")


@pytest.mark.parametrize(("value", "there"), [("1", True), ("True", True), ("f", False), ("FALSE", False)])
def test_a_toggle_takes_what_it_has_always_taken_for_on_and_off(value: str, there: bool) -> None:
    text = shop(params=("{name: EXTRA, type: boolean, default: false}", "{name: EXTRA, default: 'true'}"))
    names = {rendered.identity.name for rendered in render_plan(Use(text, "web", "prod", {"EXTRA": value}), "deploy")}
    assert ("web-extra" in names) == there


def test_a_toggle_by_a_list_is_refused_by_its_field() -> None:
    listed = shop({"operator.yaml": OPERATOR.replace("parameter: EXTRA", "parameter: HOSTS")})
    assert any(p.path.endswith("spec.parameter") and "true or false" in p.message for p in check_package(listed))


def test_a_toggle_deletes_nothing_for_a_value_that_is_not_valid() -> None:
    text = shop(params=("{name: EXTRA, type: boolean, default: false}", "{name: EXTRA, default: 'true'}"))
    with pytest.raises(BadValue, match=r"EXTRA: 'yes': must be true or false: the task extra is enabled by it"):
        render_plan(Use(text, "web", "prod", {"EXTRA": "yes"}), "deploy")


def test_a_toggle_that_is_off_takes_its_objects_away() -> None:
    names = {rendered.identity.name for rendered in render_plan(Use(shop(), "web", "prod"), "deploy")}
    assert names == {"web-config", "web"}


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"third-party packages are not at {SHARED}")
@pytest.mark.parametrize("name", ["cowsay", "first-operator", "mysql", "redis"])
def test_packages_of_third_parties_are_read_checked_and_rendered_as_they_are(name: str) -> None:
    folder = SHARED / name
    package = read_package({str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    assert [p for p in check_package(package) if p.severity is Severity.ERROR] == []
    for plan in package.operator.plans:
        render_plan(sample(package), plan)


OPTIONAL = f"{PARAMS}- {{name: ONE, required: false}}\n- {{name: TWO, required: false}}\n"


def test_two_equal_keys_are_an_error_also_if_some_parameters_have_no_value() -> None:
    package = shop({"params.yaml": f"{OPTIONAL}- {{name: OWED}}\n"}, config=("  mode: ", "  mode: again\n  mode: "))
    assert any(
        problem.startswith("error: templates/config.yaml: ") and "'mode' twice" in problem for problem in found(package)
    )


def test_keys_that_only_missing_values_make_equal_are_a_warning() -> None:
    keys = '  "x{{ .Params.ONE }}": a\n  "x{{ .Params.TWO }}": b\n  mode: '
    problems = found(shop({"params.yaml": OPTIONAL}, config=("  mode: ", keys)))
    assert [problem.partition(":")[0] for problem in problems if "'x' twice" in problem] == ["warning"]


@pytest.mark.parametrize("version", ["1.2.0", "v1.2.0", "1.2", "1.2.0-rc.1", "1.2.0+build.5"])
def test_versions_that_the_formats_own_tools_accept_are_accepted(version: str) -> None:
    assert found(shop(operator=('"1.2.0"', f'"{version}"'))) == []


def test_two_objects_that_two_required_parameters_name_are_no_conflict() -> None:
    named = "apiVersion: v1\nkind: Service\nmetadata: {{name: {{{{ .Params.{} }}}}}}\nspec: {{ports: [{{port: {}}}]}}\n"
    two = named.format("ONE", 80) + "---\n" + named.format("TWO", 90)
    package = shop({"templates/extra.yaml": two, "params.yaml": f"{PARAMS}- {{name: ONE}}\n- {{name: TWO}}\n"})
    assert found(package) == []

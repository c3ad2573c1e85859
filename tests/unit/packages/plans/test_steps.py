"""What a step wants, how its objects are marked, and what may be pruned."""

import pytest

from stateward.packages.format.records import Package
from stateward.packages.plans.steady_state import standing
from stateward.packages.plans.steps import (
    ANNOTATION_STEP,
    ANNOTATION_VERSION,
    LABEL_INSTALLATION,
    LABEL_PART_OF,
    Work,
    refuse_conflicts_of,
    set_id,
    stamped,
    superfluous,
    work_of,
)
from stateward.packages.rendering.objects import Identity
from stateward.packages.rendering.rendering import Place, Use, places
from stateward.packages.rendering.step_objects import Conflict
from tests.unit.packages.samples import OPERATOR, shop


def use(package: Package | None = None, **values: object) -> Use:
    return Use(package or shop(), "web", "prod", values)


def place(of: Use, step: str, plan: str = "deploy") -> Place:
    return next(found for found in places(of.package, plan) if found.step.name == step)


def work(of: Use, step: str) -> Work:
    return work_of(of, place(of, step))


def names(work: Work) -> tuple[list[str], list[str]]:
    return [r.identity.kind for r in work.apply], [r.identity.kind for r in work.delete]


def test_a_step_applies_what_its_tasks_make_and_takes_away_what_a_toggle_turns_off() -> None:
    assert names(work(use(), "app")) == (["ConfigMap", "Deployment"], ["Service"])
    assert names(work(use(EXTRA=True), "app")) == (["ConfigMap", "Service", "Deployment"], [])
    assert names(work(use(), "away")) == ([], ["Job"])


def test_what_others_use_comes_before_them_whatever_the_package_says() -> None:
    turned = shop(operator=("[config.yaml, app.yaml]", "[app.yaml, config.yaml]"))
    assert names(work(use(turned), "app"))[0] == ["ConfigMap", "Deployment"]


@pytest.mark.parametrize("tasks", ["[away, job]", "[job, away]"])
def test_what_a_step_applies_and_deletes_is_refused_because_one_of_the_two_would_be_lost(tasks: str) -> None:
    both = shop(operator=("tasks: [away]", f"tasks: {tasks}"))
    with pytest.raises(Conflict, match=r"templates/job\.yaml: Job deploy-job is applied and deleted in step main/away"):
        work(use(both), "away")


TWO = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: %s}]}\n"


def test_two_different_objects_of_one_name_in_a_step_are_refused_with_both_files() -> None:
    different = use(shop({"templates/config.yaml": TWO % 80, "templates/app.yaml": TWO % 90}))
    with pytest.raises(Conflict) as error:
        work(different, "app")
    assert str(error.value) == (
        "templates/app.yaml: Service web is rendered twice in step main/app, also by templates/config.yaml;"
        " one of the two would be lost: give one of the two another name"
    )
    within = use(shop({"templates/config.yaml": TWO % 80 + "---\n" + TWO % 90}))
    with pytest.raises(Conflict, match=r"templates/config\.yaml: Service web is rendered twice in step main/app; one"):
        work(within, "app")


def test_the_same_object_twice_loses_nothing() -> None:
    same = use(shop({"templates/config.yaml": TWO % 80, "templates/app.yaml": TWO % 80}))
    assert names(work(same, "app"))[0] == ["Service"]


@pytest.mark.parametrize(("plan", "phase", "refused"), [("serial", "serial", False), ("serial", "parallel", True)])
def test_steps_that_run_at_once_may_not_make_two_objects_of_one_name(plan: str, phase: str, refused: bool) -> None:
    text = OPERATOR.replace("    strategy: serial\n", f"    strategy: {plan}\n", 1)
    of = use(shop({"operator.yaml": text.replace("      strategy: serial\n", f"      strategy: {phase}\n", 1)}))
    works = {each: work_of(of, each) for each in places(of.package, "deploy")}
    if not refused:
        refuse_conflicts_of(of, place(of, "away"), works)
        return
    with pytest.raises(
        Conflict, match="Job deploy-job is applied and deleted in the steps main/job and main/away, which"
    ):
        refuse_conflicts_of(of, place(of, "away"), works)


def test_phases_that_run_at_once_may_not_either() -> None:
    phases = "    phases: [{name: a, steps: [{name: s, tasks: [job]}]}, {name: b, steps: [{name: s, tasks: [away]}]}]\n"
    of = use(shop({"operator.yaml": f"{OPERATOR}  twice:\n    strategy: parallel\n{phases}"}))
    works = {each: work_of(of, each) for each in places(of.package, "twice")}
    with pytest.raises(Conflict, match="in the steps b/s and a/s, which run at once"):
        refuse_conflicts_of(of, next(iter(works)), works)


def test_what_is_more_than_objects_is_handed_on() -> None:
    text = OPERATOR.replace("plans:", "- {name: no, kind: Dummy, spec: {done: true}}\nplans:", 1)
    more = shop({"operator.yaml": text.replace("tasks: [away]", "tasks: [no, away]")})
    assert [task.name for task in work(use(more), "away").others] == ["no"]


def test_pods_get_labels_that_never_change_and_only_the_object_says_what_made_it() -> None:
    of = use()
    at = place(of, "app")
    made = stamped(of, at, work_of(of, at).apply[1].body)
    assert made["metadata"]["labels"][LABEL_INSTALLATION] == "web"
    assert made["metadata"]["annotations"][ANNOTATION_VERSION] == "1.2.0"
    assert made["metadata"]["annotations"][ANNOTATION_STEP] == "app"
    template = made["spec"]["template"]["metadata"]
    assert template["labels"] == {"app": "web", LABEL_INSTALLATION: "web", "stateward.dev/package": "shop"}
    assert "annotations" not in template


def test_another_version_that_changes_nothing_changes_no_template() -> None:
    newer = shop(operator=('operatorVersion: "1.2.0"', 'operatorVersion: "9.0.0"'))
    templates = []
    for of in (use(), use(newer)):
        at = place(of, "app")
        templates.append(stamped(of, at, work_of(of, at).apply[1].body)["spec"])
    assert templates[0] == templates[1]


def test_text_of_a_secret_is_applied_as_data_which_a_later_version_can_take_back() -> None:
    of = use()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": "eA==", "l": "eQ=="}}
    made = stamped(of, place(of, "app"), secret | {"stringData": {"k": "word"}})
    assert made["data"] == {"k": "d29yZA==", "l": "eQ=="}
    assert "stringData" not in made


@pytest.mark.parametrize(
    "wrong",
    [
        {"stringData": {"k": 1}},
        {"stringData": ["k"]},
        {"stringData": {"k": "v"}, "data": 1},
        {"stringData": {"k": "v"}, "apiVersion": "example.com/v1"},
    ],
)
def test_a_secret_that_the_server_has_to_refuse_is_sent_as_it_is(wrong: dict[str, object]) -> None:
    of = use()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, **wrong}
    assert stamped(of, place(of, "app"), secret).items() >= wrong.items()


def test_the_set_is_named_as_the_convention_says() -> None:
    name = set_id("web", "prod")
    assert name.startswith("applyset-")
    assert name.endswith("-v1")
    assert len(name) <= 63
    assert name != set_id("web", "test")
    of = use()
    at = place(of, "app")
    assert stamped(of, at, work_of(of, at).apply[0].body)["metadata"]["labels"][LABEL_PART_OF] == name


def test_what_no_plan_renders_any_more_is_superfluous_and_what_a_seldom_plan_makes_is_not() -> None:
    of = use()
    every = [at for plan in of.package.operator.plans for at in places(of.package, plan)]
    inventory = [
        Identity("", "ConfigMap", "prod", "web-config"),
        Identity("apps", "Deployment", "prod", "web"),
        Identity("batch", "Job", "prod", "backup-job"),
        Identity("", "Service", "prod", "web-extra"),
        Identity("", "Secret", "prod", "web-old"),
    ]
    assert superfluous(inventory, of, every) == (inventory[-1],)


@pytest.mark.parametrize("written", ["prod", "kube-system"])
def test_what_lives_in_no_namespace_is_wanted_whatever_namespace_its_template_writes(written: str) -> None:
    role = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: r, namespace: {written}}}\n"
    of = use(shop({"templates/extra.yaml": role}))
    every = [at for plan in of.package.operator.plans for at in places(of.package, plan)]
    assert superfluous([Identity("rbac.authorization.k8s.io", "ClusterRole", "", "r")], of, every) == ()
    standing_there = standing(Use(of.package, "web", "prod", {"EXTRA": True}), "deploy")
    assert Identity("rbac.authorization.k8s.io", "ClusterRole", "", "r") in standing_there


def test_one_object_is_one_however_its_own_namespace_is_written() -> None:
    app = "apiVersion: v1\nkind: Service\nmetadata: {name: web-extra, namespace: prod}\nspec: {ports: [{port: 80}]}\n"
    of = use(shop({"templates/config.yaml": app}))
    with pytest.raises(Conflict, match="Service web-extra is applied and deleted in step main/app"):
        work_of(of, place(of, "app"))


def test_what_cannot_be_rendered_is_not_mistaken_for_gone() -> None:
    from stateward.packages.rendering.templates import TemplateProblem

    of = use(shop(extra=("{{ .Name }}", "{{ .Params.MISSING }}")))
    with pytest.raises(TemplateProblem):
        superfluous([], of, places(of.package, "deploy"))

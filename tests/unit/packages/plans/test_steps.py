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
    set_id,
    stamped,
    superfluous,
    work_of,
)
from stateward.packages.rendering.objects import Identity
from stateward.packages.rendering.rendering import Place, Use, places
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


def test_of_two_tasks_that_name_the_same_object_the_later_has_the_word() -> None:
    both = shop(operator=("tasks: [away]", "tasks: [away, job]"))
    assert names(work(use(both), "away")) == (["Job"], [])
    other = shop(operator=("tasks: [away]", "tasks: [job, away]"))
    assert names(work(use(other), "away")) == ([], ["Job"])


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
    work = work_of(of, place(of, "app"))
    assert "web-extra" not in [found.identity.name for found in work.apply]
    assert [found.identity.name for found in work.delete] == ["web-extra"]


def test_what_cannot_be_rendered_is_not_taken_for_gone() -> None:
    from stateward.packages.rendering.templates import TemplateProblem

    of = use(shop(extra=("{{ .Name }}", "{{ .Params.MISSING }}")))
    with pytest.raises(TemplateProblem):
        superfluous([], of, places(of.package, "deploy"))

"""The preview of a plan: its changes, restarts and removals, without reading whole objects."""

from typing import Any

from stateward.api.kinds.cluster import Retention
from stateward.packages.format.records import Package
from stateward.packages.format.yamltext import document
from stateward.packages.plans.steps import ANNOTATION_PHASE, ANNOTATION_PLAN, ANNOTATION_STEP
from stateward.packages.rendering.objects import Identity
from stateward.packages.rendering.rendering import Use
from stateward.packages.review.foresight import Foresight, Made, Now, foresee
from tests.unit.packages.samples import OPERATOR, shop

MADE_BY_DEPLOY = {ANNOTATION_PLAN: "deploy", ANNOTATION_PHASE: "main", ANNOTATION_STEP: "app"}
CONFIG = Made(Identity("", "ConfigMap", "prod", "web-config"), MADE_BY_DEPLOY)
APP = Made(Identity("apps", "Deployment", "prod", "web"), MADE_BY_DEPLOY)
BOTH = Now((CONFIG, APP))


def use(package: Package | None = None, **values: Any) -> Use:
    return Use(package or shop(), "web", "prod", values)


def said(found: Foresight) -> list[str]:
    changes = [f"{c.fate} {c.identity} {','.join(c.fields)}".strip() for c in found.difference.changes]
    return changes + [f"restart {r.identity} {','.join((*r.template, *r.keys))}" for r in found.difference.restarts]


def test_a_first_installation_makes_everything_and_restarts_nothing() -> None:
    found = foresee(None, use(), "deploy", Now())
    assert said(found) == ["added ConfigMap web-config", "added Deployment web"]
    assert [body["kind"] for body in found.new] == ["ConfigMap", "Deployment", "Job"]


def test_scaling_and_a_new_version_restart_nothing() -> None:
    assert said(foresee(use(), use(COUNT=5), "deploy", BOTH)) == ["changed Deployment web spec.replicas"]
    newer = shop(operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"'))
    assert said(foresee(use(), use(newer), "deploy", BOTH)) == []


def test_data_restarts_all_its_users_including_those_outside_of_the_plan() -> None:
    found = foresee(use(), use(MODE="fast"), "deploy", BOTH)
    assert said(found) == [
        "changed ConfigMap web-config data.mode",
        "restart Deployment web ConfigMap/web-config:mode",
    ]
    bystander = document(
        "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: other, namespace: prod}, spec: {template: {spec:"
        " {containers: [{name: c, env: [{valueFrom: {configMapKeyRef: {name: web-config, key: mode}}}]}]}}}}"
    )
    found = foresee(use(), use(MODE="fast"), "deploy", Now((CONFIG, APP), (bystander,)))
    assert said(found)[1:] == [
        "restart StatefulSet other ConfigMap/web-config:mode",
        "restart Deployment web ConfigMap/web-config:mode",
    ]


def test_a_plan_that_makes_one_thing_changes_no_other() -> None:
    assert said(foresee(use(), use(COUNT=5), "backup", BOTH)) == ["added Job backup-job"]


def test_what_no_plan_renders_any_more_is_removed_and_data_stays_unless_it_may_go() -> None:
    gone = Made(Identity("", "Service", "prod", "web-old"), MADE_BY_DEPLOY)
    claim = Made(Identity("", "PersistentVolumeClaim", "prod", "web-data"), MADE_BY_DEPLOY)
    now = Now((CONFIG, APP, gone, claim))
    assert said(foresee(use(), use(), "deploy", now)) == ["removed Service web-old"]
    assert len(said(foresee(use(), use(), "deploy", now, Retention.DELETE))) == 2


def test_objects_of_an_unknown_step_are_reported_as_unclear() -> None:
    strange = Made(APP.identity, {})
    found = foresee(use(), use(), "deploy", Now((CONFIG, strange)))
    assert [str(identity) for identity in found.unclear] == ["Deployment web"]


def test_an_object_that_is_gone_is_recreated() -> None:
    assert said(foresee(use(), use(), "deploy", Now((CONFIG,)))) == ["added Deployment web"]


def test_tasks_that_are_more_than_objects_are_named() -> None:
    nested = "- {name: nested, kind: KudoOperator, spec: {package: other}}\nplans:"
    text = OPERATOR.replace("plans:", nested).replace("tasks: [app, extra]", "tasks: [app, nested]")
    found = foresee(None, use(shop({"operator.yaml": text})), "deploy", Now())
    assert found.others == ("nested (installs another package)",)

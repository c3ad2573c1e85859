"""`plan -f` for an installation: what would change, whose pods restart because of which key, and what is in the way."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stateward.cli.shared.failures import ExitCode
from stateward.kube.objects.metadata import Key
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.plans.steps import (
    ANNOTATION_PHASE,
    ANNOTATION_PLAN,
    ANNOTATION_STEP,
    LABEL_INSTALLATION,
    LABEL_PART_OF,
    set_id,
)
from tests.unit.cli.fake_api import Run
from tests.unit.cli.writable_api import WritableApi, bad, good, installed
from tests.unit.operator.admission.test_admission_packages import package
from tests.unit.packages.samples import files

MADE = (("configmaps", "ConfigMap", "v1", "web-config"), ("deployments", "Deployment", "apps/v1", "web"))


@pytest.fixture
def api() -> WritableApi:
    """A server on which `web` is installed."""
    shelf = WritableApi()
    shelf.add("swpackages", package(namespace="default"))
    meta: dict[str, Any] = {"name": "web", "namespace": "default", "resourceVersion": "1", "uid": "u"}
    meta["annotations"] = {"applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Deployment.apps"}
    shelf.add("swinstallations", document({"COUNT": 2}) | {"metadata": meta})
    installed(shelf)
    notes = {ANNOTATION_PLAN: "deploy", ANNOTATION_PHASE: "main", ANNOTATION_STEP: "app"}
    for plural, kind, version, name in MADE:
        labels = {LABEL_PART_OF: set_id("web", "default")}
        made = {"name": name, "namespace": "default", "labels": labels, "annotations": notes}
        shelf.add(plural, {"apiVersion": version, "kind": kind, "metadata": made})
    return shelf


def document(parameters: object, name: str = "web", package: str = "shop-1.2.0") -> dict[str, Any]:
    head: dict[str, Any] = {"apiVersion": "stateward.dev/v1alpha1", "kind": "Installation", "metadata": {"name": name}}
    return head | {"spec": {"package": package, "parameters": parameters}}


def asked(run: Run, *documents: object, words: tuple[str, ...] = ()) -> tuple[int, str]:
    result = run("plan", "-f", "-", *words, stdin=yaml.safe_dump_all(documents))
    return result.exit_code, result.output + result.stderr


def test_a_change_of_data_names_the_pods_that_restart_and_the_key(run: Run) -> None:
    code, said = asked(run, document({"COUNT": 2, "MODE": "fast"}))
    assert code == ExitCode.CHANGES
    assert said.splitlines() == [
        "web  Installation in namespace default, shop 1.2.0",
        "",
        "plan deploy: other values of MODE",
        "~ ConfigMap web-config: data.mode",
        "pods of Deployment web restart: it uses ConfigMap/web-config, whose key mode changes",
        "",
        "nothing was changed yet",
    ]


def test_scaling_restarts_nothing_and_nothing_to_do_is_reported(run: Run) -> None:
    assert "~ Deployment web: spec.replicas\nno pod restarts\n" in asked(run, document({"COUNT": 5}))[1]
    code, said = asked(run, document({"COUNT": 2}))
    assert code == 0
    assert "nothing changes: the installation matches its spec" in said


def test_a_workload_of_nobodys_package_that_asks_for_it_restarts_too(run: Run, api: WritableApi) -> None:
    use = {"name": "c", "envFrom": [{"configMapRef": {"name": "web-config"}}]}
    for name, asks in (("asks", "true"), ("silent", "false")):
        meta = {"name": name, "namespace": "default", "annotations": {"stateward.dev/restart-on-change": asks}}
        api.add("statefulsets", {"metadata": meta, "spec": {"template": {"spec": {"containers": [use]}}}})
    _, said = asked(run, document({"COUNT": 2, "MODE": "fast"}))
    assert "pods of StatefulSet asks restart: it uses ConfigMap/web-config, whose key mode changes" in said
    assert "silent" not in said


def test_another_version_in_the_same_file_is_planned_before_it_is_stored(run: Run) -> None:
    newer = package(
        "shop-1.3.0",
        namespace="default",
        operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"'),
        app=("image: shop:", "image: store:"),
    )
    code, said = asked(run, newer, document({"COUNT": 2}, package="shop-1.3.0"))
    assert code == ExitCode.CHANGES
    assert "shop 1.2.0 → 1.3.0" in said
    assert "plan deploy: another version of the package is desired" in said
    assert "pods of Deployment web restart: its template changes (spec.template.spec.containers[app].image)" in said


def test_an_upgrade_with_a_value_of_another_plan_shows_both_plans_in_order(run: Run) -> None:
    newer = package(
        "shop-1.3.0",
        namespace="default",
        operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"'),
        app=("image: shop:", "image: store:"),
        params=("default: slow}", "default: slow, trigger: backup}"),
        job=("args: [{{ .Params.FILE }}]", "args: [{{ .Params.MODE }}]"),
    )
    wanted = document({"COUNT": 2, "MODE": "fast"}, package="shop-1.3.0")
    code, said = asked(run, newer, wanted)
    assert code == ExitCode.CHANGES
    first, second = said.split("then plan backup: other values of MODE\n")
    assert "plan deploy: another version of the package is desired; then plan backup for MODE" in first
    assert "~ Deployment web: spec.template.spec.containers[app].image" in first
    assert "ConfigMap" not in first, "the upgrade uses the current value"
    assert second.startswith("+ Job backup-job")
    found = json.loads(asked(run, newer, wanted, words=("-o", "json"))[1])
    assert (found["plan"], found["then"]["plan"]) == ("deploy", "backup")


def test_a_first_installation_says_what_is_in_its_way(run: Run, api: WritableApi) -> None:
    foreign: dict[str, Any] = {"name": "new-config", "namespace": "default"}
    api.add("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": foreign})
    code, said = asked(run, document({}, name="new"))
    assert code == 1
    assert "plan deploy: the package is installed for the first time" in said
    assert "+ Deployment new" in said
    assert "would wait: ConfigMap new-config already exists: delete it, or set spec.adopt to adopt it" in said
    foreign["labels"] = {LABEL_PART_OF: "applyset-other", LABEL_INSTALLATION: "old"}
    assert "ConfigMap new-config belongs to another installation, old" in asked(run, document({}, name="new"))[1]


def test_wrong_values_and_missing_packages_are_reported(run: Run) -> None:
    code, said = asked(run, document({"COUNT": "many"}))
    assert code == 1
    assert "refused: COUNT: 'many': must be a whole number" in said
    assert "there is no Package 'nothing' in namespace default" in asked(run, document({}, package="nothing"))[1]
    wrong = {**document({}), "spec": {"pakage": "shop-1.2.0"}}
    assert "spec.pakage" in asked(run, wrong)[1]


def test_a_running_plan_and_its_successor_are_reported(run: Run, api: WritableApi) -> None:
    body = api.there("swinstallations", "web")
    target = body["status"]["installed"]
    body["status"]["run"] = {"plan": "deploy", "stage": "Running", "target": target}
    _, said = asked(run, document({"COUNT": 2, "FILE": "other.sql"}))
    assert "plan backup: other values of FILE" in said
    assert "note: plan deploy runs now and continues" in said
    assert "note: its last plan has not ended" in said


def test_a_request_runs_its_plan(run: Run) -> None:
    wished = document({"COUNT": 2})
    wished["metadata"] = {"name": "web", "annotations": {ANNOTATION_TRIGGER: "backup/1"}}
    assert "plan backup: a user asked for it\n+ Job backup-job" in asked(run, wished)[1]


@pytest.mark.parametrize(("plan", "again"), [("backup", True), ("deploy", False)])
def test_work_that_a_request_has_done_once_more_is_named(run: Run, api: WritableApi, plan: str, *, again: bool) -> None:
    notes = {ANNOTATION_PLAN: plan, ANNOTATION_PHASE: "backup", ANNOTATION_STEP: "job"}
    labels = {LABEL_PART_OF: set_id("web", "default")}
    made: dict[str, Any] = {"name": f"{plan}-job", "namespace": "default", "labels": labels, "annotations": notes}
    api.add("jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": made})
    live = api.there("swinstallations", "web")
    live["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"] += ",Job.batch"
    wished = document({"COUNT": 2})
    wished["metadata"] = {"name": "web", "annotations": {ANNOTATION_TRIGGER: f"{plan}/1"}}
    said = asked(run, wished)[1]
    assert f"plan {plan}: a user asked for it" in said
    assert (f"note: Job {plan}-job exists and runs once more" in said) is again


def test_what_was_made_from_lost_content_is_not_known(run: Run, api: WritableApi) -> None:
    api.there("swinstallations", "web")["status"]["installed"]["digest"] = "sha256:other"
    code, said = asked(run, document({"COUNT": 5}))
    assert code == ExitCode.CHANGES
    assert "note: shop-1.2.0 has other content than when it was used: its objects are not known" in said
    assert "its objects are not known: Deployment web" in said


def test_programs_get_a_document(run: Run) -> None:
    _, said = asked(run, document({"COUNT": 2, "MODE": "fast"}), words=("-o", "json"))
    found = json.loads(said)
    assert found["restarts"][0]["keys"] == ["ConfigMap/web-config:mode"]
    assert found["changes"][0]["fate"] == "changed"
    assert found["goesThrough"] is True


def test_one_of_several_is_named(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(yaml.safe_dump_all([document({"COUNT": 5}), document({}, name="new")]))
    assert "it has 2 installations; add the NAME of one" in bad(run, "plan", "-f", str(file))
    assert "spec.replicas" in run("plan", "web", "-f", str(file)).output


def test_files_with_installations_are_checked_for_their_shape(run: Run, api: WritableApi, tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(yaml.safe_dump(document({})))
    assert ": no problems found" in good(run, "validate", "-f", str(file))
    file.write_text(yaml.safe_dump({**document({}), "spec": {"pakage": "x"}}))
    assert "did you mean" in run("validate", "-f", str(file)).output
    assert Key("default", "web") in {key for _, key in api.objects}


def test_an_upgrade_is_shown_before_it_is_made(run: Run, api: WritableApi) -> None:
    before = dict(api.objects)
    said = good(run, "package", "upgrade", "web", "-p", "MODE=fast", "--dry-run")
    assert "pods of Deployment web restart: it uses ConfigMap/web-config, whose key mode changes" in said
    assert "refused: STORAGE" in run("package", "upgrade", "web", "-p", "STORAGE=2Gi", "--dry-run").output
    assert api.objects == before


def test_a_first_installation_is_shown_before_it_is_made(run: Run, api: WritableApi, tmp_path: Path) -> None:
    for path, content in files().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    before = dict(api.objects)
    said = good(run, "package", "install", str(tmp_path), "new", "--dry-run")
    assert "+ Deployment new" in said
    assert api.objects == before

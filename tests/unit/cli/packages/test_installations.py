"""`package install`, `upgrade`, `uninstall`, and `installation`: what they write, say and refuse."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from stateward.api.kinds.installation import InstallationSpec
from stateward.cli.main import cli
from stateward.kube.objects.metadata import Key
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from tests.unit.cli.fake_api import Run
from tests.unit.cli.writable_api import DIGEST, WritableApi, bad, good, installed
from tests.unit.packages.samples import OPERATOR, PARAMS, files


@pytest.fixture
def api() -> WritableApi:
    return WritableApi()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return written(tmp_path / "shop", files())


def written(folder: Path, found: dict[str, bytes]) -> str:
    for path, content in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return str(folder)


def test_install_makes_the_package_and_the_installation(run: Run, api: WritableApi, folder: str) -> None:
    said = good(run, "package", "install", folder, "web", "-p", "COUNT=3", "-n", "prod")
    assert said == "web: shop 1.2.0 is being installed\n"
    package = api.there("swpackages", "shop-1.2.0", "prod")["spec"]
    assert (package["name"], package["version"], package["appVersion"]) == ("shop", "1.2.0", "5.10")
    assert package["digest"] == DIGEST
    spec = api.there("swinstallations", "web", "prod")["spec"]
    assert spec == {"package": "shop-1.2.0", "parameters": {"COUNT": "3"}}


def test_the_same_package_serves_two_installations(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "a")
    good(run, "package", "install", folder, "b", "--adopt")
    assert api.names("swpackages") == ["shop-1.2.0"]
    assert api.there("swinstallations", "b")["spec"]["adopt"] is True
    assert "a is already installed: `package upgrade a` changes it" in bad(run, "package", "install", folder, "a")


def test_the_account_is_written_when_it_is_installed_and_when_it_is_changed(
    run: Run, api: WritableApi, folder: str
) -> None:
    good(run, "package", "install", folder, "web", "--service-account", "packages")
    assert api.there("swinstallations", "web")["spec"]["serviceAccountName"] == "packages"
    good(run, "package", "upgrade", "web", "-p", "COUNT=5")
    assert api.there("swinstallations", "web")["spec"]["serviceAccountName"] == "packages"
    good(run, "package", "upgrade", "web", "--service-account", "other")
    assert api.there("swinstallations", "web")["spec"]["serviceAccountName"] == "other"


def test_a_trial_says_which_rights_the_account_lacks(run: Run, api: WritableApi, folder: str) -> None:
    words = ("package", "install", folder, "web", "--service-account", "packages", "--dry-run")
    assert "may not" not in good(run, *words)
    user = "system:serviceaccount:default:packages"
    api.lacks |= {(user, "create", "deployments"), (user, "patch", "deployments"), (user, "list", "configmaps")}
    said = run(*words)
    assert said.exit_code == 1
    account = "would wait: service account packages of namespace default may not"
    assert f"{account} create, patch deployments.apps in namespace default\n" in said.output
    assert f"{account} list configmaps in namespace default\n" in said.output
    assert "services" not in said.output
    assert "may not" not in good(run, "package", "install", folder, "web", "--service-account", "other", "--dry-run")
    good(run, "package", "install", folder, "web", "--service-account", "packages")
    assert f"{account} list configmaps" in run("package", "upgrade", "web", "-p", "COUNT=5", "--dry-run").output
    good(run, "package", "upgrade", "web", "-p", "COUNT=5", "--service-account", "other", "--dry-run")
    assert api.there("swinstallations", "web")["spec"]["serviceAccountName"] == "packages"


def test_a_user_who_may_not_impersonate_the_account_sees_that_its_rights_are_unknown(
    run: Run, api: WritableApi, folder: str
) -> None:
    api.lacks.add(("", "impersonate", "serviceaccounts"))
    said = good(run, "package", "install", folder, "web", "--service-account", "packages", "--dry-run")
    assert "note: you may not act as service account packages (verb impersonate): its rights are not known here" in said


def test_a_shared_package_is_the_clusters(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "--shared")
    assert api.names("swclusterpackages") == ["shop-1.2.0"]
    assert api.names("swinstallations") == ["shop"]


def test_a_version_with_other_content_is_refused(run: Run, api: WritableApi, folder: str, tmp_path: Path) -> None:
    good(run, "package", "install", folder, "a")
    other = written(tmp_path / "other", files(app=("image: shop:", "image: store:")))
    assert "already exists with other content: a changed package needs another version" in bad(
        run, "package", "install", other, "b"
    )
    assert api.names("swinstallations") == ["a"]


def test_wrong_values_are_refused_before_anything_is_made(run: Run, api: WritableApi, folder: str) -> None:
    before = dict(api.objects)
    said = bad(run, "package", "install", folder, "-p", "COUNT=many", "-p", "MOED=fast")
    assert "COUNT: 'many': must be a whole number" in said
    assert "did you mean MODE?" in said
    assert api.objects == before


def test_upgrade_changes_values_and_keeps_the_others(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "web", "-p", "COUNT=3")
    good(run, "package", "upgrade", "web", "-p", "MODE=fast")
    assert api.there("swinstallations", "web")["spec"]["parameters"] == {"COUNT": "3", "MODE": "fast"}


def test_upgrade_brings_another_version(run: Run, api: WritableApi, folder: str, tmp_path: Path) -> None:
    good(run, "package", "install", folder, "web", "-p", "COUNT=3")
    newer = written(tmp_path / "newer", files(operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"')))
    assert good(run, "package", "upgrade", "web", newer) == "web: shop 1.3.0 is being installed\n"
    spec = api.there("swinstallations", "web")["spec"]
    assert spec == {"package": "shop-1.3.0", "parameters": {"COUNT": "3"}}


def test_upgrade_names_a_value_that_the_other_version_has_no_parameter_for(
    run: Run, api: WritableApi, tmp_path: Path
) -> None:
    first = written(tmp_path / "first", files({"params.yaml": f"{PARAMS}- {{name: OLD, default: a}}\n"}))
    good(run, "package", "install", first, "web", "-p", "COUNT=3", "-p", "OLD=b")
    newer = written(tmp_path / "newer", files(operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"')))
    result = run("package", "upgrade", "web", newer)
    assert result.exit_code == 0
    assert result.stderr == "stateward: shop 1.3.0 has no parameter OLD: the value is left out\n"
    assert api.there("swinstallations", "web")["spec"]["parameters"] == {"COUNT": "3"}


def test_uninstall_names_the_field_that_keeps_volume_claims() -> None:
    said = " ".join(CliRunner().invoke(cli, ["package", "uninstall", "--help"]).output.split())
    (name,) = re.findall(r"spec\.(\w+)", said)
    assert name in {field.encode_name for field in structs.fields(InstallationSpec)}


def test_upgrade_refuses_what_cannot_be_changed(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "web", "-p", "STORAGE=1Gi")
    installed(api)
    said = bad(run, "package", "upgrade", "web", "-p", "STORAGE=2Gi")
    assert "STORAGE: '2Gi': cannot be changed once it is installed; it is '1Gi'" in said
    assert "there is no installation 'nobody'" in bad(run, "package", "upgrade", "nobody", "-p", "COUNT=3")


def test_uninstall_removes_this_installation(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "web")
    assert good(run, "package", "uninstall", "web") == "web is being removed\n"
    assert api.names("swinstallations") == []
    assert "there is no installation 'web' in namespace 'default'" in bad(run, "package", "uninstall", "web")


def test_status_list_and_history_say_where_it_is(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "web")
    assert good(run, "installation", "status", "web") == "web: shop-1.2.0, not installed: working\n"
    assert good(run, "installation", "plan", "web") == "web: no plan has run yet\n"
    assert good(run, "installation", "history", "web") == "web: no plan has ended yet\n"
    installed(api)
    assert good(run, "installation", "status", "web") == "web: shop-1.2.0, installed 1.2.0: ready\n"
    installed(api, removed=[{"group": "apps", "kind": "Deployment", "name": "app"}])
    said = good(run, "installation", "status", "web").splitlines()
    assert said[1] == "removed by a plan, and not recreated until a plan applies it: Deployment app"
    installed(api)
    assert good(run, "installation", "list", "-A") == "default/web: shop-1.2.0, installed 1.2.0: ready\n"
    said = good(run, "installation", "history", "web")
    assert said == ("2026-11-21T10:01:00Z deploy 1.2.0 Done, because the package is installed for the first time\n")
    for command in ("status", "plan", "history"):
        assert "there is no installation 'nobody'" in bad(run, "installation", command, "nobody")
    listed = {"apiVersion": "stateward.dev/v1alpha1", "kind": "InstallationList", "metadata": {}, "items": []}
    api.objects["swinstallations", Key("default", "")] = listed
    assert "there is no installation ''" in bad(run, "installation", "status", "")


def test_a_plan_is_shown_step_by_step_with_what_it_waits_for(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "web")
    steps = [
        {"phase": "main", "step": "app", "stage": "Retrying", "message": "Deployment web is there", "failures": 2},
        {"phase": "main", "step": "job", "stage": "Pending"},
    ]
    stuck = {"type": "Stalled", "status": "True", "reason": "StepRetried", "message": "main/app: it is there"}
    running = {"plan": "deploy", "description": "it is new", "stage": "Running", "startTime": "2026-11-21T10:00:00.1Z"}
    installed(api, run=running | {"steps": steps}, conditions=[stuck], activity="plan deploy, 0 of 2 steps done")
    said = good(run, "installation", "plan", "web")
    assert said.splitlines() == [
        "plan deploy: Running, since 2026-11-21T10:00:00Z, because it is new",
        "  main/app: Retrying (2 times): Deployment web is there",
        "  main/job: Pending",
    ]
    said = good(run, "installation", "status", "web")
    assert "needs manual intervention: plan deploy, 0 of 2 steps done" in said
    assert (
        "StepRetried: main/app: it is there\n  It continues when the step succeeds; it is tried again by itself" in said
    )


def test_list_says_where_it_searched_for_nothing(run: Run) -> None:
    result = run("installation", "list", "-n", "empty")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "there is no installation in namespace 'empty'; --all-namespaces searches all namespaces\n"
    assert run("installation", "list", "-A").stderr == "there is no installation in any namespace\n"


def test_list_does_not_leave_out_an_installation_that_it_cannot_read(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "web")
    good(run, "package", "install", folder, "shop")
    api.there("swinstallations", "web")["spec"]["deletionPolicy"] = "Archive"
    said = bad(run, "installation", "list")
    assert "installation default/web cannot be read" in said
    assert "check whether this program is older than the CRDs" in said


def test_trigger_asks_for_a_plan_once(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "web")
    said = good(run, "installation", "trigger", "web", "backup")
    assert "`kubectl stateward installation plan web` shows how far it is" in said
    wish = api.there("swinstallations", "web")["metadata"]["annotations"][ANNOTATION_TRIGGER]
    assert wish == "backup/2026-11-21T12:00:00.000000Z"


def test_trigger_refuses_a_plan_that_the_package_does_not_have(run: Run, api: WritableApi, folder: str) -> None:
    good(run, "package", "install", folder, "web")
    assert "'bakcup': shop has the plans deploy, backup" in bad(run, "installation", "trigger", "web", "bakcup")
    assert api.there("swinstallations", "web")["metadata"].get("annotations", {}) == {}
    del api.objects["swpackages", Key("default", "shop-1.2.0")]
    good(run, "installation", "trigger", "web", "backup")


def test_commands_on_packages_need_no_server(folder: str) -> None:
    assert CliRunner().invoke(cli, ["package", "verify", folder]).exit_code == 0


def test_trigger_runs_a_cleanup_only_when_the_name_is_reported_once_more(
    run: Run, api: WritableApi, folder: str
) -> None:
    good(run, "package", "install", folder, "web")
    del api.objects["swpackages", Key("default", "shop-1.2.0")]
    for said in ((), ("--yes", "other")):
        assert "add --yes web" in bad(run, "installation", "trigger", "web", "cleanup", *said)
    assert api.there("swinstallations", "web")["metadata"].get("annotations", {}) == {}
    good(run, "installation", "trigger", "web", "cleanup", "--yes", "web")
    wish = api.there("swinstallations", "web")["metadata"]["annotations"][ANNOTATION_TRIGGER]
    assert wish.startswith("cleanup/web/")


SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: any, labels: {mode: {{ .Params.MODE }}}}\n"


def test_the_namespace_is_created_on_request_as_the_package_describes_it(
    run: Run, api: WritableApi, tmp_path: Path
) -> None:
    changes = {"templates/space.yaml": SPACE, "operator.yaml": f"{OPERATOR}namespaceManifest: space.yaml\n"}
    folder = written(tmp_path / "shop", files(changes))
    words = ("package", "install", folder, "web", "-n", "fresh", "-p", "MODE=fast", "--create-namespace")
    assert good(run, *words).startswith("namespace fresh was created\n")
    made = api.objects["namespaces", Key("", "fresh")]
    assert made["metadata"]["labels"] == {"mode": "fast"}
    assert api.there("swinstallations", "web", "fresh")
    again = good(run, "package", "install", folder, "other", "-n", "fresh", "--create-namespace")
    assert "created" not in again
    good(run, "package", "install", folder, "web", "-n", "plain")
    assert ("namespaces", Key("", "plain")) not in api.objects


def test_a_namespace_is_created_also_for_a_package_that_does_not_describe_it(
    run: Run, api: WritableApi, folder: str
) -> None:
    good(run, "package", "install", folder, "web", "-n", "fresh", "--create-namespace")
    assert ("namespaces", Key("", "fresh")) in api.objects


def test_a_version_that_leads_out_of_the_folder_is_refused_before_a_file_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    said = bad(run, "package", "build", written(tmp_path / "shop", files(operator=('"1.2.0"', "../../x"))))
    assert "operatorVersion: '../../x': must be a semantic version" in " ".join(said.split())
    assert not list(tmp_path.rglob("*.tgz"))


def test_a_plan_that_is_done_is_shown_with_the_version_that_is_installed(
    run: Run, api: WritableApi, folder: str
) -> None:
    good(run, "package", "install", folder, "web")
    installed(api, run={"plan": "deploy", "description": "it is new", "stage": "Done", "startTime": "2026-11-21T10:00"})
    assert "plan deploy of 1.2.0: Done" in good(run, "installation", "plan", "web")

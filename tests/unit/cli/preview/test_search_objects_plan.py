"""`plan` of declared objects: the operator is asked with a token for previews alone, and its answer is shown."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
import yaml
from click.testing import Result

from stateward.cli.reference.shapes import SHAPES
from stateward.cli.shared.failures import ExitCode
from stateward.engines.search.declared.preview import FieldChange, ObjectPreview
from stateward.kube.objects.errors import Forbidden, NotFound
from stateward.operator.database_view.address import PREVIEW_ACCOUNT, TOKEN_HEADER
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.preview.test_database_view_request import Viewer
from tests.unit.cli.samples import cluster
from tests.unit.cli.test_output_forms import undocumented

FILE = """\
apiVersion: stateward.dev/v1alpha1
kind: SearchObject
metadata: {name: logs-template}
spec:
  cluster: {kind: OpenSearchCluster, name: logs}
  object: indexTemplate/logs
  body: {index_patterns: [logs-*], priority: 7}
"""
VIEW = (
    "/api/v1/namespaces/stateward-system/services/https:stateward-database-view:view/proxy"
    "/v1/namespaces/default/searchobjects/preview"
)


@pytest.fixture
def viewer(api: FakeApi) -> Viewer:
    return Viewer(api)


def planned(viewer: Viewer, tmp_path: Path, text: str = FILE, *words: str) -> Result:
    path = tmp_path / "objects.yaml"
    path.write_text(text)
    return viewer.types("plan", "-f", str(path), *words)


def answer(does: str, *changes: FieldChange, **more: Any) -> bytes:
    return msgspec.json.encode(ObjectPreview("indexTemplate/logs", does, changes=changes, **more))


def test_what_would_change_is_shown_with_what_is_stored(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = answer("change", FieldChange("/priority", 3, 7))
    result = planned(viewer, tmp_path)
    assert result.output.splitlines() == [
        "logs-template: indexTemplate/logs: change",
        "  - /priority: 3",
        "  + /priority: 7",
    ]
    assert result.exit_code == ExitCode.CHANGES
    (sent,) = viewer.sent
    assert (unquote(sent.path), sent.method, sent.headers) == (VIEW, "POST", {TOKEN_HEADER: "short"})
    (minted,) = viewer.minted
    assert minted.path.endswith(f"/serviceaccounts/{PREVIEW_ACCOUNT}/token")


def test_several_resources_need_one_token(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = answer("nothing")
    planned(viewer, tmp_path, f"{FILE}---\n{FILE.replace('logs-template', 'another')}")
    assert (len(viewer.sent), len(viewer.minted)) == (2, 1)


def test_without_the_right_to_a_token_it_is_said_what_to_do(viewer: Viewer, tmp_path: Path) -> None:
    viewer.mints = Forbidden("cannot create serviceaccounts/token")
    result = planned(viewer, tmp_path)
    assert f"ServiceAccount {PREVIEW_ACCOUNT} in stateward-system" in result.output
    assert "--send-token" in result.output
    assert (result.exit_code, viewer.sent) == (ExitCode.FAILURE, [])
    viewer.answer = answer("nothing")
    assert planned(viewer, tmp_path, FILE, "--send-token").exit_code == ExitCode.SUCCESS
    assert [sent.headers for sent in viewer.sent] == [{TOKEN_HEADER: "viewer's"}]


def test_nothing_to_do_is_success(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = answer("nothing")
    assert planned(viewer, tmp_path).exit_code == ExitCode.SUCCESS


def test_what_a_write_removes_has_one_line(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = answer("change", FieldChange("/priority", 3), FieldChange("/version", None, 2))
    result = planned(viewer, tmp_path)
    assert result.output.splitlines()[1:] == ["  - /priority: 3", "  + /version: 2"]


def test_a_change_without_lines_says_why(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = answer("change", message="values of Secrets are not shown")
    result = planned(viewer, tmp_path)
    assert result.output.splitlines() == ["logs-template: indexTemplate/logs: change (values of Secrets are not shown)"]


def test_a_refusal_is_a_failure_with_its_reason(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = answer("refuse", reason="Exists", message="it exists already")
    result = planned(viewer, tmp_path)
    assert "refuse (Exists: it exists already)" in result.output
    assert result.exit_code == ExitCode.FAILURE


def test_an_operator_without_the_endpoint_is_named(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = NotFound("no such service")
    result = planned(viewer, tmp_path)
    assert "--no-database-view" in result.output
    assert result.exit_code == ExitCode.FAILURE


def test_an_invalid_object_is_not_sent(viewer: Viewer, tmp_path: Path) -> None:
    result = planned(viewer, tmp_path, FILE.replace("indexTemplate/logs", "nonsense/x"))
    assert "has no such kind" in result.output
    assert not viewer.sent


def test_programs_get_the_changes_as_data(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = answer("change", FieldChange("/priority", 3, 7))
    (found,) = msgspec.json.decode(planned(viewer, tmp_path, FILE, "-o", "json").output)
    assert found["name"] == "logs-template"
    assert found["changes"] == [{"path": "/priority", "before": 3, "after": 7}]
    assert undocumented([found], SHAPES["plan (of declared resources)"]) == set()


USER = """\
apiVersion: stateward.dev/v1alpha1
kind: SearchUser
metadata: {name: shop}
spec: {cluster: {kind: OpenSearchCluster, name: logs}, roles: [reader]}
"""
SNAPSHOT = """\
apiVersion: stateward.dev/v1alpha1
kind: SearchSnapshot
metadata: {name: by-hand}
spec: {cluster: {kind: OpenSearchCluster, name: logs}, repository: files}
"""


def test_a_user_is_previewed_like_an_object(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = msgspec.json.encode(ObjectPreview("user/shop", "create"))
    result = planned(viewer, tmp_path, USER)
    assert result.output == "shop: user/shop: create\n"
    assert viewer.sent[0].path.endswith("/searchusers/preview")


def test_a_kind_without_a_preview_is_named(viewer: Viewer, tmp_path: Path) -> None:
    result = planned(viewer, tmp_path, SNAPSHOT)
    assert result.output.endswith("objects.yaml: plan shows no SearchSnapshot; check it with validate\n")
    assert result.exit_code == ExitCode.FAILURE
    assert planned(viewer, tmp_path, FILE, "other").output.endswith("objects.yaml: it has nothing of that name\n")


def test_a_file_without_anything_of_stateward_is_told_as_before(viewer: Viewer, tmp_path: Path) -> None:
    said = planned(viewer, tmp_path, "{apiVersion: v1, kind: Service, metadata: {name: a}}").output
    assert "there is no OpenSearchCluster or" in said


def test_a_file_with_a_cluster_and_objects_shows_both(viewer: Viewer, tmp_path: Path) -> None:
    viewer.answer = answer("change", FieldChange("/priority", 3, 7))
    manifest = yaml.safe_dump(cluster())
    both = planned(viewer, tmp_path, f"{manifest}---\n{FILE}---\n{SNAPSHOT}")
    assert "nothing was changed yet" in both.output or "no member would change" in both.output, both.output
    assert "logs-template: indexTemplate/logs: change" in both.output
    assert both.exit_code == ExitCode.CHANGES
    found = msgspec.json.decode(planned(viewer, tmp_path, f"{manifest}---\n{FILE}", "logs", "-o", "json").output)
    assert [each["name"] for each in found["declared"]] == ["logs-template"]
    assert undocumented(found, SHAPES["plan"]) == set()


def test_objects_of_a_cluster_that_the_file_creates_come_once_it_is_formed(viewer: Viewer, tmp_path: Path) -> None:
    made = cluster()
    new = {key: made[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "fresh"}}
    of_it = FILE.replace("name: logs}", "name: fresh}")
    result = planned(viewer, tmp_path, f"{yaml.safe_dump(new)}---\n{of_it}", "-o", "json")
    (found,) = msgspec.json.decode(result.stdout)["declared"]
    assert (found["does"], found["message"]) == ("create", "once fresh is formed")
    assert not [asked for asked in viewer.sent if "preview" in asked.path], "there is no database to ask about"

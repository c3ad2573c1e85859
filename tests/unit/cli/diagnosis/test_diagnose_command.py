"""`diagnose`: the report has what a bug needs, and none of the secrets that were planted everywhere."""

import base64
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.cli.diagnosis.redaction import GONE, Redactor
from stateward.kube.objects.metadata import Key
from tests.unit.cli.diagnosis.objects import LABELS, MEMBER_LOG, event, pod, with_history, with_operator
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster

PLANTED: list[str] = []
"""Every secret of the report's sources."""


def planted(place: str) -> str:
    """Return a secret that is found nowhere else."""
    secret = f"hunter-{place}-9f3"
    PLANTED.append(secret)
    return secret


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def everywhere(api: FakeApi) -> None:
    """Plant a secret in each place that a report is made from."""
    PLANTED.clear()
    body = cluster()
    known, logged, said = planted("known"), planted("logged"), planted("said")
    env = {"name": "TOKEN", "value": planted("env")}
    init = {"command": ["sh", "-c", planted("command")], "args": [planted("argument")]}
    probe = {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": planted("header")}]}}
    container = {"name": "opensearch", "image": "os:2", "env": [env], "readinessProbe": probe, **init}
    template = {"spec": {"containers": [container], "initContainers": [init]}}
    body["spec"] |= {"config": {"s3.client.default.secret_key": planted("config"), "indices.limit": 5}}
    body["spec"]["pools"][1] |= {"podTemplate": template, "config": {"nested": {"deep": planted("nested")}}}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"password": planted("applied")})}
    body["metadata"] |= {"annotations": applied, "labels": {"team": planted("label")}}
    body["metadata"]["managedFields"] = [{"manager": planted("manager")}]
    body["status"]["waiting"][0]["message"] = f"the database refuses the step: password={planted('status')}"
    body["status"]["connection"] = f"logs:{planted('coordinator')}@10.0.0.1:4500"
    api.add("osclusters", body)
    api.add("pods", pod(spec={"containers": [container], "nodeName": "node-a"}))
    meta: dict[str, Any] = {"namespace": "default", "labels": LABELS}
    owned = {"kind": "Secret", "metadata": meta | {"name": "logs-hot-1"}, "data": {"a": encoded(planted("owned"))}}
    api.add("secrets", owned)
    foreign = {"kind": "Secret", "metadata": {"name": "own", "namespace": "default"}, "data": {"p": encoded(known)}}
    api.add("secrets", foreign)
    api.add("configmaps", {"metadata": meta | {"name": "logs-seeds"}, "data": {"a": planted("configmap")}})
    workload = {"metadata": meta | {"name": "logs-hot-1", "uid": "s"}, "spec": {"template": template}}
    api.add("statefulsets", workload)
    about = {"kind": "Pod", "name": "logs-hot-1-0", "uid": "uid-logs-hot-1-0"}
    note = f"Failed: GET https://admin:{planted('url')}@db/ with Bearer {planted('bearer')} and {known}"
    api.add("events", event(about, "2026-11-21T11:59:50.000000Z", note))
    pem = f"-----BEGIN PRIVATE KEY-----\n{planted('pem')}\n-----END PRIVATE KEY-----"
    entry = {"timestamp": "2026-11-21T11:59:40Z", "level": "info", "event": f"{known} {pem}", "cluster": "default/logs"}
    more = {"secret_key": logged, "why": f'{{"token": "{said}"}} Authorization: Basic {planted("basic")}'}
    with_operator(api, json.dumps(entry | more) + "\n")
    api.requests[MEMBER_LOG] = f"connecting with {known}\nxpack.password: {planted('xpack')}\n"
    api.requests["/version"] = {"gitVersion": "v1.33.1"}
    with_history(api)
    history = next(document for (_, key), document in api.objects.items() if key.name == "logs-history")
    history["metadata"]["labels"] = LABELS
    api.add("nodes", {"metadata": {"name": "node-a", "annotations": {"csi": planted("node")}}, "status": {}})


def files(path: Path) -> dict[str, str]:
    """Return the files of a tarball by their names in it."""
    found: dict[str, str] = {}
    with tarfile.open(path) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            assert content is not None
            found[entry.name.partition("/")[2]] = content.read().decode()
    return found


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("more", [(), ("--database-logs",)])
def test_no_secret_is_in_the_report_wherever_it_was_planted(run: Run, tmp_path: Path, more: tuple[str, ...]) -> None:
    path = tmp_path / "report.tar.gz"
    done = run("diagnose", "logs", "-f", str(path), *more)
    assert done.exit_code == 0, done.stderr
    found = files(path)
    leaked = {secret: name for name, text in found.items() for secret in PLANTED if secret in text}
    leaked |= {secret: name for name, text in found.items() for secret in PLANTED if encoded(secret) in text}
    assert leaked == {}
    assert len(PLANTED) > 20
    assert ("logs/logs-hot-1-0.txt" in found) is bool(more)


@pytest.mark.usefixtures("everywhere")
def test_the_report_has_what_a_bug_needs(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.tar.gz"
    run("diagnose", "logs", "-f", str(path))
    found = files(path)
    assert {name.partition("/")[0] for name in found} == {
        "README.md",
        "events.txt",
        "explain.txt",
        "history.jsonl",
        "nodes.yaml",
        "objects",
        "operator",
        "plan.yaml",
        "timeline.html",
        "versions.yaml",
    }
    resource = found["objects/osclusters/logs.yaml"]
    assert "version: 2.19.5" in resource
    assert "indices.limit: 5" in resource
    assert "activity: logs-hot-1 restarts to apply version" in resource
    assert f"name: TOKEN\n      value: '{GONE}'" in found["objects/pods/logs-hot-1-0.yaml"]
    assert "logs-hot-1" in found["objects/secrets/logs-hot-1.yaml"]
    assert "gitVersion: v1.33.1" in found["versions.yaml"]
    assert "* objects/osclusters/logs.yaml" in found["README.md"]


@pytest.mark.usefixtures("everywhere")
def test_a_member_that_does_not_start_hides_no_log_of_the_others(run: Run, api: FakeApi, tmp_path: Path) -> None:
    api.objects = {("pods", Key("default", "logs-hot-0-0")): pod("logs-hot-0-0"), **api.objects}
    path = tmp_path / "report.tar.gz"
    run("diagnose", "logs", "-f", str(path), "--database-logs")
    found = files(path)
    assert "logs/logs-hot-1-0.txt" in found
    assert "* the log of logs-hot-0-0: " in found["README.md"]


@pytest.mark.usefixtures("everywhere")
def test_what_the_user_may_not_read_is_left_out_and_said_so(run: Run, api: FakeApi, tmp_path: Path) -> None:
    api.denied = {"secrets", "nodes"}
    path = tmp_path / "report.tar.gz"
    done = run("diagnose", "logs", "-f", str(path))
    assert done.exit_code == 0
    assert "not included: nodes: nodes is forbidden" in done.stderr
    found = files(path)
    assert "* nodes: nodes is forbidden" in found["README.md"]
    assert "nodes.yaml" not in found


def test_the_report_goes_to_a_pipe(run: Run, api: FakeApi) -> None:
    done = run("diagnose", "logs", "-f", "-")
    with tarfile.open(fileobj=io.BytesIO(done.stdout_bytes)) as archive:
        assert archive.getnames()[0].endswith("/README.md")


@given(st.text("abcXYZ019+/ \"\\'é\n", min_size=8, max_size=40))
def test_a_learned_value_is_replaced_in_every_encoding(secret: str) -> None:
    redactor = Redactor()
    redactor.learn(secret)
    kept = redactor.text(f"plain {secret} json {json.dumps({'a': secret})} base64 {encoded(secret)}")
    if len(secret.strip()) >= 6 and not secret.strip().isdigit():
        assert secret not in kept
        assert encoded(secret) not in kept


@pytest.mark.parametrize(
    "text",
    [
        "logs-hot-1 restarts to apply version",
        "Secret logs-tls does not hold the cluster file",
        "adminSecretName: logs-admin",
        "image: opensearchproject/opensearch@sha256:0123456789abcdef",
        "10.0.0.1:9200",
        "spec.security.adminSecretName",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_names_of_members_are_never_taken_for_secrets() -> None:
    redactor = Redactor(public=("logs-hot-1",))
    redactor.learn("logs-hot-1")
    assert redactor.text("logs-hot-1 restarts") == "logs-hot-1 restarts"

"""`explain` of a cluster names the objects and users that are not in its database yet, and what ends each wait."""

import json
import re
from pathlib import Path
from typing import Any

import stateward
from stateward.cli.status.declared import DECLARED_ADVICE, FAILED
from stateward.kube.objects.metadata import Key
from stateward.planning.report.reconcile_failure import REASON
from tests.unit.cli.fake_api import FakeApi, Run

SOURCE = Path(stateward.__file__).parent
READY = {"type": "Ready", "status": "True", "reason": "Applied"}
REFUSED = {
    "type": "Ready",
    "status": "False",
    "reason": "Refused",
    "message": "spec.body: the database refuses it: no index patterns",
}


def declare(api: FakeApi, plural: str, kind: str, name: str, conditions: list[Any], cluster: str = "logs") -> None:
    api.served.add(plural)
    own: dict[str, Any] = {"roles": ["reader"]} if kind == "SearchUser" else {"object": "indexTemplate/logs"}
    spec = {"cluster": {"kind": "OpenSearchCluster", "name": cluster}, **own}
    meta = {"name": name, "namespace": "default"}
    document = {"apiVersion": "stateward.dev/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}
    api.objects[plural, Key("default", name)] = {**document, "status": {"conditions": conditions}}


def test_what_is_not_ready_is_named_with_what_ends_it(run: Run, api: FakeApi) -> None:
    declare(api, "searchobjects", "SearchObject", "good", [READY])
    declare(api, "searchobjects", "SearchObject", "bad", [REFUSED])
    declare(api, "searchobjects", "SearchObject", "elsewhere", [REFUSED], cluster="other")
    declare(api, "searchusers", "SearchUser", "shop", [])
    said = run("explain", "logs").output
    assert "SearchObject bad (Refused): spec.body: the database refuses it: no index patterns." in said
    assert "What to do: correct the spec: the message has the reason." in said
    assert "SearchUser shop: the operator has not observed it yet." in said
    assert "good" not in said
    assert "elsewhere" not in said


def test_programs_get_every_declared_resource_with_its_reason(run: Run, api: FakeApi) -> None:
    declare(api, "searchobjects", "SearchObject", "good", [READY])
    declare(api, "searchobjects", "SearchObject", "bad", [REFUSED])
    declare(api, "searchusers", "SearchUser", "shop", [])
    api.denied = {"searchrestores"}
    for verb in ("status", "explain"):
        found = json.loads(run(verb, "logs", "-o", "json").stdout)
        assert [(each["name"], each["ready"], each["reason"]) for each in found["declared"]] == [
            ("bad", False, "Refused"),
            ("good", True, "Applied"),
            ("shop", False, ""),
        ]
        assert list(found["declaredNotRead"]) == ["SearchRestore"]


def test_status_counts_declared_resources_and_names_those_that_are_not_ready(run: Run, api: FakeApi) -> None:
    assert "declared" not in run("status", "logs").output
    declare(api, "searchobjects", "SearchObject", "good", [READY])
    declare(api, "searchusers", "SearchUser", "shop", [READY])
    assert "declared: 1 SearchObject, 1 SearchUser; all ready\n" in run("status", "logs").output
    declare(api, "searchobjects", "SearchObject", "bad", [REFUSED])
    api.denied = {"searchusers"}
    said = run("status", "logs").output
    assert "declared: 2 SearchObjects; not ready: SearchObject bad; see `explain logs`\n" in said
    assert "declared: not all could be read: SearchUser; see `explain logs`\n" in said


def test_a_resource_that_cannot_be_read_is_not_an_absent_one(run: Run, api: FakeApi) -> None:
    declare(api, "searchobjects", "SearchObject", "good", [READY])
    declare(api, "searchobjects", "SearchObject", "garbled", [READY])
    api.objects["searchobjects", Key("default", "garbled")]["spec"] = 7
    assert "declared: not all could be read: SearchObject" in run("status", "logs").output
    assert "Not every SearchObject of the cluster could be read: default/garbled" in run("explain", "logs").output


def test_each_reason_of_a_declared_resource_has_an_advice() -> None:
    found: set[str] = set()
    rooms = ("operator/declared", "operator/scaling", "engines/search/declared", "engines/search/snapshots")
    for room in rooms:
        for file in (SOURCE / room).rglob("*.py"):
            said = file.read_text()
            found |= set(re.findall(r'(?:STALLED|WORKING|STOP|WAIT), "([A-Z]\w+)"', said))
            found |= set(re.findall(r'^[A-Z]+ = "([A-Z]\w+)"\n"""Reason of a resource', said, re.MULTILINE))
            found |= set(re.findall(r'NoValueError\(\s*"([A-Z]\w+)"', said))
            if file.name in ("verification.py", "throwaway.py"):
                found |= set(re.findall(r'(?:_told\([\w.]+, |yield |[=(]\s+)"([A-Z]\w+)"', said))
    assert found, "the pattern finds reasons"
    assert found | {REASON, FAILED} == DECLARED_ADVICE.keys()


def test_explain_tells_what_a_verification_waits_for_and_that_the_last_one_failed(run: Run, api: FakeApi) -> None:
    declare(api, "searchsnapshotschedules", "SearchSnapshotSchedule", "nightly", [READY])
    live = api.objects["searchsnapshotschedules", Key("default", "nightly")]
    live["spec"] |= {"repository": "files", "schedule": "0 3 * * *"}
    failure = {"name": "nightly-1", "time": "2026-01-02T00:00:00Z", "reason": "a file is missing"}
    success = {"name": "nightly-0", "time": "2026-01-01T00:00:00Z"}
    waits = {"reason": "RepositoryNotDeclared", "activity": "no SearchObject of logs declares it"}
    live["status"]["verification"] = {**waits, "lastFailure": failure, "lastSuccess": success}
    said = run("explain", "logs").stdout
    assert "spec.verify (RepositoryNotDeclared): no SearchObject of logs declares it." in said
    assert "nightly (VerificationFailed): nightly-1 could not be restored: a file is missing." in said
    success["time"] = "2026-01-03T00:00:00Z"
    assert "VerificationFailed" not in run("explain", "logs").stdout

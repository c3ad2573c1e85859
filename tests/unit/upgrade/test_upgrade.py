"""The operator of this version takes over clusters of every released version, and restarts nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stateward import __version__
from stateward.engines.pods.pods import TEMPLATE_REVISION
from stateward.simulation.apiserver.documents import put
from stateward.simulation.cluster.context import SimulationContext
from tests.unit.upgrade.cases import CASES
from tests.unit.upgrade.frozen import RELEASED, FrozenCluster, read
from tests.unit.upgrade.takeover import AGENT_IMAGE, Takeover, take_over, templates_of

FILES = sorted(RELEASED.glob("*/*.json.gz"))
OF_THIS = [path for path in FILES if path.parent.name == __version__]
AGENT, REVISION = "stateward.dev/agent", "stateward.dev/template-revision"
STATE = {"STATEWARD_BOOTSTRAP_CANDIDATE", "STATEWARD_CONFIG_SHA256"}
"""Variables that depend on the state and the configuration of the cluster."""
SETS, PODS = "apps/statefulsets", "/pods"
CLUSTERS = ("stateward.dev/osclusters", "stateward.dev/esclusters", "stateward.dev/fdbclusters")


def name(path: Path) -> str:
    return f"{path.parent.name}-{path.name.removesuffix('.json.gz')}"


def with_annotation(kinds: tuple[str, ...], changes: dict[str, str]) -> Callable[[SimulationContext], None]:
    """Return an edit that sets annotations of clusters and pods, and of the templates of StatefulSets."""

    def edit(context: SimulationContext) -> None:
        for kind in kinds:
            for stored in context.store.all(kind):
                place = ("spec", "template", "metadata", "annotations") if kind == SETS else ("metadata", "annotations")
                doc = stored.doc
                for part in place[:-1]:
                    doc = doc.get(part, {})
                annotations = {**doc.get("annotations", {}), **changes}
                context.store.put(kind, put(stored.doc, place, annotations), stored.managers)

    return edit


def older(frozen: FrozenCluster) -> Callable[[SimulationContext], None]:
    """Return an edit that makes the objects those of an earlier version."""
    return with_annotation((SETS, PODS), {REVISION: "0", **({AGENT: "0.0.1"} if frozen.agents else {})})


def pods_of(frozen: FrozenCluster) -> int:
    return sum(each.kind == PODS for each in frozen.objects)


def is_ready(found: Takeover) -> bool:
    return {c["type"]: c["status"] for c in found.status["conditions"]}["Ready"] == "True"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_an_upgrade_restarts_nothing_and_writes_no_pod_template(path: Path) -> None:
    """If this fails for a released version, the change would restart databases when users upgrade the operator."""
    found = take_over(read(path))
    assert found.commands == []
    assert found.written(SETS, PODS, "/persistentvolumeclaims", "/secrets") == []
    assert is_ready(found)


@pytest.mark.parametrize("path", OF_THIS, ids=name)
def test_the_same_version_writes_nothing_at_all(path: Path) -> None:
    """If this fails and this version is not released yet, freeze its objects again: remove the folder first."""
    found = take_over(read(path))
    assert [f"{each.verb} {each.kind} {each.key}" for each in found.writes] == []
    assert found.status.get("outdatedPods", 0) == 0


@pytest.mark.parametrize("path", OF_THIS, ids=name)
def test_what_an_earlier_version_made_is_reported_and_stays(path: Path) -> None:
    frozen = read(path)
    found = take_over(frozen, edit=older(frozen))
    assert found.commands == []
    assert {each.kind for each in found.writes} <= {*CLUSTERS, "events.k8s.io/events"}
    assert found.status["outdatedPods"] == pods_of(frozen)
    assert is_ready(found)


@pytest.mark.parametrize("path", [path for path in OF_THIS if "plain" in path.name], ids=name)
def test_the_users_consent_recreates_one_pod_first_after_its_template_was_written(path: Path) -> None:
    frozen = read(path)

    def edit(context: SimulationContext) -> None:
        older(frozen)(context)
        with_annotation(CLUSTERS, {"stateward.dev/apply-pending": "true"})(context)

    written = take_over(frozen, edit=edit, seconds=60.0).written(SETS)
    # Without a StatefulSet controller the rollout ends here: the first template was not observed.
    assert len(set(written)) == 1


def test_every_release_and_every_case_is_frozen() -> None:
    assert {path.parent.name for path in FILES} >= {__version__}
    assert {path.name.removesuffix(".json.gz") for path in OF_THIS} == CASES.keys()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_changed_pod_template_has_a_new_revision(path: Path) -> None:
    """Otherwise a change would come with the next restart, without a report that it is pending."""
    frozen = read(path)
    templates = [each.body["spec"]["template"] for each in frozen.objects if each.kind == SETS]
    revisions = {int(each["metadata"]["annotations"].get(REVISION, "0")) for each in templates}
    assert max(revisions) <= TEMPLATE_REVISION
    if max(revisions) == TEMPLATE_REVISION:
        assert [_own(each) for each in templates_of(frozen)] == [_own(each) for each in templates]


def _own(template: dict[str, Any]) -> dict[str, Any]:
    """Return a template without what differs by version, by configuration and by the state of the cluster."""
    text = json.dumps(template).replace("stateward:simulated", "IMAGE").replace(AGENT_IMAGE, "IMAGE")
    found = json.loads(text)
    for annotation in (AGENT, "stateward.dev/config-checksum", "stateward.dev/bootstrap-candidate"):
        found["metadata"]["annotations"].pop(annotation, None)
    for container in found["spec"]["containers"]:
        container["env"] = [variable for variable in container["env"] if variable["name"] not in STATE]
    return found

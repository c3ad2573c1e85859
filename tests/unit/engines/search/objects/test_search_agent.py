"""Pods with an agent: what they are made of, and what stays the same for pods without one."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from stateward.agent import commandline, options
from stateward.agent.process import configuration
from stateward.agent.process.settings import LONGEST
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.engines.pods.agent import API_PORT, PROBES_PORT
from stateward.engines.search.objects import desired as search_desired
from tests.unit.engines.search_clusters import cluster

IMAGE = "stateward.dev/stateward:1"


def objects(**spec: Any) -> opensearch.MemberObjects:
    return opensearch.member_objects(cluster(**spec), "hot", 1, "2.19.5", agent_image=IMAGE)


def template(**spec: Any) -> Json:
    return objects(**spec).workload["spec"]["template"]


def test_the_agent_is_process_1_and_the_script_is_its_database() -> None:
    (container,) = template()["spec"]["containers"]
    assert container["command"][0] == "/stateward/agent/current/ld.so"
    assert container["args"][-2:] == ["/bin/bash", "/stateward/scripts/start.sh"]
    (_, *before), script = commandline.split(container["args"])
    settings = options.settings(before, script)
    assert settings.api == ("", API_PORT)
    assert settings.probes == ("", PROBES_PORT)
    grace = template()["spec"]["terminationGracePeriodSeconds"]
    assert settings.grace_seconds < grace
    assert {probe["httpGet"]["port"] for name, probe in container.items() if name.endswith("Probe")} == {PROBES_PORT}


@pytest.mark.parametrize(
    ("asked", "agent"), [({}, 115.0), (1800, 1795.0), (10, 5.0), (0, 1.0), (None, 25.0), (10**6, LONGEST)]
)
def test_the_agent_gives_the_database_the_time_that_the_pod_has(asked: object, agent: float) -> None:
    """The disaster this prevents: a pod has half an hour to end, and its agent kills the database after two minutes."""
    own: Json = {} if asked == {} else {"podTemplate": {"spec": {"terminationGracePeriodSeconds": asked}}}
    (container,) = template(**own)["spec"]["containers"]
    (_, *before), script = commandline.split(container["args"])
    assert options.settings(before, script).grace_seconds == agent


def test_a_newer_agent_changes_nothing_by_which_members_are_compared() -> None:
    """A new version of Stateward restarts no database: a pod gets its agent when it is recreated for another reason."""
    made = {
        image: search_desired.desired(replace(opensearch.OPENSEARCH, agent_image=image), cluster())
        for image in (IMAGE, "stateward.dev/stateward:2", "")
    }
    assert made[IMAGE] == made["stateward.dev/stateward:2"]
    assert [pool.inputs for pool in made[""].pools] == [pool.inputs for pool in made[IMAGE].pools]
    old, new = (opensearch.member_objects(cluster(), "hot", 1, "2.19.5", agent_image=image) for image in (IMAGE, "x:2"))
    assert old.config == new.config
    annotations = [each.workload["spec"]["template"]["metadata"]["annotations"] for each in (old, new)]
    assert annotations[0] == annotations[1]


def test_every_file_that_the_agent_reads_is_mounted() -> None:
    (container,) = template()["spec"]["containers"]
    (_, *before), script = commandline.split(container["args"])
    settings = options.settings(before, script)
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    read = (settings.configuration, settings.kept, settings.certificate, settings.key, settings.token, settings.phase)
    for path in (*read, settings.expected, settings.releases):
        assert path is not None
        assert {str(path), *map(str, path.parents)} & mounts.keys(), path
    volumes = {volume["name"]: volume for volume in template()["spec"]["volumes"]}
    assert volumes["agent-tls"]["secret"] == {"secretName": "logs-hot-1-agent"}
    files = {item["path"] for item in volumes["pod"]["downwardAPI"]["items"]}
    assert files == {"bootstrap", "restart-phase", "config-checksum"}
    secret = objects().config["data"]
    assert {str(settings.started_url), str(settings.ready_url)} == {
        f"@{n}" for n in secret if n.startswith("stateward")
    }


def test_the_agent_comes_in_the_restricted_way() -> None:
    _, init = template()["spec"]["initContainers"]
    assert init["image"] == IMAGE
    assert init["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert init["resources"]["limits"]["memory"]
    assert init["resources"]["requests"]


def test_the_checksum_is_the_one_that_the_agent_finds() -> None:
    made = objects()
    files = {name: base64.b64decode(content) for name, content in made.config["data"].items()}
    checksum = configuration.checksum(files)
    assert made.config["metadata"]["annotations"][names.ANNOTATION_CHECKSUM] == checksum
    assert template()["metadata"]["annotations"][names.ANNOTATION_CHECKSUM] == checksum


def test_a_change_of_configuration_changes_only_annotations_of_the_template() -> None:
    before, after = template(), template(config={"indices.first": 1})
    assert before["spec"] == after["spec"]
    assert before["metadata"]["annotations"] != after["metadata"]["annotations"]


def test_the_agent_is_no_input() -> None:
    bare = opensearch.member_objects(cluster(), "hot", 1, "2.19.5").workload["spec"]["template"]
    inputs = names.ANNOTATION_INPUTS
    assert bare["metadata"]["annotations"][inputs] == template()["metadata"]["annotations"][inputs]


def test_pods_have_no_agent_if_it_is_disabled() -> None:
    bare = opensearch.member_objects(cluster(), "hot", 1, "2.19.5").workload["spec"]["template"]
    assert [each["name"] for each in bare["spec"]["initContainers"]] == ["stateward-config"]
    assert bare["spec"]["containers"][0]["command"] == ["/bin/bash", "/stateward/scripts/start.sh"]
    assert names.ANNOTATION_AGENT not in bare["metadata"]["annotations"]
    assert template(update={"inPlace": "Never"}) == bare

"""The pod policy: a forbidden template is refused by its field, and is never sent."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.cluster import Cluster
from stateward.api.pod_policy import Level, violations
from stateward.api.validation import errors, validate
from stateward.api.values.base import Json
from stateward.engines.connection.base import Target
from stateward.kube.election.fence import unfenced
from stateward.kube.objects.errors import ApiError
from stateward.operator.act.act import Actor
from stateward.operator.admission.judge import judge
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import kind_of
from stateward.operator.observe.desired_state import DesiredStates, desired_or_refused
from stateward.operator.pod_rights.finished import final_templates
from stateward.operator.pod_rights.policy import PodNotAllowed, problems
from stateward.planning.model import actions as a
from stateward.planning.model.observation import ProtocolSwitch, Refusal
from tests.support.fuzz import fuzzed
from tests.unit.operator.pod_rights.clusters import (
    SEARCH,
    container,
    elastic,
    foundation,
    search,
)


def refused(cluster: Cluster, level: Level = Level.BASELINE) -> list[str]:
    assert errors(validate(cluster)) == []
    return [problem.path for problem in problems(unconnected(kind_of(cluster)), cluster, level)]


@pytest.mark.parametrize(
    "cluster",
    [
        search(),
        search(security={"enabled": True}, secureSettings=[{"secretName": "s"}]),
        search(update={"inPlace": "Never"}),
        elastic(),
        elastic(security={"enabled": True}),
        elastic(security={"enabled": False}),
        foundation(),
        foundation(faultDomain="Node"),
        foundation(update={"inPlace": "Never"}),
    ],
)
def test_unchanged_pods_are_restricted(cluster: Cluster) -> None:
    assert refused(cluster, Level.RESTRICTED) == []


def test_the_way_to_another_version_is_checked_too() -> None:
    seen = {
        c["name"] for made in final_templates(unconnected(kind_of(foundation())), foundation()) for c in initial(made)
    }
    assert seen == {"stateward-agent", "stateward-beside"}


def initial(of: Any) -> list[Json]:
    return of.template["spec"]["initContainers"]


def test_a_field_is_named_where_the_spec_has_it() -> None:
    power = container(securityContext={"privileged": True})
    pools = [SEARCH[0], {**SEARCH[1], "podTemplate": power}]
    tail = "podTemplate.spec.containers[opensearch].securityContext.privileged"
    assert refused(search(pools)) == [f"spec.pools[1].{tail}"]
    assert refused(search(podTemplate=power)) == [f"spec.{tail}"]
    harmless = {**SEARCH[1], "podTemplate": container(env=[{"name": "A", "value": "1"}])}
    assert refused(search([SEARCH[0], harmless], podTemplate=power)) == [f"spec.{tail}"]
    found = problems(unconnected(kind_of(search())), search(podTemplate=power), Level.BASELINE)
    assert str(found[0]) == f"spec.{tail}: True: must be false, or left out (the pod policy is baseline)"


def test_what_a_template_takes_away_from_pods_is_named_as_well() -> None:
    bare = {"spec": {"securityContext": {"$patch": "replace"}}}
    assert refused(search(podTemplate=bare)) == []
    assert set(refused(search(podTemplate=bare), Level.RESTRICTED)) >= {
        "spec.podTemplate.spec.containers[opensearch].securityContext.runAsNonRoot",
        "spec.podTemplate.spec.containers[opensearch].securityContext.seccompProfile.type",
    }


def test_a_sidecar_has_to_be_restricted_itself() -> None:
    assert refused(search(podTemplate=container("side", image="side:1"))) == []
    assert set(refused(search(podTemplate=container("side", image="side:1")), Level.RESTRICTED)) == {
        "spec.podTemplate.spec.containers[side].securityContext.allowPrivilegeEscalation",
        "spec.podTemplate.spec.containers[side].securityContext.capabilities.drop",
    }


async def test_a_cluster_whose_pods_are_refused_is_still_requested_with_all_its_pools() -> None:
    family = unconnected(kind_of(search()))
    bad = search(podTemplate={"spec": {"hostPID": True}})
    for desired in (
        desired_or_refused(family, bad, Level.BASELINE),
        await DesiredStates(family, Level.BASELINE).desired(bad),
    ):
        assert [(r.subject, r.reason, r.everything) for r in desired.refusals] == [
            ("spec.podTemplate.spec.hostPID", "PodNotAllowed", True)
        ]
        assert [pool.name for pool in desired.pools] == ["managers", "hot"]
    assert desired_or_refused(family, bad, Level.PRIVILEGED).refusals == ()


def test_the_webhook_refuses_what_is_new_of_it_and_lets_a_repair_in() -> None:
    family = unconnected(kind_of(search()))
    bad = search(podTemplate={"spec": {"hostPID": True}})
    worse = search(podTemplate={"spec": {"hostPID": True, "hostIPC": True}})
    assert len(judge(family, bad, None, None, 0.0, Level.BASELINE).refused) == 1
    assert judge(family, bad, None, None, 0.0, Level.PRIVILEGED).refused == ()
    assert ["hostIPC" in text for text in judge(family, worse, bad, None, 0.0, Level.BASELINE).refused] == [True]
    assert judge(family, bad, worse, None, 0.0, Level.BASELINE).refused == ()
    assert judge(family, search(), worse, None, 0.0, Level.BASELINE).refused == ()


BITS: list[Json] = [
    {"hostPID": True},
    {"hostNetwork": True},
    {"securityContext": {"$patch": "replace"}},
    {"securityContext": None},
    {"securityContext": {"runAsUser": 0, "runAsNonRoot": False}},
    {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    {"securityContext": {"sysctls": [{"name": "vm.max_map_count", "value": "262144"}]}},
    {"volumes": [{"name": "run", "hostPath": {"path": "/"}, "emptyDir": None}]},
    {"volumes": [{"name": "config", "$patch": "replace", "hostPath": {"path": "/"}}]},
    {"volumes": [{"$patch": "replace"}]},
    {"containers": [{"name": "opensearch", "securityContext": {"privileged": True}}]},
    {"containers": [{"name": "opensearch", "securityContext": None}]},
    {"containers": [{"name": "opensearch", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]},
    {"containers": [{"name": "opensearch", "$patch": "delete"}]},
    {"containers": [{"name": "opensearch", "ports": [{"containerPort": 9200, "hostPort": 9200}]}]},
    {"initContainers": [{"name": "stateward-agent", "securityContext": {"privileged": True}}]},
    {"initContainers": [{"name": "stateward-beside", "securityContext": {"privileged": True}}]},
    {"initContainers": [{"name": "sysctl", "securityContext": {"privileged": True, "runAsUser": 0}}]},
    {"ephemeralContainers": [{"name": "debug", "securityContext": {"procMount": "Unmasked"}}]},
    {"containers": [{"name": "side", "image": "s", "livenessProbe": {"httpGet": {"port": 1, "host": "1.1.1.1"}}}]},
    {"containers": [{"name": "side", "image": "s"}]},
    {"nodeSelector": {"disk": "fast"}},
    {"$patch": "replace", "hostIPC": True},
]


TEMPLATES = st.fixed_dictionaries({"spec": st.sampled_from(BITS)}) | st.fixed_dictionaries(
    {
        "spec": st.recursive(
            st.none() | st.booleans() | st.sampled_from(["privileged", "Unconfined", "hostPath", 0, 1]),
            lambda inside: (
                st.lists(inside, max_size=2)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "containers",
                            "initContainers",
                            "volumes",
                            "name",
                            "hostPath",
                            "hostPID",
                            "securityContext",
                            "privileged",
                            "capabilities",
                            "add",
                            "ports",
                            "hostPort",
                            "$patch",
                        ]
                    ),
                    inside,
                    max_size=4,
                )
            ),
            max_leaves=12,
        ).filter(lambda value: isinstance(value, dict))
    }
)


class Recorder:
    """Takes whatever is sent, and answers that nothing was there."""

    def __init__(self) -> None:
        self.sent: list[Json] = []

    async def get(self, *_: object) -> Any:
        raise AssertionError("a template that is refused is not prepared for")

    async def exists(self, *_: object) -> bool:
        return False

    async def apply(self, _kind: Any, _key: Any, body: Json, _options: Any) -> Any:
        self.sent.append(body)
        raise ApiError("enough was seen")


@fuzzed(150)
@given(common=TEMPLATES, own=TEMPLATES, level=st.sampled_from([Level.BASELINE, Level.RESTRICTED]))
def test_whatever_is_drawn_a_template_that_is_sent_is_allowed(common: Json, own: Json, level: Level) -> None:
    cluster = search([SEARCH[0], {**SEARCH[1], "podTemplate": own}], podTemplate=common)
    if errors(validate(cluster)):
        return
    family = unconnected(kind_of(cluster))
    allowed = not problems(family, cluster, level)
    for pool in ("managers", "hot"):
        for ordinal in (0, 1):
            body = family.member_objects(cluster, pool, ordinal, "2.17.1").workload["spec"]["template"]
            assert not allowed or violations(level, body) == ()
            action = a.Stage(why="x", member=f"logs-{pool}-{ordinal}", pool=pool, version="2.17.1")
            assert asyncio.run(stages(action, cluster, level)) is not bool(violations(level, body))


async def stages(action: a.Action, cluster: Cluster, level: Level) -> bool:
    """Return whether anything of a member is sent when it is staged."""
    family, api = unconnected(kind_of(cluster)), Recorder()
    anyone: Any = api
    actor = Actor(anyone, Caches(), family, anyone, unfenced, taken=anyone, level=level)
    try:
        await actor.carry_out(action, ClusterObjects(cluster, (), (), (), (), {}, {}), Target((), "logs"))
    except (PodNotAllowed, ApiError):
        return bool(api.sent)
    raise AssertionError("it is one or the other")


@pytest.mark.parametrize("crossing", list(ProtocolSwitch))
async def test_programs_of_another_version_are_brought_with_no_more_rights(crossing: ProtocolSwitch) -> None:
    power: Json = {"initContainers": [{"name": "stateward-beside", "securityContext": {"privileged": True}}]}
    for record in (foundation(), foundation(podTemplate={"spec": power})):
        action = a.Stage(why="x", member="logs-log-0", pool="log", version="7.1.61", crossing=crossing)
        assert await stages(action, record, Level.BASELINE) is (record.spec.pod_template is None)


async def test_nothing_is_made_of_a_cluster_that_names_what_it_may_not_use() -> None:
    api: Any = Recorder()
    actor = Actor(api, Caches(), unconnected(kind_of(search())), api, unfenced, taken=api, level=Level.PRIVILEGED)
    barred = ClusterObjects(search(), (), (), (), (), {}, {}, barred=(Refusal("spec.x", "PodNotAllowed", "no"),))
    create = a.Create(why="x", member="logs-hot-1", pool="hot", ordinal=1, version="2.19.5")
    stage = a.Stage(why="x", member="logs-hot-1", pool="hot", version="2.19.5")
    for action in (create, stage):
        with pytest.raises(PodNotAllowed, match="no"):
            await actor.carry_out(action, barred, Target((), "logs"))
    assert api.sent == []


@pytest.mark.parametrize("block", ["dashboards", "metrics"])
def test_the_webhook_refuses_what_pods_beside_the_database_may_not_have(block: str) -> None:
    specs: list[dict[str, Any]] = [{block: {"podTemplate": {"spec": spec}}} for spec in ({}, {"hostPID": True})]
    plain, bad = (search(**spec) for spec in specs)
    family = unconnected(kind_of(bad))
    (said,) = judge(family, bad, None, None, 0.0, Level.BASELINE).refused
    assert said.startswith(f"spec.{block}.podTemplate.spec.hostPID: ")
    assert judge(family, bad, plain, None, 0.0, Level.PRIVILEGED).refused == ()
    assert judge(family, plain, bad, None, 0.0, Level.BASELINE).refused == ()

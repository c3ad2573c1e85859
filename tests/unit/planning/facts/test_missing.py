"""Since when and why a member is missing: each cause, the root cause first, and none if it is unknown."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.facts.missing_members import Cause, Missing, causes, missing
from stateward.planning.model import observation as o
from stateward.planning.report.status import status
from tests.unit.planning.world import World, hot, managers, settled

NAME = "c-hot-1"
NOW = 2e6


def cluster() -> World:
    return settled(managers(), hot(3), indices=((2,), (2,)))


def seen(change: Callable[[o.Observation], o.Observation], world: World | None = None) -> Missing | None:
    """Return the report about the member if the settled cluster is observed with the change."""
    obs = change((world or cluster()).observe())
    return missing(derive(obs, NOW), next(m for m in obs.members if m.name == NAME))


def of_member(**fields: object) -> Callable[[o.Observation], o.Observation]:
    def change(obs: o.Observation) -> o.Observation:
        return replace(obs, members=tuple(replace(m, **fields) if m.name == NAME else m for m in obs.members))

    return change


def of_pod(**fields: object) -> Callable[[o.Observation], o.Observation]:
    def change(obs: o.Observation) -> o.Observation:
        pod = next(m.pod for m in obs.members if m.name == NAME)
        assert pod is not None
        return of_member(pod=replace(pod, **fields))(obs)

    return change


def of_database(node: Callable[[o.Node], o.Node | None]) -> Callable[[o.Observation], o.Observation]:
    def change(obs: o.Observation) -> o.Observation:
        assert isinstance(obs.database, o.Database)
        nodes = {n: found for n, was in obs.database.nodes.items() if (found := node(was) if n == NAME else was)}
        return replace(obs, database=replace(obs.database, nodes=nodes))

    return change


def tainted(obs: o.Observation) -> o.Observation:
    desired = replace(obs.desired, replacement=o.Replacement(enabled=True, taints={"broken": 60.0}))
    return of_pod(taints=("other", "broken"))(replace(obs, desired=desired))


ALONE = {
    "NodeNotReady": of_pod(node_ready=False),
    "NodeTainted": tainted,
    "NoClaim": of_member(claim=None),
    "NoPod": of_member(pod=None),
    "PodTerminating": of_pod(terminating=True, ready=False),
    "PodPending": of_pod(trouble="Unschedulable: 0/3 nodes are available", ready=False, running=False),
    "PodFailing": of_pod(trouble="CrashLoopBackOff", ready=False, running=False),
    "NotInCluster": of_database(lambda _: None),
    "DiskFault": of_database(lambda node: replace(node, fault="its disk is read-only")),
    "AgentUnreachable": of_member(process=o.Unknown("connection refused")),
}


@pytest.mark.parametrize("cause", ALONE)
def test_each_cause_is_reported_in_one_word_and_in_a_clause(cause: str) -> None:
    found = seen(ALONE[cause])
    assert found is not None
    assert found.cause == cause
    assert found.text


def test_every_cause_that_there_is_has_its_case() -> None:
    assert set(ALONE) == set(Cause)


def test_no_member_is_missing_that_is_in_its_database() -> None:
    assert seen(lambda obs: obs) is None


@pytest.mark.parametrize(
    ("deep", "shallow"),
    [("NodeNotReady", "PodTerminating"), ("NodeNotReady", "NotInCluster"), ("NoClaim", "PodPending"),
     ("PodFailing", "NotInCluster"), ("PodTerminating", "NodeTainted")],
)  # fmt: skip
def test_the_cause_that_explains_the_others_is_reported(deep: str, shallow: str) -> None:
    found = seen(lambda obs: ALONE[deep](ALONE[shallow](obs)))
    assert found is not None
    assert found.cause == deep


def test_no_member_is_missing_from_a_database_that_does_not_answer() -> None:
    assert seen(lambda obs: replace(obs, database=o.Unknown("timed out"))) is None


def test_a_taint_that_the_spec_does_not_name_is_no_cause() -> None:
    assert seen(of_pod(taints=("other", "broken"))) is None


@pytest.mark.parametrize("cause", ALONE)
def test_a_new_member_is_only_missing_if_its_machine_is_lost(cause: str) -> None:
    found = seen(lambda obs: replace(ALONE[cause](obs), records={}))
    assert (found is not None) is (cause in {"NodeNotReady", "NodeTainted", "PodTerminating"})


def test_a_member_that_leaves_its_spec_is_not_missing() -> None:
    assert seen(lambda obs: replace(ALONE["NoPod"](obs), desired=replace(obs.desired, pools=()))) is None


def test_the_time_begins_with_the_first_check_and_ends_when_the_member_is_back() -> None:
    world = cluster()
    world.dead_nodes.add("node-hot-1")
    begun = world.now
    world.ticks(5)
    state = next(m for m in world.status.member_states if m.name == NAME)
    assert (state.missing_reason, world.observe().missing[NAME]) == ("NodeNotReady", begun)
    world.dead_nodes.clear()
    world.ticks(3)
    state = next(m for m in world.status.member_states if m.name == NAME)
    assert (state.missing_reason, state.missing_since_time) == ("", "")


def test_a_database_that_falls_silent_resets_no_members_time() -> None:
    world = cluster()
    gone = of_database(lambda _: None)(world.observe())
    first = status(gone, world.plan(), world.status, world.now)
    then = replace(gone, database=o.Unknown("timed out"), missing={NAME: world.now}, causes={NAME: "NotInCluster"})
    later = status(then, world.plan(), first, world.now + 60)
    states = [next(m for m in each.member_states if m.name == NAME) for each in (first, later)]
    assert states[0].missing_reason == states[1].missing_reason == "NotInCluster"
    assert states[0].missing_since_time == states[1].missing_since_time


def test_a_pod_in_trouble_is_not_reported_as_outside_of_the_cluster_as_well() -> None:
    def change(obs: o.Observation) -> o.Observation:
        assert isinstance(obs.database, o.Database)
        nodes = {name: node for name, node in obs.database.nodes.items() if name != NAME}
        return replace(obs, database=replace(obs.database, nodes=nodes))

    obs = change(cluster().observe())
    for trouble, expected in (("", True), ("CrashLoopBackOff", False)):
        members = {m.name: m for m in obs.members}
        pod = members[NAME].pod
        assert pod is not None
        member = replace(members[NAME], pod=replace(pod, trouble=trouble))
        found = [told.cause for told in causes(derive(obs, NOW), member)]
        assert (Cause.NOT_IN_CLUSTER in found) is expected

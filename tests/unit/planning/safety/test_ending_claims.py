"""A claim that someone has deleted exists as long as a pod uses it: the data on it ends with the pod."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.facts.missing_members import loses_data_with_pod
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.safety.availability import voter_problem
from stateward.planning.steps.rollout.restart_all import preparation
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import hot, managers
from tests.unit.planning.safety.test_choice import facts_of


def with_ending_claim(seen: o.Observation, name: str, *, ending: bool = True) -> o.Observation:
    """Return an observation in which someone has deleted a member's claim while its pod runs."""
    return replace(
        seen,
        members=tuple(
            replace(m, claim=m.claim and replace(m.claim, terminating=ending)) if m.name == name else m
            for m in seen.members
        ),
    )


def before_last_change(homes: tuple[str, ...], policy: o.SoleCopy) -> o.Observation:
    """Return a pool of three of which the first member is the last one to get a new image."""
    seen = facts_of([hot(3)], [homes]).obs
    (pool,) = seen.desired.pools
    inputs = {**pool.inputs, "image": "new"}
    members = tuple(
        replace(
            m,
            workload=m.workload and replace(m.workload, inputs=inputs),
            config=inputs,
            pod=m.pod and replace(m.pod, inputs=m.pod.inputs if m.name == "hot-0" else inputs),
        )
        for m in seen.members
    )
    desired = replace(seen.desired, pools=(replace(pool, inputs=inputs, held_inputs=inputs),), sole_copy=policy)
    return replace(seen, desired=desired, members=members)


@pytest.mark.parametrize("homes", [("hot-0",), ("hot-0", "hot-1")])
@pytest.mark.parametrize("ending", [False, True])
def test_a_pod_with_a_claim_that_is_being_deleted_is_drained_before_it_goes(
    homes: tuple[str, ...], *, ending: bool
) -> None:
    """Someone has deleted the claims by mistake. The only copy of a shard ended with the pod at the next restart."""
    seen = before_last_change(homes, o.SoleCopy.INTERRUPT)
    made = plan(with_ending_claim(seen, "hot-0", ending=ending), NOW).actions
    assert any(isinstance(x, a.DeletePod) for x in made) == (not ending)
    assert [x.members for x in made if isinstance(x, a.Drain)] == [frozenset({"hot-0"})] * ending


def test_the_only_manager_with_a_claim_that_is_being_deleted_keeps_its_pod() -> None:
    seen = facts_of([managers(1), hot(2)], []).obs
    before, facts = derive(seen, NOW), derive(with_ending_claim(seen, "managers-0"), NOW)
    assert voter_problem(before, before.members["managers-0"]) is None
    problem = voter_problem(facts, facts.members["managers-0"])
    assert problem == "managers-0 is the only manager, and its pod holds the cluster state"


def test_members_with_claims_that_are_being_deleted_are_not_all_recreated_together() -> None:
    facts = derive(with_ending_claim(facts_of([hot(2)], [("hot-0",)]).obs, "hot-0"), NOW)
    actions, waits = preparation(facts, list(facts.members.values()))
    assert not actions
    assert [(w.subject, w.reason) for w in waits] == [("hot-0", "DataInPod")]
    assert waits[0].message.startswith("the claim of hot-0 is being deleted, and its data would end with its pod")


def test_a_pod_that_does_not_use_the_claim_loses_nothing_with_it() -> None:
    facts = derive(with_ending_claim(facts_of([hot(1)], []).obs, "hot-0"), NOW)
    member = facts.members["hot-0"]
    assert loses_data_with_pod(facts, member)
    assert not loses_data_with_pod(facts, replace(member, pod=None))

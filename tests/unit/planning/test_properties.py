"""The promises of the planner, over random observations. Each test carries the name of one."""

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateward.planning.facts.facts import derive, serves
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.intent import State
from stateward.planning.model.phase import COORDINATED
from stateward.planning.plan import Plan, plan
from tests.unit.planning.chaos import NOW, observations

moderate = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ON_CACHED_READS = (
    a.Create,
    a.RecordData,
    a.MarkVolume,
    a.MarkState,
    a.RetainVolume,
    a.RecordRemoval,
    a.CancelRemoval,
    a.RestoreAllocation,
    a.ResumeBalancing,
)
RECORDS = (
    a.RecordBootstrap,
    a.RecordRemoval,
    a.CancelRemoval,
    a.MarkVolume,
    a.MarkState,
    a.ForgetState,
    a.RetainVolume,
    a.OwnVolume,
)
UNDOING = (a.RestoreAllocation, a.ResumeBalancing, a.Drain, a.ExcludeVoters)


def ref_of(action: a.Action) -> o.Ref | None:
    fields = (getattr(action, name, None) for name in ("pod", "workload", "claim"))
    return next((ref for ref in fields if isinstance(ref, o.Ref)), None)


def database_of(obs: o.Observation) -> o.Database | None:
    return obs.database if isinstance(obs.database, o.Database) else None


def taken_down(obs: o.Observation, made: Plan) -> set[str]:
    """Members in service that the plan takes down, but for those of which all go at once."""
    facts = derive(obs, NOW)
    together = {m.name for m in obs.members if facts.phase(m) in COORDINATED}
    going = {x.member for x in made.actions if isinstance(x, a.DeletePod)}
    stopped = {x.member for x in made.actions if isinstance(x, a.StopProcess)} - together
    return (going | stopped) & facts.up


@moderate
@given(observations)
def test_each_member_has_one_intent_and_every_action_on_a_member_is_reported_there(obs: o.Observation) -> None:
    made = plan(obs, NOW)
    for member in obs.members:
        if member.workload is not None or member.pod is not None:
            assert member.name in made.intents
    for name, intent in made.intents.items():
        assert intent.member == name
    for action in made.actions:
        name = getattr(action, "member", None)
        assert name is None or name in made.intents or isinstance(action, RECORDS)
    kinds = [(type(x), x.member) for x in made.actions if isinstance(x, a.DeletePod | a.Release | a.Create | a.Stage)]
    assert len(kinds) == len(set(kinds))
    going = [x.member for x in made.actions if isinstance(x, a.DeletePod | a.Release | a.Create)]
    assert len(going) == len(set(going)), "two kinds of work have picked the same victim"


@moderate
@given(observations)
def test_never_more_go_down_than_the_budget_counting_those_that_are_down(obs: o.Observation) -> None:
    made = plan(obs, NOW)
    taken, budget = taken_down(obs, made), obs.desired.max_unavailable
    if taken and budget is not None:
        assert len(taken | derive(obs, NOW).down) <= budget


@moderate
@given(observations)
def test_no_member_goes_down_with_the_last_live_copy_unless_there_is_no_other_way(obs: o.Observation) -> None:
    made, database = plan(obs, NOW), database_of(obs)
    taken, facts = taken_down(obs, made), derive(obs, NOW)
    deleted = {x.member for x in made.actions if isinstance(x, a.DeletePod)}
    if database is None:
        wished = {m.name for m in obs.members if facts.phase(m) is o.Phase.SCHEDULE} | obs.stopped
        assert taken <= wished - deleted, "only a process that a user requested, and never its pod"
        return
    for unit in database.units:
        live = {c.member for c in unit.copies if c.live}
        if not live & taken or live - taken - facts.down:
            continue
        assert len(taken & live) == 1, f"{unit.name} loses all its copies at once"
        (name,) = taken & live
        assert name not in deleted or not facts.ephemeral(facts.members[name])
        assert live == {name}, f"the other copy of {unit.name} is on a member that is down"
        others = [m for m in facts.obs.members if m.name != name and m.present and facts.holds_data(m)]
        accepted = obs.desired.sole_copy is o.SoleCopy.INTERRUPT
        assert accepted or (obs.desired.sole_copy is o.SoleCopy.MOVE and not others)


@moderate
@given(observations)
def test_the_quorum_stays(obs: o.Observation) -> None:
    made, database, facts = plan(obs, NOW), database_of(obs), derive(obs, NOW)
    going = {x.member for x in made.actions if isinstance(x, a.DeletePod | a.Release)}
    if database is None or not going & database.voters & facts.up:
        return
    present = {v for v in database.voters if v in database.nodes}
    had = len(present) > len(database.voters) // 2
    has = len(present - going) > len(database.voters) // 2
    others = [m for m in obs.members if m.name in obs.records and m.name not in going and facts.votes(m)]
    assert has or not had or not others


@moderate
@given(observations)
def test_everything_that_is_destroyed_is_named_exactly_as_it_was_seen(obs: o.Observation) -> None:
    seen = {m.workload.ref for m in obs.members if m.workload} | {m.pod.ref for m in obs.members if m.pod}
    seen |= {m.claim.ref for m in obs.members if m.claim}
    for action in plan(obs, NOW).actions:
        assert action.needs_live == (not isinstance(action, ON_CACHED_READS))
        ref = ref_of(action)
        assert ref is None or ref in seen
        assert ref is not None or not isinstance(action, a.DeletePod | a.Release | a.DeleteVolume)


@moderate
@given(observations)
def test_an_unknown_database_destroys_nothing_but_broken_pods_whose_data_stays(obs: o.Observation) -> None:
    obs = msgspec.structs.replace(obs, database=o.Unknown("no answer"))
    members = {m.name: m for m in obs.members}
    for action in plan(obs, NOW).actions:
        assert not isinstance(action, a.Drain | a.ExcludeVoters | a.MoveCopies | a.LimitAllocation | a.Flush)
        if isinstance(action, a.Release | a.DeleteMember | a.DeleteVolume):
            member = members[action.member]
            agreed = obs.bootstrap_again and isinstance(action, a.DeleteVolume)
            assert action.member not in obs.records or agreed
            assert member.claim is None or member.claim.empty, "only what was never there may go"
            assert member.pod is None or not member.pod.node
        if isinstance(action, a.DeletePod):
            member = members[action.member]
            assert member.pod is not None
            assert not member.pod.ready
            assert not derive(obs, NOW).ephemeral(member) or action.member not in obs.records or obs.bootstrap_again


@moderate
@given(observations)
def test_settled_means_no_action_and_no_wait_and_every_member_ready(obs: o.Observation) -> None:
    made = plan(obs, NOW)
    if made.settled:
        assert not made.actions
        assert not made.waits
        assert all(i.state is State.READY for i in made.intents.values())
        assert plan(obs, NOW + 1e6).settled


@moderate
@given(observations, st.randoms(use_true_random=False))
def test_the_same_observation_gives_the_same_plan_in_whatever_order_members_come(
    obs: o.Observation, random: object
) -> None:
    members = list(obs.members)
    random.shuffle(members)  # type: ignore[attr-defined]
    assert plan(obs, NOW) == plan(obs, NOW) == plan(msgspec.structs.replace(obs, members=tuple(members)), NOW)


@moderate
@given(observations)
def test_while_paused_or_refused_only_what_was_begun_is_ended_and_undone(obs: o.Observation) -> None:
    refusal = o.Refusal("spec", "Bad", "no")
    for desired in (
        msgspec.structs.replace(obs.desired, paused=True),
        msgspec.structs.replace(obs.desired, refusals=(refusal,)),
    ):
        held = msgspec.structs.replace(obs, desired=desired)
        facts = derive(held, NOW)
        going = facts.going
        if any(facts.phase(facts.members[name]) in COORDINATED for name in going):
            # Those that were to stop with others belong to what was begun: half of them must not come back alone.
            going |= {m.name for m in held.members if facts.phase(m) is o.Phase.SCHEDULE_COORDINATED}
        for action in plan(held, NOW).actions:
            if isinstance(action, a.LimitAllocation | a.Flush):
                assert going, "only a restart that has begun may still limit the allocation"
            else:
                assert (
                    isinstance(action, a.RestoreAllocation | a.ResumeBalancing)
                    or getattr(action, "member", None) in going
                )


@moderate
@given(observations)
def test_where_nothing_has_changed_no_member_is_restarted_whatever_the_scale(obs: o.Observation) -> None:
    pools = {p.name: p for p in obs.desired.pools}
    obs = msgspec.structs.replace(
        obs,
        deployed_version=obs.desired.version,
        bootstrap_again=False,
        bootstrap=o.Bootstrap("c-m-0", "x", True),
        records={n: o.Record(obs.desired.version) for n in obs.records},
        members=tuple(unchanged(m, pools) for m in obs.members),
    )
    deleted = [x.member for x in plan(obs, NOW).actions if isinstance(x, a.DeletePod)]
    assert not deleted


def unchanged(member: o.Member, pools: dict[str, o.Pool]) -> o.Member:
    if member.pool not in pools:
        return member
    inputs = pools[member.pool].inputs
    version = inputs["version"]
    pod = msgspec.structs.replace(member.pod, inputs=inputs, version=version) if member.pod else None
    return msgspec.structs.replace(member, pod=pod)


@moderate
@given(observations)
def test_every_member_that_is_not_ready_says_why_and_every_held_one_waits_for_a_reason(obs: o.Observation) -> None:
    made = plan(obs, NOW)
    subjects = {w.subject for w in made.waits}
    held = obs.desired.paused or any(r.everything for r in obs.desired.refusals)
    for name, intent in made.intents.items():
        assert intent.state is State.READY or intent.sentence, f"{name} has no sentence"
        if intent.state is State.WAITING:
            assert name in subjects or held
    assert all(w.message and w.reason for w in made.waits)
    assert made.activity


@moderate
@given(observations)
def test_caches_that_lag_behind_begin_nothing(obs: o.Observation) -> None:
    settled, lagging = (plan(msgspec.structs.replace(obs, settled_writes=known), NOW) for known in (True, False))
    assert not any(isinstance(x, a.DeletePod | a.StopProcess | a.LimitAllocation) for x in lagging.actions)
    kept = [x for x in settled.actions if x.ends or isinstance(x, ON_CACHED_READS)]
    assert list(lagging.actions) == kept, "what ends something does not wait, nor what may run on cached reads"


@moderate
@given(observations)
def test_no_volume_goes_while_it_may_hold_the_last_copy(obs: o.Observation) -> None:
    database = database_of(obs)
    members = {m.name: m for m in obs.members}
    for action in plan(obs, NOW).actions:
        if isinstance(action, a.DeleteVolume) and members[action.member].claim is not None:
            claim = members[action.member].claim
            agreed = database is None and obs.bootstrap_again
            empty = claim is not None and claim.empty and (agreed or action.member not in obs.records)
            lost = database is None or any(not any(c.live for c in u.copies) for u in database.units)
            assert empty or not lost or not derive(obs, NOW).holds_data(members[action.member])
            pod = members[action.member].pod
            assert pod is None or (agreed and not pod.node)
            assert database is None or not serves(members[action.member], database)


@moderate
@given(observations)
def test_a_member_is_released_only_when_it_holds_nothing_and_has_no_vote(obs: o.Observation) -> None:
    database = database_of(obs)
    for action in plan(obs, NOW).actions:
        if isinstance(action, a.Release) and database is not None:
            assert not any(action.member in (c.member, c.target) for u in database.units for c in u.copies)
            assert action.member not in database.voters
            node = database.nodes.get(action.member)
            if node is not None and node.data:
                assert action.member in database.draining


@moderate
@given(observations)
def test_at_most_one_new_manager_joins_a_formed_cluster_at_a_time(obs: o.Observation) -> None:
    facts = derive(obs, NOW)
    made = plan(obs, NOW)
    new = [
        x.member
        for x in made.actions
        if isinstance(x, a.Create) and facts.pools[x.pool].voting and x.member not in obs.records
    ]
    assert not facts.formed or len(new) <= 1


@moderate
@given(observations)
def test_not_every_manager_loses_its_vote(obs: o.Observation) -> None:
    facts = derive(obs, NOW)
    for action in plan(obs, NOW).actions:
        if isinstance(action, a.ExcludeVoters) and action.members:
            voting = {m.name for m in obs.members if facts.votes(m) and m.name in facts.up}
            assert voting - action.members or not voting & action.members

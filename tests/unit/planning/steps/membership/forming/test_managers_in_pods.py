"""Managers that keep the state of the cluster in their pods: it is lost with the pod, and with nothing else."""

from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.report.status import status
from stateward.planning.steps.membership.bootstrap import form_anew
from stateward.planning.steps.membership.earlier_cluster import changed_volume
from tests.unit.planning.world import PoolSpec, World, hot, managers, settled

NAMES = ("c-managers-0", "c-managers-1", "c-managers-2")


def reasons(world: World) -> dict[str, str]:
    return {w.reason: w.message for w in world.plan().waits if w.stalled}


def test_managers_that_restart_together_in_their_pods_are_not_reported_as_lost() -> None:
    """The disaster this prevents: the user agrees to a new cluster, and a second one is formed beside the first."""
    world = World(managers(ephemeral=True), hot(2)).edit(agents=True).run()
    world.log.clear()
    for body in world.bodies.values():
        assert body.pod is not None
        body.pod.phase = "schedule-coordinated"
    identity, silent = world.identity, False
    for _ in range(20):
        assert "ManagersLost" not in reasons(world)
        world.edit(bootstrap_again=not world.joined()).tick()
        silent = silent or not world.joined()
    world.edit(bootstrap_again=False).run()
    assert silent
    assert not world.did(a.RecordBootstrap)
    assert not world.did(a.DeletePod)
    assert world.identity == identity


def test_a_manager_is_lost_with_the_pod_that_it_joined_with() -> None:
    world = settled(managers(ephemeral=True), hot(2))
    seen = replace(world.observe(), database=o.Unknown("silent"))

    def lost(records: dict[str, o.Record], **pod: object) -> bool:
        member = next(m for m in seen.members if m.name == "c-managers-0")
        assert member.pod is not None
        found = replace(member, pod=replace(member.pod, **{"ready": False, **pod}))
        rest = tuple(m for m in seen.members if m is not member)
        facts = derive(replace(seen, members=(*rest, found), records=records), world.now)
        return changed_volume(facts, found)

    before = dict(seen.records)
    assert not lost(before), "its process has ended"
    assert not lost(before, terminating=True), "its process may still run"
    assert lost(before, ref=o.Ref("c-managers-0-0", "another", "1"))
    assert not lost(before, ref=o.Ref("c-managers-0-0", "another", "1"), ready=True), "it has joined since"
    assert lost({**before, "c-managers-0": replace(before["c-managers-0"], pod="")}), "an operator has not recorded it"


def test_the_pod_that_a_member_joined_with_is_recorded_until_it_joins_with_a_claim() -> None:
    world = settled(managers(ephemeral=True), hot(2))
    pods = {m.name: m.pod for m in world.status.member_states}
    assert pods == {n: b.pod.uid if b.pod is not None and b.claim is None else "" for n, b in world.bodies.items()}
    before = dict(pods)
    world.kill("c-managers-0").tick()
    assert {m.name: m.pod for m in world.status.member_states} == before, "it has not joined yet"
    world.run()
    after = {m.name: m.pod for m in world.status.member_states}
    assert {name for name in after if after[name] != before[name]} == {"c-managers-0"}
    seen = world.observe()
    claim = next(m.claim for m in seen.members if m.name == "c-hot-0")
    first = next(m for m in seen.members if m.name == "c-managers-0")
    assert first.pod is not None
    claimed = replace(first, claim=claim, pod=replace(first.pod, claims=True))
    seen = replace(seen, members=tuple(claimed if m.name == first.name else m for m in seen.members))
    then = {m.name: m.pod for m in status(seen, world.plan(), world.status, world.now).member_states}
    assert not then["c-managers-0"]
    loose = replace(
        seen, members=tuple(replace(first, claim=claim) if m.name == first.name else m for m in seen.members)
    )
    told = {m.name: (m.pod, m.volume) for m in status(loose, world.plan(), world.status, world.now).member_states}
    assert told["c-managers-0"] == (first.pod.ref.uid, ""), "its pod does not use that claim"


def test_a_manager_that_has_joined_in_its_pod_gives_it_up_before_another_cluster_is_formed() -> None:
    """The disaster this prevents: the manager that formed the cluster is lost before the operator has seen any of it.

    The others have joined it in their pods, and would go on as a second cluster.
    """
    world = World(managers(ephemeral=True), hot(2)).until(lambda w: bool(w.did(a.GrantBootstrap)))
    world.edit(answers=False).until(lambda w: len(w.joined()) == 5)
    world.edit(bootstrap_again=True).kill("c-managers-0").ticks(3)
    assert reasons(world)["EarlierVolumes"] == (
        "c-managers-1, c-managers-2 may hold the state of an earlier cluster, beside which no new one is formed; to"
        " give it up, delete the pods: kubectl delete pod c-managers-1-0 c-managers-2-0; the operator then creates"
        " new pods"
    )
    for name in NAMES:
        world.kill(name)
    world.edit(identity="", voters=set(), answers=True).run()
    assert world.did(a.GrantBootstrap)


def test_no_new_cluster_is_formed_in_the_pod_with_which_a_manager_has_joined_another() -> None:
    world = settled(managers(ephemeral=True), hot(2)).edit(bootstrap_again=True)
    seen = replace(world.observe(), database=o.Unknown("silent"))
    down = (replace(m, pod=replace(m.pod, ready=False)) if m.pod is not None else m for m in seen.members)
    made = form_anew(derive(replace(seen, members=tuple(down)), world.now))
    assert not [x for x in made.actions if isinstance(x, a.RecordBootstrap | a.DeletePod)]


def test_managers_whose_pods_were_not_recorded_get_new_ones_before_another_cluster_is_formed() -> None:
    """The disaster this prevents: their pods hold the cluster of before, and are enough to elect a manager of it."""
    world = World(managers(ephemeral=True), hot(2)).edit(agents=True, hang={("config/a", "hang")}).run()
    world.edit(pools=[managers(ephemeral=True, config={"config/a": "hang"}), hot(2)])
    for body in world.bodies.values():
        assert body.pod is not None
        body.pod.phase = "schedule-coordinated"
    world.until(lambda w: bool(w.did(a.StartProcess))).ticks(3)
    forgotten = tuple(replace(m, pod="") for m in world.status.member_states)
    world.status = replace(world.status, member_states=forgotten)
    assert "ManagersLost" in reasons(world)
    before = {name: pod.uid for name in NAMES if (pod := world.bodies[name].pod) is not None}
    assert before.keys() == set(NAMES)
    world.edit(bootstrap_again=True, identity="", voters=set()).until(lambda w: bool(w.did(a.GrantBootstrap)[1:]))
    kept = {body.pod.uid for body in world.bodies.values() if body.pod is not None} & set(before.values())
    assert not kept
    assert set(world.did(a.DeletePod)) == set(NAMES)
    world.edit(pools=[managers(ephemeral=True), hot(2)]).run()


def not_first(*pools: PoolSpec) -> World:
    """Return a cluster before it is formed in which the first name of the managers is not used."""
    asked = o.Replacement(replace=frozenset({"c-managers-0"}))
    return World(managers(1, ephemeral=True), *pools).edit(policy={"replacement": asked})


def test_a_manager_with_another_name_than_the_first_forms_the_cluster_in_its_next_pod() -> None:
    """The disaster this prevents: the operator deletes the pod that is on record, and the user is asked for consent."""
    world, said = not_first(hot(2)), set[str]()
    world.hooks.append(lambda made: said.update(wait.reason for wait in made.waits))
    world.run()
    assert world.did(a.DeletePod) == world.did(a.GrantBootstrap) == ["c-managers-1"]
    assert "BootstrapInterrupted" not in said
    first, second = (x.volume for _, x in world.log if isinstance(x, a.RecordBootstrap))
    pod = world.bodies["c-managers-1"].pod
    assert pod is not None
    assert (first, second) == ("", pod.uid)


def test_the_grant_goes_to_another_manager_if_the_one_on_record_leaves_before_it_could_get_it() -> None:
    """The disaster this prevents: its pool gets another name, it never forms the cluster, and others wait for it."""
    world = not_first(hot(2)).until(lambda w: bool(w.did(a.RecordBootstrap)))
    world.edit(pools=[managers(1, "masters", ephemeral=True), hot(2)], policy={}).run()
    assert world.did(a.GrantBootstrap) == ["c-masters-0"]


def test_managers_whose_next_pods_do_not_start_are_corrected_and_form_the_cluster_that_the_user_agrees_to() -> None:
    """The disaster this prevents: these pods hold nothing, and yet are kept, because their names have joined before."""
    bad = managers(ephemeral=True, config={"config/a": "bad"})
    world = World(managers(ephemeral=True), hot(2)).run()
    world.edit(crash={("config/a", "bad")}, lossy=True, pools=[bad, hot(2)])
    for name in NAMES:
        workload = world.bodies[name].workload
        assert workload is not None
        workload.inputs = {**workload.inputs, "config/a": "bad"}
        world.kill(name)
    world.edit(identity="", voters=set()).ticks(10)
    assert "ManagersLost" in reasons(world)
    world.edit(pools=[managers(ephemeral=True), hot(2)], bootstrap_again=True)
    world.until(lambda w: bool(w.did(a.GrantBootstrap)[1:]))

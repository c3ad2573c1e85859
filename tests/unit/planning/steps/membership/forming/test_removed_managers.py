"""Managers whose pool was removed from the spec while their database does not answer."""

from tests.unit.planning.world import World, hot, managers, settled

MANAGERS = ("c-managers-0", "c-managers-1", "c-managers-2")


def needed(world: World) -> dict[str, str]:
    """Return by member why it needs its pool."""
    return {w.subject: w.message for w in world.plan().waits if w.reason == "PoolNeeded"}


def test_managers_of_a_removed_pool_that_elect_none_ask_for_their_pool() -> None:
    """The disaster this prevents: they wait for a correction, and the pool that has it waits for them."""
    world = settled(managers(1), hot(2)).edit(hang={("config/a", "bad")})
    world.edit(pools=[managers(1, config={"config/a": "bad"}), hot(2)]).ticks(30)
    world.edit(pools=[managers(1, "masters"), hot(2)]).ticks(10)
    assert not needed(world), "it may only be slow"
    world.ticks(60)
    assert needed(world)["c-managers-0"] == (
        "c-managers-0 does not serve (it runs, and no cluster has answered for more than 10 minutes), and can only be"
        " repaired with pool managers in the spec"
    )
    world.edit(pools=[managers(1, "masters"), managers(1), hot(2)]).run()
    assert not needed(world)


def test_managers_of_a_removed_pool_ask_for_it_also_if_too_few_of_another_one_have_joined() -> None:
    """The disaster this prevents: two of three hang, their pool gets another name, and one new manager has joined."""
    world = settled(managers(), hot(2)).edit(hang={("config/a", "bad")}, pools=[managers(3, "masters"), hot(2)])
    world.until(lambda w: "c-masters-0" in {m.name for m in w.status.member_states if m.version})
    for name in MANAGERS[1:]:
        pod = world.bodies[name].pod
        assert pod is not None
        pod.inputs, pod.steps, pod.ready = {**pod.inputs, "config/a": "bad"}, 0, False
    world.ticks(75)
    assert needed(world).keys() == set(MANAGERS)
    assert needed(world)[MANAGERS[1]].endswith("and can only be repaired with pool managers in the spec")
    world.edit(pools=[managers(3, "masters"), managers(), hot(2)]).run()


def test_managers_of_a_removed_pool_do_not_ask_for_it_if_enough_are_in_the_spec() -> None:
    world = settled(managers(1), managers(2, "others"), hot(2)).edit(hang={("config/a", "bad")})
    bad = {"config/a": "bad"}
    world.edit(pools=[managers(1, config=bad), managers(2, "others"), hot(2)], voters={"c-managers-0"}).ticks(30)
    world.edit(pools=[managers(2, "others"), hot(2)], answers=False).ticks(100)
    assert not needed(world)

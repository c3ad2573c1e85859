"""External data of members: which changes recreate pods, restart processes, or have no effect."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.planning.facts.change import differing
from stateward.planning.model import actions as a
from stateward.planning.model.referenced_data import input_changed, recorded_inputs
from tests.unit.planning.steps.rollout.test_restart import uids, world
from tests.unit.planning.world import World, hot, managers

WORD = "Secret/word:WORD"
ONE, TWO = {WORD: "key/1"}, {WORD: "key/2"}


def using(data: dict[str, str], made: World | None = None) -> World:
    """Return a cluster whose data members use this; it is at rest."""
    return (made or world()).edit(pools=[managers(), hot(config=data)]).run()


def starts(made: World) -> dict[str, int]:
    return {name: body.pod.starts for name, body in made.bodies.items() if body.pod is not None}


def test_data_that_appears_recreates_nothing_and_is_recorded_from_then_on() -> None:
    made = world()
    before = uids(made)
    using(ONE, made)
    assert uids(made) == before
    assert len(made.did(a.RecordData)) == 3
    using(TWO, made)
    assert {name for name in before if uids(made)[name] != before[name]} == {"c-hot-0", "c-hot-1", "c-hot-2"}


def test_data_that_goes_and_comes_back_as_it_was_does_nothing_and_as_another_recreates_pods() -> None:
    made = using(ONE)
    before = uids(made)
    using({}, made)
    using(ONE, made)
    assert uids(made) == before
    using({}, made)
    using(TWO, made)
    assert uids(made)["c-hot-0"] != before["c-hot-0"]


def test_what_an_annotation_takes_out_does_nothing_and_counts_again_afterwards() -> None:
    made = using(ONE)
    before = uids(made)
    using({WORD: "-"}, made)
    using(TWO, made)
    assert uids(made) == before
    using(ONE, made)
    assert uids(made)["c-hot-0"] != before["c-hot-0"]


def test_the_loss_of_the_key_that_digests_are_made_with_does_nothing() -> None:
    kept = "keystore/Secret/word:WORD"
    made = using({**ONE, kept: "key/1"})
    before, ran = uids(made), starts(made)
    using({WORD: "other/9", kept: "other/9"}, made)
    assert (uids(made), starts(made)) == (before, ran)
    using({WORD: "other/9", kept: "other/8"}, made)
    assert uids(made) == before
    assert starts(made)["c-hot-0"] == ran["c-hot-0"] + 1


def test_a_key_more_counts_where_all_keys_are_used_and_the_object_was_there() -> None:
    made = using({"Secret/all:": "+", "Secret/all:a": "key/1"})
    before = uids(made)
    using({"Secret/all:": "+", "Secret/all:a": "key/1", "Secret/all:b": "key/1"}, made)
    assert uids(made)["c-hot-0"] != before["c-hot-0"]


def test_a_change_that_is_reverted_before_its_turn_recreates_nothing() -> None:
    made = using(ONE)
    made.edit(pools=[managers(), hot(config=TWO)], max_unavailable=1)
    while not made.did(a.DeletePod):
        made.tick()
    before = uids(made)
    using(ONE, made)
    again = {name for name in before if uids(made).get(name) != before[name]}
    assert len(again) <= 1


def test_a_setting_of_the_keystore_restarts_processes_in_their_pods_also_when_it_comes_and_goes() -> None:
    made = world()
    before, ran = uids(made), starts(made)
    using({"keystore/Secret/word:a": "key/1"}, made)
    using({}, made)
    assert uids(made) == before
    assert starts(made) == {name: count + 2 * ("hot" in name) for name, count in ran.items()}


@pytest.mark.parametrize(
    ("name", "digests", "changed"),
    [
        ("keystore/Secret/word:a", ("key/1", "key/2"), True),
        ("keystore/Secret/word:a", ("key/1", "other/1"), False),
        ("config/path", ("key/1", "other/1"), True),
    ],
)
def test_only_digests_of_data_with_different_keys_cannot_be_compared(
    name: str, digests: tuple[str, str], changed: bool
) -> None:
    was, now = digests
    assert input_changed(name, {name: was}, {name: now}) is changed


names = st.sampled_from(["Secret/a:x", "Secret/a:y", "ConfigMap/b:", "ConfigMap/b:x", "template/x", "version"])
values = st.sampled_from(["key/1", "key/2", "other/1", "-", "+"])
inputs = st.dictionaries(names, values)


@settings(max_examples=1000, deadline=None)
@given(inputs, inputs)
def test_nothing_that_was_written_down_differs_afterwards_and_only_what_has_another_digest_ever_does(
    was: dict[str, str], target: dict[str, str]
) -> None:
    found = differing(was, target)
    assert set(found) <= {name for name in was.keys() | target.keys() if was.get(name) != target.get(name)}
    assert not [
        name for name in differing(recorded_inputs(was, target), target) if not name.startswith(("template", "version"))
    ]
    assert recorded_inputs(recorded_inputs(was, target), target) == recorded_inputs(was, target)

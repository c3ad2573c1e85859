"""What is said of a member that does not serve: it starts only if it has not served with this very pod."""

from msgspec.structs import replace

from stateward.planning.facts.facts import Facts, derive
from stateward.planning.model import observation as o
from stateward.planning.model.intent import Intent, State
from stateward.planning.plan import plan
from stateward.planning.steps.rollout.default_intent import default_intent
from tests.unit.planning.world import hot, managers, settled

NAME = "c-hot-1"


def seen(*, listed: bool = False, away: float | None = None, record: bool = True, **pod: object) -> Facts:
    """Return the facts of a settled cluster in which one member has another pod and is not in the database."""
    world = settled(managers(), hot(3), indices=((2,), (2,)))
    obs = world.observe()
    assert isinstance(obs.database, o.Database)
    was = next(m.pod for m in obs.members if m.name == NAME)
    assert was is not None
    new = replace(was, created=world.now - 300, **pod)
    return derive(
        replace(
            obs,
            members=tuple(replace(m, pod=new) if m.name == NAME else m for m in obs.members),
            records={n: r for n, r in obs.records.items() if record or n != NAME},
            away={} if away is None else {NAME: world.now - away},
            database=replace(
                obs.database, nodes={n: node for n, node in obs.database.nodes.items() if listed or n != NAME}
            ),
        ),
        world.now,
    )


def said(facts: Facts) -> Intent:
    return default_intent(facts, facts.members[NAME]).intents[NAME]


def test_a_member_that_left_the_cluster_does_not_start_while_its_node_still_counts_as_ready() -> None:
    for away in (None, 40):  # The first look, and one when the status has the time already.
        found = said(seen(away=away))
        assert found.state is State.DOWN
        assert (
            found.sentence
            == "c-hot-1 is no longer in the cluster, and its pod on node-hot-1 is still reported as ready"
        )


def test_the_plan_says_what_has_happened_to_it() -> None:
    facts = seen(away=40)
    assert plan(facts.obs, facts.now).intents[NAME].state is State.DOWN


def test_a_pod_that_was_created_after_the_member_served_starts() -> None:
    assert said(seen(away=310)).state is State.STARTING
    assert said(seen(away=310, ready=False)).sentence == "c-hot-1 starts"


def test_a_member_that_has_never_joined_starts_also_with_a_ready_pod() -> None:
    assert said(seen(away=40, record=False)).state is State.STARTING


def test_a_process_that_is_not_ready_starts_again() -> None:
    assert said(seen(away=40, ready=False)).sentence == "c-hot-1 starts"
    assert said(seen(away=40, ready=False, listed=True)).sentence == "c-hot-1 has joined and is not ready yet"


def test_a_pod_that_ends_on_a_lost_node_is_not_stopping() -> None:
    found = said(seen(away=40, ready=False, terminating=True, node_ready=False))
    assert found.state is State.DOWN
    assert found.sentence == "node node-hot-1 of c-hot-1 is not ready, and the pod does not end"

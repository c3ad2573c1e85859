"""The plan of a verb, in a world with a running database: it shows what the verb would do, and does nothing."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from stateward.cli.page.plan_view import PlanView
from stateward.cli.page.planned_verb import inputs_of_verb, planned
from stateward.cli.page.tone import Tone
from stateward.cli.page.verbs import session_of
from stateward.cli.preview.inputs import PlanInputs
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.simulation.interactive.live_world import LiveWorld
from stateward.simulation.interactive.scenario import begin, scenario, set_version
from stateward.simulation.world.user_access import UserApi
from stateward.simulation.world.world import NAMESPACE


@pytest.fixture(scope="module")
def live() -> Iterator[LiveWorld]:
    with closing(begin(scenario("opensearch"), 0)) as found:
        yield found


def plan(live: LiveWorld, verb: str, member: str = "") -> PlanView:
    async def work(api: UserApi) -> tuple[PlanInputs, float]:
        session = Session(api, NAMESPACE, clock=live.world.context.clock, execute=api.execute)
        narrowed, name = session_of(session, "data/opensearch/logs")
        return await inputs_of_verb(narrowed, verb, name, member)

    before = live.world.store.version
    made = planned(*live.ask(work))
    assert live.inputs == []
    assert live.world.store.version == before
    return made


def test_without_a_verb_a_settled_cluster_has_nothing_to_do(live: LiveWorld) -> None:
    made = plan(live, "")
    assert (made.members, made.verdict, made.tone) == ((), "no member would change", Tone.GOOD)


def test_a_restart_restarts_each_member_in_its_pod_one_after_the_other(live: LiveWorld) -> None:
    made = plan(live, "restart")
    assert {(change.effect, change.mode) for change in made.members} == {("restart", "rolling")}
    assert len(made.members) == 9
    assert made.steps[0].startswith("+0:0")
    assert made.sections[0].title == "Time"


def test_a_restart_of_one_member_leaves_the_others(live: LiveWorld) -> None:
    made = plan(live, "restart", "logs-hot-1")
    assert [change.name for change in made.members] == ["logs-hot-1"]
    assert made.unchanged == 8


def test_a_replacement_creates_a_member_and_moves_the_data_first(live: LiveWorld) -> None:
    made = plan(live, "replace", "logs-hot-1")
    effects = {change.name: change.effect for change in made.members}
    assert effects == {"logs-hot-1": "replace", "logs-hot-6": "create"}
    order = [step.partition(" ")[2].partition(" logs")[0] for step in made.steps]
    assert order.index("create") < order.index("move the data away from") < order.index("let go")


def test_a_stopped_member_stays_stopped(live: LiveWorld) -> None:
    made = plan(live, "stop", "logs-hot-1")
    assert made.headline.startswith("logs  OpenSearchCluster")


def test_an_unknown_member_is_refused(live: LiveWorld) -> None:
    with pytest.raises(Failure, match="has no member"):
        plan(live, "restart", "logs-hot-9")


def test_in_an_upgrade_the_plan_shows_what_is_left(live: LiveWorld) -> None:
    set_version(live, "2.19.5")
    live.advance(live.at + 60.0)
    live.inputs.clear()
    made = plan(live, "")
    assert 0 < len(made.members) < 9

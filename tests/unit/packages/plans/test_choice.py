"""Which plan a change runs, and what a change does to a plan that runs."""

import pytest

from stateward.packages.format.records import Package
from stateward.packages.plans.choice import Chosen, Refused, State, choose, join
from tests.unit.packages.samples import OPERATOR, shop

PHASE = "    phases: [{name: p, steps: [{name: s, tasks: [app]}]}]\n"


def with_plans(*names: str) -> Package:
    return shop({"operator.yaml": OPERATOR + "".join(f"  {name}:\n{PHASE}" for name in names)})


def state(version: str = "1", **values: object) -> State:
    return State(version, values)


def plan(package: Package, before: State | None, wanted: State) -> str | None:
    chosen = choose(package, before, wanted)
    assert not isinstance(chosen, Refused), chosen
    return chosen and chosen.plan


def test_a_new_installation_is_deployed() -> None:
    assert plan(with_plans("update"), None, state()) == "deploy"


@pytest.mark.parametrize(
    ("plans", "wanted"), [(("upgrade", "update"), "upgrade"), (("update",), "update"), ((), "deploy")]
)
def test_another_version_is_upgraded_else_updated_else_deployed(plans: tuple[str, ...], wanted: str) -> None:
    assert plan(with_plans(*plans), state("1"), state("2", FILE="other")) == wanted


def test_other_values_run_their_trigger_else_update_else_deploy() -> None:
    assert plan(shop(), state(), state(COUNT=3)) == "deploy"
    assert plan(with_plans("update"), state(), state(COUNT=3)) == "update"
    assert plan(with_plans("update"), state(), state(FILE="other")) == "backup"


def test_nothing_to_do_is_no_plan() -> None:
    assert plan(shop(), state(COUNT=2), state(COUNT="2")) is None


def test_values_that_ask_for_different_plans_are_refused_and_named() -> None:
    refused = choose(shop(), state(), state(COUNT=3, FILE="other"))
    assert isinstance(refused, Refused)
    assert "deploy for COUNT; backup for FILE" in refused.message


def running(wanted: State, name: str = "deploy") -> Chosen:
    return Chosen(name, wanted, "")


def test_the_same_plan_begins_again_with_the_newest_values() -> None:
    again = join(shop(), state(), running(state(COUNT=3)), state(COUNT=4))
    assert again is not None
    assert (again.plan, again.state) == ("deploy", state(COUNT=4))


def test_a_first_deployment_that_is_stuck_is_put_right_by_any_change() -> None:
    again = join(shop(), None, running(state(COUNT=3)), state(FILE="x"))
    assert again is not None
    assert (again.plan, again.state) == ("deploy", state(FILE="x"))


def test_another_plan_waits_for_the_one_that_runs() -> None:
    assert join(shop(), state(), running(state(COUNT=3)), state(COUNT=3, FILE="x")) is None


def test_of_a_mixed_change_only_what_belongs_to_the_running_plan_joins_it() -> None:
    again = join(shop(), state(), running(state(COUNT=3)), state(COUNT=4, FILE="x"))
    assert again is not None
    assert (again.plan, again.state) == ("deploy", state(COUNT=4))


def test_a_change_that_is_reverted_lets_the_plan_run_back() -> None:
    again = join(shop(), state(COUNT=2), running(state(COUNT=3)), state(COUNT=2))
    assert again is not None
    assert (again.plan, again.state) == ("deploy", state(COUNT=2))


def test_another_version_takes_the_place_of_any_plan() -> None:
    again = join(with_plans("upgrade"), state("1"), running(state("1", FILE="x"), "backup"), state("2", FILE="x"))
    assert again is not None
    assert (again.plan, again.state.digest) == ("upgrade", "2")


def test_the_version_of_before_comes_back_whole_also_with_a_value_that_has_a_plan_of_its_own() -> None:
    again = join(shop(), state("1"), running(state("2"), "upgrade"), state("1", FILE="other"))
    assert again is not None
    assert (again.plan, again.state) == ("deploy", state("1", FILE="other"))


def test_a_plan_that_leads_where_it_should_continues() -> None:
    assert join(shop(), state(), running(state(COUNT=3)), state(COUNT=3)) is None

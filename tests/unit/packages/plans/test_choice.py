"""Which plan a change runs, and what a change does to a plan that runs."""

import pytest

from stateward.packages.format.records import Package
from stateward.packages.plans.choice import Chosen, Refused, State, choose, join
from tests.unit.packages.samples import OPERATOR, PARAMS, shop

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
    assert isinstance(again, Chosen)
    assert (again.plan, again.state) == ("deploy", state(COUNT=4))


def test_a_first_deployment_that_is_stuck_is_put_right_by_any_change() -> None:
    again = join(shop(), None, running(state(COUNT=3)), state(FILE="x"))
    assert isinstance(again, Chosen)
    assert (again.plan, again.state) == ("deploy", state(FILE="x"))


def test_another_plan_waits_for_the_one_that_runs() -> None:
    assert join(shop(), state(), running(state(COUNT=3)), state(COUNT=3, FILE="x")) is None


def test_of_a_mixed_change_only_what_belongs_to_the_running_plan_joins_it() -> None:
    again = join(shop(), state(), running(state(COUNT=3)), state(COUNT=4, FILE="x"))
    assert isinstance(again, Chosen)
    assert (again.plan, again.state) == ("deploy", state(COUNT=4))


def test_a_change_that_is_reverted_lets_the_plan_run_back() -> None:
    again = join(shop(), state(COUNT=2), running(state(COUNT=3)), state(COUNT=2))
    assert isinstance(again, Chosen)
    assert (again.plan, again.state) == ("deploy", state(COUNT=2))


def test_another_version_takes_the_place_of_any_plan() -> None:
    again = join(with_plans("upgrade"), state("1"), running(state("1", FILE="x"), "backup"), state("2", FILE="x"))
    assert isinstance(again, Chosen)
    assert (again.plan, again.state.digest) == ("upgrade", "2")


def test_the_version_of_before_comes_back_before_a_value_that_has_a_plan_of_its_own() -> None:
    again = join(shop(), state("1"), running(state("2"), "upgrade"), state("1", FILE="other"))
    assert isinstance(again, Chosen)
    assert (again.plan, again.state, again.later) == ("deploy", state("1"), "plan backup for FILE")


def test_an_upgrade_with_a_value_of_another_plan_runs_both_in_order() -> None:
    package = with_plans("upgrade")
    before, wanted = state("1", FILE="old", COUNT=2), state("2", FILE="new", COUNT=3)
    first = choose(package, before, wanted)
    assert isinstance(first, Chosen)
    assert (first.plan, first.state) == ("upgrade", state("2", FILE="old", COUNT=3))
    assert first.why == "another version of the package is desired; then plan backup for FILE"
    second = choose(package, first.state, wanted)
    assert isinstance(second, Chosen)
    assert (second.plan, second.state) == ("backup", wanted)
    assert choose(package, second.state, wanted) is None
    assert join(package, before, first, wanted) is None


def test_a_value_that_was_never_given_waits_as_the_default() -> None:
    first = choose(with_plans("upgrade"), state("1"), state("2", FILE="new"))
    assert isinstance(first, Chosen)
    assert first.state == state("2")


@pytest.mark.parametrize(
    ("definition", "before"),
    [
        ("{name: FILE, trigger: backup}", None),
        ("{name: FILE, type: integer, default: 1, trigger: backup}", "backup.sql"),
        ("{name: FILE, enum: [b, c], default: b, trigger: backup}", "a"),
        ("{name: FILE, default: a, trigger: backup, immutable: true}", "a"),
        ("{name: FILE, default: a, trigger: upgrade}", "a"),
        ("{name: FILE, default: a}", "a"),
    ],
    ids=["required", "type", "enum", "immutable", "same", "none"],
)
def test_a_value_that_cannot_wait_or_has_no_plan_of_its_own_comes_with_the_upgrade(
    definition: str, before: str | None
) -> None:
    params = PARAMS.replace("{name: FILE, default: backup.sql, trigger: backup}", definition)
    package = shop({"operator.yaml": OPERATOR + f"  upgrade:\n{PHASE}", "params.yaml": params})
    wanted = state("2", FILE="2" if "integer" in definition else "b")
    first = choose(package, state("1", **({} if before is None else {"FILE": before})), wanted)
    assert isinstance(first, Chosen)
    assert (first.plan, first.state, first.later) == ("upgrade", wanted, "")


TWO = ("{name: RATE, type: number, default: 0.5}", "{name: RATE, type: number, default: 0.5, trigger: scale}")


def test_an_upgrade_with_values_of_two_other_plans_is_refused_also_while_it_runs() -> None:
    package = shop({"operator.yaml": OPERATOR + f"  upgrade:\n{PHASE}  scale:\n{PHASE}"}, params=TWO)
    wanted = state("2", FILE="new", RATE=2)
    refused = choose(package, state("1"), wanted)
    assert isinstance(refused, Refused)
    assert "change them one after the other: scale for RATE; backup for FILE" in refused.message
    assert join(package, state("1"), running(state("2"), "upgrade"), wanted) == refused
    back = join(package, state("1"), running(state("2"), "upgrade"), state("1", FILE="new", RATE=2))
    assert isinstance(back, Chosen), "what is half done is reverted in any case"
    assert back.state == state("1")


def test_a_plan_that_leads_where_it_should_continues() -> None:
    assert join(shop(), state(), running(state(COUNT=3)), state(COUNT=3)) is None


def test_a_plan_that_leads_where_it_should_in_other_words_continues() -> None:
    """A backup that was asked for would begin again, and do its work twice."""
    words = ((state(), state(COUNT=2)), (state(COUNT=3), state(COUNT="3")), (state(MODE="slow"), state()))
    for installed, wanted in words:
        assert join(shop(), installed, running(installed, "backup"), wanted) is None

"""The reasons of events."""

from stateward.operator.act.announce import REASONS, ROUTINE
from stateward.planning.model.actions import Action


def test_each_step_is_either_routine_or_has_a_reason_of_its_own() -> None:
    assert {*REASONS, *ROUTINE} == set(Action.__subclasses__())
    assert not {*REASONS} & {*ROUTINE}
    assert len({*REASONS.values()}) == len(REASONS)


def test_reasons_tell_what_has_happened_and_are_no_commands() -> None:
    assert not {*REASONS.values()} & {action.__name__ for action in Action.__subclasses__()}

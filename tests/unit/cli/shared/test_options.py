"""Each number that an option takes has bounds, and what is no number is outside of them."""

from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from stateward.cli.main import cli
from stateward.cli.reference.page import commands
from stateward.cli.shared.failures import ExitCode
from stateward.cli.shared.options import Number


def numbers() -> Iterator[Any]:
    for path, command in commands(cli, ()):
        for option in command.params:
            if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
                yield pytest.param(option, id=" ".join((*path, option.opts[0])))


@pytest.mark.parametrize("option", [*numbers()])
def test_an_option_that_takes_a_number_takes_no_number_beyond_use(option: click.Option) -> None:
    kind = option.type
    assert isinstance(kind, Number | click.IntRange)
    assert kind.min is not None
    assert kind.max is not None
    for text in ("nan", "NaN", "inf", "-inf", "-1", "1e999", "1" + "0" * 30, "", "x"):
        with pytest.raises(click.BadParameter):
            option.type_cast_value(click.Context(cli), text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate", "--hours", "nan"), "'nan' is not a number"),
        (("simulate", "--hours", "inf"), "inf is not in the range 0<x<=1000."),
        (("simulate", "--hours", "0"), "0.0 is not in the range 0<x<=1000."),
        (("simulate", "--days", "-1"), "-1.0 is not in the range 0<x<=366."),
        (("simulate", "--wall-limit", "nan"), "'nan' is not a number"),
        (("tour", "--speed", "nan"), "'nan' is not a number"),
        (("operator", "--grace-seconds", "inf"), "inf is not in the range 0<=x<=3600."),
    ],
)
def test_a_refused_number_is_said_with_its_option_and_what_is_accepted(words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == ExitCode.USAGE
    assert f"Invalid value for '{words[1]}'" in result.stderr
    assert said in result.stderr


def test_a_number_from_the_environment_has_the_same_bounds() -> None:
    result = CliRunner(env={"STATEWARD_GRACE_SECONDS": "nan"}).invoke(cli, ["operator"])
    assert result.exit_code == ExitCode.USAGE
    assert "'nan' is not a number" in result.stderr

"""Repeated failures are reported, without the content on which they failed."""

import pytest

from stateward.kube.objects.errors import Conflict, Forbidden, Invalid
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.runtime.failing import AGAIN, Failing, sentence
from stateward.operator.runtime.metrics import Metrics
from stateward.planning.model.times import parse_time
from stateward.simulation.timing.loop import run_virtual

KEY = Key("data", "logs")


def raised(error: Exception) -> Exception:
    """Return an error that was raised in the program itself."""
    try:
        if isinstance(error, ValueError):
            int(str(error))
        raise error
    except type(error) as found:
        return found


def in_the_program() -> Exception:
    try:
        parse_time(["hunter2"])  # type: ignore[arg-type]
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("error", [raised(ValueError("hunter2")), raised(Invalid("Secret: hunter2 is no key"))])
def test_what_an_error_says_is_not_told_but_its_type_is(error: Exception) -> None:
    assert "hunter2" not in sentence(error)
    assert type(error).__name__ in sentence(error)


def test_the_place_in_the_program_is_reported() -> None:
    said = sentence(in_the_program())
    assert "hunter2" not in said
    assert " in stateward/planning/model/times.py, line " in said


def test_which_right_is_missing_is_reported() -> None:
    assert "cannot list secrets" in sentence(Forbidden('User "stateward" cannot list secrets'))


def test_the_same_resource_is_written_once_a_minute_and_counted_each_time() -> None:
    metrics, written = Metrics(), list[str]()
    shown = {"controller": "installations", "resource": "data/logs"}

    async def write(key: Key, sentence: str) -> None:
        written.append(f"{key} {sentence.partition(' with ')[2][:10]}")

    async def fail() -> None:
        clock = VirtualClock()
        failing = Failing("installations", metrics, clock, write)
        for failures in (2, 3, 4):
            await failing.failed(KEY, failures, ValueError())
        assert written == ["data/logs ValueError"]
        assert metrics.registry.get_sample_value("stateward_consecutive_reconcile_failures", shown) == 4
        await clock.sleep(AGAIN)
        await failing.failed(KEY, 5, KeyError())
        assert len(written) == 2
        await failing.recovered(KEY)

    run_virtual(fail())
    assert metrics.registry.get_sample_value("stateward_consecutive_reconcile_failures", shown) is None


async def test_two_lost_races_are_no_failure_and_many_are() -> None:
    written = list[str]()

    async def write(_: Key, sentence: str) -> None:
        written.append(sentence)

    failing = Failing("installations", Metrics(), VirtualClock(), write)
    await failing.failed(KEY, 2, Conflict("another writer was faster"))
    assert not written
    await failing.failed(KEY, 5, Conflict("another writer was faster"))
    assert "Conflict" in written[0]

"""Running the command line in a pod: output and code come back, and who only asks changes nothing."""

from collections.abc import Sequence

import pytest

from stateward.engines.connection.base import GarbledError, UnreachableError
from stateward.kube.client.exec import ExecError
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.foundationdb_shell import ExecShell


class Pods:
    """The output of the command in a pod."""

    def __init__(self, written: bytes | ExecError) -> None:
        self.written = written
        self.ran: list[tuple[Key, str, Sequence[str]]] = []

    async def __call__(self, pod: Key, container: str, command: Sequence[str], _: int) -> bytes:
        self.ran.append((pod, container, command))
        if isinstance(self.written, ExecError):
            raise self.written
        return self.written


async def test_output_and_code_of_a_command_that_fails_come_back() -> None:
    pods = Pods(b"Specified timeout reached -- exiting...\n\nstateward-exit 1\n")
    printed = await ExecShell(pods).run("bank/ledger-log-0-0", "exclude a:1", 7)
    assert (printed.code, printed.output) == (1, "Specified timeout reached -- exiting...\n")
    ((pod, container, words),) = pods.ran
    assert (pod, container) == (Key("bank", "ledger-log-0-0"), "foundationdb")
    assert words[-2:] == ["7", "exclude a:1"]


async def test_an_answer_that_was_cut_off_is_none() -> None:
    with pytest.raises(GarbledError):
        await ExecShell(Pods(b"{}")).run("bank/x", "status json", 7)


async def test_a_pod_in_which_nothing_runs_is_not_reached() -> None:
    with pytest.raises(UnreachableError, match="x: gone"):
        await ExecShell(Pods(ExecError("gone"))).run("bank/x", "status json", 7)


async def test_queries_change_nothing() -> None:
    pods = Pods(b"\nstateward-exit 0\n")
    with pytest.raises(UnreachableError, match="not a read-only command"):
        await ExecShell(pods, asks=True).run("bank/x", "exclude a:1", 7)
    assert pods.ran == []

"""Runs `fdbcli` in a pod by the API server's `exec`, where the binary and the newest cluster file are."""

from stateward.engines.connection.answer_limits import USUAL, mib
from stateward.engines.connection.base import GarbledError, TooLargeError, UnreachableError
from stateward.engines.foundationdb.database.commands import STATUS, Printed
from stateward.engines.foundationdb.objects.labels import ENGINE
from stateward.kube.client.exec import ExecError, Execute, TooMuchError
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key

LIMIT = 8 << 20
"""Bytes of a status: it has up to 10 KB for each process, so 800 processes fit in."""
MARK = "stateward-exit "
SCRIPT = (
    "PATH=/stateward/run/programs:$PATH; "
    f'fdbcli -C /var/fdb/data/fdb.cluster --timeout "$1" --exec "$2" 2>&1; code=$?; printf "\\n{MARK}%s\\n" "$code"'
)
"""The exit code is written behind the output: of a command that fails, `exec` would keep only the failure.

The program is of the version that runs in the pod, which need not be that of its image: no other is understood.
"""


class ExecShell:
    """Runs commands in pods; a read-only instance runs nothing but the query for the status."""

    def __init__(self, execute: Execute, *, asks: bool = False) -> None:
        self._execute = execute
        self._asks = asks

    async def run(self, pod: str, command: str, seconds: int) -> Printed:
        """Return the output of `fdbcli --exec COMMAND` within a time.

        Raises UnreachableError, TooLargeError beyond a limit, and GarbledError if the output is incomplete.
        """
        if self._asks and command != STATUS:
            raise UnreachableError(f"{command.split(maxsplit=1)[0]} is not a read-only command")
        namespace, _, name = pod.partition("/")
        words = ["/bin/sh", "-c", SCRIPT, "fdbcli", str(seconds), command]
        limit = LIMIT if command == STATUS else USUAL
        try:
            written = await self._execute(Key(namespace, name), ENGINE, words, limit)
        except TooMuchError as error:
            said = f"with more than the limit of {mib(limit)}"
            raise TooLargeError(f"{name}: fdbcli answers `{command[:60]}` {said}") from error
        except (ApiError, ExecError) as error:
            raise UnreachableError(f"{name}: {error}") from error
        return printed(written.decode(errors="replace"))


def printed(text: str) -> Printed:
    """Return output and exit code; raises GarbledError if the end is missing."""
    output, mark, code = text.rpartition(f"\n{MARK}")
    if not mark or not code.strip().isdigit():
        raise GarbledError("fdbcli was cut off")
    return Printed(int(code), output)

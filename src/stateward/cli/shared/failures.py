"""How commands end: the exit codes, and failures in one line with the problem and the remedy."""

import sys
from enum import IntEnum
from typing import IO, Any, cast

import click

from stateward.cli.shared.echo import echo
from stateward.kube.objects import errors


class ExitCode(IntEnum):
    """Exit codes, for scripts."""

    SUCCESS = 0
    FAILURE = 1
    CHANGES = 2
    USAGE = 64
    INTERRUPTED = 130


def verdict_code(*, changes: bool, through: bool) -> ExitCode:
    """Return the code of a plan: whether something would change, and whether all of it would complete."""
    if not through:
        return ExitCode.FAILURE
    return ExitCode.CHANGES if changes else ExitCode.SUCCESS


MEANING = {
    ExitCode.SUCCESS: "success; `plan`: nothing would change",
    ExitCode.FAILURE: "failure, or a problem was found; `plan`: a part of the change would be refused or would wait",
    ExitCode.CHANGES: "`plan`: the cluster or installation would change, and the change would complete",
    ExitCode.USAGE: "invalid command line, as EX_USAGE of sysexits: 2 would look like a change",
    ExitCode.INTERRUPTED: "ended by Ctrl-C",
}
"""What each code means."""


class Failure(click.ClickException):
    """A failed command; `message` is one readable line."""

    exit_code = ExitCode.FAILURE

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        echo(f"stateward: {self.format_message()}", file=file or sys.stderr)


def failure_of(error: BaseException) -> str | None:
    """Return an error as one line; None for a bug, which needs its traceback."""
    cause = leaf(error)
    if isinstance(cause, errors.ApiError):
        return api_failure(cause)
    if isinstance(cause, OSError):
        return os_failure(cause)
    return str(cause) if isinstance(cause, errors.ConfigError | errors.FreshStart) else None


def leaf(error: BaseException) -> BaseException:
    """Return the first real error in nested groups, the one that ended the others; or the error itself."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    return leaf(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])


def api_failure(error: errors.ApiError) -> str:
    """Return the failure of the API server, or of the connection to it."""
    advice: dict[type[errors.ApiError], str] = {
        errors.TransportError: "check that the cluster is up and that KUBECONFIG (or --context) names it",
        errors.Unauthorized: "the API server did not accept the credentials of this context; log in again, or"
        " choose another context",
        errors.Forbidden: "ask for a role: stateward-view to read, stateward-edit to change clusters",
        errors.UnknownResource: "Stateward's CRDs are not installed there; `stateward manifests` prints them",
    }
    text = advice.get(type(error), "")
    said = f"the API server answered: {error.message}" if error.status else f"no answer from the API server: {error}"
    return f"{said}; {text}" if text else said


def os_failure(error: OSError) -> str:
    """Return the failure of the local machine: a file, a port."""
    what = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {what}" if error.filename else what

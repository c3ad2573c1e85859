"""The entry of the command line. To add a command, name its module in `COMMANDS`."""

import importlib
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from stateward import __version__
from stateward.cli.shared.failures import Failure, failure_of

COMMANDS = {
    "status": "stateward.cli.status.status:status",
    "plan": "stateward.cli.preview.plan:plan",
    "explain": "stateward.cli.status.explain:explain",
    "list": "stateward.cli.status.clusters:clusters",
    "pause": "stateward.cli.steering.pause:pause",
    "resume": "stateward.cli.steering.pause:resume",
    "restart": "stateward.cli.steering.restart:restart",
    "stop": "stateward.cli.steering.stop:stop",
    "start": "stateward.cli.steering.stop:start",
    "replace": "stateward.cli.steering.replace:replace",
    "keep": "stateward.cli.steering.replace:keep",
    "detect": "stateward.cli.steering.detect:detect",
    "validate": "stateward.cli.preview.validate:validate",
    "package": "stateward.cli.packages.package:package",
    "installation": "stateward.cli.packages.installations:installation",
    "manifests": "stateward.cli.run.manifests:manifests",
    "simulate": "stateward.cli.run.simulate:simulate",
    "operator": "stateward.cli.run.operator:operator",
}
"""Each command as `module:attribute`, in the order in which help lists them."""


INTERRUPTED = 130
"""Exit code of a program that Ctrl-C has ended, as shells expect it."""


class Commands(click.Group):
    """A group that imports its commands on demand and reports failures in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown name, suggest the nearest one."""
        if args and (meant := get_close_matches(args[0], COMMANDS, n=1)) and args[0] not in COMMANDS:
            raise click.UsageError(f"No such command {args[0]!r}; did you mean {meant[0]}?", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; report a failure in one line, or with a traceback under `--debug`."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            # The reader of a pipe, such as `head`, may stop before the end: click then ends without a message.
            raise
        except KeyboardInterrupt:
            # Ctrl-C is the normal end of a watch, so report nothing.
            ctx.exit(INTERRUPTED)
        except Exception as error:
            known = failure_of(error)
            if known is None or ctx.params.get("debug"):
                raise
            raise Failure(known) from error


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True, envvar="STATEWARD_DEBUG", help="Show the whole traceback of a failure.")
@click.version_option(__version__, prog_name="stateward")
def cli(*, debug: bool) -> None:
    """Show clusters, preview changes before you make them, and run the operator.

    Exit codes: 0 success, 1 failure or a problem found, 2 invalid command line.
    """
    del debug  # Read by Commands.invoke.


def program(argv0: str) -> str:
    """Return the program name as the user has typed it."""
    return "kubectl stateward" if Path(argv0).name == "kubectl-stateward" else "stateward"


def main() -> None:
    """Run the command line."""
    cli.main(prog_name=program(sys.argv[0]))

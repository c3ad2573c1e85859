"""The entry of the command line. To add a command, name its module in `COMMANDS`."""

import importlib
import io
import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Any

import click
from click.shell_completion import CompletionItem

from stateward import __version__
from stateward.cli.shared.echo import echo, harmless
from stateward.cli.shared.failures import MEANING, ExitCode, Failure, failure_of


@dataclass(frozen=True, slots=True)
class Entry:
    """A command, imported when it is used: its place here as `module:attribute`, and its first sentence of help."""

    place: str
    help: str


COMMANDS = {
    "status": Entry("status.status:status", "Show the state of a cluster, once or continuously."),
    "plan": Entry("preview.plan:plan", "Show the effect of a change before you make it."),
    "rehearse": Entry(
        "preview.rehearse:rehearse", "Play a change many times before you make it, with other timings and faults."
    ),
    "explain": Entry("status.explain:explain", "Explain what a cluster waits for."),
    "list": Entry("status.clusters:clusters", "List the clusters, one line each."),
    "timeline": Entry("diagnosis.timeline:timeline", "Draw the history of a cluster."),
    "events": Entry("diagnosis.events:events", "List the events of a cluster and of its objects, in order."),
    "logs": Entry("diagnosis.logs:logs", "Print the operator's decisions about a cluster, or a member's log."),
    "diagnose": Entry("diagnosis.diagnose:diagnose", "Collect a bug report without secrets in a tarball."),
    "pause": Entry("steering.pause:pause", "Hold all changes of a cluster."),
    "resume": Entry("steering.pause:resume", "Continue the changes of a cluster."),
    "restart": Entry("steering.restart:restart", "Restart all members, one safe set at a time."),
    "stop": Entry("steering.stop:stop", "Keep the process of MEMBER stopped."),
    "start": Entry("steering.stop:start", "Start the process of MEMBER again."),
    "replace": Entry("steering.replace:replace", "Replace a member by a new one."),
    "keep": Entry(
        "steering.replace:keep",
        "Never replace a member, and cancel its replacement if one is in progress.",
    ),
    "detect": Entry("steering.detect:detect", "Find missing members, and notify the operator."),
    "validate": Entry("preview.validate:validate", "Check files, without any server unless --server is given."),
    "package": Entry("packages.package:package", "Inspect packages, create them, and preview their objects."),
    "installation": Entry(
        "packages.installations:installation", "Show installations of packages, and run their plans."
    ),
    "tour": Entry("tour.tour:tour", "Watch an upgrade under load while a node is lost."),
    "dashboard": Entry("dashboard.dashboard:dashboard", "Show clusters in a browser, and change them there."),
    "manifests": Entry("run.manifests:manifests", "Print everything to install."),
    "simulate": Entry("run.simulate:simulate", "Search for bugs of the operator in simulated worlds."),
    "completion": Entry(
        "run.completion:completion", "Print the completion script of a shell, or that of kubectl for the plug-in."
    ),
    "operator": Entry("run.operator:operator", "Run the operator."),
}
"""Each command, in the order in which help lists them."""

COMPLETE = "_STATEWARD_COMPLETE"
"""Environment variable that asks for a completion, whatever the program is called."""

EXIT_CODES = "Exit codes: " + "; ".join(f"{code.value} {meaning.replace('`', '')}" for code, meaning in MEANING.items())


@contextmanager
def usage_errors() -> Generator[None]:
    """Give errors of the command line their exit code within the block, and a text that a terminal only shows."""
    try:
        yield
    except click.UsageError as error:
        vars(error)["exit_code"] = ExitCode.USAGE
        vars(error)["message"] = harmless(error.message)
        raise


class Commands(click.Group):
    """A group that imports its commands on demand and reports failures in one line."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the options of the group; an invalid command line has an exit code of its own."""
        with usage_errors():
            return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].place.partition(":")
        return getattr(importlib.import_module(f"stateward.cli.{module}"), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without an import of any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without an import of any."""
        named = [CompletionItem(name, help=COMMANDS[name].help) for name in COMMANDS if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

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
            with usage_errors():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            # The reader of a pipe, such as `head`, may stop before the end: click then ends without a message.
            raise
        except KeyboardInterrupt:
            # Ctrl-C is the normal end of a watch, so report nothing.
            ctx.exit(ExitCode.INTERRUPTED)
        except Exception as error:
            known = failure_of(error)
            if known is None or ctx.params.get("debug"):
                raise
            raise Failure(known) from error


@click.command(
    cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option("--debug", is_flag=True, envvar="STATEWARD_DEBUG", help="Show the whole traceback of a failure.")
@click.version_option(__version__, prog_name="stateward")
def cli(*, debug: bool) -> None:
    """Show clusters, preview changes before you make them, and run the operator."""
    del debug  # Read by Commands.invoke.


def program(argv0: str) -> str:
    """Return the program name as the user has typed it."""
    return "kubectl stateward" if Path(argv0).name == "kubectl-stateward" else "stateward"


def show_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of a bug; its message may contain texts of others."""
    echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)


def main() -> None:
    """Run the command line, or complete one for a shell."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show an arrow or a name gets their code, and the command ends as it should.
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = show_bug
    if COMPLETE in os.environ:
        importlib.import_module("stateward.cli.run.completion")  # It knows the completion of kubectl.
    cli.main(prog_name=program(sys.argv[0]), complete_var=COMPLETE)

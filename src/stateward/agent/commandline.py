"""The command line: `run`, `copy` and `version`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from stateward.agent import VERSION, inquiry
from stateward.agent.settings import Settings


def main(arguments: Sequence[str]) -> int:
    """Carry out one command and return its exit code."""
    options, command = _split(arguments)
    parsed = _parser().parse_args(options)
    if parsed.verb == "version":
        print(VERSION)  # noqa: T201 - the answer of the command
        return 0
    if parsed.verb == "copy":
        from stateward.agent import transplant  # noqa: PLC0415 - what it needs is not in the copy

        print(transplant.copy(parsed.target))  # noqa: T201 - the answer of the command
        return 0
    if not command:
        _parser().error("after -- the command that starts the database is missing")
    from stateward.agent import agent  # noqa: PLC0415 - `copy` and `version` do without

    return agent.run(_settings(parsed, command), arguments)


def _split(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    words = list(arguments)
    if "--" not in words:
        return words, ()
    at = words.index("--")
    return words[:at], tuple(words[at + 1 :])


class _Format(argparse.HelpFormatter):
    """Of a fixed width: asking the terminal would load `shutil`, a megabyte that is never given back."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m stateward.agent", description="The process manager of a database pod.", formatter_class=_Format
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("version", help="print the version", formatter_class=_Format)
    copy = verbs.add_parser(
        "copy", help="copy the agent with its own interpreter into a directory", formatter_class=_Format
    )
    copy.add_argument("target", type=Path)
    run = verbs.add_parser(
        "run", help="run a database: run [options] -- COMMAND", allow_abbrev=False, formatter_class=_Format
    )
    run.add_argument("--config", type=Path, required=True, help="directory of the mounted configuration")
    run.add_argument("--keep", type=Path, help="writable directory for the configuration the process was started with")
    run.add_argument("--phase", type=Path, help="downward API file with the restart phase or all annotations")
    run.add_argument("--expected", type=Path, help="file with the checksum to wait for when nothing was kept")
    run.add_argument("--api", type=_address, default=("", 8443), help="[ADDRESS]:PORT of the API")
    run.add_argument("--probes", type=_address, default=("", 8081), help="[ADDRESS]:PORT of the kubelet's probes")
    run.add_argument("--certificate", type=Path, required=True)
    run.add_argument("--key", type=Path, required=True)
    run.add_argument("--client-ca", type=Path, help="refuse clients without a certificate of this CA")
    run.add_argument("--token", type=Path, required=True, help="file with the token of the cluster")
    run.add_argument("--started-url", type=_url, help="URL, or @NAME of a file in the configuration that holds it")
    run.add_argument("--ready-url", type=_url, help="the same for readiness")
    run.add_argument("--credentials", type=Path, help="file with USER:PASSWORD for these URLs, if it is there")
    run.add_argument("--probe-timeout", type=_seconds, default=3.0, help="seconds")
    run.add_argument("--grace", type=_seconds, default=120.0, help="seconds between TERM and KILL")
    run.add_argument("--releases", type=Path, default=Path("/stateward/agent"), help="where copies of the agent are")
    return parser


def _settings(parsed: argparse.Namespace, command: tuple[str, ...]) -> Settings:
    return Settings(
        command=command,
        configuration=parsed.config,
        api=parsed.api,
        probes=parsed.probes,
        certificate=parsed.certificate,
        key=parsed.key,
        token=parsed.token,
        client_ca=parsed.client_ca,
        kept=parsed.keep,
        phase=parsed.phase,
        expected=parsed.expected,
        started_url=parsed.started_url,
        ready_url=parsed.ready_url,
        credentials=parsed.credentials,
        probe_seconds=parsed.probe_timeout,
        grace_seconds=parsed.grace,
        releases=parsed.releases,
    )


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not [ADDRESS]:PORT")
    return host.strip("[]"), int(port)


def _url(text: str) -> str:
    if not text.startswith("@"):
        try:
            inquiry.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    elif "/" in text or text == "@":
        raise argparse.ArgumentTypeError(f"{text!r} is not @ and the name of a file in the configuration")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0 and up to a day")
    return seconds

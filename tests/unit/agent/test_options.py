"""The command line, which is read without the standard library's parser: that would cost each pod half a megabyte."""

from pathlib import Path

import pytest

from stateward.agent import commandline, options
from stateward.agent.process.settings import Settings

NEEDED = ["--config", "/c", "--certificate", "/t.crt", "--key", "/t.key", "--token", "/t"]


def test_what_is_needed_is_enough() -> None:
    found = options.settings(NEEDED, ("db",))
    assert found == Settings(("db",), Path("/c"), Path("/t.crt"), Path("/t.key"), Path("/t"))
    assert (found.api, found.probes, found.grace_seconds) == (("", 8443), ("", 8081), 120.0)


def test_every_field_of_the_settings_has_one_option() -> None:
    assert sorted(option.setting for option in options.OPTIONS.values()) == sorted({*Settings._fields} - {"command"})


def test_values_are_read_as_what_they_are() -> None:
    more = ["--api", "[::1]:1", "--probes=:2", "--grace", "7.5", "--started-url", "@url", "--keep=/a=b"]
    found = options.settings([*NEEDED, *more], ("db",))
    assert (found.api, found.probes) == (("::1", 1), ("", 2))
    assert (found.grace_seconds, found.started_url, found.kept) == (7.5, "@url", Path("/a=b"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--grac", "1"], "'--grac' is not an option of run"),
        (["1"], "'1' is not an option of run"),
        (["--grace"], "--grace has no value"),
        (["--grace", "0"], "--grace: '0' is not a number of seconds above 0 and up to a day"),
        (["--grace", "nan"], "--grace: 'nan' is not a number"),
        (["--api", "8443"], r"--api: '8443' is not \[ADDRESS\]:PORT"),
        (["--api", ":65536"], r"--api: ':65536' is not \[ADDRESS\]:PORT"),
        (["--ready-url", "@a/b"], "--ready-url: '@a/b' is not @ and the name"),
        (["--ready-url", "http://name/"], "--ready-url: 'http://name/' is not http"),
    ],
)
def test_what_is_not_understood_is_refused(words: list[str], why: str) -> None:
    with pytest.raises(options.UsageError, match=why):
        options.settings([*NEEDED, *words], ("db",))


def test_what_is_missing_is_named() -> None:
    with pytest.raises(options.UsageError, match="--certificate, --key missing"):
        options.settings(["--config", "/c", "--token", "/t"], ("db",))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "'nothing' is not one of these commands"),
        (["rin"], "'rin' is not one"),
        (["copy"], "'copy' is not one"),
        (["run", *NEEDED], "after -- the command that starts the database is missing"),
        (["run", *NEEDED, "--"], "after -- the command that starts the database is missing"),
        (["run", "--nothing", "1", "--", "db"], "'--nothing' is not an option of run"),
    ],
)
def test_a_wrong_command_is_explained(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commandline.main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("usage: python -m stateward.agent run")
    assert f"error: {why}" in said.err


@pytest.mark.parametrize("words", [["--help"], ["run", "-h"]])
def test_help_lists_every_option(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert commandline.main(words) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in options.OPTIONS)

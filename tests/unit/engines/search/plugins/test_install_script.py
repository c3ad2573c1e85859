"""The script that installs plug-ins, run with bash: a stand-in for the database's tool, and for the site."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from stateward.engines.search.plugins.containers import script

TOOL = """#!/bin/bash
# Unpacks a file that has the name of its plug-in as content, as the database's tool does with a zip file.
[[ $1 == install && $2 == --batch ]] || exit 64
file=${3#file://}
name=$(cat "$file")
echo "-> Installing file://$file"
[[ $name == broken ]] && { echo "ERROR: Plugin [broken] was built for another version" >&2; exit 1; }
mkdir "$STATEWARD_HOME/plugins/$name"
"""
CURL = """#!/bin/bash
# curl for a site that is a folder: what follows the host is the path in it.
url=${@: -1}
while (($# > 1)); do
  [[ $1 == --output ]] && target=$2
  shift
done
echo "$url" >>"$SITE/asked"
[[ -n ${AWAY:-} && $url == *.sha512 ]] && { echo "curl: (28) Operation timed out" >&2; exit 28; }
cp "$SITE/${url#https://mirror.example/}" "$target" 2>/dev/null && exit
echo "curl: (22) The requested URL returned error: 404" >&2
exit 22
"""
MIRROR = "https://mirror.example"


class Member:
    """What the container sees, and a site."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("home/plugins", "home/bin", "bin", "site", "data", "source"):
            (root / name).mkdir(parents=True)
        self.program("home/bin/opensearch-plugin", TOOL)
        self.program("bin/curl", CURL)

    def program(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)
        (self.root / path).chmod(0o755)

    def publish(self, file: str, name: str, *, checksum: str | None = None) -> None:
        (self.root / "site" / file).write_text(name)
        if checksum is not None:
            (self.root / "site" / f"{file}.sha512").write_text(f"{checksum}  {file}\n")

    def install(self, *words: str, **variables: str) -> tuple[int, str]:
        """Return the exit code, and the last words."""
        told = self.root / "told"
        told.unlink(missing_ok=True)
        environment = {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "STATEWARD_ENGINE": "opensearch",
            "STATEWARD_HOME": str(self.root / "home"),
            "STATEWARD_KEPT": str(self.root / "data/.stateward-plugins"),
            "STATEWARD_LAST_WORDS": str(told),
            "SITE": str(self.root / "site"),
            **variables,
        }
        done = subprocess.run(
            ["bash", "-c", script(), "install.sh", *words], env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, told.read_text() if told.exists() else ""

    @property
    def installed(self) -> list[str]:
        return sorted(path.name for path in (self.root / "home/plugins").iterdir())

    @property
    def kept(self) -> list[str]:
        files = (self.root / "data/.stateward-plugins").iterdir()
        return sorted(path.name.partition("-")[2] for path in files if not path.name.endswith(".sha512"))

    @property
    def asked(self) -> list[str]:
        file = self.root / "site/asked"
        return [line.removeprefix(f"{MIRROR}/") for line in file.read_text().splitlines()] if file.exists() else []

    def new_pod(self) -> None:
        for path in (self.root / "home/plugins").iterdir():
            path.rmdir()


@pytest.fixture
def member(tmp_path: Path) -> Member:
    return Member(tmp_path)


def test_a_later_pod_installs_the_kept_file_while_the_site_is_away(member: Member) -> None:
    member.publish("icu-1.zip", "icu")
    assert member.install("icu", f"{MIRROR}/icu-1.zip") == (0, "")
    assert member.installed == ["icu"]
    (member.root / "site/icu-1.zip").unlink()
    member.new_pod()
    assert member.install("icu", f"{MIRROR}/icu-1.zip") == (0, "")
    assert member.installed == ["icu"]
    assert member.asked == ["icu-1.zip", "icu-1.zip.sha512"]


def test_a_new_version_replaces_the_kept_file(member: Member) -> None:
    for version in (1, 2):
        member.publish(f"icu-{version}.zip", "icu")
        member.new_pod()
        assert member.install("icu", f"{MIRROR}/icu-{version}.zip") == (0, "")
        assert member.kept == [f"icu-{version}.zip"]


def test_a_kept_file_that_is_damaged_is_fetched_again(member: Member) -> None:
    member.publish("icu-1.zip", "icu")
    member.install("icu", f"{MIRROR}/icu-1.zip")
    (file,) = [path for path in (member.root / "data/.stateward-plugins").iterdir() if path.suffix == ".zip"]
    file.write_text("half")
    member.new_pod()
    assert member.install("icu", f"{MIRROR}/icu-1.zip") == (0, "")
    assert member.installed == ["icu"]


def test_a_file_that_the_site_does_not_have_ends_with_its_address(member: Member) -> None:
    code, told = member.install("icu", f"{MIRROR}/icu-9.zip")
    assert code == 1
    assert told.startswith(f"plug-in icu: {MIRROR}/icu-9.zip could not be downloaded: curl: (22)")


@pytest.mark.parametrize(("content", "code"), [("icu", 0), ("cut off", 1)])
def test_a_checksum_beside_the_file_is_checked(member: Member, content: str, code: int) -> None:
    member.publish("icu-1.zip", "icu", checksum=hashlib.sha512(content.encode()).hexdigest())
    ended, told = member.install("icu", f"{MIRROR}/icu-1.zip")
    assert ended == code
    assert ("does not have its SHA-512" in told) is bool(code)
    assert member.installed == ([] if code else ["icu"])


def test_a_checksum_that_cannot_be_read_is_not_a_missing_one(member: Member) -> None:
    member.publish("icu-1.zip", "icu", checksum=hashlib.sha512(b"cut off").hexdigest())
    code, told = member.install("icu", f"{MIRROR}/icu-1.zip", AWAY="yes")
    assert code == 1
    assert told == f"plug-in icu: {MIRROR}/icu-1.zip.sha512 could not be downloaded: curl: (28) Operation timed out"
    assert member.installed == []


def test_a_file_of_an_image_or_a_claim_is_kept_too(member: Member) -> None:
    place = member.root / "source/icu-1.zip"
    place.write_text("icu")
    assert member.install("icu", str(place)) == (0, "")
    place.unlink()
    member.new_pod()
    assert member.install("icu", str(place)) == (0, "")
    assert member.installed == ["icu"]
    assert member.install("size", str(member.root / "source/size-1.zip")) == (
        1,
        "plug-in size: the source has no file size-1.zip",
    )


def test_a_plugin_of_the_image_is_left_as_it_is(member: Member) -> None:
    (member.root / "home/plugins/icu").mkdir()
    assert member.install("icu", f"{MIRROR}/icu-1.zip") == (0, "")
    assert member.asked == []


def test_what_the_tool_says_is_told(member: Member) -> None:
    member.publish("broken-1.zip", "broken")
    code, told = member.install("broken", f"{MIRROR}/broken-1.zip")
    assert code == 1
    assert "was built for another version" in told


def test_a_file_that_was_refused_is_fetched_again_once_it_is_corrected(member: Member) -> None:
    """A mirror that answers with its login page answers with success."""
    member.publish("icu-1.zip", "broken")
    assert member.install("icu", f"{MIRROR}/icu-1.zip")[0] == 1
    member.publish("icu-1.zip", "icu")
    assert member.install("icu", f"{MIRROR}/icu-1.zip") == (0, "")
    assert member.installed == ["icu"]


def test_a_kept_file_that_is_refused_is_fetched_again(member: Member) -> None:
    """A place without a version in it has another file for another version of the database."""
    member.publish("icu.zip", "icu")
    assert member.install("icu", f"{MIRROR}/icu.zip") == (0, "")
    member.program("home/bin/opensearch-plugin", TOOL.replace("broken", "icu").replace("cat", "sed s/new-//"))
    member.publish("icu.zip", "new-icu")
    member.new_pod()
    assert member.install("icu", f"{MIRROR}/icu.zip")[0] == 1, "a stand-in that refuses both"
    assert member.asked.count("icu.zip") == 2
    member.program("home/bin/opensearch-plugin", TOOL)
    member.publish("icu.zip", "icu")
    assert member.install("icu", f"{MIRROR}/icu.zip") == (0, "")


def test_several_plugins_are_installed_and_files_of_others_are_removed(member: Member) -> None:
    for name in ("icu", "size", "old"):
        member.publish(f"{name}-1.zip", name)
    member.install("old", f"{MIRROR}/old-1.zip")
    member.new_pod()
    assert member.install("icu", f"{MIRROR}/icu-1.zip", "size", f"{MIRROR}/size-1.zip") == (0, "")
    assert member.installed == ["icu", "size"]
    assert member.kept == ["icu-1.zip", "size-1.zip"]


def test_without_plugins_the_kept_files_go(member: Member) -> None:
    member.publish("icu-1.zip", "icu")
    member.install("icu", f"{MIRROR}/icu-1.zip")
    assert member.install() == (0, "")
    assert member.kept == []

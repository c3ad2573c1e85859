"""Which Java an image of a database has, and from which release its layer is."""

from collections.abc import Callable

import pytest

from sandbox.errors import SandboxError
from sandbox.images import pins
from sandbox.images.base import java_source, of_release

OLD, NEW = "openjdk-17-jre-headless", "openjdk-21-jre-headless"


def having(*packages: str) -> Callable[[str], bool]:
    return lambda package: package in packages


@pytest.mark.parametrize("version", pins.OPENSEARCH_HOMES)
def test_opensearch_3_needs_java_21_and_the_others_do_not(version: str) -> None:
    assert pins.java_of(pins.OPENSEARCH, version) == (21 if version.startswith("3.") else 17)


@pytest.mark.parametrize("version", pins.ELASTICSEARCH_HOMES)
def test_elasticsearch_9_needs_java_21_and_the_others_do_not(version: str) -> None:
    assert pins.java_of(pins.ELASTICSEARCH, version) == (21 if version.startswith("9.") else 17)


@pytest.mark.parametrize(
    ("java", "codename", "packages", "source"),
    [
        (17, "bookworm", (OLD,), ("bookworm", OLD)),
        (21, "bookworm", (OLD,), ("trixie", NEW)),
        (17, "trixie", (NEW,), ("trixie", NEW)),
        (21, "trixie", (NEW,), ("trixie", NEW)),
        (17, "noble", (OLD, NEW), ("noble", OLD)),
        (21, "noble", (OLD, NEW), ("noble", NEW)),
    ],
)
def test_java_is_of_this_release_where_that_has_it_and_of_the_next_otherwise(
    java: int, codename: str, packages: tuple[str, ...], source: tuple[str, str]
) -> None:
    assert java_source(java, codename, having(*packages)) == source


def test_where_neither_has_it_the_packages_are_named() -> None:
    with pytest.raises(SandboxError, match=f"{OLD}, {NEW}"):
        java_source(17, "focal", having())


def test_a_list_of_sources_is_of_another_release_with_its_updates() -> None:
    old = "URIs: https://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n"
    new = "URIs: https://mirror.example/debian\nSuites: trixie trixie-updates\nComponents: main\n"
    assert of_release(old, "bookworm", "trixie") == new
    assert of_release("deb mirror bookworm-security main", "bookworm", "trixie") == "deb mirror trixie-security main"

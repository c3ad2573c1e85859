"""What an image of a database is remembered by: each of the files that go into it, and nothing that is no file."""

import subprocess
from pathlib import Path

import pytest

from sandbox.images import database
from sandbox.layout import sources
from sandbox.toolchain import digest


def test_an_image_is_remembered_by_files_beside_the_folders_of_other_images(tmp_path: Path) -> None:
    (tmp_path / "nofile.so").write_bytes(b"compiled")
    sources = database.made_of(tmp_path)
    assert {"opensearch-docker-entrypoint.sh", "small-machine.sh", "log4j2.properties"} <= {
        path.name for path in sources
    }
    assert digest.of_files(sources, "opensearch") != digest.of_files(sources, "elasticsearch")


@pytest.mark.parametrize("variable", ["OPENSEARCH_JAVA_OPTS", "ES_JAVA_OPTS", "CLI_JAVA_OPTS"])
def test_databases_are_compiled_for_a_fast_start_unless_the_user_says_otherwise(variable: str) -> None:
    script = sources() / "images" / "files" / "small-machine.sh"
    command = ["bash", "-euc", f'source "$1"; echo "${variable}"', "bash", str(script)]
    said = subprocess.run(command, env={"PATH": "/usr/bin:/bin", variable: "-Xmx1g"}, capture_output=True, check=True)
    # Of two options that contradict each other, Java takes the last one.
    assert said.stdout.decode().split() == ["-XX:TieredStopAtLevel=1", "-Xmx1g"]

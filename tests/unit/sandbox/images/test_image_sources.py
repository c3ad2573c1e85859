"""What an image of a database is remembered by: each of the files that go into it, and nothing that is no file."""

from pathlib import Path

from sandbox.images import database
from sandbox.toolchain import digest


def test_an_image_is_remembered_by_files_beside_the_folders_of_other_images(tmp_path: Path) -> None:
    (tmp_path / "nofile.so").write_bytes(b"compiled")
    sources = database.made_of(tmp_path)
    assert {"opensearch-docker-entrypoint.sh", "small-machine.sh", "log4j2.properties"} <= {
        path.name for path in sources
    }
    assert digest.of_files(sources, "opensearch") != digest.of_files(sources, "elasticsearch")

"""Images are written without a daemon, and equal content gives equal digests."""

import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

from sandbox.images.layers import Entry, layer
from sandbox.images.loading import share
from sandbox.images.oci import BlobStore, Execution, Image, assemble, write_archive

_EXECUTION = Execution(["/run"], ["serve"], "/home", "1000", {"MODE": "test"})


def _image(directory: Path) -> tuple[BlobStore, Image]:
    store = BlobStore(directory)
    program = directory.with_name("program")
    program.write_bytes(b"#!/bin/sh\n")
    content = layer(
        store,
        "test",
        [
            Entry("opt", None, mode=0o755),
            Entry("opt/run", program, mode=0o755, owner=1000, group=1000),
            Entry("opt/note", b"hello"),
            Entry("opt/link", link="run", mode=0o777),
        ],
    )
    return store, assemble(store, "example.test/thing:1", [content], _EXECUTION, "x86_64")


def test_the_same_content_gives_the_same_image(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert _image(tmp_path / "a" / "blobs")[1] == _image(tmp_path / "b" / "blobs")[1]


def test_the_archive_is_a_whole_oci_layout(tmp_path: Path) -> None:
    store, image = _image(tmp_path / "blobs")
    stream = io.BytesIO()
    write_archive(store, image, stream)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        files = {entry.name: (archive.extractfile(entry) or io.BytesIO()).read() for entry in archive}
    for name, content in files.items():
        if name.startswith("blobs/"):
            assert hashlib.sha256(content).hexdigest() == name.rpartition("/")[2]
    index = json.loads(files["index.json"])
    assert index["manifests"][0]["annotations"]["io.containerd.image.name"] == "example.test/thing:1"
    manifest = json.loads(files[_path(index["manifests"][0]["digest"])])
    config = json.loads(files[_path(manifest["config"]["digest"])])
    assert config["architecture"] == "amd64"
    assert config["config"]["Entrypoint"] == ["/run"]
    assert config["config"]["User"] == "1000"
    assert "MODE=test" in config["config"]["Env"]
    assert config["rootfs"]["diff_ids"] == [each["digest"] for each in manifest["layers"]]
    with tarfile.open(fileobj=io.BytesIO(files[_path(manifest["layers"][0]["digest"])])) as content:
        run = content.getmember("opt/run")
        assert (run.mode, run.uid, run.gid, run.size) == (0o755, 1000, 1000, 10)
        assert content.getmember("opt/link").linkname == "run"


def test_blobs_that_are_there_already_are_not_sent_again(tmp_path: Path) -> None:
    store, image = _image(tmp_path / "blobs")
    stream = io.BytesIO()
    write_archive(store, image, stream, without={image.layers[0].digest})
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        assert _path(image.layers[0].digest) not in archive.getnames()


def test_half_a_blob_is_not_held(tmp_path: Path) -> None:
    store, image = _image(tmp_path / "blobs")
    store.path(image.layers[0].digest).write_bytes(b"")
    assert not store.holds(image.layers[0])
    assert store.holds(image.manifest)


def _path(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def test_a_node_shares_the_blobs_of_the_store_and_what_differs_is_left_alone(tmp_path: Path) -> None:
    store, image = _image(tmp_path / "blobs")
    content = tmp_path / "node"
    content.mkdir()
    first, *others = (image.manifest, image.config, *image.layers)
    for blob in others:
        shutil.copy(store.path(blob.digest), content / blob.digest.removeprefix("sha256:"))
    store.path(others[0].digest).write_bytes(b"broken")
    share(store, content, image)
    share(store, content, image)
    shared = [store.path(blob.digest).samefile(content / blob.digest.removeprefix("sha256:")) for blob in others]
    assert shared == [False, *[True] * (len(others) - 1)]
    assert not (content / first.digest.removeprefix("sha256:")).exists()
    assert len(list(content.iterdir())) == len(others)

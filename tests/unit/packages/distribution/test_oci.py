"""Packages as OCI artifacts: the same to the byte, bounded, and believed only where digests say so."""

import json
from typing import Any

import pytest

from stateward.packages.distribution.archive import LARGEST
from stateward.packages.distribution.oci import (
    INDEX,
    LARGEST_BLOB,
    BadArtifact,
    artifact,
    blob_path,
    checked_blob,
    digest_of,
    files_in,
    in_layout,
    layout,
    read_manifest,
)
from tests.unit.packages.samples import files, shop


def test_an_artifact_holds_the_package_and_is_the_same_each_time() -> None:
    made = artifact(shop(), files() | {"README.md": b"not part of it"})
    assert made == artifact(shop(), files())
    layer = read_manifest(made.manifest, made.digest).layers[0]
    assert files_in(checked_blob(layer, made.blobs[layer.digest])) == files()


def test_content_that_is_not_what_its_digest_says_is_refused() -> None:
    made = artifact(shop(), files())
    with pytest.raises(BadArtifact, match="the manifest has the digest"):
        read_manifest(made.manifest + b" ", made.digest)
    layer = read_manifest(made.manifest).layers[0]
    content = made.blobs[layer.digest]
    for wrong in (content[:-1], content[:-1] + b"\xff", content + b"\0"):
        with pytest.raises(BadArtifact, match="does not match its digest"):
            checked_blob(layer, wrong)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"artifactType": "application/vnd.other"}, "is not a package"),
        ({"mediaType": INDEX}, "is an index of several artifacts"),
        ({"layers": []}, "is not a package"),
        ({"layers": 7}, "cannot be read"),
    ],
)
def test_what_is_something_else_is_refused(change: dict[str, Any], says: str) -> None:
    body = json.loads(artifact(shop(), files()).manifest) | change
    with pytest.raises(BadArtifact, match=says):
        read_manifest(json.dumps(body).encode())


@pytest.mark.parametrize(
    "change", [{"size": LARGEST_BLOB + 1}, {"size": -1}, {"digest": "md5:00"}, {"digest": "sha256:../../etc/passwd"}]
)
def test_a_layer_that_may_not_be_fetched_is_refused(change: dict[str, Any]) -> None:
    body = json.loads(artifact(shop(), files()).manifest)
    body["layers"][0] |= change
    with pytest.raises(BadArtifact):
        read_manifest(json.dumps(body).encode())
    assert LARGEST_BLOB > LARGEST


def test_a_layout_keeps_versions_beside_each_other_and_one_content_for_each() -> None:
    first = artifact(shop(), files())
    newer_files = files(operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"'))
    newer = artifact(shop(operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"')), newer_files)
    one = layout(first, "1.2.0")
    assert in_layout(one["index.json"], "").digest == first.digest
    assert one[blob_path(first.digest)] == first.manifest
    assert all(digest_of(content) in path.replace("/", ":") for path, content in one.items() if "blobs" in path)
    both = layout(newer, "1.3.0", one["index.json"])["index.json"]
    assert in_layout(both, "1.2.0").digest == first.digest
    assert in_layout(both, "1.3.0").digest == newer.digest
    with pytest.raises(BadArtifact, match=r"as in FOLDER:VERSION; there are 1\.2\.0, 1\.3\.0"):
        in_layout(both, "")
    with pytest.raises(BadArtifact, match=r"has no package of version '9'; there are 1\.2\.0, 1\.3\.0"):
        in_layout(both, "9")
    again = layout(newer, "1.2.0", both)["index.json"]
    assert in_layout(again, "1.2.0").digest == newer.digest
    with pytest.raises(BadArtifact, match=r"index\.json cannot be read"):
        in_layout(b"nothing", "")


def test_a_layout_that_others_have_written_may_have_entries_without_annotations() -> None:
    made = artifact(shop(), files())
    index = json.loads(layout(made, "1.2.0")["index.json"])
    index["manifests"].insert(0, {**index["manifests"][0], "annotations": None})
    both = json.dumps(index).encode()
    assert in_layout(both, "1.2.0").digest == made.digest
    assert len(json.loads(layout(made, "1.2.0", both)["index.json"])["manifests"]) == 2
    index["manifests"][1]["size"] = "many"
    with pytest.raises(BadArtifact, match="cannot be read"):
        in_layout(json.dumps(index).encode(), "1.2.0")

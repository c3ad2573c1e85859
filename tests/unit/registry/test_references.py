"""References to packages in a registry, and credentials for a registry."""

import base64
import json
import time
from pathlib import Path

import pytest

from stateward.registry.challenges import challenge_in
from stateward.registry.logins import BadLogins, login_for
from stateward.registry.references import BadReference, is_reference, read_reference

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    "text",
    [
        "oci://registry.example/team/shop:1.2.0",
        f"oci://registry.example:5000/shop@{DIGEST}",
        f"oci+http://127.0.0.1:5000/a/b/c:v1@{DIGEST}",
        "oci://[::1]:5000/shop",
    ],
)
def test_a_reference_reads_as_it_was_written(text: str) -> None:
    assert str(read_reference(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "oci://",
        "oci://shop",
        "oci://host/Shop",
        "oci://host/shop:",
        "oci://host/shop@md5:1",
        "https://host/shop",
        "shop",
    ],
)
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(BadReference, match="must be oci://HOST/REPOSITORY:TAG"):
        read_reference(text)


def test_a_version_becomes_a_tag_that_registries_take() -> None:
    where = read_reference("oci://host/shop")
    assert where.tagged("1.2.0+build").tag == "1.2.0-build"
    assert read_reference("oci://host/shop:x").tagged("1.2.0").tag == "x"
    assert read_reference("oci://host/shop").base == "https://host/v2/shop"
    assert not is_reference("./oci")


def test_a_challenge_leads_to_where_a_token_is_fetched() -> None:
    found = challenge_in('Bearer realm="https://auth.example/token",service="here", error=none')
    assert found.scheme == "bearer"
    address = found.token_address("repository:shop:pull")
    assert address == "https://auth.example/token?service=here&scope=repository%3Ashop%3Apull"
    assert challenge_in("").token_address("x") == ""
    assert challenge_in('Bearer realm="https://a/t?x=1",scope="y"').token_address("z") == "https://a/t?x=1&scope=y"


def test_a_challenge_of_one_long_word_is_read_in_one_pass() -> None:
    """The registry is the user's: eight kilobytes, as much as a header has, took a second of all clusters."""
    began = time.process_time()
    assert challenge_in("Bearer " + "A" * 100_000).parameters == {}
    assert time.process_time() - began < 5


def test_logins_are_read_by_host_and_never_shown(tmp_path: Path) -> None:
    where = {"DOCKER_CONFIG": str(tmp_path)}
    assert login_for("host", where) is None
    auth = base64.b64encode(b"robin:hood:2").decode()
    entries = {"host": {"auth": auth}, "https://other": {"username": "a", "password": "b"}, "empty": {}}
    (tmp_path / "config.json").write_text(json.dumps({"auths": entries}))
    found = login_for("host", where)
    assert found is not None
    assert (found.name, found.password) == ("robin", "hood:2")
    assert "hood" not in repr(found)
    assert login_for("other", where) is not None
    assert login_for("empty", where) is None
    assert login_for("nobody", where) is None
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(BadLogins):
        login_for("host", where)

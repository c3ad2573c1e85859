"""A secured member of Elasticsearch: its own TLS, users in files, and probes without credentials."""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import ElasticsearchCluster
from stateward.api.kinds.security import SecurityStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.engines import elasticsearch
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Target
from stateward.engines.search.configuration import xpack
from stateward.engines.search.configuration.configuration import config_files
from stateward.engines.search.objects.desired import desired
from stateward.engines.search.objects.inputs import inputs
from stateward.engines.search.objects.member import member_objects
from stateward.engines.search.spec.pools import ResolvedPool, resolve
from stateward.planning.facts.change import differing
from tests.unit.engines.replay import Replay

FLAVOR = elasticsearch.ELASTICSEARCH


def cluster(**security: Any) -> ElasticsearchCluster:
    spec = {"version": "8.19.4", "pools": [{"name": "all", "replicas": 3}], "security": security or None}
    metadata = {"name": "logs", "namespace": "prod", "uid": "u"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, ElasticsearchCluster)


def pool(**security: Any) -> ResolvedPool:
    return resolve(FLAVOR, cluster(**security))[0]


def settings(of: ResolvedPool) -> dict[str, Any]:
    lines = config_files(of, 0, "8.19.4")["elasticsearch.yml"].splitlines()
    return {key: json.loads(value) for key, _, value in (line.partition(": ") for line in lines)}


def test_a_secured_member_has_tls_on_both_layers() -> None:
    found = settings(pool(enabled=True))
    assert found["xpack.security.enabled"] is True
    assert found["xpack.security.transport.ssl.certificate"] == "tls/tls.crt"
    assert found["xpack.security.http.ssl.certificate"] == "tls/http.crt"
    assert found["xpack.security.http.ssl.certificate_authorities"] == ["tls/ca.crt"]


@pytest.mark.parametrize("security", [{}, {"enabled": False}])
def test_one_that_is_not_has_security_switched_off(security: dict[str, Any]) -> None:
    found = settings(pool(**security))
    assert found["xpack.security.enabled"] == "false"
    assert not any("ssl" in key or "anonymous" in key for key in found)
    assert "roles.yml" not in config_files(pool(**security), 0, "8.19.4")


def test_it_is_switched_on_all_members_together_and_a_renewal_is_no_change() -> None:
    assert differing(inputs(pool(), "8.19.4"), inputs(pool(enabled=True), "8.19.4")) == ("security",)
    assert desired(FLAVOR, cluster(enabled=True)).pools[0].coordinated == {"security"}
    status = ClusterStatus(security=SecurityStatus(enabled=True, certificates_digest="renewed"))
    renewed = msgspec.structs.replace(cluster(enabled=True), status=status)
    assert inputs(resolve(FLAVOR, renewed)[0], "8.19.4") == inputs(pool(enabled=True), "8.19.4")


def test_probes_need_no_password_and_have_no_other_rights() -> None:
    template = member_objects(FLAVOR, cluster(enabled=True), "all", 0, "8.19.4").workload["spec"]["template"]["spec"]
    asked = template["containers"][0]["readinessProbe"]["httpGet"]
    assert (asked["scheme"], asked["path"].partition("/_count")[0]) == ("HTTPS", "/stateward-readiness-*")
    assert config_files(pool(enabled=True), 0, "8.19.4")["roles.yml"].count("privileges") == 1


def salts() -> Iterator[bytes]:
    for number in range(100):
        yield hashlib.sha256(str(number).encode()).digest()


def derived(name: str, password: str) -> str:
    """Return the line that operators before this one have written."""
    return line(name, password, hashlib.sha256(f"{name}\n{password}".encode()).digest())


def line(name: str, password: str, salt: bytes, rounds: int = 10_000) -> str:
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, rounds, 32)
    return f"{name}:{{PBKDF2}}{rounds}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}\n"


def test_passwords_are_kept_as_the_database_reads_them_with_salts_from_outside() -> None:
    files = xpack.user_files({xpack.OPERATOR: "another", "admin": "a password"}, "", salts().__next__)
    first, second, *_ = salts()
    assert files["users"] == line("admin", "a password", first) + line(xpack.OPERATOR, "another", second)
    assert files["users_roles"] == "superuser:admin,stateward-operator\n"


def test_what_proves_the_password_is_kept_and_what_does_not_is_recreated() -> None:
    people = {"admin": "a password", "editor": "same", xpack.OPERATOR: "another"}
    more = salts()
    before = xpack.user_files(people, "", more.__next__)["users"]
    assert xpack.user_files(people, before, more.__next__)["users"] == before
    after = xpack.user_files({**people, "admin": "changed"}, before, more.__next__)["users"]
    assert after.splitlines()[1:] == before.splitlines()[1:]
    assert after.splitlines()[0] == line("admin", "changed", [*salts()][3]).strip()


def test_a_digest_is_verified_once_for_a_password_and_again_for_each_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    digest = xpack.digest

    def counted(password: str, salt: bytes) -> str:
        computed.append(password)
        return digest(password, salt)

    monkeypatch.setattr(xpack, "digest", counted)
    before = line("admin", "right", b"r" * 32)
    for word in ("right", "right", "wrong", "right", "wrong"):
        kept = xpack.user_files({"admin": word}, before, salts().__next__)["users"] == before
        assert kept is (word == "right")
    # A wrong word is compared, and the new digest that it gets is made.
    assert computed == ["right", "wrong", "wrong", "wrong", "wrong"]


def test_a_salt_that_follows_from_the_password_is_replaced() -> None:
    """It lets guesses be checked without the rounds: half a million in less than two seconds."""
    sound = line("editor", "same", b"s" * 32)
    before = derived("admin", "a password") + sound + derived(xpack.OPERATOR, "another")
    people = {"admin": "a password", "editor": "same", xpack.OPERATOR: "another"}
    after = xpack.user_files(people, before, salts().__next__)["users"]
    first, second, *_ = salts()
    assert after == line("admin", "a password", first) + sound + line(xpack.OPERATOR, "another", second)


@pytest.mark.parametrize(
    "before",
    [
        "admin",
        "admin:",
        "admin:{PBKDF2}10000$$\n",
        "admin:{PBKDF2}10000$x$y\n",
        "admin:{PBKDF2}10000$\u00e4$\u00e4\n",
        line("admin", "a password", b"short"),
        line("admin", "a password", b"s" * 32, 1000),
        line("admin", "a password", b"s" * 32).replace("}10000$", "}1000000000$"),
        line("admin", "a password", b"s" * 32).replace("PBKDF2", "plain"),
        line("other", "a password", b"s" * 32),
        line("admin", "a password", b"s" * 32).replace("\n", "$\n"),
    ],
)
def test_a_line_that_is_weak_or_makes_no_sense_is_recreated(before: str) -> None:
    assert xpack.user_files({"admin": "a password"}, before, salts().__next__)["users"] == line(
        "admin", "a password", next(salts())
    )


@pytest.mark.parametrize("name", ["", "a:b", "a\nroot", xpack.OPERATOR, "ä"])
def test_a_name_that_would_mean_something_else_in_the_file_is_not_usable(name: str) -> None:
    assert not xpack.usable(name)
    assert xpack.usable("admin@example.org")


async def test_no_user_is_created_in_the_database() -> None:
    replay = Replay({}, ("https://10.0.0.1:9200",))
    target = Target(("https://10.0.0.1:9200",), "logs", access=Access("logs.prod.svc", ""))
    await elasticsearch.driver(replay).add_user(target, "admin", "a password")
    assert replay.told == []

"""What the dashboards are configured with, and their objects: by engine and version, without a secret outside."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.access.dashboards import Dashboards
from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster, SearchCluster
from stateward.api.validation import Severity, validate, validate_access
from stateward.engines.pods.beside import config_secret
from stateward.engines.search.dashboards import objects
from stateward.engines.search.dashboards.frontend import frontend
from stateward.engines.search.dashboards.preview import access_notes
from stateward.engines.search.dashboards.settings import Secrets, files

SECURED = Secrets("session", "objects", "reporting", "PEM", "kibanaserver", "word", certificate="CERT", key="KEY")
TOKEN = Secrets("session", "objects", "reporting", "PEM", token="AAEA", certificate="CERT", key="KEY")
OPEN = Secrets("session", "objects", "reporting")
POOLS = [{"name": "all", "replicas": 3}]


def cluster(record: type[SearchCluster], version: str, status: str = "", /, **dashboards: Any) -> SearchCluster:
    spec = {"version": version, "pools": POOLS, "dashboards": dashboards}
    meta = {"name": "logs", "namespace": "prod", "uid": "u1"}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": {"version": status or version}}, record)


def settings(found: SearchCluster, secrets: Secrets, version: str = "") -> dict[str, Any]:
    asked = found.spec.dashboards or Dashboards()
    which = frontend(found)
    text = files(which, found, asked, version or found.spec.version, secrets)[which.config_file]
    return {key: msgspec.json.decode(value) for key, value in (line.split(": ", 1) for line in text.splitlines())}


def test_opensearch_dashboards_are_configured_as_documented() -> None:
    found = settings(cluster(OpenSearchCluster, "2.19.3"), SECURED)
    assert found == {
        "opensearch.hosts": ["https://logs.prod.svc:9200"],
        "opensearch.username": "kibanaserver",
        "opensearch.password": "word",
        "opensearch.requestHeadersAllowlist": ["authorization", "securitytenant"],
        "opensearch.ssl.certificateAuthorities": ["/usr/share/opensearch-dashboards/config/ca.crt"],
        "opensearch.ssl.verificationMode": "full",
        "opensearch_security.cookie.password": "session",
        "opensearch_security.cookie.secure": True,
        "opensearch_security.multitenancy.enabled": True,
        "server.host": "0.0.0.0",  # noqa: S104 - in the pod
        "server.name": "logs-dashboards",
        "server.port": 5601,
        "server.ssl.enabled": True,
        "server.ssl.certificate": "/usr/share/opensearch-dashboards/config/server.crt",
        "server.ssl.key": "/usr/share/opensearch-dashboards/config/server.key",
        "status.allowAnonymous": True,
    }
    assert "opensearch.requestHeadersWhitelist" in settings(cluster(OpenSearchCluster, "1.3.0"), SECURED)


def test_kibana_is_configured_as_documented() -> None:
    found = settings(cluster(ElasticsearchCluster, "8.19.4", routes={"hosts": ["ui.example.com"]}), TOKEN)
    assert found["elasticsearch.serviceAccountToken"] == "AAEA"
    assert found["elasticsearch.hosts"] == ["https://logs.prod.svc:9200"]
    assert found["server.publicBaseUrl"] == "https://ui.example.com"
    assert found["xpack.encryptedSavedObjects.encryptionKey"] == "objects"
    assert not any(key.startswith("opensearch") or key.endswith(("username", "password")) for key in found)


def test_without_security_nothing_of_it_is_set() -> None:
    found = settings(cluster(OpenSearchCluster, "2.19.3"), OPEN)
    assert found["opensearch.hosts"] == ["http://logs.prod.svc:9200"]
    assert found["server.ssl.enabled"] is False
    assert not any("security" in key or "certificate" in key or "password" in key for key in found)


def test_free_settings_win_over_defaults_and_never_over_what_the_operator_owns() -> None:
    chosen = {"server": {"name": "ours", "host": "::"}, "opensearch.hosts": ["http://elsewhere"]}
    found = settings(cluster(OpenSearchCluster, "2.19.3", config=chosen), SECURED)
    assert (found["server.name"], found["server.host"]) == ("ours", "::")
    assert found["opensearch.hosts"] == ["https://logs.prod.svc:9200"]


def test_the_text_of_secrets_shows_none_of_them() -> None:
    for hidden in ("session", "objects", "reporting", "word", "KEY"):
        assert f"'{hidden}'" not in repr(SECURED)
    assert "AAEA" not in repr(TOKEN)


def test_the_image_of_the_version_that_runs_is_derived_from_the_one_that_is_asked_for() -> None:
    found = cluster(OpenSearchCluster, "2.19.5", "2.19.3", image="mirror/osd:2.19.5-ours")
    asked = found.spec.dashboards
    assert asked is not None
    assert objects.image(frontend(found), found, asked, "2.19.3") == "mirror/osd:2.19.3-ours"
    assert objects.image(frontend(found), found, asked, "2.19.5") == "mirror/osd:2.19.5-ours"
    assert objects.knows_versions(frontend(found), found, asked)


def test_another_configuration_is_another_secret_so_that_no_pod_starts_with_the_wrong_one() -> None:
    found = cluster(OpenSearchCluster, "2.19.3")
    names = {objects.config_name(found, {"opensearch_dashboards.yml": text}) for text in ("a", "b")}
    assert len(names) == 2
    meta = objects.metadata(frontend(found), found, "opensearch")
    assert config_secret(meta, {"a": "b"})["immutable"] is True


def test_the_pods_are_no_members_and_no_service_of_the_cluster_selects_them() -> None:
    found = cluster(OpenSearchCluster, "2.19.3", replicas=2)
    asked = found.spec.dashboards
    assert asked is not None
    which = frontend(found)
    body = objects.deployment(which, found, asked, "opensearch", version="2.19.3", replicas=2, secured=True, config="c")
    template = body["spec"]["template"]
    assert "stateward.dev/cluster" not in {**template["metadata"]["labels"], **body["metadata"]["labels"]}
    (container,) = template["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/api/status", "port": 5601, "scheme": "HTTPS"}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert template["spec"]["automountServiceAccountToken"] is False
    assert template["spec"]["enableServiceLinks"] is False
    plain = objects.deployment(
        which, found, asked, "opensearch", version="2.19.3", replicas=2, secured=False, config="c"
    )
    (container,) = plain["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "DISABLE_SECURITY_DASHBOARDS_PLUGIN", "value": "true"}]


@pytest.mark.parametrize(
    ("server", "path"),
    [
        ({"basePath": "/ui", "rewriteBasePath": True}, "/ui/api/status"),
        ({"basePath": "/ui", "rewriteBasePath": False}, "/api/status"),
        ({"basePath": "/ui"}, "/api/status"),
        ({"rewriteBasePath": True}, "/api/status"),
    ],
)
def test_a_rewritten_base_path_is_part_of_the_probe(server: dict[str, Any], path: str) -> None:
    found = cluster(OpenSearchCluster, "2.19.3", config={"server": server})
    asked = found.spec.dashboards
    assert asked is not None
    body = objects.template(frontend(found), found, asked, "opensearch", version="2.19.3", secured=False, config="c")
    assert body["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"] == path


def test_a_wrong_block_is_a_problem_of_its_own_and_none_of_the_cluster() -> None:
    found = cluster(OpenSearchCluster, "2.19.3", version="3.0.0", config={"opensearch.password": "x"})
    assert validate(found) == []
    assert [problem.path for problem in validate_access(found)] == [
        "spec.dashboards.config[opensearch.password]",
        "spec.dashboards.version",
    ]


def test_a_version_of_another_major_version_is_a_warning_so_that_no_upgrade_of_the_cluster_is_refused_for_it() -> None:
    (problem,) = validate_access(cluster(OpenSearchCluster, "3.4.0", version="2.19.3"))
    assert (problem.path, problem.severity) == ("spec.dashboards.version", Severity.WARNING)


@pytest.mark.parametrize(
    ("version", "status", "note"),
    [
        ("2.19.3", {"version": "2.19.3"}, "OpenSearch Dashboards starts with 2.19.3"),
        (
            "2.19.5",
            {"version": "2.19.3", "dashboards": {"version": "2.19.3"}},
            "OpenSearch Dashboards: they stay at 2.19.3 until all members run 2.19.5",
        ),
        (
            "2.19.5",
            {"version": "2.19.5", "dashboards": {"version": "2.19.3"}},
            "OpenSearch Dashboards stops, and starts with 2.19.5",
        ),
    ],
)
def test_the_plan_says_what_happens_to_them(version: str, status: dict[str, Any], note: str) -> None:
    spec = {"version": version, "pools": POOLS, "dashboards": {}}
    found = msgspec.convert({"metadata": {"name": "logs"}, "spec": spec, "status": status}, OpenSearchCluster)
    assert list(access_notes(found)) == [note]

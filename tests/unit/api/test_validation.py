"""Whatever is wrong with a cluster is named by path, with what is accepted; all of it at once."""

import re
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.access.dashboards import Dashboards
from stateward.api.kinds.additions.plugins import PluginSource
from stateward.api.kinds.cluster import Storage
from stateward.api.kinds.foundationdb import FoundationDBSpec
from stateward.api.kinds.search import ElasticsearchSpec, OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.kinds.security import Security
from stateward.api.schema.rules import RULES
from stateward.api.validation import errors, validate, validate_access
from stateward.api.values.base import Record
from stateward.api.values.images import MALFORMED
from stateward.api.values.problem import Problem, Severity
from tests.unit.api.documents import cluster, elasticsearch_cluster, foundationdb_cluster
from tests.unit.api.findings import found, only, pool

MALFORMED_IMAGES = [
    *("", ":2.19.5", "a b:2.19.5", " os:2.19.5", "os:2.19.5 ", "os:2.19.5\n", "os:2.19.5\tx", "os :2.19.5"),
    *("/os:2.19.5", "r.example//os:2.19.5", "r.example/:2.19.5", "r.example/os/:2.19.5", "r.example:/os:2.19.5"),
    *("os:2.19.5:2.19.5", "r.example/Os:2.19.5", "os-:2.19.5", "a___b:2.19.5", "https://r.example/os:2.19.5"),
    *("os:.2.19.5", f"os:2.19.5-{'x' * 128}", "os:2.19.5@", "os@", "os:2.19.5@sha256", "os@sha256:", "os@sha256:0123"),
    *(f"os@sha256:{'A' * 64}", f"os@sha256:{'0' * 65}", f"os@md5:{'0' * 32}", f"os@sha256:{'0' * 64}:2.19.5"),
    f"os:2.19.5@sha256:{'g' * 64}",
]


def replaced(of: OpenSearchCluster, **spec: Any) -> OpenSearchCluster:
    """Change the spec behind the decoder's back, as only code can."""
    return msgspec.structs.replace(of, spec=msgspec.structs.replace(of.spec, **spec))


def test_the_example_of_the_quick_start_is_right() -> None:
    assert validate(cluster()) == []


def test_a_problem_reads_as_one_line() -> None:
    assert str(Problem("spec.version", "2.19", "must be x.y.z")) == "spec.version: '2.19': must be x.y.z"
    assert len(str(Problem("spec.config", {"a": "b" * 200}, "no"))) < 120


def test_all_problems_are_named_at_once() -> None:
    bad = cluster(
        version="2.19.5",
        image="ours/opensearch:2.19.1",
        pools=[pool("a", roles=["dta"]), pool("a", storage={"size": "0"})],
        config={"cluster.name": "x"},
        update={"maxUnavailable": "0%", "order": ["b"]},
    )
    assert {problem.path for problem in errors(validate(bad))} == {
        "spec.image",
        "spec.pools[0].name",
        "spec.pools[1].name",
        "spec.pools[0].roles[0]",
        "spec.pools[1].storage.size",
        "spec.config[cluster.name]",
        "spec.update.maxUnavailable",
        "spec.update.order[0]",
    }


class TestNames:
    def test_pools_share_no_name(self) -> None:
        problems = found(cluster(pools=[pool("hot"), pool("hot")]))
        assert [path for path, _ in problems] == ["spec.pools[0].name", "spec.pools[1].name"]
        assert "one pool only" in problems[0][1]

    def test_a_member_name_fits_a_stateful_set(self) -> None:
        path, message = only(cluster(name="c" * 40, pools=[pool("seven77")]))
        assert path == "spec.pools[0].name"
        assert "may have 6 characters" in message
        assert validate(cluster(name="c" * 40, pools=[pool("six666")])) == []

    def test_the_cluster_has_a_name_that_services_can_have(self) -> None:
        assert only(cluster(name="1.logs"))[0] == "metadata.name"

    def test_a_pool_built_by_code_has_a_name_that_objects_can_have(self) -> None:
        assert only(replaced(cluster(), pools=[Pool(name="Hot_1", replicas=3)]))[0] == "spec.pools[0].name"


class TestVersionAndImage:
    @pytest.mark.parametrize("version", ["2.19", "v2.19.5", "latest", "2.19.5-rc1", "02.1.1", "2.19.5\n"])
    def test_a_version_is_three_numbers(self, version: str) -> None:
        assert ("spec.version", "must be three numbers with dots between them, for example 2.19.5") in found(
            replaced(cluster(), version=version)
        )

    @pytest.mark.parametrize(
        "image",
        [
            "opensearchproject/opensearch:2.19.5",
            "registry.example:5000/os:2.19.5-ours",
            "os:v2.19.5",
            "os:2.19.5_1",
            "os:ours-2.19.5",
            f"os@sha256:{'0' * 64}",
            f"os:2.19.5@sha256:{'a' * 64}",
            f"[fd00::1]:5000/a__b/c-d.e/os:2.19.5@sha512:{'1' * 128}",
            "Registry/os:2.19.5",
        ],
    )
    def test_an_image_of_the_version_is_right(self, image: str) -> None:
        assert validate(cluster(image=image)) == []

    @pytest.mark.parametrize(
        "image",
        [
            "os:latest",
            "os:2.19.50",
            "os:12.19.5",
            "os:2.19.5.1",
            f"os:2.19.1@sha256:{'0' * 64}",
            "registry:5000/os:2.19.4",
        ],
    )
    def test_an_image_of_another_version_is_refused(self, image: str) -> None:
        path, message = only(cluster(image=image))
        assert path == "spec.image"
        assert "2.19.5-ours" in message

    @pytest.mark.parametrize("image", ["os", "registry:5000/os"])
    def test_an_image_without_tag_and_digest_is_refused(self, image: str) -> None:
        assert only(cluster(image=image)) == (
            "spec.image",
            f"must carry a tag or a digest, for example {image}:2.19.5",
        )

    @pytest.mark.parametrize(("version", "words"), [("1.2.4", "from 1.3.0"), ("3.5.0", "before 3.5.0")])
    def test_a_version_that_was_never_tested_is_only_a_warning(self, version: str, words: str) -> None:
        pools = [
            pool("m", roles=["master" if version.startswith("1.") else "cluster_manager"]),
            pool("d", roles=["data"]),
        ]
        path, message = only(cluster(version=version, pools=pools), Severity.WARNING)
        assert path == "spec.version"
        assert words in message

    @pytest.mark.parametrize("image", MALFORMED_IMAGES)
    def test_an_image_that_no_registry_can_have_is_refused_wherever_one_is_named(self, image: str) -> None:
        plugins = [{"name": "mapper-size"}]
        assert only(cluster(image=image)) == ("spec.image", MALFORMED)
        assert only(elasticsearch_cluster(image=image)) == ("spec.image", MALFORMED)
        assert only(foundationdb_cluster(image=image)) == ("spec.image", MALFORMED)
        assert only(cluster(plugins=plugins, pluginSource={"image": image})) == ("spec.pluginSource.image", MALFORMED)
        problems = validate_access(cluster(dashboards={"image": image}))
        assert [(each.path, each.value, each.message) for each in problems] == [
            ("spec.dashboards.image", image, MALFORMED)
        ]

    def test_the_image_of_plug_ins_may_have_the_version_of_the_member_in_it(self) -> None:
        for image in ("r.example/plugins:{version}", "r.example/plugins-{version}/all", "plugins:7-{version}-ours"):
            assert not found(cluster(plugins=[{"name": "mapper-size"}], pluginSource={"image": image})), image
        assert only(cluster(image="r.example/os:{version}")) == ("spec.image", MALFORMED)

    @pytest.mark.parametrize("record", [OpenSearchSpec, ElasticsearchSpec, FoundationDBSpec, Dashboards, PluginSource])
    def test_the_api_server_has_the_same_rule_for_images(self, record: type[Record]) -> None:
        (rule,) = (rule for rule in RULES[record] if rule.message == MALFORMED)
        (expression,) = re.findall(r"matches\(r'(.*)'\)$", rule.expression)
        accepted = [image for image in MALFORMED_IMAGES if re.search(expression, image)]
        assert accepted == ["os:2.19.5\n"], "in Python alone, $ is also before a last newline"
        assert re.search(expression, "registry.example:5000/os:2.19.5-ours")


class TestStorage:
    @pytest.mark.parametrize("size", ["0", "0Gi", "-1Gi"])
    def test_a_volume_has_a_size(self, size: str) -> None:
        of = replaced(cluster(), pools=[Pool(name="all", replicas=3, storage=Storage(size=size))])
        assert only(of) == ("spec.pools[0].storage.size", "must be more than 0, for example 20Gi")

    def test_a_size_is_a_quantity(self) -> None:
        of = replaced(cluster(), pools=[Pool(name="all", replicas=3, storage=Storage(size="20 GB"))])
        assert "must be a quantity of bytes" in only(of)[1]

    def test_ephemeral_storage_has_no_class(self) -> None:
        pools = [pool("m"), pool("d", roles=["data"], storage={"ephemeral": True, "storageClass": "fast"})]
        assert only(cluster(pools=pools))[0] == "spec.pools[1].storage.storageClass"

    def test_volumes_grow_up_to_a_size_that_is_not_below_the_first_one(self) -> None:
        at_most = {"size": "100Gi", "grow": {"max": "50Gi"}}
        path, text = only(cluster(pools=[pool(storage=at_most)]))
        assert (path, text) == ("spec.pools[0].storage.grow.max", "must be at least storage.size (100Gi)")
        assert validate(cluster(pools=[pool(storage={"size": "100Gi", "grow": {"max": "100Gi"}})])) == []

    def test_a_limit_of_growth_is_a_size(self) -> None:
        path, text = only(cluster(pools=[pool(storage={"grow": {"max": "0"}})]))
        assert (path, text) == ("spec.pools[0].storage.grow.max", "must be more than 0, for example 20Gi")

    def test_ephemeral_storage_does_not_grow(self) -> None:
        pools = [pool("m"), pool("d", roles=["data"], storage={"ephemeral": True, "grow": {"max": "1Ti"}})]
        assert only(cluster(pools=pools))[0] == "spec.pools[1].storage.grow"

    def test_ephemeral_managers_are_a_warning(self) -> None:
        of = cluster(pools=[pool(storage={"ephemeral": True})])
        assert only(of, Severity.WARNING)[0] == "spec.pools[0].storage.ephemeral"


class TestConfig:
    @pytest.mark.parametrize(
        ("config", "key"),
        [
            ({"cluster.name": "x"}, "cluster.name"),
            ({"cluster": {"name": "x"}}, "cluster.name"),
            ({"cluster": {"initial_cluster_manager_nodes": ["a"]}}, "cluster.initial_cluster_manager_nodes"),
            ({"discovery": {"zen": {"minimum_master_nodes": 2}}}, "discovery.zen.minimum_master_nodes"),
            ({"node.data": True}, "node.data"),
            ({"path": {"data": ["/a", "/b"]}}, "path.data"),
            ({"http.publish_port": 1}, "http.publish_port"),
            ({"transport": {"tcp": {"port": 1}}}, "transport.tcp.port"),
            ({"cluster.routing.allocation.enable": "none"}, "cluster.routing.allocation.enable"),
        ],
    )
    def test_an_owned_setting_is_refused_with_the_reason(self, config: dict[str, Any], key: str) -> None:
        path, message = only(cluster(config=config))
        assert path == f"spec.config[{key}]"
        assert message.startswith("cannot be set: ")
        assert only(cluster(pools=[pool(config=config)]))[0] == f"spec.pools[0].config[{key}]"

    def test_other_settings_are_free(self) -> None:
        config = {"node.attr.rack": "r1", "cluster": {"max_shards_per_node": 2000}, "http.cors.enabled": True, "x": {}}
        assert validate(cluster(config=config)) == []

    def test_a_setting_is_given_once(self) -> None:
        assert only(cluster(config={"a": {"b": 1}, "a.b": 2}))[0] == "spec.config[a.b]"


class TestUpdate:
    @pytest.mark.parametrize("value", [1, 500, "1%", "100%"])
    def test_a_budget_lets_something_happen(self, value: int | str) -> None:
        assert validate(cluster(update={"maxUnavailable": value})) == []

    @pytest.mark.parametrize("value", [0, -1, "0%", "101%", "two", "2", "%", ""])
    def test_a_budget_of_nothing_or_more_than_all_is_refused(self, value: int | str) -> None:
        assert only(cluster(update={"maxUnavailable": value}))[0] == "spec.update.maxUnavailable"

    def test_an_order_names_pools_once(self) -> None:
        problems = found(cluster(update={"order": ["hot", "cold", "hot"]}))
        assert problems == [
            ("spec.update.order[1]", "must be the name of a pool: managers, hot, gateway"),
            ("spec.update.order[2]", "must be listed once"),
        ]

    def test_the_service_selects_what_stateward_selects(self) -> None:
        assert only(cluster(service={"spec": {"selector": {}}}))[0] == "spec.service.spec.selector"

    def test_the_service_takes_no_address_of_others(self) -> None:
        path, said = only(cluster(service={"spec": {"externalIPs": ["192.0.2.1"]}}))
        assert path == "spec.service.spec.externalIPs"
        assert "receive traffic" in said

    def test_the_service_leads_to_no_other_name(self) -> None:
        path, said = only(cluster(service={"spec": {"externalName": "payments.bank.svc"}}))
        assert path == "spec.service.spec.externalName"
        assert "members of this cluster" in said

    @pytest.mark.parametrize("ports", ["9200", {"port": 9200}, [9200], [None]])
    def test_ports_of_the_service_are_a_list_of_objects(self, ports: object) -> None:
        path, said = only(cluster(service={"spec": {"ports": ports}}))
        assert path.startswith("spec.service.spec.ports")
        assert "must be a list of ports" in said

    @pytest.mark.parametrize("field", ["labels", "annotations"])
    def test_the_service_has_no_marks_by_which_stateward_allows_and_finds_objects(self, field: str) -> None:
        own = "stateward.dev/allowed-for-pods"
        assert only(cluster(service={field: {own: "true", "team": "a"}}))[0] == f"spec.service.{field}[{own}]"


class TestNesting:
    @pytest.mark.parametrize("field", ["podTemplate", "config", "service"])
    @pytest.mark.parametrize("levels", [60, 500])
    def test_a_field_that_is_nested_too_deeply_is_named_before_anything_follows_it(
        self, field: str, levels: int
    ) -> None:
        nested: object = "end"
        for i in range(levels):
            nested = [nested] if i % 2 else {"a": nested}
        inside: dict[str, Any] = {field: {"spec": {"a": nested}}}
        path, said = only(cluster(**inside))
        assert path.startswith(f"spec.{field}.spec.a")
        assert said == "must be nested no deeper than 50 levels"

    @pytest.mark.parametrize("field", ["podTemplate", "config", "service"])
    def test_a_spec_with_too_many_values_is_not_looked_at_further(self, field: str) -> None:
        """With half a million numbers in one list, each check of it took seconds, and there are several in a round."""
        for large in ([1] * 500_000, [[1]] * 500_000, [{"a": {}}] * 20_000 + [[1] * 10_001]):
            inside: dict[str, Any] = {field: {"spec": {"a": large}}}
            path, said = only(cluster(**inside))
            assert path.startswith(f"spec.{field}.spec.a")
            assert said.startswith("is too much: a spec may have 50,000 values")
        # Three pools share it.
        assert "50,000" not in str(found(cluster(config={"a": [1] * 16_000})))


def java(options: str) -> dict[str, Any]:
    env = [{"name": "OPENSEARCH_JAVA_OPTS", "value": options}]
    return {"spec": {"containers": [{"name": "opensearch", "env": env}]}}


class TestMemory:
    def test_little_memory_is_a_warning(self) -> None:
        of = cluster(pools=[pool(resources={"limits": {"memory": "400Mi", "cpu": 1}})])
        assert only(of, Severity.WARNING)[0] == "spec.pools[0].resources.limits.memory"
        assert found(of) == []

    @pytest.mark.parametrize("options", ["-Xmx1g", "-Xms512m -Xmx1g", "-Xms1g"])
    def test_a_heap_has_one_size(self, options: str) -> None:
        path, message = only(cluster(podTemplate=java(options)))
        assert path == "spec.podTemplate.spec.containers[opensearch].env[OPENSEARCH_JAVA_OPTS]"
        assert "must be given together" in message

    def test_a_heap_fits_the_limit_of_its_pool(self) -> None:
        huge = f"-Xms{'9' * 5000}g -Xmx{'9' * 5000}g"  # Python refuses to read numbers of so many digits.
        path, message = only(cluster(pools=[pool(resources={"limits": {"memory": "1Gi"}}, podTemplate=java(huge))]))
        assert message.startswith("the heap must be smaller than the memory limit, 1Gi")
        small = pool(resources={"limits": {"memory": "1Gi"}}, podTemplate=java("-Xms1g -Xmx1024M"))
        path, message = only(cluster(pools=[small], podTemplate=java("-Xms256m -Xmx256m")))
        assert path.startswith("spec.pools[0].podTemplate")
        assert "smaller than the memory limit, 1Gi" in message

    def test_a_heap_that_fits_is_right(self) -> None:
        good = pool(resources={"limits": {"memory": "2Gi"}})
        assert validate(cluster(pools=[good], podTemplate=java("-Xlog -Xms1g -Xmx1g -XX:+UseG1GC"))) == []


class TestSecurity:
    def test_the_examples_are_right(self) -> None:
        assert validate(cluster(security={"enabled": True, "certificateLifetime": "12h"})) == []
        assert validate(cluster(security={"enabled": True, "caSecretName": "ca", "http": {"secretName": "web"}})) == []
        assert validate(cluster(security={"enabled": False})) == []

    def test_what_is_switched_off_has_no_secrets(self) -> None:
        path, message = only(cluster(security={"enabled": False, "caSecretName": "ca"}))
        assert path == "spec.security.enabled"
        assert "leave caSecretName" in message

    def test_a_renewal_fits_into_a_lifetime(self) -> None:
        path, said = only(cluster(security={"enabled": True, "certificateLifetime": "4m"}))
        assert path == "spec.security.certificateLifetime"
        assert said.startswith("must be 5m or longer")

    def test_a_lifetime_has_a_unit(self) -> None:
        path, said = only(replaced(cluster(), security=Security(certificate_lifetime="soon")))
        assert path == "spec.security.certificateLifetime"
        assert said.startswith("must be whole minutes, hours or days")

    def test_the_key_of_a_ca_does_not_come_into_pods(self) -> None:
        path, _ = only(cluster(security={"enabled": True, "caSecretName": "ca", "http": {"secretName": "ca"}}))
        assert path == "spec.security.http"

    @pytest.mark.parametrize(
        "key", ["plugins.security.disabled", "plugins.security.ssl.http.enabled", "plugins.security.nodes_dn"]
    )
    def test_what_security_owns_is_not_set_manually(self, key: str) -> None:
        path, message = only(cluster(config={key: "true"}))
        assert path == f"spec.config[{key}]"
        assert message.startswith("cannot be set: ")

"""What users add to the pods of a cluster: parts of the template, plug-ins and secure settings."""

from typing import Any

import pytest

from stateward.api.kinds.additions.plugins import NO_PLUGINS, ONE_SOURCE
from stateward.api.validation import errors, validate
from tests.unit.api.documents import cluster, elasticsearch_cluster
from tests.unit.api.findings import only, pool


class TestTemplate:
    def test_sidecars_volumes_and_labels_are_free(self) -> None:
        template = {
            "metadata": {"labels": {"team": "a"}, "annotations": {"x/y": "z"}},
            "spec": {
                "containers": [{"name": "exporter", "image": "x:1"}, {"name": "opensearch", "env": [{"name": "A"}]}],
                "initContainers": [{"name": "opensearch", "image": "y:1"}],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "tolerations": [{"operator": "Exists"}],
            },
        }
        assert validate(cluster(podTemplate=template)) == []

    @pytest.mark.parametrize(
        ("template", "path"),
        [
            ({"kind": "Pod"}, "kind"),
            ({"spec": []}, "spec"),
            ({"metadata": {"name": "x"}}, "metadata.name"),
            ({"metadata": {"labels": ["x"]}}, "metadata.labels"),
            ({"metadata": {"labels": {"x": 1}}}, "metadata.labels[x]"),
            ({"metadata": {"labels": {"stateward.dev/pool": "x"}}}, "metadata.labels[stateward.dev/pool]"),
            (
                {"metadata": {"labels": {"stateward.dev/restarted-at": "x"}}},
                "metadata.labels[stateward.dev/restarted-at]",
            ),
            (
                {"metadata": {"annotations": {"stateward.dev/version": "x"}}},
                "metadata.annotations[stateward.dev/version]",
            ),
            ({"spec": {"containers": {"name": "x"}}}, "spec.containers"),
            ({"spec": {"containers": [{"image": "x"}]}}, "spec.containers[0]"),
            ({"spec": {"containers": ["x"]}}, "spec.containers[0]"),
            ({"spec": {"volumes": [{"name": "a"}, {"name": "a"}]}}, "spec.volumes[1].name"),
            ({"spec": {"containers": [{"name": "a", "env": [{"value": "x"}]}]}}, "spec.containers[a].env[0]"),
            ({"spec": {"hostname": "x"}}, "spec.hostname"),
            ({"spec": {"containers": [{"name": "opensearch", "image": "x"}]}}, "spec.containers[opensearch].image"),
            ({"spec": {"containers": [{"name": "opensearch", "args": []}]}}, "spec.containers[opensearch].args"),
            (
                {"spec": {"containers": [{"name": "opensearch", "env": [{"name": "discovery.type", "value": "x"}]}]}},
                "spec.containers[opensearch].env[discovery.type]",
            ),
        ],
    )
    def test_what_is_no_override_of_a_pod_is_refused(self, template: dict[str, Any], path: str) -> None:
        assert only(cluster(podTemplate=template))[0] == f"spec.podTemplate.{path}"
        assert only(cluster(pools=[pool(podTemplate=template)]))[0] == f"spec.pools[0].podTemplate.{path}"


class TestPlugins:
    def test_a_source_needs_plugins_and_is_one(self) -> None:
        listed = [{"name": "mapper-size"}]
        assert validate(cluster(plugins=listed, pluginSource={"url": "https://mirror.example"})) == []
        path, said = only(cluster(pluginSource={"claimName": "plugins"}))
        assert (path, said) == ("spec.pluginSource", NO_PLUGINS)
        for source in ({}, {"claimName": "plugins", "url": "https://mirror.example"}):
            path, said = only(cluster(plugins=listed, pluginSource=source))
            assert (path, said) == ("spec.pluginSource", ONE_SOURCE)

    @pytest.mark.parametrize(("version", "warned"), [("7.17.28", False), ("8.0.0", True), ("8.19.4", True)])
    def test_a_plugin_that_the_version_includes_is_a_warning(self, version: str, warned: bool) -> None:
        made = elasticsearch_cluster(version=version, plugins=[{"name": "repository-s3"}, {"name": "analysis-icu"}])
        found = validate(made)
        assert [problem.path for problem in found] == ["spec.plugins[0].name"] * warned
        assert errors(found) == []


class TestSecureSettings:
    def test_secrets_and_single_keys_of_them_go_into_the_keystore(self) -> None:
        entries = [{"key": "access", "setting": "s3.client.default.access_key"}]
        assert validate(cluster(secureSettings=[{"secretName": "s3", "entries": entries}, {"secretName": "b"}])) == []

    def test_a_setting_is_given_once_and_a_secret_named_once(self) -> None:
        entries = [{"key": "a"}, {"key": "b", "setting": "a"}]
        path, said = only(cluster(secureSettings=[{"secretName": "s3", "entries": entries}]))
        assert path == "spec.secureSettings[0].entries[1]"
        assert said == "is given by spec.secureSettings[0].entries[0] already"
        path, _ = only(cluster(secureSettings=[{"secretName": "s3"}, {"secretName": "s3"}]))
        assert path == "spec.secureSettings[1].secretName"

    @pytest.mark.parametrize("name", ["keystore.seed", "cluster.name"])
    def test_what_stateward_sets_is_no_setting_of_the_keystore(self, name: str) -> None:
        path, said = only(cluster(secureSettings=[{"secretName": "s3", "entries": [{"key": name}]}]))
        assert path == "spec.secureSettings[0].entries[0]"
        assert said.startswith("cannot be set: ")

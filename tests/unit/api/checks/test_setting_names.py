"""Names of settings are written into configuration files, where YAML must read them as they are."""

import pytest

from stateward.api.validation import errors, validate_access
from stateward.api.values.settings import NOT_PLAIN
from tests.unit.api.documents import cluster, elasticsearch_cluster
from tests.unit.api.findings import found, only, pool

OWNED = "cluster.initial_master_nodes"
HOSTILE = [
    *(f"{OWNED} ", f" {OWNED}", f"{OWNED}\t", f"a: 1\n{OWNED}", f"a\r{OWNED}", f"a\u0085{OWNED}", f"a\u2028{OWNED}"),
    *(f"'{OWNED}'", f'"{OWNED}"', f"!!str {OWNED}", f"&a {OWNED}", f"? {OWNED}", f"{OWNED}: [x] #", f"{OWNED}:"),
    *("# x", "- x", "-x", "", "{a", "[a", "a\x00b", "%a", "*a", "@a", "a b", "a#b"),
]
PLAIN = [
    "node.attr.größe",
    "uiSettings.overrides.theme:darkMode",
    "logger.org.opensearch.A$B",
    "a.b-c_d",
    "A/b@c+d*",
    "x",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_is_read_as_another_one(name: str) -> None:
    """A space behind the name of an owned setting was enough to set it, and so to form a second cluster."""
    assert only(cluster(config={name: "x"})) == (f"spec.config[{name}]", NOT_PLAIN)
    assert only(cluster(pools=[pool(config={name: "x"})]))[1] == NOT_PLAIN
    assert [each.message for each in errors(validate_access(cluster(dashboards={"config": {name: "x"}})))] == [
        NOT_PLAIN
    ]


@pytest.mark.parametrize("name", PLAIN)
def test_names_that_databases_know_are_accepted(name: str) -> None:
    assert found(cluster(config={name: "x"})) == []


@pytest.mark.parametrize(
    "variable",
    [
        "cluster.initial_master_nodes",
        "ES_SETTING_CLUSTER_INITIAL__MASTER__NODES",
        "ES_SETTING_PATH_DATA",
        "ES_SETTING_XPACK_SECURITY_ENABLED",
        "ES_PATH_CONF",
    ],
)
def test_no_variable_that_the_image_takes_for_an_owned_setting_is_accepted(variable: str) -> None:
    """The image has two forms of them; with the second one a spec formed a second cluster."""
    env = [{"name": variable, "value": "x"}]
    made = elasticsearch_cluster(podTemplate={"spec": {"containers": [{"name": "elasticsearch", "env": env}]}})
    path, said = only(made)
    assert path == f"spec.podTemplate.spec.containers[elasticsearch].env[{variable}]"
    assert said.startswith("cannot be set: ")


@pytest.mark.parametrize(
    "variable", ["ES_SETTING_NODE_ATTR_RACK", "ES_JAVA_OPTS", "ES_SETTING", "ES_SETTING_Path_data"]
)
def test_other_variables_are_accepted(variable: str) -> None:
    env = [{"name": variable, "value": "x"}]
    made = elasticsearch_cluster(podTemplate={"spec": {"containers": [{"name": "elasticsearch", "env": env}]}})
    assert [each for each in found(made) if "env" in each[0] and "cannot be set" in each[1]] == []

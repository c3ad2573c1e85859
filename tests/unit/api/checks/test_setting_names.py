"""Names of settings are written into configuration files, where YAML must read them as they are."""

import pytest

from stateward.api.validation import errors, validate_access
from stateward.api.values.settings import NOT_PLAIN
from tests.unit.api.documents import cluster
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

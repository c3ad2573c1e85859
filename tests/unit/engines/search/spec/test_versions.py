"""Which upgrades are refused, and what things are called in which version."""

import pytest

from stateward.api.values.version import Version, parse_version
from stateward.engines.elasticsearch import ELASTICSEARCH
from stateward.engines.opensearch import OPENSEARCH

refuse_upgrade = OPENSEARCH.lineage.refuse_upgrade
role_names = OPENSEARCH.lineage.role_names
initial_nodes_setting = OPENSEARCH.lineage.initial_nodes_setting


@pytest.mark.parametrize(
    ("current", "target"),
    [
        ("", "2.19.5"),
        ("2.19.5", "2.19.5"),
        ("2.17.1", "2.19.5"),
        ("2.9.0", "2.10.0"),
        ("1.3.20", "2.19.5"),
        ("2.19.5", "3.4.0"),
        ("2.19.0", "3.0.0"),
        ("3.4.0", "4.0.0"),
    ],
)
def test_upgrades_within_a_major_version_or_to_the_next_are_possible(current: str, target: str) -> None:
    assert refuse_upgrade(current, target) is None


@pytest.mark.parametrize(
    ("current", "target", "why"),
    [
        ("2.19.5", "2.17.1", "is older than 2.19.5"),
        ("2.10.0", "2.9.0", "is older than 2.10.0"),
        ("1.3.20", "3.4.0", "go through 2.x first"),
        ("2.18.0", "3.4.0", "upgrade to 2.19.0 or a later 2.x first"),
        ("1.2.4", "2.19.5", "upgrade to 1.3.0 or a later 1.x first"),
        ("2.19.5", "next", "is not a version"),
        ("now", "2.19.5", "'now' is not a version"),
    ],
)
def test_other_upgrades_are_refused_with_the_way_out(current: str, target: str, why: str) -> None:
    assert why in (refuse_upgrade(current, target) or "")


@pytest.mark.parametrize("text", ["", "2.19", "2.19.5-ours", "02.1.0", "v2.19.5", "2.19.5\n", "2.1٩.5"])
def test_what_is_not_three_numbers_is_no_version(text: str) -> None:
    assert parse_version(text) is None


def test_versions_compare_by_number() -> None:
    assert parse_version("2.10.0") == Version(2, 10, 0)
    assert Version(2, 9, 9) < Version(2, 10, 0)
    assert str(Version(2, 10, 0)) == "2.10.0"


def test_managers_are_masters_before_version_2() -> None:
    assert role_names(["cluster_manager", "data"], "1.3.20") == ["data", "master"]
    assert role_names(["master", "cluster_manager"], "2.19.5") == ["cluster_manager"]
    assert initial_nodes_setting("1.3.20") == "cluster.initial_master_nodes"
    assert initial_nodes_setting("3.4.0") == "cluster.initial_cluster_manager_nodes"


@pytest.mark.parametrize(
    ("current", "target"),
    [
        ("7.17.0", "7.17.28"),
        ("7.17.28", "8.17.0"),
        ("7.17.0", "8.19.4"),
        ("8.17.0", "8.19.4"),
        ("8.0.0", "8.0.0"),
        ("8.19.0", "9.1.0"),
        ("8.19.4", "9.2.0"),
        ("8.18.8", "9.0.8"),
        ("8.18.0", "9.0.0"),
        ("9.0.8", "9.2.0"),
    ],
)
def test_elasticsearch_goes_from_the_last_minor_version_to_the_next_major_one(current: str, target: str) -> None:
    assert ELASTICSEARCH.lineage.refuse_upgrade(current, target) is None


@pytest.mark.parametrize(
    ("current", "target", "why"),
    [
        ("7.16.3", "8.19.4", "upgrade to 7.17.0 or a later 7.x first"),
        ("7.10.2", "8.0.0", "upgrade to 7.17.0 or a later 7.x first"),
        ("6.8.23", "8.19.4", "go through 7.x first"),
        ("8.19.4", "8.17.0", "is older than 8.19.4"),
        ("8.0.0", "7.17.28", "is older than 8.0.0"),
        ("8.17.0", "8.x", "is not a version such as 8.19.4"),
        ("8.17.0", "9.2.0", "upgrade to 8.19.0 or a later 8.x first"),
        ("8.18.8", "9.1.0", "upgrade to 8.19.0 or a later 8.x first"),
        ("8.17.0", "9.0.8", "upgrade to 8.18.0 or a later 8.x, earlier than 8.19.0, first"),
        ("8.19.4", "9.0.8", "upgrade to 9.1.0 or a later 9.x instead"),
        ("7.17.28", "9.2.0", "go through 8.x first"),
        ("9.2.0", "8.19.4", "is older than 9.2.0"),
    ],
)
def test_elasticsearch_refuses_what_cannot_be_with_the_way_out(current: str, target: str, why: str) -> None:
    assert why in (ELASTICSEARCH.lineage.refuse_upgrade(current, target) or "")


@pytest.mark.parametrize("version", ["7.17.28", "8.19.4", "9.2.0"])
def test_elasticsearch_speaks_of_masters(version: str) -> None:
    assert ELASTICSEARCH.lineage.role_names(["master", "data_hot"], version) == ["data_hot", "master"]
    assert ELASTICSEARCH.lineage.initial_nodes_setting(version) == "cluster.initial_master_nodes"


@pytest.mark.parametrize(
    ("number", "major"),
    [("7172899", 7), ("8110099", 8), ("8537000", 8), ("9039001", 9), ("", None), ("8.19.4", None), ("9" * 11, None)],
)
def test_the_number_of_a_version_says_its_major_version(number: str, major: int | None) -> None:
    assert ELASTICSEARCH.lineage.numbering.major(number) == major


@pytest.mark.parametrize(("number", "major"), [("135249827", 1), ("136408327", 2), ("137257827", 3), ("7100299", 1)])
def test_opensearch_marks_its_numbers_and_counts_others_as_its_first(number: str, major: int) -> None:
    assert OPENSEARCH.lineage.numbering.major(number) == major

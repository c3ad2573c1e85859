"""Roles that a version does not have, and managers that no pool needs, are reported."""

import pytest

from stateward.api.validation import validate
from stateward.api.values.problem import Problem, Severity
from tests.unit.api.documents import cluster
from tests.unit.api.findings import only, pool


class TestRoles:
    def roles(self, version: str, *roles: str) -> list[Problem]:
        managers = pool("m", roles=["master"] if version.startswith("1.") else ["cluster_manager"])
        of = cluster(version=version, pools=[managers, pool("d", roles=["data"]), pool("x", 0, roles=list(roles))])
        return [problem for problem in validate(of) if problem.path != "spec.version"]

    @pytest.mark.parametrize(
        ("version", "role"),
        [("1.3.20", "data"), ("2.17.1", "search"), ("2.19.5", "ml"), ("3.4.0", "warm"), ("3.4.0", "search")],
    )
    def test_roles_of_the_version_are_right(self, version: str, role: str) -> None:
        assert self.roles(version, role) == []

    @pytest.mark.parametrize(
        ("version", "role", "words"),
        [
            ("2.3.0", "search", "since 2.4.0)"),
            ("2.19.5", "warm", "since 3.0.0); use search"),
            ("2.0.1", "ml", "since 2.1.0)"),
            ("2.19.5", "cluster-manager", "did you mean cluster_manager?"),
            ("2.19.5", "Data", "did you mean data?"),
            ("1.3.20", "coordinating", "does not start with other roles"),
        ],
    )
    def test_a_role_that_the_version_does_not_have_is_refused(self, version: str, role: str, words: str) -> None:
        (problem,) = self.roles(version, role)
        assert problem.path == "spec.pools[2].roles[0]"
        assert words in problem.message
        assert problem.severity is Severity.ERROR

    def test_a_role_of_a_plug_in_is_only_a_warning_where_nodes_start_with_it(self) -> None:
        (problem,) = self.roles("2.19.5", "geo_tiles")
        assert problem.severity is Severity.WARNING

    @pytest.mark.parametrize("version", ["1.3.20", "2.19.5", "3.4.0"])
    @pytest.mark.parametrize("role", ["master", "cluster_manager"])
    def test_both_names_of_the_manager_role_go_with_every_version(self, version: str, role: str) -> None:
        assert self.roles(version, role) == []

    def test_both_names_at_once_are_only_a_warning(self) -> None:
        (problem,) = self.roles("2.19.5", "master", "cluster_manager")
        assert (problem.path, problem.severity) == ("spec.pools[2].roles", Severity.WARNING)

    def test_search_nodes_do_nothing_else_since_3(self) -> None:
        assert [p.path for p in self.roles("3.4.0", "search", "data")] == ["spec.pools[2].roles"]


class TestManagers:
    def test_a_cluster_without_managers_is_refused(self) -> None:
        assert "at least one pool must have the role" in only(cluster(pools=[pool(roles=["data"])]))[1]

    def test_a_cluster_with_no_manager_left_is_refused(self) -> None:
        pools = [pool("m", 0, roles=["cluster_manager"]), pool("d", roles=["data"])]
        assert "at least one member must be a cluster manager" in only(cluster(pools=pools))[1]

    @pytest.mark.parametrize(("count", "words"), [(1, "single"), (2, "even"), (4, "even")])
    def test_a_useless_number_of_managers_is_a_warning(self, count: int, words: str) -> None:
        path, message = only(cluster(pools=[pool(replicas=count)]), Severity.WARNING)
        assert path == "spec.pools"
        assert words in message

    def test_managers_of_all_pools_count(self) -> None:
        assert validate(cluster(pools=[pool("a", 2), pool("b", 1)])) == []

    def test_a_cluster_without_data_nodes_is_a_warning(self) -> None:
        path, message = only(cluster(pools=[pool(roles=["cluster_manager"])]), Severity.WARNING)
        assert "no member has the role data" in message
        assert path == "spec.pools"

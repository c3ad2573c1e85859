"""The numbers of members by which the simulation judges: also of pools that leave them to the default."""

from stateward.simulation.properties.pool_sizes import with_sizes


def test_a_pool_without_a_number_has_the_default_of_its_class() -> None:
    pools = [
        {"name": "storage", "processClass": "storage", "storage": {"size": "2Gi"}},
        {"name": "log", "processClass": "log", "replicas": 7, "storage": {"size": "2Gi"}},
    ]
    found = with_sizes({"spec": {"version": "7.1.57", "pools": pools}})["pools"]
    assert [pool["replicas"] for pool in found] == [3, 7]
    assert "replicas" not in pools[0]


def test_a_pool_that_scales_has_the_number_of_the_status_within_its_limits() -> None:
    pool = {"name": "hot", "replicas": 2, "scaling": {"min": 1, "max": 4}}
    status = {"pools": [{"name": "hot", "scaling": {"replicas": 6}}]}
    assert with_sizes({"spec": {"pools": [pool]}, "status": status})["pools"][0]["replicas"] == 4

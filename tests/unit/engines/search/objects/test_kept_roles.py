"""What a member keeps for its life, whatever roles its pool asks for: data, a vote, and whether it can be elected."""

import base64

import msgspec
import pytest
import yaml

from stateward.api.kinds.search import ElasticsearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.engines.elasticsearch import ELASTICSEARCH
from stateward.engines.search.objects.inputs import EFFECTS, inputs
from stateward.engines.search.objects.member import member_objects
from stateward.engines.search.spec.pools import KINDS, RETAINED, VOTES_ONLY, find
from stateward.planning.model.observation import Effect
from tests.unit.engines.search_clusters import cluster, with_pool


@pytest.mark.parametrize(
    ("made", "asks", "roles"),
    [
        ({"roles": ["data", "ingest"]}, {"roles": ["ingest"]}, ["data", "ingest"]),
        ({"roles": ["data"]}, {"roles": []}, ["data"]),
        ({"roles": ["data"]}, {"roles": [], "storage": None}, ["data"]),
        ({"roles": ["data"]}, {"roles": ["cluster_manager", "data"]}, ["data"]),
        ({"roles": ["cluster_manager"]}, {"roles": ["data", "ingest"]}, ["cluster_manager", "ingest"]),
        ({"roles": ["ingest"]}, {"roles": ["data", "ingest"]}, ["ingest"]),
        ({"roles": None}, {"roles": ["ingest"]}, ["cluster_manager", "data", "ingest"]),
        ({"roles": ["data"]}, {"roles": None}, ["data", "ingest", "remote_cluster_client"]),
        ({"roles": ["data"]}, {"roles": ["data"], "storage": {"ephemeral": True}}, ["data"]),
        ({"roles": ["data"], "storage": {"ephemeral": True}}, {"roles": ["data"]}, ["data"]),
        ({"roles": ["data"], "storage": {"ephemeral": True}}, {"roles": ["data"], "storage": None}, ["data"]),
        ({"roles": ["ingest"], "storage": None}, {"roles": ["data"], "storage": None}, []),
        ({"roles": ["data", "voting_only"]}, {"roles": ["data", "voting_only"]}, ["data", "voting_only"]),
        ({"roles": ["data"]}, {"roles": ["cluster_manager", "data", "voting_only"]}, ["data"]),
    ],
)
def test_an_existing_member_keeps_what_its_volume_may_hold_whatever_the_spec_asks_for(
    made: Json, asks: Json, roles: list[str]
) -> None:
    """Otherwise a restart of all members together starts nodes that refuse their data, or leaves the data behind."""
    flavor = opensearch.OPENSEARCH
    before = find(flavor, cluster(with_pool("hot", **made)), "hot")
    after = cluster(with_pool("hot", **asks))
    keeps = {name: value for name, value in inputs(before, "2.19.5").items() if name in RETAINED}
    found = member_objects(flavor, after, "hot", 0, "2.19.5", keeps=keeps)
    settings = yaml.safe_load(base64.b64decode(found.config["data"]["opensearch.yml"]))
    assert settings["node.roles"] == roles
    template = found.workload["spec"]["template"]
    assert template["metadata"]["labels"][names.LABEL_ROLES] == before.role_label
    data = next(volume for volume in template["spec"]["volumes"] if volume["name"] == "data")
    assert ("emptyDir" in data) is before.storage.ephemeral
    wanted = inputs(find(flavor, after, "hot"), "2.19.5")
    written = {name: value for name, value in wanted.items() if name not in RETAINED} | keeps
    assert inputs(find(flavor, after, "hot", keeps=keeps), "2.19.5") == written


@pytest.mark.parametrize("roles", [["data"], ["cluster_manager"], ["cluster_manager", "data"]])
def test_a_member_that_is_made_again_on_its_volume_keeps_the_same_as_while_its_objects_were_there(
    roles: list[str],
) -> None:
    pool = find(opensearch.OPENSEARCH, cluster(with_pool("hot", roles=roles)), "hot")
    held = frozenset(role for role, there in (("data", pool.data), ("voting", pool.voting)) if there)
    assert KINDS[held] == {name: value for name, value in inputs(pool, "2.19.5").items() if name in RETAINED}


def elasticsearch(roles: list[str]) -> ElasticsearchCluster:
    spec = {"version": "8.19.4", "pools": [{"name": "masters", "replicas": 3, "roles": roles}]}
    return msgspec.convert({"metadata": {"name": "logs", "uid": "u-1"}, "spec": spec}, ElasticsearchCluster)


@pytest.mark.parametrize("data", [(), ("data",)])
@pytest.mark.parametrize("only", [False, True])
def test_an_existing_master_stays_one_that_can_be_elected_or_only_votes(*, only: bool, data: tuple[str, ...]) -> None:
    """The disaster this prevents: masters change in place, one crashes, and none is left that can be elected."""
    can, cannot = ["master", *data], ["master", "voting_only", *data]
    made, asks = (cannot, can) if only else (can, cannot)
    flavor = ELASTICSEARCH
    before, after = find(flavor, elasticsearch(made), "masters"), elasticsearch(asks)
    keeps = {name: value for name, value in inputs(before, "8.19.4").items() if name in RETAINED}
    found = member_objects(flavor, after, "masters", 0, "8.19.4", keeps=keeps)
    settings = yaml.safe_load(base64.b64decode(found.config["data"]["elasticsearch.yml"]))
    assert sorted(settings["node.roles"]) == sorted(made)
    labels = found.workload["spec"]["template"]["metadata"]["labels"]
    assert (names.LABEL_VOTING_ONLY in labels) is only
    pool = find(flavor, after, "masters", keeps=keeps)
    changed = {
        name for name, _ in inputs(pool, "8.19.4").items() ^ inputs(find(flavor, after, "masters"), "8.19.4").items()
    }
    assert changed == {VOTES_ONLY}
    assert EFFECTS[VOTES_ONLY] is Effect.REPLACE
    held = {"voting", *data} | ({"voting_only"} if only else set[str]())
    assert KINDS[frozenset(held)] == keeps

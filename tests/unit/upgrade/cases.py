"""The clusters whose objects are frozen: every engine, plain and secured, with and without agents."""

from msgspec import Struct

from stateward.api.values.base import Json


class Case(Struct, frozen=True):
    """One cluster."""

    engine: str
    spec: Json
    agents: bool = False


def _search(version: str, manager: str, *, secured: bool, **more: object) -> Json:
    pools = [
        {"name": "managers", "replicas": 3, "roles": [manager], "storage": {"size": "1Gi"}},
        {
            "name": "hot",
            "replicas": 2,
            "roles": ["data", "ingest"],
            "storage": {"size": "5Gi"},
            "resources": {"limits": {"memory": "2Gi"}, "requests": {"cpu": "500m"}},
            "config": {"node.attr.tier": "hot"},
        },
    ]
    return {"version": version, "pools": pools, "security": {"enabled": secured}, **more}


def _foundationdb(*, secured: bool) -> Json:
    kinds = (("storage", 4), ("log", 3), ("stateless", 2))
    pools = [
        {"name": name, "processClass": name, "replicas": count, "storage": {"size": "4Gi"}} for name, count in kinds
    ]
    return {"version": "7.1.67", "pools": pools, "security": {"enabled": secured}}


_TEMPLATE: Json = {
    "metadata": {"labels": {"team": "data"}},
    "spec": {
        "priorityClassName": "system-cluster-critical",
        "containers": [{"name": "opensearch", "env": [{"name": "TZ", "value": "UTC"}]}],
        "tolerations": [{"key": "db", "operator": "Exists"}],
    },
}

CASES = {
    f"{engine}-{'secured' if secured else 'plain'}{'-agent' if agents else ''}": Case(engine, spec, agents)
    for engine, version, manager in (
        ("opensearch", "2.17.1", "cluster_manager"),
        ("elasticsearch", "8.18.8", "master"),
        ("foundationdb", "", ""),
    )
    for secured in (False, True)
    for agents in (False, True)
    for spec in (
        [_foundationdb(secured=secured)] if engine == "foundationdb" else [_search(version, manager, secured=secured)]
    )
} | {
    "opensearch-customised-agent": Case(
        "opensearch",
        _search(
            "2.17.1", "cluster_manager", secured=False, podTemplate=_TEMPLATE, config={"action.auto_create_index": True}
        ),
        agents=True,
    ),
}

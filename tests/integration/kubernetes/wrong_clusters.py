"""Clusters that the API server refuses, and what its refusal says."""

from typing import Any

from stateward.api.values.images import MALFORMED
from tests.unit.api.documents import Document, document, elasticsearch, foundationdb


def pool(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "all", "replicas": 3, **fields}]


def many(pools: int) -> list[dict[str, Any]]:
    return [{"name": f"hot-{number}", "replicas": 300, "roles": ["data"]} for number in range(pools)]


def scaling(measure: str, above: int, below: int) -> dict[str, Any]:
    return {"min": 2, "max": 9, "rules": [{"measure": measure, "above": above, "below": below}]}


CASES: dict[str, Document] = {
    "metadata.name": document(name="1logs"),
    "spec.pools: names": document(name="c" * 40, pools=pool(name="hot-data")),
    "spec.pools: no manager": document(pools=pool(roles=["data"])),
    "spec.pools: managers of 0": document(pools=pool(replicas=0)),
    "spec.pools: members": document(pools=[*pool(replicas=500), *many(2)]),
    "spec.pools: most members": document(pools=[*pool(scaling={"min": 2, "max": 500}), *many(2)]),
    "spec.pools: members of FoundationDB": foundationdb(
        pools=[{"name": kind, "processClass": kind, "replicas": 400} for kind in ("storage", "log", "stateless")]
    ),
    "spec.image: no tag": document(image="registry.example:5000/opensearch"),
    "spec.image: other tag": document(image="registry.example:5000/opensearch:2.19.4"),
    "spec.image: space": document(image="registry.example/open search:2.19.5"),
    "spec.image: empty part": elasticsearch(image="registry.example//elasticsearch:8.19.4"),
    "spec.image: digest": foundationdb(image="registry.example/fdb:7.1.67@sha256:0123"),
    "spec.dashboards.image": document(dashboards={"image": "registry.example/osd:2.19.5 "}),
    "spec.pluginSource.image": document(
        plugins=[{"name": "mapper-size"}], pluginSource={"image": "registry.example/:{version}"}
    ),
    "spec.version": document(version="2.19"),
    "spec.pools[0].name": document(pools=pool(name="Hot")),
    "spec.pools[0].storage.size: form": document(pools=pool(storage={"size": "20GB"})),
    "spec.pools[0].storage.size: zero": document(pools=pool(storage={"size": "0Gi"})),
    "spec.pools[0].storage.grow": document(pools=pool(storage={"ephemeral": True, "grow": {"max": "1Ti"}})),
    "spec.pools[0].storage.grow.max: below size": document(pools=pool(storage={"size": "2Ti", "grow": {"max": "1Ti"}})),
    "spec.pools[0].storage.grow.max: default size": document(pools=pool(storage={"grow": {"max": "5Gi"}})),
    "spec.pools[0].storage.grow.when": document(pools=pool(storage={"grow": {"max": "1Ti", "when": "85%"}})),
    "spec.pools[0].storage.storageClass": document(pools=pool(storage={"ephemeral": True, "storageClass": "fast"})),
    "spec.pools[0].scaling.min": document(pools=pool(scaling={"min": 5, "max": 4})),
    "spec.pools[0].scaling.rules[0].below": document(pools=pool(scaling=scaling("Shards", 500, 500))),
    "spec.pools[0].scaling.rules[0].above": document(pools=pool(scaling=scaling("Disk", 85, 50))),
    "spec.update.maxUnavailable: number": document(update={"maxUnavailable": 0}),
    "spec.update.maxUnavailable: percentage": document(update={"maxUnavailable": "120%"}),
    "spec.update.order": document(update={"order": ["hot", "hot"]}),
    "spec.security.enabled": document(security={"enabled": False, "caSecretName": "ours"}),
    "spec.security.certificateLifetime": document(security={"certificateLifetime": "4m"}),
    "spec.security.http": document(security={"caSecretName": "ours", "http": {"secretName": "ours"}}),
    "spec.pluginSource: no plugins": document(pluginSource={"claimName": "plugins"}),
    "spec.pluginSource: two": document(
        plugins=[{"name": "mapper-size"}], pluginSource={"claimName": "plugins", "url": "https://mirror.example"}
    ),
    "spec.routes.parentRefs": document(
        routes={"hosts": ["a.example"], "ingressClassName": "nginx", "parentRefs": [{"name": "public"}]}
    ),
    "spec.remoteClusters: itself": document(remoteClusters=[{"name": "east", "cluster": {"name": "logs"}}]),
    "spec.remoteClusters: alias": document(remoteClusters=[{"name": "a.b", "cluster": {"name": "other"}}]),
    "spec.remoteClusters: word": document(remoteClusters=[{"name": "node", "cluster": {"name": "other"}}]),
    "spec.remoteAccess: itself": document(remoteAccess={"from": [{"name": "logs"}]}),
    "spec.dashboards.routes.hosts": document(dashboards={"routes": {"hosts": ["*.example.com"]}}),
    "spec.dashboards.config": document(dashboards={"config": {"opensearch.hosts": ["http://elsewhere"]}}),
    "metadata.name: Elasticsearch": elasticsearch(name="1logs"),
    "spec.pools: no master": elasticsearch(pools=pool(roles=["data"])),
    "spec.version: 7.16": elasticsearch(version="7.16.3"),
    "spec.version: 10": elasticsearch(version="10.0.0"),
    "spec.image: no tag of Elasticsearch": elasticsearch(image="registry.example:5000/elasticsearch"),
    "metadata.name: FoundationDB": foundationdb(name="1ledger"),
    "spec.version: 6.3": foundationdb(version="6.3.25"),
    "spec.pools: no log": foundationdb(pools=[{"name": "storage", "processClass": "storage"}]),
    "spec.update.maxUnavailable: FoundationDB": foundationdb(update={"maxUnavailable": 2}),
    "spec.update.minLiveCopies: FoundationDB": foundationdb(update={"minLiveCopies": 2}),
    "spec.update.singleCopy: FoundationDB": foundationdb(update={"singleCopy": "Wait"}),
    "spec.image: other tag of Elasticsearch": elasticsearch(image="registry.example:5000/elasticsearch:8.19.40"),
}
MESSAGES = {
    "metadata.name": "1logs: the name must be lower-case letters",
    "spec.pools: names": "may have 46 characters together",
    "spec.pools: no manager": "at least one pool must have the role cluster_manager",
    "spec.pools: managers of 0": "at least one member must be a cluster manager",
    "spec.pools: members": "all pools together may have 1000 members",
    "spec.pools: most members": "all pools together may have 1000 members",
    "spec.pools: members of FoundationDB": "all pools together may have 1000 members",
    "spec.image: no tag": "registry.example:5000/opensearch: must name a tag or a digest",
    "spec.image: other tag": "opensearch:2.19.4: the tag must have spec.version in it",
    "spec.image: space": f"registry.example/open search:2.19.5: {MALFORMED}",
    "spec.image: empty part": f"registry.example//elasticsearch:8.19.4: {MALFORMED}",
    "spec.image: digest": f"registry.example/fdb:7.1.67@sha256:0123: {MALFORMED}",
    "spec.dashboards.image": f"registry.example/osd:2.19.5 : {MALFORMED}",
    "spec.pluginSource.image": f"registry.example/:{{version}}: {MALFORMED}",
    "spec.version": "2.19: must be three numbers",
    "spec.pools[0].name": "Hot: must be lower-case letters",
    "spec.pools[0].storage.size: form": "20GB: must be a quantity of bytes",
    "spec.pools[0].storage.size: zero": "0Gi: must be more than 0",
    "spec.pools[0].storage.grow": "ephemeral storage cannot grow",
    "spec.pools[0].storage.grow.max: below size": "1Ti: must be at least storage.size",
    "spec.pools[0].storage.grow.max: default size": "5Gi: must be at least storage.size",
    "spec.pools[0].storage.grow.when": "85%: must be a percentage from 10% to 84%",
    "spec.pools[0].storage.storageClass": "fast: ephemeral storage has no storage class",
    "spec.pools[0].scaling.min": "must not be more than max",
    "spec.pools[0].scaling.rules[0].below": "must be less than above",
    "spec.pools[0].scaling.rules[0].above": "must be at most 84 for Disk and 100 for CPU, in percent",
    "spec.update.maxUnavailable: number": "0: must be a number of members",
    "spec.update.maxUnavailable: percentage": "120%: must be a number of members",
    "spec.update.order": "hot, hot: must name each pool once",
    "spec.security.enabled": "security is switched off: leave caSecretName",
    "spec.security.certificateLifetime": "4m: must be 5m or longer",
    "spec.security.http": "must be another Secret than caSecretName",
    "spec.pluginSource: no plugins": "needs plugins: list what to install",
    "spec.pluginSource: two": "must have one of url, image and claimName",
    "spec.routes.parentRefs": "are for an HTTPRoute, and ingressClassName and tlsSecretName are for an Ingress",
    "spec.remoteClusters: itself": "must name another cluster than this one",
    "spec.remoteClusters: alias": "a.b: must be letters, digits, dashes and underscores",
    "spec.remoteClusters: word": "node: must be another word: the database has a setting of this name",
    "spec.remoteAccess: itself": "must name another cluster than this one",
    "spec.dashboards.routes.hosts": "*.example.com: must be a host name in lower case",
    "spec.dashboards.config": "opensearch.hosts cannot be set: Stateward connects the dashboards to the database",
    "metadata.name: Elasticsearch": "1logs: the name must be lower-case letters",
    "spec.pools: no master": "at least one pool must have the role master",
    "spec.version: 7.16": "7.16.3: must be 7.17.0 or later",
    "spec.version: 10": "10.0.0: must be 7.17.0 or later",
    "spec.image: no tag of Elasticsearch": "must name a tag or a digest, for example docker.elastic.co",
    "metadata.name: FoundationDB": "1ledger: the name must be lower-case letters",
    "spec.version: 6.3": "6.3.25: must be 7.1.0 or later",
    "spec.pools: no log": "one pool must have the class storage, and one the class log",
    "spec.update.maxUnavailable: FoundationDB": "must be 1: members change one at a time",
    "spec.update.minLiveCopies: FoundationDB": "must be 1: members change one at a time",
    "spec.update.singleCopy: FoundationDB": "must be Move, or left out: members change one at a time",
    "spec.image: other tag of Elasticsearch": "the tag must have spec.version in it, for example 8.19.4",
}

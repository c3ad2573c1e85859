"""Every field that is accepted is obeyed, or refused with its reason.

Each is changed on a settled cluster, and what follows is what the table of the docs says. Fields come from the schema,
so that none is forgotten.
"""

import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from stateward import pki, planning
from stateward.api.schema.crd import root_schema
from stateward.api.schema.custom_resources import CLUSTER_KINDS, ELASTICSEARCH, FOUNDATIONDB, KINDS, OPENSEARCH, Kind
from stateward.api.schema.living import TABLES, Does, leaves, paths
from stateward.api.values.base import Json
from stateward.planning.model.observation import Desired, Pool, Replacement
from tests.unit.operator.measured import SettledCluster

FAST = {"limits": {"memory": "2Gi"}, "requests": {"memory": "2Gi"}}


def pool(name: str, **more: Any) -> Json:
    return {"name": name, "replicas": 3, "storage": {"size": "20Gi"}, "resources": deepcopy(FAST), **more}


def search(version: str, manager: str) -> Json:
    data = pool("hot", roles=["data", "ingest"])
    return {"version": version, "pools": [data, pool("managers", roles=[manager]), pool("gateway", roles=[])]}


BASES: dict[str, Json] = {
    OPENSEARCH.name: search("2.17.1", "cluster_manager"),
    ELASTICSEARCH.name: search("8.17.0", "master"),
    FOUNDATIONDB.name: {
        "version": "7.1.67",
        "pools": [
            pool("hot", processClass="stateless"),
            pool("storage", processClass="storage", replicas=5),
            pool("log", processClass="log", replicas=5),
        ],
    },
}
"""Clusters that are settled; the first pool is the one that is changed."""

NAMED = ["c-hot-0"]
POD = {"terminationGracePeriodSeconds": 333}
SECURITY = {"enabled": True}
PLUGIN: Json = {"name": "analysis-icu"}
GATE = {"repository": "backups"}
BEGINS = {"repository": "backups", "snapshot": "nightly-*"}
STORE = {"secretName": "one", "entries": [{"key": "word", "setting": "s3.client.default.access_key"}]}
JOB = {"replacement": {"enabled": True}}
TOLERATES = {"replacement": {"enabled": True, "detection": {"tolerations": [{"key": "slow"}]}}}


def callers(**peer: Any) -> Json:
    return {"networkPolicy": {"clients": [peer]}}


MATCHING = {"key": "app", "operator": "In", "values": ["web"]}
NETWORK: dict[str, tuple[Any, Json]] = {
    f"{selector}.{field}": (value, callers(**{selector: {"matchExpressions": [MATCHING]}}))
    for selector in ("podSelector", "namespaceSelector")
    for field, value in {
        "matchLabels": {"team": "a"},
        "matchExpressions[].key": "team",
        "matchExpressions[].operator": "NotIn",
        "matchExpressions[].values": ["shop"],
    }.items()
} | {
    "ipBlock.cidr": ("10.1.0.0/16", callers(ipBlock={"cidr": "10.0.0.0/8"})),
    "ipBlock.except": (["10.1.0.0/16"], callers(ipBlock={"cidr": "10.0.0.0/8"})),
}

ONE: Json = {"dashboards": {}}
MEASURED: Json = {"metrics": {}}
ENTRY: Json = {"remoteClusters": [{"name": "west", "cluster": {"name": "logs"}}]}
GUESTS: Json = {"remoteAccess": {"from": [{"name": "logs"}]}, "security": {"enabled": True}}
HOSTS: Json = {"hosts": ["logs.example.com"]}
PARENTS: Json = {**HOSTS, "parentRefs": [{"name": "public"}]}
ROUTES: dict[str, tuple[Any, Json]] = {
    "hosts": (["other.example.com"], HOSTS),
    "ingressClassName": ("nginx", HOSTS),
    "tlsSecretName": ("certificate", HOSTS),
    "parentRefs[].name": ("private", PARENTS),
    "parentRefs[].namespace": ("edge", PARENTS),
    "parentRefs[].sectionName": ("https", PARENTS),
}

RULE = {"measure": "CPU", "above": 70, "below": 40}
SCALES: Json = {
    "pools": [
        pool("hot", roles=["data", "ingest"], scaling={"min": 2, "max": 9, "rules": [RULE]}),
        pool("managers", roles=["master"]),
    ]
}

SAMPLES: dict[str, tuple[Any, Json]] = {
    "pools[].scaling.min": (5, SCALES),
    "pools[].scaling.max": (2, SCALES),
    "pools[].scaling.rules[].measure": ("Shards", SCALES),
    "pools[].scaling.rules[].above": (60, SCALES),
    "pools[].scaling.rules[].below": (30, SCALES),
    "pools[].scaling.growAfter": ("5m", SCALES),
    "pools[].scaling.shrinkAfter": ("2h", SCALES),
    "dashboards.config": ({"logging.verbose": True}, ONE),
    "dashboards.resources.requests": ({"cpu": "1"}, ONE),
    "dashboards.resources.limits": ({"memory": "3Gi"}, ONE),
    "dashboards.resources.claims": ([{"name": "gpu"}], ONE),
    "dashboards.podTemplate.spec": (POD, ONE),
    "dashboards.service.spec": ({"sessionAffinity": "ClientIP"}, ONE),
    "dashboards.tls.secretName": ("server", {"dashboards": {}, "security": SECURITY}),
    "dashboards.rotateCredentialsAfter": ("30d", ONE),
    "metrics.resources.requests": ({"cpu": "1"}, MEASURED),
    "metrics.resources.limits": ({"memory": "3Gi"}, MEASURED),
    "metrics.resources.claims": ([{"name": "gpu"}], MEASURED),
    "metrics.podTemplate.spec": (POD, MEASURED),
    "metrics.rotateCredentialsAfter": ("30d", MEASURED),
    "remoteClusters[].name": ("east", ENTRY),
    "remoteClusters[].cluster.name": ("other", ENTRY),
    "remoteClusters[].cluster.namespace": ("elsewhere", ENTRY),
    "remoteClusters[].skipUnavailable": (False, ENTRY),
    "remoteAccess.from[].name": ("other", GUESTS),
    "remoteAccess.from[].namespace": ("elsewhere", GUESTS),
    **{f"routes.{field}": (value, {"routes": besides}) for field, (value, besides) in ROUTES.items()},
    **{
        f"dashboards.routes.{field}": (value, {"dashboards": {"routes": besides}})
        for field, (value, besides) in ROUTES.items()
    },
    "version": (None, {}),
    "image": (None, {}),
    "podTemplate.spec": (POD, {}),
    "pools[].podTemplate.spec": (POD, {}),
    "update.maxUnavailable": (2, {}),
    "update.order": (["hot"], {}),
    "replacement.after": ("45m", {}),
    "update.waitBetweenRemovals": ("90s", {}),
    "replacement.onTaints[].key": ("broken", {"replacement": {"onTaints": [{"key": "slow"}]}}),
    "replacement.onTaints[].after": ("45m", {"replacement": {"onTaints": [{"key": "slow"}]}}),
    "replacement.detection.schedule": ("* * * * *", JOB),
    "replacement.detection.suspend": (True, JOB),
    "replacement.detection.resources.requests": ({"cpu": "70m"}, JOB),
    "replacement.detection.resources.limits": ({"memory": "1Gi"}, JOB),
    "replacement.detection.nodeSelector": ({"disk": "fast"}, JOB),
    "replacement.detection.tolerations[].key": ("fast", TOLERATES),
    "replacement.detection.tolerations[].operator": ("Exists", TOLERATES),
    "replacement.detection.tolerations[].value": ("b", TOLERATES),
    "replacement.detection.tolerations[].effect": ("NoExecute", TOLERATES),
    "replacement.detection.tolerations[].tolerationSeconds": (7, TOLERATES),
    "replacement.detection.labels": ({"team": "a"}, JOB),
    "replacement.detection.annotations": ({"team": "a"}, JOB),
    **{f"networkPolicy.clients[].{field}": sample for field, sample in NETWORK.items()},
    "members.replace": (NAMED, {}),
    "members.replaceWithoutDraining": (NAMED, {}),
    "members.acceptDataLoss": (NAMED, {}),
    "members.keep": (NAMED, {}),
    "pools[].name": ("warm", {}),
    "pools[].replicas": (6, {}),
    "pools[].roles": (["data"], {}),
    "pools[].storage.size": ("40Gi", {}),
    "pools[].storage.storageClass": ("fast", {}),
    "pools[].resources.requests": ({"cpu": "1", "memory": "2Gi"}, {}),
    "pools[].resources.limits": ({"memory": "3Gi"}, {}),
    "pools[].resources.claims": ([{"name": "gpu"}], {}),
    "config": ({"indices.breaker": "1"}, {}),
    "pools[].config": ({"indices.breaker": "1"}, {}),
    "service.spec": ({"sessionAffinity": "ClientIP"}, {}),
    "security.caSecretName": ("ca", {"security": SECURITY}),
    "security.adminSecretName": ("person", {"security": SECURITY}),
    "security.certificateLifetime": ("30d", {"security": SECURITY}),
    "security.http.secretName": ("server", {"security": SECURITY}),
    "plugins[].name": ("mapper-size", {"plugins": [PLUGIN]}),
    "plugins[].file": ("icu.zip", {"plugins": [PLUGIN]}),
    "pluginSource.url": ("https://other.example", {"plugins": [PLUGIN], "pluginSource": {"url": "https://a.example"}}),
    "pluginSource.image": ("b:1", {"plugins": [PLUGIN], "pluginSource": {"image": "a:1"}}),
    "pluginSource.claimName": ("other", {"plugins": [PLUGIN], "pluginSource": {"claimName": "one"}}),
    "update.snapshotBeforeUpgrade.repository": ("others", {"update": {"snapshotBeforeUpgrade": GATE}}),
    "update.snapshotBeforeUpgrade.maxAge": ("12h", {"update": {"snapshotBeforeUpgrade": GATE}}),
    "bootstrap.fromSnapshot.repository": ("others", {"bootstrap": {"fromSnapshot": BEGINS}}),
    "bootstrap.fromSnapshot.snapshot": ("weekly-*", {"bootstrap": {"fromSnapshot": BEGINS}}),
    "bootstrap.fromSnapshot.indices": (["logs-*"], {"bootstrap": {"fromSnapshot": BEGINS}}),
    "secureSettings[].secretName": ("two", {"secureSettings": [STORE]}),
    "secureSettings[].entries[].key": ("other", {"secureSettings": [STORE]}),
    "secureSettings[].entries[].setting": ("s3.client.default.secret_key", {"secureSettings": [STORE]}),
    "knobs": ({"min_trace_severity": "20"}, {}),
    "pools[].knobs": ({"min_trace_severity": "20"}, {}),
    "pools[].processesPerMember": (2, {}),
}
"""By path: the new value, and what the spec has besides. Switches, words, numbers and labels need none."""


def classed(kind: str) -> Json:
    """Return the pools of a kind with a storage class in the first one."""
    first, *others = BASES[kind]["pools"]
    return {"pools": [{**first, "storage": {"size": "20Gi", "storageClass": "standard"}}, *others]}


def growing(kind: str) -> Json:
    """Return the pools of a kind, of which the volumes of the first one grow."""
    first, *others = BASES[kind]["pools"]
    return {"pools": [{**first, "storage": {"size": "20Gi", "grow": {"max": "100Gi"}}}, *others]}


NEWER = {OPENSEARCH.name: "2.19.5", ELASTICSEARCH.name: "8.19.4", FOUNDATIONDB.name: "7.1.68"}
PER_KIND: dict[tuple[str, str], tuple[Any, Json]] = {
    **{(kind, "version"): (version, {}) for kind, version in NEWER.items()},
    **{(kind, "image"): (f"ours/it:{BASES[kind]['version']}", {}) for kind in BASES},
    (OPENSEARCH.name, "dashboards.version"): ("2.17.0", {}),
    (ELASTICSEARCH.name, "dashboards.version"): ("8.16.0", {}),
    **{(kind, "dashboards.image"): (f"ours/it:{BASES[kind]['version']}", ONE) for kind in BASES},
    **{(kind, "pools[].storage.storageClass"): ("fast", classed(kind)) for kind in BASES},
    **{
        (kind, f"pools[].storage.grow.{field}"): (value, growing(kind))
        for kind in BASES
        for field, value in {"max": "200Gi", "when": "70%", "by": "50%"}.items()
    },
    (ELASTICSEARCH.name, "pools[].roles"): (["data", "ml"], {}),
}


def sample(kind: Kind, path: str, schema: Json) -> tuple[Any, Json]:
    """Return the new value of a field, and what the spec has besides."""
    found = PER_KIND.get((kind.name, path)) or SAMPLES.get(path)
    if found is not None:
        return found
    if schema.get("type") == "boolean":
        return True, {}
    if "enum" in schema:
        return other(path, schema["enum"]), {}
    if schema.get("type") == "integer":
        return max(2, schema.get("minimum", 0) + 1), {}
    if path.rpartition(".")[2] in {"labels", "annotations"}:
        return {"team": "a"}, {}
    raise AssertionError(
        f"{kind.name} has a new field {path}: give it a value in SAMPLES, and a line in api/schema/living"
    )


DEFAULTS = {
    "redundancy": "double",
    "storageEngine": "ssd-2",
    "faultDomain": "Node",
    "pools[].processClass": "stateless",
    "service.type": "ClusterIP",
    "dashboards.service.type": "ClusterIP",
    "update.singleCopy": "Move",
    "update.inPlace": "Preferred",
    "volumes.whenDeleted": "Retain",
    "volumes.whenScaled": "Retain",
    "volumes.whenShrunk": "Replace",
}


def other(path: str, known: list[str]) -> str:
    """Return a word that is not the default one."""
    return next(word for word in known if word != DEFAULTS.get(path, known[0]))


def put(spec: Json, path: str, value: Any) -> Json:
    """Return a copy of a spec with a field changed; of lists the first item."""
    changed = deepcopy(spec)
    holder: Any = changed
    *way, last = path.split(".")
    for part in way:
        name = part.removesuffix("[]")
        holder = holder.setdefault(name, [{}] if part.endswith("[]") else {})
        holder = cast("list[Any]", holder)[0] if part.endswith("[]") else holder
    holder[last] = value
    return changed


CASES = [
    pytest.param(kind, path, schema, id=f"{kind.singular}-{path}")
    for kind in CLUSTER_KINDS
    for path, schema in leaves(root_schema(kind)["properties"]["spec"], "")
]


def immutable(kind: Kind, path: str) -> bool:
    """Return whether the API server refuses every change of a field of an object that is there."""
    rules = root_schema(kind)["properties"]["spec"].get("x-kubernetes-validations", [])
    held = (rule.get("fieldPath", f".{path}") for rule in rules if "oldSelf" in rule["rule"])
    return any(f".{path}" == field or f".{path}".startswith(f"{field}.") for field in held)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.singular)
def test_the_table_has_every_field_of_the_schema_and_no_other(kind: Kind) -> None:
    assert sorted(TABLES[kind]) == sorted(paths(kind))


@pytest.mark.parametrize(("kind", "path", "schema"), CASES)
async def test_a_change_does_what_the_table_says(kind: Kind, path: str, schema: Json) -> None:
    value, besides = sample(kind, path, schema)
    before = {**deepcopy(BASES[kind.name]), **deepcopy(besides)}
    settled = await SettledCluster(kind).begin()
    await give(settled, besides)
    after = put(before, path, value)
    assert after != before
    found = Does.REFUSED if immutable(kind, path) else await settled.measure(before, after)
    says = TABLES[kind][path]
    assert found is says.does
    assert says.word or found is not Does.NOTHING, "what has no effect says when it has one"


BACK = {
    "version": Does.REFUSED,
    "pools[].storage.size": Does.REPLACE,
    "security.enabled": Does.NOTHING,
    "security.caSecretName": Does.NOTHING,
    "security.adminSecretName": Does.AT_ONCE,
    "members.replace": Does.AT_ONCE,
    "members.replaceWithoutDraining": Does.AT_ONCE,
}
"""The effect of the reverse change, if it differs: the text of the table says so."""
NEVER_SETTLED = {"update.paused"}
"""Fields with whose new value no cluster settles, so that there is nothing to change back."""


@pytest.mark.parametrize(("kind", "path", "schema"), CASES)
async def test_a_change_that_is_reverted_is_applied_as_well(kind: Kind, path: str, schema: Json) -> None:
    says = TABLES[kind][path]
    if path in NEVER_SETTLED or says.does is Does.REFUSED:
        return
    value, besides = sample(kind, path, schema)
    before = {**deepcopy(BASES[kind.name]), **deepcopy(besides)}
    settled = await SettledCluster(kind).begin()
    await give(settled, besides)
    assert await settled.measure(put(before, path, value), before) is BACK.get(path, says.does)


def test_what_should_be_is_read_by_the_planner() -> None:
    """A field that changes the desired state and that no code reads would have no effect."""
    text = "".join(path.read_text(encoding="utf-8") for path in Path(planning.__file__).parent.rglob("*.py"))
    for kind in (Desired, Pool, Replacement):
        for name in kind.__struct_fields__:
            assert re.search(rf"\.{name}\b", text), f"{kind.__name__}.{name} is never read"


async def give(settled: SettledCluster, besides: Json) -> None:
    """Make the Secrets that the security of a cluster may name."""
    for name, files in given(settled.clock.now().timestamp()).items() if "security" in besides else ():
        await settled.give(name, files)


@cache
def given(now: float) -> dict[str, dict[str, str]]:
    """Return the content of these Secrets, valid at a time."""
    authority = pki.new_authority("ours", now)
    signed = pki.issue(authority.signs, "c.data.svc", ("c.data.svc",), now, 90.0)
    return {
        "ca": {"tls.crt": authority.signs.certificate, "tls.key": authority.signs.key},
        "server": {"tls.crt": signed.certificate, "tls.key": signed.key, "ca.crt": authority.signs.certificate},
        "person": {"username": "ada", "password": "secret-enough"},
    }

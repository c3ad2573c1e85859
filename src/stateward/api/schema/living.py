"""The effect of a change of each field on an existing cluster or installation: a table, field by field.

`docs/reference/what-a-change-does.md` is generated from the table. A test changes every field of every kind on a
settled cluster and compares the effect with this table. So it finds an accepted field without an effect, and a new
field that is missing here.

Paths are those of the schema below `spec`, with `[]` for the items of a list.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from stateward.api.schema.crd import root_schema
from stateward.api.schema.custom_resources import (
    CLUSTER_PACKAGE,
    ELASTICSEARCH,
    FOUNDATIONDB,
    INSTALLATION,
    OPENSEARCH,
    PACKAGE,
    POOL_SCALE,
    SEARCH_OBJECT,
    SEARCH_RESTORE,
    SEARCH_SNAPSHOT,
    SEARCH_SNAPSHOT_SCHEDULE,
    SEARCH_USER,
    Kind,
)
from stateward.api.schema.effects import ACCESS, METRICS, POOL_SCALES, SCALING, Change, Does
from stateward.api.values.base import Json

_POLICY = Change(Does.AT_ONCE, "It applies to later decisions; no member is touched.")
_BY_NAME = Change(Does.AT_ONCE, "It takes effect in the next plan.")
_GROWTH = Change(Does.AT_ONCE, "It applies to later growth. Volumes that have grown stay as large, also without it.")
_LABELS = Change(Does.RECREATE)
_RESOURCES = Change(Does.RECREATE)
_SELECTOR = (
    "matchLabels",
    "matchExpressions[].key",
    "matchExpressions[].operator",
    "matchExpressions[].values",
)
_SECRET = Change(Does.RESTART, "In the pods, one member after the other.")
_PLUGIN_SOURCE = Change(Does.RECREATE, "So that a pod that waits for its plug-ins gets the corrected source.")

CLUSTER: Mapping[str, Change] = {
    "version": Change(Does.RECREATE, "In the order of the pools. A lower version, or one too far away, is refused."),
    "image": Change(Does.RECREATE),
    "podTemplate.metadata.labels": _LABELS,
    "podTemplate.metadata.annotations": _LABELS,
    "podTemplate.spec": Change(Does.RECREATE),
    "update.maxUnavailable": _POLICY,
    "update.paused": Change(Does.AT_ONCE, "Steps in progress continue to a safe state first."),
    "update.order": _POLICY,
    "update.minLiveCopies": _POLICY,
    "update.singleCopy": _POLICY,
    "update.surge": _POLICY,
    "update.waitBetweenRemovals": _POLICY,
    "update.inPlace": Change(
        Does.AT_ONCE, "Pods that are created later have an agent, or none; no pod is recreated for it."
    ),
    "volumes.whenDeleted": Change(Does.AT_ONCE, "It takes effect when the cluster is Ready again."),
    "volumes.whenScaled": Change(Does.AT_ONCE, "For members that leave later; volumes that were kept stay."),
    "volumes.whenShrunk": _POLICY,
    "replacement.enabled": _POLICY,
    "replacement.after": _POLICY,
    "replacement.maxConcurrent": _POLICY,
    "replacement.perZone": _POLICY,
    "replacement.onTaints[].key": _POLICY,
    "replacement.onTaints[].after": _POLICY,
    "replacement.maxFaultDomainsWithTaints": _POLICY,
    "replacement.detection.schedule": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.suspend": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.resources.requests": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.resources.limits": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.nodeSelector": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.tolerations[].key": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.tolerations[].operator": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.tolerations[].value": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.tolerations[].effect": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.tolerations[].tolerationSeconds": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.labels": Change(Does.AT_ONCE, "The CronJob changes."),
    "replacement.detection.annotations": Change(Does.AT_ONCE, "The CronJob changes."),
    "members.replace": Change(Does.REPLACE, "Of the members that are named."),
    "members.replaceWithoutDraining": Change(
        Does.REPLACE, "Of the members that are named; refused if the last copy of a shard would be lost."
    ),
    "members.acceptDataLoss": _BY_NAME,
    "members.keep": _BY_NAME,
    **{
        f"networkPolicy.clients[].{field}": Change(Does.AT_ONCE, "The NetworkPolicy changes; no member is touched.")
        for field in (
            *(f"podSelector.{field}" for field in _SELECTOR),
            *(f"namespaceSelector.{field}" for field in _SELECTOR),
            "ipBlock.cidr",
            "ipBlock.except",
        )
    },
    "pools[].name": Change(
        Does.MEMBERS, "A pool with the new name is created, data moves, and the pool with the old name is removed."
    ),
    "pools[].replicas": Change(Does.MEMBERS, "New members join; members that leave are drained first."),
    "pools[].storage.size": Change(
        Does.RELOAD,
        "A larger volume grows in place; a smaller one is a new member, but not one that `grow` has made larger.",
    ),
    "pools[].storage.grow.max": _GROWTH,
    "pools[].storage.grow.when": _GROWTH,
    "pools[].storage.grow.by": _GROWTH,
    "pools[].storage.storageClass": Change(Does.REPLACE, "Removing the field changes nothing: the volumes stay."),
    "pools[].storage.ephemeral": Change(Does.REPLACE),
    "pools[].resources.requests": _RESOURCES,
    "pools[].resources.limits": _RESOURCES,
    "pools[].resources.claims": _RESOURCES,
    "pools[].podTemplate.metadata.labels": _LABELS,
    "pools[].podTemplate.metadata.annotations": _LABELS,
    "pools[].podTemplate.spec": Change(Does.RECREATE),
}
"""Fields that all kinds of clusters have."""

_GATE = Change(Does.AT_ONCE, "For upgrades that have not begun.")
_BEGINS = Change(
    Does.REFUSED, "A cluster begins once. Without the field, the operator no longer waits for the restore."
)
SEARCH: Mapping[str, Change] = {
    **SCALING,
    "bootstrap.fromSnapshot.repository": _BEGINS,
    "bootstrap.fromSnapshot.snapshot": _BEGINS,
    "bootstrap.fromSnapshot.indices": _BEGINS,
    "update.snapshotBeforeUpgrade.repository": _GATE,
    "update.snapshotBeforeUpgrade.maxAge": _GATE,
    "config": Change(Does.RESTART),
    "pools[].config": Change(Does.RESTART),
    "pools[].roles": Change(
        Does.RECREATE,
        "If a member may no longer hold the data on its volume, or if `voting_only` is added or removed, a new member"
        " takes its place.",
    ),
    "service.type": Change(Does.AT_ONCE, "The Service changes."),
    "service.labels": Change(Does.AT_ONCE, "The Service changes."),
    "service.annotations": Change(Does.AT_ONCE, "The Service changes."),
    "service.spec": Change(Does.AT_ONCE, "The Service changes."),
    "security.enabled": Change(Does.RESTART, "All members together. Removing the field changes nothing."),
    "security.caSecretName": Change(
        Does.RESTART,
        "In steps: all members trust both CAs before the new one signs a certificate. From 2.19 on no restarts."
        " Removing the field keeps the CA.",
    ),
    "security.adminSecretName": Change(
        Does.NOTHING, "The first administrator is created once; change users in the database afterwards."
    ),
    "security.certificateLifetime": Change(
        Does.NOTHING, "For certificates that are issued later; existing ones stay until they are due."
    ),
    "security.http.secretName": Change(Does.RESTART, "From 2.19 on no restart: members reload certificates."),
    **ACCESS,
    "plugins[].name": Change(Does.RECREATE),
    "plugins[].file": Change(Does.RECREATE),
    "pluginSource.url": _PLUGIN_SOURCE,
    "pluginSource.image": _PLUGIN_SOURCE,
    "pluginSource.claimName": _PLUGIN_SOURCE,
    "secureSettings[].secretName": _SECRET,
    "secureSettings[].entries[].key": _SECRET,
    "secureSettings[].entries[].setting": _SECRET,
}
"""Fields that clusters of search engines have besides."""

ONLY_OPENSEARCH: Mapping[str, Change] = {
    f"remoteClusters[].{field}": Change(
        Does.AT_ONCE, "The settings in the database change; before 2.19, secured members restart to trust other CAs."
    )
    for field in ("cluster.name", "cluster.namespace")
}
ONLY_ELASTICSEARCH: Mapping[str, Change] = {
    "remoteAccess.from[].name": Change(Does.AT_ONCE, "No member is touched."),
    "remoteAccess.from[].namespace": Change(Does.AT_ONCE, "No member is touched."),
    "security.caSecretName": Change(
        Does.AT_ONCE,
        "In steps, without a restart: members reload certificates, and trust both CAs in between. Removing the"
        " field keeps the CA.",
    ),
    "security.adminSecretName": Change(Does.AT_ONCE, "Members reload the file with the administrator."),
    "security.http.secretName": Change(Does.AT_ONCE, "Members reload certificates."),
}

_ONE_BY_ONE = "Only the database knows which members may stop together: they change one at a time."
ONLY_FOUNDATIONDB: Mapping[str, Change] = {
    "update.maxUnavailable": Change(Does.REFUSED, _ONE_BY_ONE),
    "update.minLiveCopies": Change(Does.REFUSED, _ONE_BY_ONE),
    "update.singleCopy": Change(Does.REFUSED, _ONE_BY_ONE),
    "redundancy": Change(
        Does.AT_ONCE, "The setting of the database changes; pools without `replicas` get as many members as it needs."
    ),
    "storageEngine": Change(Does.REFUSED, "All data would have to be rewritten, which Stateward does not do."),
    "security.enabled": Change(
        Does.REFUSED,
        "Processes with TLS and those without do not talk to each other. Removing the field changes nothing.",
    ),
    "security.caSecretName": Change(
        Does.AT_ONCE,
        "In steps, without a restart: processes reload certificates, and trust both CAs in between. Removing the"
        " field keeps the CA.",
    ),
    "security.certificateLifetime": Change(
        Does.NOTHING, "For certificates that are issued later; existing ones stay until they are due."
    ),
    **METRICS,
    "faultDomain": Change(Does.RECREATE),
    "knobs": Change(Does.RESTART, "All processes together, once each pod has the new ones."),
    "pools[].knobs": Change(Does.RESTART, "All processes together, once each pod has the new ones."),
    "pools[].processClass": Change(Does.REPLACE),
    "pools[].processesPerMember": Change(Does.REPLACE),
    "pools[].storage.ephemeral": Change(Does.REPLACE, "For stateless pools only; refused for others."),
}

INSTALLED: Mapping[str, Change] = {
    "package": Change(Does.AT_ONCE, "The plan `upgrade` of the package runs, or `update`, or `deploy`."),
    "parameters": Change(Does.AT_ONCE, "The plan that the parameter names runs, or `update`, or `deploy`."),
    "serviceAccountName": Change(
        Does.AT_ONCE, "The operator uses the rights of the new account from the next request on."
    ),
    "adopt": Change(Does.AT_ONCE, "It takes effect in the next step; adopted objects stay with the installation."),
    "paused": Change(Does.AT_ONCE, "The operator takes no new step; what a step has started continues."),
    "deletionPolicy": Change(
        Does.NOTHING, "It applies when the package no longer has an object or the installation is deleted."
    ),
    "stepTimeoutSeconds": Change(Does.AT_ONCE, "It also applies to the step that waits now."),
}
"""Fields of an installation."""

_OTHER = Change(Does.REFUSED, "Make another SearchObject for another object.")
SEARCH_OBJECTS: Mapping[str, Change] = {
    "cluster.kind": _OTHER,
    "cluster.name": _OTHER,
    "object": _OTHER,
    "path": _OTHER,
    "body": Change(Does.AT_ONCE, "It is written to the database."),
    "values[].secretName": Change(Does.AT_ONCE, "It is written to the database; also when the Secret changes."),
    "values[].key": Change(Does.AT_ONCE, "It is written to the database."),
    "values[].path": Change(Does.AT_ONCE, "It is written to the database."),
    "existing": Change(Does.AT_ONCE, "It matters while the object does not belong to the resource."),
    "drift": Change(Does.AT_ONCE),
    "deletionPolicy": Change(Does.NOTHING, "It applies when the resource is deleted."),
    "applyToExisting": Change(Does.AT_ONCE, "Indices change to the policy's new version at their next step."),
    "paused": Change(Does.AT_ONCE, "Nothing is written to the database."),
}
"""Fields of a declared object."""

_ANOTHER = Change(Does.REFUSED, "Make another SearchUser for another user.")
SEARCH_USERS: Mapping[str, Change] = {
    "cluster.kind": _ANOTHER,
    "cluster.name": _ANOTHER,
    "username": _ANOTHER,
    "roles": Change(Does.AT_ONCE, "The database applies it to the next request of the user."),
    "backendRoles": Change(Does.AT_ONCE, "The database applies it to the next request of the user."),
    "attributes": Change(Does.AT_ONCE),
    "password.secretName": Change(Does.AT_ONCE, "The password changes at once, without an overlap."),
    "password.key": Change(Does.AT_ONCE, "The password changes at once, without an overlap."),
    "password.rotateAfter": Change(Does.AT_ONCE, "The user gets a number; the one without it stays for the overlap."),
    "password.overlap": Change(Does.NOTHING, "It applies to the next rotation."),
    "connectionSecretName": Change(Does.AT_ONCE, "A Secret of the new name has the same password; the old one stays."),
    "existing": Change(Does.AT_ONCE, "It matters while the user does not belong to the resource."),
    "deletionPolicy": Change(Does.NOTHING, "It applies when the resource is deleted."),
}
"""Fields of a user."""

_TAKEN = Change(Does.REFUSED, "Make another SearchSnapshot for another snapshot.")
SNAPSHOTS: Mapping[str, Change] = {
    "cluster.kind": _TAKEN,
    "cluster.name": _TAKEN,
    "repository": _TAKEN,
    "snapshot": _TAKEN,
    "indices": _TAKEN,
    "includeGlobalState": _TAKEN,
    "partial": _TAKEN,
    "deletionPolicy": Change(Does.NOTHING, "It applies when the resource is deleted."),
}
"""Fields of a snapshot."""

_ELSEWHERE = Change(Does.REFUSED, "Make another SearchSnapshotSchedule; snapshots of this one stay when it is deleted.")
_NEXT = Change(Does.AT_ONCE, "It applies to the next snapshot.")
_EXPIRED = Change(Does.AT_ONCE, "Snapshots that have expired by it are deleted.")
_VERIFIED = Change(Does.AT_ONCE, "It applies to the next verification.")
SCHEDULES: Mapping[str, Change] = {
    "cluster.kind": _ELSEWHERE,
    "cluster.name": _ELSEWHERE,
    "schedule": Change(Does.AT_ONCE, "A time of it since the last snapshot that was due is made up for."),
    "repository": _ELSEWHERE,
    "indices": _NEXT,
    "includeGlobalState": _NEXT,
    "partial": _NEXT,
    "retention.maxCount": _EXPIRED,
    "retention.minCount": _EXPIRED,
    "retention.maxAge": _EXPIRED,
    "verify.schedule": Change(Does.AT_ONCE, "It decides when the next snapshot is restored."),
    "verify.storageSize": _VERIFIED,
    **{f"verify.resources.{part}": _VERIFIED for part in ("requests", "limits", "claims")},
    "verify.timeLimit": Change(Does.AT_ONCE, "It counts for a verification that runs, too."),
    "paused": Change(
        Does.AT_ONCE,
        "No snapshot is taken or deleted, and no verification begins; afterwards missed times are made up for once.",
    ),
}
"""Fields of a schedule."""

_RESTORED = Change(Does.REFUSED, "Make another SearchRestore.")
RESTORES: Mapping[str, Change] = dict.fromkeys(
    (
        "cluster.kind",
        "cluster.name",
        "repository",
        "snapshot",
        "indices",
        "renamePattern",
        "renameReplacement",
        "includeAliases",
        "indexSettings",
        "ignoreIndexSettings",
        "existing",
    ),
    _RESTORED,
)
"""Fields of a restore."""

_FIXED = Change(Does.REFUSED, "Create another object for another version of a package.")
PACKAGES: Mapping[str, Change] = {
    "name": _FIXED,
    "version": _FIXED,
    "archive": _FIXED,
    "appVersion": _FIXED,
    "digest": _FIXED,
}
"""Fields of a package."""

TABLES: Mapping[Kind, Mapping[str, Change]] = {
    OPENSEARCH: {**CLUSTER, **SEARCH, **ONLY_OPENSEARCH},
    ELASTICSEARCH: {**CLUSTER, **SEARCH, **ONLY_ELASTICSEARCH},
    FOUNDATIONDB: {**CLUSTER, **ONLY_FOUNDATIONDB},
    SEARCH_OBJECT: SEARCH_OBJECTS,
    SEARCH_USER: SEARCH_USERS,
    SEARCH_SNAPSHOT: SNAPSHOTS,
    SEARCH_SNAPSHOT_SCHEDULE: SCHEDULES,
    SEARCH_RESTORE: RESTORES,
    POOL_SCALE: POOL_SCALES,
    PACKAGE: PACKAGES,
    CLUSTER_PACKAGE: PACKAGES,
    INSTALLATION: INSTALLED,
}
"""What a change of each field does, by kind."""


def paths(kind: Kind) -> list[str]:
    """Return the paths of all fields below `spec` that hold a value, in the order of the schema."""
    return [path for path, _ in leaves(root_schema(kind)["properties"]["spec"], "")]


def leaves(schema: Json, path: str) -> Iterator[tuple[str, Json]]:
    """Yield the fields that hold a value, with their schemas; what is inside of raw objects is one value."""
    if schema.get("type") == "array" and schema["items"].get("properties"):
        yield from leaves(schema["items"], f"{path}[]")
    elif schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        for name, inner in cast("dict[str, Json]", schema["properties"]).items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    else:
        yield path, schema


_HEAD = "<!-- Generated from src/stateward/api/schema/living.py; renew it with `make docs`. -->\n"
_INTRODUCTION = """\
# What a change does

What a change of a field does to an existing cluster or installation. An accepted field takes effect:
a test changes each one and compares. [Concepts](../concepts.md#effects) defines the words.

| word | meaning |
| --- | --- |
| at once | it takes effect in the next reconciliation; no member is touched |
| reload | in place, without a restart |
| restart | each process is stopped and started in its pod; with `update.inPlace: Never` the pod is recreated |
| recreate | each pod is recreated, when that is safe; its volume stays |
| replace | a new member takes the place of each |
| members come or go | new members join, or members leave after their data has moved |
| nothing now | the operator reads it later, or has read it once; the last column says when |
| refused | the change is not accepted, and the last column says why |
"""


def page() -> str:
    """Return the page of the docs with what a change of each field does."""
    return "\n".join([_HEAD, _INTRODUCTION, *(_section(kind) for kind in TABLES)])


def _section(kind: Kind) -> str:
    rows = "\n".join(
        f"| `{path}` | {TABLES[kind][path].does.value} | {TABLES[kind][path].word} |" for path in paths(kind)
    )
    return f"## {kind.name}\n\n| field of `spec` | a change | |\n| --- | --- | --- |\n{rows}\n"

"""Rules between fields, which the API server checks itself, in its expression language (CEL), at `kubectl apply`.

Each rule costs what its bounds allow it to cost in the worst case, and the API server refuses a CRD that could cost too
much; that is why every list and text that a rule reads has a largest size in `cluster.py`.
"""

from collections.abc import Mapping

from stateward.api.kinds.access.dashboards import Dashboards
from stateward.api.kinds.access.remote import ANOTHER, RESERVED, TAKEN_WORD, RemoteCluster
from stateward.api.kinds.access.routes import ONE_WAY, Routes
from stateward.api.kinds.additions.plugins import NO_PLUGINS, ONE_SOURCE, PluginSource
from stateward.api.kinds.cluster import Storage, UpdatePolicy
from stateward.api.kinds.foundationdb import FoundationDBCluster, FoundationDBSpec
from stateward.api.kinds.installation import Installation
from stateward.api.kinds.package import PackageSpec
from stateward.api.kinds.products import ELASTICSEARCH, OPENSEARCH, Product
from stateward.api.kinds.scaling.limits import MOST_IN_ALL, TOO_MANY, Scaling, ScalingRule
from stateward.api.kinds.scaling.pool_scale import PoolScaleSpec
from stateward.api.kinds.search import (
    ElasticsearchCluster,
    ElasticsearchSpec,
    OpenSearchCluster,
    OpenSearchSpec,
    SearchUpdatePolicy,
)
from stateward.api.kinds.search_object import SearchObjectSpec
from stateward.api.kinds.search_user import SearchUserSpec, UserPassword
from stateward.api.kinds.security import Security, TransportSecurity
from stateward.api.kinds.snapshots.restore import SearchRestoreSpec
from stateward.api.kinds.snapshots.schedule import SearchSnapshotScheduleSpec, SnapshotRetention
from stateward.api.kinds.snapshots.snapshot import SearchSnapshotSpec
from stateward.api.schema.rule import Rule, unchanged
from stateward.api.values.base import Record
from stateward.api.values.images import MALFORMED, REFERENCE, VERSION_PLACE
from stateward.api.values.settings import Owned

LONGEST_NAMES = 46
"""A StatefulSet's name may have 52 characters (its pods carry it in a label, with a hash), and a member is
`<cluster>-<pool>-<ordinal>` with up to four digits: 52 - 6 are left for the two names."""


NAMES = (
    Rule(
        r"self.metadata.name.matches(r'^[a-z]([-a-z0-9]*[a-z0-9])?$')",
        "the name must be lower-case letters, digits and dashes, begin with a letter and not end with a dash:"
        " Services are named after it",
        field=".metadata.name",
        shown="self.metadata.name",
    ),
    Rule(
        f"self.spec.pools.all(p, size(self.metadata.name) + size(p.name) <= {LONGEST_NAMES})",
        f"metadata.name and the name of each pool may have {LONGEST_NAMES} characters together: members are named"
        " <cluster>-<pool>-<ordinal>",
        field=".spec.pools",
    ),
)


OTHERS = (
    Rule(
        "!has(self.spec.remoteClusters) || self.spec.remoteClusters.all(r,"
        " has(r.cluster.__namespace__) || r.cluster.name != self.metadata.name)",
        ANOTHER,
        field=".spec.remoteClusters",
    ),
    Rule(
        "!has(self.spec.remoteAccess) || self.spec.remoteAccess.from.all(c,"
        " has(c.__namespace__) || c.name != self.metadata.name)",
        ANOTHER,
        field=".spec.remoteAccess.from",
    ),
)


def _well_formed(text: str = "self.image") -> Rule:
    return Rule(f"!has(self.image) || {text}.matches(r'^{REFERENCE}$')", MALFORMED, field=".image", shown="self.image")


def spec_rules(product: Product) -> tuple[Rule, ...]:
    """Return the rules of a product's spec."""
    manager = "(!has(p.roles) || p.roles.exists(r, r == 'cluster_manager' || r == 'master'))"
    return (
        Rule(
            f"self.pools.exists(p, {manager})",
            f"at least one pool must have the role {product.roles.manager}, or leave roles out to have all default"
            " roles",
            field=".pools",
        ),
        Rule(
            f"!self.pools.exists(p, {manager}) || self.pools.exists(p, p.replicas > 0 && {manager})",
            "at least one member must be a cluster manager: give a pool with that role 1 or more replicas (3 is usual)",
            field=".pools",
        ),
        _members_in_all("has(p.scaling) && p.scaling.max > p.replicas ? p.scaling.max : p.replicas"),
        _well_formed(),
        Rule(
            "!has(self.image) || self.image.contains('@') || self.image.matches(':[^/:]+$')",
            f"must name a tag or a digest, for example {product.image}:{product.example}",
            field=".image",
            shown="self.image",
        ),
        Rule(
            "!has(self.image) || !self.image.matches('^[^@]*:[^/:@]+(@.*)?$')"
            " || self.image.matches(':([^/:@]*[^/:@0-9.])?' + self.version + '([^/:@0-9.][^/:@]*)?(@.*)?$')",
            f"the tag must have spec.version in it, for example {product.example} or {product.example}-ours; or use a"
            " digest alone",
            field=".image",
            shown="self.image",
        ),
        *_supported(product),
        Rule("!has(self.pluginSource) || has(self.plugins)", NO_PLUGINS, field=".pluginSource"),
        Rule(
            "!has(self.bootstrap) || (has(oldSelf.bootstrap) && self.bootstrap == oldSelf.bootstrap)",
            "can only be given when the cluster is created: leave it as it was, or out; to restore into this cluster,"
            " make a SearchRestore",
            field=".bootstrap",
            forbidden=True,
        ),
    )


def _members_in_all(of_pool: str) -> Rule:
    return Rule(f"self.pools.map(p, {of_pool}).sum() <= {MOST_IN_ALL}", TOO_MANY, field=".pools")


def _supported(product: Product) -> tuple[Rule, ...]:
    if product.versions is None:
        return ()
    first, beyond = product.versions
    majors = range(first.major + 1, beyond.major)
    minors = f"{first.major}[.]({first.minor // 10}[{first.minor % 10}-9]|[{first.minor // 10 + 1}-9][0-9])"
    return (
        Rule(
            f"self.version.matches('^({minors}|{'|'.join(map(str, majors))})[.]')",
            f"must be {first} or later, and earlier than {beyond}, for example {product.example}",
            field=".version",
            shown="self.version",
        ),
    )


ONE_AT_A_TIME = "members change one at a time, when the database tolerates it; only the database knows its copies"
"""Why a FoundationDB cluster has no such choice."""

FOUNDATIONDB_RULES = (
    _members_in_all("has(p.replicas) ? p.replicas : 0"),
    _well_formed(),
    Rule(
        "self.version.matches('^(7[.][1-9]|[89]|[1-9][0-9])')",
        "must be 7.1.0 or later: Stateward needs cluster files with names and exclusions by locality",
        field=".version",
        shown="self.version",
    ),
    Rule(
        "(has(self.storageEngine) ? self.storageEngine : 'ssd-2')"
        " == (has(oldSelf.storageEngine) ? oldSelf.storageEngine : 'ssd-2')",
        "cannot be changed: all data would have to be rewritten, which Stateward does not do",
        field=".storageEngine",
        forbidden=True,
    ),
    *(
        Rule(
            f"!has(self.update) || !has(self.update.{name}) || {allowed}",
            f"must be {only}: {ONE_AT_A_TIME}",
            field=f".update.{name}",
        )
        for name, only, allowed in (
            ("maxUnavailable", "1", "string(self.update.maxUnavailable) == '1'"),
            ("minLiveCopies", "1", "self.update.minLiveCopies == 1"),
            ("singleCopy", "Move, or left out", "self.update.singleCopy == 'Move'"),
        )
    ),
    Rule(
        "self.pools.exists(p, p.processClass == 'storage') && self.pools.exists(p, p.processClass == 'log')",
        "one pool must have the class storage, and one the class log",
        field=".pools",
    ),
)

UPDATE_RULES = (
    Rule(
        "!has(self.maxUnavailable) || (type(self.maxUnavailable) == int ? self.maxUnavailable >= 1"
        " : string(self.maxUnavailable).matches('^([1-9]|[1-9][0-9]|100)%$'))",
        "must be a number of members, 1 or more, or a percentage from 1% to 100%",
        field=".maxUnavailable",
        shown="string(self.maxUnavailable)",
    ),
    Rule(
        "!has(self.order) || self.order.all(a, self.order.exists_one(b, a == b))",
        "must name each pool once",
        field=".order",
        shown="self.order.join(', ')",
    ),
)

RULES: Mapping[type[Record], tuple[Rule, ...]] = {
    OpenSearchCluster: (*NAMES, *OTHERS),
    OpenSearchSpec: spec_rules(OPENSEARCH),
    ElasticsearchCluster: (*NAMES, *OTHERS),
    ElasticsearchSpec: spec_rules(ELASTICSEARCH),
    FoundationDBCluster: NAMES,
    FoundationDBSpec: FOUNDATIONDB_RULES,
    Storage: (
        Rule(
            "!(has(self.ephemeral) && self.ephemeral && has(self.storageClass))",
            "ephemeral storage has no storage class: leave storageClass out, or ephemeral",
            field=".storageClass",
            shown="self.storageClass",
            forbidden=True,
        ),
        Rule(
            "!has(self.size) || !isQuantity(self.size) || quantity(self.size).isGreaterThan(quantity('0'))",
            "must be more than 0",
            field=".size",
            shown="self.size",
        ),
        Rule(
            "!(has(self.ephemeral) && self.ephemeral && has(self.grow))",
            "ephemeral storage cannot grow: leave grow out, or ephemeral",
            field=".grow",
            forbidden=True,
        ),
        Rule(
            "!has(self.grow) || !isQuantity(self.grow.max) || (has(self.size) && !isQuantity(self.size))"
            f" || quantity(self.grow.max).compareTo(quantity(has(self.size) ? self.size : '{Storage().size}')) >= 0",
            "must be at least storage.size",
            field=".grow.max",
            shown="self.grow.max",
        ),
    ),
    TransportSecurity: (
        Rule(
            "!has(self.enabled) || self.enabled || !has(self.caSecretName)",
            "TLS is switched off: leave caSecretName out, or set enabled to true",
            field=".enabled",
        ),
        Rule(
            "!has(self.certificateLifetime) || !self.certificateLifetime.matches('^[1-4]m$')",
            "must be 5m or longer: a renewed certificate takes up to two minutes to reach a pod",
            field=".certificateLifetime",
            shown="self.certificateLifetime",
        ),
    ),
    Dashboards: (_well_formed(),),
    PluginSource: (
        Rule("[has(self.url), has(self.image), has(self.claimName)].filter(x, x).size() == 1", ONE_SOURCE),
        _well_formed(f"self.image.replace('{VERSION_PLACE}', '1')"),
    ),
    RemoteCluster: (Rule(f"!(self.name in {list(RESERVED)})", TAKEN_WORD, field=".name", shown="self.name"),),
    Routes: (
        Rule(
            "!has(self.parentRefs) || !(has(self.ingressClassName) || has(self.tlsSecretName))",
            ONE_WAY,
            field=".parentRefs",
        ),
    ),
    Security: (
        Rule(
            "!has(self.enabled) || self.enabled"
            " || !(has(self.caSecretName) || has(self.adminSecretName) || has(self.http))",
            "security is switched off: leave caSecretName, adminSecretName and http out, or set enabled to true",
            field=".enabled",
        ),
        Rule(
            "!has(self.certificateLifetime) || !self.certificateLifetime.matches('^[1-4]m$')",
            "must be 5m or longer: a renewed certificate takes up to two minutes to reach a pod",
            field=".certificateLifetime",
            shown="self.certificateLifetime",
        ),
        Rule(
            "!has(self.http) || !has(self.http.secretName) || !has(self.caSecretName)"
            " || self.http.secretName != self.caSecretName",
            "must be another Secret than caSecretName: a CA's key must not be in pods",
            field=".http",
        ),
    ),
    UpdatePolicy: UPDATE_RULES,
    SearchUpdatePolicy: UPDATE_RULES,
    PackageSpec: (
        Rule(
            "self == oldSelf",
            "a package cannot be changed: make another object for another version",
            forbidden=True,
        ),
    ),
    SearchObjectSpec: (
        Rule(
            "has(self.object) != has(self.path)",
            "give either object or path, and not both",
            field=".object",
        ),
        Rule(
            "self.cluster == oldSelf.cluster && (has(self.object) ? self.object : '')"
            " == (has(oldSelf.object) ? oldSelf.object : '')"
            " && (has(self.path) ? self.path : '') == (has(oldSelf.path) ? oldSelf.path : '')",
            "cluster, object and path cannot be changed: make another SearchObject for another object",
            field=".object",
            forbidden=True,
        ),
        Rule(
            "!has(self.existing) || self.existing != 'Merge'"
            " || (has(self.deletionPolicy) && self.deletionPolicy == 'Retain')",
            "Merge needs deletionPolicy Retain: the object belongs to others, too",
            field=".existing",
        ),
    ),
    SearchUserSpec: (
        Rule(
            "self.cluster == oldSelf.cluster"
            " && (has(self.username) ? self.username : '') == (has(oldSelf.username) ? oldSelf.username : '')",
            "cluster and username cannot be changed: make another SearchUser for another user",
            field=".username",
            forbidden=True,
        ),
        Rule(
            "!has(self.existing) || self.existing != 'Merge'",
            "must be Refuse or Adopt",
            field=".existing",
        ),
        Rule(
            "!has(self.backendRoles) || size(self.backendRoles) == 0 || self.cluster.kind == 'OpenSearchCluster'",
            "is for OpenSearch only; use roles",
            field=".backendRoles",
        ),
    ),
    UserPassword: (
        Rule(
            "!has(self.rotateAfter) || !has(self.secretName)",
            "the operator rotates only passwords that it makes: leave secretName out, or rotateAfter",
            field=".rotateAfter",
            forbidden=True,
        ),
    ),
    Scaling: (Rule("self.min <= self.max", "must not be more than max", field=".min"),),
    ScalingRule: (
        Rule("self.below < self.above", "must be less than above", field=".below"),
        Rule(
            "self.measure == 'Shards' || self.above <= (self.measure == 'Disk' ? 84 : 100)",
            "must be at most 84 for Disk and 100 for CPU, in percent",
            field=".above",
        ),
    ),
    PoolScaleSpec: (
        Rule(
            unchanged("cluster", "pool"),
            "cluster and pool cannot be changed: make another PoolScale for another pool",
            forbidden=True,
        ),
    ),
    SearchSnapshotSpec: (
        Rule(
            unchanged("cluster", "repository", "snapshot", "indices", "includeGlobalState", "partial"),
            "only deletionPolicy can be changed: make another SearchSnapshot for another snapshot",
            forbidden=True,
        ),
    ),
    SearchSnapshotScheduleSpec: (
        Rule(
            unchanged("cluster", "repository"),
            "cluster and repository cannot be changed: make another SearchSnapshotSchedule",
            forbidden=True,
        ),
    ),
    SnapshotRetention: (
        Rule(
            "!has(self.minCount) || !has(self.maxCount) || self.minCount <= self.maxCount",
            "must not exceed maxCount",
            field=".minCount",
        ),
    ),
    SearchRestoreSpec: (
        Rule("self == oldSelf", "a restore cannot be changed: make another SearchRestore", forbidden=True),
        Rule(
            "has(self.renamePattern) == has(self.renameReplacement)",
            "renamePattern and renameReplacement belong together",
            field=".renamePattern",
        ),
    ),
    Installation: (
        Rule(
            r"self.metadata.name.matches(r'^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "the name must be lower-case letters, digits and dashes, begin with a letter and not end with a dash:"
            " objects are named after it",
            field=".metadata.name",
            shown="self.metadata.name",
        ),
    ),
}


def owned_rule(key: str, owned: Owned) -> Rule:
    """Refuse a setting that is Stateward's."""
    return Rule(
        f"!has(self.{key.replace('.', '__dot__')})",
        f"{key} cannot be set: {owned.reason}",
        field=f"['{key}']",
        forbidden=True,
    )

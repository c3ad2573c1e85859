"""The kinds of objects in the databases: one table with what each needs.

Shapes of requests and answers: the reference of OpenSearch 2.19 and of Elasticsearch 8.19. Where both products have the
same object, its kind has the same name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from stateward.api.kinds.search_object import ClusterKindName

OPENSEARCH, ELASTICSEARCH = ClusterKindName.OPENSEARCH, ClusterKindName.ELASTICSEARCH
BOTH = frozenset({OPENSEARCH, ELASTICSEARCH})


class Write(Enum):
    """How an object is created and changed."""

    PUT = "PUT for both"
    NUMBERED = "PUT; a change names the sequence number that was read"
    UPDATE = "PUT creates; a POST below it changes the fields that it has"
    CREATE = "PUT creates, and nothing changes it"
    POST_NUMBERED = "POST creates; PUT with the sequence number changes"
    ALIAS = "one action of the aliases API"
    SETTINGS = "persistent cluster settings, each a value of its own"


@dataclass(frozen=True)
class ObjectKind:
    """One kind of object in one product.

    Paths have `{name}` in the place of the name, and so may `answer`: the JSON pointer, in the answer to a GET, to what
    a PUT would have as its body.
    """

    name: str
    path: str
    read: str = ""
    """Where it is read, if that is another path."""
    reading: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameters of that GET."""
    answer: str = ""
    permanent: bool = False
    """Whether the database always has it: it is changed, and neither created nor deleted."""
    only: tuple[str, ...] = ()
    """The keys of it that belong to the body; empty: all."""
    volatile: tuple[str, ...] = ()
    """JSON pointers to what the database writes by itself."""
    defaults: Mapping[str, object] = field(default_factory=dict[str, object])
    """By JSON pointer, what the database writes where a body has nothing; `*` stands for all keys or items."""
    forms: Mapping[str, Callable[[object], object]] = field(default_factory=dict[str, Callable[[object], object]])
    """By JSON pointer, what the database makes of a value; a stored value stays as it is."""
    arranged: tuple[Callable[[object], object], ...] = ()
    """What puts the values of a body, in this order, where the database keeps or changes them."""
    texts: tuple[str, ...] = ()
    """JSON pointers to objects that the database stores as their text."""
    mark: str = ""
    """JSON pointer to the object that clients may write their own notes into; empty: there is none."""
    creates: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameters with which the database refuses to create what exists."""
    always: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameters of each PUT of one object, whether it creates or changes it."""
    trial: str = ""
    """Where a POST has the nodes use the object; empty: what is stored can be used."""
    write: Write = Write.PUT
    changes: frozenset[str] = frozenset()
    """For UPDATE: the fields that can be changed."""
    sets: frozenset[str] = frozenset()
    """Fields with lists whose order means nothing."""
    added: frozenset[str] = frozenset()
    """For UPDATE: those of them of which items are added (`add_` before the field) and removed (`remove_`)."""
    exact: bool = False
    """Whether a key that is not declared is a deviation: in a role it would be a right."""
    complete: Mapping[str, object] = field(default_factory=dict[str, object])
    """JSON pointers to what is a deviation if it is stored and not declared, and a default that is not."""
    settings: tuple[str, ...] = ()
    """JSON pointers to settings, which may be nested or dotted and are stored as text."""
    refers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By kind, JSON pointers to the names of objects that have to exist first; `*` stands for all keys or items."""
    same_name: str = ""
    """The kind of an object of the same name that has to exist first."""
    accepts: frozenset[str] = frozenset()
    """The keys that a body may have; empty: the database decides. Others would concern other objects."""
    parts: int = 1
    """How many names the object has in `spec.object`."""


SETTINGS = "clusterSettings"
"""The kind that is not one object: each cluster setting is."""
_TEMPLATES = (
    ObjectKind(
        "componentTemplate",
        "/_component_template/{name}",
        answer="/component_templates/0/component_template",
        mark="/_meta",
        creates={"create": "true"},
        settings=("/template/settings",),
        refers={
            "ilmPolicy": ("/template/settings/index.lifecycle.name",),
            "ingestPipeline": (
                "/template/settings/index.default_pipeline",
                "/template/settings/index.final_pipeline",
            ),
        },
        volatile=("/created_date", "/created_date_millis", "/modified_date", "/modified_date_millis"),
    ),
    ObjectKind(
        "indexTemplate",
        "/_index_template/{name}",
        answer="/index_templates/0/index_template",
        mark="/_meta",
        creates={"create": "true"},
        settings=("/template/settings",),
        refers={
            "componentTemplate": ("/composed_of/*",),
            "ilmPolicy": ("/template/settings/index.lifecycle.name",),
            "ingestPipeline": (
                "/template/settings/index.default_pipeline",
                "/template/settings/index.final_pipeline",
            ),
        },
        volatile=("/created_date", "/created_date_millis", "/modified_date", "/modified_date_millis"),
        defaults={
            "/data_stream/hidden": False,
            "/data_stream/allow_custom_routing": False,
            "/data_stream/timestamp_field": {"name": "@timestamp"},
        },
    ),
)
_COMMON = (
    *_TEMPLATES,
    ObjectKind("storedScript", "/_scripts/{name}", only=("script",), texts=("/script/source",)),
    ObjectKind(
        "snapshotRepository",
        "/_snapshot/{name}",
        answer="/{name}",
        settings=("/settings",),
        volatile=("/uuid",),
        # With `verify`, a repository that nodes cannot use is refused, and stored all the same.
        always={"verify": "false"},
        trial="/_snapshot/{name}/_verify",
    ),
    ObjectKind(
        "alias",
        "/{index}/_alias/{name}",
        # Of all indices: which of them takes the writes depends on the others.
        read="/_alias/{name}",
        reading={"expand_wildcards": "all"},
        answer="/{index}/aliases/{name}",
        write=Write.ALIAS,
        accepts=frozenset({"filter", "index_routing", "is_hidden", "is_write_index", "routing", "search_routing"}),
        parts=2,
    ),
    ObjectKind(
        SETTINGS,
        "/_cluster/settings",
        reading={"flat_settings": "true"},
        answer="/persistent",
        write=Write.SETTINGS,
        parts=0,
    ),
)
_SECURITY = "/_plugins/_security/api"
_HIDDEN = ("/reserved", "/hidden", "/static")
_OPENSEARCH = (
    *_COMMON,
    ObjectKind("ingestPipeline", "/_ingest/pipeline/{name}", answer="/{name}"),
    ObjectKind("searchPipeline", "/_search/pipeline/{name}", answer="/{name}"),
    ObjectKind(
        "ismPolicy",
        "/_plugins/_ism/policies/{name}",
        only=("policy",),
        write=Write.NUMBERED,
        volatile=(
            "/policy/policy_id",
            "/policy/last_updated_time",
            "/policy/schema_version",
            "/policy/ism_template/*/last_updated_time",
        ),
        defaults={
            "/policy/states/*/actions/*/retry": {"count": 3, "backoff": "exponential", "delay": "1m"},
            "/policy/states/*/actions/*/notification/message_template/lang": "mustache",
            "/policy/ism_template/*/priority": 0,
        },
    ),
    ObjectKind(
        "snapshotPolicy",
        "/_plugins/_sm/policies/{name}",
        answer="/sm_policy",
        write=Write.POST_NUMBERED,
        volatile=("/name", "/last_updated_time", "/schema_version", "/schedule", "/enabled_time"),
        refers={"snapshotRepository": ("/snapshot_config/repository",)},
    ),
    ObjectKind(
        "transform",
        "/_plugins/_transform/{name}",
        only=("transform",),
        write=Write.NUMBERED,
        volatile=(
            "/transform/transform_id",
            "/transform/updated_at",
            "/transform/enabled_at",
            "/transform/schema_version",
            "/transform/metadata_id",
        ),
    ),
    ObjectKind(
        "rollup",
        "/_plugins/_rollup/jobs/{name}",
        only=("rollup",),
        write=Write.NUMBERED,
        volatile=(
            "/rollup/rollup_id",
            "/rollup/last_updated_time",
            "/rollup/enabled_time",
            "/rollup/schema_version",
            "/rollup/metadata_id",
        ),
    ),
    ObjectKind(
        "role",
        f"{_SECURITY}/roles/{{name}}",
        answer="/{name}",
        exact=True,
        volatile=_HIDDEN,
        refers={
            "actionGroup": (
                "/cluster_permissions/*",
                "/index_permissions/*/allowed_actions/*",
                "/tenant_permissions/*/allowed_actions/*",
            ),
            "tenant": ("/tenant_permissions/*/tenant_patterns/*",),
        },
    ),
    ObjectKind(
        "roleMapping",
        f"{_SECURITY}/rolesmapping/{{name}}",
        answer="/{name}",
        exact=True,
        volatile=_HIDDEN,
        same_name="role",
    ),
    ObjectKind("tenant", f"{_SECURITY}/tenants/{{name}}", answer="/{name}", exact=True, volatile=_HIDDEN),
    ObjectKind("actionGroup", f"{_SECURITY}/actiongroups/{{name}}", answer="/{name}", exact=True, volatile=_HIDDEN),
    ObjectKind(
        "authentication",
        f"{_SECURITY}/securityconfig/config",
        read=f"{_SECURITY}/securityconfig",
        answer="/config",
        permanent=True,
        # Each of them is a way in. Elsewhere the plugin adds what is not declared.
        complete={
            "/dynamic/authc/*": None,
            "/dynamic/authz/*": None,
            "/dynamic/http/anonymous_auth_enabled": False,
            "/dynamic/http/xff/enabled": False,
            "/dynamic/on_behalf_of/enabled": False,
        },
        parts=0,
    ),
    ObjectKind(
        "audit", f"{_SECURITY}/audit/config", read=f"{_SECURITY}/audit", answer="/config", permanent=True, parts=0
    ),
)
_ELASTICSEARCH = (
    *_COMMON,
    ObjectKind(
        "ingestPipeline",
        "/_ingest/pipeline/{name}",
        answer="/{name}",
        mark="/_meta",
        volatile=("/created_date", "/created_date_millis", "/modified_date", "/modified_date_millis"),
    ),
    ObjectKind(
        "ilmPolicy",
        "/_ilm/policy/{name}",
        answer="/{name}",
        only=("policy",),
        mark="/policy/_meta",
        defaults={
            "/policy/phases/*/min_age": "0ms",
            "/policy/phases/*/actions/delete/delete_searchable_snapshot": True,
            "/policy/phases/*/actions/shrink/allow_write_after_shrink": False,
        },
    ),
    ObjectKind(
        "snapshotPolicy",
        "/_slm/policy/{name}",
        answer="/{name}/policy",
        refers={"snapshotRepository": ("/repository",)},
    ),
    ObjectKind(
        "role",
        "/_security/role/{name}",
        answer="/{name}",
        exact=True,
        volatile=("/transient_metadata",),
        mark="/metadata",
        defaults={
            "/indices/*/allow_restricted_indices": False,
            "/remote_indices/*/allow_restricted_indices": False,
        },
        texts=("/indices/*/query", "/remote_indices/*/query"),
    ),
    ObjectKind(
        "roleMapping",
        "/_security/role_mapping/{name}",
        answer="/{name}",
        exact=True,
        mark="/metadata",
        defaults={"/enabled": True, "/role_templates/*/format": "string"},
        texts=("/role_templates/*/template",),
        refers={"role": ("/roles/*",)},
    ),
    ObjectKind(
        "watch",
        "/_watcher/watch/{name}",
        answer="/watch",
        mark="/metadata",
        defaults={"/input": {"none": {}}, "/condition": {"always": {}}},
    ),
    ObjectKind("enrichPolicy", "/_enrich/policy/{name}", answer="/policies/0/config", write=Write.CREATE),
)
KINDS: Mapping[str, Mapping[str, ObjectKind]] = {
    OPENSEARCH: {kind.name: kind for kind in _OPENSEARCH},
    ELASTICSEARCH: {kind.name: kind for kind in _ELASTICSEARCH},
}
"""The table, by the kind of the cluster and the name of the object's kind."""

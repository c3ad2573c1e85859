"""Objects inside a database of a search cluster: an index template, a role, a policy, a repository, cluster settings.

The body is the one that the database's own documentation describes, and the database judges it. So a body may have
fields that Stateward does not know. What it does know is the table of kinds in `engines.search.declared`: where an
object of a kind is read, what the database adds to it, and which of its fields can be changed.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.security import SecretName
from stateward.api.values.base import API_VERSION, Condition, Json, Metadata, Record

LONGEST_OBJECT = 300
"""Characters of `spec.object` and `spec.path`."""


class ClusterKindName(StrEnum):
    """The kinds of clusters whose databases have such objects."""

    OPENSEARCH = "OpenSearchCluster"
    ELASTICSEARCH = "ElasticsearchCluster"


class Existing(StrEnum):
    """What happens if the object was in the database before the resource."""

    REFUSE = "Refuse"
    ADOPT = "Adopt"
    MERGE = "Merge"


class Drift(StrEnum):
    """What happens if another client changes the object."""

    CORRECT = "Correct"
    REPORT = "Report"


class ClusterReference(Record):
    """The cluster whose database has the object, in the same namespace."""

    kind: Annotated[ClusterKindName, Meta(description="OpenSearchCluster or ElasticsearchCluster.")]
    name: Annotated[str, Meta(description="Name of the cluster.", min_length=1, max_length=46)]


class SecretValue(Record):
    """A value of the body that comes from a Secret."""

    secret_name: Annotated[
        SecretName,
        Meta(
            description="Name of the Secret, in the same namespace, with the label stateward.dev/allowed-for-pods: its"
            " value is the name of the cluster, or true for all clusters."
        ),
    ]
    key: Annotated[
        str,
        Meta(
            description="Key of the Secret; its value is text.",
            pattern=r"^[-._a-zA-Z0-9]+$",
            max_length=253,
            extra={"accepts": "must be a key of the Secret: letters, digits, dashes, dots and underscores"},
        ),
    ]
    path: Annotated[
        str,
        Meta(
            description="Where the value belongs in the body: a JSON pointer, for example /input/http/auth/password.",
            pattern=r"^(/[^/]+)+$",
            max_length=500,
            extra={"accepts": "must be a JSON pointer, for example /input/http/auth/password"},
        ),
    ]


class SearchObjectSpec(Record):
    """Which object of which database, and its body."""

    cluster: Annotated[ClusterReference, Meta(description="The cluster whose database has the object.")]
    object: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^[a-zA-Z]+(/[A-Za-z0-9][-A-Za-z0-9._]*){0,2}$",
                max_length=LONGEST_OBJECT,
                extra={
                    "accepts": "must be a kind and a name, for example indexTemplate/logs, alias/logs-000001/logs for"
                    " an alias of an index, or clusterSettings"
                },
            ),
        ]
        | None,
        Meta(
            description="Kind and name of the object, for example indexTemplate/logs. Not to be changed. Either"
            " object or path is required."
        ),
    ] = None
    path: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^(/[A-Za-z0-9_][-A-Za-z0-9._]*){2,8}$",
                max_length=LONGEST_OBJECT,
                extra={"accepts": "must be a path of the database's API, for example /_ml/filters/safe"},
            ),
        ]
        | None,
        Meta(
            description="Path of an object that has no kind here, at which the database reads, writes and deletes it,"
            " for example /_ml/filters/safe in Elasticsearch. Not to be changed."
        ),
    ] = None
    body: Annotated[
        Json, Meta(description="The object as the database's documentation has it for the request that creates it.")
    ] = field(default_factory=dict)
    values: Annotated[
        Annotated[list[SecretValue], Meta(max_length=20)] | None,
        Meta(description="Values of the body that come from Secrets."),
    ] = None
    existing: Annotated[
        Existing,
        Meta(
            description="What happens if the object exists and this resource has not created it. Refuse: nothing is"
            " written. Adopt: the body replaces it. Merge: fields of the body are written into it; this needs"
            " deletionPolicy Retain."
        ),
    ] = Existing.REFUSE
    drift: Annotated[
        Drift, Meta(description="What happens if another client changes the object: Correct or Report.")
    ] = Drift.CORRECT
    deletion_policy: Annotated[
        Retention,
        Meta(description="Whether the object is deleted in the database with this resource. Indexed data never is."),
    ] = Retention.DELETE
    apply_to_existing: Annotated[
        bool,
        Meta(
            description="For ismPolicy: indices that the policy manages already change to its new version. Indices of"
            " an ilmPolicy do so in any case."
        ),
    ] = False
    paused: Annotated[
        bool,
        Meta(
            description="Write nothing to the database while the resource exists; its deletion follows deletionPolicy."
        ),
    ] = False


class Claim(StrEnum):
    """Whose the object in the database is."""

    CREATING = "Creating"
    """It was absent when this was written, and then created."""
    ADOPTING = "Adopting"
    """It existed when this was written, and then replaced."""
    OWNED = "Owned"
    MERGED = "Merged"


class SearchObjectStatus(Record):
    """What is known of the object; it exists nowhere else."""

    observed_generation: Annotated[int, Meta(description="The generation that this status describes.")] = 0
    object: Annotated[str, Meta(description="The object in the database.")] = ""
    claim: Annotated[
        str,
        Meta(
            description="Creating or Adopting before the first write, then Owned, or Merged; empty if the object does"
            " not belong to this resource."
        ),
    ] = ""
    cluster_uuid: Annotated[str, Meta(description="Identity of the database that the claim is about.")] = field(
        default="", name="clusterUUID"
    )
    applied: Annotated[str, Meta(description="Digest of the body that was last written, with its values.")] = ""
    stored: Annotated[str, Meta(description="Digest of the object as the database stored it then.")] = ""
    settings: Annotated[
        list[str] | None, Meta(description="For clusterSettings: the settings that belong to this resource.")
    ] = None
    unwritten: Annotated[
        list[str] | None,
        Meta(description="For clusterSettings: those of them of which it is not known yet that they were written."),
    ] = None
    drift: Annotated[str, Meta(description="What another client has changed, in a sentence.")] = ""
    applied_time: Annotated[str, Meta(description="When it was last written.")] = ""
    activity: Annotated[str, Meta(description="One sentence: what is in progress, or why it waits.")] = ""
    conditions: Annotated[
        list[Condition],
        Meta(description="Ready, Reconciling and Stalled as kstatus defines them.", extra={"map_keys": ["type"]}),
    ] = field(default_factory=list)


class SearchObject(Record):
    """An object inside the database of a search cluster."""

    metadata: Metadata
    spec: Annotated[SearchObjectSpec, Meta(description="The desired state.")]
    status: Annotated[SearchObjectStatus, Meta(description="What is known of the object in the database.")] = (
        SearchObjectStatus()
    )
    api_version: str = API_VERSION
    kind: str = "SearchObject"

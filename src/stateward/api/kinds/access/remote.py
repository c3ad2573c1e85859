"""Remote clusters, as people write them: the clusters that one searches, and the clusters that may search one.

Both sides have to write it: a cluster is searched only by those that its own spec names.
"""

from typing import Annotated

from msgspec import Meta, field

from stateward.api.values.base import Record

ALIAS = r"^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$"
"""Grammar of an alias: it is a part of the name of settings, and of index expressions, in which a colon ends it."""
RESERVED = ("connect", "connections_per_cluster", "initial_connect_timeout", "node")
"""Words that the databases' own settings have in the place of an alias."""
TAKEN_WORD = "must be another word: the database has a setting of this name"
ANOTHER = "must name another cluster than this one"
NAMESPACE = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

Namespace = Annotated[str, Meta(pattern=NAMESPACE, max_length=63, extra={"accepts": "must be the name of a namespace"})]
ClusterName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$",
        max_length=46,
        extra={"accepts": "must be the name of a cluster of the same kind"},
    ),
]


class OtherCluster(Record):
    """Another cluster of the same kind."""

    name: Annotated[ClusterName, Meta(description="Name of the cluster.")]
    namespace: Annotated[
        Namespace | None, Meta(description="Namespace of the cluster. Default: that of this cluster.")
    ] = None


class RemoteCluster(Record):
    """A cluster that this one searches, by an alias."""

    name: Annotated[
        str,
        Meta(
            description="The alias in searches: `ALIAS:INDEX`.",
            pattern=ALIAS,
            max_length=63,
            extra={
                "accepts": "must be letters, digits, dashes and underscores, and begin and end with a letter or digit"
            },
        ),
    ]
    cluster: Annotated[
        OtherCluster,
        Meta(
            description="The cluster that is searched. It has to name this one in its spec.remoteAccess. Secured"
            " clusters then trust each other's CA: the owner of each can act as a member of the other."
        ),
    ]
    skip_unavailable: Annotated[
        bool, Meta(description="Whether a search succeeds without this cluster while it cannot be reached.")
    ] = True


class RemoteAccess(Record):
    """Clusters that may search this one."""

    clusters: Annotated[
        list[OtherCluster],
        Meta(
            description="Clusters that may search this one if their spec.remoteClusters names it. Secured clusters then"
            " trust each other's CA: the owner of each can act as a member of the other.",
            min_length=1,
            max_length=50,
        ),
    ] = field(name="from")


class RemoteClusterStatus(Record):
    """Where one remote cluster stands, and what the operator has set in the database for it."""

    name: Annotated[str, Meta(description="The alias.")]
    state: Annotated[str, Meta(description="Connected, Waiting or Removing.")] = ""
    cluster: Annotated[str, Meta(description="Namespace and name of the cluster that is searched.")] = ""
    address: Annotated[
        str,
        Meta(description="The address that the operator has set in the database, or is about to set; empty if none."),
    ] = ""
    reason: Annotated[str, Meta(description="What it waits for, in one word for programs; empty if nothing.")] = ""
    message: Annotated[str, Meta(description="What it waits for, in one sentence for people.")] = ""
    since_time: Annotated[str, Meta(description="Since when it is in this state.")] = ""


class RemoteAccessStatus(Record):
    """Where other clusters reach the members, or why they do not."""

    address: Annotated[str, Meta(description="Name and port of the Service for other clusters; empty if none.")] = ""
    reason: Annotated[str, Meta(description="Why there is none, in one word for programs; empty if there is.")] = ""
    message: Annotated[str, Meta(description="Why there is none, in one sentence for people.")] = ""

"""Users of the database of a search cluster, whose passwords applications find in a Secret.

A password is never part of this resource: it comes from a Secret, or the operator makes it.
"""

from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.cluster import Retention
from stateward.api.kinds.search_object import ClusterReference, Existing
from stateward.api.kinds.security import Lifetime, SecretName
from stateward.api.values.base import API_VERSION, Condition, Metadata, Record

RoleName = Annotated[str, Meta(min_length=1, max_length=200)]
LONGEST_USERNAME = 100
"""Characters; a rotated user has two more."""


class UserPassword(Record):
    """Where the password comes from: a Secret, or the operator, which may change it on a schedule."""

    secret_name: Annotated[
        SecretName | None,
        Meta(
            description="Secret with the password, in the same namespace, with the label"
            " stateward.dev/allowed-for-pods: its value is the name of the cluster, or true. Default: the operator"
            " makes a password."
        ),
    ] = None
    key: Annotated[
        str,
        Meta(
            description="Key of that Secret.",
            pattern=r"^[-._a-zA-Z0-9]+$",
            max_length=253,
            extra={"accepts": "must be a key of the Secret: letters, digits, dashes, dots and underscores"},
        ),
    ] = "password"
    rotate_after: Annotated[
        Lifetime | None,
        Meta(
            description="After this time the operator makes a second user with another password and writes it into the"
            " connection Secret; the users are called USERNAME-1 and USERNAME-2 by turns. Default: no rotation."
        ),
    ] = None
    overlap: Annotated[
        Lifetime,
        Meta(description="How long the previous user stays valid after a rotation; at most half of rotateAfter."),
    ] = "1d"


class SearchUserSpec(Record):
    """The name of the user, its roles, and where the password is."""

    cluster: Annotated[ClusterReference, Meta(description="The cluster whose database has the user.")]
    username: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^[A-Za-z0-9][-A-Za-z0-9._@]*$",
                max_length=LONGEST_USERNAME,
                extra={"accepts": "must be letters, digits, dashes, dots, underscores and @"},
            ),
        ]
        | None,
        Meta(description="Name of the user. Default: the name of the resource. Not to be changed."),
    ] = None
    roles: Annotated[
        Annotated[list[RoleName], Meta(max_length=50)], Meta(description="Roles of the database that the user has.")
    ] = field(default_factory=list)
    backend_roles: Annotated[
        Annotated[list[RoleName], Meta(max_length=50)] | None,
        Meta(description="For OpenSearch: backend roles, to which role mappings refer."),
    ] = None
    attributes: Annotated[
        Annotated[dict[str, str], Meta(max_length=50)] | None,
        Meta(description="Attributes of the user in OpenSearch, metadata of the user in Elasticsearch."),
    ] = None
    password: Annotated[UserPassword, Meta(description="Where the password comes from.")] = UserPassword()
    connection_secret_name: Annotated[
        SecretName | None,
        Meta(
            description="Name of the Secret that the operator writes for applications: host, port, ca.crt, username,"
            " password and uri. Default: NAME-connection."
        ),
    ] = None
    existing: Annotated[
        Existing,
        Meta(
            description="What happens if the user exists and this resource has not created it: Refuse, or Adopt, which"
            " replaces roles and password."
        ),
    ] = Existing.REFUSE
    deletion_policy: Annotated[
        Retention, Meta(description="Whether the user is deleted in the database with this resource.")
    ] = Retention.DELETE


class UserStatus(Record):
    """One user in the database; a rotation has two for a time."""

    name: Annotated[str, Meta(description="Name of the user in the database.")]
    claim: Annotated[str, Meta(description="Creating or Adopting before the first write, then Owned.")] = ""
    applied: Annotated[str, Meta(description="Digest of what was last written, with the password.")] = ""
    stored: Annotated[str, Meta(description="Digest of the user as the database stored it then.")] = ""
    start_time: Annotated[str, Meta(description="When applications were first given this user.")] = ""
    retirement_time: Annotated[str, Meta(description="When it is deleted; empty for the current user.")] = ""


class SearchUserStatus(Record):
    """What is known of the user; no password and no part of one."""

    observed_generation: Annotated[int, Meta(description="The generation that this status describes.")] = 0
    username: Annotated[str, Meta(description="The user that the connection Secret names.")] = ""
    connection_secret_name: Annotated[str, Meta(description="The Secret for applications.")] = ""
    cluster_uuid: Annotated[str, Meta(description="Identity of the database that has the user.")] = field(
        default="", name="clusterUUID"
    )
    rotation_time: Annotated[str, Meta(description="When the next password is made.")] = ""
    users: Annotated[list[UserStatus], Meta(description="The users in the database.", extra={"map_keys": ["name"]})] = (
        field(default_factory=list)
    )
    activity: Annotated[str, Meta(description="One sentence: what is in progress, or why it waits.")] = ""
    conditions: Annotated[
        list[Condition],
        Meta(description="Ready, Reconciling and Stalled as kstatus defines them.", extra={"map_keys": ["type"]}),
    ] = field(default_factory=list)


class SearchUser(Record):
    """A user of the database of a search cluster, with a Secret for applications."""

    metadata: Metadata
    spec: Annotated[SearchUserSpec, Meta(description="The desired state.")]
    status: Annotated[SearchUserStatus, Meta(description="What is known of the user.")] = SearchUserStatus()
    api_version: str = API_VERSION
    kind: str = "SearchUser"

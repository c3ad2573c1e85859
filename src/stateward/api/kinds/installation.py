"""Installations: a package with values, in a namespace, and the progress of its plans.

The status holds what exists nowhere else: the state from which the objects were created, and the operator's place in a
plan. A successor continues from there.
"""

from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.cluster import Retention
from stateward.api.values.base import API_VERSION, Condition, Json, Metadata, Record


class InstallationSpec(Record):
    """Which package, with which values."""

    package: Annotated[
        str,
        Meta(
            description="Name of the Package in this namespace or, if there is none, of the ClusterPackage.",
            min_length=1,
            max_length=253,
        ),
    ]
    parameters: Annotated[
        Json, Meta(description="Values by the names of the package's parameters; the defaults for all others.")
    ] = field(default_factory=dict)
    service_account_name: Annotated[
        str,
        Meta(
            description="Service account of this namespace whose rights the operator uses to create, read and"
            " remove the objects of the package; empty: the operator's default, which is `default`"
            " unless configured otherwise.",
            max_length=253,
            pattern="^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$",
        ),
    ] = ""
    adopt: Annotated[bool, Meta(description="Adopt existing objects that belong to no other installation.")] = False
    paused: Annotated[bool, Meta(description="Take no new step and revert no drift.")] = False
    deletion_policy: Annotated[
        Retention,
        Meta(
            description="What happens to volume claims, namespaces and CRDs when the package no longer has them"
            " or the installation is deleted."
        ),
    ] = Retention.RETAIN
    step_timeout_seconds: Annotated[
        int,
        Meta(
            description="Seconds that a step of a plan may take before the plan fails; 0: no limit.", ge=0, le=604_800
        ),
    ] = 0


class StateStatus(Record):
    """The package and values of an installation."""

    package: Annotated[str, Meta(description="Name of the Package or ClusterPackage.")]
    digest: Annotated[str, Meta(description="Digest of its files.")]
    version: Annotated[str, Meta(description="Version of the package.")] = ""
    parameters: Annotated[Json, Meta(description="The given values.")] = field(default_factory=dict)
    immutable: Annotated[
        list[str] | None, Meta(description="The parameters that this version of the package does not let change.")
    ] = None


class StepStatus(Record):
    """The progress of a step of a plan."""

    phase: Annotated[str, Meta(description="The phase that the step belongs to.")]
    step: Annotated[str, Meta(description="Name of the step.")]
    stage: Annotated[str, Meta(description="Pending, Running, Waiting, Retrying, Done or Failed.")]
    message: Annotated[str, Meta(description="Why it waits or failed.")] = ""
    start_time: Annotated[str, Meta(description="Time of the first attempt.")] = ""
    failures: Annotated[int, Meta(description="Number of failed attempts.")] = 0
    next_attempt_time: Annotated[str, Meta(description="Time of the next attempt.")] = ""
    finished: Annotated[
        list[str], Meta(description="Jobs and pods of the step that are done; Kubernetes may remove them meanwhile.")
    ] = field(default_factory=list)
    reason: Annotated[
        str, Meta(description="NotAllowed where the installation's service account lacks a right that the step needs.")
    ] = ""


class RunStatus(Record):
    """The last run of a plan."""

    plan: Annotated[str, Meta(description="Name of the plan.")]
    description: Annotated[str, Meta(description="Why it runs, in a sentence.")] = ""
    cause: Annotated[
        str, Meta(description="What started it: Change, Request (a user asked for this plan) or Deletion.")
    ] = ""
    stage: Annotated[str, Meta(description="Running, Done or Failed.")] = ""
    message: Annotated[str, Meta(description="Why it waits or failed.")] = ""
    start_time: Annotated[str, Meta(description="When it began.")] = ""
    completion_time: Annotated[str, Meta(description="When it finished or failed.")] = ""
    target: Annotated[
        StateStatus | None,
        Meta(
            description="The package and values that the installation has when the plan is done; then they are in"
            " `installed`, and absent here."
        ),
    ] = None
    steps: Annotated[
        list[StepStatus], Meta(description="Where each step is.", extra={"map_keys": ["phase", "step"]})
    ] = field(default_factory=list)


class PastRun(Record):
    """A run of a plan that has ended."""

    plan: Annotated[str, Meta(description="Name of the plan.")]
    description: Annotated[str, Meta(description="Why it ran, in a sentence.")] = ""
    version: Annotated[str, Meta(description="Version of the package.")] = ""
    stage: Annotated[str, Meta(description="Done or Failed.")] = ""
    message: Annotated[str, Meta(description="Why it failed.")] = ""
    start_time: Annotated[str, Meta(description="When it began.")] = ""
    completion_time: Annotated[str, Meta(description="When it ended.")] = ""


class RemovedObject(Record):
    """An object of the plan `deploy` that another plan deletes."""

    group: Annotated[str, Meta(description="API group; empty for the core group.")]
    kind: Annotated[str, Meta(description="Kind of the object.")]
    name: Annotated[str, Meta(description="Name of the object.")]


class InstallationStatus(Record):
    """What is, what is going on, and what waits."""

    observed_generation: Annotated[
        int, Meta(description="The generation of the resource that this status describes.")
    ] = 0
    activity: Annotated[str, Meta(description="One sentence: what is in progress.")] = ""
    installed: Annotated[StateStatus | None, Meta(description="The package and values of the objects.")] = None
    run: Annotated[RunStatus | None, Meta(description="The plan that runs, or the last one that did.")] = None
    last_request: Annotated[str, Meta(description="The last request for a plan that was accepted.")] = ""
    history: Annotated[list[PastRun], Meta(description="The last runs, the newest first.")] = field(
        default_factory=list
    )
    removed: Annotated[
        list[RemovedObject],
        Meta(
            description="Objects of the plan `deploy` that another plan deletes. Drift correction does not recreate"
            " them; a plan that applies them does.",
            extra={"map_keys": ["group", "kind", "name"]},
        ),
    ] = field(default_factory=list)
    conditions: Annotated[
        list[Condition],
        Meta(description="Ready, Reconciling and Stalled as kstatus defines them.", extra={"map_keys": ["type"]}),
    ] = field(default_factory=list)


class Installation(Record):
    """A package, installed in a namespace."""

    metadata: Metadata
    spec: Annotated[InstallationSpec, Meta(description="The desired state.")]
    status: Annotated[InstallationStatus, Meta(description="The observed state, and what is in progress.")] = (
        InstallationStatus()
    )
    api_version: str = API_VERSION
    kind: str = "Installation"

"""Which version of the dashboards may run now, in how many instances, and why not the desired one.

The rules, each against one disaster:

* Never ahead of the database: dashboards of a later version do not work with it, and have already migrated their saved
  objects. They follow once all members have run the new version.
* Never back: an earlier version cannot read saved objects that a later one has migrated.
* Never two versions at once: both would write the same saved objects while one of them migrates them. So all instances
  stop before the first one of the new version starts.
* No judgement without an answer: a status that cannot be read is neither available nor unavailable.
"""

from dataclasses import dataclass
from enum import Enum

from stateward.api.values.version import Version, parse_version


class Health(Enum):
    """What the instances report about themselves."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Asked:
    """What the spec asks for, and what the database runs."""

    replicas: int
    cluster: str
    """The version that the spec asks for the cluster."""
    deployed: str
    """The version that was last deployed on all members; empty before that."""
    version: str | None = None
    """The version that the spec asks for the dashboards; None: that of the cluster."""
    derivable: bool = True
    """Whether the image of another version than the desired one is known."""


@dataclass(frozen=True)
class Seen:
    """What was observed, by live reads."""

    version: str = ""
    """The version in the Deployment's template; empty if there is no Deployment."""
    replicas: int = 0
    """Instances that the Deployment asks for."""
    total: int = 0
    """Pods that its controller counts."""
    updated: int = 0
    """Those of them with the present template."""
    ready: int = 0
    """Those of them that are ready."""
    observed: bool = True
    """Whether its controller has observed the present spec."""
    pods: int = 0
    """Pods that exist, also those that are ending."""
    trouble: str = ""
    """What keeps a pod from running."""
    last: str = ""
    """The latest version that the status has recorded."""
    health: Health = Health.UNKNOWN
    report: str = ""
    """What they say, or why they cannot be asked."""


@dataclass(frozen=True)
class Decision:
    """The Deployment as it is to be now, and what the dashboards wait for."""

    version: str
    """Empty: nothing is created yet. Otherwise the version for the template."""
    replicas: int = 0
    available: bool = False
    """Whether all instances of the desired number serve, and report that they are available."""
    reason: str = ""
    message: str = ""
    frozen: bool = False
    """Whether the Deployment stays as it is, because its image would be unknown."""


@dataclass(frozen=True)
class Goal:
    """The version that may run, and why it is not the desired one; without a version nothing may start."""

    version: str
    reason: str = ""
    message: str = ""


def decide(asked: Asked, seen: Seen) -> Decision:
    """Return what the Deployment is to be now."""
    goal = goal_of(asked, seen.version)
    if not goal.version:
        return Decision("", reason=goal.reason, message=goal.message)
    newest = max(seen.version, seen.last, key=_parsed)
    if newest and _parsed(goal.version) < _parsed(newest):
        text = f"{goal.version} cannot read the saved objects, which {newest} has migrated"
        goal = Goal(seen.version, "DashboardsCannotGoBack", text)
        if not goal.version:
            return Decision("", reason=goal.reason, message=goal.message)
    if not asked.derivable and goal.version != (asked.version or asked.cluster):
        text = f"the image does not show its version, so that of {goal.version} is not known, and nothing changes"
        text = f"{text}: {goal.message}" if goal.message else text
        return Decision(seen.version, seen.replicas, reason="DashboardsImageWithoutVersion", message=text, frozen=True)
    if seen.version and goal.version != seen.version:
        if seen.replicas or seen.total or seen.pods or not seen.observed:
            text = f"all instances of {seen.version} stop before {goal.version} migrates the saved objects"
            return Decision(seen.version, 0, reason="DashboardsStopping", message=text)
        return Decision(goal.version, asked.replicas, reason="DashboardsStarting", message=f"{goal.version} starts")
    return _progress(asked, seen, goal)


def goal_of(asked: Asked, current: str) -> Goal:
    """Return the version that may run beside the database; `current` is the one that runs."""
    deployed = parse_version(asked.deployed)
    if deployed is None:
        return Goal(current, "DashboardsWaitForCluster", "they start once all members of the new cluster have joined")
    upgrading = _parsed(asked.cluster) > deployed
    want = asked.version or (asked.cluster if upgrading else asked.deployed)
    if _parsed(want) > deployed:
        if not upgrading:
            return Goal(
                current, "DashboardsAhead", f"the cluster runs {deployed}, and {want} works with {want} or later only"
            )
        stays = f"they stay at {current}" if current else f"{want} starts"
        until = f" until all members run {asked.cluster}" if current else f" once all members run {asked.cluster}"
        return Goal(current, "DashboardsWaitForUpgrade", f"{stays}{until}")
    if _parsed(want).major != deployed.major:
        return Goal(current, "DashboardsTooOld", f"{want} does not work with {deployed}, which the cluster runs")
    return Goal(want)


def _progress(asked: Asked, seen: Seen, goal: Goal) -> Decision:
    """Return the state of dashboards whose version is the one that may run."""
    version, wanted = goal.version, asked.replicas
    rolled = (
        seen.version == version
        and seen.observed
        and seen.replicas == wanted
        and seen.total == seen.updated == seen.ready == wanted
    )
    if not rolled:
        if seen.trouble:
            return Decision(version, wanted, reason="DashboardsFailing", message=seen.trouble)
        text = (
            f"{min(seen.ready, wanted)} of {wanted} instances of {version} are ready"
            if wanted
            else "the instances stop"
        )
        return Decision(version, wanted, reason="DashboardsStarting", message=text)
    if wanted and seen.health is Health.UNAVAILABLE:
        return Decision(version, wanted, reason="DashboardsUnavailable", message=seen.report)
    if wanted and seen.health is Health.UNKNOWN:
        return Decision(version, wanted, reason="DashboardsSilent", message=seen.report or "they were not asked yet")
    return Decision(version, wanted, available=True, reason=goal.reason, message=goal.message)


def _parsed(version: str) -> Version:
    return parse_version(version) or Version(0, 0, 0)

"""After a failed plan: reverted changes are reverted, and no step is retried in vain."""

from typing import Any

import pytest

from stateward.api.kinds.installation import InstallationStatus, RunStatus, StateStatus
from stateward.packages.format.records import Package
from stateward.packages.plans.choice import State
from stateward.packages.plans.decision import Begin, Stop, decide
from tests.unit.packages.samples import OPERATOR, shop

PHASE = "    phases: [{name: p, steps: [{name: s, tasks: [app]}]}]\n"
NEW = "2"


def package(*plans: str) -> Package:
    return shop({"operator.yaml": OPERATOR + "".join(f"  {name}:\n{PHASE}" for name in plans)})


def failed(old: Package, plan: str, digest: str | None = None, /, **values: Any) -> InstallationStatus:
    """Return the status after a plan that was to lead from an installation of no values to these."""
    before = StateStatus(package="shop", digest=old.digest)
    target = StateStatus(package="shop", digest=digest or old.digest, parameters=values)
    return InstallationStatus(installed=before, run=RunStatus(plan=plan, stage="Failed", message="no", target=target))


def test_an_upgrade_that_failed_is_reverted_when_the_version_of_before_is_wanted() -> None:
    old = package("upgrade")
    found = decide(old, failed(old, "upgrade", NEW), State(old.digest, {}), "")
    assert isinstance(found, Begin)
    assert (found.chosen.plan, found.chosen.state) == ("upgrade", State(old.digest, {}))


def test_values_whose_plan_failed_are_reverted_by_that_plan_and_others_come_after_it() -> None:
    old = package("update")
    status = failed(old, "update", COUNT=9)
    found = decide(old, status, State(old.digest, {"FILE": "other"}), "")
    assert isinstance(found, Begin)
    assert (found.chosen.plan, found.chosen.state) == ("update", State(old.digest, {}))


@pytest.mark.parametrize("wanted", [{"COUNT": 9}])
def test_a_failed_and_still_requested_change_waits_for_a_user(wanted: dict[str, Any]) -> None:
    old = package("update")
    found = decide(old, failed(old, "update", COUNT=9), State(old.digest, wanted), "")
    assert isinstance(found, Stop)
    assert found.reason == "PlanFailed"


def test_a_plan_that_was_requested_and_failed_is_not_reverted() -> None:
    old = package()
    found = decide(old, failed(old, "backup"), State(old.digest, {}), "")
    assert isinstance(found, Stop)
    assert found.reason == "PlanFailed"


def test_taking_back_that_fails_too_is_not_repeated() -> None:
    old = package("update")
    status = failed(old, "update", COUNT=9)
    assert isinstance(decide(old, status, State(old.digest, {}), ""), Begin)
    assert isinstance(decide(old, failed(old, "update"), State(old.digest, {}), ""), Stop)

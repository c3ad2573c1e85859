"""After a failed plan: reverted changes are reverted, and no step is retried in vain."""

from typing import Any

import pytest
from msgspec.structs import replace

from stateward.api.kinds.installation import InstallationStatus, RunStatus, StateStatus
from stateward.packages.format.records import Package
from stateward.packages.plans.choice import State
from stateward.packages.plans.decision import Begin, GoOn, Rest, Stop, accepted, decide, follows
from stateward.packages.plans.run_record import state_status
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


@pytest.mark.parametrize(
    ("cause", "wish", "kept"),
    [
        ("Request", "", True),
        ("Request", "nonsense/1", True),
        ("Request", "cleanup/other", True),
        ("Change", "", False),
        ("", "", False),
    ],
)
def test_only_a_change_that_has_failed_half_done_leaves_what_is_installed_without_care(
    cause: str, wish: str, *, kept: bool
) -> None:
    old = package("cleanup")
    status = failed(old, "backup")
    assert status.run is not None
    status = replace(status, run=replace(status.run, cause=cause))
    found = decide(old, status, State(old.digest, {}), wish)
    assert isinstance(found, Rest if kept else Stop)
    assert not isinstance(found, Rest) or found.problem is not None


def test_a_failed_change_that_a_user_has_requested_again_is_half_done_all_the_same() -> None:
    """Disaster prevented: objects that the new version has removed are recreated beside those that it has made."""
    old = package("update")
    status = failed(old, "update", COUNT=9)
    assert status.run is not None
    status = replace(status, run=replace(status.run, cause="Request"))
    assert isinstance(decide(old, status, State(old.digest, {"COUNT": 9}), ""), Stop)


def test_an_edit_that_is_refused_before_anything_is_installed_leaves_nothing_to_keep() -> None:
    found = decide(package(), InstallationStatus(), State("1", {"NO": "such"}), "")
    assert isinstance(found, Stop)


def test_taking_back_that_fails_too_is_not_repeated() -> None:
    old = package("update")
    status = failed(old, "update", COUNT=9)
    assert isinstance(decide(old, status, State(old.digest, {}), ""), Begin)
    assert isinstance(decide(old, failed(old, "update"), State(old.digest, {}), ""), Stop)


def test_a_version_that_makes_a_parameter_immutable_may_still_change_it_and_never_again_after_that() -> None:
    old = package("upgrade")
    new = shop({"operator.yaml": OPERATOR + f"  upgrade:\n{PHASE}"}, params=("default: slow}", "immutable: true}"))
    status = InstallationStatus(installed=state_status(old, "shop", {"MODE": "slow", "STORAGE": "1Gi"}))
    wanted = State(new.digest, {"MODE": "fast", "STORAGE": "1Gi"})
    assert isinstance(decide(new, status, wanted, ""), Begin)
    done = InstallationStatus(installed=state_status(new, "shop", wanted.values))
    found = decide(new, done, State(new.digest, {"MODE": "slow", "STORAGE": "1Gi"}), "")
    assert isinstance(found, Rest)
    assert found.problem is not None
    assert found.problem.values == "MODE: 'slow': cannot be changed once it is installed; it is 'fast'"


def test_a_status_without_the_record_of_immutable_parameters_still_fixes_the_values_it_has() -> None:
    old = package()
    status = InstallationStatus(
        installed=StateStatus(package="shop", digest=old.digest, parameters={"STORAGE": "1Gi", "COUNT": 2})
    )
    assert isinstance(decide(old, status, State(old.digest, {"STORAGE": "1Gi", "COUNT": 3}), ""), Begin)
    found = decide(old, status, State(old.digest, {"STORAGE": "2Gi", "COUNT": 2}), "")
    assert isinstance(found, Rest)
    assert found.problem is not None


def test_a_failed_upgrade_says_what_waits_for_it() -> None:
    new = package("upgrade")
    before = StateStatus(package="shop", digest="1", parameters={"FILE": "old"})
    target = StateStatus(package="shop", digest=new.digest, parameters={"FILE": "old"})
    run = RunStatus(plan="upgrade", stage="Failed", message="no", target=target)
    found = decide(new, InstallationStatus(installed=before, run=run), State(new.digest, {"FILE": "new"}), "")
    assert isinstance(found, Stop)
    assert found.message == "plan upgrade has failed: no; plan backup for FILE waits for it"


def test_a_running_upgrade_goes_on_and_says_why_the_rest_cannot_follow() -> None:
    rate = ("default: 0.5}", "default: 0.5, trigger: scale}")
    new = shop({"operator.yaml": OPERATOR + f"  upgrade:\n{PHASE}  scale:\n{PHASE}"}, params=rate)
    target = StateStatus(package="shop", digest=new.digest)
    run = RunStatus(plan="upgrade", stage="Running", target=target)
    status = InstallationStatus(installed=StateStatus(package="shop", digest="1"), run=run)
    found = decide(new, status, State(new.digest, {"FILE": "new", "RATE": 2}), "")
    assert isinstance(found, GoOn)
    assert found.problem is not None
    assert (found.problem.reason, "one after the other" in found.problem.message) == ("ParametersDisagree", True)
    assert follows(new, run, State(new.digest, {"FILE": "new"})) == "plan backup follows: other values of FILE"
    assert follows(new, run, State(new.digest, {})) == ""


def requested(old: Package, plan: str, cause: str = "Request") -> InstallationStatus:
    """Return the status while a requested plan runs."""
    now = StateStatus(package="shop", digest=old.digest)
    return InstallationStatus(
        installed=now, run=RunStatus(plan=plan, stage="Running", cause=cause, target=now), last_request=f"{plan}/web"
    )


@pytest.mark.parametrize(
    ("plan", "cause", "due"),
    [
        ("backup", "Request", True),
        ("backup", "Change", False),
        ("upgrade", "Request", False),
        ("cleanup", "Request", False),
        ("restore", "Request", False),
    ],
)
def test_a_request_is_due_again_if_its_plan_gave_way_to_another(plan: str, cause: str, *, due: bool) -> None:
    """Not after a cleanup, which would remove what has come since, nor for a plan that does not exist any more."""
    new = package("upgrade", "cleanup")
    found = decide(new, requested(new, plan, cause), State(NEW, {}), "")
    assert isinstance(found, Begin)
    assert found.chosen.plan == "upgrade"
    assert accepted(new, requested(new, plan, cause), found) == ("" if due else f"{plan}/web")


def test_thousands_of_wrong_values_are_no_status_that_cannot_be_written() -> None:
    """Three conditions had two megabytes each, which no API server stores, so that each round failed."""
    wanted = State(shop().digest, {f"NO_SUCH_{number}": 1 for number in range(20_000)})
    found = decide(shop(), InstallationStatus(), wanted, "")
    assert isinstance(found, Stop)
    assert len(found.message) < 30_000
    assert found.message.endswith("19980 more")
    named = decide(shop(), InstallationStatus(), State(shop().digest, {"x" * 100_000: 1}), "")
    assert isinstance(named, Stop)
    assert len(named.message) < 30_000

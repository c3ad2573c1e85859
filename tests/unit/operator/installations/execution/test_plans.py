"""Creation of installations and progress of their plans, with the shipped controller on a server in memory."""

import asyncio
from typing import Any

import pytest

from stateward.api.values.problem import errors
from stateward.packages.format.reading import read_package
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.review.checks import check_package
from stateward.simulation.apiserver.store import Event
from tests.unit.operator.installations.world import World
from tests.unit.packages.samples import OPERATOR, PARAMS, files


@pytest.fixture
async def world() -> World:
    return World()


async def test_an_installation_runs_its_deploy_plan_and_reports_it(world: World) -> None:
    world.package("shop-1.2.0")
    world.install("shop-1.2.0", COUNT=3)
    async with world.operator():
        await world.until(world.ready)
    assert world.there("Deployment", "web")["spec"]["replicas"] == 3
    assert world.there("ConfigMap", "web-config")["data"]["mode"] == "slow"
    assert world.get("Service", "web-extra") is None
    assert world.get("Job", "deploy-job") is None  # its last step deletes it
    status = world.status()
    assert status["installed"]["version"] == "1.2.0"
    assert [step["stage"] for step in status["run"]["steps"]] == ["Done", "Done", "Done"]
    assert [(run["plan"], run["stage"]) for run in status["history"]] == [("deploy", "Done")]


async def test_a_step_waits_for_health_and_says_for_what(world: World) -> None:
    world.package("shop-1.2.0")
    world.healthy = False
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(lambda: "pods" in str(world.status().get("activity", "")) or world.status().get("activity"))
        await world.until(lambda: "Deployment" in world.status()["activity"])
        assert world.condition("Ready")["status"] == "False"
        assert world.condition("Reconciling")["status"] == "True"
        assert world.get("Job", "deploy-job") is None
        world.roll_out()
        await world.until(world.ready)


async def test_a_missing_package_is_reported_and_ends_the_wait_when_it_comes(world: World) -> None:
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("reason") == "PackageMissing")
        world.package("shop-1.2.0")
        await world.until(world.ready)


async def test_wrong_values_are_named_and_begin_nothing(world: World) -> None:
    world.package("shop-1.2.0")
    world.install("shop-1.2.0", MODE="never", COUNT="many")
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("reason") == "ParametersInvalid")
        said = world.condition("Stalled")["message"]
        assert "MODE" in said
        assert "slow, fast" in said
        assert "COUNT" in said
        assert world.get("Deployment", "web") is None
        world.install("shop-1.2.0", MODE="fast")
        await world.until(world.ready)


async def test_wrong_values_are_named_also_while_a_plan_runs_that_continues_without_them(
    world: World,
) -> None:
    world.package("shop-1.2.0")
    world.healthy = False
    world.install("shop-1.2.0", COUNT=3)
    async with world.operator():
        await world.until(lambda: "Deployment" in world.status().get("activity", ""))
        world.install("shop-1.2.0", COUNT="many")
        await world.until(lambda: world.condition("Stalled").get("reason") == "ParametersInvalid")
        assert world.condition("Reconciling")["status"] == "False"
        assert "plan deploy" in world.status()["activity"]
        world.install("shop-1.2.0", COUNT=4)
        await world.until(lambda: world.condition("Stalled")["status"] == "False")
        world.roll_out()
        await world.until(world.ready)
    assert world.there("Deployment", "web")["spec"]["replicas"] == 4


async def test_an_object_of_another_owner_is_taken_over_only_on_request(world: World) -> None:
    world.package("shop-1.2.0")
    other: dict[str, Any] = {"metadata": {"name": "web-config"}, "data": {"mode": "mine"}}
    world.server.create("/configmaps", "prod", other)
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(lambda: "spec.adopt" in world.condition("Stalled").get("message", ""))
        assert world.there("ConfigMap", "web-config")["data"] == {"mode": "mine"}
        world.install("shop-1.2.0", spec={"adopt": True})
        await world.until(world.ready)
        assert world.there("ConfigMap", "web-config")["data"]["mode"] == "slow"


async def test_what_a_plan_has_just_made_is_not_made_once_more_when_it_rests(world: World) -> None:
    world.package("shop-1.2.0")
    world.install("shop-1.2.0", COUNT=3)
    applied: list[str] = []

    class Counting:
        """A client that counts what is applied."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(world.api, name)

        async def apply(self, resource: Any, key: Any, body: Any, options: Any) -> Any:
            applied.append(f"{resource.kind} {key.name}")
            return await world.api.apply(resource, key, body, options)

    async with world.operator(Counting()):
        await world.until(world.ready)
        made = len(applied)
        world.annotate("some/note", "1")  # A user triggers another reconciliation.
        await asyncio.sleep(30)
        assert applied[made:] == []


async def test_a_later_version_may_add_an_immutable_parameter(world: World) -> None:
    world.package("shop-1.2.0")
    world.install("shop-1.2.0")
    added = ("- {name: RATE", "- {name: CLASS, immutable: true}\n- {name: RATE")
    world.package("shop-1.3.0", files(None, params=added, operator=("1.2.0", "1.3.0")))
    async with world.operator():
        await world.until(world.ready)
        world.install("shop-1.3.0", CLASS="fast")
        await world.until(world.ready)
        world.install("shop-1.3.0", CLASS="slow")
        await world.until(lambda: world.condition("Stalled").get("reason") == "ParametersInvalid")
    assert world.status()["installed"]["immutable"] == ["CLASS", "STORAGE"]


async def test_values_that_give_two_objects_one_name_end_the_plan_with_the_reason(world: World) -> None:
    """The later of the two was applied, and the other was lost in silence."""
    second = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Params.FILE }}}\n"
    world.package("shop-1.2.0", files({"templates/extra.yaml": second}))
    world.install("shop-1.2.0", EXTRA=True, FILE="web-config")
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
        said = world.condition("Stalled")["message"]
        assert "templates/extra.yaml: ConfigMap web-config is rendered twice in step main/app, also by" in said
        assert world.get("Deployment", "web") is None
        world.install("shop-1.2.0", EXTRA=True, FILE="other")
        await world.until(world.ready)


async def test_a_package_that_loses_something_is_refused_with_the_reason(world: World) -> None:
    world.package("shop-1.2.0", operator=("tasks: [away]", "tasks: [away, job]"))
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("reason") == "PackageBroken")
        assert "Job deploy-job is applied and deleted in step main/away" in world.condition("Stalled")["message"]


async def test_a_package_that_works_is_installed_with_the_mistakes_in_what_it_does_not_use(world: World) -> None:
    """`verify` refuses it; an operator that learned to do so must not stop what runs."""
    named = ("  backup:\n", "  back/up:\n"), ("trigger: backup", "trigger: back/up")
    untaken = ("  mode:", '{{ if eq .Params.EXTRA "true" }}{{ .Params.LOST }}{{ end }}\n  mode:')
    changed = files(None, operator=named[0], params=named[1], config=untaken)
    assert len(errors(check_package(read_package(changed)))) == 2
    world.package("shop-1.2.0", changed)
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(world.ready)


async def test_an_upgrade_with_a_value_of_another_plan_runs_both_and_is_ready_only_after_the_second(
    world: World,
) -> None:
    """Only the plan of the upgrade ran, with the new value, and the plan of the parameter never did."""
    world.package("shop-1.2.0")
    world.package("shop-1.3.0", files(None, operator=("1.2.0", "1.3.0")))
    world.install("shop-1.2.0", FILE="old.sql")
    early: list[Any] = []

    def heard(kind: str, event: Event) -> None:
        if kind != "stateward.dev/swinstallations" or event.new is None:
            return
        status = event.new.doc.get("status", {})
        ready = {c["type"]: c["status"] for c in status.get("conditions", [])}.get("Ready") == "True"
        seen = status.get("observedGeneration") == event.new.meta["generation"]
        if ready and seen and status["installed"]["parameters"]["FILE"] != event.new.doc["spec"]["parameters"]["FILE"]:
            early.append(status)

    async with world.operator():
        await world.until(world.ready)
        world.store.subscribers.append(heard)
        world.install("shop-1.3.0", FILE="new.sql")
        await world.until(world.ready)
    assert early == []
    status = world.status()
    assert [(run["plan"], run["stage"], run["version"]) for run in status["history"]] == [
        ("backup", "Done", "1.3.0"),
        ("deploy", "Done", "1.3.0"),
        ("deploy", "Done", "1.2.0"),
    ]
    assert status["history"][1]["description"] == "another version of the package is desired; then plan backup for FILE"
    assert status["history"][0]["description"] == "other values of FILE"
    assert status["installed"]["parameters"]["FILE"] == "new.sql"
    backup = world.there("Job", "backup-job")["spec"]["template"]["spec"]["containers"][0]
    assert backup["args"] == ["new.sql"]


async def test_the_values_are_once_in_the_status_of_an_installation_that_matches_its_spec(world: World) -> None:
    """Large values count towards the size that an object may have, and the spec has them too."""
    world.package("shop-1.2.0")
    world.install("shop-1.2.0", SETTINGS={"note": "once" * 8})
    async with world.operator():
        await world.until(world.ready)
        assert str(world.status()).count("once" * 8) == 1
        world.annotate(ANNOTATION_TRIGGER, "backup/1")
        await world.until(lambda: len(world.status()["history"]) == 2 and world.ready())
        assert str(world.status()).count("once" * 8) == 1
        world.install("shop-1.2.0", SETTINGS={"note": "twice" * 8})
        await world.until(lambda: len(world.status()["history"]) == 3 and world.ready())
        assert str(world.status()).count("twice" * 8) == 1
        assert world.status()["installed"]["parameters"]["SETTINGS"] == {"note": "twice" * 8}


@pytest.mark.parametrize("asked", ["2", 2])
async def test_a_value_that_was_given_when_it_was_the_default_is_kept_by_an_upgrade_with_another_default(
    world: World, asked: object
) -> None:
    """The disaster this prevents: an upgrade takes the new default for the current value, and changes a size twice."""
    scale = "plans:\n  scale: {phases: [{name: main, steps: [{name: app, tasks: [app]}]}]}\n"
    trigger = ("{name: COUNT, type: integer, default: 2,", "{name: COUNT, type: integer, default: 5, trigger: scale,")
    world.package("shop-1.2.0")
    world.package(
        "shop-1.3.0",
        files(
            {
                "operator.yaml": OPERATOR.replace('"1.2.0"', '"1.3.0"').replace("plans:\n", scale),
                "params.yaml": PARAMS.replace(*trigger),
            }
        ),
    )
    sizes: list[int] = []
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(world.ready)
        world.install("shop-1.2.0", COUNT=asked)
        await asyncio.sleep(10)
        assert world.ready()
        assert len(world.status()["history"]) == 1
        assert world.status()["installed"]["parameters"]["COUNT"] == asked
        world.install("shop-1.2.0", COUNT="many")
        await world.until(lambda: world.condition("Stalled").get("reason") == "ParametersInvalid")
        assert world.status()["installed"]["parameters"]["COUNT"] == asked

        def seen(kind: str, event: Event) -> None:
            if kind == "apps/deployments" and event.new is not None:
                sizes.append(event.new.doc["spec"]["replicas"])

        world.store.subscribers.append(seen)
        world.install("shop-1.3.0", COUNT=asked)
        await world.until(lambda: world.status()["installed"]["version"] == "1.3.0" and world.ready())
    assert [run["plan"] for run in world.status()["history"]] == ["deploy", "deploy"]
    assert set(sizes) == {2}


async def test_the_end_of_a_plan_is_not_ready_where_the_parameters_that_follow_need_different_plans(
    world: World,
) -> None:
    """Tools that wait for Ready would take the change for made."""
    scale = "plans:\n  scale: {phases: [{name: main, steps: [{name: app, tasks: [app]}]}]}\n"
    triggered = PARAMS.replace("{name: COUNT,", "{name: COUNT, trigger: scale,")
    content = files({"operator.yaml": OPERATOR.replace("plans:\n", scale), "params.yaml": triggered})
    world.package("shop-1.2.0", content)
    world.install("shop-1.2.0")
    said: list[bool] = []
    async with world.operator():
        await world.until(world.ready)
        world.healthy = False
        world.annotate(ANNOTATION_TRIGGER, "backup/1")
        await world.until(lambda: world.status()["run"]["plan"] == "backup")
        world.install("shop-1.2.0", COUNT=3, MODE="fast")
        world.store.subscribers.append(lambda kind, _: said.append("swinst" in kind and world.ready()))
        world.roll_out()
        await world.until(lambda: world.condition("Stalled").get("reason") == "ParametersDisagree")
    assert not any(said)

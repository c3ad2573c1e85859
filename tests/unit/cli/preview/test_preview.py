"""`plan` tells each member's effect, the order, and what would not work, from the planner that the operator runs."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.cli.preview.forecast import forecast
from stateward.cli.preview.inputs import PlanInputs, with_recorded_database
from stateward.cli.preview.preview import Kind, Preview, preview
from stateward.cli.shared.screen import show
from stateward.forecast.durations import Durations
from stateward.planning.model.observation import Database, Observation, Unknown
from tests.unit.cli.clusters import DATA, NOW, SPEC, changed, new, running, typed

Edit = Callable[[dict[str, Any]], object]

FORECAST = """\
logs  OpenSearchCluster in namespace default, 2.17.1 → 2.19.5

MEMBER           EFFECT    MODE     TAKES  BECAUSE
logs-gateway-0   recreate  rolling  70 s   version
logs-hot-0       recreate  rolling  70 s   version
logs-hot-1       recreate  rolling  70 s   version
logs-hot-2       recreate  rolling  70 s   version
logs-managers-0  recreate  rolling  70 s   version
logs-managers-1  recreate  rolling  70 s   version
logs-managers-2  recreate  rolling  70 s   version

ORDER
  1. +0:01 recreate logs-hot-2 (to apply version)
  2. +1:17 recreate logs-hot-1 (to apply version)
  3. +2:33 recreate logs-hot-0 (to apply version)
  4. +3:49 recreate logs-gateway-0 (to apply version)
  5. +5:00 recreate logs-managers-2 (to apply version)
  6. +6:12 recreate logs-managers-1 (to apply version)
  7. +7:24 recreate logs-managers-0 (to apply version)

TIME
  about 9 min, if all goes well
  not in it: pulling an image that a Kubernetes node does not have, and data written while a member is unavailable

all 7 members would change; nothing was changed yet
"""


def effects(shown: Preview) -> dict[str, Kind]:
    """Return the effect of each member that has one."""
    return {change.name: change.effect for change in shown.members if change.effect is not Kind.NONE}


def order(shown: Preview) -> list[str]:
    """Return the steps as words."""
    return [f"{step.does} {' '.join(step.members)}" for step in shown.steps]


def test_an_upgrade_rolls_data_first_and_the_elected_manager_last(capsys: pytest.CaptureFixture[str]) -> None:
    observed = changed(lambda spec: spec.update(version="2.19.5"))
    shown = preview(observed, NOW)
    show(forecast(look_at(observed), shown))
    assert capsys.readouterr().out == FORECAST
    assert shown.goes_through


def look_at(observed: Observation, cluster: Cluster | None = None) -> PlanInputs:
    return PlanInputs(cluster or typed(SPEC, "2.17.1"), observed, (), (), exists=True)


def test_an_unchanged_spec_changes_no_member() -> None:
    shown = preview(running(), NOW)
    assert (effects(shown), shown.steps, shown.goes_through) == ({}, (), True)


def test_a_setting_recreates_the_members_of_its_pool_and_no_others() -> None:
    shown = preview(changed(lambda spec: spec["pools"][1].update(config={"path.repo": "/backup"})), NOW)
    assert effects(shown) == dict.fromkeys(("logs-hot-0", "logs-hot-1", "logs-hot-2"), Kind.RECREATE)
    assert {change.because for change in shown.members if change.effect is not Kind.NONE} == {"config/path.repo"}


def test_a_setting_keeps_the_pods_that_have_agents_and_the_way_ends() -> None:
    observed = changed(lambda spec: spec.update(config={"path.repo": "/snapshots"}))
    members = tuple(replace(m, pod=replace(m.pod, agent=True) if m.pod else None) for m in observed.members)
    shown = preview(replace(observed, members=members), NOW)
    assert set(effects(shown).values()) == {Kind.RESTART}
    assert {change.mode for change in shown.members} == {"rolling"}
    assert order(shown)[0] == "restart the process of logs-hot-2"
    assert shown.steps[0].why == "to apply config/path.repo"
    assert all(change.seconds for change in shown.members), "how long each is away is known"
    assert shown.goes_through


def test_several_changes_in_one_edit_are_one_restart_per_member() -> None:
    def edit(spec: dict[str, Any]) -> None:
        spec.update(version="2.19.5", config={"path.repo": "/backup"})

    shown = preview(changed(edit), NOW)
    assert sorted(name for step in shown.steps for name in step.members) == sorted(effects(shown))


def test_a_shrink_moves_the_data_first() -> None:
    shown = preview(changed(lambda spec: spec["pools"][1].update(replicas=2)), NOW)
    assert effects(shown) == {"logs-hot-2": Kind.REMOVE}
    assert order(shown) == ["move the data away from logs-hot-2", "let go logs-hot-2"]


def test_managers_leave_one_at_a_time() -> None:
    shown = preview(changed(lambda spec: spec["pools"][0].update(replicas=1)), NOW)
    assert order(shown) == ["let go logs-managers-2", "let go logs-managers-1"]


def test_a_shrink_below_the_number_of_copies_is_refused() -> None:
    shown = preview(changed(lambda spec: spec["pools"][1].update(replicas=1)), NOW)
    assert not shown.goes_through
    assert {refusal.reason for refusal in shown.refused} == {"ShrinkRefused"}
    assert "2 copies" in shown.refused[0].message


def test_a_downgrade_is_refused_and_restarts_no_member() -> None:
    shown = preview(changed(lambda spec: spec.update(version="2.11.0")), NOW)
    assert effects(shown) == {}
    assert [(r.subject, r.reason) for r in shown.refused] == [("spec.version", "UpgradeRefused")]


def test_a_larger_volume_grows_in_place() -> None:
    shown = preview(changed(lambda spec: spec["pools"][1]["storage"].update(size="40Gi")), NOW)
    assert effects(shown) == dict.fromkeys(("logs-hot-0", "logs-hot-1", "logs-hot-2"), Kind.RELOAD)
    assert [(v.member, v.before >> 30, v.after >> 30) for v in shown.volumes] == [
        ("logs-hot-0", 20, 40),
        ("logs-hot-1", 20, 40),
        ("logs-hot-2", 20, 40),
    ]


def test_a_smaller_volume_replaces_member_by_member() -> None:
    shown = preview(changed(lambda spec: spec["pools"][1]["storage"].update(size="10Gi")), NOW)
    assert effects(shown)["logs-hot-0"] is Kind.REPLACE
    assert order(shown)[:3] == ["create logs-hot-3", "move the data away from logs-hot-0", "let go logs-hot-0"]


def test_a_renamed_pool_is_new_in_data_over_old_out() -> None:
    shown = preview(changed(lambda spec: spec["pools"][1].update(name="warm")), NOW)
    old, fresh = "logs-hot-0 logs-hot-1 logs-hot-2", "logs-warm-0 logs-warm-1 logs-warm-2"
    assert order(shown) == [f"create {fresh}", f"move the data away from {old}", f"let go {old}"]


def test_a_new_cluster_is_made_at_once_and_formed_on_one_member() -> None:
    shown = preview(new(), NOW)
    assert set(effects(shown).values()) == {Kind.CREATE}
    assert order(shown)[-1] == "form the cluster on logs-managers-0"


def test_a_member_that_starts_and_forms_the_cluster_takes_the_time_once() -> None:
    shown = preview(new(), NOW)
    whole = shown.seconds
    assert whole is not None
    assert all(change.seconds is not None and change.seconds <= whole for change in shown.members)


def test_a_single_copy_moves_before_its_member_restarts() -> None:
    observed = changed(lambda spec: spec["pools"][1].update(config={"path.repo": "/b"}), running(copies=1))
    assert order(preview(observed, NOW))[0] == "move single copies away from logs-hot-2"


def test_a_change_that_would_wait_has_no_end(capsys: pytest.CaptureFixture[str]) -> None:
    start = running()
    broken = tuple(replace(m, pod=None, workload=None) if m.name == "logs-managers-1" else m for m in start.members)
    observed = changed(lambda spec: spec["pools"][1].update(replicas=1), replace(start, members=broken))
    shown = preview(observed, NOW)
    show(forecast(look_at(observed), shown))
    assert shown.seconds is None
    assert "the duration is not known: it would wait before its end" in capsys.readouterr().out


def test_larger_shards_take_longer_to_move() -> None:
    start = running()
    assert isinstance(start.database, Database)
    large = tuple(replace(unit, size=40 * 2**30) for unit in start.database.units)
    edit = changed(lambda spec: spec["pools"][1].update(replicas=2), start)
    slow = preview(replace(edit, database=replace(start.database, units=large)), NOW)
    fast = preview(edit, NOW)
    assert order(slow) == order(fast)
    assert slow.seconds is not None
    assert fast.seconds is not None
    # Two shards have no place elsewhere, four copies of 40 GiB go to two nodes at 40 MiB/s each.
    assert 2 * 2**10 <= slow.seconds <= 4 * 2**10
    assert fast.seconds < 60


def test_a_slower_start_is_a_longer_roll_out() -> None:
    observed = changed(lambda spec: spec.update(version="2.19.5"))
    slow = preview(observed, NOW, Durations(start=60.0, starts={"hot": 600.0}))
    fast = preview(observed, NOW, Durations(start=60.0))
    assert slow.seconds is not None
    assert fast.seconds is not None
    assert slow.seconds - fast.seconds == pytest.approx(3 * 540.0)
    assert {c.name: c.seconds for c in slow.members}["logs-hot-0"] == pytest.approx(610.0)


def test_the_forecast_ignores_a_pause() -> None:
    observed = changed(lambda spec: spec.update(version="2.19.5", update={"paused": True}))
    assert len(effects(preview(observed, NOW))) == 7


def test_a_member_that_does_not_start_is_named_as_what_is_waited_for() -> None:
    start = running()
    broken = tuple(
        replace(m, pod=replace(m.pod, ready=False, trouble="CrashLoopBackOff: again"))
        if m.name == "logs-hot-1" and m.pod
        else m
        for m in start.members
    )
    shown = preview(changed(lambda spec: spec["pools"][2].update(replicas=1), replace(start, members=broken)), NOW)
    assert not shown.goes_through
    assert "logs-hot-1 does not start: CrashLoopBackOff: again" in shown.waits[0].message


def test_a_member_replaced_by_name_is_new_in_data_over_old_out() -> None:
    shown = preview(changed(lambda spec: spec.update(members={"replace": ["logs-hot-0"]})), NOW)
    assert order(shown) == ["create logs-hot-3", "move the data away from logs-hot-0", "let go logs-hot-0"]
    assert effects(shown)["logs-hot-0"] in (Kind.REMOVE, Kind.REPLACE)


def test_volumes_that_are_to_be_deleted_with_the_cluster_are_a_step_and_change_no_member() -> None:
    shown = preview(changed(lambda spec: spec.update(volumes={"whenDeleted": "Delete"})), NOW)
    assert effects(shown) == {}
    assert [step.does for step in shown.steps] == ["delete with the cluster the volume of"]
    assert "logs-hot-0" in shown.steps[0].members
    assert shown.goes_through


def test_volumes_that_would_grow_at_once_are_shown_with_their_sizes() -> None:
    """The disks of hot are 85 % full when storage.grow is added."""
    observed = changed(lambda spec: spec["pools"][1].update(storage={"size": "20Gi", "grow": {"max": "100Gi"}}))
    assert isinstance(observed.database, Database)
    total = 19 << 30
    nodes = {
        name: replace(node, disk_total=total, disk_free=total * 15 // 100) if "hot" in name else node
        for name, node in observed.database.nodes.items()
    }
    shown = preview(replace(observed, database=replace(observed.database, nodes=nodes)), NOW)
    assert [(v.member, v.before >> 30, v.after >> 30) for v in shown.volumes] == [
        (f"logs-hot-{number}", 20, 25) for number in range(3)
    ]
    assert shown.goes_through


def test_without_its_database_members_are_what_they_were_made_for() -> None:
    """The disaster this prevents: the pool of the managers is renamed, and the plan moves no vote of theirs."""
    observed = changed(lambda spec: spec["pools"][0].update(name="masters"))
    label = {"managers": frozenset({"voting"}), "hot": frozenset({"data"}), "gateway": frozenset[str]()}
    members = tuple(replace(m, made_for=label[m.pool]) for m in observed.members)
    cluster = typed(SPEC, "2.17.1")
    seen = replace(observed, members=members, database=Unknown("no route to host"))
    found, _ = with_recorded_database(seen, replace(cluster, status=replace(cluster.status, health="green")))
    assert isinstance(found.database, Database)
    assert found.database.voters == {"logs-managers-0", "logs-managers-1", "logs-managers-2"}
    assert {node.name for node in found.database.nodes.values() if node.data} == set(DATA)

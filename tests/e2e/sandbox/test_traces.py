"""A sandbox leaves nothing, disturbs nothing, and several do not collide."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from sandbox import Sandbox
from sandbox.errors import SandboxError
from sandbox.host.ports import listen
from sandbox.host.records import Records, wait_until_gone
from sandbox.kubernetes.kubeapi import wait_for
from tests.e2e.sandbox.world import Traces, reaches
from tests.support.own import lasting_port

pytestmark = pytest.mark.e2e

_NAME = "stateward-traces"


def test_down_leaves_no_process_mount_device_rule_or_namespace() -> None:
    Sandbox(_NAME).down()
    before = Traces.now(_NAME)
    sandbox = Sandbox(_NAME).up(nodes=1)
    try:
        during = Traces.now(_NAME)
    finally:
        sandbox.down()

    # The machine's own network was never touched; its processes and namespaces were there to be seen.
    assert (during.devices, during.routes, during.rules) == (before.devices, before.routes, before.rules)
    assert during.mounts == before.mounts
    assert during.processes
    assert during.namespaces
    assert during.cgroups
    assert Traces.now(_NAME) == before
    assert not sandbox.layout.root.exists()


def test_two_sandboxes_run_side_by_side() -> None:
    with Sandbox(f"{_NAME}-a") as one, Sandbox(f"{_NAME}-b") as other:
        one.up(nodes=0)
        other.up(nodes=0)
        one.kubectl("create", "namespace", "only-here")
        assert "only-here" not in other.kubectl("get", "namespaces")
        one.down()
        assert other.api.text("/readyz") == "ok"


@pytest.mark.full
def test_up_rebuilds_the_network_when_the_switch_is_gone_and_keeps_the_objects() -> None:
    with Sandbox(_NAME) as sandbox:
        sandbox.up(nodes=2)
        sandbox.kubectl("create", "namespace", "kept")
        _kill(sandbox, "switch.machine")
        sandbox.up(nodes=2)
        for node in ("n1", "n2"):
            sandbox.wait_node(node, ready=True, seconds=120)
            # For forty seconds Ready may be what the API server knew before the switch was gone.
            wait_for(f"an answer of {node}'s kubelet", lambda node=node: reaches(sandbox, node), seconds=60, pause=0.5)
        assert "kept" in sandbox.kubectl("get", "namespaces")


def test_up_repairs_what_has_crashed_and_leaves_the_rest_alone() -> None:
    with Sandbox(_NAME) as sandbox:
        sandbox.up(nodes=1)
        sandbox.kubectl("create", "namespace", "kept")
        records = Records(sandbox.layout.records)
        before = {key: records.get(key) for key in records.keys()}  # noqa: SIM118
        for key in ("control-plane.kube-apiserver", "n1.machine", "relay.api"):
            _kill(sandbox, key)

        sandbox.up(nodes=1)
        sandbox.wait_node("n1", ready=True, seconds=60)
        assert "kept" in sandbox.kubectl("get", "namespaces")
        after = {key: records.get(key) for key in records.keys()}  # noqa: SIM118
        same = {key for key in before if before[key] == after[key]}
        assert {"control-plane.etcd", "control-plane.machine", "switch.machine"} <= same
        assert not {"control-plane.kube-apiserver", "n1.kubelet", "relay.api"} & same


def test_what_a_restart_of_the_machine_left_is_cleared_and_a_sandbox_that_runs_is_not() -> None:
    with Sandbox(_NAME) as sandbox:
        assert not sandbox.clear()
        sandbox.up(nodes=0)
        assert not sandbox.clear()
        assert sandbox.api.text("/readyz") == "ok"

        # As after a power cut: no process runs, and all files are there.
        records = Records(sandbox.layout.records)
        running = [record.pid for key in records.keys() if (record := records.running(key))]  # noqa: SIM118
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert wait_until_gone(running, 10) == []
        assert sandbox.clear()
        assert not sandbox.layout.root.exists()


def test_when_a_user_took_the_port_meanwhile_another_is_chosen_and_the_kubeconfig_follows() -> None:
    with Sandbox(_NAME) as sandbox:
        wanted = lasting_port()
        sandbox.up(nodes=0, port=wanted)
        _kill(sandbox, "relay.api")
        with listen(wanted):
            sandbox.up(nodes=0)
            assert sandbox.settings.port != wanted
            assert f"https://127.0.0.1:{sandbox.settings.port}" in sandbox.kubeconfig_path.read_text()
            assert sandbox.api.text("/readyz") == "ok"
            # A wish that cannot be granted is an error, and changes nothing.
            with pytest.raises(SandboxError, match=f"port {wanted} of 127.0.0.1 is taken"):
                sandbox.up(nodes=0, port=wanted)
            assert sandbox.api.text("/readyz") == "ok"


def test_a_recycled_process_id_is_not_ended() -> None:
    with Sandbox(_NAME) as sandbox:
        sandbox.up(nodes=0)
        records = Records(sandbox.layout.records)
        path = records.path("relay.api")
        # As if the relay had ended and the kernel had given its id to this very process.
        ours = path.read_text().replace(f'"pid": {_pid(records)}', f'"pid": {os.getpid()}')
        Path(records.path("relay.stolen")).write_text(ours)
    assert not Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[0].startswith("Z")


def _kill(sandbox: Sandbox, key: str) -> None:
    record = Records(sandbox.layout.records).running(key)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    assert wait_until_gone([record.pid], 10) == []


def _pid(records: Records) -> int:
    record = records.get("relay.api")
    assert record is not None
    return record.pid

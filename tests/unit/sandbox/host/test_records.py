"""Only the very process that was started is ever ended."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from sandbox.host.records import ProcessRecord, Records, alive, boot_id, end, start_time, wait_until_gone


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "60"]) as started:
        yield started
        started.kill()


def _record(process: "subprocess.Popen[bytes]") -> ProcessRecord:
    start = start_time(process.pid)
    assert start is not None
    return ProcessRecord(process.pid, start, boot_id())


def test_a_recorded_process_is_ended(process: "subprocess.Popen[bytes]") -> None:
    record = _record(process)
    assert alive(record)
    assert end(record, grace=5)
    assert not alive(record)
    assert wait_until_gone([record.pid], 5) == []


def test_a_recycled_id_is_left_alone(process: "subprocess.Popen[bytes]") -> None:
    stolen = msgspec.structs.replace(_record(process), start=1)
    assert not alive(stolen)
    assert not end(stolen)
    assert process.poll() is None


def test_a_record_of_another_boot_is_left_alone(process: "subprocess.Popen[bytes]") -> None:
    old = msgspec.structs.replace(_record(process), boot="another")
    assert not end(old)
    assert process.poll() is None


def test_a_zombie_is_not_running() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert start_time(child.pid) is None


def test_records_are_found_by_key_and_forgotten_at_the_end(tmp_path: Path, process: "subprocess.Popen[bytes]") -> None:
    records = Records(tmp_path)
    records.path("n1.kubelet").write_bytes(msgspec.json.encode(_record(process)))
    assert records.keys() == ["n1.kubelet"]
    assert records.running("n1.kubelet") == _record(process)
    assert records.end("n1.kubelet", grace=0)
    assert records.keys() == []
    assert not records.end("n1.kubelet")


def test_half_a_record_is_no_record(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.path("n1.kubelet").write_text('{"pid": 1')
    assert records.get("n1.kubelet") is None

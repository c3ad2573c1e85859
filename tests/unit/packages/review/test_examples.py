"""The example package: no problems found with it, its scripts are shell, and it restarts for what it should."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from stateward.packages.format.reading import belongs, read_package
from stateward.packages.rendering.rendering import Use
from stateward.packages.rendering.step_objects import render_plan
from stateward.packages.review.checks import check_package
from stateward.packages.review.difference import difference

ETCD = Path(__file__).parents[4] / "examples/etcd"
FILES = {str(p.relative_to(ETCD)): p.read_bytes() for p in sorted(ETCD.rglob("*")) if p.is_file()}
PACKAGE = read_package({path: content for path, content in FILES.items() if belongs(path)})


def rendered(plan: str = "deploy", **values: Any) -> list[dict[str, Any]]:
    return [found.body for found in render_plan(Use(PACKAGE, "store", "prod", values), plan)]


def restarts(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    found = difference(rendered(**before), rendered(**after)).restarts
    return [text for restart in found for text in (*restart.template, *restart.keys)]


def test_nothing_is_wrong_with_it() -> None:
    assert check_package(PACKAGE) == []


def test_scaling_restarts_no_pod_and_a_setting_restarts_all_pods() -> None:
    assert restarts({}, {"REPLICAS": 5}) == []
    assert restarts({}, {"HEARTBEAT": 150}) == ["ConfigMap/store-settings:ETCD_HEARTBEAT_INTERVAL"]


@pytest.mark.parametrize("script", ["names.sh", "start.sh", "resign.sh"])
def test_its_scripts_are_shell(script: str) -> None:
    (scripts,) = (b for b in rendered() if b["metadata"]["name"] == "store-scripts")
    done = subprocess.run(["sh", "-n"], input=scripts["data"][script], text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_members_are_read_from_what_etcd_says(tmp_path: Path) -> None:
    (scripts,) = (b for b in rendered() if b["metadata"]["name"] == "store-scripts")
    peers = "store-peers.prod.svc.cluster.local"
    said = [
        f"8e9e05c52164694d, started, store-0, http://store-0.{peers}:2380, http://10.0.0.1:2379, false",
        f"91bc3c398fb3c146, unstarted, , http://store-11.{peers}:2380, , false",
    ]
    etcdctl = tmp_path / "etcdctl"
    etcdctl.write_text("#!/bin/sh\ncat <<SAID\n" + "\n".join(said) + "\nSAID\n")
    etcdctl.chmod(0o755)
    command = scripts["data"]["names.sh"] + "\nmembers"
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", command], text=True, capture_output=True, check=True, env=path)
    assert done.stdout == "8e9e05c52164694d 0\n91bc3c398fb3c146 11\n"
    etcdctl.write_text("#!/bin/sh\nexit 1\n")
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False, env=path).returncode == 1

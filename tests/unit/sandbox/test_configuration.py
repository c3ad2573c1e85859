"""Configuration files say what they must, and parse."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from sandbox.errors import SandboxError
from sandbox.host.files import write_if_changed
from sandbox.images.catalog import full_name, known
from sandbox.kubernetes import addons
from sandbox.layout import Layout
from sandbox.network.addressing import DNS_SERVICE_ADDRESS, NodeAddress
from sandbox.nodes import configuration

_NODE = NodeAddress(2)


def test_containerd_never_lowers_an_oom_score_and_uses_our_pause_image() -> None:
    cri = tomllib.loads(configuration.containerd("/usr/sbin/runc"))["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["restrict_oom_score_adj"] is True
    assert cri["sandbox_image"] == configuration.PAUSE_IMAGE
    assert cri["containerd"]["runtimes"]["runc"]["options"]["BinaryName"] == "/usr/sbin/runc"


def test_pods_get_addresses_of_their_node_and_are_not_masqueraded() -> None:
    plugin = json.loads(configuration.cni(_NODE))["plugins"][0]
    assert plugin["ipam"]["ranges"] == [[{"subnet": "10.244.2.0/24"}]]
    assert plugin["ipMasq"] is False


def test_the_kubelet_looks_at_secrets_as_often_as_asked() -> None:
    kubelet = yaml.safe_load(configuration.kubelet(_NODE, cgroup="a/b", sync_frequency=90))
    assert kubelet["syncFrequency"] == "90s"
    assert kubelet["cgroupRoot"] == "/a/b"
    assert kubelet["address"] == _NODE.address
    assert kubelet["clusterDNS"] == [DNS_SERVICE_ADDRESS]


def test_kube_proxy_leaves_the_machine_s_connection_tracking_alone() -> None:
    proxy = yaml.safe_load(configuration.kube_proxy("n1", "/k"))
    assert set(proxy["conntrack"].values()) == {0, "0s"}


def test_every_helper_object_is_applied_where_it_belongs() -> None:
    for path, body in addons.objects().items():
        assert path.endswith(f"/{body['metadata']['name']}")
        assert body["metadata"].get("namespace", "") in path


def test_an_image_is_found_by_its_short_and_its_full_name() -> None:
    for name in known():
        assert full_name(name) == name
    assert full_name("opensearch:2.19.5") == "docker.io/opensearchproject/opensearch:2.19.5"
    assert full_name("opensearchproject/opensearch:2.19.5") == "docker.io/opensearchproject/opensearch:2.19.5"
    assert full_name("stateward") == "stateward.dev/stateward:dev"


def test_an_unknown_image_is_refused_with_those_there_are() -> None:
    with pytest.raises(SandboxError, match=r"no image 'opensearch:9'; there are: .*2\.19\.5"):
        full_name("opensearch:9")


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "-a", "a" * 40, "a b"])
def test_an_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(SandboxError, match="is not usable"):
        Layout.of(name)


def test_a_file_that_holds_the_text_already_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert write_if_changed(path, "text")
    before = path.stat()
    assert not write_if_changed(path, "text")
    after = path.stat()  # to look at it is to read it, which changes the time of the last reading
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert write_if_changed(path, "other")

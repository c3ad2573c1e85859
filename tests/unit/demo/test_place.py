"""With a cluster of one's own no sandbox is made; nothing of it is even loaded."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from demo import place as places
from demo.duration import expectation
from demo.place import NAMESPACE, OWN_ENDING, place
from sandbox.images import pins
from sandbox.images.oci import Blob, Image
from sandbox.images.operator import OPERATOR_IMAGE
from sandbox.missing import Missing, missing

_ROOT = Path(__file__).parents[3]
_OWN = {"KUBECONFIG": "/k", "STATEWARD_IMAGE": "registry.example/stateward:1"}
_ASK = (
    "import sys; from demo.place import place; print(place('x').image); print(any('sandbox' in m for m in sys.modules))"
)


def test_no_sandbox_is_loaded_for_ones_own_cluster() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASK],
        check=True,
        capture_output=True,
        text=True,
        cwd=_ROOT,
        # Neither Go nor any program of the system could be found.
        env={**os.environ, **_OWN, "PYTHONPATH": f"{_ROOT}:{_ROOT / 'src'}", "PATH": ""},
    )
    assert done.stdout.split() == [_OWN["STATEWARD_IMAGE"], "False"]


def test_ones_own_cluster_is_left_with_ordinary_kubectl() -> None:
    own = place("x", _OWN)
    assert (own.kubectl, own.ending) == ("", OWN_ENDING)
    assert NAMESPACE in own.ending


def test_a_kubeconfig_alone_names_no_image_so_the_sandbox_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def brought_up(name: str, _: object) -> places.Place:
        made.append(name)
        return places.Place("/sandbox", "image", "", "")

    monkeypatch.setattr(places, "brought_up", brought_up)
    assert place("mine", {"KUBECONFIG": "/k"}).kubeconfig == "/sandbox"
    assert made == ["mine"]


def test_how_long_it_takes_is_said_before_anything_is_begun() -> None:
    said: list[str] = []
    place("x", _OWN, said.append)
    assert said == [expectation(None)]
    cold = expectation(Missing(kubernetes=True, images=("opensearch:2.19.5",), packages=("runc",)))
    assert "build Kubernetes from its sources (about 5 minutes, once)" in cold
    assert "opensearch:2.19.5; install runc. It takes about nine minutes in all" in cold
    assert expectation(Missing(kubernetes=False, images=(), packages=())).startswith(
        "nothing is missing: about three minutes in all"
    )


@pytest.mark.parametrize("kubernetes", [True, False])
@pytest.mark.parametrize("images", [(), ("stateward",)])
@pytest.mark.parametrize("packages", [(), ("runc",)])
def test_every_case_has_its_minutes(kubernetes: bool, images: tuple[str, ...], packages: tuple[str, ...]) -> None:
    assert "minutes in all" in expectation(Missing(kubernetes, images, packages))


def test_what_was_made_before_is_not_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATEWARD_CACHE", str(tmp_path))
    wanted = ["stateward", "opensearch:2.17.1", "opensearch:2.19.5"]
    found = missing(wanted)
    assert (found.kubernetes, found.images) == (True, tuple(wanted))
    built = tmp_path / "kubelite/0123/kubelite"
    for path in (built, tmp_path / "images/image-0.json", tmp_path / "images/image-1.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    blob = Blob("sha256:0", 1)
    for number, name in enumerate([OPERATOR_IMAGE, f"{pins.OPENSEARCH}:2.19.5"]):
        (tmp_path / f"images/image-{number}.json").write_bytes(msgspec.json.encode(Image(name, blob, blob, [])))
    found = missing(wanted)
    assert (found.kubernetes, found.images) == (False, ("opensearch:2.17.1",))

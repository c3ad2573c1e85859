"""With a cluster of one's own no sandbox is made; nothing of it is even loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from demo import place as places
from demo.place import NAMESPACE, OWN_ENDING, place

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

    def brought_up(name: str) -> places.Place:
        made.append(name)
        return places.Place("/sandbox", "image", "", "")

    monkeypatch.setattr(places, "brought_up", brought_up)
    assert place("mine", {"KUBECONFIG": "/k"}).kubeconfig == "/sandbox"
    assert made == ["mine"]

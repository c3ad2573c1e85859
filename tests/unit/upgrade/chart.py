"""Objects of the chart of released versions, and what a later chart may not change for the same values."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from stateward.cli.run.chart import objects

CHART = "chart.gz"
SETS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "everything": {
        **dict.fromkeys(("webhook", "page", "networkPolicies", "routes", "verifySnapshots"), True),
        "extraContainers": [{"name": "proxy", "image": "proxy:1"}],
        "namespaces": ["logs"],
        "metrics": {name: {"enabled": True} for name in ("serviceMonitor", "rules", "dashboard")},
    },
}
"""Values that users may have, by name; a released version keeps those with which it was frozen."""
FIXED = {
    "Deployment": ("selector",),
    "ClusterRoleBinding": ("roleRef",),
    "RoleBinding": ("roleRef",),
}
"""Fields that the API server refuses to change, by kind; those of a Deployment are in its spec."""


def write_chart(folder: Path) -> None:
    """Write the objects of the current chart, without the CRDs, for each set of values."""
    found = {name: {"values": values, "objects": list(made(values))} for name, values in SETS.items()}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CHART).write_bytes(gzip.compress(json.dumps(found, sort_keys=True).encode(), mtime=0))


def read_chart(folder: Path) -> dict[str, Any]:
    """Return the frozen objects of a version with their values, by the name of the set."""
    found: dict[str, Any] = json.loads(gzip.decompress((folder / CHART).read_bytes()))
    return found


def made(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of the current chart for some values, without the CRDs."""
    yield from objects({**values, "crds": {"install": False}})


def broken(old: Iterable[dict[str, Any]], new: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield what an upgrade would refuse, or delete, as sentences."""
    now = {_key(each): each for each in new}
    for each in old:
        name = " ".join(filter(None, _key(each)))
        if (after := now.get(_key(each))) is None:
            yield f"{name} is gone"
            continue
        for field in FIXED.get(each["kind"], ()):
            before, later = (one.get("spec", one)[field] for one in (each, after))
            if before != later:
                yield f"{name}: {field} was {json.dumps(before)}"


def _key(each: dict[str, Any]) -> tuple[str, str, str]:
    return each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]

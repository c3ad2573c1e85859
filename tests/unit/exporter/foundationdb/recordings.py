"""Statuses of real processes, as those of members of the cluster `prod/ledger`."""

import json
from pathlib import Path
from typing import Any

from stateward.engines.foundationdb.exporter.settings import FoundationSettings

FOLDER = Path(__file__).parents[2] / "engines/data/foundationdb"
RECORDED = FOLDER / "recorded-7.3.62"
NAMES = sorted(path.name.removesuffix("-status.json") for path in RECORDED.glob("*-status.json"))
TRANSCRIPTS: dict[str, dict[str, Any]] = {
    entry["label"]: entry for entry in json.loads((RECORDED / "transcripts.json").read_text())
}
LABELS = ("foundationdb", "prod", "ledger")
WHOSE = FoundationSettings(*LABELS, "test", "/stateward/answers/status")
"""Its description is that of the recorded cluster files."""


def recorded(name: str) -> dict[str, Any]:
    """Return a status; its processes bear the names of members, as the start script gives them."""
    return as_members(json.loads((RECORDED / f"{name}-status.json").read_text()))


def sample(name: str) -> dict[str, Any]:
    """Return one of the statuses of the FoundationDB project."""
    return as_members(json.loads((FOLDER / f"status-sample-{name}.json").read_text()))


def as_members(found: dict[str, Any]) -> dict[str, Any]:
    cluster = found["cluster"]
    cluster["connection_string"] = "test:" + cluster["connection_string"].partition(":")[2]
    for process in cluster["processes"].values():
        locality = process.get("locality") or {}
        if "instance_id" in locality:
            member = f"ledger-{locality['instance_id'].removeprefix('ledger-')}"
            number = locality.get("process_id", "1").rpartition("-")[2]
            process["locality"] = {**locality, "instance_id": member, "process_id": f"{member}-{number}"}
    return found

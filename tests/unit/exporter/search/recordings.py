"""Answers of real single nodes, recorded and cut to what the exporter asks for, in `recorded`."""

import json
from pathlib import Path
from typing import Any

from stateward.engines.search.exporter.settings import SearchSettings

FOLDER = Path(__file__).with_name("recorded")
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
WHOSE = SearchSettings("opensearch", "prod", "logs", "http://logs.prod.svc:9200")
LABELS = ("opensearch", "prod", "logs")


def recorded(name: str) -> dict[str, Any]:
    """Return the answers about health and nodes."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found

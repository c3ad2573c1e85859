"""The data of a coordinator on disk: for each generation its vote, the state, and the next generation.

A vote is for one leader at a time and for numbers that only grow; a state is taken only from the leader of the newest
number. So two leaders never both write to a majority.
"""

import json
import os
from pathlib import Path
from typing import Any

LEASE = 4.0
"""Seconds for which a leader stays leader without a renewal."""


class Register:
    """The coordinator of all generations that it was ever asked about."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "coordination.json"
        self._kept: dict[str, dict[str, Any]] = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._heard: dict[str, float] = {}

    def _of(self, key: str) -> dict[str, Any]:
        empty = {"epoch": 0, "holder": "", "version": [0, 0], "state": None, "forward": ""}
        return self._kept.setdefault(key, empty)

    def answer(self, key: str, message: dict[str, Any], now: float) -> dict[str, Any] | None:
        """Answer what a coordinator is asked; None for anything else."""
        match message["op"]:
            case "leader":
                return self.leader(key, now)
            case "vote":
                return self.vote(key, message["candidate"], message["epoch"], now)
            case "read":
                return self.read(key)
            case "write":
                return self.write(key, message["version"], message["state"])
            case "forward":
                return self.forward(key, message["to"])
            case _:
                return None

    def leader(self, key: str, now: float) -> dict[str, Any]:
        """Return who leads, as far as is known here, and where the coordinators are if they have changed."""
        kept = self._of(key)
        fresh = now - self._heard.get(key, 0.0) < LEASE
        return {"leader": kept["holder"] if fresh else "", "forward": kept["forward"], "epoch": kept["epoch"]}

    def vote(self, key: str, candidate: str, epoch: int, now: float) -> dict[str, Any]:
        """Give the vote to a candidate, or to the same leader again; say why not otherwise."""
        kept = self._of(key)
        fresh = now - self._heard.get(key, 0.0) < LEASE
        granted = epoch >= kept["epoch"] and not kept["forward"] and not (fresh and kept["holder"] != candidate)
        # The same number for two candidates would be two leaders.
        granted = granted and not (epoch == kept["epoch"] and kept["holder"] not in {candidate, ""})
        if granted:
            self._heard[key] = now
            if (kept["epoch"], kept["holder"]) != (epoch, candidate):
                kept["epoch"], kept["holder"] = epoch, candidate
                self._save()
        return {"granted": granted, "epoch": kept["epoch"], "forward": kept["forward"]}

    def read(self, key: str) -> dict[str, Any]:
        """Return the newest state that is known here."""
        kept = self._of(key)
        return {"version": kept["version"], "state": kept["state"]}

    def write(self, key: str, version: list[int], state: dict[str, Any]) -> dict[str, Any]:
        """Keep a state, unless it is of a leader of before."""
        kept = self._of(key)
        if version[0] < kept["epoch"] or version < kept["version"] or kept["forward"]:
            return {"kept": False}
        kept["version"], kept["state"] = version, state
        self._save()
        return {"kept": True}

    def forward(self, key: str, target: str) -> dict[str, Any]:
        """Refer requests for a generation to the next one."""
        self._of(key)["forward"] = target
        self._save()
        return {"kept": True}

    def _save(self) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(self._kept))
        with fresh.open("rb") as written:
            os.fsync(written.fileno())
        fresh.replace(self._file)

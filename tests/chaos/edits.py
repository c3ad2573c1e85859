"""The edits of a user, as changes of the spec; pure, so that a schedule and its seed give the same specs again."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tests.chaos.faults import CERTIFICATE_LIFETIME
from tests.chaos.schedule import Edit
from tests.e2e.clusters import pool

OLD, NEW = "2.17.1", "2.19.5"
SECURED = "2.19.3"
NO_VERSION = "2.19.999"
LEAST, MOST = 3, 4
"""Data members."""
MEMORY = ("768Mi", "832Mi")
SECURED_MEMORY = ("1280Mi", "1344Mi")


class Wanted(Struct, frozen=True):
    """What the user wants now."""

    version: str
    secured: bool
    hot: int = LEAST
    memory: int = 0
    """Index of the sizes above."""
    content_length: int = 100
    """A setting that needs a restart, in MB."""
    replaced: tuple[str, ...] = ()

    def spec(self) -> dict[str, Any]:
        """Return the spec of the cluster."""
        sizes = SECURED_MEMORY if self.secured else MEMORY
        resources = {"limits": {"memory": sizes[self.memory]}, "requests": {"memory": sizes[0], "cpu": "50m"}}
        wanted: dict[str, Any] = {
            "version": self.version,
            "pools": [
                pool("managers", 3, "cluster_manager", resources=resources),
                pool("hot", self.hot, "data", "ingest", resources=resources),
            ],
            "config": {"http.max_content_length": f"{self.content_length}mb"},
            "replacement": {"enabled": True, "after": "60s"},
            "security": {"enabled": False},
        }
        if self.secured:
            wanted["security"] = {"enabled": True, "certificateLifetime": f"{CERTIFICATE_LIFETIME / 60:.0f}m"}
        if self.replaced:
            wanted["members"] = {"replace": list(self.replaced)}
        return wanted


def first(*, secured: bool) -> Wanted:
    """Return what the cluster is at the beginning."""
    return Wanted(SECURED if secured else OLD, secured)


def edited(wanted: Wanted, edit: Edit, member: str) -> Wanted:
    """Return what is wanted after an edit; `member` is the one that a replacement is about."""
    now = replace(wanted, replaced=())
    changes: dict[Edit, dict[str, Any]] = {
        Edit.NONE: {},
        Edit.CONFIGURATION: {"content_length": now.content_length % 400 + 50},
        Edit.GROW: {"hot": min(MOST, now.hot + 1)},
        Edit.SHRINK: {"hot": max(LEAST, now.hot - 1)},
        Edit.MEMORY: {"memory": 1 - now.memory},
        Edit.UPGRADE: {} if now.secured else {"version": NEW},
        Edit.WRONG_VERSION: {"version": NO_VERSION},
        Edit.REPLACE: {"replaced": (member,)},
    }
    return replace(now, **changes[edit])

"""The pods of the operator, and what their logs say about one cluster."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.cli.diagnosis.owned_objects import read_raw
from stateward.cli.shared.session import Session
from stateward.kube.client.client import RawRequest
from stateward.kube.objects.errors import ApiError, BadRequest, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import PODS

LABELS = "app.kubernetes.io/name=stateward,app.kubernetes.io/component=operator"
LAST_LINES = 20_000
"""Lines of each operator pod that are searched: those of all clusters together."""


async def operator_pods(session: Session, namespace: str) -> list[Json]:
    """Return the pods of the operator; raise ApiError."""
    return await read_raw(session, PODS, Selection(namespace, labels=LABELS))


async def read_log(session: Session, pod: Key, query: dict[str, str]) -> list[str]:
    """Return the lines of a container's log; raise ApiError."""
    found = await session.api.request(RawRequest(PODS.path_of(pod, "log"), query=query))
    return found.decode(errors="replace").splitlines()


async def decisions(
    session: Session, namespace: str, cluster: Key, query: dict[str, str], unread: list[str]
) -> list[Json]:
    """Return the operator's log entries about a cluster in the order of time, of all its pods; raise ApiError.

    A pod that does not run yet, or no more, keeps no log: why is added to `unread`.
    """
    found = list[Json]()
    for pod in await operator_pods(session, namespace):
        key, ran = Key(namespace, pod["metadata"]["name"]), pod.get("status", {}).get("containerStatuses") or ()
        asked = {"container": "operator", "tailLines": str(LAST_LINES), **query}
        if any(each.get("restartCount") for each in ran):
            with suppress(ApiError):  # The log of the earlier process may be gone.
                found += about(await read_log(session, key, asked | {"previous": "true"}), cluster)
        try:
            found += about(await read_log(session, key, asked), cluster)
        except (BadRequest, NotFound) as error:
            unread.append(f"the log of {key.name}: {error.message}")
    return sorted(found, key=lambda entry: str(entry.get("timestamp", "")))


def about(lines: Iterable[str], cluster: Key) -> Iterator[Json]:
    """Yield the entries about a cluster; lines that are not JSON are about the process."""
    for line in lines:
        entry = parsed(line)
        if entry is not None and entry.get("cluster") == str(cluster):
            yield entry


def parsed(line: str) -> Json | None:
    """Return a line of the operator's log; None for one that is not JSON."""
    try:
        entry: Any = json.loads(line)
    except ValueError:
        return None
    return cast("Json", entry) if isinstance(entry, dict) else None


SHOWN_FIRST = frozenset({"timestamp", "level", "event", "cluster"})


def readable(entry: Json) -> str:
    """Return an entry as a line for people: time, level, what happened, and the rest as NAME=VALUE."""
    rest = " ".join(f"{name}={_value(value)}" for name, value in entry.items() if name not in SHOWN_FIRST and value)
    head = f"{str(entry.get('timestamp', ''))[:19]}Z {entry.get('level', ''):<7} {entry.get('event', '')}"
    return f"{head}  {rest}".rstrip()


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return json.dumps(text) if " " in text else text

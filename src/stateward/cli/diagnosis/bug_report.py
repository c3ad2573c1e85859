"""Collects everything that a bug report about one cluster needs, as files by name; it only reads.

A part that cannot be read is left out, and named in the README of the report.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stateward import __version__
from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.api.yaml_writer import to_yaml
from stateward.cli.diagnosis.events import read_events
from stateward.cli.diagnosis.operator_pods import decisions, operator_pods, read_log, readable
from stateward.cli.diagnosis.owned_objects import read_owned, read_raw
from stateward.cli.diagnosis.redaction import Redactor
from stateward.cli.preview.inputs import read_inputs
from stateward.cli.preview.plan import document as plan_document
from stateward.cli.preview.preview import preview
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.output import plural_of
from stateward.cli.shared.session import Session
from stateward.cli.shared.stored_history import read_history
from stateward.cli.status.explanation import explain_cluster
from stateward.kube.client.client import RawRequest
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, BadRequest, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.operator.objects.kinds import kind_of
from stateward.timeline.from_history import timeline_of
from stateward.timeline.history import encode
from stateward.timeline.page import page

DATABASE_LINES = "1000"
"""Lines of each member's log."""


@dataclass
class BugReport:
    """The files of a report, and what could not be read."""

    session: Session
    cluster: Cluster
    redactor: Redactor
    files: dict[str, str] = field(default_factory=dict[str, str])
    missed: list[str] = field(default_factory=list[str])

    async def collect(self, *, database_logs: bool) -> dict[str, str]:
        """Return all files by name. Objects come first: what is secret in them is replaced in everything after."""
        await self._part("the values of Secrets, to find them elsewhere", self._learn)
        objects: dict[str, list[Json]] = await self._part("objects", self._objects) or {}
        await self._part("the operator's pods", self._operator)
        for name, work in self._texts(objects, database_logs=database_logs).items():
            await self._part(name, work)
        # What was learned last is in what was read first.
        found = {name: self.redactor.text(text) for name, text in sorted(self.files.items())}
        return {"README.md": self._readme(found), **found}

    def _texts(self, objects: dict[str, list[Json]], *, database_logs: bool) -> dict[str, Callable[[], Awaitable[Any]]]:
        parts: dict[str, Callable[[], Awaitable[Any]]] = {
            "versions": self._versions,
            "events": self._events,
            "history": self._history,
            "explanation": self._explanation,
            "plan": self._plan,
            "nodes": self._nodes,
            "the operator's log": self._decisions,
        }
        if database_logs:
            parts["logs of members"] = lambda: self._database_logs(objects.get("pods", []))
        return parts

    async def _part(self, what: str, work: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await work()
        except (ApiError, Failure) as error:
            self.missed.append(f"{what}: {error.message}")
            return None

    def _write(self, name: str, document: Any) -> None:
        self.files[name] = to_yaml(self.redactor.shown(document))

    async def _learn(self) -> None:
        namespace = self.cluster.metadata.namespace
        for body in await read_raw(self.session, kinds.SECRETS, Selection(namespace)):
            self.redactor.secret(body)

    async def _objects(self) -> dict[str, list[Json]]:
        kind, meta = kind_of(self.cluster).resource, self.cluster.metadata
        whole = await self.session.api.get(kind.raw(), Key(meta.namespace, meta.name))
        denied = list[str]()
        found = {kind.plural: [whole], **await read_owned(self.session, self.cluster, denied)}
        self.missed += [f"objects: you may not list {plural_of(each)}" for each in denied]
        kind_names = {each.plural: each.kind for each in (kinds.SECRETS, kinds.CONFIG_MAPS)}
        clean = {
            plural: [self.redactor.object({"kind": kind_names.get(plural), **body}) for body in bodies]
            for plural, bodies in found.items()
        }
        for plural, bodies in clean.items():
            for body in bodies:
                self._write(f"objects/{plural}/{body['metadata']['name']}.yaml", body)
        return found

    async def _operator(self) -> None:
        for pod in await operator_pods(self.session, self.session.operator_namespace):
            clean = self.redactor.object({"kind": "Pod", **pod})
            self._write(f"operator/{pod['metadata']['name']}.yaml", clean)

    async def _versions(self) -> None:
        server = msgspec.json.decode(await self.session.api.request(RawRequest("/version")))
        self._write("versions.yaml", {"stateward": __version__, "kubernetes": server})

    async def _events(self) -> None:
        found = await read_events(self.session, self.cluster, [])
        lines = [f"{e.last_seen_time} {e.type} {e.reason} {e.kind}/{e.object} x{e.count} {e.message}" for e in found]
        self.files["events.txt"] = "".join(f"{line}\n" for line in lines)

    async def _history(self) -> None:
        found = await read_history(self.session, self.cluster)
        drawn = timeline_of(found.history, self.cluster.metadata.name, self.session.now())
        # The page would hide a secret from a search that markup divides, so its texts are cleaned before.
        clean = msgspec.convert(self.redactor.shown(msgspec.to_builtins(drawn)), type(drawn))
        self.files |= {"history.jsonl": encode(found.history).decode(), "timeline.html": page(clean)}

    async def _explanation(self) -> None:
        self.files["explain.txt"] = "\n".join(explain_cluster(self.cluster, self.session.now())) + "\n"

    async def _plan(self) -> None:
        kind, name = kind_of(self.cluster), self.cluster.metadata.name
        found = await read_inputs(self.session, kind, name)
        self._write("plan.yaml", plan_document(found, preview(found.observed, self.session.now())))

    async def _nodes(self) -> None:
        bodies = await read_raw(self.session, kinds.NODES, Selection())
        self._write("nodes.yaml", [node(self.redactor.object(body)) for body in bodies])

    async def _decisions(self) -> None:
        key = Key(self.cluster.metadata.namespace, self.cluster.metadata.name)
        found = await decisions(self.session, self.session.operator_namespace, key, {}, self.missed)
        self.files["operator/log.txt"] = "".join(f"{readable(self.redactor.shown(entry))}\n" for entry in found)

    async def _database_logs(self, pods: list[Json]) -> None:
        engine, namespace = kind_of(self.cluster).engine, self.cluster.metadata.namespace
        for pod in pods:
            name = pod["metadata"]["name"]
            query = {"container": engine, "tailLines": DATABASE_LINES}
            try:
                lines = await read_log(self.session, Key(namespace, name), query)
            except (BadRequest, NotFound) as error:  # It does not run yet, or no more.
                self.missed.append(f"the log of {name}: {error.message}")
            else:
                self.files[f"logs/{name}.txt"] = "".join(f"{line}\n" for line in lines)

    def _readme(self, found: dict[str, str]) -> str:
        meta = self.cluster.metadata
        lines = [f"# Bug report about {self.cluster.kind} {meta.namespace}/{meta.name}", ""]
        lines += [f"Stateward {__version__}; {self.redactor.count} values were replaced by [REDACTED]."]
        lines += ["Check the files before you publish them.", "", "Files:", "", *(f"* {name}" for name in found)]
        missed = [f"* {self.redactor.text(each)}" for each in self.missed]
        return "\n".join([*lines, *(["", "Not included:", "", *missed] if missed else [])]) + "\n"


def node(body: Json) -> Json:
    """Return what matters of a node: its place, taints and conditions."""
    status, spec = body.get("status", {}), body.get("spec", {})
    parts = {name: status.get(name) for name in ("conditions", "capacity", "allocatable", "nodeInfo")}
    labels = body["metadata"].get("labels", {})
    return {"name": body["metadata"]["name"], "labels": labels, "taints": spec.get("taints"), **parts}


def public_names(cluster: Cluster) -> set[str]:
    """Return names and versions that are never taken for secrets."""
    meta, status = cluster.metadata, cluster.status
    members = {each for m in status.member_states for each in (m.name, m.node, m.zone, names.pod(m.name))}
    pools = {pool.name for pool in status.pools}
    return {meta.name, meta.namespace, cluster.spec.version, status.version, *members, *pools, "true", "false"}

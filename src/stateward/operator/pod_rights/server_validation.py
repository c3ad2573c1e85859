"""Asks the API server whether it accepts the pods and the Service that a spec describes: a dry run, nothing is stored.

The CRD cannot know the fields of pods and Services of every version of Kubernetes. An unknown field, or a value that
the server refuses, would pass until the first StatefulSet is written: the cluster would be created, and then no member.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, cast

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.pod_policy import Path
from stateward.api.pod_policy.source import LONGEST_NUMBER
from stateward.api.validation import errors, validate, validate_access
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.api.values.problem import MOST_PROBLEMS, short
from stateward.engines.search.configuration.security import secured
from stateward.engines.search.dashboards import objects as dashboards
from stateward.engines.search.dashboards.frontend import frontend
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, BadRequest, Invalid
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.databases.engine import Family
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.ownership import key_in
from stateward.operator.pod_rights.finished import FinalTemplate, final_templates, templates_beside
from stateward.planning.model.observation import ProtocolSwitch, Refusal

NOT_ACCEPTED = "NotAcceptedByServer"
"""Reason of a wait: the API server does not accept the objects that the spec describes."""

LONGEST = 300
"""Characters of the server's words, and of a field, that are reported: its words may repeat a value of any length."""

AGAIN = 60.0
"""Seconds after which a refused spec is asked about again: the server, or a policy on it, may accept it by then."""

_TRIAL = ApplyOptions(names.FIELD_MANAGER, force=True, dry_run=True)
_TEMPLATE = "spec.template."
_TYPED = re.compile(r"(?<!\S)(?:(?!\.)(?:[^\s:]|:(?!\.))*:)?\.(\S+:) ([^\n]+)")
"""A field, with a colon, and what is wrong with it, in the server's answer to an object that does not fit its schema.

This and the next one look at each character a few times at most, because users choose what is in a path. The disaster
they prevent: a field of a pod template has a name of 5,000 brackets, and the operator does nothing else for a minute.
"""
_PART = re.compile(r"\[([^\]]*)\]?|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said of a spec as it was written, until a time of the event loop."""

    written: bytes
    refusals: tuple[Refusal, ...]
    until: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the server said of a spec; `known` unless a question got no answer about the object."""

    refusals: tuple[Refusal, ...] = ()
    known: bool = True


class ServerValidation:
    """Asks the API server about the clusters of one family: once for each spec, and again while it is refused."""

    def __init__(self, api: Api, family: Family) -> None:
        self._api = api
        self._family = family
        self._said: dict[Key, Answer] = {}

    async def refusals(self, cluster: Cluster) -> tuple[Refusal, ...]:
        """Return what the server does not accept, by the field of the spec; empty for an invalid spec.

        Other failures refuse nothing: the write that follows meets them again, and reports them.
        """
        if not described(cluster) or errors(validate(cluster)):
            return ()
        key, written = Key(cluster.metadata.namespace, cluster.metadata.name), msgspec.json.encode(cluster.spec)
        now, said = asyncio.get_running_loop().time(), self._said.get(key)
        if said is not None and said.written == written and now < said.until:
            return said.refusals
        verdicts = [await self._of_template(made) for made in final_templates(self._family, cluster)]
        verdicts.append(await self._of_service(cluster))
        found = few(dict.fromkeys(refusal for verdict in verdicts for refusal in verdict.refusals))
        if all(verdict.known for verdict in verdicts):
            self._said[key] = Answer(written, found, now + AGAIN if found else inf)
        return found

    async def all_refusals(self, cluster: Cluster) -> tuple[Refusal, ...]:
        """Return what the server does not accept of a spec that is about to be written, also beside the database."""
        return (*await self.refusals(cluster), *await self.refusals_beside(cluster))

    async def refusals_beside(self, cluster: Cluster) -> tuple[Refusal, ...]:
        """Return the same of dashboards and the exporter of metrics, which stop nothing of the database."""
        if errors([*validate(cluster), *validate_access(cluster)]):
            return ()
        templates = [made for made in templates_beside(self._family, cluster) if made.common[1]]
        verdicts = [await self._of_template(made) for made in templates]
        verdicts.append(await self._of_dashboards_service(cluster))
        return few(refusal for found in verdicts for refusal in found.refusals)

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a cluster that is gone."""
        self._said.pop(key, None)

    async def _of_template(self, made: FinalTemplate) -> Verdict:
        if made.crossing is not ProtocolSwitch.NONE:
            return Verdict()  # Its pods differ in what the operator adds.
        body = without_owner(made.workload)
        kind = kinds.DEPLOYMENTS if body["kind"] == kinds.DEPLOYMENTS.kind else kinds.STATEFUL_SETS
        return verdict(
            await self._trial(kind, body),
            lambda path: made.field(by_name(parts(path), made.workload)[2:]) if path.startswith(_TEMPLATE) else "",
        )

    async def _of_service(self, cluster: Cluster) -> Verdict:
        if not isinstance(cluster, SearchCluster) or cluster.spec.service is None:
            return Verdict()
        bodies = self._family.cluster_objects(ClusterObjects(cluster, (), (), (), (), {}, {}), ())
        own = next((body for body in bodies if is_client_service(body, cluster)), None)
        if own is None:
            return Verdict()
        return verdict(await self._trial(kinds.SERVICES, without_owner(own)), lambda path: f"spec.service.{path}")

    async def _of_dashboards_service(self, cluster: Cluster) -> Verdict:
        asked = cluster.spec.dashboards if isinstance(cluster, SearchCluster) else None
        if not isinstance(cluster, SearchCluster) or asked is None or asked.service is None:
            return Verdict()
        own = dashboards.service(frontend(cluster), cluster, asked, self._family.kind.engine, secured=secured(cluster))
        error = await self._trial(kinds.SERVICES, without_owner(own))
        return verdict(error, lambda path: f"spec.dashboards.service.{path}")

    async def _trial(self, kind: Resource[Any], body: Json) -> ApiError | None:
        try:
            await self._api.apply(kind, key_in(body), body, _TRIAL)
        except ApiError as error:
            return error
        return None


def described(cluster: Cluster) -> bool:
    """Return whether a spec says anything about its pods or its Service in the words of Kubernetes."""
    spec = cluster.spec
    templates = (spec.pod_template, *(pool.pod_template for pool in spec.pools))
    return any(templates) or (isinstance(cluster, SearchCluster) and cluster.spec.service is not None)


def is_client_service(body: Json, cluster: Cluster) -> bool:
    """Return whether an object is the Service that clients use."""
    return body["kind"] == "Service" and body["metadata"]["name"] == cluster.metadata.name


def without_owner(body: Json) -> Json:
    """Return an object without its owner: before a cluster is stored, it has no UID."""
    return {**body, "metadata": {k: v for k, v in body["metadata"].items() if k != "ownerReferences"}}


def few(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Return the first refusals, and how many more there are: no status holds one for each of thousands of fields."""
    found = tuple(refusals)
    first, more = found[:MOST_PROBLEMS], len(found) - MOST_PROBLEMS
    text = f"spec: the API server does not accept {more} more fields"
    return (*first, Refusal("spec", NOT_ACCEPTED, text)) if more > 0 else first


def verdict(error: ApiError | None, field: Callable[[str], str]) -> Verdict:
    """Return what an answer to a dry run says; `field` names the field of the spec behind one of the object.

    A field that the user does not choose has an empty name, and refuses nothing.
    """
    if error is None:
        return Verdict()
    named = ((field(path), text) for path, text in faults(error))
    refusals = tuple(
        Refusal(
            short(name, LONGEST), NOT_ACCEPTED, f"{short(name, LONGEST)}: the API server says: {short(text, LONGEST)}"
        )
        for name, text in named
        if name
    )
    return Verdict(refusals, known=isinstance(error, BadRequest | Invalid))


def faults(error: ApiError) -> Iterator[tuple[str, str]]:
    """Yield the fields of an object that the server does not accept, and its words."""
    if isinstance(error, Invalid):
        yield from ((cause.field, cause.message) for cause in error.causes)
    elif isinstance(error, BadRequest):
        for path, text in _TYPED.findall(error.message):
            yield path[:-1], "unknown field" if text == "field not declared in schema" else text


def parts(path: str) -> Path:
    """Return the parts of a path such as `spec.containers[name="c"].image`; items of lists are in brackets."""
    return tuple(name or f"[{_item(inside)}]" for inside, name in _PART.findall(path))


def _item(inside: str) -> str:
    """Return an item's place in a list, or its first key, from what is in brackets: `0`, `name="c"`, `port=1,as=2`."""
    _, equals, value = inside.partition("=")
    return re.split('[",]', (value if equals else inside).removeprefix('"'), maxsplit=1)[0]


def by_name(path: Path, body: Any) -> Path:
    """Return a path with the names of items instead of their places: a merged list has other places than the spec's."""
    found = list[str]()
    for part in path:
        place = part[1:-1]
        if (
            isinstance(body, list)
            and place.isascii()
            and place.isdecimal()
            and len(place) <= LONGEST_NUMBER
            and int(place) < len(cast("list[Any]", body))
        ):
            body = cast("list[Any]", body)[int(place)]
            name = cast("Json", body).get("name") if isinstance(body, dict) else None
            found.append(f"[{name}]" if name else part)
        else:
            body = cast("Json", body).get(part) if isinstance(body, dict) else None
            found.append(part)
    return tuple(found)

"""Compares the objects in a database with what is declared, from outside and not from the operator's comparison."""

from collections.abc import Iterator
from functools import partial

from stateward.api.values.base import Json
from stateward.simulation.apiserver.documents import items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.properties.declared.statuses import is_ready, judged, reason_of
from stateward.simulation.properties.declared.watchdog import DeclaredWatchdog
from stateward.simulation.world.declared_objects import (
    OBJECTS,
    is_settings,
    is_throwaway,
    path_of,
    wanted_body,
    without_note,
)
from stateward.simulation.world.world import World


def unmet_declared(world: World, watchdog: DeclaredWatchdog) -> Iterator[str]:
    """Yield each declared object that is not in the database as declared, and whose status does not truly say why."""
    database = world.database()
    for resource in world.store.all(OBJECTS):
        if is_settings(resource) or is_throwaway(resource.key.name):
            continue  # Each setting is an object of its own, and of a verification nothing is left.
        differences, says_why = partial(_differences, world, resource), partial(_says_why, world, watchdog, resource)
        yield from judged(resource, "SearchObject", database, differences, says_why)


def _differences(world: World, resource: Stored, database: Cluster) -> Iterator[str]:
    body, content, agrees = _stored(world, resource, database)
    if not agrees:
        yield f"the SearchObject {resource.key.name} is Ready, and the database has {content} instead of {body}"


def _says_why(world: World, watchdog: DeclaredWatchdog, resource: Stored, database: Cluster) -> bool:
    body, content, agrees = _stored(world, resource, database)
    spec = part(resource.doc, "spec")
    true: dict[str, bool] = {
        "Exists": content is not None
        and (not watchdog.belongs(resource, database) or watchdog.is_unconfirmed(resource, database)),
        "Drifted": spec.get("drift") == "Report" and not agrees,
        "Conflict": any(other.doc["spec"]["object"] == spec["object"] for other in _others(world, resource)),
        "Refused": body is not None
        and database.objects.trouble(path_of(world.product.engine, spec["object"]), body) is not None,
        "DependencyPending": any(_waits_for(spec, other) for other in _others(world, resource)),
    }
    return true.get(reason_of(resource), False)


def _stored(world: World, resource: Stored, database: Cluster) -> tuple[Json | None, Json | None, bool]:
    """Return what is declared, what the database has, and whether they agree."""
    path = path_of(world.product.engine, resource.doc["spec"]["object"])
    body, content = wanted_body(world, resource), database.objects.content(path)
    return body, content, body is not None and without_note(content) == without_note(database.objects.form(path, body))


def _others(world: World, resource: Stored) -> list[Stored]:
    return [
        other for other in world.store.all(OBJECTS) if other.uid != resource.uid and not is_throwaway(other.key.name)
    ]


def _waits_for(spec: Json, other: Stored) -> bool:
    """Return whether an object needs the one that another resource declares, which is not Ready."""
    needed = [f"componentTemplate/{name}" for name in items(spec, "body", "composed_of")]
    return other.doc["spec"]["object"] in needed and not is_ready(other)

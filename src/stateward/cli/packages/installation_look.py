"""The data for a preview of an installation: packages, existing objects, dependent workloads, and conflicts."""

from collections.abc import AsyncIterator, Iterable, Mapping

from stateward.api.kinds.installation import Installation
from stateward.api.kinds.package import Package as PackageObject
from stateward.api.values.base import Json
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.kube.objects.errors import Forbidden, NotFound, UnknownResource
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.operator.installations.execution.opening import NoPackageError, open_package
from stateward.operator.installations.objects.kinds import ServedKinds
from stateward.operator.installations.objects.owned_objects import owned_objects
from stateward.operator.installations.objects.views import CLUSTER_PACKAGES, PACKAGES
from stateward.operator.restarts.views import ANNOTATION_CONTROL, WORKLOADS
from stateward.packages.format.records import Package
from stateward.packages.format.trees import at, text
from stateward.packages.plans.progress import Stage
from stateward.packages.plans.run_record import is_running
from stateward.packages.plans.steady_state import owner_of
from stateward.packages.plans.steps import LABEL_INSTALLATION, set_id
from stateward.packages.rendering.objects import identity_of
from stateward.packages.rendering.rendering import Use
from stateward.packages.review.foresight import Made, Now

Offered = Mapping[str, PackageObject]
"""Packages in the change itself, by the names of their objects."""


async def package_called(session: Session, name: str, offered: Offered) -> Package:
    """Return a package by the name of its object; raise Failure or ApiError."""
    try:
        if name in offered:
            return open_package(offered[name])
        for resource, namespace in ((PACKAGES, session.namespace), (CLUSTER_PACKAGES, "")):
            try:
                return open_package(await session.api.get(resource, Key(namespace, name)))
            except NotFound:
                continue
    except NoPackageError as error:
        raise Failure(error.message) from error
    raise Failure(f"there is no Package {name!r} in namespace {session.namespace}, and no ClusterPackage of that name")


async def made_from(session: Session, live: Installation | None, offered: Offered) -> tuple[Use | None, list[str]]:
    """Return the package and values of an installation (None: nothing yet, or not known), and notes about it."""
    if live is None:
        return None, []
    run = live.status.run
    busy = run is not None and (is_running(run) or run.stage == Stage.FAILED)
    state = run.target if run is not None and busy else live.status.installed
    if state is None:
        return None, []
    notes = ["its last plan has not ended: the comparison is with the result of that plan"] if busy else []
    package = await package_called(session, state.package, offered)
    if package.digest != state.digest:
        return None, [*notes, f"{state.package} has other content than when it was used: its objects are not known"]
    return Use(package, live.metadata.name, session.namespace, state.parameters), notes


async def existing_objects(session: Session, live: Installation | None) -> Now:
    """Return the existing objects; raise ApiError if they cannot be read."""
    owned = await owned_objects(session.api, ServedKinds(session.api), live) if live is not None else []
    mine = {found.identity for found in owned}
    others = [body async for body in _asking(session) if identity_of(body) not in mine]
    return Now(tuple(Made(found.identity, found.meta.metadata.annotations) for found in owned), tuple(others))


async def _asking(session: Session) -> AsyncIterator[Json]:
    """Yield all workloads that request a restart when data that they use changes."""
    for kind, resource in WORKLOADS.items():
        try:
            page = await session.api.list(resource.raw(), Selection(session.namespace))
        except Forbidden:
            continue
        for body in page.items:
            if text(at(body, "metadata", "annotations", ANNOTATION_CONTROL)).strip().lower() == "true":
                yield {**body, "apiVersion": resource.api_version, "kind": kind}


async def conflicting_objects(session: Session, wanted: Installation, bodies: Iterable[Json]) -> list[str]:
    """Return which objects to create exist already, and their owners; raise ApiError."""
    kinds, found = ServedKinds(session.api), list[str]()
    own = set_id(wanted.metadata.name, session.namespace)
    for body in bodies:
        identity = identity_of(body)
        try:
            kind = await kinds.find(text(body.get("apiVersion")), identity.kind)
        except (NotFound, UnknownResource):
            found.append(f"the API server has no {identity.kind} in {body.get('apiVersion')}")
            continue
        key = Key(session.namespace if kind.namespaced else "", identity.name)
        try:
            live = await session.api.get(kind, key)
        except (NotFound, Forbidden):
            continue
        owner = owner_of(live)
        if owner not in ("", own):
            name = text(at(live, "metadata", "labels", LABEL_INSTALLATION))
            found.append(f"{identity} belongs to another installation, {name}: only one of the two can have it")
        elif not owner and not wanted.spec.adopt:
            found.append(f"{identity} already exists: delete it, or set spec.adopt to adopt it")
    return found

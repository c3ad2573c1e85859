"""The pod template of a member: Stateward's own, with the overrides of cluster and pool merged into it."""

from typing import Any, cast

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods import agent, pods
from stateward.engines.pods.pods import agent_annotations, files_digest, overridden, security_context
from stateward.engines.pods.read_only import container_rights, copy_container
from stateward.engines.search.configuration.configuration import config_files
from stateward.engines.search.configuration.security import question
from stateward.engines.search.objects.inputs import inputs
from stateward.engines.search.objects.labels import member_labels
from stateward.engines.search.objects.mounts import CONFIG, ROOT, SCRIPT, volume_mounts, volumes, writable
from stateward.engines.search.objects.scheduling import affinity
from stateward.engines.search.plugins import containers as plugins
from stateward.engines.search.spec.flavor import HTTP_PORT, TRANSPORT_PORT
from stateward.engines.search.spec.identity import candidate
from stateward.engines.search.spec.images import image_for
from stateward.engines.search.spec.memory import DEFAULT_RESOURCES, heap_options
from stateward.engines.search.spec.pools import ResolvedPool
from stateward.engines.search.spec.probes import probes

USER = 1000
"""The user and group of the official images."""
GRACE = 120
"""Seconds for a member to close its shards."""
BOOTSTRAP_CANDIDATE = "STATEWARD_BOOTSTRAP_CANDIDATE"
CONFIG_DIGEST = "STATEWARD_CONFIG_SHA256"


def template(pool: ResolvedPool, ordinal: int, version: str) -> Json:
    """Return the template of a member's pod at a version."""
    member = names.member(pool.cluster.metadata.name, pool.name, ordinal)
    waits = candidate(pool.flavor, pool.cluster, member)
    own: Json = {
        "metadata": {
            "labels": member_labels(pool, ordinal),
            "annotations": {
                **_annotations(pool, version, waits=waits),
                **pods.template_annotations(),
                **_agent_annotations(pool, ordinal, version),
            },
        },
        "spec": _spec(pool, ordinal, version, waits=waits),
    }
    return _with_heap(pool, overridden(own, pool.template))


def _annotations(pool: ResolvedPool, version: str, *, waits: bool) -> dict[str, str]:
    annotations = made_from(pool, version)
    return {**annotations, names.ANNOTATION_BOOTSTRAP_CANDIDATE: "true"} if waits else annotations


def _agent_annotations(pool: ResolvedPool, ordinal: int, version: str) -> dict[str, str]:
    if not pool.managed:
        return {}
    return agent_annotations(config_files(pool, ordinal, version))


def made_from(pool: ResolvedPool, version: str) -> dict[str, str]:
    """Return the annotations that record the inputs of an object."""
    return pods.input_annotations(inputs(pool, version), version)


def _spec(pool: ResolvedPool, ordinal: int, version: str, *, waits: bool) -> Json:
    image = image_for(pool.flavor, pool.cluster, version)
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE,
        "securityContext": security_context(USER),
        "affinity": affinity(pool),
        "topologySpreadConstraints": pods.spread(pool.cluster.metadata.name, pool.name),
        "initContainers": [
            copy_container(image, CONFIG, f"{pool.flavor.home}/config"),
            *plugins.init_containers(pool, version, image, writable(pool)),
            *([agent.init_container(pool.flavor.agent_image)] if pool.managed else ()),
        ],
        "containers": [_container(pool, ordinal, version, waits=waits)],
        "volumes": volumes(pool, names.member(pool.cluster.metadata.name, pool.name, ordinal)),
    }


def _container(pool: ResolvedPool, ordinal: int, version: str, *, waits: bool) -> Json:
    script, grace = ["/bin/bash", f"{ROOT}/scripts/{SCRIPT}"], pods.grace_seconds(GRACE, pool.template)
    return {
        "name": pool.flavor.engine,
        "image": image_for(pool.flavor, pool.cluster, version),
        **(agent.start(script, grace) if pool.managed else {"command": script}),
        "env": _environment(pool, ordinal, version, waits=waits),
        "ports": [
            {"name": "http", "containerPort": HTTP_PORT, "protocol": "TCP"},
            {"name": "transport", "containerPort": TRANSPORT_PORT, "protocol": "TCP"},
            *(agent.ports() if pool.managed else ()),
        ],
        "resources": pool.spec.resources or DEFAULT_RESOURCES,
        "securityContext": container_rights(),
        "volumeMounts": volume_mounts(pool),
        **(agent.probes() if pool.managed else probes(question(pool))),
    }


def _environment(pool: ResolvedPool, ordinal: int, version: str, *, waits: bool) -> list[Json]:
    flavor = pool.flavor
    values = {
        "STATEWARD_MEMBER": names.member(pool.cluster.metadata.name, pool.name, ordinal),
        "STATEWARD_ENGINE": flavor.engine,
        "STATEWARD_HOME": flavor.home,
        "STATEWARD_ENTRYPOINT": flavor.entrypoint,
        "STATEWARD_INITIAL_NODES": flavor.lineage.initial_nodes_setting(version),
        "STATEWARD_ENGINE_VERSION": version,
        **({} if pool.managed else {CONFIG_DIGEST: files_digest(config_files(pool, ordinal, version))}),
        **({BOOTSTRAP_CANDIDATE: "true"} if waits else {}),
        **flavor.environment,
    }
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return [address, *({"name": name, "value": value} for name, value in values.items())]


def _with_heap(pool: ResolvedPool, merged: Json) -> Json:
    """Set the heap to half of the container's final memory, unless the user has set it."""
    containers = cast("list[Json]", merged["spec"].get("containers") or [])
    return {
        **merged,
        "spec": {**merged["spec"], "containers": [_container_with_heap(pool, container) for container in containers]},
    }


def _container_with_heap(pool: ResolvedPool, container: Json) -> Json:
    name = pool.flavor.java_options
    environment: list[dict[str, Any]] = container.get("env") or []
    if container.get("name") != pool.flavor.engine or any(variable.get("name") == name for variable in environment):
        return container
    options = heap_options(container.get("resources") or {})
    return {**container, "env": [*environment, {"name": name, "value": options}]}

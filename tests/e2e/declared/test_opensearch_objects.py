"""Declared objects and users on a real secured OpenSearch: templates, settings, a repository, roles, an application."""

from typing import Any

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, pool
from tests.e2e.declared.authentication import CHANGEABLE, people_of_a_directory_are_accepted, tokens_are_accepted
from tests.e2e.declared.objects import BODIES as COMMON
from tests.e2e.declared.objects import SearchObjects, applied, live_and_die, stalled
from tests.e2e.declared.single_sign_on import people_sign_on
from tests.e2e.declared.snapshots import LARGER
from tests.e2e.declared.users import application_uses
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import client, on_versions, ready

pytestmark = [pytest.mark.e2e, pytest.mark.full]

REPOSITORIES = "/tmp/repositories"  # noqa: S108 - in the pod
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    **COMMON,
    "settings": ("clusterSettings", {"search": {"max_buckets": 20000}}),
    "repository": ("snapshotRepository/files", {"type": "fs", "settings": {"location": f"{REPOSITORIES}/one"}}),
    "actions": ("actionGroup/reads", {"allowed_actions": ["indices:data/read*"], "type": "index"}),
    "tenant": ("tenant/people", {"description": "the people"}),
    "role": (
        "role/reader",
        {
            "cluster_permissions": ["cluster_composite_ops_ro"],
            "index_permissions": [{"index_patterns": ["logs-*"], "allowed_actions": ["reads"]}],
            "tenant_permissions": [{"tenant_patterns": ["people"], "allowed_actions": ["kibana_all_read"]}],
        },
    ),
    "mapping": ("roleMapping/reader", {"users": ["somebody"], "backend_roles": ["readers"]}),
}

APPLICATION = ("role/reader", {"index_permissions": [{"index_patterns": ["logs-*"], "allowed_actions": ["read"]}]})


@on_versions("2.19.3", "3.4.0")
@pytest.mark.images("stateward.dev/slapd:1", "stateward.dev/identity:1")
async def test_objects_of_a_secured_database_are_declared_corrected_and_deleted(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, version: str
) -> None:
    nodes = pool("nodes", 1, "cluster_manager", "data", "ingest", resources=LARGER)
    config = {"path.repo": [REPOSITORIES], **CHANGEABLE}
    await clusters.apply("safe", version=version, pools=[nodes], security={"enabled": True}, config=config)
    await clusters.until("safe", ready, seconds=600)
    objects = SearchObjects(clusters, "safe")
    async with client(stateward, clusters, "safe") as person:
        await live_and_die(objects, BODIES, person, operator)
        status, settings = await person.ask("_cluster/settings?flat_settings=true")
        assert (status, settings["persistent"]) == (200, {})
        for path in ("roles/reader", "rolesmapping/reader", "tenants/people", "actiongroups/reads"):
            assert (await person.ask(f"_plugins/_security/api/{path}"))[0] == 404
        assert (await person.ask("_snapshot/files"))[0] == 404

        await tokens_are_accepted(clusters, objects, person)
        await people_of_a_directory_are_accepted(stateward, objects, person)
        await people_sign_on(stateward, objects, person)
        await application_uses(clusters, stateward, operator, "safe", APPLICATION)

        await objects.declare("all", "role/all_access", {"cluster_permissions": []}, existing="Adopt")
        await objects.until("all", stalled("Protected"))
        await objects.declare("wrong", "indexTemplate/wrong", {"index_patterns": ["x-*"], "nonsense": 1})
        found = await objects.until("wrong", stalled("Refused"))
        assert "nonsense" in found.status.activity
        await objects.declare("wrong", "indexTemplate/wrong", {"index_patterns": ["x-*"]})
        await objects.until("wrong", applied)
        await objects.declare("policy", "ismPolicy/week", {"policy": {"default_state": "hot", "states": []}})
        assert "the database has no such objects" in (await objects.until("policy", stalled("Refused"))).status.activity
        await objects.delete("policy")

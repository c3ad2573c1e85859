"""The objects that `spec.path` takes: those that have no kind, by where their path begins.

At these paths a PUT, a GET and a DELETE concern one definition, and never indexed data, users, nodes or what Stateward
itself sets. The answer to the GET is searched for the body, and compared with it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from stateward.api.values.base import Json
from stateward.engines.search.declared.kinds import ELASTICSEARCH, OPENSEARCH, ObjectKind, Write
from stateward.engines.search.declared.pointers import found, moving, placed, without

_CHANGES_OF_DETECTORS = {"custom_rules": "custom_rules", "detector_description": "description"}
"""The fields of a detector that can be changed, by the names that the update has for them."""


def _kind(root: str) -> ObjectKind:
    return ObjectKind("path", root, answer="*")


def _own_index(name: object) -> object:
    """Return the name that Elasticsearch gives to an index for the results of one job."""
    shared = not isinstance(name, str) or name == "shared" or name.startswith("custom-")
    return name if shared else f"custom-{name}"


def _included(fields: object) -> object:
    """Return fields to analyze as Elasticsearch stores a list of them."""
    return {"includes": cast("list[object]", fields)} if isinstance(fields, list) else fields


def _with_changes_of_detectors(job: object) -> object:
    """Return a job with what can be changed of its detectors in a list of its own, as the update has it."""
    detectors = next(found(job, "/analysis_config/detectors"), None)
    if not isinstance(detectors, list):
        return job
    changes = [
        {"detector_index": i, **_changeable(cast("Json", each))}
        for i, each in enumerate(cast("list[object]", detectors))
        if isinstance(each, dict)
    ]
    for key in _CHANGES_OF_DETECTORS:
        job = without(job, f"/analysis_config/detectors/*/{key}")
    return placed(cast("Json", job), "/detectors", changes)


def _changeable(detector: Json) -> Json:
    return {new: detector[old] for old, new in _CHANGES_OF_DETECTORS.items() if old in detector}


_OPENSEARCH = (
    replace(_kind("/_ltr/_feature/"), volatile=("/name",)),
    replace(_kind("/_ltr/_featureset/"), volatile=("/name", "/type")),
)
_ELASTICSEARCH = (
    replace(_kind("/_application/search_application/"), volatile=("/name", "/updated_at_millis")),
    replace(_kind("/_ccr/auto_follow/"), volatile=("/name",), defaults={"/active": True}),
    replace(_kind("/_inference/"), write=Write.CREATE, volatile=("/inference_id",)),
    _kind("/_logstash/pipeline/"),
    replace(
        _kind("/_ml/anomaly_detectors/"),
        write=Write.UPDATE,
        changes=frozenset(
            {
                "allow_lazy_open",
                "analysis_limits",
                "background_persist_interval",
                "custom_settings",
                "daily_model_snapshot_retention_after_days",
                "description",
                "detectors",
                "groups",
                "model_plot_config",
                "model_prune_window",
                "model_snapshot_retention_days",
                "renormalization_window_days",
                "results_retention_days",
            }
        ),
        sets=frozenset({"groups"}),
        forms={"/results_index_name": _own_index},
        arranged=(moving("/analysis_config/model_prune_window", "/model_prune_window"), _with_changes_of_detectors),
    ),
    replace(_kind("/_ml/calendars/"), write=Write.CREATE, volatile=("/calendar_id",), sets=frozenset({"job_ids"})),
    replace(
        _kind("/_ml/data_frame/analytics/"),
        write=Write.UPDATE,
        changes=frozenset({"_meta", "allow_lazy_start", "description", "max_num_threads", "model_memory_limit"}),
        forms={"/analyzed_fields": _included},
    ),
    replace(
        _kind("/_ml/datafeeds/"),
        write=Write.UPDATE,
        changes=frozenset(
            {
                "aggregations",
                "chunking_config",
                "delayed_data_check_config",
                "frequency",
                "indices",
                "indices_options",
                "max_empty_searches",
                "query",
                "query_delay",
                "runtime_mappings",
                "script_fields",
                "scroll_size",
            }
        ),
    ),
    replace(
        _kind("/_ml/filters/"),
        write=Write.UPDATE,
        changes=frozenset({"description", "items"}),
        sets=frozenset({"items"}),
        added=frozenset({"items"}),
    ),
    replace(_kind("/_query_rules/"), volatile=("/ruleset_id",)),
    replace(_kind("/_synonyms/"), reading={"size": "10000"}, volatile=("/count",)),
    replace(
        _kind("/_transform/"),
        write=Write.UPDATE,
        mark="/_meta",
        changes=frozenset(
            {"_meta", "description", "dest", "frequency", "retention_policy", "settings", "source", "sync"}
        ),
        arranged=(moving("/pivot/max_page_search_size", "/settings/max_page_search_size"),),
    ),
)
PATHS: Mapping[str, Mapping[str, ObjectKind]] = {
    OPENSEARCH: {kind.path: kind for kind in _OPENSEARCH},
    ELASTICSEARCH: {kind.path: kind for kind in _ELASTICSEARCH},
}
"""The table, by the kind of the cluster and the beginning of the path."""


def kind_at_path(product: str, path: str) -> ObjectKind | None:
    """Return how an object at a path is treated; None if no object of the product has such a path."""
    found = (kind for root, kind in PATHS[product].items() if path.startswith(root))
    kind = next(found, None)
    name = path.removeprefix(kind.path) if kind is not None else ""
    return replace(kind, path=path) if kind is not None and name and "/" not in name else None

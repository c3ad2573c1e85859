"""The field that a refusal of the database is about."""

from typing import Any

import msgspec
import pytest

from stateward.engines.connection.base import Answer
from stateward.engines.search.database.session import reason
from stateward.engines.search.declared.refusals import field_in

BODY: dict[str, Any] = {
    "index_patterns": ["a-*"],
    "template": {
        "settings": {"number_of_shards": 0, "index.codec": "x", "analysis": {"filter": {"f": {"type": "t"}}}},
        "mappings": {"properties": {"message": {"type": "txt"}, "when": {"type": "date"}}},
    },
    "priority": "high",
    "items": [{"on": 1}, {"off": 2}],
}


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("[1:25] [index_template] unknown field [priority]", ".priority"),
        ("unknown setting [index.codec] please check", ".template.settings[index.codec]"),
        (
            "Failed to parse value [0] for setting [index.number_of_shards] must be >= 1",
            ".template.settings.number_of_shards",
        ),
        ("unknown setting [index.analysis.filter.f.type]", ".template.settings.analysis.filter.f.type"),
        ("No handler for type [txt] declared on field [message]", ".template.mappings.properties.message"),
        ("[1:9] [x] failed to parse field [template]: unknown parameter [off] on mapper [y]", ".items[1].off"),
        ("unknown parameter [type] on mapper [message]", ""),
        ("[priority] is wrong", ""),
        ("unknown field [absent]", ""),
        ("failed to parse field [template]: unknown field [absent]", ".template"),
        ("Invalid configuration: invalid key [priority]", ".priority"),
        ("Invalid configuration: invalid key [priority,items]", ""),
    ],
)
def test_the_field_is_told_where_the_body_has_it_at_one_place(message: str, field: str) -> None:
    assert field_in(message, BODY) == field


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            {"error": {"type": "a", "reason": "outer", "caused_by": {"reason": "b", "caused_by": {"reason": "c"}}}},
            "outer: c",
        ),
        ({"error": {"type": "a", "reason": "x c", "caused_by": {"type": "t", "reason": "c"}}}, "x c"),
        ({"error": {"type": "a", "reason": None}, "status": 400}, "a"),
        ({"error": "text"}, "text"),
        (
            {"status": "error", "reason": "Invalid configuration", "invalid_keys": {"keys": "a,b"}},
            "Invalid configuration: invalid key [a,b]",
        ),
        ({"status": "error", "reason": "x", "missing_mandatory_keys": {"keys": "a"}}, "x: missing key [a]"),
        ({"status": "FORBIDDEN", "message": "Resource 'x' is read-only."}, "Resource 'x' is read-only."),
        ({}, "without a reason"),
        ([], "without a reason"),
    ],
)
def test_the_reason_has_the_cause_and_the_words_of_the_security_plugin(answer: Any, text: str) -> None:
    assert reason(Answer(400, msgspec.json.encode(answer))) == text
